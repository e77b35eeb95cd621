/*
 * The loss ledger. For every CPU and event, the samples that the kernel produced equal those written, shed or lost, by
 * cause. The coordinator makes the ledger once, after the readers have ended.
 */
#ifndef WEIR_ENGINE_FILES_LEDGER_H
#define WEIR_ENGINE_FILES_LEDGER_H

#include "base/buf.h"
#include "engine/drain/pipeline.h"
#include "engine/events/event_set.h"
#include "engine/plan/record_result.h"

/* The losses that the outputs so far report. Each later loss goes to the next output. */
struct weir_told_losses {
    struct weir_told_loss {
        uint64_t id; /* of the event's descriptor; 0: no entry */
        uint64_t lost;
    } * all;                     /* owned; indexed as the event set's table of descriptors */
    size_t count;                /* 0: no table yet */
    struct weir_told_loss *gone; /* owned; for the set's retired descriptors, in their order */
    size_t gone_count;
    uint64_t sum; /* losses that hold_back() has let through */
};

void weir_told_losses_fini(struct weir_told_losses *told);

/*
 * Appends a LOST_SAMPLES record to `lost` for every descriptor with losses since the last call with the same `told`.
 * `told` is all zeros before the first call. Costs a read(2) for each descriptor. Returns 0; or -ENOMEM, and then all
 * losses are left for the next call. Coordinator.
 */
int weir_ledger_tell_losses(const struct weir_event_set *set, struct weir_told_losses *told, struct weir_buf *lost);

/*
 * Makes the LOST_SAMPLES records of an output agree with its LOST records. The kernel counts a loss at once, but writes
 * its LOST record only when the ring has room again. By then the next output may have begun. Each file reports the
 * losses that its own LOST records cover; the rest is carried to the next file.
 *
 * `lost` holds the records that weir_ledger_tell_losses() has just appended to an empty buffer. lost_reported is the
 * sum of all LOST records up to the place of these LOST_SAMPLES records. Losses beyond lost_reported leave `lost`, and
 * a later call reports them. The thread that owns `told` calls.
 */
void weir_ledger_hold_back(struct weir_told_losses *told, uint64_t lost_reported, struct weir_buf *lost);

/*
 * Allocates the memory for the ledger of the set and for `told` (NULL-safe). So the end of a recording cannot fail for
 * want of memory. Optional: weir_ledger_collect() allocates the memory otherwise. Returns 0 or -ENOMEM. The fini
 * functions of result and `told` release the memory.
 */
int weir_ledger_reserve(const struct weir_event_set *set, struct weir_told_losses *told,
                        struct weir_record_result *result);

/*
 * Reads the kernel's counts of every event, and fills result->ledger, event_names and event_count. Appends to `lost` a
 * LOST_SAMPLES record for every descriptor with losses that `told` does not have. The trailer of the record has id and
 * CPU. told: NULL when there was one output only. Call after the readers have ended.
 *
 * Returns 0 or -ENOMEM. After -ENOMEM `lost` lacks the losses. The ledger has them if it has rows
 * (weir_ledger_reserve()).
 */
int weir_ledger_collect(const struct weir_event_set *set, struct weir_pipeline *pipeline,
                        struct weir_record_result *result, struct weir_told_losses *told, struct weir_buf *lost);

/*
 * Appends to `lost` a LOST_SAMPLES record for each CPU and event whose samples failed writes took from one output. So
 * the end of a file that has room for these records tells of all samples that the file lacks. Samples beyond a size
 * limit get no record: nothing was lost there.
 *
 * account: the writer's account of the output, once the writer has left or ended the output. *samples: the sum over all
 * records. Returns 0; or -ENOMEM, and then no record is appended.
 */
int weir_ledger_tell_unwritten(const struct weir_event_set *set, const struct weir_pipeline *pipeline,
                               const struct weir_writer_account *account, struct weir_buf *lost, uint64_t *samples);

/* Returns the losses of a ring since its last LOST record. The kernel wrote no further LOST record, because no later
 * record found room. Call after weir_ledger_collect(), with all its rows. */
uint64_t weir_ledger_untold(const struct weir_reader_ring *r, const struct weir_record_result *result);

/* Fills the totals of result (samples, losses, wake-ups, throttled). First moves the samples of failed writes from
 * `written` to lost_write_failed, or to left_out when a size limit was reached. Moves the samples for which other
 * samples stand to `merged`. Call after the writer has ended. */
void weir_ledger_fill_totals(const struct weir_pipeline *pipeline, struct weir_record_result *result);

#endif
