/* The maps of the kernel and its modules, from files that the test writes. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>

#include "tests/format/synth_fixture.h"

static struct synth_fixture fixture;

static void init(void)
{
    synth_fixture_init(&fixture);
}

static void fini(void)
{
    synth_fixture_fini(&fixture);
}

TestSuite(synth_kernel, .init = init, .fini = fini);

static void write_modules_dep(const char *text)
{
    synth_fixture_write(&fixture, "sys/kernel/osrelease", "6.1.0-44-amd64\n");
    temp_tree_write_text(&fixture.tree, "modules/6.1.0-44-amd64/modules.dep", text);
}

static void expect_nothing_but_warning(const char *line)
{
    cr_expect_eq(weir_synth_kernel(&fixture.options, NULL), 0);
    cr_expect_eq(fixture.sink.calls, 0);
    cr_expect_eq(fixture.sink.notices, 1);
    cr_expect_str_eq(fixture.sink.notice, line);
}

Test(synth_kernel, proc_that_cannot_be_opened_is_an_error)
{
    struct weir_error err;
    fixture.options.proc_root = "/nonexistent/proc";
    cr_expect_eq(weir_synth_kernel(&fixture.options, &err), -ENOENT);
    cr_expect_str_eq(err.what, "cannot open /nonexistent/proc: No such file or directory");
}

Test(synth_kernel, error_of_emit_is_returned)
{
    synth_fixture_write(&fixture, "kallsyms", "ffffffff81000000 T _text\n");
    fixture.sink.fail_at = 1;
    fixture.sink.error = -ENOSPC;
    struct weir_error err;
    cr_expect_eq(weir_synth_kernel(&fixture.options, &err), -ENOSPC);
    cr_expect_str_eq(err.what, "cannot record the maps of the kernel: No space left on device");
}

Test(synth_kernel, hidden_addresses_give_one_warning_with_the_knobs_and_no_record)
{
    synth_fixture_write(&fixture, "kallsyms",
                        "0000000000000000 T _stext\n0000000000000000 T _text\n0000000000000000 T _etext\n");
    synth_fixture_write(&fixture, "modules", "ext4 1048576 1 - Live 0x0000000000000000\n");
    synth_fixture_write(&fixture, "sys/kernel/kptr_restrict", "2\n");
    synth_fixture_write(&fixture, "sys/kernel/perf_event_paranoid", "-1\n");
    expect_nothing_but_warning(
        "the kernel hides its addresses (kernel.kptr_restrict is 2, kernel.perf_event_paranoid is "
        "-1): kernel samples will have no symbols; sudo sysctl kernel.kptr_restrict=0");
}

Test(synth_kernel, knobs_that_cannot_be_read_are_said_to_be_unknown)
{
    synth_fixture_write(&fixture, "kallsyms", "0000000000000000 T _text\n");
    synth_fixture_write(&fixture, "sys/kernel/kptr_restrict", "");
    expect_nothing_but_warning(
        "the kernel hides its addresses (kernel.kptr_restrict is unknown, "
        "kernel.perf_event_paranoid is unknown): kernel samples will have no symbols; sudo sysctl "
        "kernel.kptr_restrict=0");
}

Test(synth_kernel, missing_kallsyms_gives_one_warning_and_the_modules)
{
    synth_fixture_write(&fixture, "modules", "ext4 1048576 1 - Live 0xffffffffc0100000\n");
    cr_expect_eq(weir_synth_kernel(&fixture.options, NULL), 0);
    cr_expect_eq(fixture.sink.notices, 1);
    char line[PATH_MAX + 128];
    format_text(line, sizeof(line),
                "cannot read %s/kallsyms: No such file or directory: kernel samples will have no symbols",
                fixture.proc_root);
    cr_expect_str_eq(fixture.sink.notice, line);
    struct weir_buf expected = WEIR_BUF_INIT;
    expect_mmap(&expected, 0xffffffffc0100000, 1048576, 0, "[ext4]");
    expect_emitted(&fixture, &expected);
}

Test(synth_kernel, modules_alone_are_told_without_a_look_at_kallsyms)
{
    synth_fixture_write(&fixture, "modules", "ext4 1048576 1 - Live 0xffffffffc0100000\n");
    fixture.options.modules_only = true;
    cr_expect_eq(weir_synth_kernel(&fixture.options, NULL), 0);
    cr_expect_eq(fixture.sink.notices, 0);
    struct weir_buf expected = WEIR_BUF_INIT;
    expect_mmap(&expected, 0xffffffffc0100000, 1048576, 0, "[ext4]");
    expect_emitted(&fixture, &expected);
}

Test(synth_kernel, kernel_without_a_known_start_gives_one_warning)
{
    synth_fixture_write(&fixture, "kallsyms",
                        "ffffffff81000000 T __pi__text\n"
                        "ffffffff81000000 T x_text\n"
                        "ffffffff81000000 T _text.cold\n"
                        "ffffffffc0000000 t _text\t[odd]\n"
                        "garbage\n"
                        "\n"
                        "ffffffff82000000 T _etext\n");
    char line[PATH_MAX + 128];
    format_text(line, sizeof(line), "%s/kallsyms has neither _text nor _stext: kernel samples will have no symbols",
                fixture.proc_root);
    expect_nothing_but_warning(line);
}

static void expect_kernel(const char *kallsyms, uint64_t start, uint64_t bytes, const char *name)
{
    synth_fixture_write(&fixture, "kallsyms", kallsyms);
    weir_buf_reset(&fixture.sink.records);
    cr_expect_eq(weir_synth_kernel(&fixture.options, NULL), 0);
    struct weir_buf expected = WEIR_BUF_INIT;
    expect_mmap(&expected, start, bytes, start, name);
    expect_emitted(&fixture, &expected);
    cr_expect_eq(fixture.sink.notices, 0);
}

Test(synth_kernel, map_starts_at_text_or_else_stext)
{
    expect_kernel("ffffffff81000000 T _stext\nffffffff80000000 T _text\nffffffff82209988 T _etext\n",
                  0xffffffff80000000, 0x2209988, "[kernel.kallsyms]_text");
    expect_kernel("ffffffff81000000 T _stext\nffffffff82209988 T _etext\n", 0xffffffff81000000, 0x1209988,
                  "[kernel.kallsyms]_stext");
}

Test(synth_kernel, map_ends_at_edata_or_else_etext)
{
    expect_kernel("ffffffff81000000 T _text\nffffffff82000000 D _edata\nffffffff81800000 T _etext\n",
                  0xffffffff81000000, 0x1000000, "[kernel.kallsyms]_text");
    expect_kernel("ffffffff81000000 T _text\nffffffff81800000 D _etext\n", 0xffffffff81000000, 0x800000,
                  "[kernel.kallsyms]_text");
}

#ifdef __x86_64__
/* As x86-64 has it: the code, and what follows it up to the end of the initialized data, at the physical addresses. */
static const char iomem[] = "00001000-0009fbff : System RAM\n"
                            "00100000-bfffffff : System RAM\n"
                            "  01000000-02209987 : Kernel code\n"
                            "  02400000-02e09fff : Kernel rodata\n"
                            "  03000000-0327c0ff : Kernel data\n"
                            "  03b34000-03c57fff : Kernel bss\n";

