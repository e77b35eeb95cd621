/*
 * One output of a recording: its head at the start, its features at the end. Coordinator and finisher; the writer
 * writes the data between head and features.
 */
#include "engine/files/record_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "engine/aux/aux_index.h"
#include "engine/drain/pipeline.h"
#include "format/early_features.h"
#include "format/features.h"
#include "format/head.h"
#include "format/kcore.h"
#include "format/pipe_head.h"
#include "format/tracing_data.h"
#include "io/output_folder.h"

#define BUILD_IDS_BYTES (256u << 10) /* room for the build ids of about 2500 files, which the head does not have */

void weir_record_file_note(struct weir_record_file *file, struct weir_writer_account *account)
{
    file->first_sample_ns = account->first_sample_ns;
    file->last_sample_ns = account->last_sample_ns;
    file->raw_bytes = account->raw_bytes;
    file->compressed_bytes = account->compressed_bytes;
    if (account->trains.count > 0) { /* empty in a second call for the same file */
        file->trains = account->trains;
        account->trains = (struct weir_train_list){0};
    }
}

/* ---- names ---- */

void weir_record_file_stamp(struct weir_record_file *file, const struct weir_clock *day)
{
    weir_stamp_write(file->stamp, weir_clock_now_ns(day));
}

int weir_record_file_rename(struct weir_record_file *file, const char *prefix, struct weir_error *err)
{
    char name[PATH_MAX];
    weir_assert(file->stamp[0]);
    struct weir_error why = {0};
    int result = -EEXIST;
    for (unsigned n = 0; result == -EEXIST && n <= WEIR_SAME_STAMP_MAX; n++) {
        if (weir_stamped_name_write(name, sizeof(name), file->path, prefix, file->stamp, n) < 0)
            return weir_error_set_errno(err, -ENAMETOOLONG, "cannot rename '%s'", file->path);
        result = weir_output_file_rename(weir_output_file_of(file->output), name, &why);
    }
    if (result < 0 && err)
        *err = why;
    return result;
}

/* ---- features ---- */

static void describe_clock(const struct weir_file_facts *facts, struct weir_features_input *input)
{
    const struct weir_clock_reference *reference = &facts->clock_reference;
    input->use_clock = facts->clock.given;
    input->clock_id = facts->clock.id;
    input->clock_resolution_ns = reference->resolution_ns;
    input->clock_day_ns = reference->time_of_day_ns;
    input->clock_ns = reference->clock_ns;
}

static struct weir_compression describe_compression(const struct weir_record_file *file,
                                                    const struct weir_file_facts *facts)
{
    uint64_t compressed = weir_max_u64(file->compressed_bytes, 1);
    return (struct weir_compression){
        .level = facts->options->output.compression_level,
        .ratio = (uint32_t)weir_clamp_u64((file->raw_bytes + compressed / 2) / compressed, 1, UINT32_MAX),
        .room_bytes = facts->chunk_bytes,
    };
}

/* Collects the input of the feature sections. Builds tracing data into tracing_data: the input borrows it, and the
 * caller releases it. */
static int describe(const struct weir_record_file *file, const struct weir_file_facts *facts,
                    struct weir_features_input *input, struct weir_buf *tracing_data, struct weir_error *err)
{
    *input = (struct weir_features_input){
        .machine = &facts->machine,
        .events = facts->descriptions,
        .event_count = facts->description_count,
        .command = facts->options->caller.command_line,
        .command_count = facts->options->caller.command_line_count,
        .first_sample_ns = file->first_sample_ns,
        .last_sample_ns = file->last_sample_ns,
        .compression = describe_compression(file, facts),
    };
    input->bpf_programs = file->bpf.programs;
    input->bpf_program_count = file->bpf.program_count;
    input->bpf_btfs = file->bpf.btfs;
    input->bpf_btf_count = file->bpf.btf_count;
    input->build_ids = file->build_ids;
    input->build_id_count = file->build_id_count;
    if (facts->append) {
        input->build_ids = facts->append->build_ids;
        input->build_id_count = facts->append->build_id_count;
        if (facts->append->first_sample_ns > 0)
            input->first_sample_ns = facts->append->first_sample_ns;
        input->last_sample_ns = weir_max_u64(input->last_sample_ns, facts->append->last_sample_ns);
    }
    input->branch_stack = facts->has_branch_stacks;
    describe_clock(facts, input);
    if (!facts->tracefs[0])
        return 0;
    input->tracing_data = tracing_data;
    return weir_tracing_data_build(tracing_data, facts->tracefs, input->events, input->event_count, err);
}

