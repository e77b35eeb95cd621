/*
 * The option table: one row per option of a command, and the parser that works from it.
 *
 * A row says everything about its option: how it is spelled, what it takes, within which range, where the value goes,
 * and what the user reads about it. The parser (here), `--help` (cli/help.h) and the man page (cli/man.h) have no
 * other source; tests/cli proves that they agree. A new option is a new row.
 *
 * Habits are those of perf's parse-options (tools/perf: subcmd/parse-options.c, Linux 6.12): unique prefixes of long
 * names, `--opt=value` and `--opt value`, `-F99` and `-F 99`, bundled flags `-ag`, `--no-X` for rows that allow it,
 * optional arguments only attached, and options end at `--` or at the first word that is none: the workload.
 * When an option is repeated the last one holds, but for counters and lists. Stricter than perf in one thing: an
 * argument that is not understood whole is refused.
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

/* What an option takes, and the type of the field that it sets. */
enum weir_option_kind {
    WEIR_OPTION_HELP,      /* no field: parsing ends, help is asked for */
    WEIR_OPTION_FLAG,      /* bool: true; by --no-X false */
    WEIR_OPTION_COUNTER,   /* unsigned: one more each time; by --no-X 0 */
    WEIR_OPTION_TEXT,      /* const char *: borrowed from argv, not empty */
    WEIR_OPTION_TEXT_LIST, /* struct weir_text_list: each one is kept, none empty */
    WEIR_OPTION_NUMBER,    /* uint64_t in min..max */
    WEIR_OPTION_UNSIGNED,  /* the same into an unsigned */
    WEIR_OPTION_SIZE,      /* uint64_t bytes in min..max, suffix B, K, M or G */
    WEIR_OPTION_FREQUENCY, /* uint64_t Hz in min..max, or WEIR_VALUE_FREQ_MAX (cli/value.h) for "max" */
    WEIR_OPTION_RING_PAIR, /* struct weir_ring_size_pair (cli/value.h) */
    WEIR_OPTION_CPU_LIST,  /* struct weir_cpuset: replaced, not empty */
    WEIR_OPTION_CUSTOM,    /* whatever apply() does */
};

struct weir_option {
    char short_name;        /* 'F', or 0 */
    const char *long_name;  /* "freq", or NULL */
    const char *argument;   /* how help names the argument: "HZ"; NULL: takes none */
    bool argument_optional; /* --threads or --threads=SPEC */
    bool negatable;         /* --no-X exists; flags, counters, and CUSTOM rows with clear() */
    bool repeatable;        /* each one adds (help says so) */
    enum weir_option_kind kind;
    size_t field;             /* WEIR_OPTION_FIELD() of the command's arguments */
    const char *unit;         /* "Hz"; NULL: none */
    uint64_t min, max;        /* NUMBER, UNSIGNED, SIZE, FREQUENCY */
    const char *default_text; /* what holds without the option; NULL: nothing worth saying */
    const char *section;      /* heading in help and man page; rows of a section stand together */
    const char *help;         /* one sentence without capital and full stop, for --help and man page */
    const char *details;      /* further sentences for the man page; NULL: none */

    /* CUSTOM only: sets what text asks for (NULL: the optional argument is not there; an optional
     * one is never empty). 0, or -errno with err, whose
     * line stands alone and so names the option. */
    int (*apply)(void *arguments, const char *text, struct weir_error *err);
    void (*clear)(void *arguments); /* of a row that is negatable: what --no-X does */
};

/* The offset of a field, refused by the compiler when the field is not of the named type: that of the row's kind. */
#define WEIR_OPTION_FIELD(object, field, type) \
    (offsetof(object, field) + 0 * sizeof(_Generic(((object *)0)->field, type : 0)))

struct weir_perf_option;

/* An option that earlier versions of weir had. */
struct weir_removed_option {
    const char *long_name;
    const char *instead; /* what to do now: one line */
};

/* Rows that stand together: a whole table, or those of one file of a table that is spread over several. */
struct weir_option_rows {
    const struct weir_option *options;
    size_t count;
};

