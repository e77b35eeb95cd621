/*
 * Outputs on the file systems that weir meets, by every way of writing: the same bytes everywhere.
 *
 * File systems are made in image files and mounted through a loop device, in a mount namespace of the test.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io/output_internal.h"
#include "tests/format/temp_tree.h"
#include "tests/io/file_run.h"
#include "tests/io/refuse_call.h"

#define IMAGE_BYTES       (320ll << 20) /* the least that mkfs.xfs takes is 300 MiB; a sparse file */
#define SMALL_IMAGE_BYTES (16ll << 20)  /* less than a run writes */
#define RING_BYTES        (256u << 10)  /* a ring fits, the buffers do not */
#define UNUSED_USERS      1000000000    /* no account is numbered from here on */

static struct temp_tree tree; /* each test is a process of its own */

static void set_up(void)
{
    temp_tree_init(&tree);
}

static void tear_down(void)
{
    temp_tree_fini(&tree);
}

TestSuite(output_real, .init = set_up, .fini = tear_down, .timeout = 100);

static const char *path_in(const char *relative)
{
    static char path[PATH_MAX];
    temp_tree_path(&tree, relative, path);
    return path;
}

/* ---- notices ---- */

struct notices {
    unsigned count;
    char last[256];
};

static void take_notice(void *ctx, enum weir_notice_level level, const char *line)
{
    (void)level;
    struct notices *notices = ctx;
    notices->count++;
    snprintf(notices->last, sizeof(notices->last), "%s", line);
}

/* ---- runs ---- */

static void expect_all(const struct file_run_result *result)
{
    cr_assert_eq(result->error, 0, "%s: %d", result->how, result->error);
    cr_assert_eq(result->finish, 0, "%s: %d", result->how, result->finish);
    cr_assert_eq(result->whole, FILE_RUN_SPANS, "%s", result->how);
}

/* All ways of writing, below relative folder. Returns how the first of them, that by default, wrote. */
static struct file_run_result run_all_ways(const char *folder)
{
    static const struct file_run_options ways[] = {
        {.engine = WEIR_OUTPUT_AUTO},
        {.engine = WEIR_OUTPUT_AUTO, .pressed_at_times = true},
        {.engine = WEIR_OUTPUT_AUTO, .direct = WEIR_OUTPUT_DIRECT_OFF},
        {.engine = WEIR_OUTPUT_WRITEV},
        {.engine = WEIR_OUTPUT_WRITEV, .direct = WEIR_OUTPUT_DIRECT_OFF},
    };
    struct file_run_result first = {0};
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        char name[64];
        format_text(name, sizeof(name), "%s/way-%zu", folder, i);
        struct file_run_result result = file_run(path_in(name), &ways[i]);
        expect_all(&result);
        if (ways[i].direct == WEIR_OUTPUT_DIRECT_OFF)
            cr_assert_eq(result.stats.direct_bytes + result.stats.padding_bytes, 0);
        if (i == 0)
            first = result;
    }
    return first;
}

/* ---- file systems ---- */

static bool has_command(const char *name)
{
    char command[128];
    format_text(command, sizeof(command), "command -v %s >/dev/null", name);
    return system(command) == 0;
}

/* A mount namespace of our own: what is mounted goes with the process, however that ends. */
static void enter_namespace(void)
{
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        cr_skip_test("needs the right to mount: %s", strerror(errno));
}

static void mount_tmpfs(const char *options)
{
    enter_namespace();
    temp_tree_make_folder(&tree, "mount");
    cr_assert_eq(mount("weir-test", path_in("mount"), "tmpfs", MS_NODEV, options), 0, "%s", strerror(errno));
}

/* Makes a file system of that type in an image of that size and mounts it at mount/. */
static void mount_image(const char *type, const char *mkfs_options, off_t image_bytes)
{
    char mkfs[32], command[2 * PATH_MAX + 128];
    format_text(mkfs, sizeof(mkfs), "mkfs.%s", type);
    if (!has_command(mkfs))
        cr_skip_test("needs %s", mkfs);
    enter_namespace();
    temp_tree_write(&tree, "image", "", 0);
    cr_assert_eq(truncate(path_in("image"), image_bytes), 0);
    temp_tree_make_folder(&tree, "mount");
    format_text(command, sizeof(command), "%s %s '%s/image' >'%s/log' 2>&1", mkfs, mkfs_options, tree.root, tree.root);
    cr_assert_eq(system(command), 0, "%s", command);
    format_text(command, sizeof(command), "mount -o loop '%s/image' '%s/mount' 2>'%s/log'", tree.root, tree.root,
                tree.root);
    if (system(command) != 0)
        cr_skip_test("needs a kernel with loop devices and %s", type);
}