static int build_features(const struct weir_record_file *file, const struct weir_file_facts *facts, uint64_t data_bytes,
                          struct weir_buf *sections, uint64_t features[4], struct weir_error *err)
{
    struct weir_buf tracing_data = WEIR_BUF_INIT;
    struct weir_features_input input;
    struct weir_aux_index_entry *aux_index = NULL;
    int result = describe(file, facts, &input, &tracing_data, err);
    if (result == 0) {
        input.aux_index_count = weir_aux_index_make(&file->trains, file->head_bytes + data_bytes, &aux_index);
        input.aux_index = aux_index;
        result = weir_features_build(sections, file->head_bytes + data_bytes, &input, features);
        if (result < 0)
            weir_error_set_errno(err, result, "cannot build the feature sections");
    }
    weir_buf_fini(&tracing_data);
    free(aux_index);
    return result;
}

/* ---- head ---- */

static struct weir_head_input describe_head(const struct weir_file_facts *facts)
{
    return (struct weir_head_input){
        .events = facts->descriptions,
        .event_count = facts->description_count,
        .id_room = facts->id_room,
    };
}

/* Writes the head with a copy of the features known by now, in case the recording is never finished. */
static int write_file_head(struct weir_record_file *file, const struct weir_file_facts *facts, struct weir_error *err)
{
    struct weir_buf head = WEIR_BUF_INIT, tracing_data = WEIR_BUF_INIT;
    struct weir_features_input early;
    int result = describe(file, facts, &early, &tracing_data, err);
    if (result == 0) {
        struct weir_head_input input = describe_head(facts);
        early.first_sample_ns = early.last_sample_ns = 0; /* not 0 when an earlier recording is continued */
        input.early = &early;
        result = weir_head_build(&head, &input);
        if (result == 0) {
            const uint8_t *written = head.data + weir_early_features_offset(weir_head_fixed_bytes(&input));
            result = weir_early_features_append_table(&file->early_table, written, file->early_features);
        }
        if (result == 0)
            result = weir_output_write_head(file->output, head.data, head.used);
        if (result == 0)
            weir_output_set_aside(file->output, head.used + BUILD_IDS_BYTES, head.used);
        else
            weir_error_set_errno(err, result, "cannot write the head of %s", file->path);
    }
    file->head_bytes = head.used;
    weir_buf_fini(&head);
    weir_buf_fini(&tracing_data);
    return result;
}

/* Writes the final head over the first one. The early features behind the first head stay. */
static int rewrite_head(struct weir_record_file *file, const struct weir_file_facts *facts, uint64_t data_bytes,
                        const uint64_t features[4])
{
    struct weir_buf head = WEIR_BUF_INIT;
    struct weir_head_input input = describe_head(facts);
    memcpy(input.features, features, sizeof(input.features));
    input.head_bytes = file->head_bytes;
    input.data_bytes = data_bytes;
    int result = weir_head_build(&head, &input);
    if (result == 0)
        result = weir_output_patch_head(file->output, 0, head.data, weir_head_fixed_bytes(&input));
    weir_buf_fini(&head);
    return result;
}

/* ---- streams ---- */

static int write_stream_head(struct weir_record_file *file, const struct weir_file_facts *facts, struct weir_error *err)
{
    struct weir_buf head = WEIR_BUF_INIT, tracing_data = WEIR_BUF_INIT;
    struct weir_features_input input;
    unsigned left_out = 0;
    int result = describe(file, facts, &input, &tracing_data, err);
    if (result == 0) {
        result = weir_pipe_head_build(&head, &input, &left_out);
        if (result == 0)
            result = weir_output_write_head(file->output, head.data, head.used);
        if (result < 0)
            weir_error_set_errno(err, result, "cannot write the head of the stream");
    }
    if (left_out > 0)
        weir_notice(facts->options->notices, WEIR_NOTICE_VERBOSE, "%u features are too long for a stream and left out",
                    left_out);
    file->head_bytes = head.used;
    weir_buf_fini(&head);
    weir_buf_fini(&tracing_data);
    return result;
}

/* ---- open ---- */

/* Opens DIR/data in a folder DIR of its own. */
static int open_in_folder(struct weir_record_file *file, const struct weir_pipeline *pipeline,
                          const struct weir_io_ops *io, struct weir_error *err)
{
    char path[PATH_MAX];
    int result = weir_output_folder_open(&file->folder, file->path, err);
    if (result < 0)
        return result;
    if (snprintf(path, sizeof(path), "%s/data", file->path) >= (int)sizeof(path))
        return weir_error_set(err, -ENAMETOOLONG, "the name of the output is too long");
    result =
        weir_pipeline_open_output(pipeline, path, weir_output_folder_directory(file->folder), io, &file->output, err);
    return result < 0 ? result : weir_output_file_publish(weir_output_file_of(file->output), err);
}

