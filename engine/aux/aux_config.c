/* Completes the configs of AUX events, kind by kind. Main thread, set-up. Sources: aux_config.h. */
#include "engine/aux/aux_config.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

#define PSB_BYTES_EARLY    256 /* distance of PSB packets on early machines */
#define PSB_PERIOD_SHIFT   11  /* psb_period N: each 2^(N + 11) bytes */
#define PT_ENABLE          1u  /* the bit of "pt" */
#define PT_MODE_HOST_GUEST 1
#define TEXT_BYTES         256

/* ---- intel_pt ---- */

/* The value of a field of the config, whose bits may lie apart. */
static uint64_t field_of(uint64_t config, uint64_t mask)
{
    uint64_t value = 0, bit = 1;
    for (uint64_t rest = mask; rest; rest &= rest - 1, bit <<= 1)
        value |= config & rest & -rest ? bit : 0;
    return value;
}

/* "0,3,6,9" or "0-5": the bits that are set. */
static void print_values(char text[TEXT_BYTES], uint64_t valid)
{
    size_t used = 0;
    for (unsigned first = 0; first < 64; first++) {
        if (!(valid >> first & 1))
            continue;
        unsigned last = first;
        while (last < 63 && valid >> (last + 1) & 1)
            last++;
        used += (size_t)snprintf(text + used, TEXT_BYTES - used, used ? ",%u" : "%u", first);
        if (last > first && used < TEXT_BYTES)
            used += (size_t)snprintf(text + used, TEXT_BYTES - used, last > first + 1 ? "-%u" : ",%u", last);
        if (used >= TEXT_BYTES)
            return;
        first = last;
    }
}

/* Checks one period or threshold against the values of the machine. supported: a flag; without it, only 0 is valid. */
static int check_period(const struct weir_event *event, const struct weir_pmu_list *pmus, const struct weir_pmu *pmu,
                        const char *name, const char *caps, const char *supported, struct weir_error *err)
{
    uint64_t valid = weir_pmu_number_or(pmus, pmu, supported, 10, 1) ? weir_pmu_number_or(pmus, pmu, caps, 16, 0) : 0;
    valid |= 1;
    uint64_t value = field_of(event->attr.config, weir_pmu_format_bits(pmu, name));
    if (value < 64 && valid >> value & 1)
        return 0;
    char text[TEXT_BYTES];
    print_values(text, valid);
    weir_error_set(err, -EINVAL, "intel_pt of this machine has no %s=%" PRIu64, name, value);
    weir_error_hint(err, "values of %s that it has: %s", name, text);
    return -EINVAL;
}

static int complete_intel_pt(struct weir_event *event, const struct weir_pmu_list *pmus, const struct weir_pmu *pmu,
                             const struct weir_aux_plan *plan, const struct weir_aux_setting *setting,
                             struct weir_error *err)
{
    struct perf_event_attr *attr = &event->attr;
    uint64_t pt_mode;
    attr->exclude_guest = weir_pmu_list_number(pmus, "module/kvm_intel/parameters/pt_mode", 10, &pt_mode) &&
                          pt_mode == PT_MODE_HOST_GUEST;
    uint64_t psb_period = weir_pmu_format_bits(pmu, "psb_period");
    if (plan->mode == WEIR_AUX_SAMPLE && !(psb_period & event->aux_attr.config_given))
        attr->config &= ~psb_period; /* as often as possible: each sampled piece should have a PSB packet */
    if (weir_pmu_format_bits(pmu, "pt") && !(attr->config & PT_ENABLE)) {
        weir_notice(setting->notices, WEIR_NOTICE_WARNING, "event %s: there is no trace with pt=0; recording with pt=1",
                    event->name);
        attr->config |= PT_ENABLE;
    }
    int result = check_period(event, pmus, pmu, "cyc_thresh", "caps/cycle_thresholds", "caps/psb_cyc", err);
    if (result == 0)
        result = check_period(event, pmus, pmu, "mtc_period", "caps/mtc_periods", "caps/mtc", err);
    if (result == 0)
        result = check_period(event, pmus, pmu, "psb_period", "caps/psb_periods", "caps/psb_cyc", err);
    if (plan->mode == WEIR_AUX_FULL)
        event->aux_attr.watermark_bytes = (uint32_t)weir_min_u64(plan->area_bytes / 4, UINT32_MAX);
    return result;
}

uint64_t weir_aux_config_psb_bytes(const struct weir_event *event, const struct weir_pmu_list *pmus,
                                   const struct weir_pmu *pmu)
{
    if (!weir_pmu_number_or(pmus, pmu, "caps/topa_multiple_entries", 10, 0))
        return PSB_BYTES_EARLY;
    return UINT64_C(1) << (field_of(event->attr.config, weir_pmu_format_bits(pmu, "psb_period")) + PSB_PERIOD_SHIFT);
}

/* ---- arm_spe ---- */

