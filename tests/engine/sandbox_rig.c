/* Children in a sandbox; see sandbox_rig.h. */
#include "tests/engine/sandbox_rig.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNBOUND 8

void sandbox_rig_init(void)
{
    if (!weir_sandbox_is_built())
        cr_skip("built without libseccomp");
}

int sandbox_rig_run(enum weir_sandbox kind, void (*call)(void))
{
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        if (weir_sandbox_enter(kind, NULL) < 0)
            _exit(UNBOUND);
        call();
        _exit(SANDBOX_SURVIVED);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    return status;
}

void sandbox_rig_expect_killed(enum weir_sandbox kind, const struct sandbox_call *call)
{
    int status = sandbox_rig_run(kind, call->call);
    cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "%s: status %#x", call->name, (unsigned)status);
}

void sandbox_rig_expect_survived(enum weir_sandbox kind, const struct sandbox_call *call)
{
    int status = sandbox_rig_run(kind, call->call);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == SANDBOX_SURVIVED, "%s: status %#x", call->name,
              (unsigned)status);
}
