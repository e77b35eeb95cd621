/* Causes and hints; see loss_advice.h. */
#include "engine/files/loss_advice.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/clock.h"
#include "base/size_text.h"

#define ADVISED_RING_MIN    (4ull << 20)
#define ADVISED_RING_MAX    (256ull << 20) /* a ring per CPU: more than this is no sane advice */
#define SIDEBAND_RING_MAX   (1ull << 20)   /* as weir_ring_bytes_choose() has it */
#define ADVISED_RING_FACTOR 4
#define ADVISED_POOL_FACTOR 2
#define ABSENCE_MIN_NS      WEIR_NS_PER_S
#define DELAY_MIN_NS        (500 * WEIR_NS_PER_MS) /* of a timer that expires somewhere in an absence */

/* Whether a ring of that size needs a privilege that this process lacks; *mlock_kb: the knob that would do instead. */
static bool exceeds_limit(const struct weir_kernel_limits *limits, uint64_t ring_bytes, uint64_t *mlock_kb)
{
    struct weir_ring_sizes sizes = {
        .data_bytes = ring_bytes,
        .sideband_bytes = weir_min_u64(ring_bytes / 2, SIDEBAND_RING_MAX),
    };
    *mlock_kb = weir_ring_sizes_mlock_kb(limits, &sizes);
    return !weir_kernel_limits_rings_are_free(limits) && *mlock_kb > limits->mlock_kb;
}

static void advise_ring(const struct weir_record_result *result, const struct weir_kernel_limits *limits,
                        unsigned realtime_priority, char hint[WEIR_LOSS_HINT_BYTES])
{
    uint64_t advised = weir_clamp_u64(result->ring_bytes * ADVISED_RING_FACTOR, ADVISED_RING_MIN, ADVISED_RING_MAX);
    char now[WEIR_SIZE_TEXT_BYTES], then[WEIR_SIZE_TEXT_BYTES];
    weir_size_format(result->ring_bytes, now);
    weir_size_format(advised, then);

    uint64_t mlock_kb;
    bool unprivileged = exceeds_limit(limits, advised, &mlock_kb), is_larger = advised > result->ring_bytes;
    bool adds_priority = realtime_priority == 0 && !unprivileged;
    if (is_larger && unprivileged)
        snprintf(hint, WEIR_LOSS_HINT_BYTES,
                 "-m %s (now %s), for which CAP_IPC_LOCK or kernel.perf_event_mlock_kb=%" PRIu64 " (now %" PRIu64
                 ") is needed",
                 then, now, mlock_kb, limits->mlock_kb);
    else if (is_larger)
        snprintf(hint, WEIR_LOSS_HINT_BYTES, "-m %s (now %s)%s", then, now, adds_priority ? " or -r 1" : "");
    else
        snprintf(hint, WEIR_LOSS_HINT_BYTES, "%s",
                 adds_priority ? "-r 1" : "fewer samples, by a lower -F or a higher -c");
}

/* Whether neither the readers nor the coordinator ran for so long: SIGSTOP, a suspended machine, a host that did not
 * schedule this one. No ring is large enough for that. */
static bool was_absent(const struct weir_record_result *result)
{
    return result->longest_delay_ns >= DELAY_MIN_NS &&
           result->drains[WEIR_DRAIN_ELSEWHERE].gap_us.max * WEIR_NS_PER_US >= ABSENCE_MIN_NS;
}

static void advise_to_run(const struct weir_record_result *result, char hint[WEIR_LOSS_HINT_BYTES])
{
    snprintf(hint, WEIR_LOSS_HINT_BYTES, "let weir run (it was stopped, or had no CPU time, for %.1f s)",
             (double)result->drains[WEIR_DRAIN_ELSEWHERE].gap_us.max / 1e6);
}

static void advise_pool(const struct weir_record_result *result, char hint[WEIR_LOSS_HINT_BYTES])
{
    char now[WEIR_SIZE_TEXT_BYTES], then[WEIR_SIZE_TEXT_BYTES];
    weir_size_format(result->pool_bytes, now);
    weir_size_format(result->pool_bytes * ADVISED_POOL_FACTOR, then);
    snprintf(hint, WEIR_LOSS_HINT_BYTES, "--buffer-size %s (now %s)", then, now);
}

/* Moves at most `share` samples from *rest to a cause. */
static void divide(struct weir_record_result *result, enum weir_loss_cause cause, uint64_t share, uint64_t *rest)
{
    result->losses[cause].lost = weir_min_u64(share, *rest);
    *rest -= result->losses[cause].lost;
}

static void divide_all(struct weir_record_result *result)
{
    struct weir_loss *losses = result->losses;
    uint64_t in_rings = 0;
    memset(losses, 0, sizeof(result->losses));
    for (size_t i = 0; i < result->ledger_count; i++) {
        const struct weir_ledger_row *row = &result->ledger[i];
        if (row->event >= result->side_event)
            continue;
        in_rings += row->lost_ring_full;
        losses[WEIR_LOSS_SHED].lost += row->shed;
        losses[WEIR_LOSS_WRITE_FAILED].lost += row->lost_write_failed;
        losses[WEIR_LOSS_SUMS_FULL].lost += row->lost_in_sums;
    }
    divide(result, WEIR_LOSS_SUSPENDED, result->lost_suspended, &in_rings);
    divide(result, WEIR_LOSS_OUTPUT_BEHIND, result->lost_while_pool_empty, &in_rings);
    divide(result, WEIR_LOSS_NO_RING, result->lost_before_ring, &in_rings);
    divide(result, WEIR_LOSS_RING_DAMAGED, result->lost_damaged, &in_rings);
    losses[result->overwritten ? WEIR_LOSS_RING_PAUSED : WEIR_LOSS_RING_FULL].lost = in_rings;
}

void weir_loss_advise(struct weir_record_result *result, const struct weir_kernel_limits *limits,
                      unsigned realtime_priority)
{
    struct weir_loss *losses = result->losses;
    divide_all(result);
    if (losses[WEIR_LOSS_RING_DAMAGED].lost > 0)
        snprintf(losses[WEIR_LOSS_RING_DAMAGED].hint, WEIR_LOSS_HINT_BYTES, "no -s");
    if (losses[WEIR_LOSS_SUSPENDED].lost > 0)
        snprintf(losses[WEIR_LOSS_SUSPENDED].hint, WEIR_LOSS_HINT_BYTES, "more disk space");
    if (losses[WEIR_LOSS_RING_FULL].lost > 0 && was_absent(result))
        advise_to_run(result, losses[WEIR_LOSS_RING_FULL].hint);
    else if (losses[WEIR_LOSS_RING_FULL].lost > 0)
        advise_ring(result, limits, realtime_priority, losses[WEIR_LOSS_RING_FULL].hint);
    if (losses[WEIR_LOSS_OUTPUT_BEHIND].lost > 0)
        advise_pool(result, losses[WEIR_LOSS_OUTPUT_BEHIND].hint);
    if (losses[WEIR_LOSS_SHED].lost > 0)
        advise_pool(result, losses[WEIR_LOSS_SHED].hint);
    if (losses[WEIR_LOSS_SUMS_FULL].lost > 0)
        snprintf(losses[WEIR_LOSS_SUMS_FULL].hint, WEIR_LOSS_HINT_BYTES, "--off-cpu-thresh=0");
}
