/*
 * Recordings the set-up of which is refused a thread or a ring: the N-th pthread_create(3) or mmap(2) of a ring fails,
 * for all N. They come to nothing and say so in one line, with status 125 and nothing left in the folder; or they do
 * without, and then the recording is whole and the status the command's own: only a helper of synthesis is done
 * without, and a ring for which mlock's limit has no room (EPERM) is made smaller where nobody named a size.
 *
 * Each runs in a child, without leaks (with AddressSanitizer). Exit status 77: cannot record here.
 */
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bits.h"
#include "tests/fault/command_run.h"

#define OF_WORKLOAD    7
#define OF_FAILURE     125
#define SKIP           77
#define MESSAGES_BYTES 4096
#define WORDS_MAX      24
#define WORKLOAD       "--", "sh", "-c", "touch ran; exit 7"

enum call {
    THREAD,
    RING
};

/* What is refused, and what has to become of it. */
struct refusal {
    const char *name;
    enum call call;
    int error;
    bool sticky;      /* all behind the N-th, too */
    unsigned without; /* recordings that come about all the same; ALL */
    const char *words[WORDS_MAX];
};

#define ALL UINT_MAX

/* Every kind of thread: readers, writer, pool, compression, the two of the sideband, /proc, finisher, synthesis. */
static const struct refusal refusals[] = {
    {"a thread",
     THREAD,
     EAGAIN,
     false,
     1,
     {"weir", "record", "-a", "-z", "-e", "cpu-clock", "--num-thread-synthesize", "2", "--switch-output", "-o", "it",
      WORKLOAD}},
    {"a ring, for want of memory",
     RING,
     ENOMEM,
     false,
     0,
     {"weir", "record", "-a", "-e", "cpu-clock", "-o", "it", WORKLOAD}},
    {"a ring of the newest records",
     RING,
     ENOMEM,
     false,
     0,
     {"weir", "record", "-a", "-e", "cpu-clock", "--overwrite", "-o", "it", WORKLOAD}},
    {"a ring of the size that was asked for, by mlock's limit",
     RING,
     EPERM,
     false,
     0,
     {"weir", "record", "-a", "-e", "cpu-clock", "-m", "64K", "-o", "it", WORKLOAD}},
    {"a ring, by mlock's limit",
     RING,
     EPERM,
     false,
     ALL,
     {"weir", "record", "-a", "-e", "cpu-clock", "-o", "it", WORKLOAD}},
    {"any ring, by mlock's limit",
     RING,
     EPERM,
     true,
     0,
     {"weir", "record", "-C", "0", "-e", "cpu-clock", "-o", "it", WORKLOAD}},
};

/* ---- what is refused, in the child ---- */

/* Written by the child's first thread before there are others. */
static const struct refusal *refused;
static unsigned refused_from;
static _Atomic unsigned calls, refusals_made;

static bool is_refused(enum call call)
{
    if (!refused || refused->call != call)
        return false;
    unsigned number = atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    bool hit = refused->sticky ? number >= refused_from : number == refused_from;
    if (hit)
        atomic_fetch_add_explicit(&refusals_made, 1, memory_order_relaxed);
    return hit;
}

static bool is_perf_event(int fd)
{
    char link[32], target[32] = "";
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t bytes = fd < 0 ? -1 : readlink(link, target, sizeof(target) - 1);
    return bytes > 0 && strcmp(target, "anon_inode:[perf_event]") == 0;
}

/* Names and signatures are those of ld's --wrap, see ld(1). */
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*main)(void *), void *argument);
void *__real_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*main)(void *), void *argument);
void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*main)(void *), void *argument)
{
    return is_refused(THREAD) ? refused->error : __real_pthread_create(thread, attr, main, argument);
}

void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (is_perf_event(fd) && is_refused(RING)) {
        errno = refused->error;
        return MAP_FAILED;
    }
    return __real_mmap(address, bytes, protection, flags, fd, offset);
}
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)

/* ---- running ---- */

struct run {
    const struct refusal *refusal;
    unsigned nth;
};

static void begin(void *ctx)
{
    const struct run *run = ctx;
    refused = run->refusal;
    refused_from = run->nth;
}

