/* How readers keep up. Figures and threads: drain_watch.h. */
#include "engine/drain/drain_watch.h"

#include "base/bits.h"
#include "base/clock.h"

#define NS_PER_US 1000u

static void note_wait(struct weir_drain_watch *watch, const struct weir_drain_look *look, bool met_rotation)
{
    bool waited = watch->waits_from_ns > 0;
    watch->wait_met_rotation = met_rotation || (waited && watch->wait_met_rotation);
    if (look->leaves_behind) {
        if (!waited)
            watch->waits_from_ns = look->at_ns;
    } else if (waited) {
        struct weir_drain_figures *figures = &watch->figures[watch->wait_met_rotation];
        weir_shared_histogram_add(&figures->wait_us, (look->at_ns - watch->waits_from_ns) / NS_PER_US);
        watch->waits_from_ns = 0;
    }
}

void weir_drain_watch_look(struct weir_drain_watch *watch, const struct weir_drain_look *look)
{
    uint64_t rotations = weir_rotation_count_look(look->rotations);
    bool met_rotation =
        weir_rotation_count_under_way(rotations) || (watch->looked_ns > 0 && rotations != watch->looked_rotations);
    if (look->due && watch->looked_ns > 0) {
        struct weir_drain_figures *figures = &watch->figures[met_rotation];
        weir_shared_histogram_add(&figures->gap_us, (look->at_ns - watch->looked_ns) / NS_PER_US);
        weir_shared_histogram_add(&figures->fill_per_mille, look->fill_per_mille);
    }
    note_wait(watch, look, met_rotation);
    watch->looked_ns = look->at_ns;
    watch->looked_rotations = rotations;
}

void weir_drain_watch_sum(const struct weir_drain_watch *watch, enum weir_drain_moment moment,
                          struct weir_drain_sums *sums)
{
    const struct weir_drain_figures *figures = &watch->figures[moment];
    weir_shared_histogram_read(&figures->gap_us, &sums->gap_us);
    weir_shared_histogram_read(&figures->fill_per_mille, &sums->fill_per_mille);
    weir_shared_histogram_read(&figures->wait_us, &sums->wait_us);
}

static struct weir_drain_spread spread_of(const struct weir_histogram *histogram)
{
    return (struct weir_drain_spread){
        .count = histogram->count,
        .p50 = weir_histogram_percentile(histogram, 50),
        .p99 = weir_histogram_percentile(histogram, 99),
        .max = histogram->max,
    };
}

void weir_drain_sums_summarize(const struct weir_drain_sums *sums, struct weir_drain_summary *summary)
{
    summary->gap_us = spread_of(&sums->gap_us);
    summary->fill_per_mille = spread_of(&sums->fill_per_mille);
    summary->wait_us = spread_of(&sums->wait_us);
}
