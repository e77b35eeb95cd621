/* Tables of call frame information that are made by hand. */
#include <criterion/criterion.h>

#include "tests/unwind/tables.h"

static const struct weir_unwind_machine *machine;
static struct weir_buf table;
static struct weir_cfi_section section;
static struct weir_cfi_rule rule;

static void prepare(void)
{
    machine = weir_unwind_machine_find("x86_64");
}

static void release(void)
{
    weir_cfi_section_fini(&section);
    weir_buf_fini(&table);
}

TestSuite(cfi, .init = prepare, .fini = release);

static void make(const void *program, size_t bytes)
{
    table_add_cie(&table, "zR");
    table_add_fde(&table, 0, 0x1100, 0x40, program, bytes);
    section = table_section(&table);
}

Test(cfi, address_without_entry_has_no_rule)
{
    make("", 0);
    cr_assert(!weir_cfi_find(&section, machine, 0x10ff, &rule));
    cr_assert(!weir_cfi_find(&section, machine, 0x1140, &rule));
    cr_assert(weir_cfi_find(&section, machine, 0x113f, &rule));
    const struct weir_cfi_section empty = {.data = NULL};
    cr_assert(!weir_cfi_find(&empty, machine, 0x1100, &rule));
}

Test(cfi, malformed_programs_have_no_rule)
{
    static const uint8_t programs[][8] = {
        {0x0b},                                     /* restores a state that was not remembered */
        {0x3f},                                     /* no such instruction */
        {0x0c, 0xff, 0x01, 8},                      /* the CFA of a register that there is not */
        {0x0f, 0x7f},                               /* an expression beyond the end */
        {0x0e, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, /* an offset that no frame has */
    };
    table_add_cie(&table, "zR");
    for (unsigned i = 0; i < 5; i++)
        table_add_fde(&table, 0, 0x1100 + i * 0x10, 0x10, programs[i], sizeof(programs[i]));
    section = table_section(&table);
    cr_assert_eq(section.count, 5);
    for (unsigned i = 0; i < 5; i++)
        cr_assert(!weir_cfi_find(&section, machine, 0x1100 + i * 0x10, &rule), "%u", i);
}

Test(cfi, endless_remembering_ends)
{
    uint8_t program[64];
    memset(program, 0x0a, sizeof(program));
    make(program, sizeof(program));
    cr_assert(!weir_cfi_find(&section, machine, 0x1100, &rule));
}

Test(cfi, section_that_is_cut_anywhere_stays_in_bounds)
{
    static const uint8_t program[] = {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x0a, 0x0b};
    make(program, sizeof(program));
    for (size_t bytes = 0; bytes < table.used; bytes++) {
        const struct weir_buf cut = {.data = table.data, .used = bytes};
        struct weir_cfi_section part = table_section(&cut);
        cr_assert(!weir_cfi_find(&part, machine, 0x1100, &rule));
        weir_cfi_section_fini(&part);
    }
}

Test(cfi, unknown_augmentation_is_not_guessed)
{
    table_add_cie(&table, "zQ");
    table_add_fde(&table, 0, 0x1100, 0x40, "", 0);
    section = table_section(&table);
    cr_assert_eq(section.count, 0);
}

/* push rbp; mov rsp, rbp; ...: as compilers write it. */
Test(cfi, rule_of_each_instruction)
{
    static const uint8_t program[] = {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x0a, 0x50, 0x0c, 7, 8, 0xc6, 0x41, 0x0b};
    make(program, sizeof(program));
    cr_assert(weir_cfi_find(&section, machine, 0x1100, &rule));
    cr_assert_eq(rule.cfa_reg, 7);
    cr_assert_eq(rule.cfa_value, 8);
    cr_assert_eq(rule.count, 1);
    cr_assert(weir_cfi_find(&section, machine, 0x1101, &rule));
    cr_assert_eq(rule.cfa_value, 16);
    cr_assert_eq(rule.count, 2);
    cr_assert_eq(rule.regs[0].reg, 6);
    cr_assert_eq(rule.regs[0].place, WEIR_CFI_AT_CFA);
    cr_assert_eq(rule.regs[0].value, -16);
    cr_assert(weir_cfi_find(&section, machine, 0x1104, &rule));
    cr_assert_eq(rule.cfa_reg, 6);
    cr_assert_eq(rule.cfa_value, 16);
    cr_assert(weir_cfi_find(&section, machine, 0x1114, &rule));
    cr_assert_eq(rule.cfa_reg, 7);
    cr_assert_eq(rule.count, 1, "rbp is restored to what the CIE says: nothing");
    cr_assert(weir_cfi_find(&section, machine, 0x1115, &rule));
    cr_assert_eq(rule.cfa_reg, 6);
    cr_assert_eq(rule.return_reg, 16);
    cr_assert(!rule.is_signal);
}

Test(cfi, entries_in_any_order)
{
    table_add_cie(&table, "zRS");
    for (unsigned i = 8; i-- > 0;)
        table_add_fde(&table, 0, 0x1000 + i * 0x20, 0x20, "", 0);
    section = table_section(&table);
    cr_assert_eq(section.count, 8);
    for (unsigned i = 0; i < 8; i++)
        cr_assert(weir_cfi_find(&section, machine, 0x1000 + i * 0x20 + 0x1f, &rule));
    cr_assert(rule.is_signal);
}
