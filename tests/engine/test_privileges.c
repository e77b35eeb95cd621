/* What a thread has left when it has dropped its capabilities, and what that costs the process. */
#include "engine/kernel/privileges.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>

/* The lines of /proc/thread-self/status that begin with "Cap": inheritable, permitted, effective, bounding, ambient. */
struct capability_lines {
    char inheritable[64], permitted[64], effective[64], bounding[64];
};

static void read_capabilities(struct capability_lines *lines)
{
    char line[64];
    FILE *file = fopen("/proc/thread-self/status", "re");
    cr_assert_not_null(file);
    while (fgets(line, sizeof(line), file)) {
        char *to = strncmp(line, "CapInh:", 7) == 0   ? lines->inheritable
                   : strncmp(line, "CapPrm:", 7) == 0 ? lines->permitted
                   : strncmp(line, "CapEff:", 7) == 0 ? lines->effective
                   : strncmp(line, "CapBnd:", 7) == 0 ? lines->bounding
                                                      : NULL;
        if (to)
            snprintf(to, sizeof(lines->effective), "%s", line);
    }
    fclose(file);
}

static void *drop_all(void *argument)
{
    weir_privileges_limit(WEIR_PRIVILEGES_DATA);
    read_capabilities(argument);
    return NULL;
}

static void run_thread(void *(*body)(void *), void *argument)
{
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, body, argument), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
}

Test(privileges, thread_that_drops_all_has_none_and_the_others_keep_theirs)
{
    struct capability_lines before = {0}, after = {0}, dropped = {0};
    read_capabilities(&before);
    run_thread(drop_all, &dropped);
    read_capabilities(&after);
    cr_assert_str_eq(dropped.permitted, "CapPrm:\t0000000000000000\n");
    cr_assert_str_eq(dropped.effective, "CapEff:\t0000000000000000\n");
    cr_assert_str_eq(dropped.inheritable, before.inheritable);
    cr_assert_str_eq(dropped.bounding, before.bounding);
    cr_assert_str_eq(after.effective, before.effective);
    cr_assert_str_eq(after.permitted, before.permitted);
}

/* Of malloc(3): one per thread that allocates, up to eight per CPU. */
static unsigned arenas(void)
{
    char *text = NULL;
    size_t bytes = 0;
    unsigned count = 0;
    FILE *file = open_memstream(&text, &bytes);
    cr_assert_not_null(file);
    cr_assert_eq(malloc_info(0, file), 0);
    fclose(file);
    for (const char *at = text; (at = strstr(at, "<heap nr=")); at++)
        count++;
    free(text);
    return count;
}

static void *drop_all_only(void *argument)
{
    weir_privileges_limit(WEIR_PRIVILEGES_DATA);
    return argument;
}

static void *allocate(void *argument)
{
    void *volatile memory = malloc(100);
    free(memory);
    return argument;
}

/* A sanitizer's malloc(3) has none; then this shows nothing. */
static bool has_arenas(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return false;
#else
    return true;
#endif
}

Test(privileges, dropping_all_makes_no_arena)
{
    unsigned before = arenas();
    run_thread(drop_all_only, NULL);
    cr_assert_eq(arenas(), before);
    run_thread(allocate, NULL);
    cr_assert_eq(arenas() > before, has_arenas(), "whether an arena shows");
}

/* ---- classes of threads ---- */

#define BIT(capability) (1ull << (capability))

struct limited_thread {
    enum weir_privileges_class class;
    uint64_t effective;
    bool gains_none;
};

static void *limit(void *argument)
{
    struct limited_thread *thread = argument;
    struct capability_lines lines = {0};
    weir_privileges_limit(thread->class);
    read_capabilities(&lines);
    thread->effective = strtoull(lines.effective + strlen("CapEff:\t"), NULL, 16);
    thread->gains_none = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
    return NULL;
}

Test(privileges, thread_keeps_what_its_class_needs)
{
    static const struct {
        enum weir_privileges_class class;
        uint64_t kept, dropped;
    } cases[] = {
        {WEIR_PRIVILEGES_DATA, 0, UINT64_MAX},
        {WEIR_PRIVILEGES_SIDEBAND, BIT(CAP_SYSLOG) | BIT(CAP_SYS_NICE), BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_OVERRIDE)},
        {WEIR_PRIVILEGES_BUILD_IDS, BIT(CAP_SYS_PTRACE), BIT(CAP_BPF) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_SYS_RESOURCE)},
        {WEIR_PRIVILEGES_METRICS, BIT(CAP_DAC_OVERRIDE), BIT(CAP_SYS_ADMIN) | BIT(CAP_SYS_PTRACE)},
        {WEIR_PRIVILEGES_PROC, BIT(CAP_SYS_PTRACE), BIT(CAP_SYS_ADMIN) | BIT(CAP_DAC_OVERRIDE)},
        {WEIR_PRIVILEGES_FINISHER, BIT(CAP_FOWNER), BIT(CAP_SYS_ADMIN) | BIT(CAP_SYS_PTRACE) | BIT(CAP_KILL)},
    };
    struct capability_lines own = {0};
    read_capabilities(&own);
    uint64_t held = strtoull(own.effective + strlen("CapEff:\t"), NULL, 16);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct limited_thread thread = {.class = cases[i].class};
        run_thread(limit, &thread);
        cr_expect_eq(thread.effective & cases[i].kept, held & cases[i].kept, "class %zu", i);
        cr_expect_eq(thread.effective & cases[i].dropped, 0, "class %zu: %" PRIx64, i, thread.effective);
        cr_expect_eq(thread.gains_none, cases[i].class != WEIR_PRIVILEGES_FINISHER, "class %zu", i);
    }
    struct limited_thread ids = {.class = WEIR_PRIVILEGES_BUILD_IDS};
    run_thread(limit, &ids);
    if (held & BIT(CAP_CHECKPOINT_RESTORE))
        cr_expect_eq(ids.effective & BIT(CAP_SYS_ADMIN), 0);
    cr_expect_eq(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 0, "another thread has it, too");
}