Test(synth_kernel, map_ends_where_iomem_has_the_end_of_the_data)
{
    synth_fixture_write(&fixture, "iomem", iomem);
    expect_kernel("ffffffff81000000 T _text\nffffffff82209988 T _etext\n", 0xffffffff81000000, 0x227c100,
                  "[kernel.kallsyms]_text");
    /* Neither an end that kallsyms has by itself nor a start behind _text is to be mixed with it. */
    expect_kernel("ffffffff83000000 D _edata\nffffffff81000000 T _text\n", 0xffffffff81000000, 0x2000000,
                  "[kernel.kallsyms]_text");
    expect_kernel("ffffffff81000000 T _stext\nffffffff82209988 T _etext\n", 0xffffffff81000000, 0x1209988,
                  "[kernel.kallsyms]_stext");
}

Test(synth_kernel, kallsyms_is_read_no_further_than_the_start_when_iomem_has_the_end)
{
    synth_fixture_write(&fixture, "iomem", iomem);
    expect_kernel("ffffffff81000000 T _text\nffffffff82000000 D _edata\n", 0xffffffff81000000, 0x227c100,
                  "[kernel.kallsyms]_text");
}

Test(synth_kernel, hidden_or_odd_iomem_is_passed_over)
{
    static const char *const odd[] = {
        "  00000000-00000000 : Kernel code\n  00000000-00000000 : Kernel data\n",
        "  01000000-02209987 : Kernel code\n",
        "  03000000-0327c0ff : Kernel data\n",
        "  03000000-0327c0ff : Kernel code\n  01000000-02209987 : Kernel data\n",
        "  01000000 02209987 : Kernel code\n  03000000-0327c0ffx : Kernel data\n",
        "",
    };
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        synth_fixture_write(&fixture, "iomem", odd[i]);
        expect_kernel("ffffffff81000000 T _text\nffffffff82209988 T _etext\n", 0xffffffff81000000, 0x1209988,
                      "[kernel.kallsyms]_text");
    }
}
#endif

