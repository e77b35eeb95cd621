/*
 * Lists of events with AUX areas (engine/aux/aux_events.h), on a machine that has each kind. Input: a byte that says
 * how they are recorded, and the text of -e.
 *
 * What is taken: the AUX event is at the front with its group, no event got lost, leaders come first, sizes are those
 * that can be mapped, only events that it leads hold pieces of its area, and what decoders are told has the room that
 * was said to be enough. What is refused has an error with a hint.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "engine/aux/aux_events.h"
#include "engine/aux/aux_info.h"
#include "engine/events/event_parse.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tree.h"

#define PMU        "bus/event_source/devices/"
#define PAGE_BYTES 4096
#define WORDS      128

/* Bits of the first byte. */
enum {
    SNAPSHOT = 1,
    SAMPLE = 2,
    PER_THREAD = 4,
    LIMITED = 8,
    SMALL_AREA = 16,
    TASKS = 32,
    SIZES = 64,
    GROUP = 128,
};

static const struct {
    const char *path, *text;
} files[] = {
    {PMU "intel_pt/type", "8"},
    {PMU "intel_pt/caps/mtc", "1"},
    {PMU "intel_pt/caps/mtc_periods", "249"},
    {PMU "intel_pt/caps/psb_cyc", "1"},
    {PMU "intel_pt/caps/psb_periods", "3f"},
    {PMU "intel_pt/caps/cycle_thresholds", "3fff"},
    {PMU "intel_pt/format/pt", "config:0"},
    {PMU "intel_pt/format/branch", "config:13"},
    {PMU "intel_pt/format/tsc", "config:10"},
    {PMU "intel_pt/format/mtc", "config:9"},
    {PMU "intel_pt/format/mtc_period", "config:14-17"},
    {PMU "intel_pt/format/psb_period", "config:24-27"},
    {PMU "intel_pt/format/cyc_thresh", "config:19-22"},
    {PMU "intel_bts/type", "9"},
    {PMU "arm_spe_0/type", "10"},
    {PMU "arm_spe_0/format/ts_enable", "config:0"},
    {PMU "arm_spe_0/format/pa_enable", "config:1"},
    {PMU "cs_etm/type", "12"},
    {PMU "cs_etm/format/contextid", "config:14"},
    {PMU "cs_etm/cpu0/trcidr/trcidr0", "0x28000ea1"},
    {PMU "cs_etm/cpu0/trcidr/trcidr2", "0x488"},
};

static void *init(void)
{
    struct fuzz_tree *tree = calloc(1, sizeof(*tree));
    weir_assert(tree);
    fuzz_tree_init(tree);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(files); i++) {
        int fd = fuzz_tree_create(tree, files[i].path);
        const struct fuzz_part text = {.data = (const uint8_t *)files[i].text, .bytes = strlen(files[i].text)};
        fuzz_file_write(fd, text);
        close(fd);
    }
    return tree;
}

static void fini(void *tree)
{
    fuzz_tree_fini(tree);
    free(tree);
}

static bool is_aux(const struct weir_event *event)
{
    return event->aux != WEIR_AUX_KIND_NONE;
}

static void check_list(const struct weir_event_list *list, const struct weir_aux_plan *plan)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct weir_event *event = &list->events[i];
        weir_assert(event->leader <= i && list->events[event->leader].leader == event->leader);
        weir_assert(is_aux(event) == (i == plan->event));
        weir_assert(event->aux_attr.sample_bytes <= WEIR_AUX_SAMPLE_BYTES_MAX);
        weir_assert(event->aux_attr.sample_bytes == 0 ||
                    (plan->mode == WEIR_AUX_SAMPLE && is_aux(&list->events[event->leader]) && event->leader != i));
    }
    weir_assert(list->events[plan->event].leader == 0 && list->events[plan->event].aux == plan->kind);
    for (size_t i = 0; i < plan->event; i++)
        weir_assert(list->events[i].leader == 0);
}

