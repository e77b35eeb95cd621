/*
 * Address filters: what is refused, and what the kernel is told of functions in a file (this test itself) and in a
 * kernel that the test made up.
 */
#include "engine/events/address_filter.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "tests/base/failing_alloc.h"
#include "tests/format/run_tool.h"
#include "tests/format/temp_tree.h"

#define MAX 4

/* Functions to be found. Not called, so that they are not inlined, and kept. */
__attribute__((used, noinline)) int address_filter_global(void);
int address_filter_global(void)
{
    return 1;
}

static __attribute__((used, noinline)) int address_filter_local(void)
{
    return 2;
}

static struct weir_error err;
static struct weir_buf out;

static const char kallsyms[] = "ffffffff81000000 T _text\n"
                               "ffffffff81000000 T _stext\n"
                               "ffffffff81000100 T first\n"
                               "ffffffff81000180 d data_between\n"
                               "ffffffff81000200 t twice\n"
                               "ffffffff81000240 t other\n"
                               "ffffffff81000280 T twice\n"
                               "ffffffff810002c0 W last\n"
                               "bogus\n";

/* With a kernel of these symbols. */
static int resolve_with(const char *symbols, const char *text, unsigned max)
{
    struct temp_tree tree;
    temp_tree_init(&tree);
    temp_tree_write_text(&tree, "kallsyms", symbols);
    weir_buf_fini(&out);
    memset(&err, 0, sizeof(err));
    int result = weir_address_filter_resolve(&out, text, max, tree.root, &err);
    temp_tree_fini(&tree);
    return result;
}

static int resolve(const char *text)
{
    return resolve_with(kallsyms, text, MAX);
}

static void fini(void)
{
    weir_buf_fini(&out);
}

TestSuite(address_filter, .fini = fini);

#define GRAMMAR "filter|start|stop|tracestop FUNCTION|ADDRESS [/ FUNCTION|SIZE] [@FILE], with blanks around functions"

static const struct {
    const char *text, *what, *hint;
} refusals[] = {
    {"", "address filter '': expected filter, start, stop or tracestop at column 1", GRAMMAR},
    {"filtre first", "address filter 'filtre first': expected filter, start, stop or tracestop at column 1", GRAMMAR},
    {"filter", "address filter 'filter': expected a function or an address at column 7", GRAMMAR},
    {"filter first /", "address filter 'filter first /': expected a function or a size at column 15", GRAMMAR},
    {"filter first #x", "address filter 'filter first #x': expected the number of a function, or g at column 15",
     GRAMMAR},
    {"filter 0x1 @", "address filter 'filter 0x1 @': expected the name of a file at column 13", GRAMMAR},
    {"filter 12ab", "address filter 'filter 12ab': expected a number of 64 bits at column 8", GRAMMAR},
    {"filter 0x10000000000000000",
     "address filter 'filter 0x10000000000000000': expected a number of 64 bits at column 8", GRAMMAR},
    {"filter first stop", "address filter 'filter first stop': expected a function or an address at column 18",
     GRAMMAR},
    {"filter frist", "address filter 'filter frist': there is no function 'frist' in the kernel",
     "did you mean 'first'?"},
    {"filter data_between", "address filter 'filter data_between': there is no function 'data_between' in the kernel",
     "nm, or /proc/kallsyms, lists the functions; a stripped file has only those that it exports"},
    {"start other #g", "address filter 'start other #g': there is no global function 'other' in the kernel",
     "leave out the # behind it for the only one, or try another number"},
    {"start other #2", "address filter 'start other #2': there is no function 'other' of that number in the kernel",
     "leave out the # behind it for the only one, or try another number"},
    {"filter twice", "address filter 'filter twice': there are 2 functions 'twice' in the kernel",
     "'twice #2' chooses one, 'twice #g' the global one: #1 is at 0xffffffff81000200 (l), #2 is at 0xffffffff81000280 "
     "(g)"},
    {"filter last", "address filter 'filter last': the size of function 'last' is unknown",
     "it is the last function there: give its size as a number, FUNCTION / SIZE"},
    {"filter other / first", "address filter 'filter other / first': function 'first' lies before the start",
     "the start is 0xffffffff81000240, the function at 0xffffffff81000100"},
    {"start 1 start 2 start 3 start 4 start 5",
     "address filter 'start 1 start 2 start 3 start 4 start 5': 4 filters are the most for this event",
     "its PMU has registers for that many (nr_addr_filters)"},
    {"filter main @/etc/passwd", "address filter 'filter main @/etc/passwd': /etc/passwd has no names of functions",
     "the file is stripped and has no debug file, or is no program: give an address in it instead"},
    {"filter main @/no/such", "address filter 'filter main @/no/such': cannot read /no/such: No such file or directory",
     "the name of a file ends at a blank or comma"},
};

