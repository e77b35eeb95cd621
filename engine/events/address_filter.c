/* A hand-written parser, and the search for the functions that each filter names. Main thread. */
#include "engine/events/address_filter.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/remedy.h"
#include "base/suggest.h"
#include "format/functions.h"

#define NAME_BYTES 512
#define ANY        (-1) /* the only function of that name */
#define GLOBAL     0
#define SHOWN_MAX  4 /* functions of one name in a hint */

static const char grammar[] =
    "filter|start|stop|tracestop FUNCTION|ADDRESS [/ FUNCTION|SIZE] [@FILE], with blanks around functions";

struct place {
    char name[NAME_BYTES]; /* "": the place is `number` */
    int which;             /* ANY, GLOBAL, or N: the Nth function of that name */
    uint64_t number;
};

struct filter {
    const char *action; /* the kernel's word */
    bool is_range;
    struct place from, to; /* to: the end, or a size */
    bool has_to;
    char file[PATH_MAX]; /* "": the kernel */
};

struct parser {
    const char *text, *at;
    const char *proc_root;
    struct weir_error *err;
};

/* ---- the text ---- */

static int malformed(const struct parser *parser, const char *expected)
{
    weir_error_set(parser->err, -EINVAL, "address filter '%s': expected %s at column %td", parser->text, expected,
                   parser->at - parser->text + 1);
    weir_error_hint(parser->err, "%s", grammar);
    return -EINVAL;
}

static void skip(struct parser *parser, const char *letters)
{
    parser->at += strspn(parser->at, letters);
}

/* Cuts the text up to one of the letters or the end. 0 or -EINVAL. */
static int take_word(struct parser *parser, const char *letters, char *word, size_t bytes, const char *expected)
{
    size_t length = strcspn(parser->at, letters);
    if (length == 0 || length >= bytes)
        return malformed(parser, expected);
    memcpy(word, parser->at, length);
    word[length] = '\0';
    parser->at += length;
    return 0;
}

static int take_number(struct parser *parser, uint64_t *number)
{
    char *end;
    errno = 0;
    uint64_t value = strtoull(parser->at, &end, 0);
    if (errno != 0 || (*end && !strchr(" /@,", *end)))
        return malformed(parser, "a number of 64 bits");
    parser->at = end;
    *number = value;
    return 0;
}

static int take_which(struct parser *parser, int *which)
{
    *which = ANY;
    skip(parser, " ");
    if (*parser->at != '#')
        return 0;
    parser->at++;
    if (*parser->at == 'g' || *parser->at == 'G') {
        parser->at++;
        *which = GLOBAL;
        return 0;
    }
    uint64_t number = 0;
    if (!isdigit((unsigned char)*parser->at))
        return malformed(parser, "the number of a function, or g");
    int result = take_number(parser, &number);
    if (result == 0 && number > INT_MAX)
        return malformed(parser, "a smaller number");
    *which = (int)number;
    return result;
}

static int take_place(struct parser *parser, struct place *place, const char *expected)
{
    skip(parser, " ");
    if (isdigit((unsigned char)*parser->at))
        return take_number(parser, &place->number);
    int result = take_word(parser, " ", place->name, sizeof(place->name), expected);
    return result < 0 ? result : take_which(parser, &place->which);
}

static int take_action(struct parser *parser, struct filter *filter)
{
    static const struct {
        const char *word, *action;
        bool is_range;
    } actions[] = {
        {"filter", "filter", true}, {"start", "start", false}, {"stop", "stop", false}, {"tracestop", "stop", true}};
    static const char expected[] = "filter, start, stop or tracestop";
    const char *begin = parser->at;
    char word[sizeof("tracestop")];
    int result = take_word(parser, " ", word, sizeof(word), expected);
    for (size_t i = 0; result == 0 && i < WEIR_ARRAY_COUNT(actions); i++) {
        if (strcmp(word, actions[i].word) == 0) {
            filter->action = actions[i].action;
            filter->is_range = actions[i].is_range;
            return 0;
        }
    }
    parser->at = begin;
    return malformed(parser, expected);
}

static int take_filter(struct parser *parser, struct filter *filter)
{
    int result = take_action(parser, filter);
    if (result == 0)
        result = take_place(parser, &filter->from, "a function or an address");
    skip(parser, " ");
    if (result == 0 && *parser->at == '/') {
        parser->at++;
        filter->is_range = filter->has_to = true;
        result = take_place(parser, &filter->to, "a function or a size");
    }
    skip(parser, " ");
    if (result == 0 && *parser->at == '@') {
        parser->at++;
        skip(parser, " ");
        result = take_word(parser, " ,", filter->file, sizeof(filter->file), "the name of a file");
    }
    skip(parser, " ,");
    return result;
}

