/*
 * The grammar of --threads=SPEC. Runs on the thread that sets a recording up; knows no machine.
 *
 *   SPEC   = "" | "cpu" | "core" | "package" | "numa" | MASKS       (words in any case, as perf takes them)
 *   MASKS  = MASK { ":" MASK }
 *   MASK   = CPULIST "/" CPULIST                                    (CPUs to drain "/" CPUs to run on)
 *
 * Source: perf-record(1) --threads and record__parse_threads() in tools/perf/builtin-record.c of Linux 6.12. perf takes
 * any word that begins with a layout's name and passes over empty masks. In weir both are errors, with their column.
 */
#include "topology/plan_internal.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bits.h"
#include "base/buf.h"
#include "base/suggest.h"
#include "topology/plan.h"

#define CPU_LIST_CHARACTERS "0123456789-,"

static const struct layout_name {
    const char *name;
    enum weir_plan_layout layout;
} layout_names[] = {
    {"cpu", WEIR_PLAN_LAYOUT_CPU},
    {"core", WEIR_PLAN_LAYOUT_CORE},
    {"package", WEIR_PLAN_LAYOUT_PACKAGE},
    {"numa", WEIR_PLAN_LAYOUT_NUMA},
};

/* The state of reading a mask list. */
struct parser {
    const char *text;            /* the whole argument, borrowed */
    struct weir_buf masks;       /* the masks read so far, each a struct weir_plan_mask */
    struct weir_cpuset all_cpus; /* union of the masks' cpus */
    struct weir_error *err;      /* borrowed; may be NULL */
};

static unsigned column_of(const struct parser *parser, const char *at)
{
    return (unsigned)(at - parser->text) + 1;
}

static int out_of_memory(struct weir_error *err)
{
    return weir_error_set_errno(err, -ENOMEM, "--threads");
}

static int masks_error(struct weir_error *err)
{
    weir_error_hint(err, "masks are <cpus>/<affinity>[:<cpus>/<affinity>]..., for example 0-3/0-3:4-7/4-7");
    return -EINVAL;
}

static void mask_fini(struct weir_plan_mask *mask)
{
    weir_cpuset_fini(&mask->cpus);
    weir_cpuset_fini(&mask->affinity);
}

/* Reads the CPU list in [begin, end). role: the list's name in errors. */
static int parse_list(struct parser *parser, struct weir_cpuset *set, const char *begin, const char *end,
                      const char *role)
{
    if (begin == end) {
        weir_error_set(parser->err, -EINVAL, "--threads=%s: %s missing at column %u", parser->text, role,
                       column_of(parser, begin));
        return masks_error(parser->err);
    }
    size_t valid = strspn(begin, CPU_LIST_CHARACTERS);
    if (begin + valid < end) {
        weir_error_set(parser->err, -EINVAL, "--threads=%s: unexpected '%c' at column %u", parser->text, begin[valid],
                       column_of(parser, begin + valid));
        return masks_error(parser->err);
    }

    struct weir_buf list = WEIR_BUF_INIT;
    struct weir_error cause;
    weir_buf_append(&list, begin, (size_t)(end - begin));
    const char *list_text = weir_buf_str(&list);
    int result = weir_buf_error(&list);
    if (result == 0)
        result = weir_cpuset_parse(set, list_text, &cause);
    weir_buf_fini(&list);
    if (result == -EINVAL) {
        weir_error_set(parser->err, result, "--threads=%s: %s of the list that begins at column %u", parser->text,
                       cause.what, column_of(parser, begin));
        weir_error_hint(parser->err, "a CPU list is like 0-3,8: ranges ascend, numbers are below %u", WEIR_CPU_LIMIT);
        return result;
    }
    return result < 0 ? out_of_memory(parser->err) : 0;
}

/* Adds the mask's CPUs to all_cpus. An earlier mask must not name any of them. */
static int claim_cpus(struct parser *parser, const struct weir_plan_mask *mask)
{
    WEIR_CPUSET_FOREACH(cpu, &mask->cpus) {
        if (weir_cpuset_has(&parser->all_cpus, (unsigned)cpu)) {
            weir_error_set(parser->err, -EINVAL,
                           "--threads=%s: CPU %d is drained twice, again by the mask at column %u", parser->text, cpu,
                           mask->column);
            weir_error_hint(parser->err, "each CPU to record belongs into one mask; affinities may overlap");
            return -EINVAL;
        }
        if (weir_cpuset_add(&parser->all_cpus, (unsigned)cpu) < 0)
            return out_of_memory(parser->err);
    }
    return 0;
}

