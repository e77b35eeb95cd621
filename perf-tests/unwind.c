/*
 * What unwinding a stack costs: `unwind [--frames N] [--stacks N] [--runs N]`.
 *
 * The program copies its own registers and stack, N calls deep, as the kernel does for a sample, and unwinds that copy
 * again and again with the tables of its own files. JSON: CPU time of the first stack, which reads the files, and of a
 * stack with warm caches, the median over the runs, in microseconds. x86_64; elsewhere a skip.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SKIP_EXIT  77
#define USAGE_EXIT 2

#ifdef __x86_64__

#include <errno.h>
#include <fcntl.h>
#include <ucontext.h>

#include "base/bits.h"
#include "base/clock.h"
#include "unwind/unwinder.h"

#define STACK_BYTES  8192u /* the kernel copies as much by default */
#define MAPPINGS_MAX 64u
#define RUNS_MAX     16u
#define REGS_MASK    0xff01ffu

struct mapping {
    uint64_t start, end, offset;
    char path[256];
};

static struct mapping mappings[MAPPINGS_MAX];
static unsigned mapping_count;
static ucontext_t context;
static uint8_t stack[STACK_BYTES];
static size_t stack_bytes;
static volatile unsigned sink;

/* Reads the executable mappings, and returns the end of the stack. */
static uint64_t read_mappings(void)
{
    FILE *file = fopen("/proc/self/maps", "re");
    char line[512], mode[8];
    uint64_t end_of_stack = 0;
    while (file && fgets(line, sizeof(line), file)) {
        struct mapping mapping = {.path = ""};
        if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %255s", &mapping.start, &mapping.end, mode, &mapping.offset,
                   mapping.path) < 4)
            continue;
        if (strcmp(mapping.path, "[stack]") == 0)
            end_of_stack = mapping.end;
        if (mode[2] == 'x' && mapping.path[0] == '/' && mapping_count < MAPPINGS_MAX)
            mappings[mapping_count++] = mapping;
    }
    if (file)
        fclose(file);
    return end_of_stack;
}

static int open_file(void *ctx, uint64_t key)
{
    (void)ctx;
    int fd = open(mappings[key].path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static bool find(void *ctx, uint64_t address, struct weir_unwind_mapping *found)
{
    (void)ctx;
    for (unsigned i = 0; i < mapping_count; i++) {
        if (address < mappings[i].start || address >= mappings[i].end)
            continue;
        *found = (struct weir_unwind_mapping){
            .start = mappings[i].start, .offset = mappings[i].offset, .has_file = true, .key = i};
        return true;
    }
    return false;
}

__attribute__((noinline)) static void descend(unsigned long long frames, uint64_t end_of_stack)
{
    if (frames > 1) {
        descend(frames - 1, end_of_stack);
    } else if (getcontext(&context) == 0) {
        uint64_t top = (uint64_t)context.uc_mcontext.gregs[REG_RSP];
        stack_bytes = weir_min_u64(sizeof(stack), end_of_stack - top);
        memcpy(stack, (const void *)(uintptr_t)top, stack_bytes); /* NOLINT(performance-no-int-to-ptr) */
    }
    sink++; /* the call above is no jump */
}

/* The registers in the order of the kernel's mask: ax bx cx dx si di bp sp ip r8 to r15. */
static void order_regs(uint64_t regs[17])
{
    static const int order[] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_RIP,
                                REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    for (unsigned i = 0; i < WEIR_ARRAY_COUNT(order); i++)
        regs[i] = (uint64_t)context.uc_mcontext.gregs[order[i]];
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
    const struct weir_table_source files = {.open = open_file};
    const struct weir_unwind_mappings maps = {.find = find};
    uint64_t regs[17];
    double warm_us[RUNS_MAX];
    descend(frames, read_mappings());
    order_regs(regs);
    const struct weir_unwind_input input = {.regs_mask = REGS_MASK,
                                            .regs = (const uint8_t *)regs,
                                            .reg_count = 17,
                                            .stack = stack,
                                            .stack_bytes = stack_bytes};
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
           chain.count, weir_unwind_end_text(chain.end), stacks, runs, (unsigned long long)unwinder.tables.loads,
           unwinder.tables.bytes, cold_us, warm_us[runs / 2], warm_us[0], warm_us[runs - 1]);
    weir_unwinder_fini(&unwinder);
    return chain.count > frames && chain.end == WEIR_UNWIND_OUTERMOST ? 0 : 1;
}

#else

static int measure(unsigned long long frames, unsigned long long stacks, unsigned long long runs)
{
    (void)frames, (void)stacks, (void)runs;
    printf("not x86_64\n");
    return SKIP_EXIT;
}

#define RUNS_MAX 16u

#endif

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
