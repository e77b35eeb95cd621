/*
 * The words of AUXTRACE_INFO, kind by kind. Main thread; reads sysfs, allocates while it does.
 *
 * Source: *_info_fill() of the files that aux_events.h names, and the enums of tools/perf/util/intel-pt.h, intel-bts.h,
 * arm-spe.h and cs-etm.h, Linux 6.1, whose order the words have.
 */
#include "engine/aux/aux_info.h"

#include <errno.h>
#include <string.h>

#if defined(__i386__) || defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/bits.h"
#include "engine/aux/aux_config.h"

/* PERF_AUXTRACE_* of tools/lib/perf/include/perf/event.h */
enum {
    TYPE_INTEL_PT = 1,
    TYPE_INTEL_BTS = 2,
    TYPE_CS_ETM = 3,
    TYPE_ARM_SPE = 4,
};

#define INTEL_PT_WORDS    18 /* and the filter's text before the last one */
#define CPUID_TSC_LEAF    0x15
#define SWITCHES_OF_TASKS 2 /* INTEL_PT_HAVE_SCHED_SWITCH: SWITCH records of the recorded tasks */
#define SWITCHES_OF_CPUS  3 /* likewise: SWITCH_CPU_WIDE records */

#define ETM_VERSION    1
#define ETM_V3_MAGIC   UINT64_C(0x3030303030303030)
#define ETM_V4_MAGIC   UINT64_C(0x4040404040404040)
#define ETE_MAGIC      UINT64_C(0x5050505050505050)
#define ETM_HEAD_WORDS 3
#define ETM_TRACE_ID(cpu)                                                                                \
    (0x10u + 2u * (cpu))           /* before Linux 6.2 tells it in records: PERF_RECORD_AUX_OUTPUT_HW_ID \
                                    */
#define ETE_ARCHITECTURE    0xa13u /* TRCDEVARCH.ARCHPART */
#define ETE_VERSION         5u     /* TRCDEVARCH.ARCHVER */
#define DEVARCH_PART_MASK   0xfffu
#define DEVARCH_VERSION_BIT 12

/* The words as they are filled in, one after the other. */
struct words {
    uint64_t *at;
    size_t used, room;
};

static void add(struct words *words, uint64_t word)
{
    if (words->used < words->room)
        words->at[words->used] = word;
    words->used++;
}

/* ---- Intel ---- */

/* The ratio of the TSC to the clock of the trace's time packets. */
static void read_tsc_ratio(uint64_t *numerator, uint64_t *denominator)
{
    *numerator = *denominator = 0;
#if defined(__i386__) || defined(__x86_64__)
    unsigned eax, ebx, ecx, edx;
    if (__get_cpuid(CPUID_TSC_LEAF, &eax, &ebx, &ecx, &edx)) {
        *numerator = ebx;
        *denominator = eax;
    }
#endif
}

/* The conversion of the trace's time stamps to those of perf events: the same words for both kinds. */
static void add_times(struct words *words, const struct weir_aux_facts *facts)
{
    add(words, facts->time_shift);
    add(words, facts->time_mult);
    add(words, facts->time_zero);
    add(words, facts->cap_user_time_zero && facts->time_mult != 0);
}

static uint64_t switches_of(const struct weir_aux_plan *plan, const struct weir_aux_facts *facts)
{
    if (plan->switches == WEIR_AUX_SWITCHES_AS_ASKED)
        return 0;
    return plan->switches == WEIR_AUX_SWITCHES_ALL || facts->system_wide ? SWITCHES_OF_CPUS : SWITCHES_OF_TASKS;
}

/* The text, padded with zeros; one word more if the text fills all words. */
static void add_filter(struct words *words, const char *filter)
{
    size_t length = strlen(filter), bytes = length ? weir_align_up(length + 1, sizeof(uint64_t)) : 0;
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, filter + at, at + sizeof(word) <= length ? sizeof(word) : length - at);
        add(words, word);
    }
}