static void unmount(void)
{
    cr_assert_eq(umount2(path_in("mount"), 0), 0, "%s", strerror(errno));
}

/* ---- refused ---- */

Test(output_real, read_only_file_system_is_refused)
{
    mount_tmpfs("size=1m");
    cr_assert_eq(mount(NULL, path_in("mount"), NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL), 0);
    struct weir_output *output;
    struct weir_error err;
    struct weir_output_options options = {.engine = WEIR_OUTPUT_AUTO};
    cr_assert_eq(weir_output_open(&output, path_in("mount/file"), &options, &err), -EROFS);
    unmount();
}

Test(output_real, io_uring_that_must_be_and_is_refused_fails_with_a_hint)
{
    refuse_call(SYS_io_uring_setup, EPERM);
    struct weir_output *output = NULL;
    struct weir_error err;
    struct weir_output_options options = {.engine = WEIR_OUTPUT_URING};
    cr_assert_eq(weir_output_open(&output, path_in("file"), &options, &err), -EPERM);
    cr_assert_null(output);
    cr_assert_str_eq(err.what, "cannot set up io_uring: Operation not permitted");
    cr_assert_str_eq(err.hint, "sudo sysctl kernel.io_uring_disabled=0, or start the container with --security-opt "
                               "seccomp=unconfined, or use plain writes");
}

static void expect_pwritev_with_one_notice(int error)
{
    refuse_call(SYS_io_uring_setup, error);
    struct notices notices = {0};
    struct weir_notice_sink sink = {.emit = take_notice, .ctx = &notices};
    struct file_run_result result = file_run(path_in("file"), &(struct file_run_options){.notices = &sink});
    expect_all(&result);
    cr_assert_eq(strncmp(result.how, "pwritev, ", 9), 0, "%s", result.how);
    cr_assert_eq(notices.count, 1);
    cr_assert_not_null(strstr(notices.last, strerror(error)), "%s", notices.last);
}

Test(output_real, io_uring_refused_by_policy_gives_the_same_bytes_by_pwritev)
{
    expect_pwritev_with_one_notice(EPERM);
}

Test(output_real, io_uring_unknown_to_the_kernel_gives_the_same_bytes_by_pwritev)
{
    expect_pwritev_with_one_notice(ENOSYS);
}

Test(output_real, io_uring_without_memory_gives_the_same_bytes_by_pwritev)
{
    expect_pwritev_with_one_notice(ENOMEM);
}

Test(output_real, io_uring_that_registers_nothing_gives_the_same_bytes)
{
    refuse_call(SYS_io_uring_register, ENOMEM);
    struct file_run_result result = file_run(path_in("file"), &(struct file_run_options){.engine = WEIR_OUTPUT_URING});
    expect_all(&result);
    cr_assert_null(strstr(result.how, "registered"), "%s", result.how);
}

/* Writes as a user that may lock so much memory. */
static struct file_run_result run_with_locked_memory(rlim_t bytes, const struct weir_notice_sink *notices)
{
    if (geteuid() != 0)
        cr_skip_test("needs root to become another user");
    cr_assert_eq(chmod(tree.root, 0777), 0);
    cr_assert_eq(setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){.rlim_cur = bytes, .rlim_max = bytes}), 0);
    /* Drops CAP_IPC_LOCK. The kernel counts locked memory by real user, over all programs (root's rings of perf events
     * among them), and gives that of a closed ring back only some time later: so a user of this process' own. */
    uid_t user = UNUSED_USERS + (uid_t)getpid();
    cr_assert_eq(setresuid(user, user, 0), 0);
    struct file_run_result result = file_run(path_in("file"), &(struct file_run_options){.notices = notices});
    cr_assert_eq(setresuid(0, 0, 0), 0);
    expect_all(&result);
    return result;
}

Test(output_real, user_who_may_lock_no_buffers_writes_unregistered_ones)
{
    struct notices notices = {0};
    struct weir_notice_sink sink = {.emit = take_notice, .ctx = &notices};
    struct file_run_result result = run_with_locked_memory(RING_BYTES, &sink);
    cr_assert_eq(strncmp(result.how, "io_uring, ", 10), 0, "%s: %s", result.how, notices.last);
    cr_assert_null(strstr(result.how, "registered"), "%s", result.how);
    cr_assert_eq(notices.count, 0, "%s", notices.last);
}

/* Since Linux 6.14 the rings themselves count. */
Test(output_real, user_who_may_lock_nothing_gets_the_same_bytes)
{
    struct notices notices = {0};
    struct weir_notice_sink sink = {.emit = take_notice, .ctx = &notices};
    struct file_run_result result = run_with_locked_memory(0, &sink);
    cr_assert_null(strstr(result.how, "registered"), "%s", result.how);
    bool pwritev = strncmp(result.how, "pwritev, ", 9) == 0;
    cr_assert_eq(notices.count, pwritev ? 1 : 0);
    cr_assert(!pwritev || strstr(notices.last, "sudo prlimit --pid $$ --memlock=unlimited"), "%s", notices.last);
}

