/* What of a made-up /proc/kcore is copied, where it stands in the copy, and what is refused. */
#include "format/kcore.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/kcore_ranges.h"
#include "tests/format/temp_tree.h"

#define PAGE         4096u
#define KERNEL       0xffffffff81000000ull
#define MODULES      0xffffffffc0000000ull
#define KERNEL_PAGES 8u
#define MODULE_PAGES 4u
#define DIRECT_MAP   0xffff888000000000ull
#define FILE_PAGES   (1u + KERNEL_PAGES + MODULE_PAGES)

static const char kallsyms[] = "0000000000000000 A fixed_percpu_data\n"
                               "ffffffff81000000 T _text\n"
                               "ffffffff81001010 T _stext\n"
                               "ffffffff81002000 t some_function\n"
                               "ffffffff81003004 T _etext\n"
                               "ffffffff81700000 D not_a_function\n"
                               "ffffffffc0001040 t first_of_module\t[some]\n"
                               "ffffffffc0000000 d data_of_module\t[some]\n"
                               "ffffffffc0001ff0 t bpf_prog_0123456789abcdef\t[bpf]\n";
static const char modules[] = "some 16384 0 - Live 0xffffffffc0001000\n";

struct fixture {
    struct temp_tree tree;
    char proc[PATH_MAX], out[PATH_MAX];
    int out_fd;
    struct weir_kcore kcore;
    struct weir_error err;
    uint8_t image[FILE_PAGES * PAGE];
};

static void fill_kcore(struct fixture *f, uint32_t kernel_flags)
{
    Elf64_Ehdr header = {
        .e_type = ET_CORE,
        .e_machine = EM_X86_64,
        .e_version = EV_CURRENT,
        .e_phoff = sizeof(header),
        .e_ehsize = sizeof(header),
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_phnum = 3,
    };
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    const Elf64_Phdr headers[] = {
        {.p_type = PT_NOTE, .p_flags = PF_X, .p_offset = 0, .p_vaddr = KERNEL, .p_filesz = 16 * PAGE},
        {.p_type = PT_LOAD,
         .p_flags = kernel_flags,
         .p_offset = PAGE,
         .p_vaddr = KERNEL,
         .p_filesz = KERNEL_PAGES * PAGE,
         .p_memsz = KERNEL_PAGES * PAGE},
        {.p_type = PT_LOAD,
         .p_flags = PF_R | PF_W | PF_X,
         .p_offset = (1 + KERNEL_PAGES) * PAGE,
         .p_vaddr = MODULES,
         .p_filesz = MODULE_PAGES * PAGE,
         .p_memsz = MODULE_PAGES * PAGE},
    };
    for (size_t i = PAGE; i < sizeof(f->image); i++)
        f->image[i] = (uint8_t)(i / PAGE * 16 + i % 13 + 1);
    memset(f->image + 3 * PAGE, 0, PAGE); /* the kernel's third page: nothing lies there */
    memcpy(f->image, &header, sizeof(header));
    memcpy(f->image + sizeof(header), headers, sizeof(headers));
}

