/* The nearest name: what is too far, the kinds of slip that cost one edit, and who wins a tie. */
#include "base/suggest.h"

#include <criterion/criterion.h>
#include <string.h>

static const char *nearest(struct weir_suggest *suggest, const char *word, const char *const *names)
{
    weir_suggest_init(suggest, word);
    for (; *names; names++)
        weir_suggest_offer(suggest, *names);
    return weir_suggest_best(suggest);
}

Test(suggest, nothing_offered_nothing_suggested)
{
    struct weir_suggest suggest;
    cr_assert_null(nearest(&suggest, "event", (const char *const[]){NULL}));
}

Test(suggest, far_and_empty_names_are_not_suggested)
{
    struct weir_suggest suggest;
    cr_assert_null(nearest(&suggest, "event", (const char *const[]){"pages", "call-graph", "", NULL}));
}

Test(suggest, name_of_which_nothing_remains_is_not_suggested)
{
    struct weir_suggest suggest;
    /* Two edits are allowed, and turn "ab" into any two letters: no resemblance. */
    cr_assert_null(nearest(&suggest, "ab", (const char *const[]){"xy", "x", NULL}));
}

Test(suggest, empty_word_has_no_neighbours)
{
    struct weir_suggest suggest;
    cr_assert_null(nearest(&suggest, "", (const char *const[]){"a", "ab", NULL}));
}

Test(suggest, words_beyond_127_bytes_are_left_alone)
{
    char word[200];
    memset(word, 'w', sizeof(word) - 1);
    word[sizeof(word) - 1] = '\0';
    struct weir_suggest suggest;
    cr_expect_null(nearest(&suggest, word, (const char *const[]){"w", NULL}));
    cr_expect_null(nearest(&suggest, "w", (const char *const[]){word, NULL}));

    word[127] = '\0';
    char longest[128];
    memcpy(longest, word, sizeof(longest));
    longest[0] = 'v';
    cr_expect_str_eq(nearest(&suggest, word, (const char *const[]){longest, NULL}), longest);
}

Test(suggest, each_kind_of_slip_is_found)
{
    struct weir_suggest suggest;
    const char *const names[] = {"call-graph", "output", "overwrite", NULL};
    cr_expect_str_eq(nearest(&suggest, "outputt", names), "output");
    cr_expect_str_eq(nearest(&suggest, "outpt", names), "output");
    cr_expect_str_eq(nearest(&suggest, "outpuz", names), "output");
    cr_expect_str_eq(nearest(&suggest, "uotput", names), "output");
}

Test(suggest, two_swapped_letters_cost_one_edit)
{
    struct weir_suggest suggest;
    /* "swich" is one deletion away, "siwtch" one swap: equal cost, the first offered stays. */
    cr_expect_str_eq(nearest(&suggest, "switch", (const char *const[]){"siwtch", "swich", NULL}), "siwtch");
    cr_expect_str_eq(nearest(&suggest, "switch", (const char *const[]){"swich", "siwtch", NULL}), "swich");
}

Test(suggest, nearer_name_replaces_a_near_one)
{
    struct weir_suggest suggest;
    cr_assert_str_eq(nearest(&suggest, "freq", (const char *const[]){"freqan", "freqs", "frex", NULL}), "freqs");
}

Test(suggest, long_words_may_be_a_third_off)
{
    struct weir_suggest suggest;
    /* 12 letters allow four edits. */
    cr_expect_str_eq(nearest(&suggest, "abcdefghijkl", (const char *const[]){"abcdefgh", NULL}), "abcdefgh");
    cr_expect_null(nearest(&suggest, "abcdefghijkl", (const char *const[]){"abcdefg", NULL}));
}
