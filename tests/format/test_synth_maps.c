/* MMAP2 records: from maps files that the test writes, and from this process's own, both ways that weir reads them. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "format/synth_internal.h"
#include "tests/format/synth_fixture.h"

#define PID          77
#define DATA_MISC    (PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_DATA)
#define TIMEOUT_MISC (PERF_RECORD_MISC_USER | PERF_RECORD_MISC_PROC_MAP_PARSE_TIMEOUT)
#define KEPT_NAME    (PATH_MAX - TRAILER_BYTES - 1) /* the longest name that a record takes */
#define PAGE         0x1000u

static struct synth_fixture fixture;

static void init(void)
{
    synth_fixture_init(&fixture);
}

static void fini(void)
{
    synth_fixture_fini(&fixture);
}

TestSuite(synth_maps, .init = init, .fini = fini);

/* One process with these maps; the records of its start go to expected. */
static void add_process(const char *maps, struct weir_buf *expected)
{
    synth_fixture_add(&fixture,
                      &(struct fixture_task){.pid = PID, .ppid = 1, .comm = "x", .vm_bytes = 1, .maps = maps});
    expect_fork(expected, PID, 1, PID, 1);
    expect_comm(expected, PID, PID, "x");
}

/* An executable private map of no file at start, one page long. */
static void expect_page(struct weir_buf *expected, uint64_t start, const char *name)
{
    struct expected_map map = {.pid = PID,
                               .start = start,
                               .end = start + PAGE,
                               .protection = PROT_READ | PROT_EXEC,
                               .flags = MAP_PRIVATE,
                               .misc = PERF_RECORD_MISC_USER,
                               .name = name};
    expect_mmap2(expected, &map);
}

static void expect_synth(struct weir_buf *expected, uint64_t maps)
{
    struct weir_synth_counts counts;
    cr_expect_eq(weir_synth_all_tasks(&fixture.options, &counts, NULL), 0);
    cr_expect_eq(counts.maps, maps);
    cr_expect_eq(counts.vanished, 0);
    expect_emitted(&fixture, expected);
}

Test(synth_maps, maps_that_are_gone_leave_the_task)
{
    struct weir_buf expected = WEIR_BUF_INIT;
    add_process(NULL, &expected);
    expect_synth(&expected, 0);
}

Test(synth_maps, maps_that_cannot_be_read_leave_the_task)
{
    struct weir_buf expected = WEIR_BUF_INIT;
    add_process(NULL, &expected);
    temp_tree_make_folder(&fixture.tree, "proc/77/maps"); /* opens, but read(2) fails */
    expect_synth(&expected, 0);
}

Test(synth_maps, malformed_lines_are_passed_over)
{
    struct weir_buf expected = WEIR_BUF_INIT;
    add_process("1000-2000 r-xp 00000000 00:00 0 one\n"
                "\n"
                "3000-2000 r-xp 00000000 00:00 0 backwards\n"
                "3000-4000 r-x 00000000 00:00 0 short\n"
                "garbage\n"
                "5000-6000 r-xp 00000000 00:00 0 two\n"
                "7000-8000 r-xp 00000000 00:00 0 three", /* without newline */
                &expected);
    expect_page(&expected, 0x1000, "one");
    expect_page(&expected, 0x5000, "two");
    expect_page(&expected, 0x7000, "three");
    expect_synth(&expected, 3);
}

Test(synth_maps, error_of_emit_in_the_middle_of_maps_is_returned)
{
    struct weir_buf maps = WEIR_BUF_INIT, expected = WEIR_BUF_INIT;
    for (unsigned i = 1; i <= 2000; i++)
        weir_buf_printf(&maps, "%x000-%x000 r-xp 00000000 00:00 0 name\n", 2 * i, 2 * i + 1);
    add_process(weir_buf_str(&maps), &expected);
    fixture.sink.fail_at = 1;
    fixture.sink.error = -ENOSPC;
    cr_expect_eq(weir_synth_all_tasks(&fixture.options, NULL, NULL), -ENOSPC);
    cr_expect_eq(fixture.sink.calls, 1);
    weir_buf_fini(&maps);
    weir_buf_fini(&expected);
}

