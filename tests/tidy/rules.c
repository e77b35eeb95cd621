/*
 * The tidy rules. Most are rows of the two tables below (words and headers that are at home in some files only);
 * the others are one function each.
 */
#include "tests/tidy/rules.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"

#define FILE_LINES_MAX        800
#define FUNCTION_LINES_MAX    100
#define FUNCTION_LINES_ADVICE 70
#define LINE_COLUMNS_MAX      120
#define HOMES_MAX             4

/* Folders as bits, so that a row can name several. */
enum area {
    AREA_BASE = 1 << 0,
    AREA_TOPOLOGY = 1 << 1,
    AREA_IO = 1 << 2,
    AREA_FORMAT = 1 << 3,
    AREA_CLI = 1 << 4,
    AREA_TESTS = 1 << 5,
    AREA_PERF_TESTS = 1 << 6,
    AREA_LIBWEIR = 1 << 7, /* stands alone, and is met by its installed header only */

    /* The rooms of the engine, from the ground up. */
    AREA_KERNEL = 1 << 8,
    AREA_EVENTS = 1 << 9,
    AREA_DRAIN = 1 << 10,
    AREA_TASKS = 1 << 11,
    AREA_SESSION = 1 << 12,
    AREA_SIM = 1 << 13,
    AREA_UPKEEP = 1 << 14,
    AREA_MODES = 1 << 15,
    AREA_AUX = 1 << 16,
    AREA_REPORT = 1 << 17,
    AREA_BENCH = 1 << 18,
    AREA_BPF = 1 << 19,
    AREA_UNWIND = 1 << 20,
    AREA_PLAN = 1 << 21,
    AREA_CONTROL = 1 << 22,
    AREA_FILES = 1 << 23,
    DATA_PATH = AREA_MODES | AREA_KERNEL | AREA_BPF | AREA_EVENTS | AREA_DRAIN | AREA_AUX | AREA_TASKS,
    RECORDING = DATA_PATH | AREA_PLAN | AREA_CONTROL | AREA_FILES | AREA_SESSION,
    AREA_ENGINE = RECORDING | AREA_SIM | AREA_UPKEEP | AREA_BENCH,

    BELOW_ENGINE = AREA_BASE | AREA_TOPOLOGY | AREA_IO | AREA_FORMAT | AREA_UNWIND,
    LIBRARIES = BELOW_ENGINE | AREA_ENGINE | AREA_REPORT,
    LAYERS = LIBRARIES | AREA_CLI,
    EVERYWHERE = LAYERS | AREA_TESTS | AREA_PERF_TESTS,
};

