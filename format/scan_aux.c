/* Counts and checks the AUX areas of a recording. One thread. */
#include "format/scan_aux.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "format/bytes.h"
#include "format/perf_input.h"

#define INFO_BYTES      16u /* of AUXTRACE_INFO before its words */
#define AUX_BYTES       32u /* of AUX before its trailer */
#define INDEX_ENTRIES   ((WEIR_FEATURE_MAX_BYTES - sizeof(uint64_t)) / sizeof(struct weir_aux_index_entry))
#define FIRST_ROOM      64u
#define BTS_ENTRY_BYTES 24u

/* ---- tables that grow ---- */

/* Makes room for `wanted` items, of at most `limit`; what is new is zero. 0 or -ENOMEM. */
static int reach(void **items, size_t item_bytes, size_t *room, size_t wanted, size_t limit)
{
    if (wanted <= *room)
        return 0;
    size_t grown_room = (size_t)weir_min_u64(weir_max_u64(wanted, weir_max_u64(2 * *room, FIRST_ROOM)), limit);
    void *grown = reallocarray(*items, grown_room, item_bytes);
    if (!grown)
        return -ENOMEM;
    memset((uint8_t *)grown + *room * item_bytes, 0, (grown_room - *room) * item_bytes);
    *items = grown;
    *room = grown_room;
    return 0;
}

/* ---- records ---- */

/* Which word of AUXTRACE_INFO says that areas are overwritten, by type; tools/perf/util/intel-pt.h, intel-bts.h and
 * cs-etm.h of Linux 6.1. arm_spe has none. */
static void note_info(struct weir_scan_aux *aux, const struct weir_record_view *record)
{
    static const struct {
        bool has;
        unsigned word;
    } snapshot_words[] = {
        [WEIR_AUX_INTEL_PT] = {true, 8},
        [WEIR_AUX_INTEL_BTS] = {true, 5},
        [WEIR_AUX_CS_ETM] = {true, 2},
    };
    if (record->bytes < INFO_BYTES)
        return;
    aux->has_info = true;
    aux->type = weir_load_u32(record->data + sizeof(struct perf_event_header));
    if (aux->type >= WEIR_ARRAY_COUNT(snapshot_words) || !snapshot_words[aux->type].has)
        return;
    size_t at = INFO_BYTES + snapshot_words[aux->type].word * sizeof(uint64_t);
    if (at + sizeof(uint64_t) <= record->bytes)
        aux->is_snapshot |= weir_load_u64(record->data + at) != 0;
}

static void note_told(struct weir_scan_aux *aux, const struct weir_record_view *record)
{
    if (record->bytes < AUX_BYTES)
        return;
    uint64_t flags = weir_load_u64(record->data + 24);
    aux->told++;
    aux->told_bytes += weir_load_u64(record->data + 16);
    aux->truncated += !!(flags & PERF_AUX_FLAG_TRUNCATED);
    aux->partial += !!(flags & PERF_AUX_FLAG_PARTIAL);
    aux->collisions += !!(flags & PERF_AUX_FLAG_COLLISION);
    aux->is_snapshot |= !!(flags & PERF_AUX_FLAG_OVERWRITE);
}

static int note_area(struct weir_scan_aux *aux, const struct weir_auxtrace *stretch, uint64_t record_offset)
{
    if (stretch->index >= WEIR_SCAN_AREAS) {
        weir_scan_problem_note(&aux->far, record_offset);
        return 0;
    }
    int result = reach((void **)&aux->areas, sizeof(*aux->areas), &aux->area_room, stretch->index + 1, WEIR_SCAN_AREAS);
    if (result < 0)
        return result;
    struct weir_scan_area *area = &aux->areas[stretch->index];
    if (area->stretches++ == 0) {
        aux->area_count++;
        area->task = stretch->task;
        area->cpu = stretch->cpu;
    } else if (stretch->offset == 0 && area->end >= WEIR_AUXTRACE_ALIGN) {
        weir_scan_problem_note(&aux->restart, record_offset);
    } else if (stretch->offset > area->end) {
        uint64_t gap = stretch->offset - area->end;
        area->gap_bytes += aux->type == WEIR_AUX_INTEL_BTS && gap < BTS_ENTRY_BYTES ? 0 : gap;
    } else if (area->end - stretch->offset >= WEIR_AUXTRACE_ALIGN) { /* less is padding */
        weir_scan_problem_note(&aux->backward, record_offset);
    }
    if (area->task != stretch->task || area->cpu != stretch->cpu)
        weir_scan_problem_note(&aux->stranger, record_offset);
    area->end = stretch->offset + stretch->bytes; /* of a hostile one: wraps, and what follows is a gap or runs back */
    return 0;
}

