/*
 * Modules as a graph. Names are borrowed from the copies of the files. The reachable modules of each are those of
 * Warshall's closure: some hundred modules, so that the cube of their number is no matter.
 */
#include "tests/tidy/modules.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "tests/tidy/functions.h"

#define NAME_BYTES    64u
#define MESSAGE_BYTES 1024u

struct module_file {
    char *path;       /* owned */
    char *text;       /* owned */
    char *code;       /* owned; see source.h */
    const char *room; /* static */
    size_t module;    /* index into modules.all */
};

struct module {
    const char *room; /* static */
    char name[NAME_BYTES];
};

/* A word of code; not terminated. */
struct word {
    const char *start; /* borrowed */
    size_t length;
};

struct module_name {
    struct word word;
    size_t file;
    unsigned line;
    bool is_definition; /* of any file; otherwise a declaration of a header */
};

struct module_edge {
    size_t from, to; /* modules */
    struct word why; /* a function's name or the path of a header */
};

void modules_fini(struct modules *modules)
{
    for (size_t i = 0; i < modules->file_count; i++) {
        free(modules->files[i].path);
        free(modules->files[i].text);
        free(modules->files[i].code);
    }
    free(modules->files);
    free(modules->all);
    free(modules->names);
    free(modules->edges);
    free(modules->reaches);
    *modules = (struct modules)MODULES_INIT;
}

int modules_collect(struct modules *modules, const struct source *source)
{
    const char *room = source->kind == SOURCE_C ? rules_room_of(source) : NULL;
    if (!room)
        return 0;
    struct module_file *files =
        weir_array_grow(modules->files, sizeof(*files), modules->file_count, 1, &modules->file_capacity);
    if (!files)
        return -ENOMEM;
    modules->files = files;
    struct module_file *file = &files[modules->file_count++];
    *file = (struct module_file){
        .path = strdup(source->path), .text = strdup(source->text), .code = strdup(source->code), .room = room};
    return file->path && file->text && file->code ? 0 : -ENOMEM;
}

/* ---- which file belongs to which module ---- */

static bool is_header(const struct module_file *file)
{
    return file->path[strlen(file->path) - 1] == 'h';
}

/* The name of a file without folder and without ".c" or ".h". */
static struct word stem_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *start = slash ? slash + 1 : path;
    return (struct word){.start = start, .length = strlen(start) - strlen(".c")};
}

static bool has_header(const struct modules *modules, const char *room, struct word stem, const char *suffix)
{
    char name[NAME_BYTES];
    snprintf(name, sizeof(name), "%.*s%s", (int)stem.length, stem.start, suffix);
    for (size_t i = 0; i < modules->file_count; i++) {
        const struct module_file *file = &modules->files[i];
        struct word other = stem_of(file->path);
        if (is_header(file) && file->room == room && other.length == strlen(name) &&
            strncmp(other.start, name, other.length) == 0)
            return true;
    }
    return false;
}

/* The beginning of a file's stem that names its module. */
static struct word module_name_of(const struct modules *modules, const struct module_file *file)
{
    static const char internal[] = "_internal";
    struct word stem = stem_of(file->path);
    size_t suffix = sizeof(internal) - 1;
    if (is_header(file)) {
        bool is_internal = stem.length > suffix && strncmp(stem.start + stem.length - suffix, internal, suffix) == 0;
        stem.length -= is_internal ? suffix : 0;
        return stem;
    }
    if (has_header(modules, file->room, stem, ""))
        return stem;
    for (struct word part = stem; part.length > 0; part.length--) {
        bool is_part = part.length == stem.length || stem.start[part.length] == '_';
        if (is_part && has_header(modules, file->room, part, internal))
            return part;
    }
    return stem;
}

static int name_module(struct modules *modules, struct module_file *file)
{
    struct word stem = module_name_of(modules, file);
    char name[NAME_BYTES];
    snprintf(name, sizeof(name), "%.*s", (int)stem.length, stem.start);
    for (size_t i = 0; i < modules->count; i++) {
        if (modules->all[i].room == file->room && strcmp(modules->all[i].name, name) == 0) {
            file->module = i;
            return 0;
        }
    }
    struct module *all = weir_array_grow(modules->all, sizeof(*all), modules->count, 1, &modules->capacity);
    if (!all)
        return -ENOMEM;
    modules->all = all;
    all[modules->count].room = file->room;
    memcpy(all[modules->count].name, name, sizeof(name));
    file->module = modules->count++;
    return 0;
}

/* ---- which functions there are ---- */

