/* Files that are opened for others: the right file or none, and nobody hangs with a file system. */
#include "engine/tasks/file_opener.h"

#include "tests/base/failing_alloc.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/clock.h"
#include "unwind/machine.h"
#include "unwind/table.h"

static struct weir_file_opener *make(const struct weir_file_opener_setup *setup)
{
    struct weir_file_opener *opener = NULL;
    cr_assert_eq(weir_file_opener_new(&opener, setup), 0);
    cr_assert_eq(weir_file_opener_start(opener), 0);
    return opener;
}

/* Asks again while it takes too long: this machine is busy. */
static int open_patiently(struct weir_file_opener *opener, uint32_t number)
{
    int fd = weir_file_opener_open(opener, number);
    while (fd == -ETIMEDOUT)
        fd = weir_file_opener_open(opener, number);
    return fd;
}

static void expect_opened(struct weir_file_opener *opener, uint32_t number)
{
    int fd = open_patiently(opener, number);
    cr_assert_geq(fd, 0, "number %u: %d", number, fd);
    close(fd);
}

/* ---- a file system that hangs ---- */

#define HANGS 1000u /* inodes from here on */

static sem_t gate;
static int descriptor; /* of the last file that hung */
static _Atomic unsigned entered, opened;

static int open_or_hang(const struct weir_mapped_file *file, const char *name,
                        const struct weir_mapped_file_roots *roots)
{
    (void)name, (void)roots;
    entered += file->inode >= HANGS;
    if (file->inode >= HANGS)
        sem_wait(&gate);
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (file->inode >= HANGS)
        descriptor = fd;
    opened++;
    return fd;
}

static const struct weir_file_opener_setup hanging = {.open = open_or_hang};

static void note(struct weir_file_opener *opener, uint32_t number, uint64_t inode)
{
    const struct weir_mapped_file file = {.inode = inode};
    weir_file_opener_note(opener, number, &file, "/a/file");
}

/* Has one more thread hang. */
static void hang(struct weir_file_opener *opener, uint32_t number)
{
    unsigned before = entered;
    note(opener, number, HANGS);
    while (entered == before)
        cr_expect_eq(weir_file_opener_open(opener, number), -ETIMEDOUT);
}

Test(file_opener, without_memory_it_is_not_made)
{
    const struct weir_file_opener_setup setup = {.open = NULL};
    struct weir_file_opener *opener = NULL;
    failing_alloc_after(0);
    cr_expect_eq(weir_file_opener_new(&opener, &setup), -ENOMEM);
    failing_alloc_never();
    weir_file_opener_free(NULL);
}

Test(file_opener, number_that_was_not_noted_is_not_known)
{
    struct weir_file_opener *opener = make(&hanging);
    cr_expect_eq(weir_file_opener_open(opener, 5), -ENOENT);
    note(opener, 5, 1);
    cr_expect_eq(weir_file_opener_open(opener, 5 + 256), -ENOENT);
    expect_opened(opener, 5);
    weir_file_opener_free(opener);
}

/* The table of files has no more either. */
Test(file_opener, newest_numbers_are_known)
{
    struct weir_file_opener *opener = make(&hanging);
    const uint32_t count = WEIR_MAPPED_FILES_MAX + 10;
    for (uint32_t number = 0; number < count; number++)
        note(opener, number, 1);
    cr_expect_eq(weir_file_opener_open(opener, 9), -ENOENT);
    static const uint32_t known[] = {10, 300, WEIR_MAPPED_FILES_MAX, WEIR_MAPPED_FILES_MAX + 9};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(known); i++)
        expect_opened(opener, known[i]);
    weir_file_opener_free(opener);
}

Test(file_opener, names_have_a_bound)
{
    static char name[1u << 20];
    struct weir_file_opener *opener = make(&hanging);
    const struct weir_mapped_file file = {.inode = 1};
    memset(name, 'n', sizeof(name) - 1);
    for (uint32_t number = 0; number <= WEIR_MAPPED_NAMES_BYTES_MAX / sizeof(name); number++)
        weir_file_opener_note(opener, number, &file, name);
    cr_expect_eq(weir_file_opener_open(opener, WEIR_MAPPED_NAMES_BYTES_MAX / sizeof(name)), -ENOENT);
    expect_opened(opener, WEIR_MAPPED_NAMES_BYTES_MAX / sizeof(name) - 1);
    weir_file_opener_free(opener);
}

