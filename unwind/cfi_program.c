/* Runs the programs of call frame information. */
#include "unwind/cfi_internal.h"
#include "unwind/dwarf_numbers.h"

#define REMEMBERED_MAX 8u

enum instruction { /* DW_CFA_*; the first three hold an operand in their low bits */
    ADVANCE = 0x40,
    OFFSET = 0x80,
    RESTORE = 0xc0,
    NOP = 0x00,
    SET_LOC,
    ADVANCE1,
    ADVANCE2,
    ADVANCE4,
    OFFSET_EXTENDED,
    RESTORE_EXTENDED,
    UNDEFINED,
    SAME_VALUE,
    REGISTER,
    REMEMBER,
    RESTORE_STATE,
    DEF_CFA,
    DEF_CFA_REGISTER,
    DEF_CFA_OFFSET,
    DEF_CFA_EXPRESSION,
    EXPRESSION,
    OFFSET_EXTENDED_SF,
    DEF_CFA_SF,
    DEF_CFA_OFFSET_SF,
    VAL_OFFSET,
    VAL_OFFSET_SF,
    VAL_EXPRESSION,
    NEGATE_RA_STATE = 0x2d, /* arm64; GNU_window_save of SPARC */
    GNU_ARGS_SIZE = 0x2e,
    GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
    HIGH_BITS = 0xc0,
    LOW_BITS = 0x3f,
};

struct place {
    uint8_t place; /* enum weir_cfi_place */
    int32_t value;
};

struct row {
    bool cfa_is_expression;
    uint8_t cfa_reg;
    int32_t cfa_value;
    struct place regs[WEIR_UNWIND_REGS_MAX];
};

struct run {
    const struct weir_cfi_section *section;
    const struct weir_cfi_cie *cie;
    struct weir_cursor program;
    struct row row;
    const struct row *first; /* behind the program of the CIE; NULL: that program runs */
    struct row remembered[REMEMBERED_MAX];
    unsigned remembered_count, steps;
    uint64_t location, until; /* until: the program has said all when it advances beyond */
    bool is_over;
};

static int32_t narrow(struct run *run, int64_t value)
{
    if (value < INT32_MIN || value > INT32_MAX)
        run->program.failed = true;
    return (int32_t)value;
}

/* Multiplies by the CIE's factor. */
static int32_t factored(struct run *run, int64_t value)
{
    int64_t product;
    if (__builtin_mul_overflow(value, run->cie->data_align, &product))
        run->program.failed = true;
    return run->program.failed ? 0 : narrow(run, product);
}

static int32_t factored_unsigned(struct run *run)
{
    uint64_t value = weir_dwarf_uleb(&run->program);
    if (value > INT64_MAX)
        run->program.failed = true;
    return factored(run, (int64_t)value);
}

/* Takes an expression: its offset in the section. */
static int32_t take_expression(struct run *run)
{
    int32_t offset = narrow(run, run->program.data - run->section->data);
    weir_cursor_take(&run->program, weir_dwarf_uleb(&run->program));
    return offset;
}

/* Registers that no return address needs, such as those of vectors, are left out. */
static void set(struct run *run, uint64_t reg, enum weir_cfi_place place, int32_t value)
{
    if (reg < WEIR_UNWIND_REGS_MAX)
        run->row.regs[reg] = (struct place){(uint8_t)place, value};
}

static void restore(struct run *run, uint64_t reg)
{
    if (reg < WEIR_UNWIND_REGS_MAX)
        run->row.regs[reg] = run->first ? run->first->regs[reg] : (struct place){WEIR_CFI_UNSPECIFIED, 0};
}

static void advance(struct run *run, uint64_t steps)
{
    uint64_t distance;
    if (__builtin_mul_overflow(steps, run->cie->code_align, &distance) ||
        __builtin_add_overflow(run->location, distance, &run->location) || run->location > run->until)
        run->is_over = true;
}

static void set_cfa(struct run *run, uint64_t reg, int32_t value)
{
    if (reg >= WEIR_UNWIND_REGS_MAX)
        run->program.failed = true;
    run->row.cfa_is_expression = false;
    run->row.cfa_reg = (uint8_t)reg;
    run->row.cfa_value = value;
}

static void remember(struct run *run)
{
    if (run->remembered_count == REMEMBERED_MAX)
        run->program.failed = true;
    else
        run->remembered[run->remembered_count++] = run->row;
}

static void restore_state(struct run *run)
{
    if (run->remembered_count == 0)
        run->program.failed = true;
    else
        run->row = run->remembered[--run->remembered_count];
}

static bool step_location(struct run *run, unsigned instruction)
{
    switch (instruction) {
    case SET_LOC:
        run->location = weir_cfi_address(run->section, &run->program, run->cie->encoding, false);
        run->is_over = run->location > run->until;
        return true;
    case ADVANCE1:
        advance(run, weir_dwarf_u8(&run->program));
        return true;
    case ADVANCE2:
        advance(run, weir_dwarf_u16(&run->program));
        return true;
    case ADVANCE4:
        advance(run, weir_cursor_u32(&run->program));
        return true;
    default:
        return false;
    }
}

