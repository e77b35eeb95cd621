/* The options of `weir dump`: those of format/dump.h. Main thread. */
#include "cli/dump_options.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/suggest.h"
#include "cli/exit_status.h"
#include "cli/input_options.h"
#include "cli/surroundings.h"
#include "cli/value.h"

#define INPUT  "Input"
#define FILTER "Which records"
#define OTHER  "Other options"

#define NAME_BYTES      64
#define LIMIT_MAX       1000000000000ull
#define NS_PER_S        1000000000ull
#define FRACTION_DIGITS 9

#define FIELD(name, type) WEIR_OPTION_FIELD(struct weir_dump_arguments, name, type)

static const struct weir_option options[] = {
    WEIR_INPUT_ROW(FIELD(input_path, const char *), WEIR_INPUT_HELP),
    {
        WEIR_OPTION_VALUE_OF(0, "type", "NAME", WEIR_OPTION_TEXT_LIST, FIELD(types, struct weir_text_list)),
        .repeatable = true,
        .section = FILTER,
        .help = "only records of these types, such as SAMPLE or LOST",
        .details = "A comma list; perf's names in any case, with or without PERF_RECORD_, or numbers.",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "cpu", "LIST", WEIR_OPTION_CPU_LIST, FIELD(cpus, struct weir_cpuset)),
        .section = FILTER,
        .help = "only records of these CPUs",
        .details = "Records without a CPU are left out.",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "pid", "PID", WEIR_OPTION_TEXT, FIELD(pids_text, const char *)),
        .section = FILTER,
        .help = "only records of these processes, a comma list",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "event", "NAME", WEIR_OPTION_TEXT_LIST, FIELD(events, struct weir_text_list)),
        .repeatable = true,
        .section = FILTER,
        .help = "only records of this event, which may be a pattern such as sched:*",
        .details = "Samples, and records with the event's id, such as LOST_SAMPLES.",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "time", "START,STOP", WEIR_OPTION_TEXT, FIELD(time_text, const char *)),
        .section = FILTER,
        .help = "only records of this span of time, in seconds as perf script shows them",
        .details = "Either side may be left out. Records without a time are left out.",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "limit", "N", WEIR_OPTION_NUMBER, FIELD(limit, uint64_t)),
        .min = 1,
        .max = LIMIT_MAX,
        .section = FILTER,
        .help = "stop after N records",
    },
    {
        WEIR_OPTION_FLAG_OF('j', "json", FIELD(json, bool)),
        .section = OTHER,
        .help = "one JSON object per record and line, without hex dump",
        .details = WEIR_INPUT_JSON_DETAILS,
    },
    {
        WEIR_OPTION_FLAG_OF('q', "quiet", FIELD(quiet, bool)),
        .section = OTHER,
        .help = "no notices",
    },
    WEIR_OPTION_HELP_ROW,
};

static const char *const usages[] = {"[OPTION...] [FILE]", NULL};

static const char *const description[] = {
    "Shows every record of a recording as perf script -D does: its offset, length, bytes in hex and as "
    "text, and its fields; tracepoints by their own print format. Records come in the order of the "
    "file, decompressed ones behind their COMPRESSED record.",
    "Reads perf.data files, perf's directories, and streams, of weir and of perf, also damaged and "
    "unfinished ones: up to the first byte that makes no sense, with its offset. Of a recording of a "
    "big-endian machine numbers are shown in this machine's order, and the raw bytes of tracepoints as "
    "they were recorded.",
    NULL,
};

static const struct weir_example examples[] = {
    {"weir dump --type sample --limit 10", "The first ten samples of perf.data."},
    {"weir dump -i perf.data --event 'sched:*' --cpu 0-3 --json", "Scheduler events of four CPUs, for a script."},
    {"perf record -o - -a sleep 1 | weir dump -", "A stream."},
    {NULL, NULL},
};

const struct weir_command weir_dump_command = {
    .name = "dump",
    .summary = "show every record of a recording, byte by byte and decoded",
    .usages = usages,
    .description = description,
    .exits = weir_exit_meanings_of_reading,
    .examples = examples,
    .files = weir_files_of_reading,
    .options = {.command = "weir dump", WEIR_OPTION_ONE_PART(options)},
};

void weir_dump_arguments_init(struct weir_dump_arguments *arguments)
{
    *arguments = (struct weir_dump_arguments){0};
}

void weir_dump_arguments_fini(struct weir_dump_arguments *arguments)
{
    weir_text_list_fini(&arguments->types);
    weir_text_list_fini(&arguments->events);
    weir_cpuset_fini(&arguments->cpus);
    free(arguments->pids);
    arguments->pids = NULL;
}

int weir_dump_arguments_parse(struct weir_dump_arguments *arguments, char *const *argv, struct weir_error *err)
{
    return weir_input_options_parse(&weir_dump_command.options, arguments, &arguments->input_path, argv, err);
}

/* ---- lists ---- */

