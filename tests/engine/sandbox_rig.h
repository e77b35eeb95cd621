/* Children in a sandbox (engine/upkeep/sandbox.h), for tests: each makes one call and says whether it survived. */
#ifndef WEIR_TESTS_ENGINE_SANDBOX_RIG_H
#define WEIR_TESTS_ENGINE_SANDBOX_RIG_H

#include "engine/upkeep/sandbox.h"

#define SANDBOX_SURVIVED 7 /* exit status of a child whose call was let through, whatever came of it */

struct sandbox_call {
    void (*call)(void);
    const char *name;
};

#define SANDBOX_CALL(function) \
    {                          \
        function, #function    \
    }

/* Skips the test in builds without filters. */
void sandbox_rig_init(void);

/* Forks a child that enters the sandbox and makes the call. Returns its wait status. */
int sandbox_rig_run(enum weir_sandbox kind, void (*call)(void));

void sandbox_rig_expect_killed(enum weir_sandbox kind, const struct sandbox_call *call);
void sandbox_rig_expect_survived(enum weir_sandbox kind, const struct sandbox_call *call);

#endif
