/*
 * What unwinding a stack costs: `unwind [--frames N] [--stacks N] [--runs N]`.
 *
 * The program copies its own registers and stack, N calls deep, as the kernel does for a sample. It unwinds that copy
 * again and again with the tables of its own files. JSON: CPU time of the first stack, which reads the files, and of a
 * stack with warm caches. Medians over the runs, in microseconds. x86_64; elsewhere a skip.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "engine/sim/sim_stack.h"
#include "format/unwound_sum.h"
#include "unwind/unwinder.h"

#define SKIP_EXIT  77
#define USAGE_EXIT 2
#define RUNS_MAX   16u
#define REGS_MASK  0xff01ffull

static bool find(void *ctx, uint64_t address, struct weir_unwind_mapping *found)
{
    const struct weir_unwind_source *source = ctx;
    return source->find(source->ctx, 0, 0, address, found);
}

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static int measure(unsigned long long frames, unsigned long long stacks, unsigned long long runs)
{
    struct weir_unwinder unwinder;
    struct weir_unwind_chain chain;
    struct weir_sim_stack *stack;
    double warm_us[RUNS_MAX];
    uint64_t regs[17];
    unsigned reg_count = 0;
    if (weir_sim_stack_new(&stack, (unsigned)frames, 1) < 0) {
        printf("not x86_64\n");
        return SKIP_EXIT;
    }
    struct weir_unwind_source source = weir_sim_stack_source(stack);
    const struct weir_table_source files = {.open = source.open, .ctx = source.ctx};
    const struct weir_unwind_mappings maps = {.find = find, .ctx = &source};
    for (unsigned bit = 0; bit < 64; bit++) {
        if (REGS_MASK >> bit & 1)
            regs[reg_count++] = stack->regs[bit];
    }
    const struct weir_unwind_input input = {.regs_mask = REGS_MASK,
                                            .regs = (const uint8_t *)regs,
                                            .reg_count = reg_count,
                                            .stack = stack->data,
                                            .stack_bytes = stack->bytes};
    if (weir_unwinder_init(&unwinder, weir_unwind_machine_find("x86_64"), &files, 256u << 20) < 0)
        return 1;
    uint64_t from = weir_clock_thread_cpu_ns();
    weir_unwinder_run(&unwinder, &input, &maps, &chain);
    double cold_us = (double)(weir_clock_thread_cpu_ns() - from) / 1e3;
    for (unsigned run = 0; run < runs; run++) {
        from = weir_clock_thread_cpu_ns();
        for (unsigned long long i = 0; i < stacks; i++)
            weir_unwinder_run(&unwinder, &input, &maps, &chain);
        warm_us[run] = (double)(weir_clock_thread_cpu_ns() - from) / 1e3 / (double)stacks;
    }
    qsort(warm_us, runs, sizeof(warm_us[0]), compare);
    printf("{\"benchmark\": \"unwind\", \"frames\": %u, \"end\": \"%s\", \"stacks\": %llu, \"runs\": %llu, "
           "\"files\": %llu, \"table_bytes\": %zu, \"cold_us\": %.1f, \"warm_us\": %.3f, \"warm_us_min\": %.3f, "
           "\"warm_us_max\": %.3f}\n",
           chain.count, weir_unwound_end_text(chain.end), stacks, runs, (unsigned long long)unwinder.tables.loads,
           unwinder.tables.bytes, cold_us, warm_us[runs / 2], warm_us[0], warm_us[runs - 1]);
    weir_unwinder_fini(&unwinder);
    weir_sim_stack_free(stack);
    return chain.count > frames && chain.end == WEIR_UNWIND_OUTERMOST ? 0 : 1;
}

int main(int argc, char **argv)
{
    unsigned long long frames = 16, stacks = 100000, runs = 5;
    bool good = argc % 2 == 1;
    for (int i = 1; good && i + 1 < argc; i += 2) {
        unsigned long long *value = strcmp(argv[i], "--frames") == 0   ? &frames
                                    : strcmp(argv[i], "--stacks") == 0 ? &stacks
                                    : strcmp(argv[i], "--runs") == 0   ? &runs
                                                                       : NULL;
        good = value != NULL;
        if (value)
            *value = strtoull(argv[i + 1], NULL, 10);
    }
    if (!good || frames < 1 || frames > 100 || stacks < 1 || runs < 1 || runs > RUNS_MAX) {
        fprintf(stderr, "usage: unwind [--frames N] [--stacks N] [--runs N]\n");
        return USAGE_EXIT;
    }
    return measure(frames, stacks, runs);
}
