/*
 * The text of AUXTRACE_INFO and AUXTRACE_ERROR, as perf prints it. One thread.
 *
 * Source: intel_pt_info_fmts[], intel_bts_info_fmts[] and arm_spe_info_fmts[], cs_etm__print_auxtrace_info() and
 * perf_event__fprintf_auxtrace_error() in tools/perf/util of Linux 6.1; with "Multiplier" as in 6.8.
 */
#include "format/auxtrace_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/bits.h"
#include "format/aux_records.h"
#include "format/bytes.h"
#include "format/text_out.h"

#define INFO_BYTES   16u  /* of AUXTRACE_INFO before its words */
#define ERROR_BYTES  48u  /* of AUXTRACE_ERROR before its message */
#define ERROR_FORMAT 28u  /* u32: 0 where the message begins with the place of the time */
#define GUEST_AT     112u /* i32 process of the guest, i32 CPU: from format 2 on */
#define NS_PER_S     UINT64_C(1000000000)

/* ---- words ---- */

struct word { /* what a word of AUXTRACE_INFO is; the lines of perf differ in their columns */
    const char *label;
    char kind; /* 'd': signed, 'u': unsigned, 'x': 0x1f, 'h': 1f */
};

static void append_word(struct weir_buf *out, const struct word *word, uint64_t value)
{
    weir_buf_printf(out, "%s", word->label);
    switch (word->kind) {
    case 'd':
        weir_buf_printf(out, "%" PRId64 "\n", (int64_t)value);
        break;
    case 'u':
        weir_buf_printf(out, "%" PRIu64 "\n", value);
        break;
    case 'x':
        weir_buf_printf(out, "%#" PRIx64 "\n", value);
        break;
    default:
        weir_buf_printf(out, "%" PRIx64 "\n", value);
        break;
    }
}

static void append_words(struct weir_buf *out, struct weir_cursor *cursor, const struct word *words, size_t count)
{
    for (size_t i = 0; i < count && cursor->bytes >= sizeof(uint64_t); i++)
        append_word(out, &words[i], weir_cursor_u64(cursor));
}

/* Of a type that is not known. */
static void append_rest(struct weir_buf *out, struct weir_cursor *cursor)
{
    while (cursor->bytes >= sizeof(uint64_t))
        weir_buf_printf(out, "  %#" PRIx64 "\n", weir_cursor_u64(cursor));
}

/* ---- types ---- */

static void append_intel_pt(struct weir_buf *out, struct weir_cursor *cursor)
{
    static const struct word words[] = {
        {"  PMU Type            ", 'd'}, {"  Time Shift          ", 'u'}, {"  Time Multiplier     ", 'u'},
        {"  Time Zero           ", 'u'}, {"  Cap Time Zero       ", 'd'}, {"  TSC bit             ", 'x'},
        {"  NoRETComp bit       ", 'x'}, {"  Have sched_switch   ", 'd'}, {"  Snapshot mode       ", 'd'},
        {"  Per-cpu maps        ", 'd'}, {"  MTC bit             ", 'x'}, {"  MTC freq bits       ", 'x'},
        {"  TSC:CTC numerator   ", 'u'}, {"  TSC:CTC denominator ", 'u'}, {"  CYC bit             ", 'x'},
        {"  Max non-turbo ratio ", 'u'},
    };
    static const struct word filter_bytes = {"  Filter string len.  ", 'u'};
    static const struct word event_trace = {"  Cap Event Trace     ", 'd'};
    append_words(out, cursor, words, WEIR_ARRAY_COUNT(words));
    if (cursor->bytes < sizeof(uint64_t))
        return;
    uint64_t bytes = weir_cursor_u64(cursor);
    append_word(out, &filter_bytes, bytes);
    const char *filter = NULL;
    if (bytes > 0 && bytes < cursor->bytes)
        filter = (const char *)weir_cursor_take(cursor, weir_align_up(bytes + 1, sizeof(uint64_t)));
    weir_buf_printf(out, "  %-20s", "Filter string");
    if (filter)
        weir_text_append(out, filter, bytes);
    weir_buf_append_u8(out, '\n');
    append_words(out, cursor, &event_trace, 1);
}

static void append_intel_bts(struct weir_buf *out, struct weir_cursor *cursor)
{
    static const struct word words[] = {
        {"  PMU Type           ", 'd'}, {"  Time Shift         ", 'u'}, {"  Time Multiplier    ", 'u'},
        {"  Time Zero          ", 'u'}, {"  Cap Time Zero      ", 'd'}, {"  Snapshot mode      ", 'd'},
    };
    append_words(out, cursor, words, WEIR_ARRAY_COUNT(words));
}

static void append_arm_spe(struct weir_buf *out, struct weir_cursor *cursor)
{
    static const struct word words[] = {{"  PMU Type           ", 'd'}};
    append_words(out, cursor, words, WEIR_ARRAY_COUNT(words));
}

