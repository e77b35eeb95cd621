#include "unwind/expression.h"

#include "unwind/dwarf_numbers.h"

enum operation { /* DW_OP_* */
    OP_DEREF = 0x06,
    OP_CONST1U = 0x08,
    OP_CONST1S,
    OP_CONST2U,
    OP_CONST2S,
    OP_CONST4U,
    OP_CONST4S,
    OP_CONST8U,
    OP_CONST8S,
    OP_CONSTU,
    OP_CONSTS,
    OP_DUP,
    OP_DROP,
    OP_OVER,
    OP_PICK,
    OP_SWAP,
    OP_ROT,
    OP_ABS = 0x19,
    OP_AND,
    OP_DIV,
    OP_MINUS,
    OP_MOD,
    OP_MUL,
    OP_NEG,
    OP_NOT,
    OP_OR,
    OP_PLUS,
    OP_PLUS_UCONST,
    OP_SHL,
    OP_SHR,
    OP_SHRA,
    OP_XOR,
    OP_BRA,
    OP_EQ,
    OP_GE,
    OP_GT,
    OP_LE,
    OP_LT,
    OP_NE,
    OP_SKIP,
    OP_LIT0 = 0x30,
    OP_LIT31 = 0x4f,
    OP_BREG0 = 0x70,
    OP_BREG31 = 0x8f,
    OP_BREGX = 0x92,
    OP_DEREF_SIZE = 0x94,
    OP_NOP = 0x96,
};

/* A run. A failure of the stack fails the cursor, which then has no further operation. */
struct run {
    struct weir_cursor code;
    const uint8_t *begin; /* of the whole expression */
    size_t bytes;
    const struct weir_expression_frame *frame;
    uint64_t words[WEIR_EXPRESSION_DEPTH];
    unsigned depth;
};

static void fail(struct run *run)
{
    run->code.failed = true;
}

static void push(struct run *run, uint64_t value)
{
    if (run->depth == WEIR_EXPRESSION_DEPTH)
        fail(run);
    else
        run->words[run->depth++] = value;
}

static uint64_t pop(struct run *run)
{
    if (run->depth == 0) {
        fail(run);
        return 0;
    }
    return run->words[--run->depth];
}

/* The word that many below the top. */
static uint64_t peek(struct run *run, unsigned below)
{
    if (below >= run->depth) {
        fail(run);
        return 0;
    }
    return run->words[run->depth - 1 - below];
}

static void push_reg(struct run *run, uint64_t reg)
{
    uint64_t offset = (uint64_t)weir_dwarf_sleb(&run->code);
    if (reg >= WEIR_UNWIND_REGS_MAX || !(run->frame->regs->known >> reg & 1))
        fail(run);
    else
        push(run, run->frame->regs->value[reg] + offset);
}

/* Reads 1, 2, 4 or 8 bytes of the stack. */
static void dereference(struct run *run, unsigned bytes)
{
    uint64_t address = pop(run), value = 0;
    if (bytes == 0 || bytes > 8 || (bytes & (bytes - 1)))
        fail(run);
    uint64_t offset = address - run->frame->stack->start;
    if (run->code.failed || offset > run->frame->stack->bytes || bytes > run->frame->stack->bytes - offset) {
        fail(run);
        return;
    }
    memcpy(&value, run->frame->stack->data + offset, bytes);
    push(run, value);
}

static void jump(struct run *run, int16_t distance)
{
    int64_t target = (int64_t)(run->code.data - run->begin) + distance;
    if (target < 0 || (uint64_t)target > run->bytes) {
        fail(run);
        return;
    }
    run->code.data = run->begin + target;
    run->code.bytes = run->bytes - (size_t)target;
}

static bool push_constant(struct run *run, unsigned operation)
{
    struct weir_cursor *code = &run->code;
    switch (operation) {
    case OP_CONST1U:
        push(run, weir_dwarf_u8(code));
        return true;
    case OP_CONST1S:
        push(run, (uint64_t)(int64_t)(int8_t)weir_dwarf_u8(code));
        return true;
    case OP_CONST2U:
        push(run, weir_dwarf_u16(code));
        return true;
    case OP_CONST2S:
        push(run, (uint64_t)(int64_t)(int16_t)weir_dwarf_u16(code));
        return true;
    case OP_CONST4U:
        push(run, weir_cursor_u32(code));
        return true;
    case OP_CONST4S:
        push(run, (uint64_t)(int64_t)(int32_t)weir_cursor_u32(code));
        return true;
    case OP_CONST8U:
    case OP_CONST8S:
        push(run, weir_cursor_u64(code));
        return true;
    case OP_CONSTU:
        push(run, weir_dwarf_uleb(code));
        return true;
    case OP_CONSTS:
        push(run, (uint64_t)weir_dwarf_sleb(code));
        return true;
    default:
        return false;
    }
}

static void rotate(struct run *run)
{
    uint64_t first = pop(run), second = pop(run), third = pop(run);
    push(run, first);
    push(run, third);
    push(run, second);
}