Test(synth_maps, name_that_is_too_long_is_replaced)
{
    char name[KEPT_NAME + 2] = "/";
    memset(name + 1, 'n', sizeof(name) - 2);
    struct weir_buf maps = WEIR_BUF_INIT, expected = WEIR_BUF_INIT;
    weir_buf_printf(&maps, "1000-2000 r-xp 00000000 00:00 0 %s\n", name + 1);             /* fits */
    weir_buf_printf(&maps, "3000-4000 r-xp 00000000 00:00 0 %s\n", name);                 /* one byte too long */
    weir_buf_printf(&maps, "5000-6000 r-xp 00000000 00:00 0 %s%s%s\n", name, name, name); /* longer than the buffer */
    weir_buf_printf(&maps, "7000-8000 r-xp 00000000 00:00 0 last\n");
    add_process(weir_buf_str(&maps), &expected);
    weir_buf_fini(&maps);
    expect_page(&expected, 0x1000, name + 1);
    expect_page(&expected, 0x3000, "//toolong");
    expect_page(&expected, 0x5000, "//toolong");
    expect_page(&expected, 0x7000, "last");
    expect_synth(&expected, 4);
}

Test(synth_maps, every_field_is_recorded)
{
    struct weir_buf expected = WEIR_BUF_INIT;
    add_process("7f9ffb4d4000-7f9ffb5a7000 rwxs 0000a000 103:1f 18446744073709551615        /usr/lib/x.so\n",
                &expected);
    struct expected_map map = {.pid = PID,
                               .start = 0x7f9ffb4d4000,
                               .end = 0x7f9ffb5a7000,
                               .page_offset = 0xa000,
                               .inode = UINT64_MAX,
                               .major = 0x103,
                               .minor = 0x1f,
                               .protection = PROT_READ | PROT_WRITE | PROT_EXEC,
                               .flags = MAP_SHARED,
                               .misc = PERF_RECORD_MISC_USER,
                               .name = "/usr/lib/x.so"};
    expect_mmap2(&expected, &map);
    expect_synth(&expected, 1);
}

Test(synth_maps, names_are_those_of_maps)
{
    struct weir_buf expected = WEIR_BUF_INIT;
    add_process("1000-2000 r-xp 00000000 00:00 0 \n"
                "3000-4000 r-xp 00000000 00:00 0                          [heap]\n"
                "5000-6000 r-xp 00000000 00:00 0                          [vdso]\n"
                "7000-8000 r-xp 00000000 00:00 0                          [anon:jit code]\n"
                "9000-a000 r-xp 00000000 00:00 0                          /a b/(c) [d]\n"
                "b000-c000 r-xp 00000000 00:00 0                          /two\\012lines\n"
                "d000-e000 r-xp 00000000 00:00 0                          /usr/bin/gone (deleted)\n"
                "f000-10000 r-xp 00000000 00:00 0                         /memfd:jit (deleted)\n",
                &expected);
    expect_page(&expected, 0x1000, "//anon");
    expect_page(&expected, 0x3000, "[heap]");
    expect_page(&expected, 0x5000, "[vdso]");
    expect_page(&expected, 0x7000, "[anon:jit code]");
    expect_page(&expected, 0x9000, "/a b/(c) [d]");
    expect_page(&expected, 0xb000, "/two\\012lines");
    expect_page(&expected, 0xd000, "/usr/bin/gone (deleted)");
    expect_page(&expected, 0xf000, "/memfd:jit (deleted)");
    expect_synth(&expected, 8);
}

