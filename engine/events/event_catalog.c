/* One group of functions for each source of events: tables, sysfs, tracefs. */
#include "engine/events/event_catalog.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bits.h"
#include "base/buf.h"
#include "engine/events/aux_terms.h"
#include "engine/events/cache_events.h"
#include "engine/events/event_names.h"
#include "engine/events/event_scan.h"
#include "engine/events/pfm.h"
#include "engine/events/pmu.h"
#include "format/tracefs.h"

#define GENERICS_MAX 64 /* of one type */

struct visit {
    const struct weir_catalog_setup *setup;
    int (*visit)(void *ctx, const struct weir_catalog_entry *entry);
    void *ctx;
    struct weir_buf kprobes, uprobes; /* text of kprobe_events and uprobe_events */
};

static const struct {
    const char *word;
    enum weir_catalog_section section;
} section_words[] = {
    {"hw", WEIR_CATALOG_HARDWARE},
    {"hardware", WEIR_CATALOG_HARDWARE},
    {"sw", WEIR_CATALOG_SOFTWARE},
    {"software", WEIR_CATALOG_SOFTWARE},
    {"cache", WEIR_CATALOG_CACHE},
    {"hwcache", WEIR_CATALOG_CACHE},
    {"pmu", WEIR_CATALOG_PMU},
    {"raw", WEIR_CATALOG_RAW},
    {"breakpoint", WEIR_CATALOG_BREAKPOINT},
    {"pfm", WEIR_CATALOG_PFM},
    {"tracepoint", WEIR_CATALOG_TRACEPOINT},
};

unsigned weir_catalog_section(const char *word)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(section_words); i++) {
        if (strcmp(section_words[i].word, word) == 0)
            return section_words[i].section;
    }
    return 0;
}

unsigned weir_catalog_sections_of_pattern(const char *pattern)
{
    return strchr(pattern, ':') ? WEIR_CATALOG_TRACEPOINT
                                : WEIR_CATALOG_ALL & ~(unsigned)(WEIR_CATALOG_RAW | WEIR_CATALOG_BREAKPOINT);
}

bool weir_catalog_matches(const struct weir_catalog_entry *entry, const char *word)
{
    char anywhere[WEIR_EVENT_WORD_BYTES + 2];
    const char *pattern = word;
    if (!strchr(word, ':') && (size_t)snprintf(anywhere, sizeof(anywhere), "*%s*", word) < sizeof(anywhere))
        pattern = anywhere;
    return fnmatch(pattern, entry->name, FNM_CASEFOLD) == 0 ||
           (entry->other && fnmatch(pattern, entry->other, FNM_CASEFOLD) == 0);
}

static int show(const struct visit *visit, const struct weir_catalog_entry *entry)
{
    return visit->visit(visit->ctx, entry);
}

/* ---- generic events ---- */

