/*
 * Debug files: this very program, stripped, and what was taken out of it in a file of its own, in each place where it
 * may lie. Functions are those of the whole program, wherever their names came from.
 */
#include "format/debug_file.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "format/build_id.h"
#include "format/functions.h"
#include "tests/format/run_tool.h"
#include "tests/format/temp_tree.h"

static struct temp_tree tree;

static void run(const char *program, const char *a, const char *b, const char *c)
{
    struct tool_run tool;
    tool_run(&tool, &tree, (const char *const[]){program, a, b, c, NULL});
    cr_assert_eq(tool.status, 0, "%s %s %s: %s", program, a, b, tool.err);
    tool_run_fini(&tool);
}

static const char *place(const char *relative)
{
    static char paths[4][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % WEIR_ARRAY_COUNT(paths)];
    temp_tree_path(&tree, relative, path);
    return path;
}

/* whole: this program; app: without names; app.debug: with nothing else. */
static void init(void)
{
    char self[PATH_MAX] = "", option[2 * PATH_MAX];
    tool_need("objcopy", "binutils");
    temp_tree_init(&tree);
    cr_assert_gt(readlink("/proc/self/exe", self, sizeof(self) - 1), 0);
    temp_tree_make_folder(&tree, "app");
    run("objcopy", self, place("app/whole"), NULL);
    run("objcopy", "--only-keep-debug", place("app/whole"), place("app/app.debug"));
    run("objcopy", "--strip-all", place("app/whole"), place("app/app"));
    format_text(option, sizeof(option), "--add-gnu-debuglink=%s", place("app/app.debug"));
    run("objcopy", option, place("app/app"), NULL);
}

static void fini(void)
{
    temp_tree_fini(&tree);
}

TestSuite(debug_file, .init = init, .fini = fini, .timeout = 60);

/* As init() does it, of a program without a build id: then the checksum decides. */
static void forget_build_ids(void)
{
    char option[2 * PATH_MAX];
    run("objcopy", "--remove-section=.note.gnu.build-id", place("app/whole"), NULL);
    run("objcopy", "--only-keep-debug", place("app/whole"), place("app/app.debug"));
    run("objcopy", "--strip-all", place("app/whole"), place("app/app"));
    format_text(option, sizeof(option), "--add-gnu-debuglink=%s", place("app/app.debug"));
    run("objcopy", option, place("app/app"), NULL);
}

static void move_debug_file(const char *folder, const char *relative)
{
    if (folder)
        temp_tree_make_folder(&tree, folder);
    cr_assert_eq(rename(place("app/app.debug"), place(relative)), 0);
}

/* -ENOENT, or 0 when what was opened is the file of that name. */
static int find(const char *wanted)
{
    struct stat found, there;
    int program = open(place("app/app"), O_RDONLY | O_CLOEXEC);
    int fd = weir_debug_file_open(program, place("app/app"), place("root"));
    close(program);
    if (fd < 0)
        return fd;
    cr_assert(fstat(fd, &found) == 0 && stat(place(wanted), &there) == 0);
    cr_expect(found.st_ino == there.st_ino, "it is not %s", wanted);
    close(fd);
    return 0;
}

static struct weir_functions functions_of(const char *relative, bool with_path)
{
    struct weir_functions functions = WEIR_FUNCTIONS_INIT;
    int fd = open(place(relative), O_RDONLY | O_CLOEXEC);
    cr_assert_eq(weir_functions_of_file(&functions, fd, with_path ? place(relative) : NULL, place("root")), 0);
    close(fd);
    return functions;
}

static bool has_function(const struct weir_functions *functions, const char *name)
{
    for (size_t i = 0; i < functions->count; i++) {
        if (strcmp(weir_function_name(functions, i), name) == 0)
            return true;
    }
    return false;
}

/* Where each function of the whole program is, and no other. */
static __attribute__((noinline)) void expect_all_functions(void)
{
    struct weir_functions whole = functions_of("app/whole", false), found = functions_of("app/app", true);
    cr_expect_eq(found.count, whole.count);
    for (size_t i = 0; i < whole.count && i < found.count; i++) {
        cr_assert_eq(found.items[i].start, whole.items[i].start, "%s", weir_function_name(&whole, i));
        cr_assert_eq(found.items[i].bytes, whole.items[i].bytes, "%s", weir_function_name(&whole, i));
        cr_assert_str_eq(weir_function_name(&found, i), weir_function_name(&whole, i));
    }
    cr_expect(has_function(&found, "expect_all_functions"));
    weir_functions_fini(&whole);
    weir_functions_fini(&found);
}

