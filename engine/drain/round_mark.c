/* The writer decides which marks become round markers. Writer thread. The rules: round_mark.h. */
#include "engine/drain/round_mark.h"

#include <string.h>

#include "base/bits.h"
#include "engine/drain/rounds.h"
#include "format/perf_file.h"
#include "format/records.h"

#define ROUND_BYTES ((uint32_t)sizeof(struct perf_event_header))

void weir_round_marks_init(struct weir_round_marks *marks, struct weir_chunk_queue *queue,
                           const struct weir_round_marks_setup *setup)
{
    memset(marks, 0, sizeof(*marks));
    marks->queue = queue;
    if (setup)
        marks->setup = *setup;
}

/* Whether all readers but this one are idle. The reader that was busy at the last look is asked first. */
static bool are_others_idle(struct weir_round_marks *marks, uint32_t reader)
{
    for (unsigned n = 0; n < marks->setup.reader_count; n++) {
        unsigned i = (marks->busy + n) % marks->setup.reader_count;
        if (i + 1 == reader || weir_reader_is_idle(marks->setup.readers[i]))
            continue;
        marks->busy = i;
        return false;
    }
    return true;
}

/* Whether everything that other readers' rings hold by now stands before the chunk, which has left the queue. */
static bool is_clear(struct weir_round_marks *marks, const struct weir_chunk *chunk)
{
    /* Acquire: a ring that is mapped afterwards is mapped later than this look. */
    return !atomic_load_explicit(&marks->setup.control->mapping, memory_order_acquire) &&
           are_others_idle(marks, chunk->reader) &&
           weir_chunk_queue_is_of(marks->queue, chunk->reader, &marks->cleared_to);
}

/* The condition of began_ns: the reader began its drain after the bound of the last marker. */
static bool is_behind(const struct weir_round_marks *marks, const struct weir_round_mark *mark)
{
    return mark->began_ns >= marks->marker_ns + WEIR_ROUND_GRACE_NS;
}

/* The conditions of alone_ns and sample_ns. The last marker was of the same ring. Other readers handed their records
 * over before the mark's reader last drained all of its rings. */
static bool is_behind_own(const struct weir_round_marks *marks, const struct weir_chunk *chunk,
                          const struct weir_round_mark *mark)
{
    uint64_t others_ns = chunk->reader == marks->appended_reader ? marks->others_ns : marks->appended_ns;
    return marks->marker_reader == chunk->reader && marks->marker_sample_ns > 0 &&
           mark->sample_ns >= marks->marker_sample_ns + 2 * WEIR_ROUND_GRACE_NS &&
           mark->alone_ns >= others_ns + WEIR_ROUND_GRACE_NS;
}

/* Notes the hand-over of a chunk: its records were published before that. */
static void note_appended(struct weir_round_marks *marks, const struct weir_chunk *chunk)
{
    if (chunk->reader == marks->appended_reader) {
        marks->appended_ns = weir_max_u64(marks->appended_ns, chunk->handed_ns);
    } else if (chunk->handed_ns >= marks->appended_ns) {
        marks->others_ns = marks->appended_ns;
        marks->appended_ns = chunk->handed_ns;
        marks->appended_reader = chunk->reader;
    } else {
        marks->others_ns = weir_max_u64(marks->others_ns, chunk->handed_ns);
    }
}

/* A marker is a header alone, for readers that look for the next record there. */
static void make_marker(struct weir_chunk *chunk, const struct weir_round_mark *mark)
{
    memcpy(chunk->data + mark->at, &weir_finished_round, ROUND_BYTES);
    weir_record_fill_padding(chunk->data + mark->at + ROUND_BYTES, WEIR_RECORD_PADDING_LEAST);
    chunk->marks[chunk->marker_count++] = *mark; /* over that mark or an earlier one */
}

uint32_t weir_round_marks_decide(struct weir_round_marks *marks, struct weir_chunk *chunk)
{
    bool cleared = marks->cleared_to != NULL;
    if (cleared && chunk == marks->cleared_to)
        marks->cleared_to = NULL;
    uint32_t behind = 0;
    bool open = marks->setup.readers && !marks->closed;
    for (uint32_t i = 0; open && i < chunk->mark_count; i++) {
        const struct weir_round_mark mark = chunk->marks[i];
        bool drained = is_behind(marks, &mark);
        if (!drained && !is_behind_own(marks, chunk, &mark))
            continue;
        cleared = cleared || is_clear(marks, chunk);
        if (!cleared)
            break;
        make_marker(chunk, &mark);
        marks->made++;
        marks->made_within += !drained;
        marks->marker_ns = weir_max_u64(marks->appended_ns, mark.ended_ns);
        marks->marker_reader = chunk->reader;
        marks->marker_sample_ns = mark.sample_ns;
        behind = mark.at + WEIR_MARK_BYTES;
    }
    note_appended(marks, chunk);
    return behind;
}

void weir_round_marks_close(struct weir_round_marks *marks)
{
    marks->closed = true;
}

bool weir_round_marks_let_pass(struct weir_round_marks *marks, const struct weir_chunk *marker)
{
    marks->closed = false;
    bool in_order = marker->handed_ns == 0 || marks->marker_reader == 0 ||
                    marker->handed_ns >= marks->marker_ns + WEIR_ROUND_GRACE_NS;
    if (!in_order) {
        marks->turned_down++;
        return false;
    }
    marks->marker_ns = marks->appended_ns;
    marks->marker_reader = 0;
    return true;
}

uint32_t weir_round_marks_within(const struct weir_chunk *chunk, size_t bytes)
{
    uint32_t count = 0;
    while (count < chunk->marker_count && chunk->marks[count].at + ROUND_BYTES <= bytes)
        count++;
    return count;
}
