/* Expressions of tables, byte by byte. */
#include <criterion/criterion.h>

#include "unwind/expression.h"

static const uint64_t words[] = {0x1111, 0x2222, 0x3333};
static const struct weir_unwind_stack stack = {.start = 0x7000, .bytes = sizeof(words), .data = (const uint8_t *)words};
static const struct weir_unwind_regs regs = {.value = {[7] = 0x7000, [16] = 0x105b}, .known = 1u << 7 | 1u << 16};
static const struct weir_expression_frame frame = {.regs = &regs, .stack = &stack};

#define RUN(...)                                                 \
    __extension__({                                              \
        const uint8_t code[] = {__VA_ARGS__};                    \
        value = 0;                                               \
        weir_expression_run(code, sizeof(code), &frame, &value); \
    })

Test(expression, what_fails_has_no_value)
{
    uint64_t value;
    cr_assert(!RUN(0x06), "no address to read");
    cr_assert(!RUN(0x22), "nothing to add");
    cr_assert(!RUN(0x30, 0x30, 0x1b), "a division by zero");
    cr_assert(!RUN(0x73, 0), "a register that is not known");
    cr_assert(!RUN(0x92, 0xff, 0x7f, 0), "a register that there is not");
    cr_assert(!RUN(0x77, 24, 0x06), "behind the stack");
    cr_assert(!RUN(0x77, 17, 0x06), "across the end of the stack");
    cr_assert(!RUN(0x77, 0x7f, 0x06), "in front of the stack");
    cr_assert(!RUN(0x0e, 1, 2), "an operand that is cut");
    cr_assert(!RUN(0x03, 0, 0, 0, 0, 0, 0, 0, 0), "an operation that tables do not use");
    cr_assert(!RUN(0x2f, 0xfd, 0xff), "an endless loop");
    cr_assert(!RUN(0x2f, 0x10, 0), "a jump beyond the end");
    cr_assert(!RUN(0x30, 0x2f, 0xfc, 0xff), "a stack that overflows");
}

/* The rule of lazy procedure linkage tables: 8 bytes more from the second instruction of an entry on. */
Test(expression, entry_of_a_linkage_table)
{
    uint64_t value;
    cr_assert(RUN(0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22));
    cr_assert_eq(value, 0x7000 + 8 + 8);
}

Test(expression, operations)
{
    uint64_t value;
    cr_assert(RUN(0x77, 8, 0x06));
    cr_assert_eq(value, 0x2222);
    cr_assert(RUN(0x77, 9, 0x94, 1));
    cr_assert_eq(value, 0x22);
    cr_assert(RUN(0x31, 0x32, 0x33, 0x17, 0x1c)); /* 1 2 3: rotated 3 1 2; 1 - 2 */
    cr_assert_eq(value, UINT64_MAX);
    cr_assert(RUN(0x09, 0xf8, 0x32, 0x26));
    cr_assert_eq((int64_t)value, -2);
    cr_assert(RUN(0x09, 0xf8, 0x19, 0x23, 0x80, 1));
    cr_assert_eq(value, 136);
    cr_assert(RUN(0x31, 0x28, 1, 0, 0x35, 0x36)); /* the branch passes by 5 */
    cr_assert_eq(value, 6);
    cr_assert(RUN(0x35, 0x36, 0x14));
    cr_assert_eq(value, 5);
}

Test(expression, of_a_register_begins_with_the_cfa)
{
    const uint64_t cfa = 0x7010;
    const struct weir_expression_frame with_cfa = {.regs = &regs, .stack = &stack, .cfa = &cfa};
    const uint8_t code[] = {0x38, 0x1c, 0x06};
    uint64_t value;
    cr_assert(weir_expression_run(code, sizeof(code), &with_cfa, &value));
    cr_assert_eq(value, 0x2222);
}