Test(synth_maps, files_of_hugetlbfs_are_anonymous_huge_pages)
{
    synth_fixture_write(&fixture, "mounts",
                        "proc /proc proc rw 0 0\n"
                        "malformed\n"
                        "hugetlbfs /dev/hugepages hugetlbfs rw,pagesize=2M 0 0\n"
                        "none /mnt/huge hugetlbfs rw,pagesize=1G 0 0\n"
                        "tmpfs /dev/shm tmpfs rw 0 0\n");
    struct weir_buf expected = WEIR_BUF_INIT;
    add_process("200000-400000 r-xp 00000000 00:0e 5 /dev/hugepages/jit\n"
                "40000000-80000000 rwxs 00000000 00:0f 6 /mnt/huge/a/b\n"
                "81000000-81001000 r-xp 00000000 00:00 0 /dev/hugepages2/x\n",
                &expected);
    struct expected_map map = {.pid = PID,
                               .start = 0x200000,
                               .end = 0x400000,
                               .inode = 5,
                               .minor = 0xe,
                               .protection = PROT_READ | PROT_EXEC,
                               .flags = MAP_PRIVATE | MAP_HUGETLB,
                               .misc = PERF_RECORD_MISC_USER,
                               .name = "//anon"};
    expect_mmap2(&expected, &map);
    map.start = 0x40000000;
    map.end = 0x80000000;
    map.inode = 6;
    map.minor = 0xf;
    map.protection = PROT_READ | PROT_WRITE | PROT_EXEC;
    map.flags = MAP_SHARED | MAP_HUGETLB;
    expect_mmap2(&expected, &map);
    expect_page(&expected, 0x81000000, "/dev/hugepages2/x");
    expect_synth(&expected, 3);
}

static const char data_maps[] = "1000-2000 r-xp 00000000 00:00 0 code\n"
                                "3000-4000 r--p 00000000 00:00 0 constants\n"
                                "5000-6000 rw-s 00000000 00:00 0 shared\n"
                                "7000-8000 ---p 00000000 00:00 0 guard\n"
                                "9000-a000 -w-p 00000000 00:00 0 unreadable\n"
                                "b000-c000 --xp 00000000 00:00 0 [vsyscall]\n";

static struct expected_map page_map(uint64_t start, uint32_t protection, uint32_t flags, uint16_t misc,
                                    const char *name)
{
    return (struct expected_map){.pid = PID,
                                 .start = start,
                                 .end = start + PAGE,
                                 .protection = protection,
                                 .flags = flags,
                                 .misc = misc,
                                 .name = name};
}

Test(synth_maps, only_executable_maps_are_kept)
{
    struct weir_buf expected = WEIR_BUF_INIT;
    add_process(data_maps, &expected);
    expect_page(&expected, 0x1000, "code");
    struct expected_map map = page_map(0xb000, PROT_EXEC, MAP_PRIVATE, PERF_RECORD_MISC_USER, "[vsyscall]");
    expect_mmap2(&expected, &map);
    expect_synth(&expected, 2);
}

Test(synth_maps, data_maps_adds_readable_maps_marked_as_data)
{
    struct weir_buf expected = WEIR_BUF_INIT;
    fixture.options.data_maps = true;
    add_process(data_maps, &expected);
    expect_page(&expected, 0x1000, "code");
    struct expected_map map = page_map(0x3000, PROT_READ, MAP_PRIVATE, DATA_MISC, "constants");
    expect_mmap2(&expected, &map);
    map = page_map(0x5000, PROT_READ | PROT_WRITE, MAP_SHARED, DATA_MISC, "shared");
    expect_mmap2(&expected, &map);
    map = page_map(0xb000, PROT_EXEC, MAP_PRIVATE, PERF_RECORD_MISC_USER, "[vsyscall]");
    expect_mmap2(&expected, &map);
    expect_synth(&expected, 4);
}

/* ---- time-out ---- */

static void sleep_ms(long ms)
{
    struct timespec pause = {.tv_nsec = ms * 1000000};
    nanosleep(&pause, NULL);
}

