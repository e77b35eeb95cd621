/*
 * The simulated kernel itself, since other tests believe it: what records look like, what happens when a ring is full,
 * when poll(2) reports one.
 */
#include "engine/sim/sim_kernel.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "engine/kernel/ring.h"

#define RING_BYTES   4096u
#define SAMPLE_TYPE  (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)
#define SAMPLE_BYTES 48u /* header and five words */
#define LOST_BYTES   56u /* header, id, lost, trailer of four words */
#define CPU          3

struct fixture {
    struct weir_sim_kernel *sim;
    struct weir_kernel kernel;
    struct weir_ring ring;
    int fd;
};

static int open_event(const struct fixture *f, int cpu, uint64_t sample_type, uint32_t watermark)
{
    struct perf_event_attr attr = {
        .size = sizeof(attr),
        .sample_type = sample_type,
        .sample_id_all = 1,
        .disabled = 1,
        .watermark = watermark > 0,
        .wakeup_watermark = watermark,
    };
    int fd = f->kernel.ops->event_open(f->kernel.ctx, &attr, -1, cpu, -1, 0);
    cr_assert_geq(fd, 0);
    return fd;
}

static void enable(const struct fixture *f, int fd)
{
    cr_assert_eq(f->kernel.ops->event_enable(f->kernel.ctx, fd), 0);
}

/* One enabled event with a ring. */
static void fixture_init(struct fixture *f, uint64_t sample_type, uint32_t watermark)
{
    memset(f, 0, sizeof(*f));
    cr_assert_eq(weir_sim_kernel_new(&f->sim), 0);
    f->kernel = weir_sim_kernel_interface(f->sim);
    f->fd = open_event(f, CPU, sample_type, watermark);
    cr_assert_eq(weir_ring_map(&f->ring, &f->kernel, f->fd, RING_BYTES), 0);
    enable(f, f->fd);
}

static void fixture_fini(struct fixture *f)
{
    weir_ring_unmap(&f->ring);
    weir_sim_kernel_free(f->sim);
}

static bool put_sample(const struct fixture *f, uint64_t time_ns)
{
    return weir_sim_kernel_sample(f->sim, f->fd,
                                  &(struct weir_sim_sample){.time_ns = time_ns, .ip = 0x1000, .pid = 7, .tid = 8});
}

/* The next record as words, taken from the ring. Returns its size. */
static unsigned take_record(struct fixture *f, uint64_t *words, struct perf_event_header *header)
{
    weir_ring_copy(&f->ring, f->ring.tail, header, sizeof(*header));
    weir_ring_copy(&f->ring, f->ring.tail, words, header->size);
    weir_ring_release(&f->ring, f->ring.tail + header->size);
    return header->size;
}

static void expect_totals(const struct fixture *f, uint64_t produced, uint64_t lost)
{
    uint64_t got_produced, got_lost;
    weir_sim_kernel_totals(f->sim, f->fd, &got_produced, &got_lost);
    cr_assert_eq(got_produced, produced);
    cr_assert_eq(got_lost, lost);
    struct weir_event_count count;
    cr_assert_eq(f->kernel.ops->event_read(f->kernel.ctx, f->fd, PERF_FORMAT_LOST, 0, &count), 0);
    cr_assert_eq(count.value, produced);
    cr_assert_eq(count.lost, lost);
}

/* ---- refusals ---- */

Test(sim_kernel, free_takes_null_and_what_was_left_open)
{
    struct fixture f;
    weir_sim_kernel_free(NULL);
    fixture_init(&f, SAMPLE_TYPE, 0);
    open_event(&f, CPU, SAMPLE_TYPE, 0);
    weir_sim_kernel_free(f.sim); /* with its ring: LeakSanitizer would tell */
}

