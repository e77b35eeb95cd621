/* The plan of a recovery: finds the end of the data, then builds features and header. One thread. */
#include "format/recovery.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "base/read_whole.h"
#include "format/features.h"
#include "format/head.h"
#include "format/perf_input.h"
#include "format/records.h"
#include "format/same_boot.h"
#include "format/scan.h"
#include "format/tracefs.h"
#include "format/tracing_data.h"

#define BLANK_BYTES  4096u /* compared at a time */
#define FEATURE_WORD 64u
#define MMAP_LEN_MIN (1u << 16)

struct planner {
    const struct weir_recovery_options *options;
    struct weir_recovery *recovery;
    struct weir_perf_input input;
    struct weir_scan scan;
    struct weir_buf payloads[WEIR_FEATURES_KNOWN];
    bool has[WEIR_FEATURES_KNOWN];
    bool lacks_features; /* some that the header announces cannot be read, or are of other data */
    bool needs_aux_index;
    struct weir_event_desc *events; /* owned */
    char **names;                   /* owned, with what they point to: "sched:sched_switch", as "sched\0sched_switch" */
};

/* 0 for code 0. */
static int fail(const struct planner *planner, int code, struct weir_error *err)
{
    return code < 0 ? weir_error_set_errno(err, code, "cannot recover %s", planner->options->path) : 0;
}

/* ---- what is kept ---- */

/* The features that can be read and have room, those of unknown contents only to know whether they can be. */
static int keep_features(struct planner *planner, struct weir_error *err)
{
    struct weir_buf unknown = WEIR_BUF_INIT;
    uint64_t room = WEIR_RECOVERY_FEATURES_MAX_BYTES;
    for (unsigned bit = 0; bit < WEIR_FEATURE_BITS; bit++) {
        struct weir_buf *payload = bit < WEIR_FEATURES_KNOWN ? &planner->payloads[bit] : &unknown;
        int found = weir_perf_input_feature(&planner->input, bit, payload, NULL);
        weir_buf_fini(&unknown);
        if (found == -ENOMEM)
            return weir_error_set_errno(err, found, "cannot recover %s", planner->options->path);
        if (found == 1 && payload->used > room)
            found = -EFBIG;
        planner->lacks_features |= found < 0;
        if (bit >= WEIR_FEATURES_KNOWN)
            continue;
        planner->has[bit] = found == 1;
        /* The copy in the head does not know the ids that came later; the attrs do. */
        if (bit == WEIR_FEATURE_EVENT_DESC && planner->input.has_early_features)
            planner->has[bit] = false;
        if (planner->has[bit])
            room -= payload->used;
        else
            weir_buf_fini(payload);
    }
    return 0;
}

static size_t count_features(const struct planner *planner)
{
    size_t count = 0;
    for (unsigned bit = 0; bit < WEIR_FEATURES_KNOWN; bit++)
        count += planner->has[bit];
    return count;
}

/* ---- AUX areas ---- */

/* An index of other AUXTRACE records than those that are kept is none. Returns whether there has to be one. perf writes
 * none into directories, and none is better than one that lacks records. */
static bool judge_aux_index(struct planner *planner)
{
    const struct weir_scan_aux *aux = &planner->scan.aux;
    struct weir_buf *payload = &planner->payloads[WEIR_FEATURE_AUXTRACE];
    bool *has = &planner->has[WEIR_FEATURE_AUXTRACE];
    if (*has && (aux->is_index_full || !weir_scan_aux_match_index(aux, payload, NULL, 0))) {
        weir_buf_reset(payload);
        *has = false;
        planner->lacks_features = true;
    }
    return aux->index_count > 0 && !aux->is_index_full && planner->input.directory[0] == '\0';
}

/* ---- tracepoints ---- */

struct name_search {
    struct planner *planner;
    const char *root;
};

