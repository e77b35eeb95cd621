/* All of a block is read, or what there is, or it is told why not. */
#include "base/read_whole.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

Test(read_whole, descriptor_that_is_not_open_is_told)
{
    char byte;
    cr_expect_eq(weir_read_whole(-1, &byte, 1), -EBADF);
    cr_expect_eq(weir_read_whole_at(-1, &byte, 1, 0), -EBADF);
    cr_expect_not(weir_read_exactly_at(-1, &byte, 1, 0));
}

/* Without the bound, pread(2) would get a negative offset and fail. */
Test(read_whole, nothing_is_read_beyond_the_last_offset)
{
    char byte;
    FILE *file = tmpfile();
    cr_assert_not_null(file);
    cr_expect_eq(weir_read_whole_at(fileno(file), &byte, 1, (uint64_t)INT64_MAX + 1), 0);
    cr_expect_not(weir_read_exactly_at(fileno(file), &byte, 1, UINT64_MAX));
    fclose(file);
}

Test(read_whole, pipe_is_read_until_the_block_is_full_or_all_writers_have_gone)
{
    static char sent[3 << 16], got[5 << 16]; /* more than a pipe holds: several reads */
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    memset(sent, 'a', sizeof(sent));
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0)
        _exit(write(ends[1], sent, sizeof(sent)) == (ssize_t)sizeof(sent) ? 0 : 1);
    close(ends[1]);
    cr_expect_eq(weir_read_whole(ends[0], got, 2 << 16), 2 << 16);
    cr_expect_eq(weir_read_whole(ends[0], got + (2 << 16), 3 << 16), 1 << 16);
    cr_expect_eq(memcmp(got, sent, sizeof(sent)), 0);
    cr_expect_eq(weir_read_whole(ends[0], got, 1), 0);
    close(ends[0]);
    cr_assert_eq(waitpid(child, NULL, 0), child);
}

Test(read_whole, block_is_read_at_its_offset)
{
    char block[4] = "";
    FILE *file = tmpfile();
    cr_assert_not_null(file);
    cr_assert_eq(pwrite(fileno(file), "abcde", 5, 0), 5);
    cr_expect_eq(weir_read_whole_at(fileno(file), block, 3, 1), 3);
    cr_expect_str_eq(block, "bcd");
    cr_expect_eq(weir_read_whole_at(fileno(file), block, 3, 3), 2);
    cr_expect(weir_read_exactly_at(fileno(file), block, 3, 2));
    cr_expect_str_eq(block, "cde");
    cr_expect_not(weir_read_exactly_at(fileno(file), block, 3, 3));
    fclose(file);
}
