/* AUX areas: mapping, enabling, snapshots, sums, AUXTRACE_INFO. Coordinator thread. See aux_keeper.h. */
#include "engine/aux/aux_keeper.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/bits.h"
#include "engine/aux/aux_drain.h"
#include "engine/aux/aux_info.h"
#include "engine/kernel/timer.h"
#include "format/aux_records.h"

#define STEP_FIRST_NS WEIR_NS_PER_MS /* between the request to enable an event and the second enable */
#define STEP_FACTOR   4
#define STEP_LAST_NS  (1024 * WEIR_NS_PER_MS)

void weir_aux_keeper_init(struct weir_aux_keeper *keeper, const struct weir_aux_keeper_setup *setup)
{
    keeper->setup = *setup;
}

/* ---- areas ---- */

int weir_aux_keeper_map(const struct weir_aux_keeper *keeper, unsigned place, struct weir_reader_ring *r)
{
    const struct weir_aux_keeper_setup *setup = &keeper->setup;
    const struct weir_aux_plan *plan = setup->plan;
    if (plan->mode == WEIR_AUX_NONE || r->aux->area.page)
        return 0;
    const struct weir_event_place *at = &setup->events->places[place];
    pid_t task = at->task >= 0 ? at->task : setup->events->targets->tids[0];
    struct weir_aux_area area = {0};
    int result = weir_event_set_map_aux(setup->events, (unsigned)plan->event, place, plan->area_bytes,
                                        plan->mode != WEIR_AUX_FULL, &r->ring, &area);
    if (result < 0) /* a CPU that the PMU is not for has a ring without an area */
        return result == -ENOENT ? 0 : result;
    r->aux->index = place;
    r->aux->task = at->task >= 0 || !setup->system_wide ? task : -1;
    r->aux->cpu = at->cpu;
    r->aux->entry_bytes = plan->alignment;
    r->aux->snapshot_bytes = plan->snapshot_bytes;
    r->aux->sampled = plan->mode == WEIR_AUX_SAMPLE;
    r->aux->area = area;
    return 0;
}

/* Calls look() for each area. */
static void for_each_area(const struct weir_pipeline *pipeline,
                          void (*look)(void *ctx, const struct weir_reader_ring *r), void *ctx)
{
    for (unsigned i = 0; i < pipeline->reader_count; i++) {
        const struct weir_reader *reader = pipeline->readers[i];
        for (unsigned ring = 0; ring < reader->rings.count; ring++) {
            const struct weir_reader_ring *r = &reader->rings.at[ring];
            if (r->aux && r->aux->area.page)
                look(ctx, r);
        }
    }
}

/* ---- enabling ---- */

static void enable(const struct weir_aux_keeper *keeper, unsigned place)
{
    if (keeper->on)
        weir_event_set_enable_at(keeper->setup.events, (unsigned)keeper->setup.plan->event, place);
}

static void restart(const struct weir_aux_keeper *keeper, unsigned place)
{
    if (keeper->on)
        weir_event_set_restart_at(keeper->setup.events, (unsigned)keeper->setup.plan->event, place);
}

/* Enables an event that it is time for, and notes when the timer is to expire for the next. */
static void enable_in_time(void *ctx, const struct weir_reader_ring *r)
{
    struct weir_aux_keeper *keeper = ctx;
    struct weir_aux_drain *aux = r->aux;
    if (aux->enable_step_ns == 0)
        return;
    if (aux->enable_at_ns <= keeper->now_ns) {
        uint64_t head = weir_aux_area_head(&aux->area);
        if (head == aux->head_then)
            restart(keeper, r->place);
        else
            enable(keeper, r->place);
        aux->head_then = head;
        aux->enable_step_ns *= STEP_FACTOR;
        aux->enable_at_ns = keeper->now_ns + aux->enable_step_ns;
    }
    if (aux->enable_step_ns > STEP_LAST_NS)
        aux->enable_step_ns = 0;
    else if (keeper->next_ns == 0 || aux->enable_at_ns < keeper->next_ns)
        keeper->next_ns = aux->enable_at_ns;
}

static void take_request(void *ctx, const struct weir_reader_ring *r)
{
    const struct weir_aux_keeper *keeper = ctx;
    struct weir_aux_drain *aux = r->aux;
    /* Acquire pairs with the reader's release: the room is there. */
    if (!atomic_exchange_explicit(&aux->wants_enable, false, memory_order_acquire))
        return;
    enable(keeper, r->place);
    aux->head_then = weir_aux_area_head(&aux->area);
    aux->enable_step_ns = STEP_FIRST_NS;
    aux->enable_at_ns = keeper->now_ns + STEP_FIRST_NS;
}