/* Gives the tracepoint's name to every event of its id. */
static int match_tracepoint(void *ctx, const char *system, const char *name)
{
    const struct name_search *search = ctx;
    struct planner *planner = search->planner;
    uint64_t id;
    if (weir_tracefs_event_id(search->root, system, name, &id, NULL) < 0)
        return 0;
    for (size_t i = 0; i < planner->input.events.count; i++) {
        const struct perf_event_attr *attr = &planner->input.events.list[i].attr;
        if (attr->type != PERF_TYPE_TRACEPOINT || attr->config != id || planner->names[i])
            continue;
        size_t system_bytes = strlen(system) + 1, name_bytes = strlen(name) + 1;
        planner->names[i] = malloc(2 * (system_bytes + name_bytes));
        if (!planner->names[i])
            return -ENOMEM;
        memcpy(planner->names[i], system, system_bytes);
        memcpy(planner->names[i] + system_bytes, name, name_bytes);
        char *whole = planner->names[i] + system_bytes + name_bytes;
        memcpy(whole, system, system_bytes - 1);
        whole[system_bytes - 1] = ':';
        memcpy(whole + system_bytes, name, name_bytes);
        planner->events[i].tracepoint_system = planner->names[i];
        planner->events[i].tracepoint_name = planner->names[i] + system_bytes;
        planner->events[i].name = whole;
    }
    return 0;
}

static int describe_tracepoints(struct planner *planner, struct weir_error *err)
{
    char found[PATH_MAX];
    const char *root = planner->options->tracefs_root;
    int result = root ? 0 : weir_tracefs_find(found, sizeof(found), err);
    if (result < 0)
        return result;
    struct name_search search = {.planner = planner, .root = root ? root : found};
    result = weir_tracefs_visit(search.root, match_tracepoint, &search);
    if (result < 0)
        return weir_error_set_errno(err, result, "cannot read the tracepoints of %s", search.root);
    for (size_t i = 0; i < planner->input.events.count; i++) {
        const struct perf_event_attr *attr = &planner->input.events.list[i].attr;
        if (attr->type == PERF_TYPE_TRACEPOINT && !planner->names[i])
            return weir_error_set(err, -ESTALE, "%s: this kernel has no tracepoint of id %" PRIu64,
                                  planner->options->path, (uint64_t)attr->config);
    }
    struct weir_buf *payload = &planner->payloads[WEIR_FEATURE_TRACING_DATA];
    result = weir_tracing_data_build(payload, search.root, planner->events, planner->input.events.count, err);
    planner->has[WEIR_FEATURE_TRACING_DATA] = result == 0;
    return result;
}

static bool has_tracepoints(const struct planner *planner)
{
    for (size_t i = 0; i < planner->input.events.count; i++) {
        if (planner->input.events.list[i].attr.type == PERF_TYPE_TRACEPOINT)
            return true;
    }
    return false;
}

/* ---- the boot ---- */

static int check_boot(struct planner *planner, struct weir_error *err)
{
    const struct weir_scan *scan = &planner->scan;
    if (scan->wrong_raw.count > 0)
        return weir_error_set(err, -ESTALE, "the sample at %#" PRIx64 " has another type than its event",
                              scan->wrong_raw.first_offset);
    if (planner->options->assume_same_boot)
        return 0;
    bool own_clock = planner->input.events.count > 0 && planner->input.events.list[0].attr.use_clockid;
    int result = own_clock ? 0 : weir_same_boot_check_newest(scan->last_sample_ns, err);
    return result < 0 ? result : weir_same_boot_check(planner->options->path, planner->options->proc_root, err);
}

static int fail_stale(const struct planner *planner, const struct weir_error *why, struct weir_error *err)
{
    weir_error_set(err, -ESTALE, "%s: its tracepoints cannot be described: %s", planner->options->path, why->what);
    weir_error_hint(err, "recover it where it was recorded, before the next boot; --assume-this-kernel skips the "
                         "check, and decodes wrongly if the kernel differs");
    return -ESTALE;
}

/* ---- what is made anew ---- */

static int describe_events(struct planner *planner, struct weir_error *err)
{
    size_t count = planner->input.events.count;
    planner->events = calloc(count + 1, sizeof(*planner->events));
    planner->names = calloc(count + 1, sizeof(*planner->names));
    if (!planner->events || !planner->names)
        return fail(planner, -ENOMEM, err);
    for (size_t i = 0; i < planner->input.events.count; i++) {
        const struct weir_input_event *event = &planner->input.events.list[i];
        planner->events[i].attr = event->attr;
        planner->events[i].leader = i; /* who led whom is not known */
        planner->events[i].name = planner->events[i].name ? planner->events[i].name : event->name;
        planner->events[i].ids = event->ids;
        planner->events[i].id_count = event->id_count;
    }
    return 0;
}

