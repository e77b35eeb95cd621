/* Computes layouts from attrs, and parses samples by them. Pure; any thread. */
#include "format/sample_layout.h"

#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "format/bytes.h"

#define WORD_BYTES   8u
#define HEADER_BYTES ((int)sizeof(struct perf_event_header))

void weir_sample_layout_init(struct weir_sample_layout *layout, const struct perf_event_attr *attr)
{
    *layout = (struct weir_sample_layout){
        .sample_type = attr->sample_type,
        .read_format = attr->read_format,
        .branch_sample_type = attr->branch_sample_type,
        .regs_user = attr->sample_regs_user,
        .regs_intr = attr->sample_regs_intr,
    };
    const struct {
        uint64_t bit;
        int *offset;
    } fixed[] =
        {
            {PERF_SAMPLE_IDENTIFIER, &layout->identifier},
            {PERF_SAMPLE_IP, &layout->ip},
            {PERF_SAMPLE_TID, &layout->tid},
            {PERF_SAMPLE_TIME, &layout->time},
            {PERF_SAMPLE_ADDR, &layout->addr},
            {PERF_SAMPLE_ID, &layout->id},
            {PERF_SAMPLE_STREAM_ID, &layout->stream_id},
            {PERF_SAMPLE_CPU, &layout->cpu},
            {PERF_SAMPLE_PERIOD, &layout->period},
        },
      trailer[] = {
          {PERF_SAMPLE_TID, &layout->trailer_tid}, {PERF_SAMPLE_TIME, &layout->trailer_time},
          {PERF_SAMPLE_ID, &layout->trailer_id},   {PERF_SAMPLE_STREAM_ID, &layout->trailer_stream_id},
          {PERF_SAMPLE_CPU, &layout->trailer_cpu}, {PERF_SAMPLE_IDENTIFIER, &layout->trailer_identifier},
      };

    int next = HEADER_BYTES;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(fixed); i++) {
        bool is_there = attr->sample_type & fixed[i].bit;
        *fixed[i].offset = is_there ? next : WEIR_LAYOUT_ABSENT;
        next += is_there ? (int)WORD_BYTES : 0;
    }
    layout->variable = (uint32_t)next;

    next = 0;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(trailer); i++) {
        bool is_there = attr->sample_id_all && (attr->sample_type & trailer[i].bit);
        *trailer[i].offset = is_there ? next : WEIR_LAYOUT_ABSENT;
        next += is_there ? (int)WORD_BYTES : 0;
    }
    layout->trailer_bytes = (uint32_t)next;
}

/* ---- fixed fields ---- */

static uint64_t load_at(const uint8_t *base, int offset)
{
    return offset == WEIR_LAYOUT_ABSENT ? 0 : weir_load_u64(base + offset);
}

static void load_tid(struct weir_sample_id *id, const uint8_t *base, int offset)
{
    uint64_t both = load_at(base, offset);
    id->pid = (uint32_t)both;
    id->tid = (uint32_t)(both >> 32);
}

bool weir_sample_id_parse(struct weir_sample_id *id, const struct weir_sample_layout *layout, const uint8_t *record,
                          size_t bytes)
{
    *id = (struct weir_sample_id){0};
    if (layout->trailer_bytes == 0 || bytes < HEADER_BYTES + layout->trailer_bytes)
        return false;
    const uint8_t *trailer = record + bytes - layout->trailer_bytes;
    load_tid(id, trailer, layout->trailer_tid);
    id->time = load_at(trailer, layout->trailer_time);
    id->stream_id = load_at(trailer, layout->trailer_stream_id);
    id->cpu = (uint32_t)load_at(trailer, layout->trailer_cpu);
    bool has_identifier = layout->trailer_identifier != WEIR_LAYOUT_ABSENT;
    id->id = load_at(trailer, has_identifier ? layout->trailer_identifier : layout->trailer_id);
    return true;
}

static void parse_fixed(struct weir_sample *sample, const struct weir_sample_layout *layout, const uint8_t *record)
{
    load_tid(&sample->id, record, layout->tid);
    sample->id.time = load_at(record, layout->time);
    sample->id.stream_id = load_at(record, layout->stream_id);
    sample->id.cpu = (uint32_t)load_at(record, layout->cpu);
    bool has_identifier = layout->identifier != WEIR_LAYOUT_ABSENT;
    sample->id.id = load_at(record, has_identifier ? layout->identifier : layout->id);
    sample->ip = load_at(record, layout->ip);
    sample->addr = load_at(record, layout->addr);
    sample->period = load_at(record, layout->period);
}

/* ---- fields of a size of their own ---- */

static struct weir_sample_array take_array(struct weir_cursor *cursor, uint64_t count, unsigned unit_bytes)
{
    if (count > cursor->bytes / unit_bytes)
        cursor->failed = true;
    const uint8_t *data = weir_cursor_take(cursor, cursor->failed ? 0 : count * unit_bytes);
    return (struct weir_sample_array){.data = data, .count = data ? count : 0};
}

unsigned weir_read_words(uint64_t read_format)
{
    return 1 + !!(read_format & PERF_FORMAT_ID) + !!(read_format & PERF_FORMAT_LOST);
}

static struct weir_sample_array take_read(struct weir_cursor *cursor, uint64_t read_format)
{
    uint64_t times =
        !!(read_format & PERF_FORMAT_TOTAL_TIME_ENABLED) + !!(read_format & PERF_FORMAT_TOTAL_TIME_RUNNING);
    uint64_t words = times + weir_read_words(read_format);
    if (read_format & PERF_FORMAT_GROUP) {
        uint64_t members = cursor->bytes >= WORD_BYTES ? weir_load_u64(cursor->data) : UINT64_MAX;
        words = members > cursor->bytes ? UINT64_MAX : 1 + times + members * weir_read_words(read_format);
    }
    return take_array(cursor, words, WORD_BYTES);
}