static int compare_words(const struct word *a, const struct word *b)
{
    size_t common = a->length < b->length ? a->length : b->length;
    int order = strncmp(a->start, b->start, common);
    return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

static int compare_names(const void *a, const void *b)
{
    const struct module_name *one = a, *other = b;
    int order = compare_words(&one->word, &other->word);
    return order != 0 ? order : (one->file > other->file) - (one->file < other->file);
}

static int add_names(struct modules *modules, size_t index)
{
    const struct module_file *file = &modules->files[index];
    struct function_scan scan = {.at = file->code, .line = 1};
    struct function function;
    while (function_next(&scan, &function)) {
        bool is_inline = is_header(file) && function.is_definition;
        if ((function.is_static && !is_header(file)) || (!is_header(file) && !function.is_definition))
            continue;
        struct module_name *names =
            weir_array_grow(modules->names, sizeof(*names), modules->name_count, 1, &modules->name_capacity);
        if (!names)
            return -ENOMEM;
        modules->names = names;
        names[modules->name_count++] = (struct module_name){
            .word = {function.name, function.length},
            .file = index,
            .line = function.line,
            .is_definition = is_inline || function.is_definition,
        };
    }
    return 0;
}

/* The first of the names that are equal to word; *end is behind the last one. NULL: there is none. */
static const struct module_name *find_names(const struct modules *modules, struct word word,
                                            const struct module_name **end)
{
    size_t low = 0, high = modules->name_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_words(&modules->names[middle].word, &word) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    size_t behind = low;
    while (behind < modules->name_count && compare_words(&modules->names[behind].word, &word) == 0)
        behind++;
    *end = modules->names + behind;
    return behind > low ? modules->names + low : NULL;
}

/* ---- edges ---- */

static int add_edge(struct modules *modules, size_t from, size_t to, struct word why)
{
    if (from == to || modules->all[from].room != modules->all[to].room)
        return 0;
    for (size_t i = 0; i < modules->edge_count; i++) {
        const struct module_edge *edge = &modules->edges[i];
        if (edge->from == from && edge->to == to && compare_words(&edge->why, &why) == 0)
            return 0;
    }
    struct module_edge *edges =
        weir_array_grow(modules->edges, sizeof(*edges), modules->edge_count, 1, &modules->edge_capacity);
    if (!edges)
        return -ENOMEM;
    modules->edges = edges;
    edges[modules->edge_count++] = (struct module_edge){.from = from, .to = to, .why = why};
    return 0;
}

static int add_includes(struct modules *modules, const struct module_file *file)
{
    struct source_line line = {0};
    while (source_next_line(file->text, &line)) {
        char header[NAME_BYTES * 2];
        if (source_parse_include(&line, header, sizeof(header)) != '"')
            continue;
        for (size_t i = 0; i < modules->file_count; i++) {
            const struct module_file *other = &modules->files[i];
            if (strcmp(other->path, header) != 0)
                continue;
            int result = add_edge(modules, file->module, other->module, (struct word){other->path, strlen(header)});
            if (result < 0)
                return result;
        }
    }
    return 0;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Whether a word names a member or a tag, which may be called as a function is. */
static bool is_member_or_tag(const char *code, const char *word)
{
    static const char *const tags[] = {"struct", "union", "enum"};
    const char *before = word;
    while (before > code && isspace((unsigned char)before[-1]))
        before--;
    size_t room = (size_t)(before - code);
    if ((room >= 1 && before[-1] == '.') || (room >= 2 && strncmp(before - 2, "->", 2) == 0))
        return true;
    for (size_t i = 0; i < sizeof(tags) / sizeof(*tags); i++) {
        size_t length = strlen(tags[i]);
        if (room >= length && strncmp(before - length, tags[i], length) == 0)
            return true;
    }
    return false;
}

static int add_use(struct modules *modules, const struct module_file *file, struct word word)
{
    const struct module_name *end;
    const struct module_name *name = find_names(modules, word, &end);
    for (const struct module_name *it = name; it && it < end; it++) {
        if (it->is_definition && modules->files[it->file].module == file->module)
            return 0;
    }
    for (; name && name < end; name++) {
        int result = add_edge(modules, file->module, modules->files[name->file].module, name->word);
        if (result < 0)
            return result;
    }
    return 0;
}

static int add_uses(struct modules *modules, const struct module_file *file)
{
    const char *at = file->code;
    while (*at) {
        struct word word = {.start = at};
        while (is_word(at[word.length]))
            word.length++;
        if (word.length > 0 && !is_member_or_tag(file->code, at)) {
            int result = add_use(modules, file, word);
            if (result < 0)
                return result;
        }
        at += word.length > 0 ? word.length : 1;
    }
    return 0;
}

static int close_edges(struct modules *modules)
{
    size_t count = modules->count;
    bool *reaches = calloc(count * count + 1, sizeof(*reaches));
    if (!reaches)
        return -ENOMEM;
    modules->reaches = reaches;
    for (size_t i = 0; i < modules->edge_count; i++)
        reaches[modules->edges[i].from * count + modules->edges[i].to] = true;
    for (size_t by = 0; by < count; by++) {
        for (size_t from = 0; from < count; from++) {
            for (size_t to = 0; reaches[from * count + by] && to < count; to++)
                reaches[from * count + to] |= reaches[by * count + to];
        }
    }
    return 0;
}

int modules_link(struct modules *modules)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < modules->file_count; i++)
        result = name_module(modules, &modules->files[i]);
    for (size_t i = 0; result == 0 && i < modules->file_count; i++)
        result = add_names(modules, i);
    if (result == 0 && modules->name_count > 0)
        qsort(modules->names, modules->name_count, sizeof(*modules->names), compare_names);
    for (size_t i = 0; result == 0 && i < modules->file_count; i++)
        result = add_includes(modules, &modules->files[i]);
    for (size_t i = 0; result == 0 && i < modules->file_count; i++)
        result = add_uses(modules, &modules->files[i]);
    return result == 0 ? close_edges(modules) : result;
}

