/* The default config of an AUX event. Main thread, set-up. Sources: aux_terms.h. */
#include "engine/events/aux_terms.h"

#include <string.h>

#define SPE_PREFIX  "arm_spe_"
#define SPE_PERIOD  4096 /* where the driver advertises no minimum */
#define PERIOD_PICK 3    /* of intel_pt's periods, where the machine has it: as perf */

enum weir_aux_kind weir_aux_terms_kind(const char *pmu_name)
{
    if (strcmp(pmu_name, "intel_pt") == 0)
        return WEIR_AUX_KIND_INTEL_PT;
    if (strcmp(pmu_name, "intel_bts") == 0)
        return WEIR_AUX_KIND_INTEL_BTS;
    if (strcmp(pmu_name, "cs_etm") == 0)
        return WEIR_AUX_KIND_CS_ETM;
    return strncmp(pmu_name, SPE_PREFIX, strlen(SPE_PREFIX)) == 0 ? WEIR_AUX_KIND_ARM_SPE : WEIR_AUX_KIND_NONE;
}

/* ---- intel_pt: before its terms ---- */

/* The highest available period up to the wanted one, else the lowest above it. periods: a bit for each. */
static unsigned pick_period(uint64_t periods, unsigned wished)
{
    uint64_t up_to = periods & ((UINT64_C(2) << wished) - 1);
    return up_to ? 63u - (unsigned)__builtin_clzll(up_to) : (unsigned)__builtin_ctzll(periods);
}

static void set_term(struct weir_event *event, const struct weir_pmu *pmu, const char *name, uint64_t value)
{
    const struct weir_pmu_format *format = weir_pmu_find_format(pmu, name, strlen(name));
    if (format && format->word == 0)
        event->attr.config = (event->attr.config & ~format->mask) | weir_pmu_format_place(format, value);
}

static void begin_intel_pt(struct weir_event *event, const struct weir_pmu_list *pmus, const struct weir_pmu *pmu)
{
    set_term(event, pmu, "tsc", 1);
    uint64_t mtc_periods = 0;
    if (weir_pmu_number_or(pmus, pmu, "caps/mtc", 10, 1))
        mtc_periods = weir_pmu_number_or(pmus, pmu, "caps/mtc_periods", 16, 0);
    if (mtc_periods) {
        set_term(event, pmu, "mtc", 1);
        set_term(event, pmu, "mtc_period", pick_period(mtc_periods, PERIOD_PICK));
    }
    if (mtc_periods && weir_pmu_number_or(pmus, pmu, "caps/psb_cyc", 10, 1)) {
        uint64_t psb_periods = weir_pmu_number_or(pmus, pmu, "caps/psb_periods", 16, 0);
        if (psb_periods)
            set_term(event, pmu, "psb_period", pick_period(psb_periods, PERIOD_PICK));
    }
    if (weir_pmu_format_bits(pmu, "pt") && weir_pmu_format_bits(pmu, "branch")) {
        set_term(event, pmu, "pt", 1);
        set_term(event, pmu, "branch", 1);
    }
}

bool weir_aux_terms_begin(struct weir_event *event, const struct weir_pmu_list *pmus, const struct weir_pmu *pmu)
{
    event->aux = weir_aux_terms_kind(pmu->name);
    switch (event->aux) {
    case WEIR_AUX_KIND_INTEL_PT:
        begin_intel_pt(event, pmus, pmu);
        event->aux_attr.period = 1;
        return true;
    case WEIR_AUX_KIND_ARM_SPE:
        event->aux_attr.period = weir_pmu_number_or(pmus, pmu, "caps/min_interval", 10, SPE_PERIOD);
        return true;
    case WEIR_AUX_KIND_INTEL_BTS:
    case WEIR_AUX_KIND_CS_ETM:
        event->aux_attr.period = 1;
        return false;
    default:
        return false;
    }
}