Test(synth_kernel, map_without_a_known_end_reaches_to_the_end_of_addresses)
{
    expect_kernel("ffffffff81000000 T _text\n", 0xffffffff81000000, 0x7effffff, "[kernel.kallsyms]_text");
    expect_kernel("ffffffff81000000 T _text\nffffffff80000000 D _edata\n", 0xffffffff81000000, 0x7effffff,
                  "[kernel.kallsyms]_text");
}

Test(synth_kernel, map_without_a_known_end_reaches_to_the_first_module_behind_it)
{
    synth_fixture_write(&fixture, "kallsyms", "ffffffff81000000 T _text\n");
    synth_fixture_write(&fixture, "modules",
                        "b 8192 0 - Live 0xffffffffc0200000\n"
                        "a 4096 0 - Live 0xffffffffc0100000\n"
                        "low 4096 0 - Live 0xffffffff70000000\n");
    cr_expect_eq(weir_synth_kernel(&fixture.options, NULL), 0);
    struct weir_buf expected = WEIR_BUF_INIT;
    expect_mmap(&expected, 0xffffffff81000000, 0x3f100000, 0xffffffff81000000, "[kernel.kallsyms]_text");
    expect_mmap(&expected, 0xffffffff70000000, 4096, 0, "[low]");
    expect_mmap(&expected, 0xffffffffc0100000, 4096, 0, "[a]");
    expect_mmap(&expected, 0xffffffffc0200000, 8192, 0, "[b]");
    expect_emitted(&fixture, &expected);
}

/* ---- modules ---- */

static void expect_modules(struct weir_buf *expected)
{
    synth_fixture_write(&fixture, "kallsyms", "ffffffff81000000 T _text\nffffffff82000000 T _etext\n");
    cr_expect_eq(weir_synth_kernel(&fixture.options, NULL), 0);
    struct weir_buf all = WEIR_BUF_INIT;
    expect_mmap(&all, 0xffffffff81000000, 0x1000000, 0xffffffff81000000, "[kernel.kallsyms]_text");
    weir_buf_append(&all, expected->data, expected->used);
    weir_buf_fini(expected);
    expect_emitted(&fixture, &all);
}

Test(synth_kernel, malformed_module_lines_are_passed_over)
{
    synth_fixture_write(&fixture, "modules",
                        "\n"
                        "short 4096 0 - Live\n"
                        "noaddress 4096 0 - Live ffffffffc0100000\n"
                        "nosize x 0 - Live 0xffffffffc0100000\n"
                        "zero 0 0 - Live 0xffffffffc0100000\n"
                        "wraps 1073741825 0 - Live 0xffffffffc0000000\n"
                        "a_name_of_more_than_63_bytes_which_no_kernel_would_load_as_a_module 4096 0 - Live 0xc0100000\n"
                        "good 4096 2 snd,snd_pcm, Live 0xffffffffc0300000 (OE)");
    struct weir_buf expected = WEIR_BUF_INIT;
    expect_mmap(&expected, 0xffffffffc0300000, 4096, 0, "[good]");
    expect_modules(&expected);
}