Test(output_real, without_fallocate_the_same_bytes)
{
    refuse_call(SYS_fallocate, EOPNOTSUPP);
    struct file_run_result result = file_run(path_in("file"), &(struct file_run_options){0});
    expect_all(&result);
}

Test(output_real, file_size_limit_keeps_what_fits)
{
    const struct rlimit limit = {.rlim_cur = 4 << 20, .rlim_max = 4 << 20};
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    struct file_run_result result = file_run(path_in("file"), &(struct file_run_options){0});
    cr_assert_eq(result.error, -EFBIG);
    cr_assert_leq(result.file_bytes, limit.rlim_cur);
    /* The span that did not fit is a slot at most. */
    cr_assert_gt(result.file_bytes + (256 << 10) + FILE_RUN_TAIL_BYTES, limit.rlim_cur);
}

static void expect_full(enum weir_output_engine engine)
{
    mount_tmpfs("size=256k");
    struct file_run_result result = file_run(path_in("mount/file"), &(struct file_run_options){.engine = engine});
    cr_assert_eq(result.error, -ENOSPC);
    cr_assert_eq(result.finish, 0); /* what the failed write had taken is given back to the tail */
    cr_assert_leq(result.file_bytes + FILE_RUN_TAIL_BYTES, 256 << 10);
    unmount();
}

Test(output_real, full_tmpfs_keeps_what_fits_by_io_uring)
{
    expect_full(WEIR_OUTPUT_AUTO);
}

Test(output_real, full_tmpfs_keeps_what_fits_by_pwritev)
{
    expect_full(WEIR_OUTPUT_WRITEV);
}

static void expect_full_ext4(const struct file_run_options *options)
{
    mount_image("ext4", "-F -q -m 0", SMALL_IMAGE_BYTES);
    struct statvfs space;
    cr_assert_eq(statvfs(path_in("mount"), &space), 0);
    uint64_t free_bytes = (uint64_t)space.f_bfree * space.f_frsize;
    struct file_run_result result = file_run(path_in("mount/file"), options);
    cr_assert_eq(result.error, -ENOSPC);
    cr_assert_eq(result.finish, 0, "%d", result.finish);
    /* But for the span that did not fit, a slot at most, and what the file system needs for itself. */
    cr_assert_leq(result.file_bytes, free_bytes);
    cr_assert_gt(result.file_bytes + (512 << 10), free_bytes, "%ju of %ju", (uintmax_t)result.file_bytes,
                 (uintmax_t)free_bytes);
    unmount();
}

Test(output_real, full_ext4_keeps_what_fits_direct)
{
    expect_full_ext4(&(struct file_run_options){.engine = WEIR_OUTPUT_AUTO});
}

Test(output_real, full_ext4_keeps_what_fits_buffered)
{
    expect_full_ext4(&(struct file_run_options){.direct = WEIR_OUTPUT_DIRECT_OFF});
}

Test(output_real, full_ext4_keeps_what_fits_by_pwritev)
{
    expect_full_ext4(&(struct file_run_options){.engine = WEIR_OUTPUT_WRITEV});
}

/* ---- set aside ---- */

#define SET_ASIDE_BYTES (64u << 10)

