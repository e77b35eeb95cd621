/* What a recovery does to files: the input stays, an output is never overwritten, in place is asked for. */
#include "engine/upkeep/recover.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/records.h"
#include "io/output.h"
#include "tests/base/swapper.h"
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

/* What a recording holds is its owner's alone, and so is what is made of it. */
static void expect_private(const char *path, mode_t mode)
{
    struct stat status;
    cr_assert_eq(stat(path, &status), 0);
    cr_expect_eq(status.st_mode, mode, "%o", (unsigned)status.st_mode);
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
    expect_private(output, S_IFREG | 0600);
    memcpy(input, output, sizeof(input));
    cr_assert_eq(run(NULL), 0, "%s", err.what);
    cr_expect(recovery.is_whole, "what was recovered is not whole");
}

Test(recover, in_place_the_file_becomes_whole)
{
    cr_assert_eq(run(NULL), 0, "%s", err.what);
    cr_expect_eq(recovery.dropped_bytes, 10000);
    cr_expect(recovery.dropped_is_blank);
    cr_expect_not(holds_image(input));
    cr_assert_eq(run(NULL), 0, "%s", err.what);
    cr_expect(recovery.is_whole);
    cr_expect_eq(recovery.records, 8);
}

/* Nothing is written over its head, which is no file's. A new file is one. */
Test(recover, stream_that_was_saved_is_cut_in_place_and_becomes_a_file_beside)
{
    static const struct sample_recording_options options = {.features = true, .stream = true};
    weir_buf_reset(&image);
    sample_recording_build(&image, &tree, &options);
    size_t whole = image.used;
    weir_record_finished_round(&image);
    image.used--;
    temp_tree_write(&tree, "perf.data", image.data, image.used);
    cr_assert_eq(run(output), 0, "%s", err.what);
    cr_expect_eq(recovery.dropped_bytes, image.used - whole);
    cr_expect_not(recovery.dropped_is_blank);
    uint64_t samples = recovery.samples;
    cr_expect(holds_image(input));
    expect_private(output, S_IFREG | 0600);
    cr_assert_eq(run(NULL), 0, "%s", err.what);
    cr_expect_eq(recovery.dropped_bytes, image.used - whole);
    image.used = whole;
    cr_expect(holds_image(input));
    memcpy(input, output, sizeof(input));
    cr_assert_eq(run(NULL), 0, "%s", err.what);
    cr_expect(recovery.is_whole && !recovery.is_stream, "what was made is no whole file");
    cr_expect_eq(recovery.samples, samples);
}

/* ---- recorders ---- */

/* Another process that has locked the file as its output. It ends with the test. */
static pid_t start_recorder(const char *path)
{
    int ends[2];
    char ready = 0;
    cr_assert_eq(pipe(ends), 0);
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int fd = open(path, O_RDWR | O_CLOEXEC);
        ready = fd >= 0 && weir_output_file_lock(fd) == 0;
        if (write(ends[1], &ready, 1) == 1)
            pause();
        _exit(0);
    }
    cr_assert_eq(read(ends[0], &ready, 1), 1);
    cr_assert(ready);
    return child;
}

