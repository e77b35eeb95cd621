/* The text of the records that only user space writes, as perf prints it. One thread. */
#include "format/user_record_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/bits.h"
#include "format/auxtrace_text.h"
#include "format/bytes.h"
#include "format/cpu_map_text.h"
#include "format/perf_file.h"
#include "format/schedstat_text.h"
#include "format/text_out.h"

#define BUILD_ID_BYTES  20u
#define BUILD_ID_SIZED  (1u << 15) /* PERF_RECORD_MISC_BUILD_ID_SIZE: a size byte follows the id */
#define ID_ENTRY_BYTES  32u
#define THREAD_BYTES    24u
#define STAT_PAIR_BYTES 16u
#define HEADER_BYTES    8u

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
        weir_cpu_map_append(record->data + 24, left, out);
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

#define METADATA_KEY_BYTES   64u
#define METADATA_ENTRY_BYTES 320u
#define METADATA_ENTRIES_AT  528u
#define PROGRAM_NAME_BYTES   512u /* KSYM_NAME_LEN */

/* perf_event__fprintf_bpf_metadata() */
static void append_metadata(const struct weir_text_record *record, struct weir_buf *out)
{
    uint64_t count = weir_min_u64(weir_text_u64_at(record, PROGRAM_NAME_BYTES + HEADER_BYTES),
                                  (record->bytes - METADATA_ENTRIES_AT) / METADATA_ENTRY_BYTES);
    weir_buf_printf(out, " prog ");
    weir_text_append(out, record->data + HEADER_BYTES, PROGRAM_NAME_BYTES);
    weir_buf_append_u8(out, '\n');
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *entry = record->data + METADATA_ENTRIES_AT + i * METADATA_ENTRY_BYTES;
        weir_buf_printf(out, "  entry %" PRIu64 ": ", i);
        weir_text_append(out, entry, METADATA_KEY_BYTES);
        weir_buf_printf(out, " = ");
        weir_text_append(out, entry + METADATA_KEY_BYTES, METADATA_ENTRY_BYTES - METADATA_KEY_BYTES);
        weir_buf_append_u8(out, '\n');
    }
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
        weir_cpu_map_append(record->data + HEADER_BYTES, record->bytes - HEADER_BYTES, out);
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
    case WEIR_RECORD_BPF_METADATA:
        append_metadata(record, out);
        break;
    case WEIR_RECORD_SCHEDSTAT_CPU:
    case WEIR_RECORD_SCHEDSTAT_DOMAIN:
        weir_schedstat_text_append(record, out);
        break;
    case WEIR_RECORD_FINISHED_INIT:
        weir_buf_printf(out, ": unhandled!\n"); /* perf's own words: it does nothing with it */
        break;
    default:
        weir_buf_append_u8(out, '\n');
        break;
    }
}