/* Of an array. */
#define WEIR_OPTION_ROWS(array)                              \
    {                                                        \
        .options = (array), .count = WEIR_ARRAY_COUNT(array) \
    }

/* The parts of a table that is one array. */
#define WEIR_OPTION_ONE_PART(array)                                                                             \
    .parts = (const struct weir_option_rows *const[]){&(const struct weir_option_rows)WEIR_OPTION_ROWS(array)}, \
    .part_count = 1

struct weir_option_table {
    const char *command; /* "weir record": for hints */
    const struct weir_option_rows *const *parts;
    size_t part_count;
    const struct weir_perf_option *perf_options; /* those of perf's command (cli/perf_options.h); NULL: it has none */
    size_t perf_option_count;
    const struct weir_removed_option *removed; /* NULL: none */
    size_t removed_count;
};

/* The row that every table ends with. */
#define WEIR_OPTION_HELP_ROW                                                                          \
    {                                                                                                 \
        .short_name = 'h', .long_name = "help", .kind = WEIR_OPTION_HELP, .section = "Other options", \
        .help = "show this help and exit",                                                            \
    }

/* The rows of a table by number, in the order in which help shows them; NULL behind the last one. */
const struct weir_option *weir_option_at(const struct weir_option_table *table, size_t index);

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
    WEIR_OPTIONS_HELP = 1, /* -h or --help was met; what follows it was not looked at */
};

/*
 * Parses the options at the head of argv (NULL-terminated, without the command's name) into arguments, an object of the
 * type that the table's fields belong to; texts stay borrowed from argv. *used: how many words were options or `--`;
 * the workload begins behind them.
 * Returns an outcome, -EINVAL (err: the option as typed and what is wrong; the hint says what it takes, which option is
 * the nearest, or what to do instead of an option that only perf has), -ENOMEM or what an apply() returned. On failure
 * arguments hold what came before the bad option.
 */
int weir_options_parse(const struct weir_option_table *table, void *arguments, char *const *argv, size_t *used,
                       struct weir_error *err);

/* The same, and appends each option that was understood to settings. */
int weir_options_parse_noted(const struct weir_option_table *table, void *arguments, char *const *argv, size_t *used,
                             struct weir_settings *settings, struct weir_error *err);

/*
 * Sets what one option asks for, as if it had been on the command line: value NULL for none, negated for --no-X; the
 * row takes an argument, or none, accordingly. 0, or -errno with err that names the option.
 */
int weir_option_apply(const struct weir_option_table *table, void *arguments, const struct weir_option *option,
                      bool negated, const char *value, struct weir_error *err);

/* The row with this name, spelled in full as after "--"; *negated: the spelling is that which takes it back, such as
 * no-all-cpus. NULL: there is none. */
const struct weir_option *weir_option_find(const struct weir_option_table *table, const char *name, bool *negated);

/* The row with this letter, or NULL. */
const struct weir_option *weir_option_find_short(const struct weir_option_table *table, char letter);

/* The words for a row: error hints, `--help` and the man page say the same. Texts are cut at their size. */
#define WEIR_OPTION_TEXT_BYTES 256

/* "--freq", or "-g" for an option without a long name. */
void weir_option_format_name(const struct weir_option *option, char text[WEIR_OPTION_TEXT_BYTES]);

/* How the option is written: "-F, --freq HZ|max", "    --threads[=SPEC]", "-a, --[no-]all-cpus". */
void weir_option_format_usage(const struct weir_option *option, char text[WEIR_OPTION_TEXT_BYTES]);

/* What the argument may be: "a whole number from 1 to 99". False, and "" : nothing to say beyond the help sentence. */
bool weir_option_format_expectation(const struct weir_option *option, char text[WEIR_OPTION_TEXT_BYTES]);

/* What help adds in brackets: "1 to 99; default: none; may be repeated". False and "" when there is nothing. */
bool weir_option_format_facts(const struct weir_option *option, char text[WEIR_OPTION_TEXT_BYTES]);

/* The spellings of a long option: its name, --no-NAME, and NAME for one that is called no-NAME. */
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