/* ---- what is not the debug file ---- */

Test(debug_file, there_may_be_none)
{
    cr_assert_eq(unlink(place("app/app.debug")), 0);
    cr_expect_eq(find(NULL), -ENOENT);
}

Test(debug_file, file_of_another_build_is_passed_over)
{
    temp_tree_write_text(&tree, "app/app.debug", "no ELF file");
    cr_expect_eq(find(NULL), -ENOENT);
    run("objcopy", "--remove-section=.note.gnu.build-id", place("app/whole"), place("app/app.debug"));
    cr_expect_eq(find(NULL), -ENOENT, "it has no build id");
}

Test(debug_file, file_with_another_checksum_is_passed_over)
{
    forget_build_ids();
    cr_expect_eq(find("app/app.debug"), 0);
    FILE *file = fopen(place("app/app.debug"), "ae");
    cr_assert(file && fputc('x', file) == 'x' && fclose(file) == 0);
    cr_expect_eq(find(NULL), -ENOENT);
}

Test(debug_file, file_is_not_its_own_debug_file)
{
    cr_assert_eq(unlink(place("app/app.debug")), 0);
    cr_assert_eq(link(place("app/app"), place("app/app.debug")), 0);
    cr_expect_eq(find(NULL), -ENOENT);
}

Test(debug_file, link_names_no_path)
{
    static const char *const names[] = {"", "..", "../app/app.debug", "/etc/passwd"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(names); i++) {
        char content[64] = "", option[2 * PATH_MAX];
        size_t bytes = weir_align_up(strlen(names[i]) + 1, 4) + 4;
        snprintf(content, sizeof(content), "%s", names[i]);
        temp_tree_write(&tree, "link", content, bytes);
        format_text(option, sizeof(option), "--update-section=.gnu_debuglink=%s", place("link"));
        run("objcopy", option, place("app/app"), NULL);
        cr_expect_eq(find(NULL), -ENOENT, "'%s'", names[i]);
    }
}

Test(debug_file, text_has_none)
{
    temp_tree_write_text(&tree, "app/app", "no ELF file");
    cr_expect_eq(find(NULL), -ENOENT);
}

/* ---- where it may lie ---- */

Test(debug_file, beside_the_program)
{
    cr_expect_eq(find("app/app.debug"), 0);
    expect_all_functions();
}

Test(debug_file, in_a_hidden_folder_beside_it)
{
    move_debug_file("app/.debug", "app/.debug/app.debug");
    cr_expect_eq(find("app/.debug/app.debug"), 0);
    expect_all_functions();
}

Test(debug_file, below_the_root_of_debug_files)
{
    char folder[PATH_MAX], relative[2 * PATH_MAX];
    format_text(folder, sizeof(folder), "root%s/app", tree.root);
    format_text(relative, sizeof(relative), "%s/app.debug", folder);
    run("mkdir", "-p", place(folder), NULL);
    move_debug_file(NULL, relative);
    cr_expect_eq(find(relative), 0);
    expect_all_functions();
}

Test(debug_file, by_its_build_id_before_all_others)
{
    struct weir_build_id id;
    char folder[PATH_MAX], relative[PATH_MAX], hex[2 * WEIR_BUILD_ID_MAX_BYTES + 1] = "";
    int fd = open(place("app/app"), O_RDONLY | O_CLOEXEC);
    cr_assert_eq(weir_build_id_of_file(fd, &id), 0, "the linker of this program gave it no build id");
    close(fd);
    for (unsigned i = 0; i < id.bytes; i++)
        snprintf(hex + 2 * i, 3, "%02x", id.data[i]);
    temp_tree_make_folder(&tree, "root");
    temp_tree_make_folder(&tree, "root/.build-id");
    format_text(folder, sizeof(folder), "root/.build-id/%.2s", hex);
    format_text(relative, sizeof(relative), "%s/%s.debug", folder, hex + 2);
    temp_tree_make_folder(&tree, folder);
    run("objcopy", "--only-keep-debug", place("app/whole"), place(relative));
    cr_expect_eq(find(relative), 0);
    expect_all_functions();
}

Test(debug_file, by_its_checksum_without_a_build_id)
{
    forget_build_ids();
    cr_expect_eq(find("app/app.debug"), 0);
    expect_all_functions();
}