static void end_recorder(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

Test(recover, file_that_is_still_recorded_is_not_changed_in_place)
{
    pid_t recorder = start_recorder(input);
    cr_expect_eq(run(NULL), -EBUSY, "%s", err.what);
    cr_expect(strstr(err.what, "is being written by another recorder"), "%s", err.what);
    cr_expect(holds_image(input));
    cr_expect_eq(run(output), 0, "%s", err.what); /* a copy is no harm */
    end_recorder(recorder);
    cr_expect_eq(run(NULL), 0, "%s", err.what);
}

/* ---- directories ---- */

#define ROUND_BYTES 8u

/* The recording as DIR/data, with data.0 of two records, the second one cut, and data.1 of one. */
static void make_directory(void)
{
    struct weir_buf part = WEIR_BUF_INIT;
    weir_record_finished_round(&part);
    weir_record_finished_round(&part);
    temp_tree_write(&tree, "dir/data", image.data, image.used);
    temp_tree_write(&tree, "dir/data.0", part.data, part.used - 1);
    temp_tree_write(&tree, "dir/data.1", part.data, ROUND_BYTES);
    temp_tree_write_text(&tree, "dir/kcore_dir/kallsyms", "symbols");
    temp_tree_write_text(&tree, "dir/kcore_dir/modules", "");
    temp_tree_write_text(&tree, "dir/kcore_dir/kcore", "code");
    weir_buf_fini(&part);
    temp_tree_path(&tree, "dir", input);
}

static off_t size_of(const char *folder, const char *name)
{
    char path[PATH_MAX];
    struct stat status;
    cr_assert_lt(snprintf(path, sizeof(path), "%s/%s", folder, name), PATH_MAX);
    return stat(path, &status) < 0 ? -1 : status.st_size;
}

Test(recover, existing_directory_is_not_written_to)
{
    make_directory();
    cr_assert_eq(mkdir(output, 0700), 0);
    cr_expect_eq(run(output), -EEXIST);
    cr_expect_eq(rmdir(output), 0, "something is in it");
}

Test(recover, directory_that_cannot_be_copied_leaves_none)
{
    make_directory();
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){.rlim_cur = ROUND_BYTES, .rlim_max = ROUND_BYTES}), 0);
    signal(SIGXFSZ, SIG_IGN);
    cr_expect_eq(run(output), -EFBIG); /* of data; its parts fit */
    cr_expect_eq(access(output, F_OK), -1);
}

Test(recover, file_that_cannot_be_copied_leaves_none)
{
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){.rlim_cur = ROUND_BYTES, .rlim_max = ROUND_BYTES}), 0);
    signal(SIGXFSZ, SIG_IGN);
    cr_expect_eq(run(output), -EFBIG);
    cr_expect_eq(access(output, F_OK), -1);
}

Test(recover, files_of_a_directory_end_with_their_last_whole_record)
{
    make_directory();
    cr_assert_eq(run(output), 0, "%s", err.what);
    expect_private(output, S_IFDIR | 0700);
    cr_expect_eq(recovery.records, 8 + 2);
    cr_expect_eq(recovery.part_count, 2);
    cr_expect_eq(recovery.parts[0].dropped_bytes, ROUND_BYTES - 1);
    cr_expect_eq(recovery.parts[1].dropped_bytes, 0);
    cr_expect_eq(size_of(output, "data.0"), ROUND_BYTES);
    cr_expect_eq(size_of(output, "data.1"), ROUND_BYTES);
    cr_expect_eq(size_of(input, "data.0"), 2 * ROUND_BYTES - 1);
    cr_expect_eq(size_of(input, "data"), (off_t)image.used);
    memcpy(input, output, sizeof(input));
    cr_assert_eq(run(NULL), 0, "%s", err.what);
    cr_expect(recovery.is_whole, "what was recovered is not whole");
}

Test(recover, copy_of_the_kernel_goes_along_with_its_holes)
{
    struct stat status;
    char path[PATH_MAX];
    make_directory();
    temp_tree_path(&tree, "dir/kcore_dir/kcore", path);
    cr_assert_eq(truncate(path, 1 << 24), 0);
    cr_assert_eq(run(output), 0, "%s", err.what);
    cr_expect_eq(size_of(output, "kcore_dir/kallsyms"), 7);
    cr_expect_eq(size_of(output, "kcore_dir/modules"), 0);
    temp_tree_path(&tree, "out/kcore_dir/kcore", path);
    cr_assert_eq(stat(path, &status), 0);
    cr_expect_eq(status.st_size, 1 << 24);
    cr_expect_eq(status.st_mode & 07777, 0400);
    cr_expect_lt(status.st_blocks, 1 << 12, "it has no hole");
    struct weir_buf bytes = WEIR_BUF_INIT;
    cr_assert_eq(weir_buf_append_file(&bytes, path), 0);
    cr_expect_eq(memcmp(bytes.data, "code", sizeof("code")), 0);
    weir_buf_fini(&bytes);
}