/* Whether the kernel has the event. EACCES and EPERM mean that it has. */
static bool is_supported(const struct visit *visit, uint32_t type, uint64_t config)
{
    const struct weir_kernel *kernel = visit->setup->kernel;
    struct perf_event_attr attr = {.type = type, .size = sizeof(attr), .config = config, .disabled = 1};
    int fd = kernel->ops->event_open(kernel->ctx, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd == -EACCES || fd == -EPERM) {
        attr.exclude_kernel = 1;
        fd = kernel->ops->event_open(kernel->ctx, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    }
    if (fd >= 0)
        kernel->ops->event_close(kernel->ctx, fd);
    return fd >= 0 || fd == -EACCES || fd == -EPERM;
}

/* An event of the table: the first row of its spellings. */
struct generic {
    const struct weir_event_name *row; /* borrowed */
    const char *other;                 /* the second spelling; NULL: there is none */
};

static int compare_generics(const void *a, const void *b)
{
    const struct generic *x = a, *y = b;
    return strcasecmp(x->row->name, y->row->name);
}

static bool is_same_event(const struct weir_event_name *a, const struct weir_event_name *b)
{
    return a->type == b->type && a->config == b->config;
}

static size_t collect_generics(struct generic *generics, size_t capacity, uint32_t type)
{
    size_t count = 0, total;
    const struct weir_event_name *rows = weir_event_names(&total);
    for (size_t i = 0; i < total && count < capacity; i++) {
        if (rows[i].type != type || (i > 0 && is_same_event(&rows[i], &rows[i - 1])))
            continue;
        bool has_other = i + 1 < total && is_same_event(&rows[i], &rows[i + 1]);
        generics[count++] = (struct generic){&rows[i], has_other ? rows[i + 1].name : NULL};
    }
    return count;
}

static int visit_names(const struct visit *visit, enum weir_catalog_section section, uint32_t type)
{
    struct generic generics[GENERICS_MAX] = {{NULL, NULL}};
    size_t count = collect_generics(generics, WEIR_ARRAY_COUNT(generics), type);
    qsort(generics, count, sizeof(generics[0]), compare_generics);
    int result = 0;
    for (size_t i = 0; result == 0 && i < count; i++) {
        struct weir_catalog_entry entry = {
            .section = section, .name = generics[i].row->name, .other = generics[i].other, .scale = 1};
        if (is_supported(visit, type, generics[i].row->config))
            result = show(visit, &entry);
    }
    return result;
}

static int visit_cache_name(void *ctx, const char *name)
{
    const struct visit *visit = ctx;
    uint64_t config = 0;
    const char *what;
    struct weir_catalog_entry entry = {.section = WEIR_CATALOG_CACHE, .name = name, .scale = 1};
    if (weir_cache_event_find(name, strlen(name), &config, &what) < 0 ||
        !is_supported(visit, PERF_TYPE_HW_CACHE, config))
        return 0;
    return show(visit, &entry);
}

/* ---- PMUs ---- */

/* An alias may be named without its PMU. perf list shows both forms for core PMUs only, and so does weir. */
static int visit_alias(const struct visit *visit, const struct weir_pmu *pmu, const struct weir_pmu_alias *alias)
{
    char name[2 * NAME_MAX + 3];
    snprintf(name, sizeof(name), "%s/%s/", pmu->name, alias->name);
    bool core = weir_pmu_is_core(pmu) && !weir_event_name_find(alias->name, strlen(alias->name));
    struct weir_catalog_entry entry = {
        .section = WEIR_CATALOG_PMU,
        .name = core ? alias->name : name,
        .other = core ? name : NULL,
        .pmu = pmu->name,
        .terms = alias->terms,
        .unit = alias->unit,
        .scale = alias->scale,
    };
    return show(visit, &entry);
}

/* "cpu/cmask=0..255,edge,event=0..255/": what may stand between the slashes. */
static int visit_form(const struct visit *visit, const struct weir_pmu *pmu)
{
    struct weir_buf form = WEIR_BUF_INIT;
    weir_buf_printf(&form, "%s/", pmu->name);
    for (size_t i = 0; i < pmu->format_count; i++) {
        uint64_t max = weir_pmu_format_max(&pmu->formats[i]);
        weir_buf_printf(&form, max > 1 ? "%s%s=0..0x%llx" : "%s%s", i > 0 ? "," : "", pmu->formats[i].name,
                        (unsigned long long)max);
    }
    weir_buf_printf(&form, "/modifiers");
    struct weir_catalog_entry entry = {
        .section = WEIR_CATALOG_RAW, .name = weir_buf_str(&form), .pmu = pmu->name, .scale = 1, .is_form = true};
    int result = weir_buf_error(&form);
    if (result == 0)
        result = show(visit, &entry);
    weir_buf_fini(&form);
    return result;
}

/* "intel_pt//": every term of a trace has a default. */
static int visit_trace(const struct visit *visit, const struct weir_pmu *pmu)
{
    char name[WEIR_EVENT_WORD_BYTES];
    snprintf(name, sizeof(name), "%s//", pmu->name);
    const struct weir_catalog_entry entry = {.section = WEIR_CATALOG_PMU, .name = name, .pmu = pmu->name, .scale = 1};
    return show(visit, &entry);
}

static int visit_pmus(const struct visit *visit, const struct weir_pmu_list *pmus)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < pmus->count; i++) {
        result = weir_pmu_describe(pmus, &pmus->pmus[i]);
        for (size_t j = 0; result == 0 && j < pmus->pmus[i].alias_count; j++)
            result = visit_alias(visit, &pmus->pmus[i], &pmus->pmus[i].aliases[j]);
        if (result == 0 && weir_aux_terms_kind(pmus->pmus[i].name) != WEIR_AUX_KIND_NONE)
            result = visit_trace(visit, &pmus->pmus[i]);
    }
    return result;
}

