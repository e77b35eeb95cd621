/* Continues a recording; see append.h. Coordinator. */
#include "engine/files/append.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/bytes.h"
#include "format/same_boot.h"
#include "format/scan.h"

/* ---- the file ---- */

static int fail(struct weir_error *err, const char *path, const char *why)
{
    return weir_error_set(err, -ENOTSUP, "cannot append to '%s': %s", path, why);
}

/* Looks whether the path has a file with content to continue. 1: yes; 0: no; -errno with err. */
static int find_file(struct weir_append *append, const char *path, struct weir_error *err)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return errno == ENOENT ? 0 : weir_error_set_errno(err, -errno, "cannot append to '%s'", path);
    if (!S_ISREG(st.st_mode))
        return S_ISDIR(st.st_mode) ? fail(err, path, "it is a directory") : 0; /* the output refuses the rest */
    weir_output_file_identify(&append->identity, &st);
    return st.st_size > 0;
}

static int check_form(const struct weir_append *append, const char *path, struct weir_error *err)
{
    const struct weir_perf_input *input = &append->input;
    if (input->is_pipe)
        return fail(err, path, "it is a stream that was saved, not a file of its own form");
    if (input->is_unfinished) {
        fail(err, path, "its recording was never finished");
        weir_error_hint(err, "weir recover '%s' makes a whole file of it", path);
        return -ENOTSUP;
    }
    if (input->features_error.code < 0) {
        *err = input->features_error;
        return err->code;
    }
    for (unsigned bit = 0; bit < WEIR_FEATURE_BITS; bit++) {
        const struct weir_perf_section *section = &input->sections[bit];
        uint64_t bytes = input->source.file_bytes;
        if (weir_perf_input_has_feature(input, bit) &&
            (section->offset > bytes || section->size > bytes - section->offset))
            return weir_error_set(err, -EBADMSG, "cannot append to '%s': its feature %u at %#" PRIx64 " is cut off",
                                  path, bit, section->offset);
    }
    if (weir_perf_input_has_feature(input, WEIR_FEATURE_COMPRESSED))
        return fail(err, path, "it is compressed");
    if (weir_perf_input_has_feature(input, WEIR_FEATURE_AUXTRACE))
        return fail(err, path, "it holds AUX data");
    if (weir_perf_input_has_feature(input, WEIR_FEATURE_DIR_FORMAT))
        return fail(err, path, "it is a part of a directory");
    return 0;
}

/* Checks that all records are whole, of the right size and of known types. 0 or -errno with err. */
static int check_data(struct weir_append *append, const char *path, struct weir_error *err)
{
    struct weir_scan scan;
    int result = weir_scan_run(&scan, &append->input, true, err);
    append->first_sample_ns = result == 0 ? scan.first_sample_ns : 0;
    append->last_sample_ns = result == 0 ? scan.last_sample_ns : 0;
    if (result == 0 && scan.end.code < 0) {
        *err = scan.end;
        result = scan.end.code;
    }
    if (result == 0 && (scan.odd_size.count > 0 || scan.unknown_type.count > 0))
        result = fail(err, path, "it contains invalid records; weir verify shows them");
    weir_scan_fini(&scan);
    return result;
}

static int check_boot(const struct weir_append *append, const char *path, struct weir_error *err)
{
    struct weir_error cause = {0};
    bool has_kernel = false, own_clock = false;
    for (size_t i = 0; i < append->input.events.count; i++) {
        has_kernel |= !append->input.events.list[i].attr.exclude_kernel;
        own_clock |= append->input.events.list[i].attr.use_clockid;
    }
    int result = own_clock ? 0 : weir_same_boot_check_newest(append->last_sample_ns, &cause);
    if (result == 0)
        result = has_kernel ? weir_same_boot_check(path, NULL, &cause) : weir_same_boot_check_file(path, NULL, &cause);
    if (result == 0)
        return 0;
    weir_error_set(err, -ESTALE, "cannot append to '%s': it is of another boot (%s)", path, cause.what);
    weir_error_hint(err, "times and addresses of two boots do not fit into one recording: choose another file");
    return -ESTALE;
}

