/* Which configuration files are read, in which order, and whose: on folders of the test's own. */
#include "cli/config_files.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "tests/format/temp_tree.h"

#define NOBODY 65534

static struct temp_tree tree;
static struct weir_config_set set;
static struct weir_config_places places;
static struct weir_error err;
static char paths[8][PATH_MAX];
static size_t path_count;
static char warning[WEIR_ERROR_TEXT_BYTES];
static unsigned warning_count;

static void keep_warning(void *ctx, enum weir_notice_level level, const char *line)
{
    (void)ctx;
    cr_expect_eq(level, WEIR_NOTICE_WARNING);
    snprintf(warning, sizeof(warning), "%s", line);
    warning_count++;
}

static const struct weir_notice_sink sink = {.emit = keep_warning};

static void init(void)
{
    temp_tree_init(&tree);
}

static void fini(void)
{
    weir_config_set_fini(&set);
    temp_tree_fini(&tree);
}

TestSuite(config_files, .init = init, .fini = fini);

static const char *path_of(const char *relative)
{
    cr_assert_lt(path_count, 8);
    temp_tree_path(&tree, relative, paths[path_count]);
    return paths[path_count++];
}

static int load(void)
{
    weir_config_set_fini(&set);
    return weir_config_set_load(&set, &places, &sink, &err);
}

/* Every place has a file, whose freq says which it is. */
static void write_all(void)
{
    temp_tree_write_text(&tree, "etc/weir/config", "[record]\nfreq = 1\n");
    temp_tree_write_text(&tree, "etc/perfconfig", "[record]\nbuild-id = skip\n");
    temp_tree_write_text(&tree, "home/.perfconfig", "[record]\nbuild-id = mmap\n");
    temp_tree_write_text(&tree, "home/.config/weir/config", "[record]\nfreq = 2\n");
    temp_tree_write_text(&tree, "xdg/weir/config", "[record]\nfreq = 3\n");
    temp_tree_write_text(&tree, "mine", "[record]\nfreq = 4\n");
    places = (struct weir_config_places){.home = path_of("home"),
                                         .system_file = path_of("etc/weir/config"),
                                         .perf_system_file = path_of("etc/perfconfig")};
}

static void expect_weir(const char *first, const char *second)
{
    cr_assert_eq(load(), 0, "%s", err.what);
    cr_assert_eq(set.weir.count, (size_t)(first != NULL) + (second != NULL));
    if (first)
        cr_expect_str_eq(set.weir.entries[0].value, first);
    if (second)
        cr_expect_str_eq(set.weir.entries[1].value, second);
}

Test(config_files, file_that_weir_config_names_must_be_there)
{
    places.weir_config = path_of("nowhere");
    cr_expect_eq(load(), -ENOENT);
    cr_expect_str_eq(err.hint, "WEIR_CONFIG names this file; WEIR_CONFIG=/dev/null means no file");
}

Test(config_files, folder_that_weir_config_names_is_no_file)
{
    write_all();
    places.weir_config = path_of("etc");
    cr_expect_eq(load(), -EISDIR);
}

Test(config_files, variable_that_is_empty_is_not_set)
{
    static const char *const names[] = {"WEIR_CONFIG", "PERF_CONFIG", "XDG_CONFIG_HOME", "HOME"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(names); i++)
        cr_assert_eq(setenv(names[i], "", 1), 0);
    weir_config_places_init(&places);
    cr_expect_null(places.weir_config);
    cr_expect_null(places.perf_config);
    cr_expect_null(places.xdg_config_home);
    cr_expect_null(places.home);
    cr_assert_eq(setenv("WEIR_CONFIG", "x", 1), 0);
    weir_config_places_init(&places);
    cr_expect_str_eq(places.weir_config, "x");
}

Test(config_files, folder_that_is_relative_is_not_one_of_ours)
{
    write_all();
    cr_assert_eq(chdir(path_of("")), 0);
    places.xdg_config_home = "xdg";
    expect_weir("1", "2");
    places.home = "home";
    expect_weir("1", NULL);
    cr_expect_eq(set.perf.count, 1);
}

