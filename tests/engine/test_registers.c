/* Registers by name, of both architectures on any. */
#include "engine/events/registers.h"

#include <criterion/criterion.h>
#include <errno.h>

#include "base/bits.h"
#include "base/buf.h"
#include "tests/engine/faulty_kernel.h"

#define UNTOUCHED 0x5a5aull

Test(registers, unknown_name_is_refused_with_the_known_ones)
{
    static const char *const refused[] = {"", "ZZ", "AX,", ",AX", "AX,ZZ", "AX BX", "R16", "XMM0", "x0"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(refused); i++) {
        struct weir_error err = {0};
        uint64_t bits = UNTOUCHED;
        const struct weir_register_set *set = &weir_registers_x86_64;
        cr_expect_eq(weir_registers_parse(set, set->usual, refused[i], &bits, &err), -EINVAL, "%s", refused[i]);
        cr_expect_eq(bits, UNTOUCHED);
        cr_expect_str_eq(err.hint, "registers of this machine: AX BX CX DX SI DI BP SP IP FLAGS CS SS R8 R9 R10 R11 "
                                   "R12 R13 R14 R15");
    }
}

Test(registers, names_of_x86_are_perfs_numbers)
{
    const struct weir_register_set *set = &weir_registers_x86_64;
    static const struct {
        const char *text;
        uint64_t want;
    } texts[] = {
        {"AX", 0x1},       {"ax,Bx", 0x3},         {"IP", 0x100},
        {"SP,IP", 0x180},  {"FLAGS,CS,SS", 0xe00}, {"R8", 0x10000},
        {"r15", 0x800000}, {"XMM0", 0x300000000},  {"XMM15", 0xc000000000000000},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(texts); i++) {
        uint64_t bits = UNTOUCHED;
        cr_expect_eq(weir_registers_parse(set, set->usual | set->extended, texts[i].text, &bits, NULL), 0);
        cr_expect_eq(bits, texts[i].want, "%s: %#llx", texts[i].text, (unsigned long long)bits);
    }
    cr_expect_eq(set->unwind, 0x180);
}

Test(registers, names_of_arm64_are_perfs_numbers)
{
    const struct weir_register_set *set = &weir_registers_arm64;
    static const struct {
        const char *text;
        uint64_t want;
    } texts[] = {{"x0", 1}, {"X29", 1ull << 29}, {"lr", 1ull << 30}, {"sp,pc", 3ull << 31}, {"VG", 1ull << 46}};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(texts); i++) {
        uint64_t bits = UNTOUCHED;
        cr_expect_eq(weir_registers_parse(set, set->usual | set->user_extended, texts[i].text, &bits, NULL), 0, "%s",
                     texts[i].text);
        cr_expect_eq(bits, texts[i].want, "%s: %#llx", texts[i].text, (unsigned long long)bits);
    }
    cr_expect_eq(set->unwind, 3ull << 31);
}

/* Each register has bits of its own, and together they are all there is. */
Test(registers, tables_are_complete)
{
    const struct weir_register_set *sets[] = {&weir_registers_x86_64, &weir_registers_arm64};
    for (size_t n = 0; n < WEIR_ARRAY_COUNT(sets); n++) {
        uint64_t all = 0;
        for (size_t i = 0; i < sets[n]->count; i++) {
            cr_expect_eq(all & sets[n]->registers[i].bits, 0, "%s", sets[n]->registers[i].name);
            all |= sets[n]->registers[i].bits;
        }
        cr_expect_eq(all, sets[n]->usual | sets[n]->extended | sets[n]->user_extended);
    }
}

Test(registers, format_names_whole_registers_in_perfs_order)
{
    struct weir_buf text = WEIR_BUF_INIT;
    weir_registers_format(&weir_registers_x86_64, 0x10181 | 1ull << 32, &text); /* half of XMM0 */
    cr_expect_str_eq(weir_buf_str(&text), "AX SP IP R8");
    weir_buf_fini(&text);
}

static int refuse_all(const struct faulty_open *attempt)
{
    (void)attempt;
    return -ENOENT;
}

Test(registers, extended_ones_are_those_that_an_event_can_be_opened_with)
{
    struct faulty_kernel faulty;
    faulty_kernel_init(&faulty);
    const struct weir_register_set *x86 = &weir_registers_x86_64;
    cr_expect_eq(weir_registers_probe_extended(x86, &faulty.kernel), x86->extended);
    cr_expect(faulty.opens == 1 && faulty.open_now == 0);
    faulty.refuse = refuse_all;
    cr_expect_eq(weir_registers_probe_extended(x86, &faulty.kernel), 0);
    cr_expect_eq(weir_registers_probe_extended(&weir_registers_arm64, &faulty.kernel), 0);
    cr_expect_eq(faulty.opens, 2);
    faulty_kernel_fini(&faulty);
}

static struct perf_event_attr probed;

static int note_attr(const struct faulty_open *attempt)
{
    probed = *attempt->attr;
    return 0;
}

Test(registers, vector_length_is_there_when_an_event_of_user_space_can_have_it)
{
    struct faulty_kernel faulty;
    faulty_kernel_init(&faulty);
    faulty.refuse = note_attr;
    cr_expect_eq(weir_registers_probe_user_extended(&weir_registers_x86_64, &faulty.kernel), 0);
    cr_expect_eq(faulty.opens, 0);
    cr_expect_eq(weir_registers_probe_user_extended(&weir_registers_arm64, &faulty.kernel), 1ull << 46);
    cr_expect(faulty.opens == 1 && faulty.open_now == 0);
    cr_expect_eq(probed.sample_type, PERF_SAMPLE_REGS_USER);
    cr_expect_eq(probed.sample_regs_user, 0x1ffffffffull | 1ull << 46);
    faulty.refuse = refuse_all;
    cr_expect_eq(weir_registers_probe_user_extended(&weir_registers_arm64, &faulty.kernel), 0);
    faulty_kernel_fini(&faulty);
}