/* Each is asked for many times: without a thread that hangs for each of them. */
Test(file_opener, file_that_hangs_holds_up_nothing_else)
{
    struct weir_file_opener *opener = make(&hanging);
    sem_init(&gate, 0, 0);
    note(opener, 50, 1);
    for (uint32_t number = 0; number < WEIR_FILE_OPENER_THREADS; number++) {
        expect_opened(opener, 50);
        hang(opener, number);
        for (unsigned tries = 0; tries < 3; tries++)
            cr_expect_eq(weir_file_opener_open(opener, number), -ETIMEDOUT);
    }
    cr_expect_eq(weir_file_opener_open(opener, 50), -ETIMEDOUT, "all threads hang");
    cr_expect_eq(entered, WEIR_FILE_OPENER_THREADS);
    for (uint32_t number = 0; number < WEIR_FILE_OPENER_THREADS; number++)
        sem_post(&gate);
    expect_opened(opener, 50);
    weir_file_opener_free(opener);
}

/* The descriptor that nobody waits for is closed, by a thread that frees everything. */
Test(file_opener, thread_that_hangs_is_left_behind)
{
    struct weir_file_opener *opener = make(&hanging);
    sem_init(&gate, 0, 0);
    descriptor = -1;
    hang(opener, 1);
    weir_file_opener_free(opener);
    cr_assert_eq(descriptor, -1, "free() waited for it");
    sem_post(&gate);
    while (opened < 1)
        weir_clock_pause_ns(WEIR_NS_PER_MS);
    while (fcntl(descriptor, F_GETFD) >= 0)
        weir_clock_pause_ns(WEIR_NS_PER_MS);
}

/* ---- the mapped file ---- */

static const struct weir_file_opener_setup real = {.open = NULL};

/* The test itself, as a file that it maps. */
static struct weir_mapped_file own_file(char *path, size_t bytes)
{
    struct stat status;
    ssize_t length = readlink("/proc/self/exe", path, bytes - 1);
    cr_assert_gt(length, 0);
    path[length] = '\0';
    cr_assert_eq(stat(path, &status), 0);
    return (struct weir_mapped_file){.kind = WEIR_MAPPED_FILE,
                                     .major = major(status.st_dev),
                                     .minor = minor(status.st_dev),
                                     .inode = status.st_ino,
                                     .pid = getpid()};
}

Test(file_opener, mapped_file_is_opened_if_it_has_the_known_build_id)
{
    char path[4096];
    struct weir_file_opener *opener = make(&real);
    struct weir_mapped_file file = own_file(path, sizeof(path));
    struct weir_build_id id;
    struct stat status;
    weir_file_opener_note(opener, 3, &file, path);
    int fd = open_patiently(opener, 3);
    cr_assert_geq(fd, 0);
    cr_assert_eq(fstat(fd, &status), 0);
    cr_expect_eq(status.st_ino, file.inode);
    cr_assert_eq(weir_build_id_of_file(fd, &id), 0);
    close(fd);

    weir_file_opener_note_id(opener, 3, &id);
    weir_file_opener_note(opener, 3, &file, path); /* as by a newer mapping: the id stays */
    fd = open_patiently(opener, 3);
    cr_expect_geq(fd, 0);
    close(fd);
    id.data[0] ^= 1;
    weir_file_opener_note_id(opener, 3, &id);
    cr_expect_eq(open_patiently(opener, 3), -ESTALE);
    weir_file_opener_free(opener);
}

Test(file_opener, replaced_file_is_refused)
{
    char path[4096];
    struct weir_file_opener *opener = make(&real);
    struct weir_mapped_file file = own_file(path, sizeof(path));
    file.inode++;
    file.pid = -1;
    /* Changed since recording began: the name is no proof of an unchanged file that has another number in maps. */
    snprintf(path, sizeof(path), "/tmp/weir-opener-%d", (int)getpid());
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    cr_assert_geq(fd, 0);
    close(fd);
    weir_file_opener_note(opener, 3, &file, path);
    cr_expect_eq(open_patiently(opener, 3), -ESTALE);
    unlink(path);
    cr_expect_eq(open_patiently(opener, 3), -ENOENT);
    weir_file_opener_free(opener);
}

/* No file has it. */
Test(file_opener, vdso_has_a_table)
{
    const struct weir_unwind_machine *machine = weir_unwind_machine_find("x86_64");
#ifdef __aarch64__
    machine = weir_unwind_machine_find("aarch64");
#endif
    struct weir_file_opener *opener = make(&real);
    const struct weir_mapped_file file = {.kind = WEIR_MAPPED_VDSO};
    struct weir_unwind_table table;
    weir_file_opener_note(opener, 0, &file, "[vdso]");
    for (unsigned i = 0; i < 2; i++) {
        int fd = open_patiently(opener, 0);
        cr_assert_geq(fd, 0);
        cr_assert_eq(weir_unwind_table_load(&table, fd, machine), 0);
        weir_unwind_table_fini(&table);
        close(fd);
    }
    weir_file_opener_free(opener);
}