static void describe_intel_pt(struct words *words, const struct weir_aux_plan *plan, const struct weir_event *event,
                              const struct weir_aux_facts *facts, const struct weir_pmu_list *pmus,
                              const struct weir_pmu *pmu)
{
    const char *filter = event->filter ? event->filter : "";
    uint64_t numerator, denominator, max_nonturbo_ratio, event_trace;
    read_tsc_ratio(&numerator, &denominator);
    if (!weir_pmu_number(pmus, pmu, "max_nonturbo_ratio", 10, &max_nonturbo_ratio))
        max_nonturbo_ratio = 0;
    if (!weir_pmu_number(pmus, pmu, "caps/event_trace", 10, &event_trace))
        event_trace = 0;
    add(words, pmu->type);
    add_times(words, facts);
    add(words, weir_pmu_format_bits(pmu, "tsc"));
    add(words, weir_pmu_format_bits(pmu, "noretcomp"));
    add(words, switches_of(plan, facts));
    add(words, plan->mode == WEIR_AUX_SNAPSHOT);
    add(words, !facts->per_thread);
    add(words, weir_pmu_format_bits(pmu, "mtc"));
    add(words, weir_pmu_format_bits(pmu, "mtc_period"));
    add(words, numerator);
    add(words, denominator);
    add(words, weir_pmu_format_bits(pmu, "cyc"));
    add(words, max_nonturbo_ratio);
    add(words, strlen(filter));
    add_filter(words, filter);
    add(words, event_trace);
}

static void describe_intel_bts(struct words *words, const struct weir_aux_plan *plan,
                               const struct weir_aux_facts *facts, const struct weir_pmu *pmu)
{
    add(words, pmu->type);
    add_times(words, facts);
    add(words, plan->mode == WEIR_AUX_SNAPSHOT);
}

/* ---- CoreSight ---- */

/* The trace unit of one CPU. */
struct unit {
    const struct weir_pmu_list *pmus;
    const struct weir_pmu *pmu;
    unsigned cpu;
};

/* An unreadable register is 0, as in perf. */
static uint64_t read_register(const struct unit *unit, const char *file)
{
    uint64_t value;
    return weir_aux_config_of_cpu(unit->pmus, unit->pmu, unit->cpu, file, &value) ? value : 0;
}

/* The kernel's options in a config, as bits of TRCCONFIGR. */
static uint64_t trcconfigr_of(uint64_t config)
{
    static const struct {
        enum weir_etm_option option;
        uint64_t bits;
    } rows[] = {
        {WEIR_ETM_CYCLES, 1u << 4},
        {WEIR_ETM_CONTEXT_ID, 1u << 6},
        {WEIR_ETM_TIMESTAMPS, 1u << 11},
        {WEIR_ETM_RETURN_STACK, 1u << 12},
        {WEIR_ETM_CONTEXT_ID_2, 1u << 7 | 1u << 15},
        {WEIR_ETM_BRANCH_BROADCAST, 1u << 3},
    };
    uint64_t bits = 0;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(rows); i++)
        bits |= config >> rows[i].option & 1 ? rows[i].bits : 0;
    return bits;
}

static void add_unit_head(struct words *words, const struct unit *unit, uint64_t magic, unsigned params)
{
    add(words, magic);
    add(words, unit->cpu);
    add(words, params);
}

static void add_etm_v3(struct words *words, const struct unit *unit, uint64_t config)
{
    add_unit_head(words, unit, ETM_V3_MAGIC, 4);
    add(words, config);
    add(words, ETM_TRACE_ID(unit->cpu));
    add(words, read_register(unit, "mgmt/etmccer"));
    add(words, read_register(unit, "mgmt/etmidr"));
}