/* The include edges: a file in the folder may include headers of the areas. */
static const struct {
    const char *folder;
    enum area area;
    unsigned may_include;
} folders[] = {
    {"base/", AREA_BASE, AREA_BASE},
    {"topology/", AREA_TOPOLOGY, AREA_BASE | AREA_TOPOLOGY},
    {"io/", AREA_IO, AREA_BASE | AREA_IO},
    {"format/", AREA_FORMAT, AREA_BASE | AREA_FORMAT},
    {"unwind/", AREA_UNWIND, AREA_BASE | AREA_FORMAT | AREA_UNWIND},
    {"report/", AREA_REPORT, AREA_BASE | AREA_FORMAT | AREA_UNWIND | AREA_REPORT},
    {"engine/modes/", AREA_MODES, AREA_BASE | AREA_MODES},
    {"engine/kernel/", AREA_KERNEL, AREA_BASE | AREA_KERNEL},
    {"engine/bpf/", AREA_BPF, AREA_BASE | AREA_KERNEL | AREA_BPF},
    {"engine/events/", AREA_EVENTS,
     AREA_BASE | AREA_TOPOLOGY | AREA_FORMAT | AREA_UNWIND | AREA_KERNEL | AREA_BPF | AREA_EVENTS},
    {"engine/drain/", AREA_DRAIN, BELOW_ENGINE | AREA_MODES | AREA_KERNEL | AREA_BPF | AREA_EVENTS | AREA_DRAIN},
    {"engine/aux/", AREA_AUX, AREA_BASE | AREA_FORMAT | AREA_KERNEL | AREA_EVENTS | AREA_DRAIN | AREA_AUX},
    {"engine/tasks/", AREA_TASKS,
     AREA_BASE | AREA_FORMAT | AREA_UNWIND | AREA_KERNEL | AREA_EVENTS | AREA_DRAIN | AREA_TASKS},
    {"engine/plan/", AREA_PLAN, BELOW_ENGINE | DATA_PATH | AREA_PLAN},
    {"engine/control/", AREA_CONTROL, AREA_BASE | AREA_FORMAT | AREA_KERNEL | AREA_EVENTS | AREA_PLAN | AREA_CONTROL},
    {"engine/files/", AREA_FILES, BELOW_ENGINE | DATA_PATH | AREA_PLAN | AREA_CONTROL | AREA_FILES},
    {"engine/session/", AREA_SESSION, BELOW_ENGINE | RECORDING},
    {"engine/sim/", AREA_SIM, BELOW_ENGINE | RECORDING | AREA_SIM},
    {"engine/bench/", AREA_BENCH, AREA_BASE | AREA_FORMAT | AREA_BENCH},
    {"engine/upkeep/", AREA_UPKEEP, BELOW_ENGINE | RECORDING | AREA_UPKEEP},
    {"cli/", AREA_CLI, LAYERS},
    {"tests/", AREA_TESTS, LAYERS | AREA_TESTS},
    {"perf-tests/", AREA_PERF_TESTS, EVERYWHERE},
    {"libweir/", AREA_LIBWEIR, 0},
};

/* Headers of other projects: each has one layer that knows it. */
static const struct {
    const char *prefix;
    const char *homes[HOMES_MAX]; /* paths that begin with one of these may include it */
} outside_headers[] = {
    {"liburing", {"io/", "tests/io/"}},
    {"hwloc", {"topology/", "tests/topology/"}},
    {"numa.h", {"topology/", "tests/topology/"}},
    {"numaif.h", {"topology/", "tests/topology/"}},
    {"libelf.h", {"format/", "tests/format/"}},
    {"gelf.h", {"format/", "tests/format/"}},
    {"bpf/", {"engine/bpf/", "engine/events/bpf_programs.", "tests/engine/"}},
    {"event-parse.h", {"format/", "tests/format/"}},
    {"traceevent/", {"format/", "tests/format/"}},
    {"zstd", {"format/", "tests/format/"}},
    {"jansson.h", {"cli/"}},
    {"ncurses.h", {"cli/"}},
    {"libiberty", {"report/"}},
    {"zlib.h", {"unwind/"}},
    {"protobuf-c", {"report/"}},
    {"assert.h", {NULL}},
};

