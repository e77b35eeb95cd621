/*
 * Whole commands, the N-th allocation of which fails: once, or it and all that follow. Recordings with threads, the
 * real kernel and a workload, and the commands that read what was recorded. Each runs in a child, which has to end in
 * time, by itself and without a leak (with AddressSanitizer), and then:
 *
 *     status of a recording   the workload's own, and the file is one that `weir verify` passes; or 125 with a message,
 *                             and what there is of a file passes after `weir recover`
 *     status of a reader      0, or 125 with a message: it is never the recording that is called bad
 *     folder                  nothing in it of any other name
 *
 * usage: test_fault_allocations [SEED [COUNT]]: COUNT runs chosen by SEED, 0: every N of every command, once and from
 * then on; without arguments WEIR_ALLOCATION_RUNS runs of a seed that is printed. Exit status 77: cannot record here.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/bits.h"
#include "engine/upkeep/recover.h"
#include "tests/base/failing_alloc.h"
#include "tests/fault/command_run.h"

#define RUNS_DEFAULT   200u
#define OF_WORKLOAD    7
#define OF_FAILURE     125
#define SKIP           77
#define WORDS_MAX      20u
#define OUTPUT         "it.data"
#define GOOD           "../good.data"
#define CUT            "../cut.data"
#define RECOVERED      "whole.data"
#define WORKLOAD       "--", "sh", "-c", "exit 7"
#define MESSAGES_BYTES 4096

struct command {
    bool records; /* into OUTPUT */
    const char *words[WORDS_MAX];
};

static const struct command commands[] = {
    {true, {"weir", "record", "-e", "cpu-clock", "-o", OUTPUT, WORKLOAD}},
    {true, {"weir", "record", "-a", "-e", "sched:sched_switch,cpu-clock", "-o", OUTPUT, WORKLOAD}},
    {true, {"weir", "record", "-a", "-z", "-g", "-e", "cpu-clock", "-F", "99", "-o", OUTPUT, WORKLOAD}},
    {true, {"weir", "record", "-a", "-M", "1M", "-e", "context-switches", "-o", OUTPUT, WORKLOAD}},
    {true, {"weir", "record", "-a", "--overwrite", "-e", "context-switches", "-o", OUTPUT, WORKLOAD}},
    {true, {"weir", "record", "--per-thread", "-s", "-e", "cpu-clock", "-o", OUTPUT, WORKLOAD}},
    {false, {"weir", "info", GOOD}},
    {false, {"weir", "info", "--json", GOOD}},
    {false, {"weir", "dump", GOOD}},
    {false, {"weir", "dump", "--json", GOOD}},
    {false, {"weir", "verify", GOOD}},
    {false, {"weir", "recover", "-o", RECOVERED, CUT}},
    {false, {"weir", "list"}},
};

#define COMMANDS WEIR_ARRAY_COUNT(commands)

/* What a run may leave. */
static const char *const left[] = {OUTPUT, RECOVERED, NULL};

struct fault {
    size_t command;
    unsigned nth; /* from 0 on */
    bool sticky;
};

/* ---- running ---- */

static void begin(void *ctx)
{
    const struct fault *fault = ctx;
    if (fault && fault->sticky)
        failing_alloc_from(fault->nth);
    else if (fault)
        failing_alloc_after(fault->nth);
}

static unsigned end(void *ctx)
{
    (void)ctx;
    unsigned seen = failing_alloc_seen();
    failing_alloc_never();
    return seen;
}

/* The wait status of a child with the fault (NULL: none). *seen: allocations that it made. */
static int run(const struct command *command, const struct fault *fault, unsigned *seen)
{
    const struct command_run_hook hook = {.begin = begin, .end = end, .ctx = (void *)(uintptr_t)fault};
    return command_run(command->words, &hook, seen);
}

/* ---- what must hold ---- */

static bool complain(const struct fault *fault, const char *what)
{
    char text[MESSAGES_BYTES];
    command_run_messages(text, sizeof(text));
    printf("command %zu (", fault->command);
    for (size_t i = 0; commands[fault->command].words[i]; i++)
        printf("%s%s", i ? " " : "", commands[fault->command].words[i]);
    printf("), allocation %u %s: %s\n%s\n", fault->nth, fault->sticky ? "and all after it" : "alone", what, text);
    return false;
}

/* What was left of a recording that failed: nothing, a head alone, or what recover makes whole. */
static bool is_recoverable(void)
{
    const struct weir_recover_options options = {.input_path = OUTPUT, .output_path = RECOVERED};
    struct weir_recovery recovery = {0};
    struct weir_error err = {0};
    if (access(OUTPUT, F_OK) < 0)
        return true;
    int result = weir_recover_run(&options, &recovery, &err);
    weir_recovery_fini(&recovery);
    return result == -ENODATA || (result == 0 && command_run_passes(RECOVERED));
}