/* Without COMPRESSED perf does not decompress, and its room has to hold what a record expands to. Level and ratio are
 * not known. */
static struct weir_compression find_compression(const struct weir_scan *scan)
{
    if (!weir_scan_is_compressed(scan))
        return (struct weir_compression){0};
    uint64_t room = weir_max_u64(weir_align_up(scan->expanded_max + UINT16_MAX, 4096), MMAP_LEN_MIN);
    return (struct weir_compression){.level = 1, .ratio = 1, .room_bytes = (uint32_t)weir_min_u64(room, UINT32_MAX)};
}

/* The features that format/features.h writes, for those that could not be kept. */
static int make_features(struct planner *planner, struct weir_error *err)
{
    static const struct weir_machine nothing = {0};
    struct weir_buf built = WEIR_BUF_INIT;
    uint64_t bits[4] = {0};
    /* Where the recorder has described its machine, the new file has no other description. */
    bool is_here = planner->recovery->is_same_boot && planner->options->machine && !planner->input.has_early_features;
    const struct weir_features_input input = {
        .machine = is_here ? planner->options->machine : &nothing,
        .events = planner->events,
        .event_count = planner->input.events.count,
        .first_sample_ns = planner->scan.first_sample_ns,
        .last_sample_ns = planner->scan.last_sample_ns,
        .compression = find_compression(&planner->scan),
        .directory = planner->recovery->is_directory,
        .aux_index = planner->scan.aux.index,
        .aux_index_count = planner->needs_aux_index ? planner->scan.aux.index_count : 0,
    };
    int result = weir_features_build(&built, 0, &input, bits);
    size_t next = 0;
    for (unsigned bit = 0; result == 0 && bit < WEIR_FEATURES_KNOWN; bit++) {
        if (!(bits[0] >> bit & 1))
            continue;
        struct weir_perf_section section;
        memcpy(&section, built.data + next++ * sizeof(section), sizeof(section));
        if (planner->has[bit])
            continue;
        weir_buf_append(&planner->payloads[bit], built.data + section.offset, section.size);
        planner->has[bit] = true;
        result = weir_buf_error(&planner->payloads[bit]);
    }
    weir_buf_fini(&built);
    return result < 0 ? weir_error_set_errno(err, result, "cannot recover %s", planner->options->path) : 0;
}

/* ---- the plan ---- */

/* The LOST_SAMPLES that a recorder writes at its end, as far as the kernel's LOST records tell. One for each event: of
 * which CPU each of them was is not counted. */
static void tell_losses(struct planner *planner)
{
    for (size_t i = 0; i < planner->input.events.count; i++) {
        const struct weir_input_event *event = &planner->input.events.list[i];
        const struct weir_scan_event *counts = &planner->scan.events[i];
        bool is_counted = (event->attr.read_format & PERF_FORMAT_LOST) && event->attr.sample_id_all;
        if (!is_counted || event->id_count == 0 || counts->lost <= counts->lost_samples)
            continue;
        const struct weir_record_sample_id trailer = {.sample_type = event->attr.sample_type, .id = event->ids[0]};
        weir_record_lost_samples(&planner->recovery->tail, counts->lost - counts->lost_samples, &trailer);
        planner->recovery->records++;
    }
}

/* at: where the tail goes in the file. Sets *records_end: the end of the data. */
static int build_tail(struct planner *planner, uint64_t at, uint64_t *records_end, struct weir_error *err)
{
    struct weir_recovery *recovery = planner->recovery;
    struct weir_buf *tail = &recovery->tail;
    tell_losses(planner);
    if (at == planner->input.header.data.offset && tail->used == 0) { /* perf opens no file without a record */
        weir_record_finished_round(tail);
        recovery->records++;
    }
    *records_end = at + tail->used;
    uint64_t offset = *records_end + count_features(planner) * sizeof(struct weir_perf_section);
    for (unsigned bit = 0; bit < WEIR_FEATURES_KNOWN; bit++) {
        if (!planner->has[bit])
            continue;
        const struct weir_perf_section section = {.offset = offset, .size = planner->payloads[bit].used};
        weir_buf_append(tail, &section, sizeof(section));
        offset += section.size;
        recovery->features[bit / FEATURE_WORD] |= 1ull << (bit % FEATURE_WORD);
    }
    for (unsigned bit = 0; bit < WEIR_FEATURES_KNOWN; bit++) {
        if (planner->has[bit])
            weir_buf_append(tail, planner->payloads[bit].data, planner->payloads[bit].used);
        weir_buf_fini(&planner->payloads[bit]);
    }
    return fail(planner, weir_buf_error(tail), err);
}

