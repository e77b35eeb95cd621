/* Runs a program that reads perf.data, see run_tool.h. */
#include "tests/format/run_tool.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"

#define SIGNAL_STATUS_BASE 128

static bool is_installed(const char *program)
{
    if (strchr(program, '/'))
        return access(program, X_OK) == 0;
    const char *path = getenv("PATH");
    char *folders = strdup(path ? path : "/usr/bin:/bin");
    char *rest = folders, *folder;
    bool found = false;
    while (!found && (folder = strsep(&rest, ":"))) {
        char candidate[PATH_MAX];
        format_text(candidate, sizeof(candidate), "%s/%s", folder, program);
        found = access(candidate, X_OK) == 0;
    }
    free(folders);
    return found;
}

void tool_need(const char *program, const char *package)
{
    if (is_installed(program))
        return;
    const char *has_packages = getenv("WEIR_HAS_PACKAGES");
    if (has_packages && *has_packages)
        cr_assert_fail("needs %s, which scripts/deps should have installed", package);
    cr_skip_test("needs %s", package);
}

static char *read_whole(const char *path)
{
    struct weir_buf bytes = WEIR_BUF_INIT;
    cr_assert_eq(weir_buf_append_file(&bytes, path), 0);
    char *text = strdup(weir_buf_str(&bytes));
    weir_buf_fini(&bytes);
    return text;
}

static pid_t spawn(const struct temp_tree *tree, const char *const *argv, const char *out, const char *err)
{
    char home[PATH_MAX], temporary[PATH_MAX], path[PATH_MAX];
    format_text(home, sizeof(home), "HOME=%s", tree->root);
    format_text(temporary, sizeof(temporary), "TMPDIR=%s", tree->root);
    format_text(path, sizeof(path), "PATH=%s", getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin");
    char locale[] = "LC_ALL=C", zone[] = "TZ=UTC", config[] = "PERF_CONFIG=/dev/null";
    char *const environment[] = {home, temporary, path, locale, zone, config, NULL};

    posix_spawn_file_actions_t actions;
    cr_assert_eq(posix_spawn_file_actions_init(&actions), 0);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    pid_t pid;
    cr_assert_eq(posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)argv, environment), 0, "%s", argv[0]);
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

void tool_run(struct tool_run *run, const struct temp_tree *tree, const char *const *argv)
{
    char out[PATH_MAX], err[PATH_MAX];
    temp_tree_path(tree, "tool.out", out);
    temp_tree_path(tree, "tool.err", err);
    pid_t pid = spawn(tree, argv, out, err);
    int status;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    run->status = WIFEXITED(status) ? WEXITSTATUS(status) : SIGNAL_STATUS_BASE + WTERMSIG(status);
    run->out = read_whole(out);
    run->err = read_whole(err);
}

void tool_run_fini(struct tool_run *run)
{
    free(run->out);
    free(run->err);
}

bool has_line(const char *text, const char *line)
{
    size_t length = strlen(line);
    for (const char *at = text; (at = strstr(at, line)); at++) {
        bool begins = at == text || at[-1] == '\n';
        if (begins && (at[length] == '\n' || at[length] == '\0'))
            return true;
    }
    return false;
}