Test(sim_kernel, ring_that_is_no_power_of_two_of_pages_is_refused)
{
    struct fixture f;
    fixture_init(&f, SAMPLE_TYPE, 0);
    struct perf_event_mmap_page *page;
    cr_assert_eq(f.kernel.ops->ring_map(f.kernel.ctx, f.fd, 3 * RING_BYTES, &page), -EINVAL);
    cr_assert_eq(f.kernel.ops->ring_map(f.kernel.ctx, f.fd, RING_BYTES / 2, &page), -EINVAL);
    cr_assert_eq(f.kernel.ops->ring_map(f.kernel.ctx, 9999, RING_BYTES, &page), -EINVAL);
    fixture_fini(&f);
}

Test(sim_kernel, ring_of_another_cpu_or_of_no_event_is_refused)
{
    struct fixture f;
    fixture_init(&f, SAMPLE_TYPE, 0);
    int other_cpu = open_event(&f, CPU + 1, SAMPLE_TYPE, 0), same_cpu = open_event(&f, CPU, SAMPLE_TYPE, 0);
    cr_assert_eq(f.kernel.ops->event_set_output(f.kernel.ctx, other_cpu, f.fd), -EINVAL);
    cr_assert_eq(f.kernel.ops->event_set_output(f.kernel.ctx, same_cpu, other_cpu), -EINVAL);
    cr_assert_eq(f.kernel.ops->event_set_output(f.kernel.ctx, same_cpu, 9999), -EINVAL);
    cr_assert_eq(f.kernel.ops->event_set_output(f.kernel.ctx, same_cpu, f.fd), 0);
    fixture_fini(&f);
}

Test(sim_kernel, filters_are_refused_as_for_all_but_tracepoints)
{
    struct fixture f;
    fixture_init(&f, SAMPLE_TYPE, 0);
    cr_assert_eq(f.kernel.ops->event_set_filter(f.kernel.ctx, f.fd, "common_pid != 1"), -EINVAL);
    cr_assert_eq(f.kernel.ops->event_set_program(f.kernel.ctx, f.fd, 0), -EOPNOTSUPP);
    cr_assert_eq(f.kernel.ops->event_programs(f.kernel.ctx, f.fd, &(unsigned){0}), -EINVAL);
    fixture_fini(&f);
}

Test(sim_kernel, disabled_event_neither_counts_nor_writes)
{
    struct fixture f;
    fixture_init(&f, SAMPLE_TYPE, 0);
    cr_assert_eq(f.kernel.ops->event_disable(f.kernel.ctx, f.fd), 0);
    cr_assert_not(put_sample(&f, 1));
    expect_totals(&f, 0, 0);
    cr_assert(weir_ring_is_drained(&f.ring));
    enable(&f, f.fd);
    cr_assert(put_sample(&f, 1));
    expect_totals(&f, 1, 0);
    fixture_fini(&f);
}

/* ---- records ---- */

Test(sim_kernel, sample_has_its_fields_in_the_kernels_order)
{
    struct fixture f;
    fixture_init(&f, SAMPLE_TYPE | PERF_SAMPLE_ID | PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW, 0);
    uint64_t id, words[16];
    struct perf_event_header header;
    cr_assert_eq(f.kernel.ops->event_id(f.kernel.ctx, f.fd, &id), 0);
    struct weir_sim_sample sample = {.time_ns = 55, .ip = 66, .pid = 7, .tid = 8, .raw = "abcde", .raw_bytes = 5};
    cr_assert(weir_sim_kernel_sample(f.sim, f.fd, &sample));
    cr_assert_eq(take_record(&f, words, &header), 80);
    cr_assert_eq(header.type, PERF_RECORD_SAMPLE);
    cr_assert_eq(header.misc, PERF_RECORD_MISC_USER);
    const uint64_t expected[] = {id, 66, (uint64_t)8 << 32 | 7, 55, id, CPU, 1};
    cr_assert_arr_eq(words + 1, expected, sizeof(expected));
    cr_assert_eq(memcmp(words + 8, "\x0c\0\0\0abcde\0\0\0\0\0\0\0", 16), 0); /* size 12, then 5 bytes and padding */
    fixture_fini(&f);
}