/* ---- circles ---- */

static bool is_in_circle_of(const struct modules *modules, size_t one, size_t other)
{
    return modules->reaches[one * modules->count + other] && modules->reaches[other * modules->count + one];
}

/* Whether a module is the first one of a circle; each circle has one such. */
static bool begins_circle(const struct modules *modules, size_t module)
{
    for (size_t i = 0; i < module; i++) {
        if (is_in_circle_of(modules, i, module))
            return false;
    }
    return is_in_circle_of(modules, module, module);
}

/* Puts the names of a module's circle into text. */
static void name_circle(const struct modules *modules, size_t module, char *text, size_t bytes)
{
    size_t used = 0;
    for (size_t i = 0; i < modules->count && used < bytes; i++) {
        if (is_in_circle_of(modules, module, i))
            used += (size_t)snprintf(text + used, bytes - used, "%s%s", used ? " " : "", modules->all[i].name);
    }
}

/* ---- exceptions ---- */

/* Moves word, all zero at first, to the next of the words in text. False at the end. */
static bool next_word(const char *text, struct word *word)
{
    const char *start = word->start ? word->start + word->length : text;
    start += strspn(start, " ");
    *word = (struct word){.start = start, .length = strcspn(start, " ")};
    return word->length > 0;
}

static bool has_word(const char *text, const char *name)
{
    struct word word = {0};
    while (next_word(text, &word)) {
        if (word.length == strlen(name) && strncmp(word.start, name, word.length) == 0)
            return true;
    }
    return false;
}

/* Whether one exception has all modules of a circle. */
static bool circle_is_excepted(const struct modules *modules, const struct module_exception *exceptions, size_t module)
{
    for (const struct module_exception *it = exceptions; it->place; it++) {
        bool has_all = strcmp(it->place, modules->all[module].room) == 0;
        for (size_t i = 0; has_all && i < modules->count; i++)
            has_all = !is_in_circle_of(modules, module, i) || has_word(it->modules, modules->all[i].name);
        if (has_all)
            return true;
    }
    return false;
}

/* ---- declarations ---- */

/* The file that defines the function which a header declares, if the file is of another module. Otherwise NULL; so for
 * a function that no room defines, but a test. */
static const struct module_file *foreign_file(const struct modules *modules, const struct module_name *declaration)
{
    const struct module_name *end;
    const struct module_file *header = &modules->files[declaration->file];
    const struct module_file *foreign = NULL;
    if (declaration->is_definition)
        return NULL;
    for (const struct module_name *it = find_names(modules, declaration->word, &end); it && it < end; it++) {
        const struct module_file *file = &modules->files[it->file];
        if (it->is_definition && file->module == header->module)
            return NULL;
        if (it->is_definition)
            foreign = file;
    }
    return foreign;
}

static bool declaration_is_excepted(const struct module_exception *exceptions, const char *header, const char *module)
{
    for (const struct module_exception *it = exceptions; it->place; it++) {
        if (strcmp(it->place, header) == 0 && has_word(it->modules, module))
            return true;
    }
    return false;
}

/* ---- check ---- */

static void check_circles(const struct modules *modules, const struct module_exceptions *exceptions,
                          const struct finding_sink *sink)
{
    for (size_t i = 0; i < modules->count; i++) {
        if (!begins_circle(modules, i) || circle_is_excepted(modules, exceptions->circles, i))
            continue;
        char names[MESSAGE_BYTES] = "", message[MESSAGE_BYTES + 64];
        name_circle(modules, i, names, sizeof(names));
        snprintf(message, sizeof(message), "%s (edges: test_tidy_tree --modules DIR)", names);
        sink->report(
            sink->ctx,
            &(struct finding){.rule = "module-circle", .path = modules->all[i].room, .line = 1, .message = message});
    }
}

