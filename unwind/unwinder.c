#include "unwind/unwinder.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "format/bytes.h"

#define FRAME_DISTANCE_MAX 0x4000u /* from the stack pointer to a frame pointer that is believed */
#define MIX                0x9e3779b97f4a7c15ull

struct weir_unwind_known_rule {
    uint64_t address; /* in the file's own numbering */
    uint32_t serial;  /* of the table; 0: empty */
    bool is_found;    /* false: the table has no rule for the address */
    struct weir_cfi_rule rule;
};

/* A stack while it is unwound. */
struct walk {
    struct weir_unwinder *unwinder;
    const struct weir_unwind_mappings *mappings;
    struct weir_unwind_chain *chain;
    struct weir_unwind_stack stack;
    struct weir_unwind_regs regs;
    uint64_t pc;
    bool was_interrupted; /* pc is that of an instruction, not a return address */
    unsigned max_frames;
    uint64_t loads_limit; /* of the cache's count */
};

/* The rule of a frame. */
struct found {
    const struct weir_cfi_rule *rule;      /* NULL: none, for the reason */
    const struct weir_unwind_table *table; /* of the rule */
    enum weir_unwind_end reason;
};

int weir_unwinder_init(struct weir_unwinder *unwinder, const struct weir_unwind_machine *machine,
                       const struct weir_table_source *files, size_t max_bytes)
{
    *unwinder = (struct weir_unwinder){.machine = machine};
    unwinder->rules = calloc(WEIR_UNWIND_RULES, sizeof(*unwinder->rules));
    if (!unwinder->rules)
        return -ENOMEM;
    int result = weir_table_cache_init(&unwinder->tables, machine, files, max_bytes);
    if (result < 0)
        free(unwinder->rules);
    return result;
}

void weir_unwinder_fini(struct weir_unwinder *unwinder)
{
    weir_table_cache_fini(&unwinder->tables);
    free(unwinder->rules);
    *unwinder = (struct weir_unwinder){.machine = NULL};
}

size_t weir_unwinder_bytes(void)
{
    return WEIR_UNWIND_RULES * sizeof(struct weir_unwind_known_rule) + weir_table_cache_own_bytes();
}

/* ---- rules ---- */

static const struct weir_unwind_known_rule *find_rule(struct weir_unwinder *unwinder,
                                                      const struct weir_table_slot *slot, uint64_t address)
{
    uint64_t hash = (address ^ (uint64_t)slot->serial << 40) * MIX;
    struct weir_unwind_known_rule *known = &unwinder->rules[hash >> 32 & (WEIR_UNWIND_RULES - 1)];
    if (known->serial == slot->serial && known->address == address)
        return known;
    known->serial = slot->serial;
    known->address = address;
    known->is_found = weir_unwind_table_find(&slot->table, unwinder->machine, address, &known->rule);
    return known;
}

static struct found find(struct walk *walk)
{
    struct weir_unwind_mapping mapping;
    uint64_t code = walk->was_interrupted ? walk->pc : walk->pc - 1, address;
    struct weir_table_cache *tables = &walk->unwinder->tables;
    if (!walk->mappings->find(walk->mappings->ctx, code, &mapping))
        return (struct found){.reason = WEIR_UNWIND_NO_MAPPING};
    if (!mapping.has_file)
        return (struct found){.reason = WEIR_UNWIND_NO_RULE};
    const struct weir_table_slot *slot = weir_table_cache_find(tables, mapping.key, tables->loads < walk->loads_limit);
    if (!slot || !slot->is_usable)
        return (struct found){.reason = WEIR_UNWIND_NO_TABLE};
    if (!weir_unwind_table_address(&slot->table, code - mapping.start + mapping.offset, &address))
        return (struct found){.reason = WEIR_UNWIND_NO_RULE};
    const struct weir_unwind_known_rule *known = find_rule(walk->unwinder, slot, address);
    return (struct found){
        .rule = known->is_found ? &known->rule : NULL, .table = &slot->table, .reason = WEIR_UNWIND_NO_RULE};
}

/* ---- steps ---- */

static bool evaluate(const struct walk *walk, const struct found *found, int32_t offset, const uint64_t *cfa,
                     uint64_t *value)
{
    const struct weir_cfi_section *section = found->rule->is_eh ? &found->table->eh_frame : &found->table->debug_frame;
    const struct weir_expression_frame frame = {.regs = &walk->regs, .stack = &walk->stack, .cfa = cfa};
    size_t bytes;
    const uint8_t *code = weir_cfi_expression(section, offset, &bytes);
    return code && weir_expression_run(code, bytes, &frame, value);
}