Test(sim_kernel, call_chain_registers_and_stack_stand_in_the_kernels_order)
{
    struct fixture f;
    fixture_init(&f, SAMPLE_TYPE | PERF_SAMPLE_ADDR | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_DATA_SRC, 0);
    uint64_t id, words[64];
    struct perf_event_header header;
    cr_assert_eq(f.kernel.ops->event_id(f.kernel.ctx, f.fd, &id), 0);
    const uint64_t chain[] = {PERF_CONTEXT_USER, 0x400010, 0x400020};
    struct weir_sim_sample sample = {.time_ns = 55, .ip = 66, .pid = 7, .tid = 8, .chain = chain, .chain_count = 3};
    cr_assert(weir_sim_kernel_sample(f.sim, f.fd, &sample));
    cr_assert_eq(take_record(&f, words, &header), 8 + 11 * 8);
    const uint64_t with_chain[] = {id, 66, (uint64_t)8 << 32 | 7, 55, 0, CPU, 3, chain[0], chain[1], chain[2], 0};
    cr_assert_arr_eq(words + 1, with_chain, sizeof(with_chain));

    struct perf_event_attr attr = {
        .size = sizeof(attr),
        .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
        .sample_regs_user = 1 << 3 | 1 << 8,
        .sample_stack_user = 16,
    };
    int fd = f.kernel.ops->event_open(f.kernel.ctx, &attr, -1, CPU, -1, 0);
    cr_assert_eq(f.kernel.ops->event_set_output(f.kernel.ctx, fd, f.fd), 0);
    cr_assert_eq(f.kernel.ops->event_id(f.kernel.ctx, fd, &id), 0);
    sample.stack = "0123456789abcdef";
    cr_assert(weir_sim_kernel_sample(f.sim, fd, &sample));
    cr_assert_eq(take_record(&f, words, &header), 8 + 8 * 8);
    const uint64_t before[] = {id, PERF_SAMPLE_REGS_ABI_64, 3, 8, 16};
    cr_assert_arr_eq(words + 1, before, sizeof(before));
    cr_assert_eq(memcmp(words + 6, sample.stack, 16), 0);
    cr_assert_eq(words[8], 16);
    fixture_fini(&f);
}

Test(sim_kernel, comm_record_ends_in_the_trailer)
{
    struct fixture f;
    fixture_init(&f, SAMPLE_TYPE, 0);
    uint64_t id, words[16];
    struct perf_event_header header;
    f.kernel.ops->event_id(f.kernel.ctx, f.fd, &id);
    cr_assert(weir_sim_kernel_comm(f.sim, f.fd, 9, "a-name-of-sixteen", 77));
    cr_assert_eq(take_record(&f, words, &header), 64);
    cr_assert_eq(header.type, PERF_RECORD_COMM);
    cr_assert_eq(words[1], (uint64_t)9 << 32 | 9);
    cr_assert_eq(memcmp(words + 2, "a-name-of-sixte", 16), 0);
    const uint64_t trailer[] = {(uint64_t)9 << 32 | 9, 77, CPU, id};
    cr_assert_arr_eq(words + 4, trailer, sizeof(trailer));
    fixture_fini(&f);
}

Test(sim_kernel, events_with_one_ring_write_into_it_with_their_own_ids)
{
    struct fixture f;
    fixture_init(&f, SAMPLE_TYPE, 0);
    int other = open_event(&f, CPU, SAMPLE_TYPE, 0);
    cr_assert_eq(f.kernel.ops->event_set_output(f.kernel.ctx, other, f.fd), 0);
    enable(&f, other);
    uint64_t ids[2], words[16];
    struct perf_event_header header;
    f.kernel.ops->event_id(f.kernel.ctx, f.fd, &ids[0]);
    f.kernel.ops->event_id(f.kernel.ctx, other, &ids[1]);
    cr_assert_neq(ids[0], ids[1]);
    struct weir_sim_sample sample = {.time_ns = 1};
    cr_assert(weir_sim_kernel_sample(f.sim, f.fd, &sample));
    cr_assert(weir_sim_kernel_sample(f.sim, other, &sample));
    for (unsigned i = 0; i < 2; i++) {
        take_record(&f, words, &header);
        cr_assert_eq(words[1], ids[i]);
    }
    fixture_fini(&f);
}

