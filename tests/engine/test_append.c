/* Files that are to be continued: damaged ones, ones of other kinds, and what is taken from a whole one. */
#include "engine/files/append.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "tests/format/sample_recording.h"

#define HEAD_END 4096u

static struct temp_tree tree;
static struct weir_buf image;
static char path[PATH_MAX];

static void make_recording(void)
{
    temp_tree_init(&tree);
    temp_tree_path(&tree, "it", path);
    sample_recording_build(&image, &tree, &(struct sample_recording_options){.tracepoint = true, .features = true});
    temp_tree_write(&tree, "it", image.data, image.used);
}

static void remove_recording(void)
{
    weir_buf_fini(&image);
    temp_tree_fini(&tree);
}

TestSuite(append, .init = make_recording, .fini = remove_recording);

static void expect_refused(int code, const char *what)
{
    struct weir_append *append = NULL;
    struct weir_error err = {0};
    int result = weir_append_open(&append, path, &err);
    cr_assert_lt(result, 0);
    if (code != 0)
        cr_assert_eq(result, code, "%d: %s", result, err.what);
    cr_assert(strstr(err.what, what), "%s", err.what);
    cr_assert_null(append);
}

static struct weir_append *open_it(void)
{
    struct weir_append *append = NULL;
    struct weir_error err = {0};
    cr_assert_eq(weir_append_open(&append, path, &err), 0, "%s", err.what);
    cr_assert_not_null(append);
    return append;
}

Test(append, cut_at_any_byte_is_refused)
{
    for (size_t at = image.used - 1; at > 0; at -= at > HEAD_END && at < image.used - 200 ? weir_min_u64(61, at) : 1) {
        cr_assert_eq(truncate(path, (off_t)at), 0);
        expect_refused(0, "");
    }
}

Test(append, records_that_are_none_are_refused)
{
    uint16_t size = 4;
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    cr_assert_eq(pwrite(fd, &size, sizeof(size), HEAD_END + 6), (ssize_t)sizeof(size));
    close(fd);
    expect_refused(-EBADMSG, "0x1000");
}

Test(append, stream_and_unfinished_file_are_refused)
{
    weir_buf_reset(&image);
    sample_recording_build(&image, &tree, &(struct sample_recording_options){.stream = true});
    temp_tree_write(&tree, "it", image.data, image.used);
    expect_refused(-ENOTSUP, "it is a stream that was saved");
    cr_assert_eq(truncate(path, 0), 0);
    temp_tree_write_text(&tree, "it",
                         "no recording, but longer than its header would be ................................");
    expect_refused(-EBADMSG, "not a perf.data file");
}

Test(append, directory_is_refused)
{
    temp_tree_path(&tree, ".", path);
    expect_refused(-ENOTSUP, "it is a directory");
}

Test(append, nothing_is_continued_where_nothing_is)
{
    struct weir_append *append = (void *)path;
    struct weir_error err = {0};
    cr_assert_eq(truncate(path, 0), 0);
    cr_assert_eq(weir_append_open(&append, path, &err), 0);
    cr_assert_null(append);
    temp_tree_path(&tree, "not-there", path);
    cr_assert_eq(weir_append_open(&append, path, &err), 0);
    cr_assert_null(append);
}