/* Words of C code that are banned from some areas, except in their homes. */
static const struct banned_word {
    const char *rule;
    const char *word;
    const char *advice;
    unsigned areas;
    bool only_calls; /* only when a parenthesis follows */
    const char *homes[HOMES_MAX];
} banned_words[] = {
    {"kernel-words",
     "data_head",
     "the mmap page belongs to engine/kernel/ring",
     EVERYWHERE,
     false,
     {"engine/kernel/ring.", "engine/sim/sim_kernel.", "tests/engine/"}},
    {"kernel-words",
     "data_tail",
     "the mmap page belongs to engine/kernel/ring",
     EVERYWHERE,
     false,
     {"engine/kernel/ring.", "engine/sim/sim_kernel.", "tests/engine/"}},
    {"kernel-words",
     "aux_head",
     "the mmap page belongs to engine/kernel/ring",
     EVERYWHERE,
     false,
     {"engine/kernel/ring.", "engine/sim/sim_kernel.", "tests/engine/"}},
    {"kernel-words",
     "aux_tail",
     "the mmap page belongs to engine/kernel/ring",
     EVERYWHERE,
     false,
     {"engine/kernel/ring.", "engine/sim/sim_kernel.", "tests/engine/"}},
    {"kernel-words", "SYS_perf_event_open", "engine/kernel/ring opens events", LAYERS, false, {"engine/kernel/ring."}},
    {"kernel-words", "__NR_perf_event_open", "engine/kernel/ring opens events", LAYERS, false, {"engine/kernel/ring."}},

    {"exit-below-main", "exit", "return -errno", LAYERS, true, {"cli/main.c"}},
    {"exit-below-main", "quick_exit", "return -errno", LAYERS, true, {NULL}},
    {"exit-below-main", "abort", "return -errno, or weir_assert for our own bugs", LAYERS, true, {"base/assert.c"}},

    {"library-print", "printf", "libraries give a weir_error or a weir_notice", LIBRARIES, true, {NULL}},
    {"library-print", "puts", "libraries give a weir_error or a weir_notice", LIBRARIES, true, {NULL}},
    {"library-print", "perror", "libraries give a weir_error or a weir_notice", LIBRARIES, true, {NULL}},
    {"library-print", "stderr", "libraries give a weir_error or a weir_notice", LIBRARIES, false, {"base/assert.c"}},
    {"library-print", "stdout", "libraries give a weir_error or a weir_notice", LIBRARIES, false, {NULL}},

    {"unsafe-call", "strcpy", "use snprintf or memcpy with a known length", EVERYWHERE, true, {NULL}},
    {"unsafe-call", "strcat", "use snprintf or struct weir_buf", EVERYWHERE, true, {NULL}},
    {"unsafe-call", "sprintf", "use snprintf or weir_buf_printf", EVERYWHERE, true, {NULL}},
    {"unsafe-call", "vsprintf", "use vsnprintf", EVERYWHERE, true, {NULL}},
    {"unsafe-call", "strtok", "use strcspn or strtok_r", EVERYWHERE, true, {NULL}},
    {"unsafe-call", "gets", "use fgets", EVERYWHERE, true, {NULL}},
    {"unsafe-call", "atoi", "use strtol with its checks", EVERYWHERE, true, {NULL}},
    {"unsafe-call", "atol", "use strtol with its checks", EVERYWHERE, true, {NULL}},
    {"unsafe-call", "atof", "use strtod with its checks", EVERYWHERE, true, {NULL}},
    {"unsafe-call", "alloca", "use a bounded array", EVERYWHERE, true, {NULL}},
    {"unsafe-call", "localtime", "not thread-safe: use localtime_r", LAYERS, true, {NULL}},
    {"unsafe-call", "gmtime", "not thread-safe: use gmtime_r", LAYERS, true, {NULL}},

    {"memory-order", "atomic_load", "say the order: atomic_load_explicit", LAYERS, true, {NULL}},
    {"memory-order", "atomic_store", "say the order: atomic_store_explicit", LAYERS, true, {NULL}},
    {"memory-order", "atomic_exchange", "say the order: atomic_exchange_explicit", LAYERS, true, {NULL}},
    {"memory-order", "atomic_fetch_add", "say the order: atomic_fetch_add_explicit", LAYERS, true, {NULL}},
    {"memory-order", "atomic_fetch_sub", "say the order: atomic_fetch_sub_explicit", LAYERS, true, {NULL}},
    {"memory-order", "atomic_fetch_or", "say the order: atomic_fetch_or_explicit", LAYERS, true, {NULL}},
    {"memory-order", "atomic_fetch_and", "say the order: atomic_fetch_and_explicit", LAYERS, true, {NULL}},
    {"memory-order", "atomic_compare_exchange_weak", "say both orders: the _explicit form", LAYERS, true, {NULL}},
    {"memory-order", "atomic_compare_exchange_strong", "say both orders: the _explicit form", LAYERS, true, {NULL}},
};

/* What the commands of base/remedy.c begin with: hints and weir doctor name the same ones. */
static const char *const remedy_words[] = {"sudo ", "sysctl kernel."};
static const char *const remedy_homes[HOMES_MAX] = {"base/remedy.", "cli/doctor_options."};