Test(synth_kernel, modules_have_the_files_of_modules_dep_in_address_order)
{
    synth_fixture_write(&fixture, "modules",
                        "snd_pcm 176128 1 snd_hda, Live 0xffffffffc0500000\n"
                        "ext4 1048576 1 - Live 0xffffffffc0200000\n"
                        "out_of_tree 8192 0 - Live 0xffffffffc0100000 (OE)\n"
                        "nvidia 8192 0 - Live 0xffffffffc0900000 (PO)\n"
                        "unlisted 4096 0 - Live 0xffffffffc0800000\n");
    write_modules_dep("kernel/fs/ext4/ext4.ko.xz: kernel/fs/jbd2/jbd2.ko.xz kernel/lib/crc16.ko.xz\n"
                      "kernel/sound/core/snd-pcm.ko: kernel/sound/core/snd.ko\n"
                      "kernel/other/ext4.ko: kernel/the/first/one/counts.ko\n"
                      "no module here\n"
                      "README: x\n"
                      "updates/dkms/out_of_tree.ko.zst:\n"
                      "/opt/nvidia/nvidia.ko:\n");
    char path[PATH_MAX];
    struct weir_buf expected = WEIR_BUF_INIT;
    format_text(path, sizeof(path), "%s/6.1.0-44-amd64/updates/dkms/out_of_tree.ko.zst", fixture.modules_root);
    expect_mmap(&expected, 0xffffffffc0100000, 8192, 0, path);
    format_text(path, sizeof(path), "%s/6.1.0-44-amd64/kernel/fs/ext4/ext4.ko.xz", fixture.modules_root);
    expect_mmap(&expected, 0xffffffffc0200000, 1048576, 0, path);
    format_text(path, sizeof(path), "%s/6.1.0-44-amd64/kernel/sound/core/snd-pcm.ko", fixture.modules_root);
    expect_mmap(&expected, 0xffffffffc0500000, 176128, 0, path);
    expect_mmap(&expected, 0xffffffffc0800000, 4096, 0, "[unlisted]");
    expect_mmap(&expected, 0xffffffffc0900000, 8192, 0, "/opt/nvidia/nvidia.ko");
    expect_modules(&expected);
    cr_expect_eq(fixture.sink.notices, 0);
}

Test(synth_kernel, more_modules_than_one_allocation_holds_are_kept)
{
    struct weir_buf modules = WEIR_BUF_INIT, expected = WEIR_BUF_INIT;
    for (int i = 299; i >= 0; i--)
        weir_buf_printf(&modules, "mod_%03d 4096 0 - Live 0xffffffffc0%03d000\n", i, i);
    for (int i = 0; i < 300; i++) {
        char name[32], address[32];
        format_text(name, sizeof(name), "[mod_%03d]", i);
        format_text(address, sizeof(address), "0xffffffffc0%03d000", i);
        expect_mmap(&expected, strtoull(address, NULL, 16), 4096, 0, name);
    }
    synth_fixture_write(&fixture, "modules", weir_buf_str(&modules));
    weir_buf_fini(&modules);
    expect_modules(&expected);
}

Test(synth_kernel, path_that_no_file_can_have_is_passed_over)
{
    const char *const modules[] = {"ext4", "jbd2", "xfs"};
    struct weir_buf paths = WEIR_BUF_INIT, lines = WEIR_BUF_INIT, expected = WEIR_BUF_INIT;
    for (unsigned i = 0; i < 3; i++) { /* more than a block of records, if they were kept */
        weir_buf_printf(&lines, "%s 4096 0 - Live 0xffffffffc020%u000\n", modules[i], i);
        weir_buf_printf(&paths, "k/%060000u/%s.ko:\n", 0u, modules[i]);
        char name[16];
        format_text(name, sizeof(name), "[%s]", modules[i]);
        expect_mmap(&expected, 0xffffffffc0200000 + i * 4096, 4096, 0, name);
    }
    synth_fixture_write(&fixture, "modules", weir_buf_str(&lines));
    write_modules_dep(weir_buf_str(&paths));
    weir_buf_fini(&lines);
    weir_buf_fini(&paths);
    expect_modules(&expected);
}

Test(synth_kernel, module_paths_without_modules_dep_are_names)
{
    synth_fixture_write(&fixture, "modules", "ext4 4096 0 - Live 0xffffffffc0200000\n");
    synth_fixture_write(&fixture, "sys/kernel/osrelease", "6.1.0-44-amd64\n");
    struct weir_buf expected = WEIR_BUF_INIT;
    expect_mmap(&expected, 0xffffffffc0200000, 4096, 0, "[ext4]");
    expect_modules(&expected);
}