static bool step_cfa(struct run *run, unsigned instruction)
{
    struct weir_cursor *program = &run->program;
    uint64_t reg;
    switch (instruction) {
    case DEF_CFA:
        reg = weir_dwarf_uleb(program);
        set_cfa(run, reg, narrow(run, (int64_t)weir_dwarf_uleb(program)));
        return true;
    case DEF_CFA_SF:
        reg = weir_dwarf_uleb(program);
        set_cfa(run, reg, factored(run, weir_dwarf_sleb(program)));
        return true;
    case DEF_CFA_REGISTER:
        set_cfa(run, weir_dwarf_uleb(program), run->row.cfa_value);
        return true;
    case DEF_CFA_OFFSET:
        run->row.cfa_value = narrow(run, (int64_t)weir_dwarf_uleb(program));
        return true;
    case DEF_CFA_OFFSET_SF:
        run->row.cfa_value = factored(run, weir_dwarf_sleb(program));
        return true;
    case DEF_CFA_EXPRESSION:
        run->row.cfa_value = take_expression(run);
        run->row.cfa_is_expression = true;
        return true;
    default:
        return false;
    }
}

static bool step_register(struct run *run, unsigned instruction, uint64_t reg)
{
    struct weir_cursor *program = &run->program;
    switch (instruction) {
    case OFFSET_EXTENDED:
        set(run, reg, WEIR_CFI_AT_CFA, factored_unsigned(run));
        return true;
    case OFFSET_EXTENDED_SF:
        set(run, reg, WEIR_CFI_AT_CFA, factored(run, weir_dwarf_sleb(program)));
        return true;
    case GNU_NEGATIVE_OFFSET_EXTENDED:
        set(run, reg, WEIR_CFI_AT_CFA, narrow(run, -(int64_t)factored_unsigned(run)));
        return true;
    case VAL_OFFSET:
        set(run, reg, WEIR_CFI_CFA_PLUS, factored_unsigned(run));
        return true;
    case VAL_OFFSET_SF:
        set(run, reg, WEIR_CFI_CFA_PLUS, factored(run, weir_dwarf_sleb(program)));
        return true;
    case RESTORE_EXTENDED:
        restore(run, reg);
        return true;
    case UNDEFINED:
        set(run, reg, WEIR_CFI_UNDEFINED, 0);
        return true;
    case SAME_VALUE:
        set(run, reg, WEIR_CFI_SAME, 0);
        return true;
    case REGISTER:
        set(run, reg, WEIR_CFI_IN_REG, narrow(run, (int64_t)weir_dwarf_uleb(program)));
        return true;
    case EXPRESSION:
        set(run, reg, WEIR_CFI_AT_EXPRESSION, take_expression(run));
        return true;
    case VAL_EXPRESSION:
        set(run, reg, WEIR_CFI_BY_EXPRESSION, take_expression(run));
        return true;
    default:
        return false;
    }
}

static void step(struct run *run)
{
    unsigned instruction = weir_dwarf_u8(&run->program), low = instruction & LOW_BITS;
    switch (instruction & HIGH_BITS) {
    case ADVANCE:
        advance(run, low);
        return;
    case OFFSET:
        set(run, low, WEIR_CFI_AT_CFA, factored_unsigned(run));
        return;
    case RESTORE:
        restore(run, low);
        return;
    default:
        break;
    }
    if (instruction == NOP || instruction == NEGATE_RA_STATE || step_location(run, instruction) ||
        step_cfa(run, instruction))
        return;
    if (instruction == REMEMBER) {
        remember(run);
        return;
    }
    if (instruction == RESTORE_STATE) {
        restore_state(run);
        return;
    }
    uint64_t operand = weir_dwarf_uleb(&run->program);
    if (instruction != GNU_ARGS_SIZE && !step_register(run, instruction, operand))
        run->program.failed = true;
}

static bool run_program(struct run *run, const struct weir_cursor *program)
{
    run->program = *program;
    while (!run->is_over && run->program.bytes > 0 && !run->program.failed) {
        if (run->steps++ == WEIR_CFI_STEPS_MAX)
            return false;
        step(run);
    }
    return !run->program.failed;
}

static void make_rule(const struct run *run, const struct weir_unwind_machine *machine, struct weir_cfi_rule *rule)
{
    const struct row *row = &run->row;
    rule->cfa_is_expression = row->cfa_is_expression;
    rule->is_signal = run->cie->is_signal;
    rule->is_eh = run->section->is_eh;
    rule->cfa_reg = row->cfa_reg;
    rule->cfa_value = row->cfa_value;
    rule->return_reg = run->cie->return_reg;
    rule->count = 0;
    for (uint8_t reg = 0; reg < machine->reg_count; reg++) {
        const struct place *place = &row->regs[reg];
        if (place->place != WEIR_CFI_UNSPECIFIED)
            rule->regs[rule->count++] = (struct weir_cfi_reg_rule){reg, place->place, place->value};
    }
}

bool weir_cfi_program_run(const struct weir_cfi_section *section, const struct weir_unwind_machine *machine,
                          const struct weir_cfi_cie *cie, const struct weir_cfi_fde *fde, uint64_t address,
                          struct weir_cfi_rule *rule)
{
    struct run run = {.section = section, .cie = cie, .location = fde->start, .until = UINT64_MAX};
    run.row.cfa_reg = WEIR_UNWIND_REGS_MAX;
    for (unsigned reg = 0; reg < WEIR_UNWIND_REGS_MAX; reg++)
        run.row.regs[reg].place = WEIR_CFI_UNSPECIFIED;
    if (!run_program(&run, &cie->program))
        return false;
    const struct row first = run.row;
    run.first = &first;
    run.until = address;
    run.location = fde->start;
    run.is_over = false;
    if (!run_program(&run, &fde->program) || (!run.row.cfa_is_expression && run.row.cfa_reg >= machine->reg_count) ||
        cie->return_reg >= machine->reg_count)
        return false;
    make_rule(&run, machine, rule);
    return true;
}