/* Words of any text. Written in two halves, so that this file passes its own rule. */
static const char *const unfinished_marks[] = {"TO"
                                               "DO",
                                               "FIX"
                                               "ME",
                                               "XX"
                                               "X"};

/* Beginnings of paths that exist on one developer's machine only. */
static const char *const private_paths[] = {"/wo"
                                            "rk/",
                                            "/Use"
                                            "rs/"};

struct check {
    const struct source *source;
    const struct finding_sink *sink;
};

__attribute__((format(printf, 5, 6))) static void report(const struct check *check, const char *rule, unsigned line,
                                                         bool is_advice, const char *format, ...)
{
    char message[256];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    const struct finding finding = {
        .rule = rule, .path = check->source->path, .line = line, .is_advice = is_advice, .message = message};
    check->sink->report(check->sink->ctx, &finding);
}

static unsigned area_of(const struct source *source)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(folders); i++) {
        if (source_is_under(source, folders[i].folder))
            return folders[i].area;
    }
    return 0;
}

const char *rules_room_of(const struct source *source)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(folders); i++) {
        if ((folders[i].area & (LAYERS | AREA_LIBWEIR)) && source_is_under(source, folders[i].folder))
            return folders[i].folder;
    }
    return NULL;
}

static bool is_at_home(const struct source *source, const char *const homes[HOMES_MAX])
{
    for (size_t i = 0; i < HOMES_MAX && homes[i]; i++) {
        if (source_is_under(source, homes[i]))
            return true;
    }
    return false;
}

static bool is_word_character(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The next identifier at or after text and before end, or a length of 0. */
struct identifier {
    const char *start;
    size_t length;
};

static struct identifier next_identifier(const char *text, const char *end)
{
    while (text < end && !is_word_character(*text))
        text++;
    struct identifier found = {.start = text};
    while (text + found.length < end && is_word_character(text[found.length]))
        found.length++;
    return found;
}

static bool identifier_is(struct identifier identifier, const char *word)
{
    return strlen(word) == identifier.length && strncmp(identifier.start, word, identifier.length) == 0;
}

static bool is_called(struct identifier identifier)
{
    const char *behind = identifier.start + identifier.length;
    return behind[strspn(behind, " ")] == '(';
}

/* ---- includes ---- */

static void check_own_header(const struct check *check, unsigned line, const char *header)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(folders); i++) {
        size_t folder_length = strlen(folders[i].folder);
        if (strncmp(header, folders[i].folder, folder_length) != 0)
            continue;

        unsigned may_include = 0;
        for (size_t j = 0; j < WEIR_ARRAY_COUNT(folders); j++) {
            if (area_of(check->source) == folders[j].area)
                may_include = folders[j].may_include;
        }
        if (!(may_include & folders[i].area))
            report(check, "include-edge", line, false, "%s is of a layer that this one does not know", header);

        char tests_folder[64];
        int layer_length = (int)(strchr(folders[i].folder, '/') + 1 - folders[i].folder);
        snprintf(tests_folder, sizeof(tests_folder), "tests/%.*s", layer_length, folders[i].folder);
        if (strstr(header, "_internal.h") && !source_is_under(check->source, folders[i].folder) &&
            !source_is_under(check->source, tests_folder) && !source_is_under(check->source, "tests/fuzz/"))
            report(check, "internal-header", line, false, "%s is for its own folder and its tests", header);
        return;
    }
    report(check, "include-path", line, false, "\"%s\" does not start with a folder of this tree", header);
}

static void check_outside_header(const struct check *check, unsigned line, const char *header)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(outside_headers); i++) {
        const char *prefix = outside_headers[i].prefix;
        if (strncmp(header, prefix, strlen(prefix)) == 0 && !is_at_home(check->source, outside_headers[i].homes))
            report(check, "outside-header", line, false, "<%s> belongs to %s", header,
                   outside_headers[i].homes[0] ? outside_headers[i].homes[0] : "nobody: see base/assert.h");
    }
}