Test(recover, directory_that_is_still_recorded_is_not_changed_in_place)
{
    char path[PATH_MAX];
    make_directory();
    temp_tree_path(&tree, "dir/data", path);
    pid_t recorder = start_recorder(path);
    cr_expect_eq(run(NULL), -EBUSY, "%s", err.what);
    cr_expect_eq(size_of(input, "data.0"), 2 * ROUND_BYTES - 1);
    cr_expect(holds_image(path));
    end_recorder(recorder);
}

/* A file of whoever recovers, which is no recording and stays what it is. */
static void expect_victim(const char *path)
{
    struct weir_buf bytes = WEIR_BUF_INIT;
    cr_assert_eq(weir_buf_append_file(&bytes, path), 0);
    cr_expect(bytes.used == 6 && memcmp(bytes.data, "victim", 6) == 0);
    weir_buf_fini(&bytes);
}

Test(recover, in_place_nothing_is_written_through_links_in_a_directory)
{
    char path[PATH_MAX], victim[PATH_MAX];
    make_directory();
    temp_tree_write_text(&tree, "victim", "victim");
    temp_tree_path(&tree, "victim", victim);
    temp_tree_path(&tree, "dir/data.2", path);
    for (int hard = 0; hard <= 1; hard++) {
        cr_assert_eq(hard ? link(victim, path) : symlink(victim, path), 0);
        cr_expect_eq(run(NULL), hard ? -EINVAL : -ELOOP, "%s", err.what);
        cr_expect(strstr(err.what, "data.2"), "%s", err.what);
        cr_expect(strstr(err.hint, hard ? "without --in-place a copy is made, and this stays as it is"
                                        : "links are not written through"),
                  "%s", err.hint);
        expect_victim(victim);
        cr_expect_eq(size_of(input, "data.0"), 2 * ROUND_BYTES - 1, "another file was cut before");
        unlink(path);
    }
}

Test(recover, in_place_a_link_to_a_file_is_refused_and_a_copy_of_it_is_not)
{
    char path[PATH_MAX];
    memcpy(path, input, sizeof(path));
    temp_tree_path(&tree, "link", input);
    for (int hard = 0; hard <= 1; hard++) {
        cr_assert_eq(hard ? link(path, input) : symlink(path, input), 0);
        cr_expect_eq(run(NULL), hard ? -EINVAL : -ELOOP, "%s", err.what);
        cr_expect(holds_image(path));
        cr_expect_eq(run(output), 0, "%s", err.what);
        cr_expect_eq(unlink(output), 0);
        unlink(input);
    }
}

Test(recover, in_place_the_files_of_a_directory_are_cut)
{
    make_directory();
    cr_assert_eq(run(NULL), 0, "%s", err.what);
    cr_expect_eq(size_of(input, "data.0"), ROUND_BYTES);
    cr_assert_eq(run(NULL), 0, "%s", err.what);
    cr_expect(recovery.is_whole);
    cr_expect_eq(recovery.records, 8 + 2);
}

/* ---- a hostile owner of the directory ---- */

/* A directory with a recording that could be recovered, too. */
static void make_victim(void)
{
    char planted[PATH_MAX];
    temp_tree_write(&tree, "victim/data", image.data, image.used);
    temp_tree_write_text(&tree, "victim/data.0", "victim");
    temp_tree_path(&tree, "planted", planted);
    cr_assert_eq(symlink("victim", planted), 0);
}

static void expect_victim_directory(void)
{
    char path[PATH_MAX];
    temp_tree_path(&tree, "victim/data.0", path);
    expect_victim(path);
    temp_tree_path(&tree, "victim/data", path);
    cr_assert(holds_image(path));
    temp_tree_path(&tree, "victim", path);
    cr_assert_eq(size_of(path, "data.1"), -1);
    cr_assert_eq(size_of(path, "kcore_dir"), -1);
}

