/* Reading recorded /proc and /sys trees: what is not told is no error, a failed read leaves values alone. */
#include "topology/sysroot.h"

#include "tests/topology/fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct fixture fixture;
static struct weir_sysroot root;

static void setup(void)
{
    fixture_init(&fixture);
    weir_sysroot_init(&root, fixture.path);
}

static void teardown(void)
{
    weir_sysroot_fini(&root);
    fixture_fini(&fixture);
}

TestSuite(sysroot, .init = setup, .fini = teardown);

Test(sysroot, missing_file_is_not_told)
{
    int64_t number = 7;
    struct weir_cpuset set = WEIR_CPUSET_INIT;
    cr_expect_null(weir_sysroot_read(&root, "sys/none"));
    cr_expect_not(weir_sysroot_read_number(&root, 10, &number, "sys/none"));
    cr_expect_not(weir_sysroot_read_list(&root, &set, "sys/none"));
    cr_expect_null(weir_sysroot_opendir(&root, "sys/none"));
    char *copy = weir_sysroot_read_copy(&root, "sys/none");
    cr_expect_str_eq(copy, "");
    cr_expect_eq(number, 7);
    cr_expect_null(set.words);
    cr_expect_eq(root.error, 0);
    free(copy);
}

Test(sysroot, folder_in_the_place_of_a_file_is_not_told)
{
    fixture_mkdir(&fixture, "sys/folder");
    cr_expect_null(weir_sysroot_read(&root, "sys/folder"));
    cr_expect_eq(root.error, 0);
}

Test(sysroot, path_that_is_too_long_is_not_told)
{
    char name[PATH_MAX];
    memset(name, 'a', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    cr_expect_null(weir_sysroot_read(&root, "%s", name));
    cr_expect_null(weir_sysroot_opendir(&root, "%s", name));

    struct weir_sysroot deep;
    weir_sysroot_init(&deep, name);
    cr_expect_null(weir_sysroot_read(&deep, "file"));
    weir_sysroot_fini(&deep);
}

Test(sysroot, text_that_is_no_number_leaves_the_value)
{
    static const char *const texts[] = {"", "\n", "x", "12x", "1 2", "99999999999999999999"};
    int64_t number = 7;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        fixture_write(&fixture, texts[i], "number%zu", i);
        cr_expect_not(weir_sysroot_read_number(&root, 10, &number, "number%zu", i), "'%s'", texts[i]);
    }
    cr_expect_eq(number, 7);
}

Test(sysroot, text_that_is_no_list_leaves_the_set)
{
    struct weir_cpuset set = WEIR_CPUSET_INIT;
    cr_assert_eq(weir_cpuset_add(&set, 3), 0);
    fixture_write(&fixture, "0-x\n", "list");
    cr_expect_not(weir_sysroot_read_list(&root, &set, "list"));
    cr_expect_eq(weir_cpuset_count(&set), 1);
    cr_expect_eq(root.error, 0);
    weir_cpuset_fini(&set);
}

Test(sysroot, failed_root_tells_nothing_more)
{
    fixture_write(&fixture, "1\n", "file");
    root.error = -12;
    cr_expect_null(weir_sysroot_read(&root, "file"));
    cr_expect_null(weir_sysroot_opendir(&root, "."));
    cr_expect_null(weir_sysroot_copy(&root, "a", 1));
    cr_expect_null(weir_sysroot_alloc(&root, 1, 1));
}

Test(sysroot, text_is_given_without_white_space_at_its_end)
{
    fixture_write(&fixture, " a b \n\n", "text%d", 5);
    cr_expect_str_eq(weir_sysroot_read(&root, "text%d", 5), " a b");
}

Test(sysroot, numbers_are_read_in_the_base_asked_for)
{
    int64_t number = 0;
    fixture_write(&fixture, "8000000\n", "size");
    fixture_write(&fixture, "-1\n", "negative");
    cr_expect(weir_sysroot_read_number(&root, 16, &number, "size"));
    cr_expect_eq(number, 0x8000000);
    cr_expect(weir_sysroot_read_number(&root, 10, &number, "negative"));
    cr_expect_eq(number, -1);
}

Test(sysroot, file_beyond_the_bound_is_cut)
{
    char *long_text = malloc(WEIR_SYSROOT_FILE_BYTES + 100);
    cr_assert_not_null(long_text);
    memset(long_text, 'x', WEIR_SYSROOT_FILE_BYTES + 99);
    long_text[WEIR_SYSROOT_FILE_BYTES + 99] = '\0';
    fixture_write(&fixture, long_text, "long");
    cr_expect_eq(strlen(weir_sysroot_read(&root, "long")), WEIR_SYSROOT_FILE_BYTES);
    free(long_text);
}

Test(sysroot, only_the_empty_path_is_this_machine)
{
    struct weir_sysroot here;
    weir_sysroot_init(&here, "");
    cr_expect(weir_sysroot_is_this_machine(&here));
    cr_expect_not(weir_sysroot_is_this_machine(&root));
    cr_expect_not_null(weir_sysroot_read(&here, "proc/self/comm"));
    weir_sysroot_fini(&here);
}
