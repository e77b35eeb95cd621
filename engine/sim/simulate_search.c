/*
 * The probe of engine/sim/search.h is a simulated run. It holds when no sample is lost, and is out of reach when the
 * producers do not come up to the rate.
 */
#include "engine/sim/simulate_search.h"

#include <errno.h>
#include <inttypes.h>

#include "base/bits.h"

#define RATE_FIRST_HZ  1000u
#define RATE_MOST_HZ   100000000u
#define STALL_FIRST_MS 50u
#define STALL_MOST_MS  60000u
#define AFTER_STALL_NS (100 * WEIR_NS_PER_MS) /* for the pool to drain, or to overflow */
#define RATE_REACHED   0.95                   /* of the rate asked for, at least */

struct search {
    struct weir_simulate_options options;
    enum weir_simulate_goal goal;
    uint64_t probe_ns;
    struct weir_simulate_found *found;
    struct weir_simulate_result *result; /* of the last run */
    uint64_t held;                       /* highest value without loss so far; 0: none */
};

static const char *unit_of(const struct search *s)
{
    return s->goal == WEIR_SIMULATE_RATE ? "Hz per CPU" : "ms";
}

static void describe(const struct search *s, uint64_t value)
{
    const struct weir_simulate_result *result = s->result;
    weir_notice(s->options.record.notices, WEIR_NOTICE_INFO, "run %u: %" PRIu64 " %s: %" PRIu64 " of %" PRIu64 " lost",
                s->found->runs, value, unit_of(s), result->record.lost_samples, result->produced);
}

/* The runs until then are not in vain. */
static int fail_interrupted(const struct search *s, struct weir_error *err)
{
    weir_error_set(err, -EINTR, "interrupted while searching, after %u runs", s->found->runs);
    if (s->held > 0)
        weir_error_hint(err, "so far %" PRIu64 " %s are without loss; more may be", s->held, unit_of(s));
    return -EINTR;
}

/* Whether the producers came up to the rate: samples that they did not produce prove nothing about the drain. */
static bool reached(const struct search *s)
{
    double asked = (double)s->options.load.records_per_cpu / (double)s->options.load.rate_per_cpu_hz;
    return s->result->produce_seconds * RATE_REACHED <= asked;
}

static int probe(void *ctx, uint64_t value, enum weir_probe_outcome *outcome, struct weir_error *err)
{
    struct search *s = ctx;
    uint64_t length_ns = s->probe_ns;
    if (s->goal == WEIR_SIMULATE_RATE) {
        s->options.load.rate_per_cpu_hz = value;
    } else {
        s->options.stall_ns = value * WEIR_NS_PER_MS;
        length_ns = WEIR_SIMULATE_WARM_UP_NS + s->options.stall_ns + AFTER_STALL_NS;
    }
    double records = (double)s->options.load.rate_per_cpu_hz * (double)length_ns / (double)WEIR_NS_PER_S;
    s->options.load.records_per_cpu = weir_max_u64((uint64_t)records, 1);

    weir_simulate_result_fini(s->result);
    int result = weir_simulate_run(&s->options, s->result, err);
    if (result < 0)
        return result;
    if (s->result->record.end == WEIR_RECORD_END_SIGNAL)
        return fail_interrupted(s, err);
    s->found->runs++;
    describe(s, value);
    *outcome = s->result->record.lost_samples > 0 ? WEIR_PROBE_FAILS
               : reached(s)                       ? WEIR_PROBE_HOLDS
                                                  : WEIR_PROBE_OUT_OF_REACH;
    if (*outcome == WEIR_PROBE_HOLDS)
        s->held = weir_max_u64(s->held, value);
    return 0;
}

int weir_simulate_search(const struct weir_simulate_options *options, enum weir_simulate_goal goal, uint64_t probe_ns,
                         struct weir_simulate_found *found, struct weir_simulate_result *result, struct weir_error *err)
{
    *found = (struct weir_simulate_found){0};
    *result = (struct weir_simulate_result){0};
    if (goal == WEIR_SIMULATE_ONCE)
        return weir_simulate_run(options, result, err);
    struct search s = {
        .options = *options,
        .goal = goal,
        .probe_ns = probe_ns,
        .found = found,
        .result = result,
    };
    bool rate = goal == WEIR_SIMULATE_RATE;
    return weir_search_highest(
        &(struct weir_search){
            .first = rate ? RATE_FIRST_HZ : STALL_FIRST_MS,
            .greatest = rate ? RATE_MOST_HZ : STALL_MOST_MS,
            .probe = probe,
            .ctx = &s,
        },
        &found->value, &found->limit, err);
}