Test(append, other_events_are_incompatible)
{
    struct weir_append *append = open_it();
    struct weir_error err = {0};
    struct weir_event_desc events[3] = {{.name = "a"}, {.name = "b"}, {.name = "c"}};
    for (size_t i = 0; i < 2; i++)
        events[i].attr = append->input.events.list[i].attr;
    cr_assert_eq(weir_append_check_events(append, events, 1, &err), -EINVAL);
    cr_assert_eq(weir_append_check_events(append, events, 3, &err), -EINVAL);
    cr_assert(strstr(err.what, "incompatible append"), "%s", err.what);
    events[1].attr.sample_period++;
    cr_assert_eq(weir_append_check_events(append, events, 2, &err), -EINVAL);
    cr_assert(strstr(err.what, "and of this recording 'b'"), "%s", err.what);
    events[1].name = append->input.events.list[1].name;
    cr_assert_eq(weir_append_check_events(append, events, 2, &err), -EINVAL);
    cr_assert(strstr(err.what, "with other options"), "%s", err.what);
    events[1].attr.sample_period--;
    events[1].attr.wakeup_watermark = 77;
    events[1].attr.watermark = 1;
    events[1].attr.disabled = 1;
    /* The same events; but this kernel's map is not in the file. */
    cr_assert_eq(weir_append_check_events(append, events, 2, &err), -ESTALE);
    cr_assert_str_eq(err.hint, "times and addresses of two boots do not fit into one recording: choose another file");
    weir_append_free(append);
}

/* Of user space alone, so that there is no kernel's map to compare. */
static int check_user_events(const struct weir_append *append, struct weir_error *err)
{
    struct weir_event_desc events[2] = {{.name = "a"}, {.name = "b"}};
    for (size_t i = 0; i < 2; i++) {
        append->input.events.list[i].attr.exclude_kernel = 1;
        events[i].attr = append->input.events.list[i].attr;
    }
    return weir_append_check_events(append, events, 2, err);
}

Test(append, file_of_another_boot_is_refused_without_a_kernels_map)
{
    struct weir_append *append = open_it();
    struct weir_error err = {0};
    cr_assert_eq(check_user_events(append, &err), 0, "%s", err.what);
    append->last_sample_ns = UINT64_MAX;
    cr_assert_eq(check_user_events(append, &err), -ESTALE);
    cr_assert(strstr(err.what, "its newest sample is later than now"), "%s", err.what);
    append->last_sample_ns = 1;
    const struct timespec before_boot[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    cr_assert_eq(utimensat(AT_FDCWD, path, before_boot, 0), 0);
    cr_assert_eq(check_user_events(append, &err), -ESTALE);
    cr_assert(strstr(err.what, "it was last written before this machine was booted"), "%s", err.what);
    weir_append_free(append);
}

Test(append, times_and_ids_of_both_are_kept)
{
    struct weir_append *append = open_it();
    cr_assert_eq(append->first_sample_ns, 1000001000u);
    cr_assert_eq(append->last_sample_ns, 1000003000u);
    cr_assert_eq(weir_append_id_room(append), 2);
    struct weir_event_desc events[2] = {{.id_count = 1}, {.id_count = 0}};
    uint64_t *ids[2] = {calloc(1, sizeof(uint64_t)), calloc(1, sizeof(uint64_t))};
    cr_assert(ids[0] && ids[1]);
    ids[0][0] = 99;
    events[0].ids = ids[0];
    events[1].ids = ids[1];
    cr_assert_eq(weir_append_add_ids(append, events, ids, 2, 1), 0);
    cr_assert_eq(events[0].id_count, 3);
    cr_assert_eq(events[0].ids[0], 11);
    cr_assert_eq(events[0].ids[2], 99);
    cr_assert_eq(events[1].id_count, 2);
    cr_assert_eq(events[1].ids[1], 22);
    free(ids[0]);
    free(ids[1]);
    weir_append_free(append);
}

Test(append, build_ids_are_added_once)
{
    struct weir_append *append = open_it();
    struct weir_build_id_entry entries[2] = {{.name = "a", .id.bytes = 20}, {.name = "b", .id.bytes = 20}};
    cr_assert_eq(append->build_id_count, 0);
    cr_assert_eq(weir_append_add_build_ids(append, entries, 2), 0);
    entries[1].id.data[0] = 1; /* replaced since */
    cr_assert_eq(weir_append_add_build_ids(append, entries, 2), 0);
    cr_assert_eq(append->build_id_count, 3);
    weir_append_free(append);
}
