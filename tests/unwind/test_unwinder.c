/* Chains of stacks and tables that are made by hand. */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/perf_event.h>

#include "format/unwound_sum.h"
#include "tests/unwind/tables.h"
#include "unwind/unwinder.h"

#define BASE     0x555500000000u /* where offset 0 of the file is mapped */
#define STACK    0x7ffc00001000u
#define ARRAY(a) a, sizeof(a)

/* The registers of the kernel's x86: rbp 6, rsp 7, ip 8. */
#define MASK 0x1c0u

static struct weir_buf table;
static struct weir_unwinder unwinder;
static uint64_t words[64];
static uint64_t regs[3];
static struct weir_unwind_chain chain;

static int open_file(void *ctx, uint64_t key)
{
    (void)ctx;
    return key == 1 ? table_elf(&table) : -ENOENT;
}

/* The file is mapped at BASE, generated code a megabyte behind it, another file two. */
static bool find(void *ctx, uint64_t address, struct weir_unwind_mapping *mapping)
{
    uint64_t offset = address - BASE;
    (void)ctx;
    *mapping = (struct weir_unwind_mapping){
        .start = BASE, .offset = 0, .has_file = offset >> 20 != 1, .key = offset >> 20 ? 2 : 1};
    return offset < 3 << 20;
}

static const struct weir_unwind_mappings mappings = {.find = find};

static void prepare(void)
{
    static const uint8_t with_rbp[] = {0x0c, 6, 16, 0x86, 2};
    static const uint8_t outermost[] = {0x07, 16};
    static const uint8_t trampoline[] = {0x0f, 3, 0x77, 0xa0, 0, 0x10, 16, 3, 0x77, 0xa8, 0}; /* CFA = rsp + 32 */
    table_add_cie(&table, "zR");
    table_add_fde(&table, 0, 0x1100, 0x100, "", 0); /* leaf: CFA = rsp + 8 */
    table_add_fde(&table, 0, 0x1200, 0x100, ARRAY(with_rbp));
    table_add_fde(&table, 0, 0x1300, 0x100, ARRAY(outermost));
    uint32_t signal_cie = (uint32_t)table.used;
    table_add_cie(&table, "zRS");
    table_add_fde(&table, signal_cie, 0x13ff, 0x101, ARRAY(trampoline));
    const struct weir_table_source source = {.open = open_file};
    cr_assert_eq(weir_unwinder_init(&unwinder, weir_unwind_machine_find("x86_64"), &source, 1 << 20), 0);
    memset(words, 0, sizeof(words));
}

static void release(void)
{
    weir_unwinder_fini(&unwinder);
    weir_buf_fini(&table);
}

TestSuite(unwinder, .init = prepare, .fini = release);

static void run(uint64_t pc, uint64_t frame, size_t stack_words)
{
    regs[0] = frame;
    regs[1] = STACK;
    regs[2] = pc;
    const struct weir_unwind_input input = {.regs_mask = MASK,
                                            .regs = (const uint8_t *)regs,
                                            .reg_count = 3,
                                            .stack = (const uint8_t *)words,
                                            .stack_bytes = stack_words * sizeof(words[0])};
    weir_unwinder_run(&unwinder, &input, &mappings, &chain);
}

static void expect(enum weir_unwind_end end, const uint64_t *frames, unsigned count)
{
    cr_assert_eq(chain.count, count, "%u frames", chain.count);
    cr_assert_arr_eq(chain.frames, frames, count * sizeof(*frames));
    cr_assert_eq(chain.end, end, "%s", weir_unwound_end_text(chain.end));
}

#define FRAMES(...) ((const uint64_t[]){__VA_ARGS__}), sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)

Test(unwinder, registers_that_do_not_fit_give_nothing)
{
    const struct weir_unwind_input few = {.regs_mask = MASK, .regs = (const uint8_t *)regs, .reg_count = 2};
    weir_unwinder_run(&unwinder, &few, &mappings, &chain);
    cr_assert_eq(chain.count, 0);
    cr_assert_eq(chain.end, WEIR_UNWIND_NO_REGS);
    const struct weir_unwind_input no_pc = {.regs_mask = 0xc0, .regs = (const uint8_t *)regs, .reg_count = 2};
    weir_unwinder_run(&unwinder, &no_pc, &mappings, &chain);
    cr_assert_eq(chain.count, 0);
}

