/* Lengths of samples, against the layout by hand, and the rings that they fit. */
#include "engine/events/sample_size.h"

#include <criterion/criterion.h>
#include <errno.h>

#include "base/bits.h"

#define TRAILER (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

static struct perf_event_attr stack_attr(uint32_t stack_bytes)
{
    return (struct perf_event_attr){.sample_type = TRAILER | PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN |
                                                   PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
                                    .sample_regs_user = 0xff0fff,
                                    .sample_stack_user = stack_bytes,
                                    .sample_id_all = 1};
}

static int check(uint32_t stack_bytes, uint64_t ring_bytes, struct weir_error *err)
{
    struct weir_event event = {.name = (char *)"cs", .attr = stack_attr(stack_bytes)};
    return weir_sample_check_ring(&(struct weir_event_list){.events = &event, .count = 1}, ring_bytes, err);
}

Test(sample_size, longest_stack_never_fits_the_smallest_ring_that_could_hold_it)
{
    struct weir_error err = {0};
    cr_expect_eq(check(65528, 65536, &err), -EINVAL);
    cr_expect_str_eq(err.what, "a sample of event 'cs' (65528 bytes) never fits into a ring of 64 KiB");
    cr_expect_str_eq(err.hint, "-m 128K fits; or copy less of the stack with --call-graph=dwarf,BYTES");
    cr_expect_eq(check(65528, 131072, &err), 0);
}

Test(sample_size, stack_of_a_whole_ring_does_not_fit)
{
    struct weir_error err = {0};
    cr_expect_eq(check(8192, 8192, &err), -EINVAL);
    cr_expect_str_eq(err.hint, "-m 16K fits; or copy less of the stack with --call-graph=dwarf,BYTES");
    cr_expect_eq(check(8192, 16384, &err), 0);
}

Test(sample_size, piece_of_an_aux_area_counts_as_full)
{
    struct weir_event event = {.name = (char *)"cs",
                               .attr = {.sample_type = TRAILER | PERF_SAMPLE_AUX, .aux_sample_size = 8190}};
    struct weir_error err = {0};
    cr_expect_eq(weir_sample_bytes_least(&event.attr), 8 + 4 * 8 + 8 + 8184);
    const struct weir_event_list list = {.events = &event, .count = 1};
    cr_expect_eq(weir_sample_check_ring(&list, 8192, &err), -EINVAL);
    cr_expect_str_eq(err.hint, "-m 16K fits; or copy less of the AUX area with --aux-sample=BYTES");
    cr_expect_eq(weir_sample_check_ring(&list, 16384, &err), 0);
}

/* header 8, five fields, call chain's count, registers 8 + 20 x 8, stack 8 + n + 8; LOST 24 and its trailer of 32 */
Test(sample_size, ring_holds_sample_and_lost_record_with_a_byte_to_spare)
{
    const uint64_t bytes = 8 + 40 + 8 + 168 + 16;
    struct perf_event_attr attr = stack_attr(0);
    cr_expect_eq(weir_sample_bytes_least(&attr), bytes);
    const uint32_t exact = (uint32_t)(4096 - bytes - 56);
    cr_expect_eq(check(exact, 4096, NULL), -EINVAL);
    cr_expect_eq(check(exact - 8, 4096, NULL), 0);
}

Test(sample_size, fields_take_eight_bytes_and_what_varies_nothing)
{
    static const struct {
        uint64_t sample_type;
        uint64_t bytes;
    } types[] = {
        {0, 8},
        {TRAILER | PERF_SAMPLE_IP, 48},
        {PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_TRANSACTION, 40},
        {PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP | PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE, 40},
        {PERF_SAMPLE_READ | PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK, 32},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(types); i++) {
        struct perf_event_attr attr = {.sample_type = types[i].sample_type};
        cr_expect_eq(weir_sample_bytes_least(&attr), types[i].bytes);
    }
    struct perf_event_attr attr = {.sample_type = PERF_SAMPLE_REGS_INTR, .sample_regs_intr = 7};
    cr_expect_eq(weir_sample_bytes_least(&attr), 8 + 8 + 24);
}

/* The sideband ring has a size and records of its own. */
Test(sample_size, sideband_event_is_not_asked)
{
    struct weir_event event = {.name = (char *)"dummy:u", .attr = stack_attr(65528), .sideband = true};
    cr_expect_eq(weir_sample_check_ring(&(struct weir_event_list){.events = &event, .count = 1}, 4096, NULL), 0);
}
