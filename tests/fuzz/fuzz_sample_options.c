/*
 * The texts of --call-graph, -j, -I and -k. Input: the text of one.
 *
 * Whatever they say: a refusal leaves the output as it was and explains itself in one line; what is taken is within
 * what attrs can hold.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "engine/events/branch_filter.h"
#include "engine/events/call_graph.h"
#include "engine/events/registers.h"
#include "engine/events/sample_clock.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input.h"

#define UNTOUCHED     0x5a5a5a5a5a5a5a5aull
#define UNTOUCHED_INT 0x5a5a5a5a

static void check_refusal(int result, const struct weir_error *err)
{
    weir_assert(result == -EINVAL);
    fuzz_check_error(err, result);
    weir_assert(err->hint[0]);
}

static void check_call_graph(const char *text)
{
    struct weir_call_graph_request request = {.mode = WEIR_CALL_GRAPH_NONE};
    struct weir_error err = {0};
    int result = weir_call_graph_parse(text, &request, &err);
    if (result < 0) {
        check_refusal(result, &err);
        weir_assert(request.mode == WEIR_CALL_GRAPH_NONE && request.stack_bytes == 0 && request.max_stack == 0);
        return;
    }
    weir_assert(request.mode != WEIR_CALL_GRAPH_NONE);
    weir_assert((request.stack_bytes != 0) == (request.mode == WEIR_CALL_GRAPH_DWARF));
    weir_assert(request.stack_bytes % 8 == 0 && request.stack_bytes <= WEIR_STACK_BYTES_MAX);
    weir_assert(request.max_stack <= UINT16_MAX && (!request.max_stack || request.mode == WEIR_CALL_GRAPH_FP));
}

static void check_branch_filter(const char *text)
{
    const uint64_t levels = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV;
    uint64_t filter = UNTOUCHED;
    struct weir_error err = {0};
    int result = weir_branch_filter_parse(text, &filter, &err);
    if (result < 0) {
        check_refusal(result, &err);
        weir_assert(filter == UNTOUCHED);
        return;
    }
    weir_assert((filter & ~levels) != 0 && filter < PERF_SAMPLE_BRANCH_MAX);
}

static void check_registers(const struct weir_register_set *set, const char *text)
{
    uint64_t bits = UNTOUCHED;
    struct weir_error err = {0};
    int result = weir_registers_parse(set, set->usual, text, &bits, &err);
    if (result < 0) {
        check_refusal(result, &err);
        weir_assert(bits == UNTOUCHED);
        return;
    }
    weir_assert(bits != 0 && (bits & ~set->usual) == 0);

    struct weir_buf names = WEIR_BUF_INIT;
    uint64_t again = 0;
    weir_registers_format(set, bits, &names);
    for (char *blank = (char *)names.data;
         (blank = memchr(blank, ' ', names.used - (size_t)(blank - (char *)names.data)));)
        *blank = ',';
    weir_assert(weir_registers_parse(set, set->usual, weir_buf_str(&names), &again, NULL) == 0 && again == bits);
    weir_buf_fini(&names);
}

static void check_clock(const char *text)
{
    int32_t id = UNTOUCHED_INT;
    struct weir_error err = {0};
    int result = weir_sample_clock_parse(text, &id, &err);
    if (result < 0) {
        check_refusal(result, &err);
        weir_assert(id == UNTOUCHED_INT);
        return;
    }
    weir_assert(id >= 0);
}

static void run(void *fixture, const uint8_t *data, size_t bytes)
{
    (void)fixture;
    char *text = fuzz_text(data, bytes);
    check_call_graph(text);
    check_branch_filter(text);
    check_registers(&weir_registers_x86_64, text);
    check_registers(&weir_registers_arm64, text);
    check_clock(text);
    free(text);
}

const struct fuzz_target fuzz_target = {.run = run};