static bool check_recording(const struct fault *fault, int status)
{
    if (status == OF_WORKLOAD)
        return command_run_passes(OUTPUT) || complain(fault, "the file is not what it should be");
    if (status != OF_FAILURE)
        return complain(fault, "neither the workload's status nor that of a failure");
    if (command_run_lines("weir: ") == 0)
        return complain(fault, "failed without a message");
    return is_recoverable() || complain(fault, "what is left cannot be recovered");
}

static bool check(const struct fault *fault)
{
    unsigned ignored;
    int status = run(&commands[fault->command], fault, &ignored);
    bool holds;
    if (!WIFEXITED(status))
        holds = complain(fault, WTERMSIG(status) == SIGALRM ? "does not end" : "was killed by a signal");
    else if (commands[fault->command].records)
        holds = check_recording(fault, WEXITSTATUS(status));
    else if (WEXITSTATUS(status) == 0)
        holds = true;
    else
        holds = (WEXITSTATUS(status) == OF_FAILURE && command_run_lines("weir: ") > 0) ||
                complain(fault, "no status of a failure, or no message");
    bool is_clean = command_run_clean(left);
    return holds && (is_clean || complain(fault, "something was left behind"));
}

/* ---- choosing ---- */

/* splitmix64 (Vigna, 2015). */
static uint64_t chance(uint64_t *random, uint64_t bound)
{
    *random += 0x9e3779b97f4a7c15ull;
    uint64_t z = *random;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return (z ^ (z >> 31)) % bound;
}

/* Small N as often as large ones: half of the runs fail in what the set-up asks for first. */
static struct fault choose(uint64_t *random, const unsigned *seen)
{
    struct fault fault = {.command = chance(random, COMMANDS), .sticky = chance(random, 2) == 0};
    unsigned bound = seen[fault.command];
    if (chance(random, 2) == 0 && bound > 100)
        bound = 100;
    fault.nth = (unsigned)chance(random, bound);
    return fault;
}

static unsigned run_chosen(uint64_t seed, uint64_t runs, const unsigned *seen)
{
    uint64_t random = seed;
    unsigned failures = 0;
    for (uint64_t i = 0; i < runs; i++) {
        struct fault fault = choose(&random, seen);
        failures += !check(&fault);
    }
    return failures;
}

static unsigned run_all(const unsigned *seen, uint64_t *runs)
{
    unsigned failures = 0;
    for (size_t command = 0; command < COMMANDS; command++) {
        for (unsigned nth = 0; nth < 2 * seen[command]; nth++, (*runs)++) {
            const struct fault fault = {.command = command, .nth = nth / 2, .sticky = nth % 2};
            failures += !check(&fault);
        }
    }
    return failures;
}

/* What the readers read, and how much each command allocates. */
static void prepare(unsigned *seen)
{
    const struct command first = {
        true, {"weir", "record", "-a", "-e", "sched:sched_switch,cpu-clock", "-o", GOOD, "--", "sleep", "0.05"}};
    struct stat status;
    unsigned ignored;
    const struct fault none = {.command = 1};
    if (run(&first, NULL, &ignored) != 0 || stat(GOOD, &status) < 0 || system("cp " GOOD " " CUT) != 0 ||
        truncate(CUT, status.st_size * 2 / 3) < 0) {
        complain(&none, "there is nothing to read");
        exit(1);
    }
    for (size_t i = 0; i < COMMANDS; i++) {
        int result = run(&commands[i], NULL, &seen[i]);
        if (!WIFEXITED(result) || WEXITSTATUS(result) != (commands[i].records ? OF_WORKLOAD : 0)) {
            const struct fault of_command = {.command = i};
            complain(&of_command, "fails without a fault");
            exit(1);
        }
        command_run_clean(left);
    }
}

int main(int argc, char **argv)
{
    static unsigned seen[COMMANDS];
    char folder[] = "/tmp/weir-allocations-XXXXXX", command[64];
    const char *said = getenv("WEIR_ALLOCATION_RUNS");
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL);
    uint64_t runs = argc > 2 ? strtoull(argv[2], NULL, 0) : said ? strtoull(said, NULL, 0) : RUNS_DEFAULT;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!mkdtemp(folder) || chdir(folder) < 0 || mkdir("run", 0700) < 0 || chdir("run") < 0)
        return 2;
    int status = SKIP;
    if (!command_run_may_record()) {
        puts("needs root, perf events and tracefs");
    } else {
        prepare(seen);
        bool all = argc > 2 && runs == 0;
        unsigned failures = all ? run_all(seen, &runs) : run_chosen(seed, runs, seen);
        printf("seed %llu: %llu runs, %u failed; allocations without a fault:", (unsigned long long)seed,
               (unsigned long long)runs, failures);
        for (size_t i = 0; i < COMMANDS; i++)
            printf(" %u", seen[i]);
        printf("\n");
        status = failures ? 1 : 0;
    }
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command) == 0 ? status : 2;
}
