/* What the records that only user space writes say, in perf's words. One thread. */
#include <inttypes.h>
#include <string.h>

#include "base/bits.h"
#include "format/bytes.h"
#include "format/perf_file.h"
#include "format/record_text_internal.h"
#include "format/text_out.h"

#define BUILD_ID_BYTES  20u
#define BUILD_ID_SIZED  (1u << 15) /* PERF_RECORD_MISC_BUILD_ID_SIZE: a size byte follows the id */
#define ID_ENTRY_BYTES  32u
#define THREAD_BYTES    24u
#define STAT_PAIR_BYTES 16u
#define HEADER_BYTES    8u
#define WORD_BITS       64u
#define ANY_CPU         UINT16_MAX

/* The entries behind a u64 count at 8, as many as there are. */
static uint64_t count_of(const struct weir_text_record *record, unsigned entry_bytes)
{
    return weir_min_u64(weir_text_u64_at(record, 8), (record->bytes - 16) / entry_bytes);
}

size_t weir_build_id_record_bytes(const struct weir_text_record *record)
{
    return record->misc & BUILD_ID_SIZED ? weir_min_u64(record->data[32], BUILD_ID_BYTES) : BUILD_ID_BYTES;
}

static void append_build_id(const struct weir_text_record *record, struct weir_buf *out)
{
    weir_buf_printf(out, " pid: %d <", (int32_t)weir_text_u32_at(record, 8));
    weir_text_append_hex(out, record->data + 12, weir_build_id_record_bytes(record));
    weir_buf_printf(out, "> ");
    weir_text_append(out, record->data + 36, record->bytes - 36);
    weir_buf_append_u8(out, '\n');
}

static void append_id_index(const struct weir_text_record *record, struct weir_buf *out)
{
    uint64_t count = count_of(record, ID_ENTRY_BYTES);
    weir_buf_printf(out, " nr: %" PRIu64 "\n", count);
    for (uint64_t i = 0; i < count; i++) {
        size_t at = 16 + i * ID_ENTRY_BYTES;
        weir_buf_printf(out, " ... id: %" PRIu64 "  idx: %" PRIu64 "  cpu: %" PRId64 "  tid: %" PRId64 "\n",
                        weir_text_u64_at(record, at), weir_text_u64_at(record, at + 8),
                        (int64_t)weir_text_u64_at(record, at + 16), (int64_t)weir_text_u64_at(record, at + 24));
    }
}

static void append_thread_map(const struct weir_text_record *record, struct weir_buf *out)
{
    uint64_t count = count_of(record, THREAD_BYTES);
    weir_buf_printf(out, " nr: %" PRIu64 " thread%s: ", count, count > 1 ? "s" : "");
    for (uint64_t i = 0; i < count; i++)
        weir_buf_printf(out, "%s%d", i ? ", " : "", (int)weir_text_u64_at(record, 16 + i * THREAD_BYTES));
    weir_buf_append_u8(out, '\n');
}

/* ---- CPU_MAP: u16 type, then a list of u16, a mask of u32 or u64 words, or a range behind u8 for any CPU ---- */

enum cpu_map_type {
    MAP_LIST = 0,
    MAP_MASK = 1,
    MAP_RANGE = 2
};

struct cpu_list {
    struct weir_buf *out;
    bool is_open; /* first to last were not written yet */
    bool any;     /* something was */
    unsigned first, last;
};

static void close_range(struct cpu_list *list)
{
    if (!list->is_open)
        return;
    weir_buf_printf(list->out, list->first == list->last ? "%s%u" : "%s%u-%u", list->any ? "," : "", list->first,
                    list->last);
    list->any = true;
    list->is_open = false;
}

/* Of a task, on whichever CPU it runs. */
static void add_any_cpu(struct cpu_list *list)
{
    close_range(list);
    weir_buf_printf(list->out, list->any ? ",-1" : "-1");
    list->any = true;
}

static void add_cpu(struct cpu_list *list, unsigned cpu)
{
    if (list->is_open && cpu == list->last + 1) {
        list->last = cpu;
        return;
    }
    close_range(list);
    list->first = list->last = cpu;
    list->is_open = true;
}