/* ETE is ETMv4, and one register more. */
static void add_etm_v4(struct words *words, const struct unit *unit, uint64_t config, uint64_t devarch)
{
    static const char *const files[] = {"trcidr/trcidr0", "trcidr/trcidr1", "trcidr/trcidr2", "trcidr/trcidr8",
                                        "mgmt/trcauthstatus"};
    bool is_ete =
        (devarch >> DEVARCH_VERSION_BIT & 0xf) == ETE_VERSION && (devarch & DEVARCH_PART_MASK) == ETE_ARCHITECTURE;
    add_unit_head(words, unit, is_ete ? ETE_MAGIC : ETM_V4_MAGIC, is_ete ? 8 : 7);
    add(words, trcconfigr_of(config));
    add(words, ETM_TRACE_ID(unit->cpu));
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(files); i++)
        add(words, read_register(unit, files[i]));
    if (is_ete)
        add(words, devarch);
}

static void describe_cs_etm(struct words *words, const struct weir_aux_plan *plan, const struct weir_event *event,
                            const struct weir_aux_facts *facts, const struct weir_pmu_list *pmus,
                            const struct weir_pmu *pmu)
{
    add(words, ETM_VERSION);
    add(words, (uint64_t)pmu->type << 32 | weir_cpuset_count(facts->cpus));
    add(words, plan->mode == WEIR_AUX_SNAPSHOT);
    WEIR_CPUSET_FOREACH(cpu, facts->cpus) {
        struct unit unit = {pmus, pmu, (unsigned)cpu};
        uint64_t trcidr0, devarch = read_register(&unit, "mgmt/trcdevarch");
        if (weir_aux_config_of_cpu(pmus, pmu, (unsigned)cpu, "trcidr/trcidr0", &trcidr0))
            add_etm_v4(words, &unit, event->attr.config, devarch);
        else
            add_etm_v3(words, &unit, event->attr.config);
    }
}

/* ---- all ---- */

size_t weir_aux_info_words_max(const struct weir_event_list *list, unsigned cpus)
{
    size_t filter_words = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (list->events[i].aux != WEIR_AUX_KIND_NONE && list->events[i].filter)
            filter_words += strlen(list->events[i].filter) / sizeof(uint64_t) + 1;
    }
    return weir_max_u64(INTEL_PT_WORDS + filter_words, ETM_HEAD_WORDS + (size_t)cpus * WEIR_AUX_WORDS_OF_CPU);
}

static uint32_t describe(struct words *words, const struct weir_aux_plan *plan, const struct weir_event *event,
                         const struct weir_aux_facts *facts, const struct weir_pmu_list *pmus,
                         const struct weir_pmu *pmu)
{
    switch (plan->kind) {
    case WEIR_AUX_KIND_INTEL_PT:
        describe_intel_pt(words, plan, event, facts, pmus, pmu);
        return TYPE_INTEL_PT;
    case WEIR_AUX_KIND_INTEL_BTS:
        describe_intel_bts(words, plan, facts, pmu);
        return TYPE_INTEL_BTS;
    case WEIR_AUX_KIND_CS_ETM:
        describe_cs_etm(words, plan, event, facts, pmus, pmu);
        return TYPE_CS_ETM;
    default:
        add(words, pmu->type);
        add(words, 0); /* ARM_SPE_PER_CPU_MMAPS, which perf leaves at 0, too */
        return TYPE_ARM_SPE;
    }
}

int weir_aux_info_describe(const struct weir_aux_plan *plan, const struct weir_event_list *list,
                           const struct weir_aux_facts *facts, uint32_t *type, uint64_t *words, size_t *count)
{
    const struct weir_event *event = &list->events[plan->event];
    struct weir_pmu_list pmus = WEIR_PMU_LIST_INIT;
    int result = weir_pmu_list_read(&pmus, facts->sysfs_root);
    struct weir_pmu *pmu = result == 0 ? weir_pmu_find_type(&pmus, event->attr.type) : NULL;
    if (result == 0)
        result = pmu ? weir_pmu_describe(&pmus, pmu) : -ENODEV;
    struct words filled = {.at = words, .room = *count};
    if (result == 0) {
        *type = describe(&filled, plan, event, facts, &pmus, pmu);
        *count = filled.used;
        if (filled.used > filled.room)
            result = -ENOSPC;
    }
    weir_pmu_list_fini(&pmus);
    return result;
}
