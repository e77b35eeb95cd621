/* What a thread has left when it has dropped its capabilities, and what that costs the process. */
#include "engine/kernel/privileges.h"

#include <criterion/criterion.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    weir_privileges_drop_all();
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
    weir_privileges_drop_all();
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