/* Reads the mask in [begin, end) into *mask. The caller releases *mask on failure too. */
static int parse_mask(struct parser *parser, struct weir_plan_mask *mask, const char *begin, const char *end)
{
    mask->column = column_of(parser, begin);
    if (begin == end) {
        weir_error_set(parser->err, -EINVAL, "--threads=%s: empty mask at column %u", parser->text, mask->column);
        return masks_error(parser->err);
    }
    const char *slash = memchr(begin, '/', (size_t)(end - begin));
    int result = parse_list(parser, &mask->cpus, begin, slash ? slash : end, "CPUs to drain");
    if (result < 0)
        return result;
    if (!slash) {
        weir_error_set(parser->err, -EINVAL, "--threads=%s: '/' missing at column %u", parser->text,
                       column_of(parser, end));
        return masks_error(parser->err);
    }
    result = parse_list(parser, &mask->affinity, slash + 1, end, "CPUs to run on");
    return result < 0 ? result : claim_cpus(parser, mask);
}

static int parse_masks(struct parser *parser)
{
    for (const char *begin = parser->text;; begin++) {
        const char *end = begin + strcspn(begin, ":");
        struct weir_plan_mask mask = {WEIR_CPUSET_INIT, WEIR_CPUSET_INIT, 0};
        int result = parse_mask(parser, &mask, begin, end);
        if (result == 0) {
            weir_buf_append(&parser->masks, &mask, sizeof(mask));
            result = weir_buf_error(&parser->masks) < 0 ? out_of_memory(parser->err) : 0;
        }
        if (result < 0) {
            mask_fini(&mask);
            return result;
        }
        if (*end == '\0')
            return 0;
        begin = end;
    }
}

static int parse_layout(struct weir_plan_spec *spec, const char *text, struct weir_error *err)
{
    struct weir_suggest suggest;
    weir_suggest_init(&suggest, text);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(layout_names); i++) {
        if (strcasecmp(text, layout_names[i].name) == 0) {
            *spec = (struct weir_plan_spec){.layout = layout_names[i].layout};
            return 0;
        }
        weir_suggest_offer(&suggest, layout_names[i].name);
    }

    weir_error_set(err, -EINVAL, "--threads=%s: unknown layout", text);
    if (weir_suggest_best(&suggest))
        weir_error_hint(err, "did you mean --threads=%s?", weir_suggest_best(&suggest));
    else
        weir_error_hint(err, "layouts are cpu, core, package, numa, or masks <cpus>/<affinity>:...");
    return -EINVAL;
}

int weir_plan_spec_parse(struct weir_plan_spec *spec, const char *text, struct weir_error *err)
{
    if (!text || text[0] == '\0') {
        *spec = (struct weir_plan_spec){.layout = WEIR_PLAN_LAYOUT_CPU};
        return 0;
    }
    if (isalpha((unsigned char)text[0]))
        return parse_layout(spec, text, err);

    struct parser parser = {.text = text, .masks = WEIR_BUF_INIT, .all_cpus = WEIR_CPUSET_INIT, .err = err};
    int result = parse_masks(&parser);
    weir_cpuset_fini(&parser.all_cpus);
    struct weir_plan_spec parsed = {
        .layout = WEIR_PLAN_LAYOUT_MASKS,
        .masks = (struct weir_plan_mask *)(void *)parser.masks.data,
        .mask_count = (unsigned)(parser.masks.used / sizeof(struct weir_plan_mask)),
    };
    if (result < 0)
        weir_plan_spec_fini(&parsed);
    else
        *spec = parsed;
    return result;
}

void weir_plan_spec_fini(struct weir_plan_spec *spec)
{
    if (!spec)
        return;
    for (unsigned i = 0; i < spec->mask_count; i++)
        mask_fini(&spec->masks[i]);
    free(spec->masks);
    *spec = (struct weir_plan_spec){0};
}

int weir_plan_check_spec(const char *spec, struct weir_error *err)
{
    struct weir_plan_spec parsed;
    int result = weir_plan_spec_parse(&parsed, spec, err);
    if (result == 0)
        weir_plan_spec_fini(&parsed);
    return result;
}
