/*
 * The option table, with one row for each option of a command, and the parser that works from it.
 *
 * A row defines everything about its option: its spelling, its argument and range, the field that it sets, and its
 * texts. The parser (here), `--help` (cli/help.h) and the man page (cli/man.h) have no other source; tests/cli proves
 * that they agree. A new option is a new row.
 *
 * The parser follows perf's parse-options (tools/perf: subcmd/parse-options.c, Linux 6.12): unique prefixes of long
 * names, `--opt=value` and `--opt value`, `-F99` and `-F 99`, bundled flags `-ag`, `--no-X` for rows that allow it.
 * Optional arguments must be attached. Options end at `--` or at the first other word: the workload. The last of
 * repeated options holds, except for counters and lists. weir is stricter than perf in one point: it refuses an
 * argument that it does not understand as a whole.
 *
 * Pure: no I/O, no global state. Allocates for lists only. Any thread.
 */
#ifndef WEIR_CLI_OPTION_H
#define WEIR_CLI_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/error.h"
#include "cli/settings.h"

/* The argument of an option, and the type of the field that it sets. */
enum weir_option_kind {
    WEIR_OPTION_HELP,      /* no field: parsing ends, the user asks for help */
    WEIR_OPTION_FLAG,      /* bool: true; by --no-X false */
    WEIR_OPTION_COUNTER,   /* unsigned: one more each time; by --no-X 0 */
    WEIR_OPTION_TEXT,      /* const char *: borrowed from argv, not empty */
    WEIR_OPTION_TEXT_LIST, /* struct weir_text_list: keeps each text, none empty */
    WEIR_OPTION_NUMBER,    /* uint64_t in min..max */
    WEIR_OPTION_UNSIGNED,  /* unsigned in min..max */
    WEIR_OPTION_SIZE,      /* uint64_t bytes in min..max, suffix B, K, M or G */
    WEIR_OPTION_FREQUENCY, /* uint64_t Hz in min..max, or WEIR_VALUE_FREQ_MAX (cli/value.h) for "max" */
    WEIR_OPTION_RING_PAIR, /* struct weir_ring_size_pair (cli/value.h) */
    WEIR_OPTION_CPU_LIST,  /* struct weir_cpuset: replaced, not empty */
    WEIR_OPTION_CUSTOM,    /* set by apply() */
};

struct weir_option {
    char short_name;        /* 'F', or 0 */
    const char *long_name;  /* "freq", or NULL */
    const char *argument;   /* the argument's name in help: "HZ"; NULL: no argument */
    bool argument_optional; /* --threads or --threads=SPEC */
    bool negatable;         /* --no-X exists; flags, counters, and CUSTOM rows with clear() */
    bool repeatable;        /* each repetition adds (help says so) */
    enum weir_option_kind kind;
    size_t field;             /* WEIR_OPTION_FIELD() of the command's arguments */
    const char *unit;         /* "Hz"; NULL: none */
    uint64_t min, max;        /* NUMBER, UNSIGNED, SIZE, FREQUENCY */
    const char *default_text; /* the setting without the option; NULL: not worth saying */
    const char *section;      /* weir_option_section(); NULL: that of its part */
    const char *help;         /* one sentence without capital and full stop, for --help and man page */
    const char *details;      /* further sentences for the man page; NULL: none */

    /* CUSTOM only: applies text (NULL: the optional argument is missing; an optional argument is never empty). 0, or
     * -errno with err, whose line stands alone and so names the option. */
    int (*apply)(void *arguments, const char *text, struct weir_error *err);
    void (*clear)(void *arguments); /* CUSTOM rows that are negatable: applies --no-X */
};

/* The offset of a field, refused by the compiler when the field is not of the named type: that of the row's kind. */
#define WEIR_OPTION_FIELD(object, field, type) \
    (offsetof(object, field) + 0 * sizeof(_Generic(((object *)0)->field, type : 0)))

struct weir_perf_option;

/* An option that earlier versions of weir had. */
struct weir_removed_option {
    const char *long_name;
    const char *instead; /* the replacement: one line */
};

/* A group of rows: a whole table, or the rows of one file of a table that several files share. */
struct weir_option_rows {
    const struct weir_option *options;
    size_t count;
    const char *section; /* of rows that name none; NULL: all do */
};

/* Of an array whose rows stand in one section. */
#define WEIR_OPTION_ROWS_OF(words, array)                                        \
    {                                                                            \
        .options = (array), .count = WEIR_ARRAY_COUNT(array), .section = (words) \
    }

/* The parts of a table that is one array. */
#define WEIR_OPTION_ONE_PART(array)                                                                                 \
    .parts =                                                                                                        \
        (const struct weir_option_rows *const[]){&(const struct weir_option_rows)WEIR_OPTION_ROWS_OF(NULL, array)}, \
    .part_count = 1

struct weir_option_table {
    const char *command; /* "weir record": for hints */
    const struct weir_option_rows *const *parts;
    size_t part_count;
    const struct weir_perf_option
        *perf_options; /* options of perf's command (cli/perf_options.h); NULL: perf has no such command */
    size_t perf_option_count;
    const struct weir_removed_option *removed; /* NULL: none */
    size_t removed_count;
};

/* Names, kind and field of a flag that --no-NAME takes back. letter: 0 for none; offset: of a bool. */
#define WEIR_OPTION_FLAG_OF(letter, name, offset) \
    .short_name = (letter), .long_name = (name), .negatable = true, .kind = WEIR_OPTION_FLAG, .field = (offset)

