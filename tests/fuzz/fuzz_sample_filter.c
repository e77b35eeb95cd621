/*
 * Sample filters (engine/events/sample_filter.h). Input: the text. Cgroups are looked for in a list of mounts that does
 * not exist.
 *
 * What is understood has a term, an operator and an ended clause, and is understood the same a second time. What is
 * refused has an error of one line, and leaves the filter alone.
 */
#include "engine/events/sample_filter.h"

#include <string.h>

#include "base/assert.h"
#include "base/buf.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input.h"

static void check(const struct weir_sample_filter *filter)
{
    weir_assert(filter->count > 0 && filter->count <= WEIR_SAMPLE_FILTER_MAX);
    weir_assert(filter->comparisons[filter->count - 1].ends_clause == 1);
    for (unsigned i = 0; i < filter->count; i++) {
        weir_assert(filter->comparisons[i].term < WEIR_SAMPLE_TERMS);
        weir_assert(filter->comparisons[i].term != WEIR_SAMPLE_CGROUP);
        weir_assert(filter->comparisons[i].op <= WEIR_SAMPLE_AND);
    }
}

static void run(void *object, const uint8_t *data, size_t bytes)
{
    (void)object;
    static const struct weir_sample_filter none;
    struct weir_buf text = WEIR_BUF_INIT;
    for (size_t i = 0; i < bytes && data[i]; i++)
        weir_buf_append_u8(&text, data[i]);

    struct weir_sample_filter filter = none, again = none;
    struct weir_error err = {0};
    int result = weir_sample_filter_parse(&filter, weir_buf_str(&text), "/none", &err);
    if (result < 0) {
        weir_assert(memcmp(&filter, &none, sizeof(none)) == 0);
        fuzz_check_error(&err, result);
    } else {
        check(&filter);
        weir_assert(weir_sample_filter_parse(&again, weir_buf_str(&text), "/none", NULL) == 0);
        weir_assert(memcmp(&filter, &again, sizeof(again)) == 0);
    }
    weir_buf_fini(&text);
}

const struct fuzz_target fuzz_target = {.run = run};