/* ---- build ids ---- */

static int add_build_id(struct weir_append *append, const struct weir_build_id_entry *entry)
{
    struct weir_build_id_entry *grown =
        reallocarray(append->build_ids, append->build_id_count + 1, sizeof(*append->build_ids));
    if (!grown)
        return -ENOMEM;
    append->build_ids = grown;
    append->build_ids[append->build_id_count++] = *entry;
    return 0;
}

/* Reads the entries before the first damaged one, without entries of guests and entries that have no name. */
static int read_build_ids(struct weir_append *append, struct weir_error *err)
{
    struct weir_buf *payload = &append->build_id_payload;
    int result = weir_perf_input_feature(&append->input, WEIR_FEATURE_BUILD_ID, payload, err);
    if (result <= 0)
        return result;
    for (size_t at = 0; payload->used - at > sizeof(struct weir_perf_build_id);) {
        struct weir_perf_build_id record;
        memcpy(&record, payload->data + at, sizeof(record));
        size_t bytes = record.header.size;
        if (bytes <= sizeof(record) || bytes > payload->used - at)
            break;
        const char *name = (const char *)payload->data + at + sizeof(record);
        bool has_size = record.header.misc >> 15 & 1; /* PERF_RECORD_MISC_BUILD_ID_SIZE */
        struct weir_build_id_entry entry = {
            .name = name,
            .cpumode = record.header.misc & PERF_RECORD_MISC_CPUMODE_MASK,
            .id.bytes = has_size && record.size <= sizeof(record.id) ? record.size : sizeof(record.id),
        };
        memcpy(entry.id.data, record.id, entry.id.bytes);
        bool is_named = name[0] && strnlen(name, bytes - sizeof(record)) < bytes - sizeof(record);
        if (is_named && record.pid == -1 && add_build_id(append, &entry) < 0)
            return weir_error_set_errno(err, -ENOMEM, "cannot read build ids");
        at += bytes;
    }
    return 0;
}

static bool is_same(const struct weir_build_id_entry *a, const struct weir_build_id_entry *b)
{
    return a->id.bytes == b->id.bytes && memcmp(a->id.data, b->id.data, a->id.bytes) == 0 &&
           strcmp(a->name, b->name) == 0;
}

int weir_append_add_build_ids(struct weir_append *append, const struct weir_build_id_entry *entries, size_t count)
{
    size_t before = append->build_id_count;
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        size_t at = 0;
        while (at < before && !is_same(&append->build_ids[at], &entries[i]))
            at++;
        if (at == before)
            result = add_build_id(append, &entries[i]);
    }
    return result;
}

/* ---- open ---- */

static int open_existing(struct weir_append *append, const char *path, struct weir_error *err)
{
    int result = weir_perf_input_open(&append->input, path, err);
    if (result < 0)
        return result;
    result = weir_perf_input_check_order(&append->input, err);
    if (result == 0)
        result = check_form(append, path, err);
    if (result == 0)
        result = check_data(append, path, err);
    if (result == 0)
        result = read_build_ids(append, err);
    return result;
}

int weir_append_open(struct weir_append **out, const char *path, struct weir_error *err)
{
    *out = NULL;
    struct weir_append *append = calloc(1, sizeof(*append));
    if (!append)
        return weir_error_set_errno(err, -ENOMEM, "cannot append to '%s'", path);
    append->input.source.fd = append->input.part.fd = append->lock_fd = -1;
    int result = find_file(append, path, err);
    if (result == 1) {
        result = open_existing(append, path, err);
        if (result == 0) {
            *out = append;
            return 0;
        }
    }
    weir_append_free(append);
    return result;
}

int weir_append_check_name(const struct weir_append *append, struct weir_error *err)
{
    char path[PATH_MAX];
    struct stat st;
    const char *file = append->input.source.path;
    if (snprintf(path, sizeof(path), "%s" WEIR_APPEND_SUFFIX, file) >= (int)sizeof(path))
        return weir_error_set_errno(err, -ENAMETOOLONG, "cannot append to '%s'", file);
    if (lstat(path, &st) < 0)
        return 0; /* linkat(2) will report any other problem */
    weir_error_set(err, -EEXIST, "cannot append to '%s': '%s' exists, from a recording that was cut short", file, path);
    weir_error_hint(err, "weir recover '%s' makes a whole file of it, with all of '%s'; then move or remove it", path,
                    file);
    return -EEXIST;
}

