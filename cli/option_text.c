/* The words for a row of the option table. Pure; any thread. */
#include "cli/option.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/size_text.h"
#include "cli/value.h"

#define RANGE_BYTES 96

__attribute__((format(printf, 2, 3))) static void append(char text[WEIR_OPTION_TEXT_BYTES], const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, WEIR_OPTION_TEXT_BYTES - used, format, args);
    va_end(args);
}

/* The ends of whole types by their powers, because no reader recognizes 9223372036854775807. */
static void format_number(uint64_t number, char text[WEIR_SIZE_TEXT_BYTES])
{
    if (number == UINT64_MAX)
        snprintf(text, WEIR_SIZE_TEXT_BYTES, "2^64-1");
    else if (number == INT64_MAX)
        snprintf(text, WEIR_SIZE_TEXT_BYTES, "2^63-1");
    else if (number == UINT32_MAX)
        snprintf(text, WEIR_SIZE_TEXT_BYTES, "2^32-1");
    else
        snprintf(text, WEIR_SIZE_TEXT_BYTES, "%" PRIu64, number);
}

/* "1 to 99", "1M to 64G", "8 to 60000 bytes"; "" for kinds without a range. */
static void format_range(const struct weir_option *option, char text[RANGE_BYTES])
{
    char low[WEIR_SIZE_TEXT_BYTES], high[WEIR_SIZE_TEXT_BYTES];
    switch (option->kind) {
    case WEIR_OPTION_SIZE:
        weir_size_format(option->min, low);
        weir_size_format(option->max, high);
        break;
    case WEIR_OPTION_NUMBER:
    case WEIR_OPTION_UNSIGNED:
    case WEIR_OPTION_FREQUENCY:
        format_number(option->min, low);
        format_number(option->max, high);
        break;
    default:
        text[0] = '\0';
        return;
    }
    const char *space = option->unit ? " " : "", *unit = option->unit ? option->unit : "";
    snprintf(text, RANGE_BYTES, "%s to %s%s%s", low, high, space, unit);
}

void weir_option_format_name(const struct weir_option *option, char text[WEIR_OPTION_TEXT_BYTES])
{
    if (option->long_name)
        snprintf(text, WEIR_OPTION_TEXT_BYTES, "--%s", option->long_name);
    else
        snprintf(text, WEIR_OPTION_TEXT_BYTES, "-%c", option->short_name);
}

void weir_option_format_usage(const struct weir_option *option, char text[WEIR_OPTION_TEXT_BYTES])
{
    text[0] = '\0';
    if (option->short_name)
        append(text, "-%c", option->short_name);
    else
        append(text, "   ");
    if (option->long_name)
        append(text, "%s--%s", option->short_name ? ", " : " ", option->long_name);
    if (option->argument && option->argument_optional)
        append(text, "[%s%s]", option->long_name ? "=" : "", option->argument);
    else if (option->argument)
        append(text, " %s", option->argument);
}

bool weir_option_format_expectation(const struct weir_option *option, char text[WEIR_OPTION_TEXT_BYTES])
{
    char range[RANGE_BYTES];
    format_range(option, range);
    text[0] = '\0';
    switch (option->kind) {
    case WEIR_OPTION_NUMBER:
    case WEIR_OPTION_UNSIGNED:
        append(text, "a whole number, %s", range);
        break;
    case WEIR_OPTION_SIZE:
        append(text, "a size with B, K, M or G behind it, %s", range);
        break;
    case WEIR_OPTION_FREQUENCY:
        append(text, "a whole number, %s, or 'max'", range);
        break;
    case WEIR_OPTION_RING_PAIR:
        append(text, "a number of pages, or a size with B, K, M or G behind it; the same for AUX behind a comma");
        break;
    case WEIR_OPTION_CPU_LIST:
        append(text, "a list of CPU numbers and ranges such as 0-3,8");
        break;
    default:
        return false;
    }
    return true;
}

bool weir_option_format_facts(const struct weir_option *option, char text[WEIR_OPTION_TEXT_BYTES])
{
    char range[RANGE_BYTES];
    format_range(option, range);
    text[0] = '\0';
    append(text, "%s", range);
    if (option->default_text)
        append(text, "%sdefault: %s", text[0] ? "; " : "", option->default_text);
    if (option->repeatable)
        append(text, "%smay be repeated", text[0] ? "; " : "");
    return text[0] != '\0';
}

bool weir_option_format_spelling(const struct weir_option *option, enum weir_option_spelling spelling,
                                 char text[WEIR_OPTION_TEXT_BYTES])
{
    static const char no[] = "no-";
    if (!option->long_name)
        return false;
    const char *name = option->long_name, *prefix = "";
    if (spelling != WEIR_OPTION_SPELLING_NAME) {
        if (!option->negatable)
            return false;
        bool is_negative = strncmp(name, no, sizeof(no) - 1) == 0;
        if (spelling == WEIR_OPTION_SPELLING_POSITIVE && !is_negative)
            return false;
        if (spelling == WEIR_OPTION_SPELLING_NEGATED)
            prefix = no;
        else
            name += sizeof(no) - 1;
    }
    snprintf(text, WEIR_OPTION_TEXT_BYTES, "%s%s", prefix, name);
    return true;
}