static unsigned end(void *ctx)
{
    (void)ctx;
    refused = NULL;
    return atomic_load_explicit(&refusals_made, memory_order_relaxed);
}

static unsigned complain(const struct run *run, const char *what)
{
    char text[MESSAGES_BYTES];
    command_run_messages(text, sizeof(text));
    printf("refused %s, number %u: %s\n%s\n", run->refusal->name, run->nth + 1, what, text);
    return 1;
}

/* Whether there is a recording, or several, and each is whole. They are removed. */
static bool has_whole_recordings(void)
{
    glob_t found;
    bool whole = glob("it*", 0, NULL, &found) == 0;
    for (size_t i = 0; whole && i < found.gl_pathc; i++)
        whole = command_run_passes(found.gl_pathv[i]) && unlink(found.gl_pathv[i]) == 0;
    globfree(&found);
    return whole;
}

/* Returns failures. *without: one more when the recording came about. */
static unsigned check(const struct run *run, int status, unsigned *without)
{
    static const char *const with_ran[] = {"ran", NULL};
    unsigned failures = 0;
    bool came = WIFEXITED(status) && WEXITSTATUS(status) == OF_WORKLOAD;
    *without += came;
    if (!WIFEXITED(status))
        failures += complain(run, WTERMSIG(status) == SIGALRM ? "does not end" : "was killed by a signal");
    else if (came && !has_whole_recordings())
        failures += complain(run, "the recording is not what it should be");
    else if (!came && WEXITSTATUS(status) != OF_FAILURE)
        failures += complain(run, "neither the command's status nor that of a failure");
    else if (!came && command_run_lines("weir: cannot ") != 1)
        failures += complain(run, "not one line that says what failed");
    if (!command_run_clean(came ? with_ran : with_ran + 1))
        failures += complain(run, "something was left behind, or the command has run");
    return failures;
}

/* From the first on, until none is refused any more. */
static unsigned refuse_each(const struct refusal *refusal)
{
    unsigned failures = 0, without = 0, made = 1;
    struct run run = {.refusal = refusal};
    const struct command_run_hook hook = {.begin = begin, .end = end, .ctx = &run};
    for (; made > 0 && failures == 0; run.nth += made > 0) {
        int status = command_run(refusal->words, &hook, &made);
        unsigned ignored = 0;
        if (made == 0 && (!WIFEXITED(status) || WEXITSTATUS(status) != OF_WORKLOAD))
            failures += complain(&run, "fails without a refusal");
        failures += check(&run, status, made > 0 ? &without : &ignored);
    }
    unsigned expected = refusal->without == ALL ? run.nth : refusal->without;
    if (failures == 0 && (run.nth == 0 || without != expected))
        failures += complain(&run, "another number of recordings that came about than there should be");
    printf("%s: %u refused, %u recordings came about all the same: %s\n", refusal->name, run.nth, without,
           failures ? "FAILED" : "holds");
    return failures;
}

static bool can_record(void)
{
    static const char *const words[] = {"weir", "record", "-a", "-e", "cpu-clock", "-o", "it", WORKLOAD, NULL};
    static const char *const expected[] = {"it", "ran", NULL};
    struct run none = {0};
    const struct command_run_hook hook = {.begin = begin, .end = end, .ctx = &none};
    unsigned made;
    int status = command_run(words, &hook, &made);
    bool can = WIFEXITED(status) && WEXITSTATUS(status) == OF_WORKLOAD;
    if (!can)
        complain(&(struct run){.refusal = &refusals[0]}, "fails without a refusal");
    return command_run_clean(expected) && can;
}

int main(void)
{
    char folder[] = "/tmp/weir-set-up-XXXXXX";
    unsigned failures = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!mkdtemp(folder) || chdir(folder) < 0)
        return 2;
    bool can = command_run_may_record();
    if (!can)
        puts("needs root, perf events and tracefs");
    else
        failures += !can_record();
    for (unsigned i = 0; can && i < WEIR_ARRAY_COUNT(refusals); i++)
        failures += refuse_each(&refusals[i]);
    static const char *const nothing[] = {NULL};
    command_run_clean(nothing);
    if (rmdir(folder) < 0)
        perror(folder);
    return !can ? SKIP : failures > 0;
}