static int note_index(struct weir_scan_aux *aux, const struct weir_record_view *record)
{
    if (aux->index_count == INDEX_ENTRIES) {
        aux->is_index_full = true;
        return 0;
    }
    int result =
        reach((void **)&aux->index, sizeof(*aux->index), &aux->index_room, aux->index_count + 1, INDEX_ENTRIES);
    if (result == 0)
        aux->index[aux->index_count++] = (struct weir_aux_index_entry){record->offset, record->bytes};
    return result;
}

static int note_stretch(struct weir_scan_aux *aux, const struct weir_record_view *record, bool in_main_file)
{
    if (record->is_expanded) {
        weir_scan_problem_note(&aux->packed, record->offset);
        return 0;
    }
    if (record->bytes < WEIR_AUXTRACE_RECORD_BYTES)
        return 0; /* nothing that reads records returns such a one */
    const struct weir_auxtrace stretch = weir_auxtrace_read(record->data);
    aux->stretches++;
    aux->bytes += stretch.bytes;
    if (stretch.bytes % WEIR_AUXTRACE_ALIGN != 0)
        weir_scan_problem_note(&aux->odd, record->offset);
    int result = note_area(aux, &stretch, record->offset);
    return result == 0 && in_main_file ? note_index(aux, record) : result;
}

int weir_scan_aux_note(struct weir_scan_aux *aux, const struct weir_record_view *record, bool in_main_file)
{
    switch (record->type) {
    case WEIR_RECORD_AUXTRACE_INFO:
        note_info(aux, record);
        return 0;
    case PERF_RECORD_AUX:
        note_told(aux, record);
        return 0;
    case WEIR_RECORD_AUXTRACE:
        return note_stretch(aux, record, in_main_file);
    default:
        return 0;
    }
}

void weir_scan_aux_fini(struct weir_scan_aux *aux)
{
    free(aux->areas);
    free(aux->index);
    aux->areas = NULL;
    aux->index = NULL;
    aux->area_room = aux->index_room = aux->index_count = 0;
}

bool weir_scan_has_aux(const struct weir_scan_aux *aux)
{
    return aux->has_info || aux->told + aux->stretches + aux->packed.count + aux->samples > 0;
}

/* ---- the index ---- */

bool weir_scan_aux_match_index(const struct weir_scan_aux *aux, const struct weir_buf *payload, char *what,
                               size_t what_bytes)
{
    char nowhere[1];
    if (!what) {
        what = nowhere;
        what_bytes = sizeof(nowhere);
    }
    struct weir_cursor cursor = {.data = payload->data, .bytes = payload->used};
    uint64_t count = weir_cursor_u64(&cursor);
    if (cursor.failed || cursor.bytes % sizeof(struct weir_aux_index_entry) != 0 ||
        count != cursor.bytes / sizeof(struct weir_aux_index_entry)) {
        snprintf(what, what_bytes, "AUXTRACE says that it has %" PRIu64 " entries, and has %zu bytes", count,
                 payload->used);
        return false;
    }
    for (uint64_t i = 0; i < count || i < aux->index_count; i++) {
        uint64_t offset = i < count ? weir_cursor_u64(&cursor) : UINT64_MAX;
        uint64_t bytes = i < count ? weir_cursor_u64(&cursor) : 0;
        if (i < aux->index_count && offset > aux->index[i].file_offset) {
            snprintf(what, what_bytes, "AUXTRACE has no entry for the record at %#" PRIx64 " in its place",
                     aux->index[i].file_offset);
            return false;
        }
        if (i >= aux->index_count || offset < aux->index[i].file_offset) {
            snprintf(what, what_bytes, "entry %" PRIu64 " of AUXTRACE says %#" PRIx64 ", where no AUXTRACE record is",
                     i, offset);
            return false;
        }
        if (bytes != aux->index[i].bytes) {
            snprintf(what, what_bytes,
                     "entry %" PRIu64 " of AUXTRACE says that the record at %#" PRIx64 " has %" PRIu64 " bytes", i,
                     offset, bytes);
            return false;
        }
    }
    return true;
}
