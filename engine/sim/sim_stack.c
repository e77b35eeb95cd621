#include "engine/sim/sim_stack.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef __x86_64__

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#include "base/bits.h"

/* Reads the mappings with code, and returns the end of the stack. */
static uint64_t read_mappings(struct weir_sim_stack *stack)
{
    FILE *file = fopen("/proc/self/maps", "re");
    char line[512], mode[8];
    uint64_t end_of_stack = 0;
    while (file && fgets(line, sizeof(line), file)) {
        struct weir_sim_mapping mapping = {.path = ""};
        if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %255s", &mapping.start, &mapping.end, mode, &mapping.offset,
                   mapping.path) < 4)
            continue;
        if (strcmp(mapping.path, "[stack]") == 0)
            end_of_stack = mapping.end;
        if (mode[2] == 'x' && mapping.path[0] == '/' && stack->mapping_count < WEIR_SIM_STACK_MAPPINGS_MAX)
            stack->mappings[stack->mapping_count++] = mapping;
    }
    if (file)
        fclose(file);
    return end_of_stack;
}

/* The registers of the kernel's mask: ax bx cx dx si di bp sp ip, and from 16 on r8 to r15. */
static void order_regs(const ucontext_t *context, struct weir_sim_stack *stack)
{
    static const struct {
        uint8_t bit;
        int reg;
    } order[] = {{0, REG_RAX},  {1, REG_RBX},  {2, REG_RCX},  {3, REG_RDX},  {4, REG_RSI}, {5, REG_RDI},
                 {6, REG_RBP},  {7, REG_RSP},  {8, REG_RIP},  {16, REG_R8},  {17, REG_R9}, {18, REG_R10},
                 {19, REG_R11}, {20, REG_R12}, {21, REG_R13}, {22, REG_R14}, {23, REG_R15}};
    for (unsigned i = 0; i < WEIR_ARRAY_COUNT(order); i++)
        stack->regs[order[i].bit] = (uint64_t)context->uc_mcontext.gregs[order[i].reg];
    stack->ip = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
}

/* Copies all words of the stack, as the kernel does. A sanitizer refuses those between the variables; volatile keeps
 * the loop from becoming a call of memcpy(3), which a sanitizer checks, too. */
__attribute__((noinline, no_sanitize("address"))) static void copy_stack(struct weir_sim_stack *stack, uint64_t top)
{
    const volatile uint64_t *from = (const volatile uint64_t *)(uintptr_t)top; /* NOLINT(performance-no-int-to-ptr) */
    for (uint64_t i = 0; i < stack->bytes / sizeof(*from); i++) {
        uint64_t word = from[i];
        memcpy(stack->data + i * sizeof(word), &word, sizeof(word));
    }
}

/* Returns a number, so that no call of itself is a jump. */
__attribute__((noinline)) static unsigned descend(struct weir_sim_stack *stack, unsigned frames, uint64_t end_of_stack,
                                                  ucontext_t *context)
{
    if (frames > 1)
        return 1 + descend(stack, frames - 1, end_of_stack, context);
    if (getcontext(context) < 0)
        return 0;
    uint64_t top = (uint64_t)context->uc_mcontext.gregs[REG_RSP];
    stack->bytes = weir_min_u64(sizeof(stack->data), end_of_stack - top);
    copy_stack(stack, top);
    order_regs(context, stack);
    return 1;
}

static void open_file(struct weir_sim_mapping *mapping, unsigned opens)
{
    while (mapping->fd_count < weir_min_u64(opens, WEIR_SIM_STACK_OPENS_MAX)) {
        int fd = open(mapping->path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            return;
        mapping->fds[mapping->fd_count++] = fd;
    }
}

int weir_sim_stack_new(struct weir_sim_stack **made, unsigned frames, unsigned opens)
{
    ucontext_t context;
    struct weir_sim_stack *stack = calloc(1, sizeof(*stack));
    *made = stack;
    if (!stack)
        return -ENOMEM;
    uint64_t end_of_stack = read_mappings(stack);
    for (unsigned i = 0; i < stack->mapping_count; i++)
        open_file(&stack->mappings[i], opens);
    if (end_of_stack > 0 && descend(stack, frames, end_of_stack, &context) == frames)
        return 0;
    weir_sim_stack_free(stack);
    *made = NULL;
    return -ENOTSUP;
}

static bool find(void *ctx, pid_t pid, uint64_t time_ns, uint64_t address, struct weir_unwind_mapping *mapping)
{
    const struct weir_sim_stack *stack = ctx;
    (void)pid, (void)time_ns;
    for (unsigned i = 0; i < stack->mapping_count; i++) {
        const struct weir_sim_mapping *at = &stack->mappings[i];
        if (address < at->start || address >= at->end)
            continue;
        *mapping = (struct weir_unwind_mapping){.start = at->start, .offset = at->offset, .has_file = true, .key = i};
        return true;
    }
    return false;
}

#else

int weir_sim_stack_new(struct weir_sim_stack **made, unsigned frames, unsigned opens)
{
    (void)frames, (void)opens;
    *made = NULL;
    return -ENOTSUP;
}

static bool find(void *ctx, pid_t pid, uint64_t time_ns, uint64_t address, struct weir_unwind_mapping *mapping)
{
    (void)ctx, (void)pid, (void)time_ns, (void)address, (void)mapping;
    return false;
}

#endif

static int take_file(void *ctx, uint64_t key)
{
    struct weir_sim_stack *stack = ctx;
    struct weir_sim_mapping *mapping = &stack->mappings[key];
    unsigned number = atomic_fetch_add_explicit(&mapping->taken, 1, memory_order_relaxed);
    return number < mapping->fd_count ? mapping->fds[number] : -EMFILE;
}

static bool catch_up(void *ctx)
{
    (void)ctx;
    return true;
}

struct weir_unwind_source weir_sim_stack_source(struct weir_sim_stack *stack)
{
    return (struct weir_unwind_source){.find = find, .catch_up = catch_up, .open = take_file, .ctx = stack};
}

void weir_sim_stack_free(struct weir_sim_stack *stack)
{
    for (unsigned i = 0; stack && i < stack->mapping_count; i++) {
        struct weir_sim_mapping *mapping = &stack->mappings[i];
        /* Relaxed: the users' threads are joined. */
        for (unsigned n = atomic_load_explicit(&mapping->taken, memory_order_relaxed); n < mapping->fd_count; n++)
            close(mapping->fds[n]);
    }
    free(stack);
}