Test(config_files, mistake_in_a_file_of_weir_is_an_error)
{
    write_all();
    temp_tree_write_text(&tree, "home/.config/weir/config", "[record]\n\n?\n");
    cr_expect_eq(load(), -EINVAL);
    cr_expect_not_null(strstr(err.what, "home/.config/weir/config:3: bad key name"));
}

Test(config_files, mistake_in_a_file_of_perf_is_a_warning)
{
    write_all();
    temp_tree_write_text(&tree, "home/.perfconfig", "[record]\n?\n");
    cr_expect_eq(load(), 0);
    cr_expect_eq(warning_count, 1);
    cr_expect_not_null(strstr(warning, "home/.perfconfig:2: bad key name; ignoring the file"));
    cr_expect_eq(set.perf.count, 1);
    cr_expect_eq(set.weir.count, 2);
}

Test(config_files, file_of_another_user_is_left_out_with_a_warning)
{
    if (geteuid() != 0)
        cr_skip_test("needs root: a file of another user");
    write_all();
    cr_assert_eq(chown(path_of("home/.config/weir/config"), NOBODY, NOBODY), 0);
    expect_weir("1", NULL);
    cr_expect_eq(warning_count, 1);
    cr_expect_not_null(strstr(warning, "home/.config/weir/config not owned by current user or root, ignoring it"));
}

Test(config_files, file_that_is_too_large_is_refused)
{
    static char blanks[(1 << 20) + 4096];
    memset(blanks, ' ', sizeof(blanks));
    temp_tree_write(&tree, "mine", blanks, sizeof(blanks));
    places.weir_config = path_of("mine");
    cr_expect_eq(load(), -EFBIG);
}

Test(config_files, nothing_there_is_nothing_read)
{
    cr_expect_eq(load(), 0);
    places.home = path_of("home");
    places.system_file = path_of("etc/weir/config");
    cr_expect_eq(load(), 0);
    cr_expect_eq(set.perf.count + set.weir.count + warning_count, 0);
}

Test(config_files, users_file_comes_behind_the_systems)
{
    write_all();
    expect_weir("1", "2");
    cr_expect_eq(set.perf.count, 2);
    cr_expect_str_eq(set.perf.entries[0].value, "skip");
    cr_expect_str_eq(set.perf.entries[1].value, "mmap");
}

Test(config_files, xdg_config_home_stands_for_the_folder_config)
{
    write_all();
    places.xdg_config_home = path_of("xdg");
    expect_weir("1", "3");
    places.xdg_config_home = "";
    expect_weir("1", "2");
}

Test(config_files, weir_config_is_the_only_file)
{
    write_all();
    places.weir_config = path_of("mine");
    expect_weir("4", NULL);
    cr_expect_eq(set.perf.count, 0);
    places.weir_config = "/dev/null";
    expect_weir(NULL, NULL);
    cr_expect_eq(set.perf.count + warning_count, 0);
}

Test(config_files, perf_config_stands_for_both_files_of_perf)
{
    write_all();
    places.perf_config = path_of("home/.perfconfig");
    expect_weir("1", "2");
    cr_expect_eq(set.perf.count, 1);
    places.perf_config = "/dev/null";
    expect_weir("1", "2");
    cr_expect_eq(set.perf.count, 0);
}

/* A file of this name in the folder that weir runs in is nobody's. */
Test(config_files, current_folder_is_not_looked_at)
{
    temp_tree_write_text(&tree, "perfconfig", "[record]\nbuild-id = skip\n");
    temp_tree_write_text(&tree, ".perfconfig", "[record]\nbuild-id = skip\n");
    temp_tree_write_text(&tree, "weir/config", "[record]\nfreq = 1\n");
    temp_tree_write_text(&tree, ".config/weir/config", "[record]\nfreq = 1\n");
    cr_assert_eq(chdir(tree.root), 0);
    places = (struct weir_config_places){.home = "", .xdg_config_home = ""};
    cr_expect_eq(load(), 0);
    cr_expect_eq(set.perf.count + set.weir.count, 0);
    cr_assert_eq(chdir("/"), 0);
}