static void check_declarations(const struct modules *modules, const struct module_exceptions *exceptions,
                               const struct finding_sink *sink)
{
    for (size_t i = 0; i < modules->name_count; i++) {
        const struct module_name *name = &modules->names[i];
        const char *header = modules->files[name->file].path;
        const struct module_file *file = foreign_file(modules, name);
        if (!file || declaration_is_excepted(exceptions->declarations, header, modules->all[file->module].name))
            continue;
        char message[MESSAGE_BYTES];
        snprintf(message, sizeof(message), "%.*s() is of module %s (%s)", (int)name->word.length, name->word.start,
                 modules->all[file->module].name, file->path);
        sink->report(
            sink->ctx,
            &(struct finding){.rule = "foreign-declaration", .path = header, .line = name->line, .message = message});
    }
}

static bool circle_needs_exception(const struct modules *modules, const char *room, const char *module)
{
    for (size_t i = 0; i < modules->count; i++) {
        if (strcmp(modules->all[i].room, room) == 0 && strcmp(modules->all[i].name, module) == 0)
            return is_in_circle_of(modules, i, i);
    }
    return false;
}

static bool declaration_needs_exception(const struct modules *modules, const char *header, const char *module)
{
    for (size_t i = 0; i < modules->name_count; i++) {
        const struct module_file *file = foreign_file(modules, &modules->names[i]);
        if (file && strcmp(modules->files[modules->names[i].file].path, header) == 0 &&
            strcmp(modules->all[file->module].name, module) == 0)
            return true;
    }
    return false;
}

/* Reports excepted modules that do not need it. */
static void check_exceptions(const struct modules *modules, const struct module_exception *exceptions,
                             bool (*needs)(const struct modules *modules, const char *place, const char *module),
                             const struct finding_sink *sink)
{
    for (const struct module_exception *it = exceptions; it->place; it++) {
        struct word word = {0};
        while (next_word(it->modules, &word)) {
            char name[NAME_BYTES], message[MESSAGE_BYTES];
            snprintf(name, sizeof(name), "%.*s", (int)word.length, word.start);
            if (needs(modules, it->place, name))
                continue;
            snprintf(message, sizeof(message), "%s needs none: remove it from tests/tidy/exceptions.c", name);
            sink->report(sink->ctx, &(struct finding){
                                        .rule = "stale-exception", .path = it->place, .line = 1, .message = message});
        }
    }
}

void modules_check(const struct modules *modules, const struct module_exceptions *exceptions,
                   const struct finding_sink *sink)
{
    check_circles(modules, exceptions, sink);
    check_declarations(modules, exceptions, sink);
    check_exceptions(modules, exceptions->circles, circle_needs_exception, sink);
    check_exceptions(modules, exceptions->declarations, declaration_needs_exception, sink);
}

/* ---- print ---- */

static void print_edges(const struct modules *modules, size_t from, size_t to, FILE *out)
{
    bool is_first = true;
    for (size_t i = 0; i < modules->edge_count; i++) {
        const struct module_edge *edge = &modules->edges[i];
        if (edge->from != from || edge->to != to)
            continue;
        if (is_first)
            fprintf(out, "    %s -> %s:", modules->all[from].name, modules->all[to].name);
        fprintf(out, " %.*s", (int)edge->why.length, edge->why.start);
        is_first = false;
    }
    if (!is_first)
        fputs("\n", out);
}

static void print_circle(const struct modules *modules, size_t module, FILE *out)
{
    char names[MESSAGE_BYTES] = "";
    name_circle(modules, module, names, sizeof(names));
    fprintf(out, "%s circle: %s\n", modules->all[module].room, names);
    for (size_t from = 0; from < modules->count; from++) {
        for (size_t to = 0; to < modules->count; to++) {
            if (is_in_circle_of(modules, module, from) && is_in_circle_of(modules, module, to))
                print_edges(modules, from, to, out);
        }
    }
}

void modules_print(const struct modules *modules, FILE *out)
{
    for (size_t i = 0; i < modules->count; i++) {
        if (begins_circle(modules, i))
            print_circle(modules, i, out);
    }
    for (size_t i = 0; i < modules->name_count; i++) {
        const struct module_name *name = &modules->names[i];
        const struct module_file *file = foreign_file(modules, name);
        if (file)
            fprintf(out, "%s:%u: %.*s() is of module %s (%s)\n", modules->files[name->file].path, name->line,
                    (int)name->word.length, name->word.start, modules->all[file->module].name, file->path);
    }
}
