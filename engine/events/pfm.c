/* The one place that includes libpfm4. Without WEIR_PFM the functions know no event. */
#include "engine/events/pfm.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#ifdef WEIR_PFM

#include <perfmon/pfmlib_perf_event.h>

#define NAME_BYTES 256

/* Once; libpfm4 remembers. False, with err: it cannot work here. */
static bool initialize(struct weir_error *err)
{
    pfm_err_t result = pfm_initialize();
    if (result != PFM_SUCCESS)
        weir_error_set(err, -EINVAL, "libpfm4 cannot start: %s", pfm_strerror(result));
    return result == PFM_SUCCESS;
}

/* Generic events are on every machine, and -e names them itself. */
static bool is_of_cpu(const pfm_pmu_info_t *pmu)
{
    return pmu->is_present && pmu->pmu != PFM_PMU_PERF_EVENT && pmu->pmu != PFM_PMU_PERF_EVENT_RAW;
}

static bool next_pmu(int *index, pfm_pmu_info_t *pmu)
{
    while (++*index < PFM_PMU_MAX) {
        *pmu = (pfm_pmu_info_t){.size = sizeof(*pmu)};
        if (pfm_get_pmu_info((pfm_pmu_t)*index, pmu) == PFM_SUCCESS && is_of_cpu(pmu))
            return true;
    }
    return false;
}

bool weir_pfm_knows_cpu(void)
{
    pfm_pmu_info_t pmu;
    int index = PFM_PMU_NONE;
    bool knows = false;
    while (!knows && initialize(NULL) && next_pmu(&index, &pmu))
        knows = pmu.type == PFM_PMU_TYPE_CORE;
    return knows;
}

int weir_pfm_encode(const char *text, struct perf_event_attr *attr, struct weir_error *err)
{
    if (!initialize(err))
        return -EINVAL;
    pfm_err_t result = pfm_get_perf_event_encoding(text, PFM_PLM0 | PFM_PLM3, attr, NULL, NULL);
    if (result == PFM_SUCCESS)
        return 0;
    int code = result == PFM_ERR_NOTFOUND ? -ENOENT : -EINVAL;
    return weir_error_set(err, code, "%s", pfm_strerror(result));
}

/* ---- the list ---- */

struct visit {
    int (*visit)(void *ctx, const struct weir_pfm_event *event);
    void *ctx;
};

/* mask: NULL for the event alone, which may not do without one. */
static int visit_one(const struct visit *visit, const pfm_pmu_info_t *pmu, const pfm_event_info_t *info,
                     const pfm_event_attr_info_t *mask)
{
    char name[NAME_BYTES], word[WEIR_PFM_WORD_BYTES];
    struct perf_event_attr attr = {0};
    const char *mask_name = mask ? mask->name : "";
    snprintf(name, sizeof(name), "%s::%s%s%s", pmu->name, info->name, mask ? ":" : "", mask_name);
    snprintf(word, sizeof(word), "%s%s%s", info->name, mask ? "." : "", mask_name);
    for (char *at = word; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    if (pfm_get_perf_event_encoding(name, PFM_PLM0 | PFM_PLM3, &attr, NULL, NULL) != PFM_SUCCESS)
        return 0;
    const struct weir_pfm_event event = {
        .name = name, .word = word, .pmu = pmu->name, .description = mask ? mask->desc : info->desc};
    return visit->visit(visit->ctx, &event);
}

static int visit_event(const struct visit *visit, const pfm_pmu_info_t *pmu, int index)
{
    pfm_event_info_t info = {.size = sizeof(info)};
    if (pfm_get_event_info(index, PFM_OS_PERF_EVENT_EXT, &info) != PFM_SUCCESS)
        return 0;
    int result = visit_one(visit, pmu, &info, NULL);
    for (int i = 0; result == 0 && i < info.nattrs; i++) {
        pfm_event_attr_info_t mask = {.size = sizeof(mask)};
        if (pfm_get_event_attr_info(info.idx, i, PFM_OS_PERF_EVENT_EXT, &mask) == PFM_SUCCESS &&
            mask.type == PFM_ATTR_UMASK)
            result = visit_one(visit, pmu, &info, &mask);
    }
    return result;
}

int weir_pfm_visit(int (*visit_one_of)(void *ctx, const struct weir_pfm_event *event), void *ctx)
{
    const struct visit visit = {visit_one_of, ctx};
    pfm_pmu_info_t pmu;
    int pmu_index = PFM_PMU_NONE, result = 0;
    while (result == 0 && initialize(NULL) && next_pmu(&pmu_index, &pmu)) {
        for (int i = pmu.first_event; result == 0 && i >= 0; i = pfm_get_event_next(i))
            result = visit_event(&visit, &pmu, i);
    }
    return result;
}

const char *weir_pfm_hint(void)
{
    return weir_pfm_knows_cpu() ? "'weir list pfm' shows the events that libpfm4 knows of this CPU"
                                : "libpfm4 does not know this CPU, whose own events are written as "
                                  "cpu/event=0xNN,umask=0xNN/";
}

#else

bool weir_pfm_knows_cpu(void)
{
    return false;
}

int weir_pfm_encode(const char *text, struct perf_event_attr *attr, struct weir_error *err)
{
    (void)text;
    (void)attr;
    return weir_error_set(err, -ENOTSUP, "this weir is built without libpfm4");
}

int weir_pfm_visit(int (*visit_one_of)(void *ctx, const struct weir_pfm_event *event), void *ctx)
{
    (void)visit_one_of;
    (void)ctx;
    return 0;
}

const char *weir_pfm_hint(void)
{
    return "this weir has no libpfm4, so a CPU's own events are written as cpu/event=0xNN,umask=0xNN/";
}

#endif

static int offer(void *ctx, const struct weir_pfm_event *event)
{
    weir_suggest_offer(ctx, event->word);
    return 0;
}

void weir_pfm_offer(struct weir_suggest *suggest)
{
    weir_pfm_visit(offer, suggest);
}