static bool move_words(struct run *run, unsigned operation)
{
    uint64_t first, second;
    switch (operation) {
    case OP_DUP:
        push(run, peek(run, 0));
        return true;
    case OP_DROP:
        pop(run);
        return true;
    case OP_OVER:
        push(run, peek(run, 1));
        return true;
    case OP_PICK:
        push(run, peek(run, weir_dwarf_u8(&run->code)));
        return true;
    case OP_SWAP:
        first = pop(run);
        second = pop(run);
        push(run, first);
        push(run, second);
        return true;
    case OP_ROT:
        rotate(run);
        return true;
    default:
        return false;
    }
}

static bool compute_of_one(struct run *run, unsigned operation)
{
    uint64_t value;
    switch (operation) {
    case OP_ABS:
        value = pop(run);
        push(run, (int64_t)value < 0 ? -value : value);
        return true;
    case OP_NEG:
        push(run, -pop(run));
        return true;
    case OP_NOT:
        push(run, ~pop(run));
        return true;
    case OP_PLUS_UCONST:
        value = pop(run);
        push(run, value + weir_dwarf_uleb(&run->code));
        return true;
    default:
        return false;
    }
}

/* Shifts right and fills with the sign; by: below 64. */
static uint64_t shift_with_sign(uint64_t value, unsigned by)
{
    uint64_t sign = value >> 63 ? UINT64_MAX : 0;
    return by == 0 ? value : value >> by | sign << (64 - by);
}

/* b: the word that was on top. */
static bool combine(struct run *run, unsigned operation, uint64_t a, uint64_t b, uint64_t *result)
{
    int64_t left = (int64_t)a, right = (int64_t)b;
    bool is_division = operation == OP_DIV || operation == OP_MOD;
    if (is_division && (b == 0 || (left == INT64_MIN && right == -1))) {
        fail(run);
        return true;
    }
    switch (operation) {
    case OP_AND:
        *result = a & b;
        return true;
    case OP_DIV:
        *result = (uint64_t)(left / right);
        return true;
    case OP_MINUS:
        *result = a - b;
        return true;
    case OP_MOD:
        *result = a % b;
        return true;
    case OP_MUL:
        *result = a * b;
        return true;
    case OP_OR:
        *result = a | b;
        return true;
    case OP_PLUS:
        *result = a + b;
        return true;
    case OP_SHL:
        *result = b < 64 ? a << b : 0;
        return true;
    case OP_SHR:
        *result = b < 64 ? a >> b : 0;
        return true;
    case OP_SHRA:
        *result = shift_with_sign(a, b < 63 ? (unsigned)b : 63);
        return true;
    case OP_XOR:
        *result = a ^ b;
        return true;
    case OP_EQ:
        *result = left == right;
        return true;
    case OP_GE:
        *result = left >= right;
        return true;
    case OP_GT:
        *result = left > right;
        return true;
    case OP_LE:
        *result = left <= right;
        return true;
    case OP_LT:
        *result = left < right;
        return true;
    case OP_NE:
        *result = left != right;
        return true;
    default:
        return false;
    }
}

static void compute(struct run *run, unsigned operation)
{
    if (push_constant(run, operation) || move_words(run, operation) || compute_of_one(run, operation))
        return;
    uint64_t result = 0, top = pop(run), below = pop(run);
    if (combine(run, operation, below, top, &result))
        push(run, result);
    else
        fail(run);
}

static void step(struct run *run)
{
    unsigned operation = weir_dwarf_u8(&run->code);
    if (operation >= OP_LIT0 && operation <= OP_LIT31)
        push(run, operation - OP_LIT0);
    else if (operation >= OP_BREG0 && operation <= OP_BREG31)
        push_reg(run, operation - OP_BREG0);
    else if (operation == OP_BREGX)
        push_reg(run, weir_dwarf_uleb(&run->code));
    else if (operation == OP_DEREF)
        dereference(run, sizeof(uint64_t));
    else if (operation == OP_DEREF_SIZE)
        dereference(run, weir_dwarf_u8(&run->code));
    else if (operation == OP_SKIP)
        jump(run, (int16_t)weir_dwarf_u16(&run->code));
    else if (operation == OP_BRA) {
        int16_t distance = (int16_t)weir_dwarf_u16(&run->code);
        if (pop(run) != 0)
            jump(run, distance);
    } else if (operation != OP_NOP)
        compute(run, operation);
}

bool weir_expression_run(const uint8_t *data, size_t bytes, const struct weir_expression_frame *frame, uint64_t *result)
{
    struct run run = {.code = {.data = data, .bytes = bytes}, .begin = data, .bytes = bytes, .frame = frame};
    if (frame->cfa)
        push(&run, *frame->cfa);
    for (unsigned steps = 0; !run.code.failed && run.code.bytes > 0; steps++) {
        if (steps == WEIR_EXPRESSION_STEPS_MAX)
            return false;
        step(&run);
    }
    *result = pop(&run);
    return !run.code.failed;
}

bool weir_unwind_stack_read(const struct weir_unwind_stack *stack, uint64_t address, uint64_t *value)
{
    uint64_t offset = address - stack->start;
    if (offset > stack->bytes || sizeof(*value) > stack->bytes - offset)
        return false;
    *value = weir_load_u64(stack->data + offset);
    return true;
}