/* The parts that an unfinished file lacks. After describe_events(). */
static int complete(struct planner *planner, struct weir_error *err)
{
    struct weir_error why = {0};
    int checked = check_boot(planner, &why);
    if (checked == -ENOMEM)
        return weir_error_set_errno(err, checked, "cannot recover %s", planner->options->path);
    planner->recovery->is_same_boot = checked == 0;
    bool needs_trace = has_tracepoints(planner) && !planner->has[WEIR_FEATURE_TRACING_DATA];
    if (needs_trace && !planner->recovery->is_same_boot)
        return fail_stale(planner, &why, err);
    int result = needs_trace ? describe_tracepoints(planner, err) : 0;
    return result < 0 ? result : make_features(planner, err);
}

/* The files of a directory besides the main one: nothing but records, which end where the whole ones do. */
static int plan_parts(struct planner *planner, uint64_t *dropped_bytes, struct weir_error *err)
{
    struct weir_recovery *recovery = planner->recovery;
    const struct weir_scan *scan = &planner->scan;
    recovery->is_directory = planner->input.directory[0] != '\0';
    recovery->parts = calloc(scan->part_count + 1, sizeof(*recovery->parts));
    if (!recovery->parts)
        return weir_error_set_errno(err, -ENOMEM, "cannot recover %s", planner->options->path);
    recovery->part_count = scan->part_count;
    for (size_t i = 0; i < scan->part_count; i++) {
        const struct weir_scan_part *part = &scan->parts[i];
        uint64_t kept = weir_min_u64(part->good_end, part->file_bytes);
        recovery->parts[i] = (struct weir_recovery_part){kept, part->file_bytes - kept};
        *dropped_bytes += part->file_bytes - kept;
    }
    return 0;
}

static bool is_blank(const struct weir_byte_source *source, uint64_t from, uint64_t to)
{
    uint8_t bytes[BLANK_BYTES];
    for (uint64_t at = from; at < to; at += sizeof(bytes)) {
        size_t count = weir_min_u64(to - at, sizeof(bytes));
        if (!weir_read_exactly_at(source->fd, bytes, count, at) || !weir_is_zero(bytes, count))
            return false;
    }
    return true;
}

static void note_kept(struct planner *planner, uint64_t ended)
{
    struct weir_recovery *recovery = planner->recovery;
    recovery->records = planner->scan.records - planner->scan.cut_records;
    recovery->samples = planner->scan.samples - planner->scan.cut_samples;
    recovery->data_end = planner->scan.good_end;
    recovery->dropped_bytes = ended > recovery->data_end ? ended - recovery->data_end : 0;
    recovery->cause = planner->scan.end;
    recovery->dropped_is_blank = is_blank(&planner->input.source, recovery->data_end, ended);
}

/* ---- a file made of a stream ---- */

static int fail_empty(const struct planner *planner, uint64_t offset, struct weir_error *err)
{
    return weir_error_set(err, -ENODATA, "%s: no whole record at %#" PRIx64 ", where its data begins",
                          planner->options->path, offset);
}

static int build_head(const struct planner *planner, uint64_t data_bytes, struct weir_buf *head)
{
    struct weir_head_input input = {
        .events = planner->events,
        .event_count = planner->input.events.count,
        .data_bytes = data_bytes,
    };
    weir_assert(input.events && planner->recovery); /* by describe_events(), and the caller */
    memcpy(input.features, planner->recovery->features, sizeof(input.features));
    for (size_t i = 0; i < input.event_count; i++)
        input.id_room = weir_max_u64(input.id_room, input.events[i].id_count);
    weir_buf_reset(head);
    return weir_head_build(head, &input);
}