/* Of one CPU: magic, number, how many parameters, these. Returns whether another one may follow. */
static bool append_etm_cpu(struct weir_buf *out, struct weir_cursor *cursor)
{
    static const struct word common[] = {
        {"\tMagic number\t\t       ", 'h'}, {"\tCPU\t\t\t       ", 'd'}, {"\tNR_TRC_PARAMS\t\t       ", 'h'}};
    static const struct word etmv3[] = {{"\tETMCR\t\t\t       ", 'h'},
                                        {"\tETMTRACEIDR\t\t       ", 'h'},
                                        {"\tETMCCER\t\t\t       ", 'h'},
                                        {"\tETMIDR\t\t\t       ", 'h'}};
    static const struct word etmv4[] = {
        {"\tTRCCONFIGR\t\t       ", 'h'},    {"\tTRCTRACEIDR\t\t       ", 'h'},
        {"\tTRCIDR0\t\t\t       ", 'h'},     {"\tTRCIDR1\t\t\t       ", 'h'},
        {"\tTRCIDR2\t\t\t       ", 'h'},     {"\tTRCIDR8\t\t\t       ", 'h'},
        {"\tTRCAUTHSTATUS\t\t       ", 'h'}, {"\tTRCDEVARCH                     ", 'h'}, /* of ETE */
    };
    static const struct {
        uint64_t magic;
        const struct word *words;
        size_t count;
    } kinds[] = {
        {0x3030303030303030, etmv3, WEIR_ARRAY_COUNT(etmv3)},
        {0x4040404040404040, etmv4, WEIR_ARRAY_COUNT(etmv4) - 1},
        {0x5050505050505050, etmv4, WEIR_ARRAY_COUNT(etmv4)},
    };
    if (cursor->bytes < WEIR_ARRAY_COUNT(common) * sizeof(uint64_t))
        return false;
    uint64_t magic = weir_load_u64(cursor->data), count = weir_load_u64(cursor->data + 2 * sizeof(uint64_t));
    size_t kind = 0;
    while (kind < WEIR_ARRAY_COUNT(kinds) && kinds[kind].magic != magic)
        kind++;
    if (kind == WEIR_ARRAY_COUNT(kinds)) {
        weir_buf_printf(out, "\tMagic number Unknown\t       %" PRIx64 "\n", magic);
        return false;
    }
    append_words(out, cursor, common, WEIR_ARRAY_COUNT(common));
    append_words(out, cursor, kinds[kind].words, (size_t)weir_min_u64(count, kinds[kind].count));
    for (uint64_t i = kinds[kind].count; i < count && cursor->bytes >= sizeof(uint64_t); i++)
        weir_buf_printf(out, "\tUnknown parameter [%" PRIu64 "]\t       %" PRIx64 "\n", i + WEIR_ARRAY_COUNT(common),
                        weir_cursor_u64(cursor));
    return true;
}

static void append_cs_etm(struct weir_buf *out, struct weir_cursor *cursor)
{
    static const struct word words[] = {
        {"\tHeader version\t\t       ", 'h'}, {"\tPMU type/num cpus\t       ", 'h'}, {"\tSnapshot\t\t       ", 'h'}};
    uint32_t cpus = cursor->bytes >= WEIR_ARRAY_COUNT(words) * sizeof(uint64_t)
                        ? weir_load_u32(cursor->data + sizeof(uint64_t))
                        : 0;
    append_words(out, cursor, words, WEIR_ARRAY_COUNT(words));
    for (uint32_t cpu = 0; cpu < cpus && append_etm_cpu(out, cursor);)
        cpu++;
}

void weir_auxtrace_info_text_append(const uint8_t *data, size_t bytes, struct weir_buf *out)
{
    uint32_t type = weir_load_u32(data + sizeof(struct perf_event_header));
    struct weir_cursor cursor = {.data = data + INFO_BYTES, .bytes = bytes - INFO_BYTES};
    weir_buf_printf(out, " type: %" PRIu32 "\n", type);
    switch (type) {
    case WEIR_AUX_INTEL_PT:
        append_intel_pt(out, &cursor);
        break;
    case WEIR_AUX_INTEL_BTS:
        append_intel_bts(out, &cursor);
        break;
    case WEIR_AUX_CS_ETM:
        append_cs_etm(out, &cursor);
        break;
    case WEIR_AUX_ARM_SPE:
        append_arm_spe(out, &cursor);
        break;
    default:
        append_rest(out, &cursor);
        break;
    }
}

void weir_auxtrace_info_json_append(const uint8_t *data, size_t bytes, struct weir_buf *out)
{
    weir_buf_printf(out, ",\"words\":[");
    for (size_t at = INFO_BYTES; at + sizeof(uint64_t) <= bytes; at += sizeof(uint64_t))
        weir_buf_printf(out, "%s%" PRIu64, at > INFO_BYTES ? "," : "", weir_load_u64(data + at));
    weir_buf_append_u8(out, ']');
}

/* ---- errors ---- */

void weir_auxtrace_error_text_append(const uint8_t *data, size_t bytes, struct weir_buf *out)
{
    uint32_t type = weir_load_u32(data + 8);
    uint32_t format = weir_load_u32(data + ERROR_FORMAT);
    bool has_time = format != 0;
    uint64_t time_ns = has_time ? weir_load_u64(data + 40) : 0;
    size_t message = has_time ? ERROR_BYTES : ERROR_BYTES - sizeof(uint64_t);
    weir_buf_printf(out, " %s error type %" PRIu32 " time ", type == 1 ? "instruction trace" : "unknown AUX", type);
    if (time_ns > 0)
        weir_buf_printf(out, "%" PRIu64 ".%09" PRIu64, time_ns / NS_PER_S, time_ns % NS_PER_S);
    else
        weir_buf_printf(out, "0");
    if (format >= 2 && bytes >= GUEST_AT + sizeof(uint64_t) && weir_load_u32(data + GUEST_AT) != 0)
        weir_buf_printf(out, " machine_pid %d vcpu %d", (int32_t)weir_load_u32(data + GUEST_AT),
                        (int32_t)weir_load_u32(data + GUEST_AT + sizeof(uint32_t)));
    weir_buf_printf(out, " cpu %d pid %d tid %d ip %#" PRIx64 " code %" PRIu32 ": ", (int32_t)weir_load_u32(data + 16),
                    (int32_t)weir_load_u32(data + 20), (int32_t)weir_load_u32(data + 24), weir_load_u64(data + 32),
                    weir_load_u32(data + 12));
    weir_text_append(out, data + message, bytes - message);
    weir_buf_append_u8(out, '\n');
}