/* Copies the data of the continued file to the start of the output. */
static int copy_in(struct weir_record_file *file, const struct weir_append *append, struct weir_error *err)
{
    const struct weir_perf_input *input = &append->input;
    const struct weir_perf_section *data = &input->header.data;
    weir_output_file_give_owner(weir_output_file_of(file->output), &append->identity);
    int result = weir_output_copy_in(file->output, input->source.fd, data->offset, data->size);
    return result < 0 ? weir_error_set_errno(err, result, "cannot copy the recording of before, '%s'", file->path) : 0;
}

static int open_output(struct weir_record_file *file, const struct weir_file_facts *facts,
                       const struct weir_pipeline *pipeline, const int *directory_fd, const struct weir_io_ops *io,
                       struct weir_error *err)
{
    if (file->kind == WEIR_RECORD_OUTPUT_STREAM) {
        int result = weir_pipeline_open_stream(pipeline, facts->options->output.fd, io, &file->output, err);
        return result < 0 ? result : write_stream_head(file, facts, err);
    }
    int result = facts->options->output.kcore
                     ? open_in_folder(file, pipeline, io, err)
                     : weir_pipeline_open_output(pipeline, file->path, directory_fd, io, &file->output, err);
    if (result == 0)
        result = write_file_head(file, facts, err);
    return result == 0 && facts->append ? copy_in(file, facts->append, err) : result;
}

int weir_record_file_open(struct weir_record_file **made, const struct weir_file_facts *facts,
                          const struct weir_pipeline *pipeline, const char *path, const int *directory_fd,
                          const struct weir_io_ops *io, struct weir_error *err)
{
    struct weir_record_file *file = calloc(1, sizeof(*file));
    char *copy = strdup(path);
    if (!file || !copy) {
        free(file);
        free(copy);
        return weir_error_set_errno(err, -ENOMEM, "cannot set up the output");
    }
    file->path = copy;
    file->kind = facts->options->output.kind;
    file->syncs = facts->options->output.sync;
    int result = open_output(file, facts, pipeline, directory_fd, io, err);
    if (result < 0) {
        weir_record_file_close(file);
        return result;
    }
    *made = file;
    return 0;
}

int weir_record_file_publish(struct weir_record_file *file, struct weir_error *err)
{
    return file->folder ? weir_output_folder_publish(file->folder, err)
                        : weir_output_file_publish(weir_output_file_of(file->output), err);
}

int weir_record_file_name_beside(struct weir_record_file *file, struct weir_error *err)
{
    return weir_output_file_name_beside(weir_output_file_of(file->output), WEIR_APPEND_SUFFIX, err);
}

int weir_record_file_sync_name(const struct weir_record_file *file, struct weir_error *err)
{
    if (!file->syncs)
        return 0;
    int result = file->folder ? weir_output_folder_sync(file->folder)
                              : weir_output_file_sync_name(weir_output_file_of(file->output));
    return result < 0 ? weir_error_set_errno(err, result, "cannot sync the directory of %s", file->path) : 0;
}

int weir_record_file_copy_kernel(struct weir_record_file *file, const struct weir_file_facts *facts,
                                 struct weir_error *err)
{
    const struct weir_notice_sink *notices = facts->options->notices;
    struct weir_kcore_copied copied;
    int fd = weir_output_folder_make_kcore(file->folder, err);
    if (fd < 0)
        return fd;
    int result = weir_kcore_copy(facts->kcore, fd, &copied, err);
    close(fd);
    if (result < 0)
        return result;
    weir_notice(notices, WEIR_NOTICE_VERBOSE, "copied %llu KiB of the kernel's code, in %u pieces",
                (unsigned long long)(copied.bytes >> 10), copied.segments);
    if (copied.changed)
        weir_notice(
            notices, WEIR_NOTICE_WARNING,
            "modules or BPF programs came or went each time that the kernel was copied: its list of symbols may "
            "not fit its code");
    return 0;
}

/* ---- end ---- */

/* The end of a file. */
struct ending {
    struct weir_buf sections; /* owned; the features, or a table of the features in the head */
    uint64_t features[4];     /* bits of these features */
    bool is_early;            /* sections is the table of the features in the head */
};

/* Ends the file with the features that were known at the start. Returns 0 or -ENOMEM. */
static int end_with_early_features(const struct weir_record_file *file, struct ending *ending)
{
    weir_buf_reset(&ending->sections);
    weir_buf_append(&ending->sections, file->early_table.data, file->early_table.used);
    memcpy(ending->features, file->early_features, sizeof(ending->features));
    ending->is_early = true;
    return weir_buf_error(&ending->sections);
}