/* ---- functions ---- */

static const char *home_of(const struct filter *filter)
{
    return filter->file[0] ? filter->file : "the kernel";
}

static bool matches(const struct weir_functions *functions, size_t index, const char *name)
{
    return strcmp(weir_function_name(functions, index), name) == 0;
}

static int not_found(const struct parser *parser, const struct filter *filter, const struct place *place,
                     const struct weir_functions *functions)
{
    weir_error_set(parser->err, -EINVAL, "address filter '%s': there is no %sfunction '%s'%s in %s", parser->text,
                   place->which == GLOBAL ? "global " : "", place->name, place->which > 0 ? " of that number" : "",
                   home_of(filter));
    struct weir_suggest suggest;
    weir_suggest_init(&suggest, place->name);
    bool is_there = false;
    for (size_t i = 0; i < functions->count; i++) {
        is_there |= matches(functions, i, place->name);
        weir_suggest_offer(&suggest, weir_function_name(functions, i));
    }
    const char *best = weir_suggest_best(&suggest);
    if (is_there)
        weir_error_hint(parser->err, "leave out the # behind it for the only one, or try another number");
    else if (best)
        weir_error_hint(parser->err, "did you mean '%s'?", best);
    else
        weir_error_hint(parser->err, "nm%s lists the functions; a stripped file has only those that it exports",
                        filter->file[0] ? " --defined-only" : ", or /proc/kallsyms,");
    return -EINVAL;
}

static int ambiguous(const struct parser *parser, const struct filter *filter, const struct place *place,
                     const struct weir_functions *functions)
{
    char list[256] = "";
    size_t used = 0, count = 0;
    for (size_t i = 0; i < functions->count; i++) {
        if (!matches(functions, i, place->name) || ++count > SHOWN_MAX)
            continue;
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s#%zu is at 0x%" PRIx64 " (%c)", used ? ", " : "",
                                 count, functions->items[i].start, functions->items[i].binding);
    }
    weir_error_set(parser->err, -EINVAL, "address filter '%s': there are %zu functions '%s' in %s", parser->text, count,
                   place->name, home_of(filter));
    weir_error_hint(parser->err, "'%s #2' chooses one, '%s #g' the global one: %s", place->name, place->name, list);
    return -EINVAL;
}

static int find(const struct parser *parser, const struct filter *filter, const struct place *place,
                const struct weir_functions *functions, const struct weir_function **found)
{
    int count = 0;
    *found = NULL;
    for (size_t i = 0; i < functions->count; i++) {
        const struct weir_function *function = &functions->items[i];
        if (!matches(functions, i, place->name) || (place->which == GLOBAL && function->binding != 'g'))
            continue;
        count++;
        if (!*found && (place->which <= GLOBAL || count == place->which))
            *found = function;
    }
    if (!*found)
        return not_found(parser, filter, place, functions);
    return place->which <= GLOBAL && count > 1 ? ambiguous(parser, filter, place, functions) : 0;
}

static int read_kernel(const struct parser *parser, struct weir_functions *functions)
{
    int result = weir_functions_of_kernel(functions, parser->proc_root);
    if (result == 0)
        return 0;
    weir_error_set_errno(parser->err, result, "address filter '%s': cannot read the functions of the kernel",
                         parser->text);
    weir_error_hint(parser->err,
                    "kernel.kptr_restrict hides the kernel's addresses: run as root, after %s; or give the file of the "
                    "functions: @FILE",
                    weir_remedy(WEIR_REMEDY_KPTR_RESTRICT, 0, (char[WEIR_REMEDY_BYTES]){0}));
    return result;
}

/* Makes the name of the file a full path. */
static int read_file(const struct parser *parser, struct filter *filter, struct weir_functions *functions,
                     uint64_t *bytes)
{
    char path[PATH_MAX];
    struct stat status = {0};
    int fd = realpath(filter->file, path) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    int result = fd < 0 || fstat(fd, &status) < 0 ? -errno : 0;
    bool needs_names = filter->from.name[0] || filter->to.name[0];
    if (result == 0 && needs_names && strcmp(filter->from.name, "*") != 0)
        result = weir_functions_of_file(functions, fd, path, NULL);
    if (fd >= 0)
        close(fd);
    if (result == -ENODATA) {
        weir_error_set(parser->err, -EINVAL, "address filter '%s': %s has no names of functions", parser->text,
                       filter->file);
        weir_error_hint(parser->err,
                        "the file is stripped and has no debug file, or is no program: give an address in it instead");
        return -EINVAL;
    }
    if (result < 0) {
        weir_error_set_errno(parser->err, result, "address filter '%s': cannot read %s", parser->text, filter->file);
        weir_error_hint(parser->err, "the name of a file ends at a blank or comma");
        return result;
    }
    *bytes = (uint64_t)status.st_size;
    snprintf(filter->file, sizeof(filter->file), "%s", path);
    return 0;
}

