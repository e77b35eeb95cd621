/* The table of caches, operations and results, and their spellings. */
#include "engine/events/cache_events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"

#define SPELLINGS 5

#define READ     (1u << PERF_COUNT_HW_CACHE_OP_READ)
#define WRITE    (1u << PERF_COUNT_HW_CACHE_OP_WRITE)
#define PREFETCH (1u << PERF_COUNT_HW_CACHE_OP_PREFETCH)

static const struct {
    const char *names[SPELLINGS];
    unsigned operations; /* that the level can have */
} levels[PERF_COUNT_HW_CACHE_MAX] = {
    [PERF_COUNT_HW_CACHE_L1D] = {{"L1-dcache", "l1-d", "l1d", "L1-data"}, READ | WRITE | PREFETCH},
    [PERF_COUNT_HW_CACHE_L1I] = {{"L1-icache", "l1-i", "l1i", "L1-instruction"}, READ | PREFETCH},
    [PERF_COUNT_HW_CACHE_LL] = {{"LLC", "L2"}, READ | WRITE | PREFETCH},
    [PERF_COUNT_HW_CACHE_DTLB] = {{"dTLB", "d-tlb", "Data-TLB"}, READ | WRITE | PREFETCH},
    [PERF_COUNT_HW_CACHE_ITLB] = {{"iTLB", "i-tlb", "Instruction-TLB"}, READ},
    [PERF_COUNT_HW_CACHE_BPU] = {{"branch", "branches", "bpu", "btb", "bpc"}, READ},
    [PERF_COUNT_HW_CACHE_NODE] = {{"node"}, READ | WRITE | PREFETCH},
};

static const char *const operations[PERF_COUNT_HW_CACHE_OP_MAX][SPELLINGS] = {
    [PERF_COUNT_HW_CACHE_OP_READ] = {"load", "loads", "read"},
    [PERF_COUNT_HW_CACHE_OP_WRITE] = {"store", "stores", "write"},
    [PERF_COUNT_HW_CACHE_OP_PREFETCH] = {"prefetch", "prefetches", "speculative-read", "speculative-load"},
};

static const char *const results[PERF_COUNT_HW_CACHE_RESULT_MAX][SPELLINGS] = {
    [PERF_COUNT_HW_CACHE_RESULT_ACCESS] = {"refs", "Reference", "ops", "access"},
    [PERF_COUNT_HW_CACHE_RESULT_MISS] = {"misses", "miss"},
};

/* The length of the longest spelling that text begins with, as a whole: "-" or the end follows. 0: none does. */
static size_t match(const char *const *spellings, const char *text, size_t length)
{
    size_t longest = 0;
    for (size_t i = 0; i < SPELLINGS && spellings[i]; i++) {
        size_t size = strlen(spellings[i]);
        if (size <= length && memcmp(spellings[i], text, size) == 0 && (size == length || text[size] == '-') &&
            size > longest)
            longest = size;
    }
    return longest;
}

static size_t match_rows(const char *const (*rows)[SPELLINGS], unsigned count, const char *text, size_t length,
                         int *row)
{
    for (unsigned i = 0; i < count; i++) {
        size_t used = match(rows[i], text, length);
        if (used) {
            *row = (int)i;
            return used;
        }
    }
    return 0;
}

/* What follows the level: "-loads-misses". */
static int find_rest(const char *text, size_t length, int *operation, int *result, const char **what)
{
    while (length > 0) {
        text++; /* the minus */
        length--;
        int row;
        int *named = operation;
        size_t used = match_rows(operations, WEIR_ARRAY_COUNT(operations), text, length, &row);
        if (!used) {
            named = result;
            used = match_rows(results, WEIR_ARRAY_COUNT(results), text, length, &row);
        }
        *what = "loads, stores or prefetches and refs or misses are what follows a cache's name";
        if (used && *named >= 0)
            *what = "a cache event has one operation and one result";
        if (!used || *named >= 0)
            return -EINVAL;
        *named = row;
        text += used;
        length -= used;
    }
    return 0;
}

int weir_cache_event_find(const char *name, size_t length, uint64_t *config, const char **what)
{
    unsigned level = 0;
    size_t used = 0;
    while (level < PERF_COUNT_HW_CACHE_MAX && !(used = match(levels[level].names, name, length)))
        level++;
    if (!used)
        return -ENOENT;

    int operation = -1, result = -1;
    int code = find_rest(name + used, length - used, &operation, &result, what);
    if (code < 0)
        return code;
    if (operation < 0)
        operation = PERF_COUNT_HW_CACHE_OP_READ;
    if (result < 0)
        result = PERF_COUNT_HW_CACHE_RESULT_ACCESS;
    if (!(levels[level].operations & 1u << operation)) {
        *what = "this cache has no such operation";
        return -EINVAL;
    }
    *config = level | (uint64_t)operation << 8 | (uint64_t)result << 16;
    return 0;
}

int weir_cache_events_visit(int (*visit)(void *ctx, const char *name), void *ctx)
{
    for (unsigned level = 0; level < PERF_COUNT_HW_CACHE_MAX; level++) {
        for (unsigned operation = 0; operation < PERF_COUNT_HW_CACHE_OP_MAX; operation++) {
            if (!(levels[level].operations & 1u << operation))
                continue;
            char name[64];
            snprintf(name, sizeof(name), "%s-%s", levels[level].names[0], operations[operation][1]);
            int result = visit(ctx, name);
            snprintf(name, sizeof(name), "%s-%s-misses", levels[level].names[0], operations[operation][0]);
            if (result == 0)
                result = visit(ctx, name);
            if (result != 0)
                return result;
        }
    }
    return 0;
}