/* Gives the AUXTRACE records their places in the file, and returns the place behind the last byte that is kept. */
static uint64_t place_records(struct planner *planner)
{
    const struct weir_recovery *recovery = planner->recovery;
    struct weir_scan_aux *aux = &planner->scan.aux;
    uint64_t at = recovery->head.used;
    size_t next = 0;
    for (size_t i = 0; i < recovery->kept_count; i++) {
        const struct weir_stream_range *range = &recovery->kept[i];
        for (; next < aux->index_count && aux->index[next].file_offset < range->end; next++)
            aux->index[next].file_offset += at - range->begin;
        at += range->end - range->begin;
    }
    return at;
}

/* The features of the stream, which has its build ids in records of their own. */
static int take_features(struct planner *planner, struct weir_error *err)
{
    int result = keep_features(planner, err);
    struct weir_buf *build_ids = &planner->scan.cuts.build_ids;
    if (result < 0 || planner->has[WEIR_FEATURE_BUILD_ID] || build_ids->used == 0)
        return result;
    weir_buf_append(&planner->payloads[WEIR_FEATURE_BUILD_ID], build_ids->data, build_ids->used);
    planner->has[WEIR_FEATURE_BUILD_ID] = true;
    return fail(planner, weir_buf_error(&planner->payloads[WEIR_FEATURE_BUILD_ID]), err);
}

static int make_file(struct planner *planner, struct weir_error *err)
{
    struct weir_recovery *recovery = planner->recovery;
    uint64_t records_end = 0;
    int result = weir_stream_cuts_kept(&planner->scan.cuts, WEIR_PIPE_HEADER_BYTES, recovery->data_end, &recovery->kept,
                                       &recovery->kept_count);
    if (result < 0)
        return fail(planner, result, err);
    recovery->records -= planner->scan.cuts.records;
    if (recovery->records == 0)
        return fail_empty(planner, recovery->data_end, err);
    result = take_features(planner, err);
    if (result < 0)
        return result;
    planner->needs_aux_index = judge_aux_index(planner);
    result = describe_events(planner, err);
    if (result == 0)
        result = fail(planner, build_head(planner, 0, &recovery->head), err);
    if (result < 0)
        return result;
    uint64_t at = place_records(planner);
    result = complete(planner, err);
    if (result == 0)
        result = build_tail(planner, at, &records_end, err);
    return result < 0 ? result
                      : fail(planner, build_head(planner, records_end - recovery->head.used, &recovery->head), err);
}

/* A stream that was saved says everything before its samples, in records; what may be wrong is its end. */
static int plan_stream(struct planner *planner, struct weir_error *err)
{
    struct weir_recovery *recovery = planner->recovery;
    if (!planner->input.source.is_file) {
        weir_error_set(err, -ENOTSUP, "%s: cannot recover from a stream", planner->options->path);
        weir_error_hint(err, "save it to a file, and recover that file");
        return -ENOTSUP;
    }
    int result = weir_scan_run(&planner->scan, &planner->input, false, err);
    if (result < 0)
        return result;
    note_kept(planner, planner->input.source.file_bytes);
    recovery->is_stream = true;
    if (recovery->records == 0)
        return fail_empty(planner, WEIR_PIPE_HEADER_BYTES, err);
    if (planner->options->makes_file)
        return make_file(planner, err);
    tell_losses(planner);
    recovery->is_whole = recovery->dropped_bytes + recovery->tail.used == 0;
    result = weir_buf_error(&recovery->tail);
    return result < 0 ? weir_error_set_errno(err, result, "cannot recover %s", planner->options->path) : 0;
}

/* A file that is cut before its data: the data, of which there is none, begins where the file ends. Of a directory the
 * other files may still be whole. 0, or -EBADMSG with err: the cut is in the attrs. */
static int move_data(struct planner *planner, struct weir_error *err)
{
    struct weir_perf_input *input = &planner->input;
    uint64_t bytes = input->source.file_bytes, end = weir_align_down(bytes, sizeof(uint64_t));
    if (bytes >= planner->recovery->data_end)
        return 0;
    if (end < input->attrs_end)
        return weir_error_set(err, -EBADMSG, "%s: cut off at %#" PRIx64 ", inside its attrs", planner->options->path,
                              bytes);
    input->header.data = (struct weir_perf_section){.offset = end};
    planner->recovery->data_end = end;
    planner->recovery->dropped_bytes = bytes - end;
    planner->lacks_features = true;
    return 0;
}