Test(address_filter, what_cannot_be_understood_or_found_is_refused)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(refusals); i++) {
        cr_expect_lt(resolve(refusals[i].text), 0, "%s", refusals[i].text);
        cr_expect_str_eq(err.what, refusals[i].what, "%s", err.what);
        cr_expect_str_eq(err.hint, refusals[i].hint, "%s", err.hint);
        cr_expect_eq(out.used, 0);
    }
}

Test(address_filter, hidden_kernel_is_refused_with_the_knob)
{
    cr_expect_eq(resolve_with("0000000000000000 T _text\n0000000000000000 T first\n", "filter first", MAX), -EACCES);
    cr_expect_str_eq(err.what,
                     "address filter 'filter first': cannot read the functions of the kernel: Permission denied");
    cr_expect_str_eq(err.hint, "kernel.kptr_restrict hides the kernel's addresses: run as root, after sudo sysctl "
                               "kernel.kptr_restrict=0; or give the file of the functions: @FILE");
}

Test(address_filter, failing_allocation_leaves_what_was)
{
    for (unsigned failures = 0; failures < 200; failures++) {
        struct temp_tree tree;
        temp_tree_init(&tree);
        temp_tree_write_text(&tree, "kallsyms", kallsyms);
        struct weir_buf text = WEIR_BUF_INIT;
        weir_buf_printf(&text, "start 0x1,");
        failing_alloc_after(failures);
        int result = weir_address_filter_resolve(&text, "filter first", MAX, tree.root, &err);
        failing_alloc_never();
        temp_tree_fini(&tree);
        if (result == 0) {
            cr_expect_gt(failures, 0);
            weir_buf_fini(&text);
            return;
        }
        cr_expect_eq(result, -ENOMEM);
        cr_expect_eq(text.used, strlen("start 0x1,"));
        weir_buf_fini(&text);
    }
    cr_assert_fail("every allocation failed");
}

static const struct {
    const char *text, *kernel;
} filters[] = {
    {"filter 0x10/0x20", "filter 0x10/0x20"},
    {"filter 0x10", "filter 0x10/0x0"},
    {" start 16 , stop 020", "start 0x10,stop 0x10"},
    {"tracestop 0x10/1", "stop 0x10/0x1"},
    {"start 0x10/1", "start 0x10/0x1"},
    {"filter first", "filter 0xffffffff81000100/0x80"},
    {"start first", "start 0xffffffff81000100"},
    {"start first / 64", "start 0xffffffff81000100/0x40"},
    {"filter first / other", "filter 0xffffffff81000100/0x180"},
    {"filter 0xffffffff81000100/ other", "filter 0xffffffff81000100/0x180"},
    {"filter twice #1", "filter 0xffffffff81000200/0x40"},
    {"filter twice #2", "filter 0xffffffff81000280/0x40"},
    {"filter twice #g", "filter 0xffffffff81000280/0x40"},
    {"filter last / 8", "filter 0xffffffff810002c0/0x8"},
    {"stop last", "stop 0xffffffff810002c0"},
    {"filter *", "filter 0xffffffff81000000/0x2000"},
};

Test(address_filter, functions_of_the_kernel_become_addresses)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(filters); i++) {
        cr_expect_eq(resolve(filters[i].text), 0, "%s: %s", filters[i].text, err.what);
        cr_expect_str_eq(weir_buf_str(&out), filters[i].kernel, "%s: %s", filters[i].text, weir_buf_str(&out));
    }
}