/* All functions of the kernel, from the first to the page that follows the last. */
static void take_all(struct filter *filter, const struct weir_functions *functions, uint64_t file_bytes)
{
    uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    filter->from.number = 0;
    filter->to.number = file_bytes;
    if (!filter->file[0] && functions->count > 0) {
        filter->from.number = functions->items[0].start;
        filter->to.number =
            weir_align_up(functions->items[functions->count - 1].start, page_bytes) + page_bytes - filter->from.number;
    }
}

/* Replaces names by numbers. */
static int resolve_names(const struct parser *parser, struct filter *filter, const struct weir_functions *functions)
{
    const struct weir_function *from = NULL, *to = NULL;
    int result = filter->from.name[0] ? find(parser, filter, &filter->from, functions, &from) : 0;
    if (result == 0 && filter->to.name[0])
        result = find(parser, filter, &filter->to, functions, &to);
    if (result < 0)
        return result;
    if (from)
        filter->from.number = from->start;
    const struct weir_function *last = to ? to : filter->has_to || !filter->is_range ? NULL : from;
    if (last && last->bytes == 0) {
        weir_error_set(parser->err, -EINVAL, "address filter '%s': the size of function '%s' is unknown", parser->text,
                       last == to ? filter->to.name : filter->from.name);
        weir_error_hint(parser->err, "it is the last function there: give its size as a number, FUNCTION / SIZE");
        return -EINVAL;
    }
    if (last && !to)
        filter->to.number = last->bytes;
    if (to && to->start + to->bytes < filter->from.number) {
        weir_error_set(parser->err, -EINVAL, "address filter '%s': function '%s' lies before the start", parser->text,
                       filter->to.name);
        weir_error_hint(parser->err, "the start is 0x%" PRIx64 ", the function at 0x%" PRIx64, filter->from.number,
                        to->start);
        return -EINVAL;
    }
    if (to)
        filter->to.number = to->start + to->bytes - filter->from.number;
    return 0;
}

static int resolve(const struct parser *parser, struct filter *filter)
{
    struct weir_functions functions = WEIR_FUNCTIONS_INIT;
    uint64_t file_bytes = 0;
    int result = 0;
    if (filter->file[0])
        result = read_file(parser, filter, &functions, &file_bytes);
    else if (filter->from.name[0] || filter->to.name[0])
        result = read_kernel(parser, &functions);
    if (result == 0 && strcmp(filter->from.name, "*") == 0)
        take_all(filter, &functions, file_bytes);
    else if (result == 0)
        result = resolve_names(parser, filter, &functions);
    weir_functions_fini(&functions);
    return result;
}

static void print(struct weir_buf *out, const struct filter *filter, bool first)
{
    weir_buf_printf(out, "%s%s 0x%" PRIx64, first ? "" : ",", filter->action, filter->from.number);
    if (filter->is_range)
        weir_buf_printf(out, "/0x%" PRIx64, filter->to.number);
    if (filter->file[0])
        weir_buf_printf(out, "@%s", filter->file);
}

int weir_address_filter_resolve(struct weir_buf *out, const char *text, unsigned max, const char *proc_root,
                                struct weir_error *err)
{
    struct parser parser = {.text = text, .at = text, .proc_root = proc_root, .err = err};
    size_t before = out->used;
    unsigned count = 0;
    int result;
    skip(&parser, " ,");
    do {
        struct filter filter = {.from = {.which = ANY}, .to = {.which = ANY}};
        result = take_filter(&parser, &filter);
        if (result == 0 && ++count > max) {
            result =
                weir_error_set(err, -EINVAL, "address filter '%s': %u filters are the most for this event", text, max);
            weir_error_hint(err, "its PMU has registers for that many (nr_addr_filters)");
        }
        if (result == 0)
            result = resolve(&parser, &filter);
        if (result == 0)
            print(out, &filter, out->used == before);
    } while (result == 0 && *parser.at);
    if (result == 0 && weir_buf_error(out) < 0)
        result = weir_error_set_errno(err, -ENOMEM, "address filter '%s'", text);
    if (result < 0)
        out->used = before;
    return result;
}
