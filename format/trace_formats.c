/* Gives libtraceevent the formats of a TRACING_DATA section that it survives. One thread. */
#include "format/trace_formats.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <traceevent/event-parse.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bits.h"

#define FORMAT_MAX_BYTES (64u << 10)
#define OPERATORS_MAX    512u
#define PRINT_FMT        "\nprint fmt:"
#define TRIALS_MAX       16u /* children that may crash before the rest is given up */
#define TRIAL_CPU_S      10u

/* Whether libtraceevent's recursive parser can be given the text: bounded depth, no bytes but printable ones. */
static bool is_parsable(const uint8_t *text, size_t bytes)
{
    unsigned depth = 0, operators = 0;
    for (size_t i = 0; i < bytes; i++) {
        uint8_t c = text[i];
        if ((c < ' ' && c != '\t' && c != '\n') || c >= 0x7f)
            return false;
        if (c == '(' || c == '{' || c == '[')
            depth++;
        else if ((c == ')' || c == '}' || c == ']') && depth > 0)
            depth--;
        operators += c == '?' || c == '!' || c == '~' || c == '-';
        if (depth > WEIR_TRACE_NESTING_MAX || operators > OPERATORS_MAX)
            return false;
    }
    return bytes > 0;
}

static void list_format(struct weir_trace_formats *list, const char *system, const uint8_t *text, size_t bytes)
{
    if (bytes > FORMAT_MAX_BYTES || !is_parsable(text, bytes))
        return;
    struct weir_trace_format *grown = weir_array_grow(list->items, sizeof(*grown), list->count, 1, &list->capacity);
    list->failed |= !grown;
    if (!grown)
        return;
    list->items = grown;
    list->items[list->count++] = (struct weir_trace_format){.system = system, .text = text, .bytes = bytes};
    list->bytes_max = weir_max_u64(list->bytes_max, bytes);
}

void weir_trace_formats_list(struct weir_trace_formats *list, const char *system, struct weir_cursor *cursor)
{
    uint32_t count = weir_trace_formats_u32(list, cursor);
    for (uint32_t i = 0; i < count && !cursor->failed; i++) {
        uint64_t bytes = weir_trace_formats_u64(list, cursor);
        const uint8_t *text = weir_cursor_take(cursor, bytes);
        if (text && system)
            list_format(list, system, text, bytes);
    }
}

/* libtraceevent 1.7 cannot parse a text that has a tab, as those of maple_tree have. */
static void replace_tabs(char *text)
{
    for (char *at = strstr(text, PRINT_FMT); at && *at; at++) {
        if (*at == '\t')
            *at = ' ';
    }
}

/* tep does not know a format that it cannot parse. Samples of that format are shown as bytes. */
static void parse_format(struct tep_handle *tep, const struct weir_trace_format *format, char *scratch)
{
    memcpy(scratch, format->text, format->bytes);
    scratch[format->bytes] = '\0';
    replace_tabs(scratch);
    tep_parse_event(tep, scratch, format->bytes, format->system);
}

/* In the child: a byte for each format that was survived. A crash of the child leaves no core and no report, and its
 * CPU time is limited. */
static void try_formats(struct tep_handle *tep, const struct weir_trace_format *formats, size_t count, char *scratch,
                        int fd)
{
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXCPU};
    const struct rlimit no_core = {0}, cpu = {.rlim_cur = TRIAL_CPU_S, .rlim_max = TRIAL_CPU_S};
    setrlimit(RLIMIT_CORE, &no_core);
    setrlimit(RLIMIT_CPU, &cpu);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(fatal); i++)
        signal(fatal[i], SIG_DFL);
    close(STDERR_FILENO);
    for (size_t i = 0; i < count; i++) {
        parse_format(tep, &formats[i], scratch);
        if (write(fd, "", 1) != 1)
            break;
    }
    _exit(0);
}

/* How many formats, from the first on, a child has survived. */
static size_t count_survived(struct tep_handle *tep, const struct weir_trace_format *formats, size_t count,
                             char *scratch)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return 0;
    pid_t child = fork();
    if (child == 0)
        try_formats(tep, formats, count, scratch, ends[1]);
    close(ends[1]);
    size_t survived = 0;
    char bytes[256];
    for (ssize_t part = 1; child > 0 && part != 0;) {
        part = read(ends[0], bytes, sizeof(bytes));
        if (part < 0 && errno != EINTR)
            break;
        survived += part > 0 ? (size_t)part : 0;
    }
    close(ends[0]);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    return survived;
}

/* libtraceevent crashes on some formats that are damaged: those are found by letting children crash. */
static void mark_bad(struct tep_handle *tep, struct weir_trace_formats *list)
{
    size_t next = 0;
    for (unsigned trials = 0; next < list->count && trials < TRIALS_MAX; trials++) {
        next += count_survived(tep, list->items + next, list->count - next, list->scratch);
        if (next < list->count)
            list->items[next++].is_bad = true;
    }
    for (; next < list->count; next++)
        list->items[next].is_bad = true;
}

void weir_trace_formats_parse(struct weir_trace_formats *list, struct tep_handle *tep)
{
    list->scratch = malloc(list->bytes_max + 1);
    if (!list->scratch) {
        list->failed = true;
        return;
    }
    mark_bad(tep, list);
    for (size_t i = 0; i < list->count; i++) {
        if (!list->items[i].is_bad)
            parse_format(tep, &list->items[i], list->scratch);
    }
}

void weir_trace_formats_fini(struct weir_trace_formats *list)
{
    free(list->items);
    free(list->scratch);
}
