/* The words of -j. Pure; any thread. Source: branch_modes[], tools/perf/util/parse-branch-options.c, Linux 6.12. */
#include "engine/events/branch_filter.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/bits.h"
#include "base/suggest.h"

#define WORD_BYTES 32

#define LEVELS ((uint64_t)(PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV))

static const struct branch_word {
    const char *name;
    uint64_t bits;
} words[] = {
    {"u", PERF_SAMPLE_BRANCH_USER},
    {"k", PERF_SAMPLE_BRANCH_KERNEL},
    {"hv", PERF_SAMPLE_BRANCH_HV},
    {"any", PERF_SAMPLE_BRANCH_ANY},
    {"any_call", PERF_SAMPLE_BRANCH_ANY_CALL},
    {"any_ret", PERF_SAMPLE_BRANCH_ANY_RETURN},
    {"ind_call", PERF_SAMPLE_BRANCH_IND_CALL},
    {"abort_tx", PERF_SAMPLE_BRANCH_ABORT_TX},
    {"in_tx", PERF_SAMPLE_BRANCH_IN_TX},
    {"no_tx", PERF_SAMPLE_BRANCH_NO_TX},
    {"cond", PERF_SAMPLE_BRANCH_COND},
    {"ind_jmp", PERF_SAMPLE_BRANCH_IND_JUMP},
    {"call", PERF_SAMPLE_BRANCH_CALL},
    {"no_flags", PERF_SAMPLE_BRANCH_NO_FLAGS},
    {"no_cycles", PERF_SAMPLE_BRANCH_NO_CYCLES},
    {"save_type", PERF_SAMPLE_BRANCH_TYPE_SAVE},
    {"stack", PERF_SAMPLE_BRANCH_CALL_STACK},
    {"hw_index", PERF_SAMPLE_BRANCH_HW_INDEX},
    {"priv", PERF_SAMPLE_BRANCH_PRIV_SAVE},
    {"counter", PERF_SAMPLE_BRANCH_COUNTERS},
};

static const struct branch_word *find_word(const char *text, size_t length)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(words); i++) {
        if (strlen(words[i].name) == length && strncasecmp(words[i].name, text, length) == 0)
            return &words[i];
    }
    return NULL;
}

static int fail_unknown(const char *text, size_t length, struct weir_error *err)
{
    char word[WORD_BYTES];
    size_t kept = weir_min_u64(length, sizeof(word) - 1);
    memcpy(word, text, kept);
    word[kept] = '\0';
    weir_error_set(err, -EINVAL, "unknown branch filter '%s'", word);

    struct weir_suggest suggest;
    weir_suggest_init(&suggest, word);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(words); i++)
        weir_suggest_offer(&suggest, words[i].name);
    const char *best = weir_suggest_best(&suggest);
    if (best)
        weir_error_hint(err, "did you mean '%s'?", best);
    else
        weir_error_hint(err, "any, any_call, any_ret, ind_call, ind_jmp, call, cond, in_tx, no_tx, abort_tx, stack; "
                             "of u, k, hv; with save_type, no_flags, no_cycles, hw_index, priv, counter");
    return -EINVAL;
}

int weir_branch_filter_parse(const char *text, uint64_t *filter, struct weir_error *err)
{
    uint64_t bits = 0;
    for (;;) {
        size_t length = strcspn(text, ",");
        const struct branch_word *word = find_word(text, length);
        if (!word)
            return fail_unknown(text, length, err);
        bits |= word->bits;
        if (text[length] == '\0')
            break;
        text += length + 1;
    }
    *filter = bits & ~LEVELS ? bits : bits | PERF_SAMPLE_BRANCH_ANY;
    return 0;
}

const char *weir_branch_filter_word(size_t index)
{
    return index < WEIR_ARRAY_COUNT(words) ? words[index].name : NULL;
}