void weir_append_lock(struct weir_append *append)
{
    append->lock_fd = open(append->input.source.path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (append->lock_fd >= 0)
        weir_output_file_lock(append->lock_fd);
}

void weir_append_free(struct weir_append *append)
{
    if (!append)
        return;
    if (append->lock_fd >= 0)
        close(append->lock_fd);
    weir_perf_input_close(&append->input);
    weir_buf_fini(&append->build_id_payload);
    free(append->build_ids);
    free(append);
}

/* ---- events ---- */

bool weir_append_is_without_ids(const struct weir_append *append)
{
    const struct weir_perf_input *input = &append->input;
    return input->events.count == 1 &&
           !(input->events.list[0].attr.sample_type & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER));
}

/* Clears the fields that do not change records: when the event is enabled, and when the kernel wakes a reader. */
static struct perf_event_attr comparable(const struct perf_event_attr *attr)
{
    struct perf_event_attr same = *attr;
    same.size = 0;
    same.disabled = same.enable_on_exec = 0;
    same.watermark = 0;
    same.wakeup_events = 0;
    return same;
}

/* Names the first event that differs; `same` events before it do not. */
static void tell_difference(const struct weir_perf_input *input, const struct weir_event_desc *events, size_t count,
                            size_t same, struct weir_error *err)
{
    const char *path = input->source.path;
    size_t before = input->events.count;
    if (same == before || same == count)
        weir_error_set(err, -EINVAL, "incompatible append: %s has no event '%s'",
                       same == before ? path : "this recording",
                       same == before ? events[same].name : input->events.list[same].name);
    else if (strcmp(events[same].name, input->events.list[same].name) != 0)
        weir_error_set(err, -EINVAL, "incompatible append: event %zu of '%s' is '%s', and of this recording '%s'",
                       same + 1, path, input->events.list[same].name, events[same].name);
    else
        weir_error_set(err, -EINVAL, "incompatible append: '%s' has event '%s' with other options", path,
                       events[same].name);
}

int weir_append_check_events(const struct weir_append *append, const struct weir_event_desc *events, size_t count,
                             struct weir_error *err)
{
    const struct weir_perf_input *input = &append->input;
    size_t same = 0;
    while (same < count && same < input->events.count) {
        struct perf_event_attr before = comparable(&input->events.list[same].attr);
        struct perf_event_attr now = comparable(&events[same].attr);
        if (memcmp(&before, &now, sizeof(before)) != 0)
            break;
        same++;
    }
    if (same == count && same == input->events.count)
        return check_boot(append, input->source.path, err);
    tell_difference(input, events, count, same, err);
    weir_error_hint(err,
                    "record the same events with the same options, or choose another file; weir info '%s' shows "
                    "its events",
                    input->source.path);
    return -EINVAL;
}

int weir_append_add_ids(const struct weir_append *append, struct weir_event_desc *events, uint64_t **ids, size_t count,
                        size_t room)
{
    for (size_t i = 0; i < count; i++) {
        const struct weir_input_event *before = &append->input.events.list[i];
        size_t all = before->id_count + events[i].id_count;
        uint64_t *joined = calloc(before->id_count + room, sizeof(*joined));
        if (!joined)
            return -ENOMEM;
        memcpy(joined, before->ids, before->id_count * sizeof(*joined));
        memcpy(joined + before->id_count, events[i].ids, events[i].id_count * sizeof(*joined));
        free(ids[i]);
        ids[i] = joined;
        events[i].ids = joined;
        events[i].id_count = all;
    }
    return 0;
}

size_t weir_append_id_room(const struct weir_append *append)
{
    size_t most = 0;
    for (size_t i = 0; i < append->input.events.count; i++)
        most = append->input.events.list[i].id_count > most ? append->input.events.list[i].id_count : most;
    return most;
}
