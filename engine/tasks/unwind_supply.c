#include "engine/tasks/unwind_supply.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/clock.h"
#include "base/condition.h"
#include "engine/kernel/test_point.h"

#define RING_PAUSE_MS 5u /* from one ring to the next */

struct weir_unwind_supply {
    struct weir_mapping_history *history; /* owned */
    struct weir_file_opener *opener;      /* owned */

    pthread_mutex_t lock; /* (supply-look) guards all below */
    pthread_cond_t ended;
    struct weir_unwind_supply_bell bell; /* ring NULL: none */
    uint64_t asked, answered, late;      /* looks */
    bool is_in_vain;                     /* a worker has waited in vain since the last look ended */
};

/* ---- making ---- */

int weir_unwind_supply_new(struct weir_unwind_supply **made, const struct weir_file_opener_setup *opener)
{
    struct weir_unwind_supply *supply = calloc(1, sizeof(*supply));
    if (!supply)
        return -ENOMEM;
    pthread_mutex_init(&supply->lock, NULL);
    weir_condition_init(&supply->ended);
    int result = weir_mapping_history_new(&supply->history);
    if (result == 0)
        result = weir_file_opener_new(&supply->opener, opener);
    if (result < 0)
        weir_unwind_supply_free(supply);
    else
        *made = supply;
    return result;
}

void weir_unwind_supply_free(struct weir_unwind_supply *supply)
{
    if (!supply)
        return;
    weir_file_opener_free(supply->opener);
    weir_mapping_history_free(supply->history);
    pthread_mutex_destroy(&supply->lock);
    pthread_cond_destroy(&supply->ended);
    free(supply);
}

int weir_unwind_supply_start(struct weir_unwind_supply *supply)
{
    return weir_file_opener_start(supply->opener);
}

unsigned weir_unwind_supply_tids(const struct weir_unwind_supply *supply, pid_t tids[WEIR_FILE_OPENER_THREADS])
{
    return weir_file_opener_tids(supply->opener, tids);
}

struct weir_unwind_supply_counts weir_unwind_supply_count(const struct weir_unwind_supply *supply)
{
    return (struct weir_unwind_supply_counts){
        .history = weir_mapping_history_count(supply->history), .looks = supply->asked, .late = supply->late};
}

/* ---- the source ---- */

static bool find(void *ctx, pid_t pid, uint64_t time_ns, uint64_t address, struct weir_unwind_mapping *mapping)
{
    const struct weir_unwind_supply *supply = ctx;
    return weir_mapping_history_find(supply->history, pid, time_ns, address, mapping);
}

static int open_file(void *ctx, uint64_t key)
{
    const struct weir_unwind_supply *supply = ctx;
    return key < WEIR_MAPPING_NO_FILE ? weir_file_opener_open(supply->opener, (uint32_t)key) : -ENOENT;
}

static bool catch_up(void *ctx)
{
    struct weir_unwind_supply *supply = ctx;
    uint64_t now_ns = weir_clock_now_ns(&weir_clock_monotonic);
    const uint64_t until_ns = now_ns + WEIR_UNWIND_SUPPLY_TIMEOUT_MS * WEIR_NS_PER_MS;
    pthread_mutex_lock(&supply->lock); /* (supply-look) */
    uint64_t look = ++supply->asked;
    weir_test_point(WEIR_AT_SUPPLY_ASKED);
    while (supply->answered < look && !supply->is_in_vain && now_ns < until_ns) {
        if (supply->bell.ring)
            supply->bell.ring(supply->bell.ctx);
        weir_condition_await(&supply->ended, &supply->lock,
                             weir_min_u64(now_ns + RING_PAUSE_MS * WEIR_NS_PER_MS, until_ns));
        now_ns = weir_clock_now_ns(&weir_clock_monotonic);
    }
    bool is_answered = supply->answered >= look;
    supply->is_in_vain |= !is_answered;
    supply->late += !is_answered;
    pthread_mutex_unlock(&supply->lock);
    return is_answered;
}

struct weir_unwind_source weir_unwind_supply_source(struct weir_unwind_supply *supply)
{
    return (struct weir_unwind_source){.find = find, .catch_up = catch_up, .open = open_file, .ctx = supply};
}

/* ---- sideband thread ---- */

void weir_unwind_supply_set_bell(struct weir_unwind_supply *supply, const struct weir_unwind_supply_bell *bell)
{
    pthread_mutex_lock(&supply->lock);
    supply->bell = bell ? *bell : (struct weir_unwind_supply_bell){NULL, NULL};
    pthread_mutex_unlock(&supply->lock);
}

uint64_t weir_unwind_supply_begin(struct weir_unwind_supply *supply)
{
    pthread_mutex_lock(&supply->lock); /* (supply-look) */
    uint64_t look = supply->asked;
    pthread_mutex_unlock(&supply->lock);
    return look;
}

void weir_unwind_supply_end(struct weir_unwind_supply *supply, uint64_t look)
{
    weir_test_point(WEIR_AT_SUPPLY_LOOKED);
    pthread_mutex_lock(&supply->lock); /* (supply-look) */
    supply->answered = look;
    supply->is_in_vain = false;
    pthread_cond_broadcast(&supply->ended);
    pthread_mutex_unlock(&supply->lock);
}

bool weir_unwind_supply_is_asked(struct weir_unwind_supply *supply)
{
    pthread_mutex_lock(&supply->lock); /* (supply-look) */
    bool is_asked = supply->answered < supply->asked;
    pthread_mutex_unlock(&supply->lock);
    return is_asked;
}

void weir_unwind_supply_note(struct weir_unwind_supply *supply, const struct weir_side_record *record,
                             const struct weir_mapped_files *files, int64_t index)
{
    const struct weir_mapped_file *file = index >= 0 ? &files->all[index] : NULL;
    uint32_t number = WEIR_MAPPING_NO_FILE;
    if (file && (file->kind == WEIR_MAPPED_FILE || file->kind == WEIR_MAPPED_VDSO)) {
        number = (uint32_t)file->number;
        weir_file_opener_note(supply->opener, number, file, weir_mapped_files_name(files, (uint32_t)index));
    }
    weir_mapping_history_apply(supply->history, record, number);
}

void weir_unwind_supply_note_id(struct weir_unwind_supply *supply, const struct weir_mapped_files *files,
                                uint32_t index)
{
    const struct weir_build_id id = weir_mapped_files_build_id(files, index);
    if (id.bytes > 0)
        weir_file_opener_note_id(supply->opener, (uint32_t)files->all[index].number, &id);
}
