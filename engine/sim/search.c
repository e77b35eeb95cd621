/* The state of a search: the highest good value and the least bad one. Caller's thread. */
#include "engine/sim/search.h"

#include "base/assert.h"
#include "base/bits.h"

#define STEP 4

struct progress {
    const struct weir_search *search;
    uint64_t good;    /* the highest value that held; 0: none */
    uint64_t bad;     /* the least value that did not hold; greatest + 1: none */
    bool unreachable; /* bad is out of reach; nothing else is known of it */
    struct weir_error *err;
};

/* Probes a value and narrows the range. 0 or -errno. */
static int probe(struct progress *p, uint64_t value)
{
    enum weir_probe_outcome outcome;
    int result = p->search->probe(p->search->ctx, value, &outcome, p->err);
    if (result < 0)
        return result;
    if (outcome == WEIR_PROBE_HOLDS) {
        p->good = value;
    } else {
        p->bad = value;
        p->unreachable = outcome == WEIR_PROBE_OUT_OF_REACH;
    }
    return 0;
}

/* Finds a good value and a bad one, if there are any. */
static int bracket(struct progress *p)
{
    const struct weir_search *search = p->search;
    int result = probe(p, search->first);
    while (result == 0 && p->good > 0 && p->good < search->greatest && p->bad > search->greatest)
        result = probe(
            p, weir_min_u64(p->good > search->greatest / STEP ? search->greatest : p->good * STEP, search->greatest));
    while (result == 0 && p->good == 0 && p->bad > 1)
        result = probe(p, weir_max_u64(p->bad / STEP, 1));
    return result;
}

/* Returns the geometric mean of good and bad, computed without floating point: the root of their product. */
static uint64_t middle(uint64_t good, uint64_t bad)
{
    uint64_t low = good, high = bad;
    while (high - low > 1) {
        uint64_t mid = low + (high - low) / 2;
        if ((unsigned __int128)mid * mid <= (unsigned __int128)good * bad)
            low = mid;
        else
            high = mid;
    }
    return weir_max_u64(low, good + 1);
}

static bool is_narrow(const struct progress *p)
{
    return p->bad - p->good <= weir_max_u64(p->good / 100 * WEIR_SEARCH_PERCENT, 1);
}

static enum weir_search_limit limit_of(const struct progress *p)
{
    if (p->bad > p->search->greatest)
        return WEIR_SEARCH_LIMIT_GREATEST;
    return p->unreachable ? WEIR_SEARCH_LIMIT_REACH : WEIR_SEARCH_LIMIT_FAILURE;
}

int weir_search_highest(const struct weir_search *search, uint64_t *best, enum weir_search_limit *limit,
                        struct weir_error *err)
{
    weir_assert(search->first >= 1 && search->first <= search->greatest && search->greatest < UINT64_MAX);
    struct progress p = {.search = search, .bad = search->greatest + 1, .err = err};
    int result = bracket(&p);
    while (result == 0 && p.good > 0 && p.bad <= search->greatest && !is_narrow(&p))
        result = probe(&p, middle(p.good, p.bad));
    if (result < 0)
        return result;

    uint64_t value = p.good;
    while (value > 0) {
        p.good = 0;
        result = probe(&p, value);
        if (result < 0)
            return result;
        if (p.good == value)
            break;
        value -= weir_max_u64(value / 100 * WEIR_SEARCH_PERCENT, 1);
    }
    *limit = limit_of(&p);
    *best = value;
    return 0;
}
