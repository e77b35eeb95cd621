/* What is opened by a name that others chose: regular files, and nothing else. */
#include "base/regular_file.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static char folder[] = "/tmp/weir-regular-XXXXXX";
static int folder_fd;

static void make_folder(void)
{
    cr_assert_not_null(mkdtemp(folder));
    folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cr_assert_geq(folder_fd, 0);
}

static void remove_folder(void)
{
    static const char *const names[] = {"file", "link", "fifo"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unlinkat(folder_fd, names[i], 0);
    close(folder_fd);
    rmdir(folder);
}

TestSuite(regular_file, .init = make_folder, .fini = remove_folder);

static int open_it(const char *name)
{
    struct stat status;
    return weir_regular_file_open(folder_fd, name, &status);
}

/* Who asks to open a device or a socket gets the answer of its driver, here ENXIO. */
Test(regular_file, what_is_no_file_is_not_opened)
{
    cr_expect_eq(open_it("."), -ENODATA);
    cr_assert_eq(mknodat(folder_fd, "file", S_IFSOCK | 0600, 0), 0);
    cr_expect_eq(openat(folder_fd, "file", O_RDONLY | O_NONBLOCK | O_CLOEXEC), -1);
    cr_expect_eq(errno, ENXIO);
    cr_expect_eq(open_it("file"), -ENODATA);
    cr_assert_eq(symlinkat("file", folder_fd, "link"), 0);
    cr_expect_eq(open_it("link"), -ENODATA);
    cr_assert_eq(mkfifoat(folder_fd, "fifo", 0600), 0);
    cr_expect_eq(open_it("fifo"), -ENODATA);
}

Test(regular_file, what_cannot_be_opened_says_why)
{
    cr_expect_eq(open_it("file"), -ENOENT);
    cr_assert_eq(symlinkat("link", folder_fd, "link"), 0);
    cr_expect_eq(open_it("link"), -ELOOP);
}

Test(regular_file, file_is_opened_through_links_and_its_status_is_told)
{
    struct stat status, by_fd;
    char text[8] = "";
    int fd = openat(folder_fd, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    cr_assert_eq(write(fd, "text", 4), 4);
    close(fd);
    cr_assert_eq(symlinkat("file", folder_fd, "link"), 0);
    fd = weir_regular_file_open(folder_fd, "link", &status);
    cr_assert_geq(fd, 0, "%s", strerror(-fd));
    cr_expect_eq(read(fd, text, sizeof(text)), 4);
    cr_expect_str_eq(text, "text");
    cr_expect_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
    cr_assert_eq(fstat(fd, &by_fd), 0);
    cr_expect(status.st_ino == by_fd.st_ino && status.st_size == 4);
    close(fd);
}