static int visit_forms(const struct visit *visit, const struct weir_pmu_list *pmus)
{
    struct weir_catalog_entry entry = {.section = WEIR_CATALOG_RAW, .name = "rNNN", .scale = 1, .is_form = true};
    int result = show(visit, &entry);
    for (size_t i = 0; result == 0 && i < pmus->count; i++) {
        result = weir_pmu_describe(pmus, &pmus->pmus[i]);
        if (result == 0 && pmus->pmus[i].format_count > 0)
            result = visit_form(visit, &pmus->pmus[i]);
    }
    return result;
}

/* ---- libpfm4 ---- */

static int visit_pfm(void *ctx, const struct weir_pfm_event *event)
{
    const struct weir_catalog_entry entry = {.section = WEIR_CATALOG_PFM,
                                             .name = event->word,
                                             .other = event->name,
                                             .pmu = event->pmu,
                                             .description = event->description,
                                             .scale = 1};
    return show(ctx, &entry);
}

/* ---- tracepoints ---- */

/* Lines are "p:SYSTEM/NAME PLACE ...", with r or p64 and the like before the colon. */
static bool has_probe(struct weir_buf *probes, const char *system, const char *name)
{
    char definition[2 * NAME_MAX + 4]; /* names of folders */
    int length = snprintf(definition, sizeof(definition), ":%s/%s ", system, name);
    return length < (int)sizeof(definition) && strstr(weir_buf_str(probes), definition) != NULL;
}

static int visit_tracepoint(struct visit *visit, const char *both)
{
    char system[2 * NAME_MAX + 2];
    size_t length = strcspn(both, ":");
    snprintf(system, sizeof(system), "%.*s", (int)length, both);
    struct weir_catalog_entry entry = {.section = WEIR_CATALOG_TRACEPOINT, .name = both, .scale = 1};
    if (has_probe(&visit->kprobes, system, both + length + 1))
        entry.dynamic = "kprobe";
    else if (has_probe(&visit->uprobes, system, both + length + 1))
        entry.dynamic = "uprobe";
    return show(visit, &entry);
}

/* Names, one behind the other, each with its zero. */
struct collected {
    const char *root;
    struct weir_buf names;
    size_t count;
};

/* Skips tracepoints without an id, which cannot be recorded. */
static int collect_tracepoint(void *ctx, const char *system, const char *name)
{
    struct collected *collected = ctx;
    uint64_t id;
    if (weir_tracefs_event_id(collected->root, system, name, &id, NULL) == -ENOENT)
        return 0;
    weir_buf_printf(&collected->names, "%s:%s", system, name);
    weir_buf_append_u8(&collected->names, 0);
    collected->count++;
    return weir_buf_error(&collected->names);
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int visit_sorted(struct visit *visit, const struct collected *collected)
{
    const char **names = calloc(collected->count + 1, sizeof(*names));
    if (!names)
        return -ENOMEM;
    const char *at = (const char *)collected->names.data;
    for (size_t i = 0; i < collected->count; i++, at += strlen(at) + 1)
        names[i] = at;
    qsort(names, collected->count, sizeof(*names), compare_texts);
    int result = 0;
    for (size_t i = 0; result == 0 && i < collected->count; i++)
        result = visit_tracepoint(visit, names[i]);
    free(names);
    return result;
}

static void read_probes(struct weir_buf *probes, const char *root, const char *file)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", root, file) < sizeof(path))
        weir_buf_append_file(probes, path); /* only root may read it: for others no tracepoint is shown as a probe */
}

