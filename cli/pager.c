/* Runs the user's pager; see pager.h. Source: setup_pager(), tools/lib/subcmd/pager.c, Linux 6.12. */
#include "cli/pager.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bits.h"

#define NOT_STARTED 126 /* sh(1): exit status from here on if the command was not found, or could not be executed */

static const char *find_pager(void)
{
    static const char *const variables[] = {"PERF_PAGER", "PAGER"};
    static const char *const programs[] = {"/usr/bin/pager", "/usr/bin/less"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(variables); i++) {
        const char *value = getenv(variables[i]);
        if (value)
            return value;
    }
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(programs); i++) {
        if (access(programs[i], X_OK) == 0)
            return programs[i];
    }
    return "";
}

bool weir_pager_show(const char *text)
{
    const char *pager = find_pager();
    if (!isatty(STDOUT_FILENO) || !*pager || strcmp(pager, "cat") == 0)
        return false;
    setenv("LESS", "FRSX", 0); /* as perf: less(1) ends at once if one screen holds the text */
    FILE *stream = popen(pager, "we");
    if (!stream)
        return false;
    /* The pager alone decides what ^C does. */
    static const int signals[] = {SIGINT, SIGQUIT, SIGPIPE};
    void (*before[WEIR_ARRAY_COUNT(signals)])(int);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(signals); i++)
        before[i] = signal(signals[i], SIG_IGN);
    fputs(text, stream);
    int status = pclose(stream);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(signals); i++)
        signal(signals[i], before[i]);
    return !WIFEXITED(status) || WEXITSTATUS(status) < NOT_STARTED;
}