static void add_mask(struct cpu_list *list, struct weir_cursor *cursor)
{
    const uint8_t *head = weir_cursor_take(cursor, 2 * sizeof(uint16_t));
    unsigned words = head ? weir_load_u16(head) : 0, word_bytes = head ? weir_load_u16(head + 2) : 0;
    if (word_bytes == sizeof(uint64_t))
        weir_cursor_take(cursor, sizeof(uint16_t)); /* padding up to 8 */
    for (unsigned word = 0; word < words && !cursor->failed; word++) {
        uint64_t bits = word_bytes == sizeof(uint64_t) ? weir_cursor_u64(cursor) : weir_cursor_u32(cursor);
        unsigned word_bits = word_bytes == sizeof(uint64_t) ? WORD_BITS : WORD_BITS / 2;
        for (unsigned bit = 0; bit < word_bits; bit++) {
            if (bits >> bit & 1)
                add_cpu(list, word * word_bits + bit);
        }
    }
}

void weir_cpu_map_append(const uint8_t *data, size_t bytes, struct weir_buf *out)
{
    struct cpu_list list = {.out = out};
    uint16_t type = weir_load_u16(data + HEADER_BYTES);
    struct weir_cursor cursor = {.data = data + HEADER_BYTES + 2, .bytes = bytes - HEADER_BYTES - 2};
    if (type == MAP_LIST) {
        const uint8_t *head = weir_cursor_take(&cursor, sizeof(uint16_t));
        unsigned count = head ? weir_load_u16(head) : 0;
        for (unsigned i = 0; i < count; i++) {
            const uint8_t *cpu = weir_cursor_take(&cursor, sizeof(uint16_t));
            if (cpu && weir_load_u16(cpu) == ANY_CPU)
                add_any_cpu(&list);
            else if (cpu)
                add_cpu(&list, weir_load_u16(cpu));
        }
    } else if (type == MAP_MASK) {
        add_mask(&list, &cursor);
    } else if (type == MAP_RANGE) {
        const uint8_t *range = weir_cursor_take(&cursor, 6);
        if (range && range[0])
            add_any_cpu(&list);
        list.is_open = range != NULL;
        list.first = range ? weir_load_u16(range + 2) : 0;
        list.last = range ? weir_load_u16(range + 4) : 0;
    }
    close_range(&list);
    if (!list.any)
        weir_buf_append_u8(out, '?');
}

/* ---- others ---- */

static void append_event_update(const struct weir_text_record *record, struct weir_buf *out)
{
    static const char *const words[] = {
        [WEIR_EVENT_UPDATE_UNIT] = "unit:  ",
        [WEIR_EVENT_UPDATE_SCALE] = "scale: ",
        [WEIR_EVENT_UPDATE_NAME] = "name:  ",
        [WEIR_EVENT_UPDATE_CPUS] = "cpus:  ",
    };
    uint64_t type = weir_text_u64_at(record, 8);
    size_t left = record->bytes - 24;
    weir_buf_printf(out, "\n... id:    %" PRIu64 "\n", weir_text_u64_at(record, 16));
    if (type >= WEIR_ARRAY_COUNT(words))
        return;
    weir_buf_printf(out, "... %s", words[type]);
    if (type == WEIR_EVENT_UPDATE_SCALE && left >= sizeof(double)) {
        double scale;
        memcpy(&scale, record->data + 24, sizeof(scale));
        weir_buf_printf(out, "%f", scale);
    } else if (type == WEIR_EVENT_UPDATE_UNIT || type == WEIR_EVENT_UPDATE_NAME) {
        weir_text_append(out, record->data + 24, left);
    } else if (type == WEIR_EVENT_UPDATE_CPUS && left >= 2) {
        weir_cpu_map_append(record->data + 24 - HEADER_BYTES, left + HEADER_BYTES, out);
    }
    weir_buf_append_u8(out, '\n');
}

static void append_auxtrace(const struct weir_text_record *record, struct weir_buf *out)
{
    weir_buf_printf(out, " size: %#" PRIx64 "  offset: %#" PRIx64 "  ref: %#" PRIx64 "  idx: %u  tid: %d  cpu: %d\n",
                    weir_text_u64_at(record, 8), weir_text_u64_at(record, 16), weir_text_u64_at(record, 24),
                    weir_text_u32_at(record, 32), (int32_t)weir_text_u32_at(record, 36),
                    (int32_t)weir_text_u32_at(record, 40));
}

enum stat_tag {
    STAT_AGGR_MODE = 0,
    STAT_INTERVAL = 1,
    STAT_SCALE = 2,
    STAT_TAGS = 3
};

#define STAT_ROUND_INTERVAL 0u /* PERF_STAT_ROUND_TYPE__INTERVAL; the other one is FINAL */

