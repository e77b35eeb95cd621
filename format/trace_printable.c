/*
 * The constructs of a print format that are harmless for a sample. The forms are those of libtraceevent 1.7,
 * src/event-parse.c: eval_num_arg(), print_str_arg(), parse_arg_format(). One thread.
 */
#include "format/trace_printable.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "base/bits.h"
#include "format/trace_field.h"
#include "format/trace_formats.h"

#define WIDTH_DIGITS_MAX 4u /* printf(3) fills whatever width there is */

struct sample {
    struct tep_event *event;
    const uint8_t *raw;
    size_t bytes;
};

/* ---- fields ---- */

static bool are_fields_good(const struct sample *sample, const struct tep_format_field *field)
{
    const uint8_t *data;
    size_t length;
    for (; field; field = field->next) {
        bool is_fixed_array = (field->flags & TEP_FIELD_IS_ARRAY) && !(field->flags & TEP_FIELD_IS_DYNAMIC);
        if (field->size <= 0 || (is_fixed_array && field->elementsize == 0) ||
            !weir_trace_field_locate(field, sample->raw, sample->bytes, &data, &length))
            return false;
    }
    return true;
}

static bool is_dynamic(const struct tep_format_field *field)
{
    return field && (field->flags & TEP_FIELD_IS_DYNAMIC);
}

/* The field that an argument stands for as a whole, with all of its bytes; NULL: it is none. */
static const struct tep_format_field *whole_field(const struct sample *sample, const struct tep_print_arg *arg)
{
    if (arg->type == TEP_PRINT_DYNAMIC_ARRAY)
        return is_dynamic(arg->dynarray.field) ? arg->dynarray.field : NULL;
    const struct tep_format_field *field =
        arg->type == TEP_PRINT_FIELD ? tep_find_any_field(sample->event, arg->field.name) : NULL;
    return is_dynamic(field) ? NULL : field; /* of such its place is meant */
}

/* ---- numbers ---- */

static bool evaluate(const struct sample *sample, const struct tep_print_arg *arg, unsigned depth, uint64_t *value);

static bool evaluate_field(const struct sample *sample, const struct tep_format_field *field, uint64_t *value)
{
    const uint8_t *data;
    size_t length;
    if (!field || (field->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_DYNAMIC)) ||
        !weir_trace_field_locate(field, sample->raw, sample->bytes, &data, &length) || length > sizeof(*value) ||
        !weir_is_power_of_two(length))
        return false;
    *value = weir_trace_field_number(field, data, length);
    return true;
}

/* How many bytes a dynamic field has. */
static bool evaluate_length(const struct sample *sample, const struct tep_format_field *field, uint64_t *value)
{
    const uint8_t *data;
    size_t length;
    if (!is_dynamic(field) || !weir_trace_field_locate(field, sample->raw, sample->bytes, &data, &length))
        return false;
    *value = length;
    return true;
}

static bool evaluate_quotient(const struct sample *sample, const struct tep_print_arg *arg, unsigned depth,
                              uint64_t *value)
{
    uint64_t left, right;
    if (!arg->op.op || strcmp(arg->op.op, "/") != 0 || !arg->op.left || !arg->op.right ||
        !evaluate(sample, arg->op.left, depth + 1, &left) || !evaluate(sample, arg->op.right, depth + 1, &right) ||
        right == 0)
        return false;
    *value = left / right;
    return true;
}

/* The way in which libtraceevent reads the forms of lengths; false: another form. */
static bool evaluate(const struct sample *sample, const struct tep_print_arg *arg, unsigned depth, uint64_t *value)
{
    char *end;
    if (depth > WEIR_TRACE_NESTING_MAX)
        return false;
    switch (arg->type) {
    case TEP_PRINT_ATOM:
        if (!isdigit((unsigned char)arg->atom.atom[0]))
            return false;
        *value = strtoull(arg->atom.atom, &end, 0);
        return *end == '\0';
    case TEP_PRINT_FIELD:
        return evaluate_field(sample, tep_find_any_field(sample->event, arg->field.name), value);
    case TEP_PRINT_DYNAMIC_ARRAY_LEN:
        return evaluate_length(sample, arg->dynarray.field, value);
    case TEP_PRINT_OP:
        return evaluate_quotient(sample, arg, depth, value);
    default:
        return false;
    }
}

/* `count` elements of `element_bytes` are in the array. */
static bool is_inside(const struct sample *sample, const struct tep_print_arg *array, uint64_t count,
                      uint64_t element_bytes)
{
    const uint8_t *data;
    size_t length;
    const struct tep_format_field *field = whole_field(sample, array);
    return field && weir_trace_field_locate(field, sample->raw, sample->bytes, &data, &length) &&
           count <= length / element_bytes;
}

/* ---- arguments ---- */

/* A number that is not 0, as divisors have to be: libtraceevent divides by whatever there is. */
static bool is_divisor(const struct tep_print_arg *arg)
{
    return arg->type == TEP_PRINT_ATOM && strtoull(arg->atom.atom, NULL, 0) != 0;
}

/* field[number], inside of an array whose length is in its format: REC->args[0]. Of other lengths of elements than
 * those of integers libtraceevent reads nothing. */
static bool is_safe_element(const struct sample *sample, const struct tep_print_arg *array,
                            const struct tep_print_arg *index)
{
    if (!array || !index || array->type != TEP_PRINT_FIELD || index->type != TEP_PRINT_ATOM)
        return false;
    const struct tep_format_field *field = tep_find_any_field(sample->event, array->field.name);
    unsigned long long number = strtoull(index->atom.atom, NULL, 0);
    if (!field || !(field->flags & TEP_FIELD_IS_ARRAY) || (field->flags & TEP_FIELD_IS_DYNAMIC))
        return false;
    size_t size = field->elementsize, count = size > 0 ? (size_t)field->size / size : 0;
    return size <= sizeof(uint64_t) && weir_is_power_of_two(size) && number < count;
}

