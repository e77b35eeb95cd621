/* Files of the readers, see record_parts.h. Coordinator. */
#include "engine/session/record_parts.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bits.h"

#define STAGE_TOTAL_BYTES (8ull << 20) /* of all readers */
#define STAGE_LEAST_BYTES (16ull << 10)
#define STAGE_MOST_BYTES  (256ull << 10)
#define STAGES            4u /* of an output */

size_t weir_record_parts_stage_bytes(unsigned readers)
{
    uint64_t share = STAGE_TOTAL_BYTES / STAGES / weir_max_u64(readers, 1);
    uint64_t stage = STAGE_MOST_BYTES;
    while (stage > share && stage > STAGE_LEAST_BYTES)
        stage /= 2;
    return stage;
}

static int open_part(struct weir_record_parts *parts, const struct weir_output_folder *folder,
                     const struct weir_output_options *options, struct weir_error *err)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/data.%u", weir_output_folder_path(folder), parts->count) >= (int)sizeof(path))
        return weir_error_set(err, -ENAMETOOLONG, "the name of the output is too long");
    struct weir_output **part = &parts->outputs[parts->count];
    int result = weir_output_open(part, path, options, err);
    if (result < 0)
        return result;
    parts->count++;
    weir_output_write_head(*part, NULL, 0);
    return weir_output_publish(*part, err);
}

int weir_record_parts_open(struct weir_record_parts *parts, const struct weir_output_folder *folder, unsigned readers,
                           const struct weir_notice_sink *notices, struct weir_error *err)
{
    *parts = (struct weir_record_parts){0};
    const struct weir_output_options options = {
        .engine = WEIR_OUTPUT_WRITEV,
        .direct = WEIR_OUTPUT_DIRECT_OFF,
        .stage_bytes = weir_record_parts_stage_bytes(readers),
        .notices = notices,
    };
    int result = 0;
    parts->outputs = calloc(readers, sizeof(struct weir_output *));
    if (!parts->outputs)
        return weir_error_set_errno(err, -ENOMEM, "cannot set up the output");
    for (unsigned i = 0; i < readers && result == 0; i++)
        result = open_part(parts, folder, &options, err);
    return result;
}

int weir_record_parts_set_folder(struct weir_record_parts *parts, const char *folder)
{
    char path[PATH_MAX];
    int result = 0;
    for (unsigned i = 0; i < parts->count && result == 0; i++) {
        snprintf(path, sizeof(path), "%s/data.%u", folder, i);
        result = weir_output_set_path(parts->outputs[i], path);
    }
    return result;
}

int weir_record_parts_check_kept(const struct weir_record_parts *parts, struct weir_error *err)
{
    int result = 0;
    for (unsigned i = 0; i < parts->count && result == 0; i++)
        result = weir_output_check_kept(parts->outputs[i], err);
    return result;
}

int weir_record_parts_error(const struct weir_record_parts *parts)
{
    int error = 0;
    for (unsigned i = 0; i < parts->count && error == 0; i++)
        error = weir_output_error(parts->outputs[i]);
    return error;
}

int weir_record_parts_finish(struct weir_record_parts *parts, uint64_t *bytes)
{
    int first = 0;
    *bytes = 0;
    for (unsigned i = 0; i < parts->count; i++) {
        int result = weir_output_finish(parts->outputs[i], NULL, 0);
        if (first == 0)
            first = result;
        *bytes += weir_output_stable_bytes(parts->outputs[i]);
    }
    return first;
}

int weir_record_parts_sync(struct weir_record_parts *parts)
{
    int first = 0;
    for (unsigned i = 0; i < parts->count; i++) {
        int result = weir_output_sync(parts->outputs[i]);
        if (first == 0)
            first = result;
    }
    return first;
}

void weir_record_parts_fini(struct weir_record_parts *parts)
{
    for (unsigned i = 0; i < parts->count; i++)
        weir_output_close(parts->outputs[i]);
    free(parts->outputs);
    *parts = (struct weir_record_parts){0};
}