static void enable_and_set_timer(struct weir_aux_keeper *keeper)
{
    keeper->next_ns = 0;
    for_each_area(keeper->setup.pipeline, enable_in_time, keeper);
    weir_timer_set_at(keeper->timer_fd, keeper->next_ns);
}

static void on_request(void *ctx, short revents)
{
    struct weir_aux_keeper *keeper = ctx;
    eventfd_t count;
    (void)revents;
    eventfd_read(keeper->setup.pipeline->aux_fd, &count);
    keeper->now_ns = weir_clock_now_ns(keeper->setup.clock);
    for_each_area(keeper->setup.pipeline, take_request, keeper);
    enable_and_set_timer(keeper);
}

static void on_timer(void *ctx, short revents)
{
    struct weir_aux_keeper *keeper = ctx;
    uint64_t expired;
    (void)revents;
    if (read(keeper->timer_fd, &expired, sizeof(expired)) != (ssize_t)sizeof(expired))
        return;
    keeper->now_ns = weir_clock_now_ns(keeper->setup.clock);
    enable_and_set_timer(keeper);
}

int weir_aux_keeper_watch(struct weir_aux_keeper *keeper, struct weir_poll_set *sources)
{
    if (keeper->setup.plan->mode != WEIR_AUX_FULL)
        return 0;
    keeper->timer_fd = weir_timer_open();
    if (keeper->timer_fd < 0)
        return keeper->timer_fd;
    keeper->sources = sources;
    int result = weir_poll_set_add(sources, keeper->timer_fd, POLLIN, on_timer, keeper);
    return result < 0 ? result : weir_poll_set_add(sources, keeper->setup.pipeline->aux_fd, POLLIN, on_request, keeper);
}

void weir_aux_keeper_fini(struct weir_aux_keeper *keeper)
{
    if (keeper->timer_fd >= 0) {
        weir_poll_set_remove(keeper->sources, keeper->timer_fd);
        close(keeper->timer_fd);
    }
    keeper->timer_fd = -1;
}

/* ---- on, off, snapshots ---- */

void weir_aux_keeper_set_on(struct weir_aux_keeper *keeper, bool on)
{
    keeper->on = on;
    if (on && keeper->paused)
        weir_event_set_toggle(keeper->setup.events, (unsigned)keeper->setup.plan->event, false);
}

void weir_aux_keeper_pause(struct weir_aux_keeper *keeper, bool paused)
{
    if (keeper->setup.plan->mode != WEIR_AUX_SNAPSHOT)
        return;
    keeper->paused = paused;
    if (keeper->on)
        weir_event_set_toggle(keeper->setup.events, (unsigned)keeper->setup.plan->event, !paused);
}

/* ---- sums, AUXTRACE_INFO ---- */

static void add_area(void *ctx, const struct weir_reader_ring *r)
{
    struct weir_aux_sum *sum = ctx;
    sum->areas++;
    sum->records += r->counts.aux_records;
    sum->truncated += r->counts.aux_truncated;
}

void weir_aux_keeper_sum(const struct weir_aux_keeper *keeper, struct weir_aux_sum *sum)
{
    const struct weir_aux_keeper_setup *setup = &keeper->setup;
    *sum = (struct weir_aux_sum){
        .area_bytes = setup->plan->area_bytes,
        .kept_newest = setup->plan->mode == WEIR_AUX_SNAPSHOT,
        .failed_bytes = setup->pipeline->writer.failed_train_bytes,
    };
    for_each_area(setup->pipeline, add_area, sum);
}

int weir_aux_keeper_append_info(const struct weir_aux_keeper *keeper, struct weir_buf *out)
{
    const struct weir_aux_keeper_setup *setup = &keeper->setup;
    if (setup->plan->mode == WEIR_AUX_NONE)
        return 0;
    struct weir_time_conversion conversion;
    weir_pipeline_time_conversion(setup->pipeline, &conversion);
    const struct weir_aux_facts facts = {
        .time_shift = (uint16_t)conversion.shift,
        .time_mult = (uint32_t)conversion.multiplier,
        .time_zero = conversion.zero,
        .cap_user_time_zero = conversion.has_zero,
        .per_thread = setup->per_thread,
        .system_wide = setup->system_wide,
        .cpus = setup->cpus,
        .sysfs_root = setup->sysfs_root,
    };
    size_t count = weir_aux_info_words_max(setup->events->list, weir_cpuset_count(setup->cpus));
    uint64_t *words = calloc(weir_max_u64(count, 1), sizeof(*words));
    if (!words)
        return -ENOMEM;
    uint32_t type;
    int result = weir_aux_info_describe(setup->plan, setup->events->list, &facts, &type, words, &count);
    if (result == 0)
        result = weir_auxtrace_info_append(out, type, words, count);
    free(words);
    return result;
}
