/* clang(1), run as any command. Its standard output is the object file. Source: posix_spawn(3), memfd_create(2). */
#include "engine/events/bpf_compile.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bits.h"

/* The macro by which bpf_tracing.h knows the architecture. */
#if defined(__x86_64__) || defined(__i386__)
#define TARGET_ARCH "-D__TARGET_ARCH_x86"
#elif defined(__aarch64__)
#define TARGET_ARCH "-D__TARGET_ARCH_arm64"
#elif defined(__powerpc64__)
#define TARGET_ARCH "-D__TARGET_ARCH_powerpc"
#elif defined(__riscv)
#define TARGET_ARCH "-D__TARGET_ARCH_riscv"
#else
#define TARGET_ARCH "-D__TARGET_ARCH_unknown"
#endif

#define BLANKS " \t\n"

struct arguments {
    const char **words; /* owned; NULL-terminated; the words are borrowed */
    size_t count, room;
    int error;
};

static void add(struct arguments *arguments, const char *word)
{
    if (arguments->error < 0)
        return;
    const char **words =
        weir_array_grow(arguments->words, sizeof(*words), arguments->count, 2, &arguments->room); /* and the NULL */
    if (!words) {
        arguments->error = -ENOMEM;
        return;
    }
    arguments->words = words;
    words[arguments->count++] = word;
    words[arguments->count] = NULL;
}

/* options: a copy of the user's options, which this cuts into words. */
static int collect(struct arguments *arguments, const char *source, const struct weir_bpf_build *build, char *options)
{
    static const char *const always[] = {
        "-O2",
        "-g",
        "-target",
        "bpf",
        TARGET_ARCH,
        /* The compiler leaves out this machine's own headers, such as asm/types.h, when it compiles for another. */
        "-idirafter",
        WEIR_MULTIARCH_INCLUDE,
    };
    add(arguments, build->clang ? build->clang : "clang");
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(always); i++)
        add(arguments, always[i]);
    char *rest;
    for (const char *word = options ? strtok_r(options, BLANKS, &rest) : NULL; word;
         word = strtok_r(NULL, BLANKS, &rest))
        add(arguments, word);
    add(arguments, "-c");
    add(arguments, source);
    add(arguments, "-o");
    add(arguments, "-");
    return arguments->error;
}

/* 0 or -errno. The compiler starts with default signals: the parent of weir may ignore SIGPIPE and others. */
static int spawn(const char *const *words, int object, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    int result = -posix_spawn_file_actions_init(&actions);
    if (result < 0)
        return result;
    result = -posix_spawn_file_actions_adddup2(&actions, object, STDOUT_FILENO);
    if (result == 0)
        result = -posix_spawnp(pid, words[0], &actions, NULL, (char *const *)(uintptr_t)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return result;
}

static int set_not_run(int code, const char *clang, const char *source, struct weir_error *err)
{
    weir_error_set_errno(err, code, "cannot run '%s' to compile '%s'", clang, source);
    weir_error_hint(err, "apt-get install clang, --clang-path names another one, or give -e an object file");
    return code;
}

static int spawn_and_wait(const char *const *words, const char *source, int object, struct weir_error *err)
{
    pid_t pid = -1;
    int result = spawn(words, object, &pid);
    if (result < 0)
        return set_not_run(result, words[0], source, err);
    int status;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return weir_error_set_errno(err, -errno, "cannot wait for '%s'", words[0]);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    if (WIFSIGNALED(status))
        weir_error_set(err, -EINVAL, "'%s' was killed by signal %d while it compiled '%s'", words[0], WTERMSIG(status),
                       source);
    else
        weir_error_set(err, -EINVAL, "'%s' does not compile '%s' (exit status %d)", words[0], source,
                       WEXITSTATUS(status));
    weir_error_hint(err, "the compiler's messages are above; --clang-opt gives it more arguments, such as -I DIR");
    return -EINVAL;
}

/* The parent of weir may have set SIGCHLD to be ignored: then waitpid(2) returns no exit status (wait(2)). */
static int run(const char *const *words, const char *source, int object, struct weir_error *err)
{
    const struct sigaction told = {.sa_handler = SIG_DFL};
    struct sigaction before;
    sigaction(SIGCHLD, &told, &before);
    int result = spawn_and_wait(words, source, object, err);
    sigaction(SIGCHLD, &before, NULL);
    return result;
}

int weir_bpf_compile(const char *source, const struct weir_bpf_build *build, struct weir_error *err)
{
    if (access(source, R_OK) < 0)
        return weir_error_set_errno(err, -errno, "cannot read '%s'", source);
    struct arguments arguments = {.words = NULL};
    char *options = build->options ? strdup(build->options) : NULL;
    int result = build->options && !options ? -ENOMEM : collect(&arguments, source, build, options);
    int object = result < 0 ? result : memfd_create("weir-bpf", MFD_CLOEXEC);
    if (object < 0)
        result = weir_error_set_errno(err, result < 0 ? result : -errno, "cannot compile '%s'", source);
    else
        result = run(arguments.words, source, object, err);
    if (result < 0 && object >= 0)
        close(object);
    free(arguments.words);
    free(options);
    return result < 0 ? result : object;
}
