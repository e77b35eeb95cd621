/* Symbols of texts and jitdump files, and the choice between symbols; of ELF files beside perf: tests/record/report.sh.
 */
#include "format/symbols.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/elf_symbols.h"
#include "format/text_symbols.h"

static int file_of(const void *data, size_t bytes)
{
    int fd = memfd_create("symbols", MFD_CLOEXEC);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, data, bytes), (ssize_t)bytes);
    cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static const char *name_at(const struct weir_symbols *symbols, uint64_t address)
{
    uint32_t number = weir_symbols_find(symbols, address);
    return number == WEIR_SYMBOL_NONE ? "none" : weir_symbol_name(symbols, number);
}

static int read_text(struct weir_symbols *symbols, const char *text, int (*of)(struct weir_symbols *symbols, int fd))
{
    int fd = file_of(text, strlen(text));
    int result = of(symbols, fd);
    close(fd);
    return result;
}

Test(symbols, no_file_is_no_elf_file)
{
    struct weir_symbols symbols = {0};
    int fd = file_of("not ELF", 7);
    cr_expect_eq(weir_symbols_of_elf(&symbols, fd, NULL, NULL), -ENODATA);
    cr_expect_eq(weir_symbols_find(&symbols, 0), WEIR_SYMBOL_NONE);
    close(fd);
}

Test(symbols, kernel_that_hides_its_addresses_has_none)
{
    struct weir_symbols symbols = {0};
    cr_expect_eq(read_text(&symbols, "0000000000000000 T _text\n0000000000000000 t a\n", weir_symbols_of_kallsyms),
                 -EACCES);
    weir_symbols_fini(&symbols);
}

Test(symbols, kernel_symbols_end_where_the_next_one_starts)
{
    static const char text[] = "ffffffff81000000 T _text\n"
                               "ffffffff81000000 T startup_64\n"
                               "ffffffff81000100 t small\n"
                               "ffffffff81000180 r read_only_data\n"
                               "ffffffff81000200 D data\n"
                               "ffffffffc0000000 t in_module\t[module]\n"
                               "nonsense\n";
    struct weir_symbols symbols = {0};
    cr_assert_eq(read_text(&symbols, text, weir_symbols_of_kallsyms), 0);
    cr_expect_eq(symbols.text_start, 0xffffffff81000000);
    cr_expect_str_eq(name_at(&symbols, 0xffffffff810000ff), "startup_64");
    cr_expect_str_eq(name_at(&symbols, 0xffffffff810001ff), "small");
    cr_expect_str_eq(name_at(&symbols, 0xffffffff81000200), "data");
    cr_expect_str_eq(name_at(&symbols, 0xffffffffb0000000), "none");
    cr_expect_str_eq(name_at(&symbols, 0xffffffffc0000001), "in_module");
    cr_expect_str_eq(name_at(&symbols, 0xffffffff80ffffff), "none");
    weir_symbols_fini(&symbols);
}

Test(symbols, lines_of_a_perf_map_may_be_nonsense)
{
    static const char text[] = "7f0000001000 20 a name; with spaces\n"
                               "zzz 20 wrong\n"
                               "7f0000002000 no\n"
                               "7f0000003000 10\n"
                               "7f0000001020 0 next\n";
    struct weir_symbols symbols = {0};
    cr_assert_eq(read_text(&symbols, text, weir_symbols_of_perf_map), 0);
    cr_expect_eq(symbols.count, 2);
    cr_expect_str_eq(name_at(&symbols, 0x7f000000101f), "a name; with spaces");
    cr_expect_str_eq(name_at(&symbols, 0x7f0000001020), "next");
    weir_symbols_fini(&symbols);
}

Test(symbols, of_code_that_was_generated_twice_the_later_counts)
{
    struct weir_buf dump = WEIR_BUF_INIT;
    weir_buf_append_u32(&dump, 0x4a695444);
    weir_buf_append_u32(&dump, 1);
    weir_buf_append_u32(&dump, 40);
    weir_buf_append_zeros(&dump, 28);
    static const char *const names[] = {"a_long_name_of_earlier_code", "later"};
    for (unsigned i = 0; i < 2; i++) {
        weir_buf_append_u32(&dump, 0); /* JIT_CODE_LOAD */
        weir_buf_append_u32(&dump, (uint32_t)(16 + 40 + strlen(names[i]) + 1));
        weir_buf_append_u64(&dump, i);
        weir_buf_append_zeros(&dump, 16);
        weir_buf_append_u64(&dump, 0x5000);
        weir_buf_append_u64(&dump, 0x40);
        weir_buf_append_u64(&dump, i);
        weir_buf_append(&dump, names[i], strlen(names[i]) + 1);
    }
    for (size_t cut = 0; cut <= dump.used; cut++) {
        struct weir_symbols symbols = {0};
        int fd = file_of(dump.data, cut);
        int result = weir_symbols_of_jitdump(&symbols, fd);
        cr_expect(result == 0 || result == -ENODATA);
        if (cut == dump.used)
            cr_expect_str_eq(name_at(&symbols, 0x503f), "later");
        weir_symbols_fini(&symbols);
        close(fd);
    }
    weir_buf_fini(&dump);
}

Test(symbols, of_several_names_of_a_place_the_best_is_kept)
{
    static const struct weir_symbol_text texts[] = {
        {"__underscores", 0x10, 8, WEIR_SYMBOL_GLOBAL}, {"plain", 0x10, 8, WEIR_SYMBOL_GLOBAL},
        {"weak_but_long", 0x10, 8, WEIR_SYMBOL_WEAK},   {"local", 0x20, 8, WEIR_SYMBOL_LOCAL},
        {"all", 0x20, 8, WEIR_SYMBOL_GLOBAL},           {"short", 0x30, 8, WEIR_SYMBOL_GLOBAL},
        {"longer", 0x30, 8, WEIR_SYMBOL_GLOBAL},
    };
    struct weir_symbols symbols = {0};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        cr_assert_eq(weir_symbols_add(&symbols, &texts[i]), 0);
    weir_symbols_finish(&symbols);
    cr_expect_eq(symbols.count, 3);
    cr_expect_str_eq(name_at(&symbols, 0x17), "plain");
    cr_expect_str_eq(name_at(&symbols, 0x18), "none");
    cr_expect_str_eq(name_at(&symbols, 0x20), "all");
    cr_expect_str_eq(name_at(&symbols, 0x30), "longer");
    weir_symbols_fini(&symbols);
}

Test(symbols, vdso_of_this_process_has_its_functions)
{
    struct weir_symbols symbols = {0};
    cr_assert_eq(weir_symbols_of_vdso(&symbols), 0);
    bool is_there = false;
    for (uint32_t i = 0; i < symbols.count; i++)
        is_there |= strstr(weir_symbol_name(&symbols, i), "clock_gettime") != NULL;
    cr_expect(is_there);
    weir_symbols_fini(&symbols);
}
