/*
 * -e texts (engine/events/event_parse.h) with the tracepoints of a tracefs and the PMUs of a sysfs of ours. Input: the
 * text.
 *
 * What is taken: leaders come first and lead themselves; the name of each event that says all about it (no group, no
 * PMU, no name=), parsed again, gives the same event; so do such names joined by commas; and so does the name that an
 * event gets when it falls back to what a weaker machine can do. What is refused: the error's column lies in the text,
 * and the list has what it had.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "base/buf.h"
#include "engine/events/event_parse.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tree.h"

static const struct {
    const char *path;
    const char *id;
} tracepoints[] = {
    {"events/sched/sched_switch/id", "316\n"},
    {"events/raw_syscalls/sys_enter/id", "348\n"},
    {"events/ftrace/function/id", "1\n"},
    {"events/u/k/id", "77\n"}, /* names that are modifiers */
};

static const struct {
    const char *path; /* below bus/event_source/devices */
    const char *text;
} pmu_files[] = {
    {"cpu/type", "4\n"},
    {"cpu/format/event", "config:0-7\n"},
    {"cpu/format/umask", "config:8-15,32-35\n"},
    {"cpu/format/ldlat", "config1:0-15\n"},
    {"cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n"},
    {"cpu/events/slots", "event=0x00,umask=?\n"},
    {"cpu/events/slots.unit", "slots\n"},
    {"uncore_imc_0/type", "30\n"},
    {"uncore_imc_0/cpumask", "0\n"},
    {"uncore_imc_0/events/cas", "config=0x304,period=9\n"},
    {"uncore_imc_1/type", "31\n"},
    {"uncore_imc_1/events/cas", "config=0x304\n"},
};

static void *init(void)
{
    struct fuzz_tree *tree = calloc(1, sizeof(*tree));
    weir_assert(tree);
    fuzz_tree_init(tree);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(tracepoints); i++) {
        int fd = fuzz_tree_create(tree, tracepoints[i].path);
        const char *id = tracepoints[i].id;
        fuzz_file_write(fd, (struct fuzz_part){.data = (const uint8_t *)id, .bytes = strlen(id)});
        close(fd);
    }
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(pmu_files); i++) {
        char path[256];
        snprintf(path, sizeof(path), "bus/event_source/devices/%s", pmu_files[i].path);
        int fd = fuzz_tree_create(tree, path);
        const char *text = pmu_files[i].text;
        fuzz_file_write(fd, (struct fuzz_part){.data = (const uint8_t *)text, .bytes = strlen(text)});
        close(fd);
    }
    return tree;
}

static void fini(void *tree)
{
    fuzz_tree_fini(tree);
    free(tree);
}

/* ---- what was taken ---- */

static bool is_tracepoint(const struct weir_event *event)
{
    return event->attr.type == PERF_TYPE_TRACEPOINT;
}

