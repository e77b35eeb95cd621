/* All of a block is written, or it is told why not. */
#include "base/write_whole.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

Test(write_whole, failure_behind_a_short_write_is_told)
{
    static const uint8_t block[3000];
    struct rlimit limit = {.rlim_cur = 1000, .rlim_max = RLIM_INFINITY};
    struct stat status;
    FILE *file = tmpfile();
    cr_assert_not_null(file);
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    int result = weir_write_whole(fileno(file), block, sizeof(block));
    limit.rlim_cur = RLIM_INFINITY;
    setrlimit(RLIMIT_FSIZE, &limit);
    cr_expect_eq(result, -EFBIG);
    cr_assert_eq(fstat(fileno(file), &status), 0);
    cr_expect_eq(status.st_size, 1000);
    fclose(file);
}

Test(write_whole, block_is_written_at_the_position)
{
    char back[6] = "";
    FILE *file = tmpfile();
    cr_assert_not_null(file);
    cr_expect_eq(weir_write_whole(fileno(file), "abc", 3), 0);
    cr_expect_eq(weir_write_whole(fileno(file), "", 0), 0);
    cr_expect_eq(weir_write_whole(fileno(file), "de", 2), 0);
    cr_assert_eq(pread(fileno(file), back, sizeof(back), 0), 5);
    cr_expect_str_eq(back, "abcde");
    fclose(file);
}

Test(write_whole, block_is_written_at_its_offset)
{
    char back[6] = "";
    FILE *file = tmpfile();
    cr_assert_not_null(file);
    cr_expect_eq(weir_write_whole(fileno(file), "abcde", 5), 0);
    cr_expect_eq(weir_write_whole_at(fileno(file), "xy", 2, 1), 0);
    cr_assert_eq(pread(fileno(file), back, sizeof(back), 0), 5);
    cr_expect_str_eq(back, "axyde");
    fclose(file);
}

Test(write_whole, descriptor_that_is_not_open_is_told)
{
    cr_expect_eq(weir_write_whole(-1, "a", 1), -EBADF);
    cr_expect_eq(weir_write_whole_at(-1, "a", 1, 0), -EBADF);
}