/* __print_hex(), __print_hex_str() */
static bool is_safe_hex(const struct sample *sample, const struct tep_print_arg *arg)
{
    uint64_t count;
    return arg->hex.field && arg->hex.size && evaluate(sample, arg->hex.size, 0, &count) &&
           is_inside(sample, arg->hex.field, count, 1);
}

/* __print_array() */
static bool is_safe_array(const struct sample *sample, const struct tep_print_arg *arg)
{
    uint64_t count, size;
    return arg->int_array.field && arg->int_array.count && arg->int_array.el_size &&
           evaluate(sample, arg->int_array.count, 0, &count) && evaluate(sample, arg->int_array.el_size, 0, &size) &&
           size <= sizeof(uint64_t) && weir_is_power_of_two(size) &&
           is_inside(sample, arg->int_array.field, count, size);
}

static bool is_safe_argument(const struct sample *sample, const struct tep_print_arg *arg, unsigned depth)
{
    uint64_t length;
    if (!arg || depth > WEIR_TRACE_NESTING_MAX)
        return false;
    switch (arg->type) {
    case TEP_PRINT_NULL: /* the left side of an operator that has none */
    case TEP_PRINT_ATOM:
    case TEP_PRINT_FIELD:
        return true;
    case TEP_PRINT_STRING:
        return is_dynamic(tep_find_any_field(sample->event, arg->string.string));
    case TEP_PRINT_BITMASK:
    case TEP_PRINT_CPUMASK: /* of an empty one libtraceevent makes 3 GB of text */
        return evaluate_length(sample, tep_find_any_field(sample->event, arg->bitmask.bitmask), &length) && length > 0;
    case TEP_PRINT_DYNAMIC_ARRAY_LEN:
        return is_dynamic(arg->dynarray.field);
    case TEP_PRINT_HEX:
    case TEP_PRINT_HEX_STR:
        return is_safe_hex(sample, arg);
    case TEP_PRINT_INT_ARRAY:
        return is_safe_array(sample, arg);
    case TEP_PRINT_TYPE:
        return is_safe_argument(sample, arg->typecast.item, depth + 1);
    case TEP_PRINT_FLAGS:
        return is_safe_argument(sample, arg->flags.field, depth + 1);
    case TEP_PRINT_SYMBOL:
        return is_safe_argument(sample, arg->symbol.field, depth + 1);
    case TEP_PRINT_OP: {
        char op = arg->op.op ? arg->op.op[0] : '[';
        if (op == '[')
            return is_safe_element(sample, arg->op.left, arg->op.right);
        if ((op == '/' || op == '%') && !(arg->op.right && is_divisor(arg->op.right)))
            return false;
        return is_safe_argument(sample, arg->op.left, depth + 1) && is_safe_argument(sample, arg->op.right, depth + 1);
    }
    default: /* addresses of arrays; functions */
        return false;
    }
}

/* ---- the format ---- */

/* A conversion at its '%'; *arg moves behind what it takes. A length from the sample may only be that of a text
 * ("%.*s"), because printf(3) would fill a width. For a negative length libtraceevent calls printf(3) without the
 * length. */
static bool is_safe_conversion(const struct sample *sample, const char *at, const struct tep_print_arg **arg)
{
    bool takes_length = false;
    uint64_t length;
    unsigned digits = 0;
    for (at++; *at && strchr("#hlLzZ.0123456789-+*", *at); at++) {
        digits = isdigit((unsigned char)*at) ? digits + 1 : 0;
        if (digits > WIDTH_DIGITS_MAX)
            return false;
        if (*at != '*')
            continue;
        if (takes_length || at[-1] != '.' || !*arg || !evaluate(sample, *arg, 0, &length) || length > INT_MAX)
            return false;
        takes_length = true;
        *arg = (*arg)->next;
    }
    if (takes_length && *at != 's')
        return false;
    if (*at && strchr("pcduixXos", *at)) {
        if (!*arg)
            return false;
        *arg = (*arg)->next;
    }
    return true;
}

static bool are_conversions_safe(const struct sample *sample)
{
    const struct tep_print_arg *arg = sample->event->print_fmt.args;
    for (const char *at = sample->event->print_fmt.format; *at; at++) {
        bool is_escape = (*at == '\\' && at[1]) || (*at == '%' && at[1] == '%');
        if (is_escape)
            at++;
        else if (*at == '%' && !is_safe_conversion(sample, at, &arg))
            return false;
    }
    return true;
}

bool weir_trace_is_printable(struct tep_event *event, const uint8_t *raw, size_t bytes)
{
    const struct sample sample = {event, raw, bytes};
    /* A text of trace_printk() brings lengths of its own. */
    if ((event->flags & (TEP_EVENT_FL_FAILED | TEP_EVENT_FL_PRINTRAW | TEP_EVENT_FL_ISBPRINT)) ||
        !event->print_fmt.format || !are_fields_good(&sample, event->format.common_fields) ||
        !are_fields_good(&sample, event->format.fields) || !are_conversions_safe(&sample))
        return false;
    for (const struct tep_print_arg *arg = event->print_fmt.args; arg; arg = arg->next) {
        if (!is_safe_argument(&sample, arg, 0))
            return false;
    }
    return true;
}
