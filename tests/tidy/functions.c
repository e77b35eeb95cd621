#include "tests/tidy/functions.h"

#include <ctype.h>
#include <string.h>

#include "base/bits.h"

/* What may stand before a parenthesis at file level and is no function. */
static const char *const no_functions[] = {"__attribute__", "_Alignas",      "_Static_assert",
                                           "alignas",       "static_assert", "typeof"};

/* What is known of the statement that is being read. */
struct statement {
    struct function function; /* length is 0: no name yet */
    unsigned depth;           /* of parentheses */
    bool is_initializer;      /* behind = */
    bool is_linkage;          /* its last word is extern: of extern "C", whose literal is blank */
};

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool word_is(const char *word, size_t length, const char *expected)
{
    return strlen(expected) == length && strncmp(word, expected, length) == 0;
}

/* By the case of its name. */
static bool is_macro(const char *word, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (islower((unsigned char)word[i]))
            return false;
    }
    return true;
}

static void advance(struct function_scan *scan, size_t length)
{
    for (; length > 0; length--, scan->at++)
        scan->line += *scan->at == '\n';
}

/* Skips a line of the preprocessor with all that continue it. */
static void skip_directive(struct function_scan *scan)
{
    while (*scan->at) {
        size_t length = strcspn(scan->at, "\n");
        bool goes_on = length > 0 && scan->at[length - 1] == '\\' && scan->at[length] == '\n';
        advance(scan, length + (goes_on ? 1 : 0));
        if (!goes_on)
            return;
    }
}

static void skip_braces(struct function_scan *scan)
{
    unsigned depth = 0;
    while (*scan->at) {
        char c = *scan->at;
        if (c == '#')
            skip_directive(scan);
        else
            advance(scan, 1);
        depth += c == '{';
        depth -= c == '}';
        if (depth == 0)
            return;
    }
}

static void take_word(struct function_scan *scan, struct statement *statement)
{
    const char *word = scan->at;
    size_t length = 0;
    while (is_word(word[length]))
        length++;
    const char *behind = word + length + strspn(word + length, " \n");
    bool is_called = *behind == '(' && behind[1] != '*' && !is_macro(word, length);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(no_functions); i++)
        is_called = is_called && !word_is(word, length, no_functions[i]);
    if (word_is(word, length, "static"))
        statement->function.is_static = true;
    statement->is_linkage = word_is(word, length, "extern");
    if (is_called && statement->depth == 0 && !statement->is_initializer && statement->function.length == 0) {
        statement->function.name = word;
        statement->function.length = length;
        statement->function.line = scan->line;
    }
    advance(scan, length);
}

bool function_next(struct function_scan *scan, struct function *function)
{
    struct statement statement = {0};
    while (*scan->at) {
        char c = *scan->at;
        if (is_word(c)) {
            take_word(scan, &statement);
            continue;
        }
        if (c == '#') {
            skip_directive(scan);
            continue;
        }
        bool is_named = statement.function.length > 0 && !statement.is_initializer;
        bool is_end = (c == ';' && statement.depth == 0) || (c == '{' && is_named);
        if (is_end && is_named) {
            *function = statement.function;
            function->is_definition = c == '{';
        }
        if (c == '{' && !statement.is_linkage)
            skip_braces(scan);
        else
            advance(scan, 1);
        if (is_end && is_named)
            return true;
        if (is_end || c == '}' || (c == '{' && statement.is_linkage))
            statement = (struct statement){0};
        statement.depth += c == '(';
        statement.depth -= c == ')';
        statement.is_initializer |= c == '=' && statement.depth == 0;
    }
    return false;
}
