/* weir_assert: stops on a broken invariant in every build type, says which, and evaluates its condition once. */
#include "base/assert.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

Test(assert, broken_condition_aborts, .signal = SIGABRT)
{
    weir_assert(1 + 1 == 3);
}

Test(assert, broken_condition_is_told_on_standard_error)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        weir_assert_failed("head >= tail", "ring.c", 12, "ring_read");
    }
    close(ends[1]);

    char line[256] = "";
    ssize_t length = read(ends[0], line, sizeof(line) - 1);
    close(ends[0]);
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    cr_expect_str_eq(line, "weir: bug: ring.c:12: ring_read: head >= tail does not hold\n");
    cr_expect_eq(length, (ssize_t)strlen(line));
}

Test(assert, holding_condition_is_evaluated_once)
{
    int evaluations = 0;
    weir_assert(++evaluations > 0);
    cr_assert_eq(evaluations, 1);
}