static void check_includes(const struct check *check)
{
    struct source_line line = {0};
    while (source_next_line(check->source->text, &line)) {
        char header[LINE_COLUMNS_MAX];
        char open = source_parse_include(&line, header, sizeof(header));
        if (open == '"')
            check_own_header(check, line.number, header);
        else if (open == '<')
            check_outside_header(check, line.number, header);
    }
}

/* ---- words of code ---- */

static void check_identifier(const struct check *check, unsigned line, struct identifier identifier)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(banned_words); i++) {
        const struct banned_word *banned = &banned_words[i];
        if ((banned->areas & area_of(check->source)) && identifier_is(identifier, banned->word) &&
            (!banned->only_calls || is_called(identifier)) && !is_at_home(check->source, banned->homes))
            report(check, banned->rule, line, false, "%s: %s", banned->word, banned->advice);
    }
}

static void check_words(const struct check *check)
{
    struct source_line line = {0};
    while (source_next_line(check->source->code, &line)) {
        const char *end = line.start + line.length;
        struct identifier before = {.start = ""};
        for (struct identifier it = next_identifier(line.start, end); it.length > 0;
             it = next_identifier(it.start + it.length, end)) {
            check_identifier(check, line.number, it);
            if (identifier_is(before, "typedef") &&
                (identifier_is(it, "struct") || identifier_is(it, "union") || identifier_is(it, "enum")))
                report(check, "typedef", line.number, false, "say struct, union or enum at each use");
            before = it;
        }
    }
}

/* ---- shape ---- */

static bool line_is(const struct source_line *line, const char *text)
{
    return line->length == strlen(text) && strncmp(line->start, text, line->length) == 0;
}

/* In this tree's layout only a function body has its braces alone in the first column. */
static void check_functions(const struct check *check)
{
    unsigned opened = 0;
    struct source_line line = {0};
    while (source_next_line(check->source->code, &line)) {
        if (line_is(&line, "{"))
            opened = line.number;
        if (!line_is(&line, "}") || opened == 0)
            continue;
        unsigned lines = line.number - opened + 1;
        if (lines > FUNCTION_LINES_ADVICE)
            report(check, "function-length", opened, lines <= FUNCTION_LINES_MAX,
                   "%u lines; %u are a lot, %u the limit", lines, FUNCTION_LINES_ADVICE, FUNCTION_LINES_MAX);
        opened = 0;
    }
}

/* Whether a C file includes the header of the same name, which says what both are for. */
static bool has_own_header(const struct source *source)
{
    size_t length = strlen(source->path);
    char own[LINE_COLUMNS_MAX];
    snprintf(own, sizeof(own), "%.*sh", (int)length - 1, source->path);
    struct source_line line = {0};
    while (source->path[length - 1] == 'c' && source_next_line(source->text, &line)) {
        char header[LINE_COLUMNS_MAX];
        if (source_parse_include(&line, header, sizeof(header)) == '"' && strcmp(header, own) == 0)
            return true;
    }
    return false;
}

static void check_opening_comment(const struct check *check)
{
    if (strncmp(check->source->text, "/*", 2) != 0 && !has_own_header(check->source))
        report(check, "opening-comment", 1, false, "the file does not begin by saying what it is for");
}

static void check_guard(const struct check *check)
{
    const char *path = check->source->path;
    size_t length = strlen(path);
    if (path[length - 1] != 'h')
        return;

    char expected[LINE_COLUMNS_MAX];
    int end = snprintf(expected, sizeof(expected), "#ifndef WEIR_%s", path);
    for (int i = (int)strlen("#ifndef "); i < end && i < (int)sizeof(expected) - 1; i++)
        expected[i] = is_word_character(expected[i]) ? (char)toupper((unsigned char)expected[i]) : '_';

    struct source_line line = {0};
    while (source_next_line(check->source->code, &line)) {
        if (line_is(&line, expected))
            return;
    }
    report(check, "include-guard", 1, false, "no '%s'", expected);
}