static void fixture_init(struct fixture *f)
{
    memset(f, 0, sizeof(*f));
    temp_tree_init(&f->tree);
    temp_tree_path(&f->tree, "proc", f->proc);
    temp_tree_path(&f->tree, "out", f->out);
    temp_tree_make_folder(&f->tree, "out");
    fill_kcore(f, PF_R | PF_W | PF_X);
    temp_tree_write(&f->tree, "proc/kcore", f->image, sizeof(f->image));
    temp_tree_write_text(&f->tree, "proc/kallsyms", kallsyms);
    temp_tree_write_text(&f->tree, "proc/modules", modules);
    f->out_fd = open(f->out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cr_assert_geq(f->out_fd, 0);
}

static void fixture_fini(struct fixture *f)
{
    weir_kcore_close(&f->kcore);
    close(f->out_fd);
    temp_tree_fini(&f->tree);
}

static int copy(struct fixture *f, struct weir_kcore_copied *copied)
{
    int result = weir_kcore_open(&f->kcore, f->proc, &f->err);
    return result < 0 ? result : weir_kcore_copy(&f->kcore, f->out_fd, copied, &f->err);
}

/* The copy's bytes; its size in *bytes. */
static uint8_t *read_copy(struct fixture *f, const char *name, size_t *bytes)
{
    int fd = openat(f->out_fd, name, O_RDONLY | O_CLOEXEC);
    struct stat st;
    cr_assert_geq(fd, 0, "%s", name);
    cr_assert_eq(fstat(fd, &st), 0);
    cr_assert_eq(st.st_mode & 07777, 0400);
    uint8_t *data = calloc(1, (size_t)st.st_size + 1);
    cr_assert_eq(read(fd, data, (size_t)st.st_size), st.st_size);
    close(fd);
    *bytes = (size_t)st.st_size;
    return data;
}

static void expect_text(struct fixture *f, const char *name, const char *text)
{
    size_t bytes;
    uint8_t *data = read_copy(f, name, &bytes);
    cr_expect_eq(bytes, strlen(text));
    cr_expect_str_eq((const char *)data, text);
    free(data);
}

/* ---- refusals ---- */

Test(kcore, kernel_without_it_is_named)
{
    struct fixture f;
    fixture_init(&f);
    temp_tree_path(&f.tree, "proc/kcore", f.out);
    cr_assert_eq(unlink(f.out), 0);
    cr_assert_eq(weir_kcore_open(&f.kcore, f.proc, &f.err), -ENOENT);
    cr_expect(strstr(f.err.what, "/kcore: No such file or directory"), "%s", f.err.what);
    cr_expect_str_eq(f.err.hint, "--kcore needs root (CAP_SYS_RAWIO), a kernel with CONFIG_PROC_KCORE and without "
                                 "lockdown; leave it out: the kernel's code is then read from its own file");
    fixture_fini(&f);
}

Test(kcore, what_is_no_elf_file_is_refused)
{
    struct fixture f;
    fixture_init(&f);
    temp_tree_write_text(&f.tree, "proc/kcore", "not at all");
    cr_assert_eq(weir_kcore_open(&f.kcore, f.proc, &f.err), -ENOEXEC);
    fixture_fini(&f);
}

Test(kcore, head_that_is_cut_is_refused)
{
    struct fixture f;
    struct weir_kcore_copied copied;
    fixture_init(&f);
    temp_tree_write(&f.tree, "proc/kcore", f.image, 40);
    cr_assert_eq(copy(&f, &copied), -ENOEXEC);
    fixture_fini(&f);
}

Test(kcore, hidden_addresses_are_refused)
{
    struct fixture f;
    struct weir_kcore_copied copied;
    fixture_init(&f);
    temp_tree_write_text(&f.tree, "proc/kallsyms", "0000000000000000 T _stext\n0000000000000000 T _etext\n");
    cr_assert_eq(copy(&f, &copied), -EACCES);
    cr_expect_str_eq(f.err.hint, "record as root, or sudo sysctl kernel.kptr_restrict=0");
    fixture_fini(&f);
}

Test(kcore, kcore_without_the_kernels_code_is_refused)
{
    struct fixture f;
    struct weir_kcore_copied copied;
    fixture_init(&f);
    fill_kcore(&f, PF_R); /* no code */
    temp_tree_write(&f.tree, "proc/kcore", f.image, sizeof(f.image));
    temp_tree_write_text(&f.tree, "proc/kallsyms", "ffffffff81001010 T _stext\nffffffff81003004 T _etext\n");
    temp_tree_write_text(&f.tree, "proc/modules", "");
    cr_assert_eq(copy(&f, &copied), -ENODATA);
    fixture_fini(&f);
}

Test(kcore, kcore_that_ends_before_its_segments_is_refused)
{
    struct fixture f;
    struct weir_kcore_copied copied;
    fixture_init(&f);
    temp_tree_write(&f.tree, "proc/kcore", f.image, 3 * PAGE);
    cr_assert_eq(copy(&f, &copied), -ENODATA);
    fixture_fini(&f);
}

/* ---- copies ---- */

Test(kcore, code_of_kernel_and_modules_stands_one_behind_the_other)
{
    struct fixture f;
    struct weir_kcore_copied copied;
    fixture_init(&f);
    cr_assert_eq(copy(&f, &copied), 0, "%s", f.err.what);
    cr_expect_eq(copied.segments, 2);
    cr_expect_not(copied.changed);
    cr_expect_eq(copied.bytes, (3 + 2) * PAGE);
    expect_text(&f, "kallsyms", kallsyms);
    expect_text(&f, "modules", modules);

    size_t bytes;
    uint8_t *data = read_copy(&f, "kcore", &bytes);
    cr_assert_eq(bytes, (1 + 3 + 2) * PAGE);
    Elf64_Ehdr header;
    Elf64_Phdr headers[2];
    memcpy(&header, data, sizeof(header));
    memcpy(headers, data + header.e_phoff, sizeof(headers));
    cr_expect_eq(header.e_type, ET_CORE);
    cr_expect_eq(header.e_machine, EM_X86_64);
    cr_assert_eq(header.e_phnum, 2);
    cr_expect_eq(headers[0].p_vaddr, KERNEL + PAGE);
    cr_expect_eq(headers[0].p_offset, PAGE);
    cr_expect_eq(headers[0].p_filesz, 3 * PAGE);
    cr_expect_eq(headers[1].p_vaddr, MODULES + PAGE);
    cr_expect_eq(headers[1].p_offset, 4 * PAGE);
    cr_expect_eq(headers[1].p_filesz, 2 * PAGE);
    cr_expect_arr_eq(data + PAGE, f.image + 2 * PAGE, 3 * PAGE);
    cr_expect_arr_eq(data + 4 * PAGE, f.image + (1 + KERNEL_PAGES + 1) * PAGE, 2 * PAGE);
    free(data);
    fixture_fini(&f);
}

Test(kcore, kernel_without_modules_has_an_empty_list)
{
    struct fixture f;
    struct weir_kcore_copied copied;
    char path[PATH_MAX];
    fixture_init(&f);
    temp_tree_path(&f.tree, "proc/modules", path);
    cr_assert_eq(unlink(path), 0);
    temp_tree_write_text(&f.tree, "proc/kallsyms", "ffffffff81001010 T _stext\nffffffff81003004 T _etext\n");
    cr_assert_eq(copy(&f, &copied), 0, "%s", f.err.what);
    cr_expect_eq(copied.segments, 1);
    expect_text(&f, "modules", "");
    fixture_fini(&f);
}

Test(kcore, second_try_replaces_the_first)
{
    struct fixture f;
    struct weir_kcore_copied copied;
    fixture_init(&f);
    cr_assert_eq(copy(&f, &copied), 0, "%s", f.err.what);
    cr_assert_eq(weir_kcore_copy(&f.kcore, f.out_fd, &copied, &f.err), 0, "%s", f.err.what); /* as a second try does */
    cr_expect_eq(copied.bytes, (3 + 2) * PAGE);
    fixture_fini(&f);
}

/* ---- ranges ---- */

static struct weir_kcore_symbols note(const char *const *lines)
{
    struct weir_kcore_symbols symbols = {0};
    for (; *lines; lines++)
        weir_kcore_note_symbol(&symbols, *lines);
    return symbols;
}

Test(kcore_ranges, lines_that_are_no_functions_say_nothing)
{
    struct weir_kcore_symbols none = {0};
    struct weir_kcore_symbols symbols = note((const char *const[]){
        "", " ", "T", "ffffffff81000000", "ffffffff81000000 ", "ffffffff81000000 T", "xyz T _stext",
        "0000000000000000 T _stext", "ffffffff81000000 D _stext", "ffffffff81000000  _stext", NULL});
    weir_kcore_note_module(&symbols, "some 16384 0 - Live");
    weir_kcore_note_module(&symbols, "some 16384 0 - Live 0x0000000000000000");
    cr_expect_arr_eq(&symbols, &none, sizeof(none));
    struct weir_kcore_range ranges[WEIR_KCORE_RANGES_MAX];
    cr_expect_eq(weir_kcore_ranges(&symbols, PAGE, ranges), 0);
}

Test(kcore_ranges, without_stext_and_etext_the_functions_bound_the_kernel)
{
    struct weir_kcore_symbols symbols =
        note((const char *const[]){"ffffffff81002fff t b", "ffffffff81001001 T a", NULL});
    struct weir_kcore_range ranges[WEIR_KCORE_RANGES_MAX];
    cr_assert_eq(weir_kcore_ranges(&symbols, PAGE, ranges), 1);
    cr_expect_eq(ranges[0].start, KERNEL + PAGE);
    cr_expect_eq(ranges[0].end, KERNEL + 4 * PAGE, "a page more than where the last function begins");
}

Test(kcore_ranges, addresses_at_the_end_do_not_wrap)
{
    struct weir_kcore_symbols symbols =
        note((const char *const[]){"fffffffffffff000 T a", "ffffffffffffffff W b\t[some]", NULL});
    struct weir_kcore_range ranges[WEIR_KCORE_RANGES_MAX];
    unsigned count = weir_kcore_ranges(&symbols, PAGE, ranges);
    for (unsigned i = 0; i < count; i++)
        cr_expect_lt(ranges[i].start, ranges[i].end);
}

Test(kcore_ranges, segment_is_what_the_header_holds_of_a_range)
{
    const struct weir_kcore_range range = {KERNEL + PAGE, KERNEL + 5 * PAGE};
    struct weir_kcore_segment segment;
    GElf_Phdr header = {.p_type = PT_LOAD, .p_flags = PF_X, .p_offset = 512, .p_vaddr = KERNEL, .p_filesz = 3 * PAGE};
    cr_assert(weir_kcore_segment_of(&header, &range, &segment));
    cr_expect_eq(segment.address, KERNEL + PAGE);
    cr_expect_eq(segment.bytes, 2 * PAGE);
    cr_expect_eq(segment.offset, 512 + PAGE);
    header.p_vaddr = DIRECT_MAP;
    cr_expect_not(weir_kcore_segment_of(&header, &range, &segment));
    header.p_vaddr = KERNEL + 2 * PAGE; /* its start is elsewhere */
    cr_expect_not(weir_kcore_segment_of(&header, &range, &segment));
    header.p_vaddr = KERNEL;
    header.p_offset = UINT64_MAX;
    cr_expect_not(weir_kcore_segment_of(&header, &range, &segment));
}
