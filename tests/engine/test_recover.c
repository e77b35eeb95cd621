/* What a recovery does to files: the input stays, an output is never overwritten, in place is asked for. */
#include "engine/recover.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "tests/format/sample_recording.h"

static struct temp_tree tree;
static struct weir_buf image;
static char input[PATH_MAX], output[PATH_MAX];
static struct weir_recovery recovery;
static struct weir_error err;

/* A recording without tracepoints that was never finished. */
static void make_file(void)
{
    static const struct sample_recording_options options = {0};
    temp_tree_init(&tree);
    sample_recording_build(&image, &tree, &options);
    weir_buf_append_zeros(&image, 10000);
    temp_tree_write(&tree, "perf.data", image.data, image.used);
    temp_tree_path(&tree, "perf.data", input);
    temp_tree_path(&tree, "out", output);
}

static void remove_file(void)
{
    weir_recovery_fini(&recovery);
    weir_buf_fini(&image);
    temp_tree_fini(&tree);
}

TestSuite(recover, .init = make_file, .fini = remove_file);

static int run(const char *output_path)
{
    const struct weir_recover_options options = {.input_path = input, .output_path = output_path};
    weir_recovery_fini(&recovery);
    memset(&err, 0, sizeof(err));
    return weir_recover_run(&options, &recovery, &err);
}

static bool holds_image(const char *path)
{
    struct weir_buf bytes = WEIR_BUF_INIT;
    cr_assert_eq(weir_buf_append_file(&bytes, path), 0);
    bool is_same = bytes.used == image.used && memcmp(bytes.data, image.data, image.used) == 0;
    weir_buf_fini(&bytes);
    return is_same;
}

Test(recover, existing_output_is_not_overwritten)
{
    temp_tree_write(&tree, "out", image.data, image.used);
    cr_expect_eq(run(output), -EEXIST);
    cr_expect_neq(err.hint[0], '\0');
    cr_expect(holds_image(output));
}

Test(recover, input_that_is_none_makes_no_output)
{
    temp_tree_write(&tree, "perf.data", "no recording", 12);
    cr_expect_eq(run(output), -EBADMSG);
    struct weir_buf bytes = WEIR_BUF_INIT;
    cr_expect_eq(weir_buf_append_file(&bytes, output), -ENOENT);
    weir_buf_fini(&bytes);
}

Test(recover, input_stays_as_it_is)
{
    cr_assert_eq(run(output), 0, "%s", err.what);
    cr_expect(holds_image(input));
    cr_expect_eq(recovery.records, 8);
    cr_expect_not(recovery.is_whole);
    memcpy(input, output, sizeof(input));
    cr_assert_eq(run(NULL), 0, "%s", err.what);
    cr_expect(recovery.is_whole, "what was recovered is not whole");
}

Test(recover, in_place_the_file_becomes_whole)
{
    cr_assert_eq(run(NULL), 0, "%s", err.what);
    cr_expect_eq(recovery.dropped_bytes, 10000);
    cr_expect_not(holds_image(input));
    cr_assert_eq(run(NULL), 0, "%s", err.what);
    cr_expect(recovery.is_whole);
    cr_expect_eq(recovery.records, 8);
}