/* Writes the first line, waits until it has been read, lets time pass, and writes the rest. */
static void *write_slowly(void *arg)
{
    static const char first[] = "1000-2000 r-xp 00000000 00:00 0 one\n";
    static const char rest[] = "3000-4000 rw-p 00000000 00:00 0 two\n"
                               "5000-6000 r-xp 00000000 00:00 0 three\n";
    int fd = open(arg, O_WRONLY | O_CLOEXEC); /* waits for the reader's open(2) */
    int unread = 1;
    if (fd < 0 || write(fd, first, sizeof(first) - 1) < 0)
        return NULL;
    while (ioctl(fd, FIONREAD, &unread) == 0 && unread)
        sleep_ms(1);
    sleep_ms(20);
    return write(fd, rest, sizeof(rest) - 1) == sizeof(rest) - 1 && close(fd) == 0 ? arg : NULL;
}

Test(synth_maps, list_that_takes_too_long_ends_with_a_marked_map_and_one_notice)
{
    struct weir_buf expected = WEIR_BUF_INIT;
    char path[PATH_MAX];
    add_process(NULL, &expected);
    temp_tree_path(&fixture.tree, "proc/77/maps", path);
    cr_assert_eq(mkfifo(path, 0600), 0);
    fixture.options.map_timeout_ms = 10;
    pthread_t writer;
    cr_assert_eq(pthread_create(&writer, NULL, write_slowly, path), 0);

    struct weir_synth_counts counts;
    cr_expect_eq(weir_synth_all_tasks(&fixture.options, &counts, NULL), 0);
    void *written;
    cr_assert_eq(pthread_join(writer, &written), 0);
    cr_expect_eq(written, path);
    cr_expect_eq(counts.timed_out, 1);
    cr_expect_eq(counts.maps, 2);
    expect_page(&expected, 0x1000, "one");
    struct expected_map map = page_map(0x3000, PROT_READ | PROT_WRITE, MAP_PRIVATE, TIMEOUT_MISC, "two");
    expect_mmap2(&expected, &map);
    expect_emitted(&fixture, &expected);
    cr_expect_eq(fixture.sink.notices, 1);
    cr_expect_str_eq(fixture.sink.notice,
                     "reading the maps of 1 process (first: 77) took longer than 10 ms: some of their symbols will be "
                     "missing; raise --proc-map-timeout");
    cr_expect(pthread_equal(fixture.sink.notice_thread, pthread_self()));
}

/* ---- the two sources, on this process's own maps ---- */

static void map_file(int dir_fd, const char *name, int flags)
{
    int fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_CLOEXEC, 0700);
    cr_assert_geq(fd, 0);
    cr_assert_eq(ftruncate(fd, 2 * PAGE), 0);
    cr_assert_neq(mmap(NULL, PAGE, PROT_READ | PROT_EXEC, flags, fd, PAGE), MAP_FAILED);
    close(fd);
}

#define DEEP_FOLDERS 17 /* of 250 bytes each: more than PATH_MAX */