/* Names, argument, kind and field of an option that sets one field. letter: 0 for none; word: NULL for none. */
#define WEIR_OPTION_VALUE_OF(letter, name, word, type, offset) \
    .short_name = (letter), .long_name = (name), .argument = (word), .kind = (type), .field = (offset)

/* Names, argument and function of an option of kind CUSTOM. letter: 0 for none; word: NULL for none. */
#define WEIR_OPTION_CUSTOM_OF(letter, name, word, function) \
    .short_name = (letter), .long_name = (name), .argument = (word), .kind = WEIR_OPTION_CUSTOM, .apply = (function)

/* The row that every table ends with. */
#define WEIR_OPTION_HELP_ROW                                                                          \
    {                                                                                                 \
        .short_name = 'h', .long_name = "help", .kind = WEIR_OPTION_HELP, .section = "Other options", \
        .help = "show this help and exit; with words behind it, the options that they name",          \
    }

/* Returns the row with that number, in the order of help; NULL behind the last one. */
const struct weir_option *weir_option_at(const struct weir_option_table *table, size_t index);

/* Returns the heading of that row, which exists, in help and man page. Rows of a section are adjacent. */
const char *weir_option_section(const struct weir_option_table *table, size_t index);

/* Texts in the order in which they were given. */
struct weir_text_list {
    const char **items; /* owned array of borrowed texts */
    size_t count;
    size_t capacity;
};

void weir_text_list_fini(struct weir_text_list *list);

/* Appends text, which stays borrowed. 0 or -ENOMEM. */
int weir_text_list_add(struct weir_text_list *list, const char *text);

enum weir_options_outcome {
    WEIR_OPTIONS_PARSED = 0,
    WEIR_OPTIONS_HELP = 1, /* -h or --help was found; the words after it are not parsed */
};

/*
 * Parses the options at the head of argv (NULL-terminated, without the command's name). arguments: an object of the
 * type to which the table's fields belong. Texts stay borrowed from argv. *used: the number of words that are options
 * or `--`; the workload begins behind them.
 *
 * Returns an outcome, -EINVAL, -ENOMEM or the result of an apply(). With -EINVAL err names the option as typed and the
 * fault. The hint describes the argument, or names the nearest option or the replacement of an option that only perf
 * has. On failure arguments hold the options before the bad one.
 */
int weir_options_parse(const struct weir_option_table *table, void *arguments, char *const *argv, size_t *used,
                       struct weir_error *err);

/* Parses as weir_options_parse() does, and appends each option to settings. */
int weir_options_parse_noted(const struct weir_option_table *table, void *arguments, char *const *argv, size_t *used,
                             struct weir_settings *settings, struct weir_error *err);

/*
 * Applies one option as if it were on the command line. value: NULL without an argument; negated: --no-X. The caller
 * passes an argument if, and only if, the row takes one. 0, or -errno with err that names the option.
 */
int weir_option_apply(const struct weir_option_table *table, void *arguments, const struct weir_option *option,
                      bool negated, const char *value, struct weir_error *err);

/*
 * Returns the words behind -h or --help, where weir_options_parse() has returned WEIR_OPTIONS_HELP; else the NULL at
 * the end of argv. Borrowed from argv.
 */
const char *const *weir_options_help_words(const struct weir_option_table *table, char *const *argv);

/* Returns the row with this name, spelled in full as after "--"; NULL: no such row. *negated: the name is the negated
 * spelling, such as no-all-cpus. */
const struct weir_option *weir_option_find(const struct weir_option_table *table, const char *name, bool *negated);

/* Returns the row with this letter, or NULL. */
const struct weir_option *weir_option_find_short(const struct weir_option_table *table, char letter);

/* The texts of a row, the same for error hints, `--help` and the man page. Texts are cut at their size. */
#define WEIR_OPTION_TEXT_BYTES 256

/* Writes "--freq", or "-g" for an option without a long name. */
void weir_option_format_name(const struct weir_option *option, char text[WEIR_OPTION_TEXT_BYTES]);

/* Writes the option's usage: "-F, --freq HZ|max", "    --threads[=SPEC]", "-a, --all-cpus". As perf lists it:
 * without the negated spelling. */
void weir_option_format_usage(const struct weir_option *option, char text[WEIR_OPTION_TEXT_BYTES]);

/* Writes the range of the argument: "a whole number from 1 to 99". False, and "": the help sentence says it all. */
bool weir_option_format_expectation(const struct weir_option *option, char text[WEIR_OPTION_TEXT_BYTES]);

/* Writes the facts that help shows in brackets: "1 to 99; default: none; may be repeated". False, and "": no facts. */
bool weir_option_format_facts(const struct weir_option *option, char text[WEIR_OPTION_TEXT_BYTES]);

/* The spellings of a long option: its name, --no-NAME, and NAME for an option that is called no-NAME. */
enum weir_option_spelling {
    WEIR_OPTION_SPELLING_NAME,
    WEIR_OPTION_SPELLING_NEGATED,
    WEIR_OPTION_SPELLING_POSITIVE,
    WEIR_OPTION_SPELLING_COUNT
};

/* Writes one spelling without dashes. False: the row does not have it, or has no long name. */
bool weir_option_format_spelling(const struct weir_option *option, enum weir_option_spelling spelling,
                                 char text[WEIR_OPTION_TEXT_BYTES]);

#endif