/* Scripts that are run; what they source ends in .sh and runs in their mode. */
static void check_strict_mode(const struct check *check)
{
    if (strstr(check->source->path, ".sh"))
        return;
    if (strncmp(check->source->text, "#!/usr/bin/env bash\n", strlen("#!/usr/bin/env bash\n")) != 0)
        report(check, "script-strict", 1, false, "the first line is not '#!/usr/bin/env bash'");
    struct source_line line = {0};
    while (source_next_line(check->source->text, &line)) {
        if (line_is(&line, "set -euo pipefail"))
            return;
    }
    report(check, "script-strict", 1, false, "no 'set -euo pipefail'");
}

/* ---- text ---- */

static unsigned columns_of(const struct source_line *line)
{
    unsigned columns = 0;
    for (size_t i = 0; i < line->length; i++)
        columns += ((unsigned char)line->start[i] & 0xc0) != 0x80; /* UTF-8 continuation bytes take no column */
    return columns;
}

static void check_layout(const struct check *check, const struct source_line *line)
{
    enum source_kind kind = check->source->kind;
    const char *end = line->start + line->length;
    if (kind != SOURCE_PROSE && columns_of(line) > LINE_COLUMNS_MAX)
        report(check, "line-length", line->number, false, "%u columns; %u are the limit", columns_of(line),
               LINE_COLUMNS_MAX);
    if (line->length > 0 && isspace((unsigned char)end[-1]))
        report(check, "white-space", line->number, false, "white space at the end of the line");
    if (kind != SOURCE_PROSE && memchr(line->start, '\t', line->length))
        report(check, "white-space", line->number, false, "a tab");
    if (*end == '\0')
        report(check, "white-space", line->number, false, "no newline at the end of the file");
}

static void check_line_text(const struct check *check, const struct source_line *line)
{
    const char *end = line->start + line->length;
    for (struct identifier it = next_identifier(line->start, end); it.length > 0;
         it = next_identifier(it.start + it.length, end)) {
        for (size_t i = 0; i < WEIR_ARRAY_COUNT(unfinished_marks); i++) {
            if (identifier_is(it, unfinished_marks[i]))
                report(check, "unfinished", line->number, false, "%s: finish it or say it in the documents",
                       unfinished_marks[i]);
        }
    }
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(private_paths); i++) {
        if (memmem(line->start, line->length, private_paths[i], strlen(private_paths[i])))
            report(check, "private-path", line->number, false, "%s is on one machine only", private_paths[i]);
    }
}

/* In a literal: what comments and documents say is theirs. */
static void check_commands(const struct check *check, const struct source_line *line)
{
    bool is_layer = (area_of(check->source) & LAYERS) && check->source->kind != SOURCE_PROSE;
    for (size_t i = 0; is_layer && i < WEIR_ARRAY_COUNT(remedy_words); i++) {
        const char *at = memmem(line->start, line->length, remedy_words[i], strlen(remedy_words[i]));
        bool is_quoted = at && memchr(line->start, '"', (size_t)(at - line->start));
        if (is_quoted && !is_at_home(check->source, remedy_homes))
            report(check, "remedy-home", line->number, false, "commands that mend a limit are rows of base/remedy.c");
    }
}

static void check_text(const struct check *check)
{
    struct source_line line = {0};
    while (source_next_line(check->source->text, &line)) {
        check_layout(check, &line);
        check_line_text(check, &line);
        check_commands(check, &line);
    }
    if (check->source->kind != SOURCE_PROSE && line.number > FILE_LINES_MAX)
        report(check, "file-length", line.number, area_of(check->source) == AREA_TESTS,
               "%u lines; what else is in here?", line.number);
}

void rules_check(const struct source *source, const struct finding_sink *sink)
{
    const struct check check = {.source = source, .sink = sink};
    if (source->kind == SOURCE_OTHER)
        return;
    check_text(&check);
    if (source->kind == SOURCE_SCRIPT)
        check_strict_mode(&check);
    if (source->kind != SOURCE_C)
        return;
    check_opening_comment(&check);
    check_guard(&check);
    check_includes(&check);
    check_words(&check);
    check_functions(&check);
}
