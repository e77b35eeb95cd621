/* Children of targets are found in the real /proc, when they are no older than the list of targets. */
#include "engine/events/target_children.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/base/failing_alloc.h"

/* A child with a child of its own, both of which wait to be killed. */
struct family {
    pid_t child, grandchild;
};

static void begin(struct family *family)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    family->child = fork();
    if (family->child == 0) {
        pid_t pid = fork();
        if (pid > 0 && write(ends[1], &pid, sizeof(pid)) != (ssize_t)sizeof(pid))
            _exit(1);
        pause();
        _exit(0);
    }
    cr_assert_eq(read(ends[0], &family->grandchild, sizeof(pid_t)), (ssize_t)sizeof(pid_t));
    close(ends[0]);
    close(ends[1]);
}

static void end(const struct family *family)
{
    kill(family->grandchild, SIGKILL);
    kill(family->child, SIGKILL);
    waitpid(family->child, NULL, 0);
}

/* This process, listed at that time. */
static struct weir_targets list(uint64_t ticks)
{
    pid_t *pids = malloc(sizeof(*pids));
    cr_assert_not_null(pids);
    pids[0] = getpid();
    return (struct weir_targets){.pids = pids, .pid_count = 1, .listed_ticks = ticks};
}

static bool tells_children(void)
{
    return access("/proc/thread-self/children", R_OK) == 0;
}

Test(target_children, what_is_older_than_the_list_is_left_out)
{
    struct family family;
    begin(&family);
    struct weir_targets targets = list(UINT64_MAX);
    cr_expect_eq(weir_targets_add_children(&targets, NULL), 0);
    cr_expect_eq(targets.pid_count, 1);
    weir_targets_fini(&targets);
    end(&family);
}

Test(target_children, targets_that_have_ended_have_none)
{
    struct weir_targets targets = list(0);
    targets.pids[0] = 4194304; /* PID_MAX_LIMIT: none has it */
    cr_expect_eq(weir_targets_add_children(&targets, NULL), 0);
    cr_expect_eq(targets.pid_count, 1);
    cr_expect_eq(weir_targets_add_children(&targets, "/nowhere"), 0);
    weir_targets_fini(&targets);
}

Test(target_children, without_memory_the_targets_stay)
{
    struct family family;
    begin(&family);
    struct weir_targets targets = list(0);
    for (unsigned allocations = 0; tells_children() && allocations < 8; allocations++) {
        failing_alloc_after(allocations);
        int result = weir_targets_add_children(&targets, NULL);
        failing_alloc_never();
        cr_expect(result == 0 || result == -ENOMEM);
        cr_expect(targets.pids[0] == getpid() && targets.pid_count <= 3);
        targets.pid_count = 1;
    }
    weir_targets_fini(&targets);
    end(&family);
}

Test(target_children, children_are_found_with_theirs)
{
    if (!tells_children())
        cr_skip_test("needs a kernel with CONFIG_PROC_CHILDREN");
    struct family family;
    begin(&family);
    struct weir_targets targets = list(0);
    for (unsigned times = 0; times < 2; times++) { /* once each */
        cr_assert_eq(weir_targets_add_children(&targets, NULL), 0);
        cr_assert_eq(targets.pid_count, 3);
        cr_expect_eq(targets.pids[1], family.child);
        cr_expect_eq(targets.pids[2], family.grandchild);
        targets.pid_count = 1;
    }
    weir_targets_fini(&targets);
    end(&family);
}