Test(unwinder, stack_that_is_cut_ends_the_chain)
{
    run(BASE + 0x1110, 0, 0);
    expect(WEIR_UNWIND_STACK_CUT, FRAMES(BASE + 0x1110));
}

Test(unwinder, address_that_nothing_was_mapped_to)
{
    run(0x1234, 0, 64);
    expect(WEIR_UNWIND_NO_MAPPING, FRAMES(0x1234));
}

Test(unwinder, file_that_is_not_there)
{
    words[0] = BASE + (2 << 20) + 0x50;
    run(BASE + 0x1110, 0, 64);
    expect(WEIR_UNWIND_NO_TABLE, FRAMES(BASE + 0x1110, BASE + (2 << 20) + 0x4f));
}

/* leaf, two frames with rbp, and the outermost one. */
Test(unwinder, chain_to_the_outermost_frame)
{
    words[0] = BASE + 0x1210;
    words[4] = STACK + 8 * 8; /* the outer rbp */
    words[5] = BASE + 0x1220;
    words[8] = 0;
    words[9] = BASE + 0x1308;
    run(BASE + 0x1110, STACK + 4 * 8, 64);
    expect(WEIR_UNWIND_OUTERMOST, FRAMES(BASE + 0x1110, BASE + 0x120f, BASE + 0x121f, BASE + 0x1307));
}

Test(unwinder, chain_has_the_frames_that_were_asked_for)
{
    words[0] = BASE + 0x1210;
    words[4] = STACK + 8 * 8;
    words[5] = BASE + 0x1220;
    regs[0] = STACK + 4 * 8;
    regs[1] = STACK;
    regs[2] = BASE + 0x1110;
    const struct weir_unwind_input input = {.regs_mask = MASK,
                                            .regs = (const uint8_t *)regs,
                                            .reg_count = 3,
                                            .stack = (const uint8_t *)words,
                                            .stack_bytes = sizeof(words),
                                            .max_frames = 2};
    weir_unwinder_run(&unwinder, &input, &mappings, &chain);
    expect(WEIR_UNWIND_LIMIT, FRAMES(BASE + 0x1110, BASE + 0x120f));
}

Test(unwinder, interrupted_instruction_is_no_call)
{
    words[0] = BASE + 0x1400;     /* the trampoline begins there, its entry one byte before */
    words[1 + 4 + 1] = 0;         /* not read: the return address is at rsp + 40 */
    words[1 + 5] = BASE + 0x1300; /* interrupted at its first instruction */
    run(BASE + 0x1110, 0, 64);
    expect(WEIR_UNWIND_OUTERMOST, FRAMES(BASE + 0x1110, BASE + 0x1400, BASE + 0x1300));
}

Test(unwinder, generated_code_by_its_frame_pointer)
{
    words[2] = STACK + 8 * 8;
    words[3] = BASE + 0x1308;
    run(BASE + (1 << 20) + 0x123, STACK + 2 * 8, 64);
    expect(WEIR_UNWIND_OUTERMOST, FRAMES(BASE + (1 << 20) + 0x123, BASE + 0x1307));
}

Test(unwinder, frame_pointer_that_is_none_is_not_believed)
{
    words[2] = STACK + 8 * 8;
    words[3] = BASE + 0x1308;
    run(BASE + (1 << 20) + 0x123, STACK - 8, 64);
    expect(WEIR_UNWIND_NO_RULE, FRAMES(BASE + (1 << 20) + 0x123));
    run(BASE + (1 << 20) + 0x123, STACK + 0x4001, 64);
    expect(WEIR_UNWIND_NO_RULE, FRAMES(BASE + (1 << 20) + 0x123));
}

Test(unwinder, return_address_that_would_be_a_mark_is_no_frame)
{
    words[0] = (uint64_t)PERF_CONTEXT_USER + 1;
    run(BASE + 0x1110, 0, 64);
    expect(WEIR_UNWIND_OUTERMOST, FRAMES(BASE + 0x1110));
}

Test(unwinder, frames_are_bounded)
{
    for (unsigned i = 0; i < 64; i++)
        words[i] = BASE + 0x1110;
    run(BASE + 0x1110, 0, 64);
    cr_assert_eq(chain.count, 65);
    /* Frame pointers that go round in a circle. */
    words[0] = STACK;
    words[1] = BASE + (1 << 20) + 0x124;
    run(BASE + (1 << 20) + 0x123, STACK, 64);
    cr_assert_leq(chain.count, WEIR_UNWIND_FRAMES_MAX);
}