/* Writes the last records and, behind them, the features. Returns 0 or -errno. */
static int write_tail(struct weir_record_file *file, const struct ending *ending)
{
    struct weir_buf tail = WEIR_BUF_INIT;
    weir_buf_append(&tail, file->last_records.data, file->last_records.used);
    weir_buf_append(&tail, ending->sections.data, ending->sections.used);
    int result = weir_buf_error(&tail);
    if (result == 0)
        result = weir_output_finish(file->output, tail.data, tail.used);
    weir_buf_fini(&tail);
    return result;
}

/* Writes the tail. If it finds no room, writes the early features instead, and in the end the last records alone.
 * *is_told: the last records are in the file. */
static int write_what_fits(struct weir_record_file *file, struct ending *ending, bool *is_told)
{
    const struct weir_buf *last = &file->last_records;
    int result = write_tail(file, ending);
    *is_told = result == 0;
    if (result < 0 && !ending->is_early && end_with_early_features(file, ending) == 0)
        *is_told = write_tail(file, ending) == 0;
    if (*is_told)
        return result;
    memset(ending->features, 0, sizeof(ending->features));
    weir_buf_reset(&ending->sections);
    *is_told = last->used > 0 && weir_output_finish(file->output, last->data, last->used) == 0;
    return result;
}

static void tell_of_ending(const struct weir_record_file *file, const struct ending *ending, int result,
                           struct weir_error *err)
{
    bool has_features = ending->sections.used > 0;
    if (result < 0)
        weir_error_set_errno(err, result, "cannot write %s of %s", has_features ? "all features" : "the features",
                             file->path);
    if (has_features)
        weir_error_hint(err, "the file is whole, with what was known at its start: it lacks build ids");
    else
        weir_error_hint(err, "weir recover makes a whole file of it, with what was known at the start");
}

static int finish_file(struct weir_record_file *file, const struct weir_file_facts *facts, struct weir_error *err)
{
    uint64_t data_bytes = weir_output_stable_bytes(file->output);
    struct ending ending = {.sections = WEIR_BUF_INIT};
    struct weir_error kept_error = {0};
    bool is_told = false;
    int kept = weir_output_check_kept(file->output, &kept_error);
    int described =
        build_features(file, facts, data_bytes + file->last_records.used, &ending.sections, ending.features, err);
    int result = described < 0 ? end_with_early_features(file, &ending) : 0;
    if (result == 0)
        result = write_what_fits(file, &ending, &is_told);
    if (is_told)
        data_bytes += file->last_records.used;
    if (result < 0 || described < 0)
        tell_of_ending(file, &ending, result, err);
    /* The head that announces records and features must not reach the disk before them. */
    bool syncs = is_told && file->syncs && weir_output_error(file->output) == 0;
    int synced = syncs ? weir_output_sync(file->output) : 0;
    if (synced < 0) {
        memset(ending.features, 0, sizeof(ending.features));
        result = weir_error_set_errno(err, synced, "cannot write the feature sections of %s", file->path);
    }
    int written = rewrite_head(file, facts, data_bytes, ending.features);
    if (written < 0 && result == 0)
        result = weir_error_set_errno(err, written, "cannot write the head of %s", file->path);
    if (described < 0 && result == 0)
        result = described;
    file->file_bytes = file->head_bytes + data_bytes + ending.sections.used;
    weir_buf_fini(&ending.sections);
    if (kept < 0 && err)
        *err = kept_error;
    return kept < 0 ? kept : result;
}

int weir_record_file_finish(struct weir_record_file *file, const struct weir_file_facts *facts, struct weir_error *err)
{
    if (file->kind != WEIR_RECORD_OUTPUT_STREAM)
        return finish_file(file, facts, err);
    struct weir_output_stats stats;
    weir_output_get_stats(file->output, &stats);
    file->file_bytes = stats.written_bytes;
    return weir_output_finish(file->output, NULL, 0);
}

int weir_record_file_error(const struct weir_record_file *file)
{
    return weir_output_error(file->output);
}

int weir_record_file_sync(struct weir_record_file *file, struct weir_error *err)
{
    int result = weir_output_sync(file->output);
    return result < 0 ? weir_error_set_errno(err, result, "cannot sync %s", file->path) : 0;
}

void weir_record_file_close(struct weir_record_file *file)
{
    if (!file)
        return;
    weir_train_list_fini(&file->trains);
    weir_output_close(file->output);
    weir_output_folder_close(file->folder);
    weir_bpf_list_fini(&file->bpf);
    weir_buf_fini(&file->last_records);
    weir_buf_fini(&file->early_table);
    free(file->path);
    free(file);
}