/* The offset in its file of what is mapped here. */
static uint64_t file_offset_of(uintptr_t address)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    cr_assert_not_null(maps);
    uint64_t start, end, offset, found = 0;
    char line[PATH_MAX];
    while (fgets(line, sizeof(line), maps)) {
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &end, &offset) == 3 && address >= start &&
            address < end)
            found = address - start + offset;
    }
    fclose(maps);
    return found;
}

Test(address_filter, functions_of_a_file_become_offsets_in_it)
{
    char self[PATH_MAX] = "", text[2 * PATH_MAX], wanted[2 * PATH_MAX];
    cr_assert_gt(readlink("/proc/self/exe", self, sizeof(self) - 1), 0);
    uint64_t global = file_offset_of((uintptr_t)address_filter_global);
    uint64_t local = file_offset_of((uintptr_t)address_filter_local);

    cr_assert_eq(resolve("start address_filter_global @/proc/self/exe, stop address_filter_local @ /proc/self/exe"), 0,
                 "%s", err.what);
    format_text(wanted, sizeof(wanted), "start 0x%" PRIx64 "@%s,stop 0x%" PRIx64 "@%s", global, self, local, self);
    cr_expect_str_eq(weir_buf_str(&out), wanted, "%s", weir_buf_str(&out));

    format_text(text, sizeof(text), "filter address_filter_global #g / 7 @%s", self);
    format_text(wanted, sizeof(wanted), "filter 0x%" PRIx64 "/0x7@%s", global, self);
    cr_assert_eq(resolve(text), 0, "%s", err.what);
    cr_expect_str_eq(weir_buf_str(&out), wanted, "%s", weir_buf_str(&out));

    cr_assert_eq(resolve("filter address_filter_globl @/proc/self/exe"), -EINVAL);
    cr_expect_str_eq(err.hint, "did you mean 'address_filter_global'?");
}

/* What strip(1) took out is beside it. */
Test(address_filter, functions_of_a_stripped_file_are_those_of_its_debug_file)
{
    struct temp_tree tree;
    char text[2 * PATH_MAX], wanted[2 * PATH_MAX];
    tool_need("objcopy", "binutils");
    temp_tree_init(&tree);
    struct tool_run run;
    format_text(text, sizeof(text),
                "cd '%s' && objcopy --only-keep-debug \"$1\" app.debug && objcopy --strip-all \"$1\" app && "
                "objcopy --add-gnu-debuglink=app.debug app",
                tree.root);
    char self[PATH_MAX] = "";
    cr_assert_gt(readlink("/proc/self/exe", self, sizeof(self) - 1), 0);
    tool_run(&run, &tree, (const char *const[]){"sh", "-c", text, "sh", self, NULL});
    cr_assert_eq(run.status, 0, "%s", run.err);
    tool_run_fini(&run);

    uint64_t local = file_offset_of((uintptr_t)address_filter_local);
    format_text(text, sizeof(text), "filter address_filter_local / 7 @%s/app", tree.root);
    format_text(wanted, sizeof(wanted), "filter 0x%" PRIx64 "/0x7@%s/app", local, tree.root);
    cr_assert_eq(resolve(text), 0, "%s", err.what);
    cr_expect_str_eq(weir_buf_str(&out), wanted, "%s", weir_buf_str(&out));
    temp_tree_fini(&tree);
}

Test(address_filter, star_is_the_whole_file)
{
    struct temp_tree tree;
    temp_tree_init(&tree);
    temp_tree_write_text(&tree, "file", "123456789");
    char text[PATH_MAX + 64], wanted[PATH_MAX + 64];
    format_text(text, sizeof(text), "filter * @%s/file", tree.root);
    format_text(wanted, sizeof(wanted), "filter 0x0/0x9@%s/file", tree.root);
    cr_assert_eq(resolve(text), 0, "%s", err.what);
    cr_expect_str_eq(weir_buf_str(&out), wanted);
    temp_tree_fini(&tree);
}
