/* The answer of the process that plans a recovery, as bytes in a pipe. Any thread. */
#include "engine/upkeep/recovery_answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bits.h"
#include "base/read_whole.h"
#include "base/write_whole.h"

#define TAIL_MAX_BYTES (WEIR_RECOVERY_FEATURES_MAX_BYTES + MADE_MAX_BYTES)
#define MADE_MAX_BYTES (4 * WEIR_FEATURE_MAX_BYTES) /* rebuilt features, and records of losses */
#define HEAD_MAX_BYTES (256ull << 20)               /* attrs, and the ids that format/input_events.h allows */
#define PARTS_MAX      65536u                       /* the limit of format/perf_input.c */
#define STEP_BYTES     (1u << 20)
#define ERRNO_MAX      4095 /* of Linux */

struct answer { /* as sent through the pipe; both ends are this program */
    struct weir_error err;
    int32_t result;
    uint64_t part_count, tail_bytes, head_bytes, kept_count; /* of the data behind this struct */
    struct weir_recovery plan;                               /* without what it owns */
};

static struct weir_recovery without_owned(const struct weir_recovery *recovery)
{
    struct weir_recovery plan = *recovery;
    plan.head = plan.tail = (struct weir_buf)WEIR_BUF_INIT;
    plan.kept = NULL;
    plan.parts = NULL;
    plan.kept_count = plan.part_count = 0;
    return plan;
}

/* ---- writing ---- */

int weir_recovery_answer_write(int fd, int result, const struct weir_recovery *recovery, const struct weir_error *err)
{
    struct answer said;
    memset(&said, 0, sizeof(said)); /* the padding is sent, too */
    said.result = result;
    said.err = *err;
    if (result < 0)
        return weir_write_whole(fd, &said, sizeof(said));
    said.part_count = recovery->part_count;
    said.tail_bytes = recovery->tail.used;
    said.head_bytes = recovery->head.used;
    said.kept_count = recovery->kept_count;
    said.plan = without_owned(recovery);
    int code = weir_write_whole(fd, &said, sizeof(said));
    if (code == 0)
        code = weir_write_whole(fd, recovery->tail.data, recovery->tail.used);
    if (code == 0)
        code = weir_write_whole(fd, recovery->head.data, recovery->head.used);
    if (code == 0)
        code = weir_write_whole(fd, recovery->kept, recovery->kept_count * sizeof(*recovery->kept));
    return code < 0 ? code : weir_write_whole(fd, recovery->parts, recovery->part_count * sizeof(*recovery->parts));
}

/* ---- reading ---- */

/* Reads exactly `bytes` bytes; false: there were fewer. */
static bool read_all(int fd, void *data, size_t bytes)
{
    return weir_read_whole(fd, data, bytes) == (ssize_t)bytes;
}

/* Makes the lines of the error fit to be printed. */
static bool take_error(struct weir_error *err, const struct weir_error *said)
{
    if (said->code > 0 || said->code < -ERRNO_MAX || !memchr(said->what, '\0', sizeof(said->what)) ||
        !memchr(said->hint, '\0', sizeof(said->hint)))
        return false;
    weir_error_set(err, said->code, "%s", said->what);
    weir_error_hint(err, "%s", said->hint);
    return true;
}

static bool has_bytes(const char *path, uint64_t bytes)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && bytes <= (uint64_t)status.st_size;
}

/* Checks the fields that this process relies on. The other fields go into the file, and are as trustworthy as the file
 * was. */
