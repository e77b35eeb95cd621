/* When to ask for a round. Writer thread. See round_due.h. */
#include "engine/drain/round_due.h"

#include "base/bits.h"
#include "engine/drain/shed.h"

#define OUTPUT_SHARE 64 /* see docs/performance.md, "Reading" */

void weir_round_due_init(struct weir_round_due *due, const struct weir_round_due_setup *setup)
{
    *due = (struct weir_round_due){.setup = *setup};
}

void weir_round_due_append(struct weir_round_due *due, uint64_t bytes, uint64_t marker_end)
{
    due->bytes = marker_end > 0 ? bytes - marker_end : due->bytes + bytes;
}

void weir_round_due_grant(struct weir_round_due *due)
{
    due->asked = false;
    atomic_store_explicit(&due->overdue, false, memory_order_relaxed); /* a hint */
}

void weir_round_due_begin(struct weir_round_due *due)
{
    due->bytes = 0;
}

static uint64_t full_bytes(const struct weir_round_due *due, uint64_t output_bytes, bool is_pressed)
{
    uint64_t more = weir_min_u64(output_bytes / OUTPUT_SHARE, due->setup.more_bytes);
    return (due->setup.bytes + more) * (is_pressed ? WEIR_SHED_ROUND_FACTOR : 1);
}

bool weir_round_due_asks(struct weir_round_due *due, uint64_t output_bytes, bool is_pressed)
{
    uint64_t full = full_bytes(due, output_bytes, is_pressed);
    if (!due->asked && due->bytes >= full) {
        due->asked = true;
        return true;
    }
    /* Relaxed: our own word, and the system call that asks orders it. */
    if (atomic_load_explicit(&due->overdue, memory_order_relaxed) || due->bytes < full + due->setup.patient_bytes)
        return false;
    atomic_store_explicit(&due->overdue, true, memory_order_relaxed);
    return true;
}