static bool is_known(const struct weir_unwind_regs *regs, unsigned reg)
{
    return reg < WEIR_UNWIND_REGS_MAX && (regs->known >> reg & 1);
}

static void set(struct weir_unwind_regs *regs, unsigned reg, bool is_there, uint64_t value)
{
    regs->value[reg] = value;
    regs->known = is_there ? regs->known | 1ull << reg : regs->known & ~(1ull << reg);
}

static void set_pc(struct walk *walk, uint64_t pc)
{
    unsigned reg = walk->unwinder->machine->pc_reg;
    walk->pc = pc;
    if (reg < WEIR_UNWIND_REGS_MAX)
        set(&walk->regs, reg, true, pc);
}

/* The caller's value of one register. */
static void restore(const struct walk *walk, const struct found *found, const struct weir_cfi_reg_rule *rule,
                    uint64_t cfa, struct weir_unwind_regs *caller)
{
    uint64_t value = 0, address;
    bool is_there = false;
    switch ((enum weir_cfi_place)rule->place) {
    case WEIR_CFI_SAME:
        value = walk->regs.value[rule->reg];
        is_there = is_known(&walk->regs, rule->reg);
        break;
    case WEIR_CFI_AT_CFA:
        is_there = weir_unwind_stack_read(&walk->stack, cfa + (uint64_t)(int64_t)rule->value, &value);
        break;
    case WEIR_CFI_CFA_PLUS:
        value = cfa + (uint64_t)(int64_t)rule->value;
        is_there = true;
        break;
    case WEIR_CFI_IN_REG:
        is_there = rule->value >= 0 && is_known(&walk->regs, (unsigned)rule->value);
        value = is_there ? walk->regs.value[rule->value] : 0;
        break;
    case WEIR_CFI_AT_EXPRESSION:
        is_there =
            evaluate(walk, found, rule->value, &cfa, &address) && weir_unwind_stack_read(&walk->stack, address, &value);
        break;
    case WEIR_CFI_BY_EXPRESSION:
        is_there = evaluate(walk, found, rule->value, &cfa, &value);
        break;
    case WEIR_CFI_UNDEFINED:
    case WEIR_CFI_UNSPECIFIED:
        break;
    }
    set(caller, rule->reg, is_there, value);
}

/* Whether the table says that the frame has no caller. */
static bool is_outermost(const struct weir_cfi_rule *rule)
{
    for (unsigned i = 0; i < rule->count; i++) {
        if (rule->regs[i].reg == rule->return_reg)
            return rule->regs[i].place == WEIR_CFI_UNDEFINED;
    }
    return false;
}

/* Goes to the caller by a rule. False: walk is unchanged, and the reason is in chain->end. */
static bool step_by_rule(struct walk *walk, const struct found *found)
{
    const struct weir_unwind_machine *machine = walk->unwinder->machine;
    const struct weir_cfi_rule *rule = found->rule;
    uint64_t cfa;
    walk->chain->end = WEIR_UNWIND_STACK_CUT;
    if (rule->cfa_is_expression) {
        if (!evaluate(walk, found, rule->cfa_value, NULL, &cfa))
            return false;
    } else {
        if (!is_known(&walk->regs, rule->cfa_reg))
            return false;
        cfa = walk->regs.value[rule->cfa_reg] + (uint64_t)(int64_t)rule->cfa_value;
    }
    struct weir_unwind_regs caller = walk->regs;
    caller.known &= machine->kept;
    set(&caller, machine->stack_reg, true, cfa);
    for (unsigned i = 0; i < rule->count; i++)
        restore(walk, found, &rule->regs[i], cfa, &caller);
    if (!is_known(&caller, rule->return_reg))
        return false;
    uint64_t pc = caller.value[rule->return_reg] & machine->address_bits;
    if (pc == walk->pc && cfa == walk->regs.value[machine->stack_reg]) {
        walk->chain->end = WEIR_UNWIND_LOOP;
        return false;
    }
    walk->regs = caller;
    set_pc(walk, pc);
    walk->was_interrupted = rule->is_signal;
    return true;
}

