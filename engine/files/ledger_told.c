/*
 * Reports losses to outputs: LOST_SAMPLES records, event by event, for the losses since the last report. Coordinator
 * only.
 */
#include "engine/files/ledger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/events/event_set.h"
#include "engine/files/ledger_internal.h"
#include "format/bytes.h"
#include "format/records.h"

void weir_told_losses_fini(struct weir_told_losses *told)
{
    free(told->all);
    free(told->gone);
    *told = (struct weir_told_losses){0};
}

static size_t slot_count(const struct weir_event_set *set)
{
    return (size_t)set->event_count * set->place_count * set->task_count;
}

/* Finds the entry of an id, or NULL. The search starts at *at and wraps around. A caller that asks for many ids in the
 * order of the entries makes one walk over them. */
static struct weir_told_loss *find_told(const struct weir_told_losses *told, uint64_t id, size_t *at)
{
    size_t count = told->gone_count + told->count;
    for (size_t i = 0; i < count; i++, ++*at) {
        if (*at >= count)
            *at = 0;
        struct weir_told_loss *entry = *at < told->gone_count ? &told->gone[*at] : &told->all[*at - told->gone_count];
        if (entry->id == id)
            return entry;
    }
    return NULL;
}

int weir_told_losses_make_room(const struct weir_event_set *set, struct weir_told_losses *told)
{
    if (told->all)
        return 0;
    told->all = calloc(slot_count(set), sizeof(*told->all));
    if (!told->all)
        return -ENOMEM;
    told->count = slot_count(set);
    return 0;
}

/* Makes room in `lost` for a record of every descriptor, retired ones included, and for one record of each row: losses
 * from before its ring. So no loss is noted as reported that then finds no room. */
static int make_record_room(const struct weir_event_set *set, struct weir_buf *lost)
{
    size_t before = lost->used, rows = (size_t)set->event_count * set->place_count;
    size_t records = slot_count(set) + set->retired_count + rows;
    if (!weir_buf_extend(lost, records * WEIR_RECORD_LOST_SAMPLES_MAX_BYTES))
        return weir_buf_error(lost);
    lost->used = before;
    return 0;
}

void weir_ledger_append_lost(const struct weir_event_set *set, unsigned event, unsigned place,
                             const struct weir_event_count *count, uint64_t before, struct weir_buf *lost)
{
    /* A record without an id would seem to report samples. The file has the LOST records of the kernel instead. */
    bool is_silent = set->by_cpu && event >= weir_event_set_sideband(set);
    if (!lost || count->lost == before || is_silent)
        return;
    struct weir_record_sample_id trailer = {
        .sample_type = set->list->events[event].attr.sample_type,
        .id = count->id,
        .cpu = (uint32_t)set->places[place].cpu,
    };
    weir_record_lost_samples(lost, count->lost - before, &trailer);
}

uint64_t weir_told_losses_exchange(struct weir_told_losses *told, size_t slot, const struct weir_event_count *count)
{
    if (!told)
        return 0;
    struct weir_told_loss *entry = &told->all[slot];
    uint64_t before = entry->id == count->id ? entry->lost : 0; /* a CPU that comes back has a new id */
    *entry = (struct weir_told_loss){.id = count->id, .lost = count->lost};
    return before;
}

/* Adds entries for the descriptors that have retired since the last call. Returns 0 or -ENOMEM. */
static int note_gone(const struct weir_event_set *set, struct weir_told_losses *told)
{
    if (told->gone_count == set->retired_count)
        return 0;
    struct weir_told_loss *gone = reallocarray(told->gone, set->retired_count, sizeof(*gone));
    if (!gone)
        return -ENOMEM;
    told->gone = gone;
    size_t at = 0;
    for (; told->gone_count < set->retired_count; told->gone_count++) {
        uint64_t id = set->retired[told->gone_count].count.id;
        struct weir_told_loss *entry = find_told(told, id, &at);
        gone[told->gone_count] = entry ? *entry : (struct weir_told_loss){.id = id};
        if (entry)
            *entry = (struct weir_told_loss){0};
    }
    return 0;
}

void weir_told_losses_tell_retired(const struct weir_event_set *set, struct weir_told_losses *told,
                                   struct weir_buf *lost)
{
    for (size_t i = 0; i < set->retired_count; i++) {
        const struct weir_event_retired *retired = &set->retired[i];
        uint64_t before = told ? told->gone[i].lost : 0;
        weir_ledger_append_lost(set, retired->event, retired->place, &retired->count, before, lost);
        if (told)
            told->gone[i].lost = retired->count.lost;
    }
}

int weir_told_losses_prepare(const struct weir_event_set *set, struct weir_told_losses *told, struct weir_buf *lost)
{
    int result = told ? weir_told_losses_make_room(set, told) : 0;
    if (result == 0 && told)
        result = note_gone(set, told);
    return result == 0 ? make_record_room(set, lost) : result;
}

int weir_ledger_tell_losses(const struct weir_event_set *set, struct weir_told_losses *told, struct weir_buf *lost)
{
    int result = weir_told_losses_prepare(set, told, lost);
    if (result < 0)
        return result;
    weir_told_losses_tell_retired(set, told, lost);
    struct weir_event_count count;
    for (unsigned event = 0; event < set->event_count; event++) {
        for (unsigned place = 0; place < set->place_count; place++) {
            for (unsigned task = 0; task < set->task_count; task++) {
                if (weir_event_set_read(set, event, place, task, &count) < 0)
                    continue;
                uint64_t before = weir_told_losses_exchange(told, weir_event_set_slot(set, event, place, task), &count);
                weir_ledger_append_lost(set, event, place, &count, before, lost);
            }
        }
    }
    return 0;
}

void weir_ledger_hold_back(struct weir_told_losses *told, uint64_t lost_reported, struct weir_buf *lost)
{
    size_t kept = 0, place = 0;
    for (size_t at = 0; at < lost->used;) {
        uint8_t *record = lost->data + at;
        struct perf_event_header header;
        memcpy(&header, record, sizeof(header));
        at += header.size;
        uint64_t count = weir_load_u64(record + sizeof(header));
        uint64_t room = lost_reported > told->sum ? lost_reported - told->sum : 0;
        uint64_t id = weir_load_u64(record + header.size - sizeof(id)); /* the last word of the trailer */
        struct weir_told_loss *entry = find_told(told, id, &place);
        uint64_t held = entry && count > room ? count - room : 0;
        if (held > 0)
            entry->lost -= held;
        count -= held;
        told->sum += count;
        memcpy(record + sizeof(header), &count, sizeof(count));
        if (count > 0) {
            memmove(lost->data + kept, record, header.size);
            kept += header.size;
        }
    }
    lost->used = kept;
}