static int plan(struct planner *planner, struct weir_error *err)
{
    struct weir_recovery *recovery = planner->recovery;
    const struct weir_perf_input *input = &planner->input;
    /* The data may go on behind the size of the last checkpoint. */
    if (input->is_unfinished)
        planner->input.stream.end = input->source.file_bytes;
    int result = weir_scan_run(&planner->scan, &planner->input, input->is_unfinished, err);
    if (result == 0)
        result = keep_features(planner, err);
    if (result < 0)
        return result;
    planner->needs_aux_index = judge_aux_index(planner);
    note_kept(planner, input->is_unfinished ? input->source.file_bytes : input->data_end);
    recovery->said_end = input->header.data.size ? input->header.data.offset + input->header.data.size : 0;
    uint64_t dropped_of_parts = 0;
    result = move_data(planner, err);
    if (result == 0)
        result = plan_parts(planner, &dropped_of_parts, err);
    if (result < 0)
        return result;
    if (recovery->records == 0)
        return fail_empty(planner, input->header.data.offset, err);
    /* A recorder that was killed just when the header told of all that is on file leaves no other trace of it. */
    bool lacks = planner->lacks_features || input->has_early_features ||
                 (has_tracepoints(planner) && !planner->has[WEIR_FEATURE_TRACING_DATA]) ||
                 (weir_scan_is_compressed(&planner->scan) && !planner->has[WEIR_FEATURE_COMPRESSED]) ||
                 (planner->needs_aux_index && !planner->has[WEIR_FEATURE_AUXTRACE]);
    recovery->is_whole = !input->is_unfinished && recovery->dropped_bytes + dropped_of_parts == 0 && !lacks;
    if (recovery->is_whole)
        return 0;
    if (input->attrs_end > recovery->data_end) /* not by weir nor by perf */
        return weir_error_set(err, -ENOTSUP,
                              "%s: its attrs or ids stand behind its data at %#" PRIx64 ", and features go there",
                              planner->options->path, recovery->data_end);
    if (input->is_unfinished || lacks || count_features(planner) == 0) {
        result = describe_events(planner, err);
        if (result == 0)
            result = complete(planner, err);
    }
    uint64_t records_end = 0;
    if (result == 0)
        result = build_tail(planner, recovery->data_end, &records_end, err);
    recovery->header = planner->input.header;
    recovery->header.data.size = records_end - recovery->header.data.offset;
    memcpy(recovery->header.features, recovery->features, sizeof(recovery->features));
    return result;
}

int weir_recovery_plan(struct weir_recovery *recovery, const struct weir_recovery_options *options,
                       struct weir_error *err)
{
    struct planner planner = {.options = options, .recovery = recovery};
    *recovery = (struct weir_recovery){0};
    int result = weir_perf_input_open_gated(&planner.input, options->path, options->gate, err);
    if (result < 0)
        return result;
    recovery->device = planner.input.source.device;
    recovery->inode = planner.input.source.inode;
    result = weir_perf_input_check_order(&planner.input, err);
    if (result == 0)
        result = planner.input.is_pipe ? plan_stream(&planner, err) : plan(&planner, err);
    for (size_t i = 0; planner.names && i < planner.input.events.count; i++)
        free(planner.names[i]);
    free(planner.names);
    free(planner.events);
    for (size_t i = 0; i < WEIR_FEATURES_KNOWN; i++)
        weir_buf_fini(&planner.payloads[i]);
    weir_scan_fini(&planner.scan);
    weir_perf_input_close(&planner.input);
    if (result < 0)
        weir_recovery_fini(recovery);
    return result;
}

void weir_recovery_fini(struct weir_recovery *recovery)
{
    weir_buf_fini(&recovery->tail);
    weir_buf_fini(&recovery->head);
    free(recovery->kept);
    recovery->kept = NULL;
    recovery->kept_count = 0;
    free(recovery->parts);
    recovery->parts = NULL;
    recovery->part_count = 0;
}

int weir_recovery_path(char path[PATH_MAX], const char *directory, const size_t *number)
{
    int length = number ? snprintf(path, PATH_MAX, "%s/data.%zu", directory, *number)
                        : snprintf(path, PATH_MAX, "%s/data", directory);
    return length < PATH_MAX ? 0 : -ENAMETOOLONG;
}