/* Goes to the caller by the frame pointer. False: it does not look like one. */
static bool step_by_frame_pointer(struct walk *walk)
{
    const struct weir_unwind_machine *machine = walk->unwinder->machine;
    uint64_t frame = walk->regs.value[machine->frame_reg], stack = walk->regs.value[machine->stack_reg];
    uint64_t outer, pc;
    if (!is_known(&walk->regs, machine->frame_reg) || frame < stack || frame - stack > FRAME_DISTANCE_MAX ||
        !weir_unwind_stack_read(&walk->stack, frame, &outer) ||
        !weir_unwind_stack_read(&walk->stack, frame + sizeof(outer), &pc))
        return false;
    walk->regs.known = 0;
    set(&walk->regs, machine->frame_reg, true, outer);
    set(&walk->regs, machine->stack_reg, true, frame + 2 * sizeof(outer));
    set_pc(walk, pc & machine->address_bits);
    walk->was_interrupted = false;
    return true;
}

/* ---- the walk ---- */

static bool begin(struct walk *walk, const struct weir_unwind_input *input)
{
    const struct weir_unwind_machine *machine = walk->unwinder->machine;
    uint64_t pc_bit = 1ull << machine->pc_bit;
    uint64_t stack_bit = 1ull << machine->sample_bits[machine->stack_reg];
    if (input->reg_count != (uint64_t)__builtin_popcountll(input->regs_mask) || !(input->regs_mask & pc_bit))
        return false;
    for (unsigned reg = 0; reg < machine->reg_count; reg++) {
        uint64_t bit = machine->sample_bits[reg] < 64 ? 1ull << machine->sample_bits[reg] : 0;
        if (input->regs_mask & bit) {
            unsigned index = (unsigned)__builtin_popcountll(input->regs_mask & (bit - 1));
            set(&walk->regs, reg, true, weir_load_u64(input->regs + index * sizeof(uint64_t)));
        }
    }
    size_t before = (size_t)__builtin_popcountll(input->regs_mask & (pc_bit - 1));
    set_pc(walk, weir_load_u64(input->regs + before * sizeof(uint64_t)));
    walk->stack = (struct weir_unwind_stack){.start = walk->regs.value[machine->stack_reg],
                                             .bytes = input->regs_mask & stack_bit ? input->stack_bytes : 0,
                                             .data = input->stack};
    walk->was_interrupted = true;
    return true;
}

/* Adds the present frame. An address that would be a mark in a call chain (PERF_CONTEXT_*) ends it. */
static bool add(struct walk *walk, bool is_trampoline)
{
    uint64_t address = walk->was_interrupted || is_trampoline ? walk->pc : walk->pc - 1;
    if (walk->pc == 0 || address >= (uint64_t)-4095) {
        walk->chain->end = WEIR_UNWIND_OUTERMOST;
        return false;
    }
    if (walk->chain->count == walk->max_frames) {
        walk->chain->end = WEIR_UNWIND_LIMIT;
        return false;
    }
    walk->chain->frames[walk->chain->count++] = address;
    return true;
}

static bool step(struct walk *walk)
{
    const struct found found = find(walk);
    if (!add(walk, found.rule && found.rule->is_signal))
        return false;
    if (found.rule && is_outermost(found.rule)) {
        walk->chain->end = WEIR_UNWIND_OUTERMOST;
        return false;
    }
    walk->chain->end = found.reason;
    if (found.rule && step_by_rule(walk, &found))
        return true;
    return walk->chain->end != WEIR_UNWIND_LOOP && step_by_frame_pointer(walk);
}

void weir_unwinder_run(struct weir_unwinder *unwinder, const struct weir_unwind_input *input,
                       const struct weir_unwind_mappings *mappings, struct weir_unwind_chain *chain)
{
    struct walk walk = {.unwinder = unwinder, .mappings = mappings, .chain = chain};
    walk.max_frames = input->max_frames > 0 ? (unsigned)weir_min_u64(input->max_frames, WEIR_UNWIND_FRAMES_MAX)
                                            : WEIR_UNWIND_FRAMES_MAX;
    walk.loads_limit = unwinder->tables.loads + WEIR_UNWIND_LOADS_MAX;
    chain->count = 0;
    chain->end = WEIR_UNWIND_NO_REGS;
    if (!begin(&walk, input))
        return;
    while (step(&walk))
        ;
}