static bool is_sane(const struct answer *said, const char *path)
{
    const struct weir_recovery *plan = &said->plan;
    const bool *const flags[] = {&plan->is_whole, &plan->is_same_boot, &plan->is_directory, &plan->is_stream,
                                 &plan->dropped_is_blank};
    struct stat status;
    char main_path[PATH_MAX];
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(flags); i++) {
        if (*(const uint8_t *)flags[i] > 1) /* no bool: the compiler knows two values only */
            return false;
    }
    if ((plan->is_directory && plan->is_stream) || said->tail_bytes > TAIL_MAX_BYTES ||
        said->head_bytes > (plan->is_stream ? HEAD_MAX_BYTES : 0) ||
        said->kept_count > (said->head_bytes > 0 ? WEIR_STREAM_CUTS_MAX + 1 : 0))
        return false;
    if (stat(path, &status) < 0 || S_ISDIR(status.st_mode) != plan->is_directory ||
        said->part_count > (plan->is_directory ? PARTS_MAX : 0))
        return false;
    if (!plan->is_directory)
        return has_bytes(path, plan->data_end);
    return weir_recovery_path(main_path, path, NULL) == 0 && has_bytes(main_path, plan->data_end);
}

static int take_bytes(int fd, uint64_t bytes, struct weir_buf *taken)
{
    while (taken->used < bytes) {
        size_t step = weir_min_u64(bytes - taken->used, STEP_BYTES);
        void *room = weir_buf_extend(taken, step);
        if (!room)
            return weir_buf_error(taken);
        if (!read_all(fd, room, step))
            return -EBADMSG;
    }
    return 0;
}

static int take_parts(int fd, size_t count, struct weir_recovery *recovery, const char *path)
{
    char part_path[PATH_MAX];
    recovery->parts = calloc(count + 1, sizeof(*recovery->parts));
    if (!recovery->parts)
        return -ENOMEM;
    recovery->part_count = count;
    if (!read_all(fd, recovery->parts, count * sizeof(*recovery->parts)))
        return -EBADMSG;
    for (size_t i = 0; i < count; i++) {
        if (weir_recovery_path(part_path, path, &i) < 0 || !has_bytes(part_path, recovery->parts[i].kept_bytes))
            return -EBADMSG;
    }
    return 0;
}

/* Ranges ascend and end before the end of the data, which the file has. */
static int take_kept(int fd, size_t count, struct weir_recovery *recovery)
{
    uint64_t last = 0;
    if (count == 0)
        return 0;
    recovery->kept = calloc(count, sizeof(*recovery->kept));
    if (!recovery->kept)
        return -ENOMEM;
    recovery->kept_count = count;
    if (!read_all(fd, recovery->kept, count * sizeof(*recovery->kept)))
        return -EBADMSG;
    for (size_t i = 0; i < count; i++) {
        const struct weir_stream_range *range = &recovery->kept[i];
        if (range->begin < last || range->end < range->begin || range->end > recovery->data_end)
            return -EBADMSG;
        last = range->end;
    }
    return 0;
}

static int take_plan(int fd, const struct answer *said, const char *path, struct weir_recovery *recovery)
{
    struct weir_error cause = {0};
    if (!is_sane(said, path) || !take_error(&cause, &said->plan.cause))
        return -EBADMSG;
    *recovery = without_owned(&said->plan);
    recovery->cause = cause;
    int result = take_bytes(fd, said->tail_bytes, &recovery->tail);
    if (result == 0)
        result = take_bytes(fd, said->head_bytes, &recovery->head);
    if (result == 0)
        result = take_kept(fd, said->kept_count, recovery);
    return result < 0 ? result : take_parts(fd, said->part_count, recovery, path);
}

int weir_recovery_answer_read(int fd, const char *path, int *result, struct weir_recovery *recovery,
                              struct weir_error *err)
{
    struct answer said;
    struct weir_error taken = {0};
    if (!read_all(fd, &said, sizeof(said)) || said.result > 0 || said.result < -ERRNO_MAX)
        return -EBADMSG;
    if (said.result < 0 && (said.err.code != said.result || !said.err.what[0] || !take_error(&taken, &said.err)))
        return -EBADMSG;
    int code = said.result == 0 ? take_plan(fd, &said, path, recovery) : 0;
    if (code < 0) {
        weir_recovery_fini(recovery);
        return code;
    }
    if (said.result < 0 && err)
        *err = taken;
    *result = said.result;
    return 0;
}