/* The next item of a comma list into item; false: it is empty or too long. *list moves behind its comma. */
static bool next_item(const char **list, char item[NAME_BYTES])
{
    size_t length = strcspn(*list, ",");
    if (length == 0 || length >= NAME_BYTES)
        return false;
    memcpy(item, *list, length);
    item[length] = '\0';
    *list += length;
    *list += **list == ',' && (*list)[1] != '\0';
    return true;
}

static int fail_type(const char *name, struct weir_error *err)
{
    struct weir_suggest suggest;
    char upper[NAME_BYTES] = "";
    for (size_t i = 0; i < sizeof(upper) - 1 && name[i]; i++)
        upper[i] = (char)toupper((unsigned char)name[i]);
    weir_suggest_init(&suggest, upper);
    for (unsigned type = 0; type < WEIR_RECORD_TYPES; type++) {
        if (weir_record_schema(type))
            weir_suggest_offer(&suggest, weir_record_schema(type)->name);
    }
    weir_error_set(err, -EINVAL, "option '--type': '%s' is not a record type", name);
    const char *nearest = weir_suggest_best(&suggest);
    if (nearest)
        weir_error_hint(err, "did you mean '%s'?", nearest);
    else
        weir_error_hint(err, "perf's names such as SAMPLE, MMAP2 or LOST, or numbers below %u", WEIR_RECORD_TYPES);
    return -EINVAL;
}

static int resolve_types(struct weir_dump_arguments *arguments, const char *list, struct weir_error *err)
{
    char name[NAME_BYTES];
    while (*list) {
        if (!next_item(&list, name))
            return fail_type(list, err);
        uint64_t number;
        int type = weir_record_type_of(name);
        if (type < 0 && weir_value_parse_number(name, &number) == 0 && number < WEIR_RECORD_TYPES)
            type = (int)number;
        if (type < 0)
            return fail_type(name, err);
        arguments->filter.types[type] = true;
    }
    return 0;
}

static int resolve_pids(struct weir_dump_arguments *arguments, struct weir_error *err)
{
    const char *list = arguments->pids_text;
    if (!list)
        return 0;
    arguments->pids = calloc(strlen(list) + 1, sizeof(*arguments->pids));
    if (!arguments->pids)
        return weir_error_set_errno(err, -ENOMEM, "cannot read the list of --pid");
    while (*list) {
        char item[NAME_BYTES];
        uint64_t pid;
        if (!next_item(&list, item) || weir_value_parse_number(item, &pid) < 0 || pid > INT_MAX) {
            weir_error_set(err, -EINVAL, "option '--pid': '%s' is not a list of process ids", arguments->pids_text);
            weir_error_hint(err, "numbers with commas between them, as in --pid 1,4242");
            return -EINVAL;
        }
        arguments->pids[arguments->filter.pid_count++] = (int)pid;
    }
    arguments->filter.pids = arguments->pids;
    return 0;
}

/* "12.345" up to end, in seconds, to *ns. */
static bool parse_seconds(const char *text, const char *end, uint64_t *ns)
{
    uint64_t seconds = 0, fraction = 0;
    const char *at = text;
    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        if (seconds > UINT64_MAX / NS_PER_S / 10)
            return false;
        seconds = 10 * seconds + (uint64_t)(*at - '0');
    }
    bool any = at > text;
    if (at < end && *at == '.') {
        at++;
        for (int digit = 0; digit < FRACTION_DIGITS; digit++) {
            bool is_digit = at < end && *at >= '0' && *at <= '9';
            any |= is_digit;
            fraction = 10 * fraction + (is_digit ? (uint64_t)(*at++ - '0') : 0);
        }
    }
    if (!any || at != end || seconds > (UINT64_MAX - fraction) / NS_PER_S)
        return false;
    *ns = seconds * NS_PER_S + fraction;
    return true;
}

static int resolve_time(struct weir_dump_arguments *arguments, struct weir_error *err)
{
    const char *text = arguments->time_text;
    arguments->filter.last_ns = UINT64_MAX;
    if (!text)
        return 0;
    const char *comma = strchr(text, ',');
    bool is_good = comma && (comma == text || parse_seconds(text, comma, &arguments->filter.first_ns)) &&
                   (comma[1] == '\0' || parse_seconds(comma + 1, text + strlen(text), &arguments->filter.last_ns)) &&
                   arguments->filter.first_ns <= arguments->filter.last_ns;
    if (is_good)
        return 0;
    weir_error_set(err, -EINVAL, "option '--time': '%s' is not a time span", text);
    weir_error_hint(err, "START,STOP in seconds as perf script shows them, as in --time 2445.73,2446 or --time 2445,");
    return -EINVAL;
}

int weir_dump_arguments_resolve(struct weir_dump_arguments *arguments, struct weir_error *err)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < arguments->types.count; i++)
        result = resolve_types(arguments, arguments->types.items[i], err);
    if (result == 0)
        result = resolve_pids(arguments, err);
    if (result == 0)
        result = resolve_time(arguments, err);
    arguments->filter.by_type = arguments->types.count > 0;
    arguments->filter.cpus = arguments->cpus;
    arguments->filter.events = arguments->events.items;
    arguments->filter.event_count = arguments->events.count;
    return result;
}