/* Maps a file whose path is longer than a record, or a query, takes. */
static void map_file_with_endless_path(int root_fd)
{
    char name[251];
    memset(name, 'd', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    int folders[DEEP_FOLDERS + 1] = {root_fd};
    for (int i = 0; i < DEEP_FOLDERS; i++) {
        cr_assert_eq(mkdirat(folders[i], name, 0700), 0);
        folders[i + 1] = openat(folders[i], name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        cr_assert_geq(folders[i + 1], 0);
    }
    map_file(folders[DEEP_FOLDERS], "x", MAP_PRIVATE);
    for (int i = 1; i <= DEEP_FOLDERS; i++)
        close(folders[i]);
}

static void remove_endless_path(int root_fd)
{
    char name[251];
    memset(name, 'd', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    int folders[DEEP_FOLDERS + 1] = {root_fd};
    for (int i = 0; i < DEEP_FOLDERS; i++)
        folders[i + 1] = openat(folders[i], name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cr_expect_eq(unlinkat(folders[DEEP_FOLDERS], "x", 0), 0);
    for (int i = DEEP_FOLDERS; i > 0; i--) {
        close(folders[i]);
        cr_expect_eq(unlinkat(folders[i - 1], name, AT_REMOVEDIR), 0);
    }
}

/* Executable maps of every kind that the kernel names differently. */
static void map_every_kind(int root_fd)
{
    char long_name[251];
    memset(long_name, 'n', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = '\0';
    map_file(root_fd, long_name, MAP_PRIVATE); /* its path is longer than the first query has room for */
    map_file(root_fd, "two\nlines \\012 (x) ", MAP_SHARED);
    map_file(root_fd, "gone", MAP_PRIVATE);
    cr_assert_eq(unlinkat(root_fd, "gone", 0), 0);
    map_file_with_endless_path(root_fd);

    int fd = memfd_create("jit", MFD_CLOEXEC);
    cr_assert_eq(ftruncate(fd, PAGE), 0);
    cr_assert_neq(mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0), MAP_FAILED);
    close(fd);
    cr_assert_neq(mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), MAP_FAILED);
    cr_assert_neq(mmap(NULL, PAGE, PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0), MAP_FAILED);
}

/* All of this process's maps into a buffer, from text or from queries. */
static void read_own_maps(struct weir_synth_worker *worker, bool refuse_query, struct weir_buf *records)
{
    worker->query_refused = refuse_query;
    weir_buf_reset(&fixture.sink.records);
    cr_assert_eq(weir_synth_process_maps(worker, getpid(), "self/maps"), 0);
    cr_assert_eq(weir_synth_block_flush(&worker->block), 0);
    weir_buf_append(records, fixture.sink.records.data, fixture.sink.records.used);
}

static void compare_queries_and_text(void)
{
    int root_fd = open(fixture.tree.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cr_assert_geq(root_fd, 0);
    map_every_kind(root_fd);

    static struct weir_synth_worker worker;
    struct weir_synth_run run = {.options = &fixture.options};
    run.proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cr_assert_geq(run.proc_fd, 0);
    weir_synth_maps_init(&run.maps, run.proc_fd, 0);
    worker.run = &run;
    cr_assert_eq(weir_synth_block_init(&worker.block, &fixture.options), 0);

    struct weir_buf queried = WEIR_BUF_INIT, read = WEIR_BUF_INIT;
    read_own_maps(&worker, true, &read);
    uint64_t read_maps = worker.counts.maps;
    read_own_maps(&worker, false, &queried);
    remove_endless_path(root_fd);
    bool is_refused = worker.query_refused;
    uint64_t queried_maps = worker.counts.maps - read_maps;
    bool has_overlong = memmem(read.data, read.used, "//toolong", 9);
    bool has_escape = memmem(read.data, read.used, "two\\012lines \\012 (x) ", 19);
    cr_expect_eq(queried_maps, read_maps);
    fixture.sink.records.used = 0;
    weir_buf_append(&fixture.sink.records, queried.data, queried.used);
    weir_buf_fini(&queried);
    expect_emitted(&fixture, &read);
    weir_synth_block_fini(&worker.block);
    close(run.proc_fd);
    close(root_fd);
    cr_expect(has_overlong);
    cr_expect(has_escape);
    if (is_refused)
        cr_skip_test("needs PROCMAP_QUERY (Linux 6.11)");
}

Test(synth_maps, queries_and_text_give_the_same_records)
{
    compare_queries_and_text();
}

/* The kernel's, and those that are read from the files: at least that of libc is there. */
Test(synth_maps, queries_and_text_give_the_same_build_ids)
{
    fixture.options.build_ids = true;
    compare_queries_and_text();
    struct perf_event_header header;
    memcpy(&header, fixture.sink.records.data, sizeof(header));
    cr_expect(header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID, "the first map is the program's");
}