/* Runs the recovery again and again, each time with an exchange of the name and a link to the victim one call later.
 * Most calls describe the machine: the attack begins so many calls before the end. */
static void attack(const char *name, const char *output_path, unsigned last)
{
    char root[PATH_MAX];
    temp_tree_path(&tree, "", root);
    int root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    swapper_arm(root_fd, "none", "neither", UINT_MAX, SWAPPER_STAYS);
    cr_assert_eq(run(output_path), 0, "%s", err.what);
    swapper_disarm();
    unsigned first = swapper_calls() > last ? swapper_calls() - last : 0;
    make_victim();
    for (unsigned call = output_path ? first : 0, reached = 1; reached > 0; call++) {
        reached = 0;
        for (enum swapper_way way = 0; way < SWAPPER_WAYS; way++) {
            if (output_path)
                temp_tree_remove(&tree, name);
            else
                make_directory();
            swapper_arm(root_fd, name, "planted", call, way);
            run(output_path);
            reached += swapper_disarm();
            expect_victim_directory();
        }
        if (!output_path && call == 3 && first > call)
            call = first; /* between, the machine is described */
    }
    close(root_fd);
}

Test(recover, directory_of_the_output_that_is_exchanged_leads_nowhere_else, .timeout = 120)
{
    make_directory();
    attack("out", output, 30);
}

Test(recover, directory_that_is_exchanged_is_not_recovered_in_place_elsewhere, .timeout = 120)
{
    make_directory();
    attack("dir", NULL, 12);
}

/* ---- another file gets the name in the middle of a recovery ---- */

static void read_file(struct weir_buf *bytes, const char *name)
{
    char path[PATH_MAX];
    temp_tree_path(&tree, name, path);
    weir_buf_reset(bytes);
    cr_assert_eq(weir_buf_append_file(bytes, path), 0);
}

static bool is_same(const struct weir_buf *a, const struct weir_buf *b)
{
    return a->used == b->used && memcmp(a->data, b->data, a->used) == 0;
}

/* Two files of which each is as it was or as its own recovery makes it, whichever has the name at which call. */
Test(recover, file_that_is_exchanged_is_not_recovered_by_the_plan_of_another, .timeout = 120)
{
    static const char *const names[] = {"perf.data", "other"};
    struct weir_buf damaged[2] = {WEIR_BUF_INIT, WEIR_BUF_INIT}, whole[2] = {WEIR_BUF_INIT, WEIR_BUF_INIT};
    struct weir_buf now = WEIR_BUF_INIT;
    char root[PATH_MAX];
    temp_tree_path(&tree, "", root);
    int root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    weir_buf_append(&damaged[0], image.data, image.used);
    weir_buf_append(&damaged[1], image.data, image.used - 10000);
    weir_record_finished_round(&damaged[1]);
    weir_buf_append_zeros(&damaged[1], 300);
    for (size_t i = 0; i < 2; i++) {
        temp_tree_write(&tree, "perf.data", damaged[i].data, damaged[i].used);
        cr_assert_eq(run(NULL), 0, "%s", err.what);
        read_file(&whole[i], "perf.data");
    }
    unsigned refused = 0;
    for (unsigned call = 0, reached = 1; reached > 0; call++) {
        for (size_t i = 0; i < 2; i++)
            temp_tree_write(&tree, names[i], damaged[i].data, damaged[i].used);
        swapper_arm(root_fd, "perf.data", "other", call, SWAPPER_STAYS);
        refused += run(NULL) == -ESTALE;
        reached = swapper_disarm();
        for (size_t i = 0; i < 2; i++) {
            read_file(&now, names[i]);
            cr_assert(is_same(&now, &damaged[i]) || is_same(&now, &whole[i]), "%s at call %u", names[i], call);
        }
    }
    cr_assert_geq(refused, 1);
    close(root_fd);
    weir_buf_fini(&now);
    for (size_t i = 0; i < 2; i++) {
        weir_buf_fini(&damaged[i]);
        weir_buf_fini(&whole[i]);
    }
}