static void check_sizes(const struct weir_aux_plan *plan, unsigned flags)
{
    weir_assert(weir_is_power_of_two(plan->area_bytes) && plan->area_bytes >= PAGE_BYTES);
    weir_assert((plan->mode == WEIR_AUX_SNAPSHOT) == (plan->snapshot_bytes > 0));
    weir_assert(plan->snapshot_bytes <= plan->area_bytes);
    weir_assert(plan->alignment == (plan->kind == WEIR_AUX_KIND_INTEL_BTS ? 24 : 1));
    weir_assert(plan->data_ring_bytes_wanted == 0 || flags & LIMITED);
    weir_assert((flags & SNAPSHOT) == 0 || plan->mode == WEIR_AUX_SNAPSHOT);
}

static void check_attrs(struct weir_event_list *list, const struct weir_aux_plan *plan)
{
    struct weir_event_config config = {.freq_hz = 4000};
    weir_aux_plan_apply(plan, &config);
    weir_event_list_configure(list, &config);
    const struct weir_event *event = &list->events[plan->event];
    weir_assert(event->attr.freq == !!(event->terms.given & WEIR_TERM_FREQ));
    for (size_t i = 0; i < list->count; i++) {
        const struct perf_event_attr *attr = &list->events[i].attr;
        weir_assert(attr->aux_sample_size == 0 || attr->sample_type & PERF_SAMPLE_AUX);
    }
}

static void check_description(const struct weir_event_list *list, const struct weir_aux_plan *plan,
                              const struct weir_aux_setting *setting)
{
    const struct weir_aux_facts facts = {
        .time_mult = 1, .per_thread = setting->per_thread, .cpus = setting->cpus, .sysfs_root = setting->sysfs_root};
    uint64_t words[WORDS];
    size_t count = weir_aux_info_words_max(list, weir_cpuset_count(setting->cpus)), room = count;
    weir_assert(count <= WORDS);
    uint32_t type;
    weir_assert(weir_aux_info_describe(plan, list, &facts, &type, words, &count) == 0);
    weir_assert(count <= room && type >= 1 && type <= 4);
}

static void prepare(struct weir_event_list *list, const struct fuzz_tree *tree, unsigned flags)
{
    struct weir_cpuset cpus = WEIR_CPUSET_INIT;
    weir_assert(weir_cpuset_add(&cpus, 0) == 0);
    const struct weir_kernel_limits limits = {.page_bytes = PAGE_BYTES, .cap_ipc_lock = !(flags & LIMITED)};
    const struct weir_aux_options options = {
        .snapshot = flags & SNAPSHOT,
        .snapshot_bytes = flags & SIZES ? 5000 : 0,
        .sample = flags & SAMPLE,
        .sample_bytes = flags & SIZES ? 100 : 0,
        .area_bytes = flags & SMALL_AREA ? 2 * PAGE_BYTES : 0,
    };
    const struct weir_aux_setting setting = {
        .limits = &limits,
        .cpus = &cpus,
        .per_thread = flags & PER_THREAD,
        .system_wide = !(flags & (TASKS | PER_THREAD)),
        .sysfs_root = tree->root,
    };
    struct weir_aux_plan plan;
    struct weir_error err = {0};
    size_t count = list->count;
    int result = weir_aux_events_prepare(list, &options, &setting, &plan, &err);
    weir_assert(list->count == count);
    weir_assert(result == 0 || (result == -EINVAL && err.what[0] && err.hint[0]));
    if (result == 0 && plan.kind != WEIR_AUX_KIND_NONE) {
        check_list(list, &plan);
        check_sizes(&plan, flags);
        check_attrs(list, &plan);
        check_description(list, &plan, &setting);
    }
    weir_cpuset_fini(&cpus);
}

static void run(void *fixture, const uint8_t *data, size_t bytes)
{
    if (bytes == 0)
        return;
    const struct fuzz_tree *tree = fixture;
    char *text = fuzz_text(data + 1, bytes - 1);
    struct weir_event_list list = WEIR_EVENT_LIST_INIT;
    const struct weir_event_sources sources = {.tracefs_root = tree->root, .sysfs_root = tree->root};
    if (weir_event_list_parse(&list, text, &sources, NULL) == 0) {
        if (data[0] & GROUP)
            weir_event_list_group(&list);
        prepare(&list, tree, data[0]);
    }
    weir_event_list_fini(&list);
    free(text);
}

const struct fuzz_target fuzz_target = {.init = init, .run = run, .fini = fini};
