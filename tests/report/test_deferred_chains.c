/* Parts of call chains that come in records of their own, after those of include/uapi/linux/perf_event.h. */
#include "report/deferred_chains.h"

#include <criterion/criterion.h>
#include <string.h>

static struct weir_deferred_chains chains;

static void init(void)
{
    weir_deferred_chains_init(&chains, 7);
}

static void fini(void)
{
    weir_deferred_chains_fini(&chains);
}

TestSuite(deferred_chains, .init = init, .fini = fini);

/* A record of `words` words that says `count`. */
static void note(uint64_t cookie, uint32_t tid, uint64_t count, size_t words, uint64_t first)
{
    uint64_t record[16] = {22, cookie, count};
    for (size_t i = 0; i < words; i++)
        record[3 + i] = first + i;
    cr_assert_eq(weir_deferred_chains_note(&chains, (const uint8_t *)record, 24 + words * 8, tid), 0);
}

static void expect(uint64_t cookie, uint32_t tid, uint64_t words, uint64_t first)
{
    uint64_t count = 99, word;
    const uint8_t *found = weir_deferred_chains_find(&chains, cookie, tid, &count);
    cr_assert_not_null(found);
    cr_assert_eq(count, words);
    for (uint64_t i = 0; i < words; i++) {
        memcpy(&word, found + i * 8, sizeof(word));
        cr_expect_eq(word, first + i);
    }
}

Test(deferred_chains, cookie_that_no_record_has_is_not_found)
{
    uint64_t count;
    cr_expect_null(weir_deferred_chains_find(&chains, 1, 1, &count));
    note(1, 1, 2, 2, 100);
    cr_expect_null(weir_deferred_chains_find(&chains, 1, 2, &count));
    cr_expect_null(weir_deferred_chains_find(&chains, 2, 1, &count));
}

Test(deferred_chains, record_with_fewer_words_than_it_says_is_left_out)
{
    uint64_t count;
    const uint8_t cut[16] = {22};
    note(1, 1, 3, 2, 100);
    note(2, 1, UINT64_MAX / 8 + 1, 2, 100);
    cr_assert_eq(weir_deferred_chains_note(&chains, cut, sizeof(cut), 1), 0);
    cr_expect_eq(chains.left_out, 3);
    cr_expect_null(weir_deferred_chains_find(&chains, 1, 1, &count));
    cr_expect_null(weir_deferred_chains_find(&chains, 2, 1, &count));
}

Test(deferred_chains, each_cookie_has_its_words)
{
    note(1, 1, 2, 2, 100);
    note(2, 1, 0, 0, 0);
    note(1, 2, 3, 5, 200); /* zeros may stand behind them */
    expect(1, 1, 2, 100);
    expect(2, 1, 0, 0);
    expect(1, 2, 3, 200);
}

Test(deferred_chains, last_record_of_a_cookie_counts)
{
    note(1, 1, 2, 2, 100);
    note(1, 1, 3, 3, 300);
    expect(1, 1, 3, 300);
}