static bool text_equal(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static int parse(struct weir_event_list *list, const char *text, const struct fuzz_tree *tree, struct weir_error *err)
{
    const struct weir_event_sources sources = {.tracefs_root = tree->root, .sysfs_root = tree->root};
    static const struct weir_bpf_build no_compiler = {.clang = "/dev/null"}; /* whatever names end in ".c" */
    list->bpf_build = &no_compiler;
    return weir_event_list_parse(list, text, &sources, err);
}

/* Its name says all about it. */
static bool is_plain(const struct weir_event_list *list, size_t index)
{
    const struct weir_event *event = &list->events[index];
    bool leads = index + 1 < list->count && list->events[index + 1].leader == index;
    return event->leader == index && !leads && !event->group_name && !event->pmu_name && !event->name_given;
}

/* A list of the one event that name stands for. */
static struct weir_event_list parse_name(const char *name, const struct fuzz_tree *tree)
{
    struct weir_event_list list = WEIR_EVENT_LIST_INIT;
    weir_assert(parse(&list, name, tree, NULL) == 0);
    weir_assert(list.count == 1);
    weir_assert(strcmp(list.events[0].name, name) == 0);
    return list;
}

static void check_name(const struct weir_event *event, const struct fuzz_tree *tree)
{
    struct weir_event_list list = parse_name(event->name, tree);
    const struct weir_event *again = &list.events[0];
    weir_assert(again->attr.type == event->attr.type && again->attr.config == event->attr.config);
    weir_assert(again->terms.given == event->terms.given || is_tracepoint(event));
    weir_assert(text_equal(again->tracepoint_system, event->tracepoint_system));
    weir_assert(text_equal(again->tracepoint_name, event->tracepoint_name));
    if (!is_tracepoint(event)) { /* the name of a tracepoint is without its modifiers, as perf has it */
        weir_assert(memcmp(&again->attr, &event->attr, sizeof(event->attr)) == 0);
        weir_assert(again->modifiers_given == event->modifiers_given && again->precise_max == event->precise_max);
    }
    weir_event_list_fini(&list);
}

/* What the modifiers behind the name's colon leave out, read off the letters one by one. */
static void check_modifiers(const struct weir_event *event)
{
    if (strpbrk(event->name, "/0123456789"))
        return; /* other colons than that of the modifiers */
    const char *colon = strchr(event->name, ':');
    const char *given = colon ? colon + 1 : "";
    bool levels = strpbrk(given, "ukh"), machines = strpbrk(given, "GH");
    const struct perf_event_attr *attr = &event->attr;
    weir_assert(attr->exclude_user == (levels && !strchr(given, 'u')));
    weir_assert(attr->exclude_kernel == (levels && !strchr(given, 'k')));
    weir_assert(attr->exclude_hv == (levels && !strchr(given, 'h')));
    weir_assert(attr->exclude_host == (machines && !strchr(given, 'H')));
    weir_assert(attr->exclude_idle == (strchr(given, 'I') != NULL));
    weir_assert(attr->pinned == (strchr(given, 'D') != NULL) && attr->exclusive == (strchr(given, 'e') != NULL));
    weir_assert(event->precise_max == (strchr(given, 'P') != NULL));
    weir_assert(event->modifiers_given == (levels || machines || attr->exclude_idle));
}

static void check_tracepoint(const struct weir_event *event)
{
    bool named = event->tracepoint_system != NULL; /* 2:NNN may be the id of none */
    weir_assert(named == (event->tracepoint_name != NULL));
    weir_assert(is_tracepoint(event) || !named);
    for (size_t i = 0; named && i < WEIR_ARRAY_COUNT(tracepoints); i++) {
        char path[256];
        snprintf(path, sizeof(path), "events/%s/%s/id", event->tracepoint_system, event->tracepoint_name);
        if (strcmp(path, tracepoints[i].path) == 0) {
            weir_assert(event->attr.config == strtoull(tracepoints[i].id, NULL, 10));
            return;
        }
    }
    weir_assert(!named);
}

static void check_joined(const struct weir_event_list *list, size_t first, const struct fuzz_tree *tree)
{
    struct weir_buf text = WEIR_BUF_INIT;
    size_t plain = 0;
    for (size_t i = first; i < list->count; i++)
        if (is_plain(list, i))
            weir_buf_printf(&text, "%s%s", plain++ > 0 ? "," : "", list->events[i].name);
    struct weir_event_list again = WEIR_EVENT_LIST_INIT;
    weir_assert(plain == 0 || parse(&again, weir_buf_str(&text), tree, NULL) == 0);
    weir_assert(again.count == plain);
    for (size_t i = first, at = 0; i < list->count; i++)
        if (is_plain(list, i))
            weir_assert(strcmp(again.events[at++].name, list->events[i].name) == 0);
    weir_event_list_fini(&again);
    weir_buf_fini(&text);
}

static void check_group(const struct weir_event_list *list, size_t index)
{
    const struct weir_event *event = &list->events[index];
    weir_assert(event->leader <= index && list->events[event->leader].leader == event->leader);
    weir_assert(!event->group_name || event->leader == index);
    weir_assert(event->attr.precise_ip <= WEIR_PRECISE_IP_MAX && event->scale > 0);
}

/* ---- what an event falls back to ---- */

/* exclude_guest is left out: perf, too, does not touch it when it falls back. */
static void check_fallen_back(const struct weir_event *event, const struct fuzz_tree *tree)
{
    struct weir_event_list list = parse_name(event->name, tree);
    const struct perf_event_attr *again = &list.events[0].attr, *attr = &event->attr;
    weir_assert(again->type == attr->type && again->config == attr->config);
    weir_assert(again->exclude_user == attr->exclude_user && again->exclude_kernel == attr->exclude_kernel);
    weir_assert(again->exclude_hv == attr->exclude_hv && again->exclude_idle == attr->exclude_idle);
    weir_assert(again->exclude_host == attr->exclude_host && again->precise_ip == attr->precise_ip);
    weir_assert(again->pinned == attr->pinned && again->exclusive == attr->exclusive);
    weir_event_list_fini(&list);
}

static void check_precision(const char *name, const struct fuzz_tree *tree)
{
    struct weir_event_list list = parse_name(name, tree);
    struct weir_event *event = &list.events[0];
    unsigned precision = event->attr.precise_ip;
    while (weir_event_lower_precision(event)) {
        precision--;
        weir_assert(event->precise_max && event->attr.precise_ip == precision);
    }
    weir_assert(!event->precise_max || precision == 0);
    weir_event_list_fini(&list);
}

/* Falls back from the event of that name by first, then by second, each at most once. */
static void check_fallbacks(const char *name, const struct fuzz_tree *tree, bool (*first)(struct weir_event *event),
                            bool (*second)(struct weir_event *event))
{
    struct weir_event_list list = parse_name(name, tree);
    struct weir_event *event = &list.events[0];
    if (first(event)) {
        check_fallen_back(event, tree);
        weir_assert(!first(event));
    }
    if (second(event)) {
        check_fallen_back(event, tree);
        weir_assert(!second(event) && !first(event));
    }
    weir_event_list_fini(&list);
}

/* ---- what was refused ---- */

#define PLACE_WORDS "at column "

static void check_refusal(const struct weir_error *err, int result, const char *text)
{
    bool is_of_open = result == -ENAMETOOLONG || result == -ENOTDIR || result == -EISDIR || result == -ELOOP;
    weir_assert(result == -EINVAL || result == -ENOENT || is_of_open); /* open(2), of a BPF file */
    fuzz_check_error(err, result);
    if (strstr(text, PLACE_WORDS)) /* a name that is quoted says so itself */
        return;
    unsigned column;
    const char *place = strstr(err->what, PLACE_WORDS); /* a long name before it may have cut it off */
    if (place && sscanf(place, "at column %u", &column) == 1)
        weir_assert(column >= 1 && column <= strlen(text) + 1);
}

static void run(void *fixture, const uint8_t *data, size_t bytes)
{
    const struct fuzz_tree *tree = fixture;
    char *text = fuzz_text(data, bytes);
    struct weir_event_list list = WEIR_EVENT_LIST_INIT;
    struct weir_error err = {0};
    weir_assert(parse(&list, "cycles:P", tree, NULL) == 0);
    int result = parse(&list, text, tree, &err);
    if (result < 0) {
        check_refusal(&err, result, text);
        weir_assert(list.count == 1);
    } else {
        weir_assert(result == 0 && list.count > 1);
        check_joined(&list, 1, tree);
    }
    weir_assert(strcmp(list.events[0].name, "cycles:P") == 0);
    for (size_t i = 1; i < list.count; i++) {
        check_group(&list, i);
        check_tracepoint(&list.events[i]);
        if (!is_plain(&list, i))
            continue;
        if (!strchr(text, '{')) { /* it may be alone in braces: names do not say what modifiers of groups do */
            check_name(&list.events[i], tree);
            if (!is_tracepoint(&list.events[i]))
                check_modifiers(&list.events[i]);
        }
        const char *name = list.events[i].name;
        check_precision(name, tree);
        check_fallbacks(name, tree, weir_event_fall_back_to_user, weir_event_fall_back_to_software);
        check_fallbacks(name, tree, weir_event_fall_back_to_software, weir_event_fall_back_to_user);
    }
    weir_event_list_fini(&list);
    free(text);
}

const struct fuzz_target fuzz_target = {.init = init, .run = run, .fini = fini};