static void take_branches(struct weir_sample *sample, const struct weir_sample_layout *layout,
                          struct weir_cursor *cursor)
{
    uint64_t count = weir_cursor_u64(cursor);
    if (layout->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
        weir_cursor_u64(cursor); /* the hardware's index: no reader asks for it */
    sample->branches = take_array(cursor, count, WEIR_BRANCH_ENTRY_BYTES);
    if (layout->branch_sample_type & PERF_SAMPLE_BRANCH_COUNTERS)
        take_array(cursor, count, WORD_BYTES);
}

static struct weir_sample_array take_regs(struct weir_cursor *cursor, uint64_t *abi, uint64_t mask)
{
    *abi = weir_cursor_u64(cursor);
    if (*abi == PERF_SAMPLE_REGS_ABI_NONE)
        return (struct weir_sample_array){0};
    return take_array(cursor, (uint64_t)__builtin_popcountll(mask), WORD_BYTES);
}

static void take_user_stack(struct weir_sample *sample, struct weir_cursor *cursor, const uint8_t *record)
{
    sample->user_stack_offset = (uint64_t)(cursor->data - record);
    uint64_t room = weir_cursor_u64(cursor);
    if (room == 0 || cursor->failed)
        return;
    sample->user_stack = take_array(cursor, room, 1);
    uint64_t used = weir_cursor_u64(cursor);
    if (used > room)
        cursor->failed = true;
    else
        sample->user_stack.count = used;
}

/* One field behind the fixed ones; the cursor fails when it is not inside the record. */
static void take_field(struct weir_sample *sample, const struct weir_sample_layout *layout, uint64_t bit,
                       struct weir_cursor *cursor, const uint8_t *record)
{
    switch (bit) {
    case PERF_SAMPLE_READ:
        sample->read = take_read(cursor, layout->read_format);
        break;
    case PERF_SAMPLE_CALLCHAIN:
        sample->callchain = take_array(cursor, weir_cursor_u64(cursor), WORD_BYTES);
        break;
    case PERF_SAMPLE_RAW:
        sample->raw = take_array(cursor, weir_cursor_u32(cursor), 1);
        break;
    case PERF_SAMPLE_BRANCH_STACK:
        take_branches(sample, layout, cursor);
        break;
    case PERF_SAMPLE_REGS_USER:
        sample->user_regs = take_regs(cursor, &sample->user_abi, layout->regs_user);
        break;
    case PERF_SAMPLE_STACK_USER:
        take_user_stack(sample, cursor, record);
        break;
    case PERF_SAMPLE_WEIGHT:
    case PERF_SAMPLE_WEIGHT_STRUCT:
        sample->weight = weir_cursor_u64(cursor);
        break;
    case PERF_SAMPLE_DATA_SRC:
        sample->data_src = weir_cursor_u64(cursor);
        break;
    case PERF_SAMPLE_TRANSACTION:
        sample->transaction = weir_cursor_u64(cursor);
        break;
    case PERF_SAMPLE_REGS_INTR:
        sample->intr_regs = take_regs(cursor, &sample->intr_abi, layout->regs_intr);
        break;
    case PERF_SAMPLE_PHYS_ADDR:
        sample->phys_addr = weir_cursor_u64(cursor);
        break;
    case PERF_SAMPLE_CGROUP:
        sample->cgroup = weir_cursor_u64(cursor);
        break;
    case PERF_SAMPLE_DATA_PAGE_SIZE:
        sample->data_page_size = weir_cursor_u64(cursor);
        break;
    case PERF_SAMPLE_CODE_PAGE_SIZE:
        sample->code_page_size = weir_cursor_u64(cursor);
        break;
    case PERF_SAMPLE_AUX:
        sample->aux = take_array(cursor, weir_cursor_u64(cursor), 1);
        break;
    default:
        break;
    }
}

/* In the order in which the kernel writes them. */
static const uint64_t order[] = {
    PERF_SAMPLE_READ,         PERF_SAMPLE_CALLCHAIN,      PERF_SAMPLE_RAW,
    PERF_SAMPLE_BRANCH_STACK, PERF_SAMPLE_REGS_USER,      PERF_SAMPLE_STACK_USER,
    PERF_SAMPLE_WEIGHT,       PERF_SAMPLE_WEIGHT_STRUCT,  PERF_SAMPLE_DATA_SRC,
    PERF_SAMPLE_TRANSACTION,  PERF_SAMPLE_REGS_INTR,      PERF_SAMPLE_PHYS_ADDR,
    PERF_SAMPLE_CGROUP,       PERF_SAMPLE_DATA_PAGE_SIZE, PERF_SAMPLE_CODE_PAGE_SIZE,
    PERF_SAMPLE_AUX,
};

uint64_t weir_sample_varying(size_t n)
{
    return n < WEIR_ARRAY_COUNT(order) ? order[n] : 0;
}

int weir_sample_parse(struct weir_sample *sample, const struct weir_sample_layout *layout, const uint8_t *record,
                      size_t bytes, size_t *bad_offset)
{
    *sample = (struct weir_sample){.fields = layout->sample_type};
    if (bytes < layout->variable) {
        *bad_offset = HEADER_BYTES;
        return -EBADMSG;
    }
    parse_fixed(sample, layout, record);
    struct weir_cursor cursor = {.data = record + layout->variable, .bytes = bytes - layout->variable};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(order); i++) {
        if (!(layout->sample_type & order[i]))
            continue;
        *bad_offset = (size_t)(cursor.data - record);
        take_field(sample, layout, order[i], &cursor, record);
        if (cursor.failed)
            return -EBADMSG;
    }
    return 0;
}