static int visit_tracepoints(struct visit *visit, struct weir_error *err)
{
    char root[PATH_MAX];
    const struct weir_event_sources *sources = visit->setup->sources;
    struct weir_error reason = {0};
    int result = 0;
    if (sources && sources->tracefs_root)
        snprintf(root, sizeof(root), "%s", sources->tracefs_root);
    else
        result = weir_tracefs_find(root, sizeof(root), &reason);
    if (result < 0) {
        weir_error_set(err, result, "tracepoints: %s", reason.what);
        weir_error_hint(err, "%s", reason.hint);
        return result;
    }

    read_probes(&visit->kprobes, root, "kprobe_events");
    read_probes(&visit->uprobes, root, "uprobe_events");
    struct collected collected = {.root = root};
    result = weir_tracefs_visit(root, collect_tracepoint, &collected);
    if (result < 0 && result != -ENOMEM) {
        weir_error_set_errno(err, result, "cannot list the tracepoints in %s/events", root);
        if (result == -EACCES)
            weir_tracefs_hint_unreadable(err, root);
    }
    if (result == 0)
        result = visit_sorted(visit, &collected);
    weir_buf_fini(&collected.names);
    return result;
}

/* ---- all ---- */

static int visit_all_but_tracepoints(const struct visit *visit, struct weir_pmu_list *pmus)
{
    static const struct weir_catalog_entry breakpoint = {
        .section = WEIR_CATALOG_BREAKPOINT, .name = "mem:<addr>[/len][:access]", .scale = 1, .is_form = true};
    unsigned sections = visit->setup->sections;
    int result = 0;
    if (sections & WEIR_CATALOG_HARDWARE)
        result = visit_names(visit, WEIR_CATALOG_HARDWARE, PERF_TYPE_HARDWARE);
    if (result == 0 && sections & WEIR_CATALOG_SOFTWARE)
        result = visit_names(visit, WEIR_CATALOG_SOFTWARE, PERF_TYPE_SOFTWARE);
    if (result == 0 && sections & WEIR_CATALOG_CACHE)
        result = weir_cache_events_visit(visit_cache_name, (void *)visit);
    if (result == 0 && sections & WEIR_CATALOG_PMU)
        result = visit_pmus(visit, pmus);
    if (result == 0 && sections & WEIR_CATALOG_RAW)
        result = visit_forms(visit, pmus);
    if (result == 0 && sections & WEIR_CATALOG_BREAKPOINT)
        result = show(visit, &breakpoint);
    bool is_this_machine = !visit->setup->sources || !visit->setup->sources->sysfs_root;
    if (result == 0 && sections & WEIR_CATALOG_PFM && is_this_machine)
        result = weir_pfm_visit(visit_pfm, (void *)visit);
    return result;
}

int weir_catalog_visit(const struct weir_catalog_setup *setup,
                       int (*visit_entry)(void *ctx, const struct weir_catalog_entry *entry), void *ctx,
                       struct weir_error *err)
{
    struct visit visit = {.setup = setup, .visit = visit_entry, .ctx = ctx};
    struct weir_pmu_list pmus = WEIR_PMU_LIST_INIT;
    int result = weir_pmu_list_read(&pmus, setup->sources ? setup->sources->sysfs_root : NULL);
    if (result == 0)
        result = visit_all_but_tracepoints(&visit, &pmus);
    if (result == 0 && setup->sections & WEIR_CATALOG_TRACEPOINT)
        result = visit_tracepoints(&visit, err);
    if (result == -ENOMEM)
        weir_error_set(err, -ENOMEM, "out of memory");
    weir_buf_fini(&visit.kprobes);
    weir_buf_fini(&visit.uprobes);
    weir_pmu_list_fini(&pmus);
    return result;
}
