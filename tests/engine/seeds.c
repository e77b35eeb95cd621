/* Running something for many seeds. See seeds.h. */
#include "tests/engine/seeds.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* For the message of an assertion that breaks. */
static volatile uint64_t seed_now;

static void name_seed(int number)
{
    (void)number;
    char text[64];
    int length = snprintf(text, sizeof(text), "aborted in seed %llu\n", (unsigned long long)seed_now);
    ssize_t written = write(STDERR_FILENO, text, (size_t)length);
    (void)written;
}

static uint64_t number_of(const char *text, uint64_t fallback)
{
    return text ? strtoull(text, NULL, 0) : fallback;
}

uint64_t seeds_run(int argc, char **argv, uint64_t count_default, bool (*run)(void *ctx, uint64_t seed), void *ctx,
                   uint64_t *count)
{
    uint64_t first = argc > 1 ? number_of(argv[1], 0) : 0, failures = 0;
    *count = argc > 1 ? 1 : number_of(getenv("WEIR_SIM_SEEDS"), count_default);
    if (argc > 2)
        *count = number_of(argv[2], 1);
    signal(SIGABRT, name_seed);
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (seed_now = first; seed_now < first + *count; seed_now++)
        failures += !run(ctx, seed_now);
    return failures;
}

int seeds_end(uint64_t failures)
{
    printf("%llu seeds failed\n", (unsigned long long)failures);
    return failures ? 1 : 0;
}