static void complete_arm_spe(struct weir_event *event, const struct weir_pmu *pmu,
                             const struct weir_aux_setting *setting)
{
    uint64_t timestamps = weir_pmu_format_bits(pmu, "ts_enable");
    if (!setting->per_thread && !(timestamps & event->aux_attr.config_given))
        event->attr.config |= timestamps;
    event->aux_attr.sample_type = PERF_SAMPLE_DATA_SRC; /* tells consumers that the trace has memory accesses */
    if (event->attr.config & weir_pmu_format_bits(pmu, "pa_enable"))
        event->aux_attr.sample_type |= PERF_SAMPLE_PHYS_ADDR; /* likewise: physical addresses */
}

/* ---- cs_etm ---- */

bool weir_aux_config_of_cpu(const struct weir_pmu_list *pmus, const struct weir_pmu *pmu, unsigned cpu,
                            const char *file, uint64_t *value)
{
    char path[64];
    return (size_t)snprintf(path, sizeof(path), "cpu%u/%s", cpu, file) < sizeof(path) &&
           weir_pmu_number(pmus, pmu, path, 16, value);
}

static uint64_t bits(uint64_t value, unsigned first, unsigned last)
{
    return value >> first & ((UINT64_C(2) << (last - first)) - 1);
}

/* Checks that a CPU can trace the context ids of the config. Arm IHI 0064, TRCIDR2. */
static int check_context_ids(uint64_t config, unsigned cpu, uint64_t trcidr2, struct weir_error *err)
{
    bool has_el1 = bits(trcidr2, 5, 9) == 4;                                 /* CIDSIZE: 32 bits */
    bool has_el2 = bits(trcidr2, 29, 30) != 0 && bits(trcidr2, 10, 14) >= 4; /* VMIDOPT, VMIDSIZE */
    int level = 0;
    if (config >> WEIR_ETM_CONTEXT_ID & 1 && !has_el1)
        level = 1;
    else if (config >> WEIR_ETM_CONTEXT_ID_2 & 1 && !has_el2)
        level = 2;
    if (level == 0)
        return 0;
    weir_error_set(err, -EINVAL, "cs_etm: CPU %u cannot trace CONTEXTIDR_EL%d", cpu, level);
    weir_error_hint(err, "with --per-thread the trace of each task has an area of its own, and needs no ids");
    return -EINVAL;
}

/* Asks for context ids and times in the trace: several tasks share the area of a CPU. */
static int complete_cs_etm(struct weir_event *event, const struct weir_pmu_list *pmus, const struct weir_pmu *pmu,
                           const struct weir_aux_setting *setting, struct weir_error *err)
{
    uint64_t context_ids = UINT64_C(1) << WEIR_ETM_CONTEXT_ID | UINT64_C(1) << WEIR_ETM_CONTEXT_ID_2;
    uint64_t config = event->attr.config | UINT64_C(1) << WEIR_ETM_TIMESTAMPS;
    if (!(config & context_ids))
        config |= weir_pmu_format_bits(pmu, "contextid") & context_ids;
    WEIR_CPUSET_FOREACH(cpu, setting->cpus) {
        uint64_t trcidr0, trcidr2;
        if (!weir_aux_config_of_cpu(pmus, pmu, (unsigned)cpu, "trcidr/trcidr0", &trcidr0) ||
            !weir_aux_config_of_cpu(pmus, pmu, (unsigned)cpu, "trcidr/trcidr2", &trcidr2)) {
            weir_error_set(err, -EINVAL, "cs_etm: CPU %d has no trace unit of version 4 or later", cpu);
            weir_error_hint(err, "-C with CPUs that have one, or --per-thread");
            return -EINVAL;
        }
        if (bits(trcidr0, 24, 28) == 0) { /* TSSIZE */
            weir_error_set(err, -EINVAL, "cs_etm: the trace unit of CPU %d has no timestamps", cpu);
            weir_error_hint(err, "-C with CPUs that have them, or --per-thread");
            return -EINVAL;
        }
        int result = check_context_ids(config, (unsigned)cpu, trcidr2, err);
        if (result < 0)
            return result;
    }
    event->attr.config = config;
    return 0;
}

int weir_aux_config_complete(struct weir_event *event, const struct weir_pmu_list *pmus, const struct weir_pmu *pmu,
                             const struct weir_aux_plan *plan, const struct weir_aux_setting *setting,
                             struct weir_error *err)
{
    if (event->aux == WEIR_AUX_KIND_INTEL_PT)
        return complete_intel_pt(event, pmus, pmu, plan, setting, err);
    if (event->aux == WEIR_AUX_KIND_CS_ETM && !setting->per_thread)
        return complete_cs_etm(event, pmus, pmu, setting, err);
    if (event->aux == WEIR_AUX_KIND_ARM_SPE)
        complete_arm_spe(event, pmu, setting);
    return 0;
}
