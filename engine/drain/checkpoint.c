/* Checkpoints, a step at a time. Writer thread. Protocol: checkpoint.h. */
#include "engine/drain/checkpoint.h"

#include <errno.h>

#include "format/perf_file.h"

void weir_checkpoint_init(struct weir_checkpoint *checkpoint, const struct weir_clock *clock, bool syncs)
{
    *checkpoint = (struct weir_checkpoint){
        .clock = clock,
        .syncs = syncs,
        .begun_ns = weir_clock_now_ns(clock),
    };
}

void weir_checkpoint_change_output(struct weir_checkpoint *checkpoint)
{
    checkpoint->step = WEIR_CHECKPOINT_REST;
    checkpoint->syncing = false;
    checkpoint->covered_bytes = 0;
}

uint64_t weir_checkpoint_due_in_ns(const struct weir_checkpoint *checkpoint, const struct weir_output *output)
{
    if (checkpoint->step != WEIR_CHECKPOINT_REST)
        return 0;
    if (weir_output_is_stream(output) || weir_output_stable_bytes(output) == checkpoint->covered_bytes)
        return UINT64_MAX;
    /* The first bytes are published at once: a file with data.size 0 does not open. */
    if (checkpoint->covered_bytes == 0)
        return 0;
    uint64_t now_ns = weir_clock_now_ns(checkpoint->clock);
    uint64_t due_ns = checkpoint->begun_ns + WEIR_CHECKPOINT_NS;
    return now_ns >= due_ns ? 0 : due_ns - now_ns;
}

static void note_error(struct weir_checkpoint *checkpoint, int result)
{
    if (result < 0 && checkpoint->error == 0)
        checkpoint->error = result;
}

static void write_size(struct weir_checkpoint *checkpoint, struct weir_output *output)
{
    const uint64_t bytes = checkpoint->stable_bytes;
    note_error(checkpoint, weir_output_patch_head(output, WEIR_PERF_DATA_SIZE_OFFSET, &bytes, sizeof(bytes)));
}

/* ---- with --sync ---- */

/* Queues the call of this step; if the queue has no room, a later pass does. */
static void begin_sync(struct weir_checkpoint *checkpoint, struct weir_output *output)
{
    int result = weir_output_begin_sync(output);
    if (result == 0) {
        checkpoint->syncing = true;
        weir_output_flush(output);
    } else if (result != -EBUSY) { /* the output has failed */
        note_error(checkpoint, result);
        checkpoint->step = WEIR_CHECKPOINT_REST;
    }
}

static void go_on(struct weir_checkpoint *checkpoint, struct weir_output *output)
{
    switch (checkpoint->step) {
    case WEIR_CHECKPOINT_SYNC_DATA:
        write_size(checkpoint, output);
        checkpoint->step = WEIR_CHECKPOINT_SYNC_SIZE;
        break;
    case WEIR_CHECKPOINT_SYNC_SIZE:
    case WEIR_CHECKPOINT_REST:
        checkpoint->step = WEIR_CHECKPOINT_REST;
        break;
    }
}

/* Ends the step whose call is done, and begins the next one. */
static void advance(struct weir_checkpoint *checkpoint, struct weir_output *output)
{
    if (checkpoint->syncing) {
        int result = weir_output_sync_result(output);
        if (result == -EINPROGRESS)
            return;
        checkpoint->syncing = false;
        note_error(checkpoint, result == -EAGAIN ? 0 : result);
        if (result == 0)
            go_on(checkpoint, output);
        else if (result != -EAGAIN)
            checkpoint->step = WEIR_CHECKPOINT_REST;
    }
    if (checkpoint->step != WEIR_CHECKPOINT_REST)
        begin_sync(checkpoint, output);
}

/* ---- both ---- */

void weir_checkpoint_run(struct weir_checkpoint *checkpoint, struct weir_output *output)
{
    if (weir_checkpoint_due_in_ns(checkpoint, output) > 0)
        return;
    if (checkpoint->step == WEIR_CHECKPOINT_REST) {
        checkpoint->stable_bytes = weir_output_stable_bytes(output);
        checkpoint->covered_bytes = checkpoint->stable_bytes;
        checkpoint->begun_ns = weir_clock_now_ns(checkpoint->clock);
        int taken = weir_output_look(output);
        if (taken < 0)
            checkpoint->taken = taken;
        if (!checkpoint->syncs) {
            write_size(checkpoint, output);
            return;
        }
        checkpoint->step = WEIR_CHECKPOINT_SYNC_DATA;
    }
    advance(checkpoint, output);
}