/* ---- full rings ---- */

Test(sim_kernel, full_ring_drops_and_tells_with_the_next_record_that_fits)
{
    struct fixture f;
    fixture_init(&f, SAMPLE_TYPE, 0);
    uint64_t id, words[16];
    struct perf_event_header header;
    f.kernel.ops->event_id(f.kernel.ctx, f.fd, &id);
    const unsigned fit = RING_BYTES / SAMPLE_BYTES;
    for (unsigned n = 0; n < fit; n++)
        cr_assert(put_sample(&f, n));
    for (unsigned n = 0; n < 5; n++)
        cr_assert_not(put_sample(&f, n));
    expect_totals(&f, fit + 5, 5);

    /* Room for the sample alone is not enough: the report comes with it. */
    take_record(&f, words, &header);
    cr_assert_not(put_sample(&f, 100));
    for (unsigned n = 1; n < fit; n++)
        take_record(&f, words, &header);
    cr_assert(weir_ring_is_drained(&f.ring));
    cr_assert(put_sample(&f, 101));
    cr_assert_eq(take_record(&f, words, &header), LOST_BYTES);
    cr_assert_eq(header.type, PERF_RECORD_LOST);
    const uint64_t lost[] = {id, 6, 0, 101, CPU, id};
    cr_assert_arr_eq(words + 1, lost, sizeof(lost));
    cr_assert_eq(take_record(&f, words, &header), SAMPLE_BYTES);
    cr_assert_eq(words[4], 101);

    cr_assert(put_sample(&f, 102)); /* told once */
    cr_assert_eq(take_record(&f, words, &header), SAMPLE_BYTES);
    expect_totals(&f, fit + 8, 6);
    fixture_fini(&f);
}

Test(sim_kernel, record_that_fits_to_the_last_byte_is_written)
{
    struct fixture f;
    fixture_init(&f, SAMPLE_TYPE | PERF_SAMPLE_RAW, 0);
    static const uint8_t raw[RING_BYTES];
    struct weir_sim_sample sample = {.raw = raw, .raw_bytes = RING_BYTES - SAMPLE_BYTES - 4};
    cr_assert(weir_sim_kernel_sample(f.sim, f.fd, &sample));
    cr_assert_eq(weir_ring_head(&f.ring), RING_BYTES);
    weir_ring_release(&f.ring, RING_BYTES);
    sample.raw_bytes++;
    cr_assert_not(weir_sim_kernel_sample(f.sim, f.fd, &sample));
    expect_totals(&f, 2, 1);
    fixture_fini(&f);
}

/* ---- wake-ups ---- */

static bool is_reported(const struct fixture *f)
{
    struct pollfd poll_fd = {.fd = f->fd, .events = POLLIN};
    return f->kernel.ops->poll(f->kernel.ctx, &poll_fd, 1, 0) == 1;
}

Test(sim_kernel, poll_reports_a_crossed_watermark_once)
{
    struct fixture f;
    fixture_init(&f, SAMPLE_TYPE, 2 * SAMPLE_BYTES);
    cr_assert_not(is_reported(&f));
    put_sample(&f, 1);
    put_sample(&f, 2); /* up to the watermark, not beyond */
    cr_assert_not(is_reported(&f));
    put_sample(&f, 3);
    cr_assert(is_reported(&f));
    cr_assert_not(is_reported(&f));
    put_sample(&f, 4);
    cr_assert_not(is_reported(&f));
    put_sample(&f, 5);
    cr_assert(is_reported(&f));
    fixture_fini(&f);
}

Test(sim_kernel, without_a_watermark_every_record_is_reported)
{
    struct fixture f;
    fixture_init(&f, SAMPLE_TYPE, 0);
    for (unsigned n = 0; n < 3; n++) {
        put_sample(&f, n);
        cr_assert(is_reported(&f));
        cr_assert_not(is_reported(&f));
    }
    fixture_fini(&f);
}