/* What perf knows comes in its order and is 0 where it is not told; newer perf tells more. */
static void append_stat_config(const struct weir_text_record *record, struct weir_buf *out)
{
    uint64_t known[STAT_TAGS] = {0}, count = count_of(record, STAT_PAIR_BYTES);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t tag = weir_text_u64_at(record, 16 + i * STAT_PAIR_BYTES);
        if (tag < STAT_TAGS)
            known[tag] = weir_text_u64_at(record, 24 + i * STAT_PAIR_BYTES);
    }
    weir_buf_printf(out, "\n... aggr_mode %d\n... scale     %d\n... interval  %u\n", (int)known[STAT_AGGR_MODE],
                    (int)known[STAT_SCALE], (unsigned)known[STAT_INTERVAL]);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t tag = weir_text_u64_at(record, 16 + i * STAT_PAIR_BYTES);
        if (tag >= STAT_TAGS)
            weir_buf_printf(out, "... tag %" PRIu64 "     %" PRIu64 "\n", tag,
                            weir_text_u64_at(record, 24 + i * STAT_PAIR_BYTES));
    }
}

static void append_time_conversion(const struct weir_text_record *record, struct weir_buf *out)
{
    weir_buf_printf(
        out, "\n... Time Shift      %" PRIu64 "\n... Time Multiplier %" PRIu64 "\n... Time Zero       %" PRIu64 "\n",
        weir_text_u64_at(record, 8), weir_text_u64_at(record, 16), weir_text_u64_at(record, 24));
    if (record->bytes >= WEIR_TIME_CONV_BYTES)
        weir_buf_printf(out,
                        "... Time Cycles     %" PRIu64 "\n... Time Mask       %#" PRIx64
                        "\n... Cap Time Zero   %u\n... Cap Time Short  %u\n",
                        weir_text_u64_at(record, 32), weir_text_u64_at(record, 40), record->data[48], record->data[49]);
}

void weir_user_record_append(const struct weir_text_record *record, struct weir_buf *out)
{
    switch (record->type) {
    case WEIR_RECORD_BUILD_ID:
        append_build_id(record, out);
        break;
    case WEIR_RECORD_ID_INDEX:
        append_id_index(record, out);
        break;
    case WEIR_RECORD_AUXTRACE_INFO:
        weir_auxtrace_info_text_append(record->data, record->bytes, out);
        break;
    case WEIR_RECORD_AUXTRACE:
        append_auxtrace(record, out);
        break;
    case WEIR_RECORD_AUXTRACE_ERROR:
        weir_auxtrace_error_text_append(record->data, record->bytes, out);
        break;
    case WEIR_RECORD_THREAD_MAP:
        append_thread_map(record, out);
        break;
    case WEIR_RECORD_CPU_MAP:
        weir_buf_printf(out, ": ");
        weir_cpu_map_append(record->data, record->bytes, out);
        weir_buf_append_u8(out, '\n');
        break;
    case WEIR_RECORD_STAT_CONFIG:
        append_stat_config(record, out);
        break;
    case WEIR_RECORD_STAT:
        weir_buf_printf(out,
                        "\n... id %" PRIu64 ", cpu %d, thread %d\n... value %" PRIu64 ", enabled %" PRIu64
                        ", running %" PRIu64 "\n",
                        weir_text_u64_at(record, 8), (int32_t)weir_text_u32_at(record, 16),
                        (int32_t)weir_text_u32_at(record, 20), weir_text_u64_at(record, 24),
                        weir_text_u64_at(record, 32), weir_text_u64_at(record, 40));
        break;
    case WEIR_RECORD_STAT_ROUND:
        weir_buf_printf(out, "\n... time %" PRIu64 ", type %s\n", weir_text_u64_at(record, 16),
                        weir_text_u64_at(record, 8) == STAT_ROUND_INTERVAL ? "INTERVAL" : "FINAL");
        break;
    case WEIR_RECORD_EVENT_UPDATE:
        append_event_update(record, out);
        break;
    case WEIR_RECORD_TIME_CONV:
        append_time_conversion(record, out);
        break;
    case WEIR_RECORD_FEATURE:
        weir_buf_printf(out, " feature %" PRIu64 "\n", weir_text_u64_at(record, 8));
        break;
    case WEIR_RECORD_FINISHED_INIT:
        weir_buf_printf(out, ": unhandled!\n"); /* perf's own words: it does nothing with it */
        break;
    default:
        weir_buf_append_u8(out, '\n');
        break;
    }
}