/* Leaves not one block. */
static void fill_file_system(void)
{
    static char block[4096];
    int fd = open(path_in("mount/ballast"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    off_t end = 0;
    cr_assert_geq(fd, 0);
    for (off_t step = 256 << 20; step >= (off_t)sizeof(block); step /= 2) {
        while (fallocate(fd, 0, end, step) == 0)
            end += step;
    }
    while (pwrite(fd, block, sizeof(block), end) == (ssize_t)sizeof(block))
        end += (off_t)sizeof(block);
    cr_assert_eq(errno, ENOSPC, "%s", strerror(errno));
    close(fd);
}

/* What finish() says of a file of one span when its file system is full: the tail is longer than a block. */
static int finish_on_full(uint64_t bytes, uint64_t set_aside)
{
    static _Alignas(4096) uint8_t head[4096], span[8192], tail[FILE_RUN_TAIL_BYTES];
    const struct weir_output_options options = {.direct = WEIR_OUTPUT_DIRECT_OFF};
    struct weir_output *output;
    struct weir_output_done done;
    struct weir_error err;
    struct stat st;
    memset(tail, 'a', sizeof(tail));
    cr_assert_eq(weir_output_open(&output, path_in("mount/file"), &options, &err), 0, "%s", err.what);
    cr_assert_eq(weir_output_write_head(output, head, sizeof(head)), 0);
    cr_assert_eq(weir_output_set_aside(output, bytes, bytes), set_aside);
    weir_output_append(output, span, sizeof(span), -1, false, NULL);
    weir_output_push_tail(output);
    while (weir_output_reap(output, &done, 1, 1000) == 0)
        ;
    cr_assert_eq(weir_output_sync(output), 0);
    fill_file_system();
    int result = weir_output_finish(output, tail, sizeof(tail));
    cr_assert_eq(fstat(output->file.fd, &st), 0);
    cr_assert_eq(st.st_size, (off_t)(sizeof(head) + sizeof(span) + (result == 0 ? sizeof(tail) : 0)));
    weir_output_close(output);
    cr_assert_eq(unlink(path_in("mount/ballast")), 0);
    return result;
}

static void expect_room_that_was_set_aside(void)
{
    cr_expect_eq(finish_on_full(SET_ASIDE_BYTES + 1, SET_ASIDE_BYTES), 0);
    cr_expect_eq(finish_on_full(0, 0), -ENOSPC);
    unmount();
}

Test(output_real, end_of_a_file_has_what_was_set_aside_on_tmpfs)
{
    mount_tmpfs("size=4m");
    expect_room_that_was_set_aside();
}

Test(output_real, end_of_a_file_has_what_was_set_aside_on_ext4)
{
    mount_image("ext4", "-F -q -m 0", SMALL_IMAGE_BYTES);
    expect_room_that_was_set_aside();
}

Test(output_real, end_of_a_file_has_what_was_set_aside_on_xfs)
{
    mount_image("xfs", "-f -q", IMAGE_BYTES);
    expect_room_that_was_set_aside();
}

Test(output_real, a_sixteenth_of_what_is_free_is_set_aside_at_most_and_given_back)
{
    struct statvfs before, during, after;
    struct weir_output *output;
    struct weir_error err;
    mount_tmpfs("size=1m");
    cr_assert_eq(weir_output_open(&output, path_in("mount/file"), &(struct weir_output_options){0}, &err), 0);
    statvfs(path_in("mount"), &before);
    cr_expect_eq(weir_output_set_aside(output, 1 << 20, 1 << 12), 1 << 16);
    statvfs(path_in("mount"), &during);
    cr_expect_eq((before.f_bfree - during.f_bfree) * before.f_frsize, 1 << 16);
    cr_assert_eq(weir_output_finish(output, NULL, 0), 0);
    statvfs(path_in("mount"), &after);
    cr_expect_eq(after.f_bfree, before.f_bfree);
    weir_output_close(output);
    unmount();
}

Test(output_real, nothing_is_set_aside_where_nothing_can_be_allocated)
{
    struct weir_output *output;
    struct weir_error err;
    refuse_call(SYS_fallocate, EOPNOTSUPP);
    cr_assert_eq(weir_output_open(&output, path_in("file"), &(struct weir_output_options){0}, &err), 0);
    cr_expect_eq(weir_output_set_aside(output, SET_ASIDE_BYTES, 0), 0);
    weir_output_close(output);
    cr_assert_eq(weir_output_open(&output, "/dev/null", &(struct weir_output_options){0}, &err), 0);
    cr_expect_eq(weir_output_set_aside(output, SET_ASIDE_BYTES, 0), 0);
    weir_output_close(output);
}

/* ---- file systems ---- */

Test(output_real, temporary_folder)
{
    struct file_run_result result = run_all_ways(".");
    cr_assert_eq(result.stats.written_bytes, result.stats.appended_bytes + result.stats.padding_bytes);
}

Test(output_real, tmpfs_is_written_without_o_direct)
{
    mount_tmpfs("size=256m");
    struct file_run_result result = run_all_ways("mount");
    cr_assert_eq(result.stats.direct_bytes, 0);
    unmount();
}

static void expect_direct(const char *type, const char *mkfs_options)
{
    mount_image(type, mkfs_options, IMAGE_BYTES);
    struct file_run_result result = run_all_ways("mount");
    /* All large spans but those from the loose slot; how much is staged hangs on the moment. */
    cr_assert_gt(result.stats.direct_bytes, result.stats.buffered_bytes, "%s: %s", type, result.how);
    unmount();
}

Test(output_real, ext4)
{
    expect_direct("ext4", "-F -q");
}

Test(output_real, ext4_without_extents_or_journal)
{
    expect_direct("ext4", "-F -q -O ^extents,^64bit,^has_journal");
}

Test(output_real, xfs)
{
    expect_direct("xfs", "-f -q");
}

Test(output_real, btrfs)
{
    expect_direct("btrfs", "-f -q");
}
