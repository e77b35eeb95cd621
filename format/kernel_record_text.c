/* The text of the kernel's records, as perf prints it. One thread. */
#include "format/kernel_record_text.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bits.h"
#include "format/bytes.h"
#include "format/perf_file.h"
#include "format/text_out.h"

#define BUILD_ID_BYTES      20u
#define NAMESPACE_BYTES     16u
#define NAMESPACES_PER_LINE 4u
#define POKE_LINE_BYTES     16u

static void append_tail(const struct weir_text_record *record, size_t offset, struct weir_buf *out)
{
    weir_text_append(out, record->data + offset, record->body_bytes - offset);
    weir_buf_append_u8(out, '\n');
}

static void append_mmap(const struct weir_text_record *record, struct weir_buf *out)
{
    weir_buf_printf(out, " %d/%d: [%#" PRIx64 "(%#" PRIx64 ") @ %#" PRIx64 "]: %c ", weir_text_s32_at(record, 8),
                    weir_text_s32_at(record, 12), weir_text_u64_at(record, 16), weir_text_u64_at(record, 24),
                    weir_text_u64_at(record, 32), record->misc & PERF_RECORD_MISC_MMAP_DATA ? 'r' : 'x');
    append_tail(record, 40, out);
}

static void append_mmap2(const struct weir_text_record *record, struct weir_buf *out)
{
    uint32_t protection = weir_text_u32_at(record, 64);
    weir_buf_printf(out, " %d/%d: [%#" PRIx64 "(%#" PRIx64 ") @ %#" PRIx64 " ", weir_text_s32_at(record, 8),
                    weir_text_s32_at(record, 12), weir_text_u64_at(record, 16), weir_text_u64_at(record, 24),
                    weir_text_u64_at(record, 32));
    if (record->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
        weir_buf_append_u8(out, '<');
        weir_text_append_hex(out, record->data + 44, weir_min_u64(record->data[40], BUILD_ID_BYTES));
        weir_buf_append_u8(out, '>');
    } else {
        weir_buf_printf(out, "%02x:%02x %" PRIu64 " %" PRIu64, weir_text_u32_at(record, 40),
                        weir_text_u32_at(record, 44), weir_text_u64_at(record, 48), weir_text_u64_at(record, 56));
    }
    weir_buf_printf(out, "]: %c%c%c%c ", protection & PROT_READ ? 'r' : '-', protection & PROT_WRITE ? 'w' : '-',
                    protection & PROT_EXEC ? 'x' : '-', weir_text_u32_at(record, 68) & MAP_SHARED ? 's' : 'p');
    append_tail(record, 72, out);
}

static void append_comm(const struct weir_text_record *record, struct weir_buf *out)
{
    weir_buf_printf(out, "%s: ", record->misc & PERF_RECORD_MISC_COMM_EXEC ? " exec" : "");
    weir_text_append(out, record->data + 16, record->body_bytes - 16);
    weir_buf_printf(out, ":%d/%d\n", weir_text_s32_at(record, 8), weir_text_s32_at(record, 12));
}

/* perf prints read_event's fixed places; here they follow read_format, as the kernel writes them. */
static void append_read(const struct weir_text_record *record, struct weir_buf *out)
{
    uint64_t format = record->event ? record->event->attr.read_format : 0;
    struct weir_cursor cursor = {.data = record->data + 24, .bytes = record->body_bytes - 24};
    weir_buf_printf(out, ": %d %d ", weir_text_s32_at(record, 8), weir_text_s32_at(record, 12));
    const char *name = record->event ? record->event->name : "unknown";
    weir_text_append(out, name, strlen(name));
    weir_buf_printf(out, " %" PRIu64 "\n", weir_text_u64_at(record, 16));
    if (format & PERF_FORMAT_GROUP)
        return;
    if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
        weir_buf_printf(out, "... time enabled : %" PRIu64 "\n", weir_cursor_u64(&cursor));
    if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
        weir_buf_printf(out, "... time running : %" PRIu64 "\n", weir_cursor_u64(&cursor));
    if (format & PERF_FORMAT_ID)
        weir_buf_printf(out, "... id           : %" PRIu64 "\n", weir_cursor_u64(&cursor));
    if (format & PERF_FORMAT_LOST)
        weir_buf_printf(out, "... lost         : %" PRIu64 "\n", weir_cursor_u64(&cursor));
}

static void append_switch(const struct weir_text_record *record, struct weir_buf *out)
{
    bool is_out = record->misc & PERF_RECORD_MISC_SWITCH_OUT;
    const char *direction = !is_out                                              ? "IN         "
                            : record->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ? "OUT preempt"
                                                                                 : "OUT        ";
    weir_buf_printf(out, " %s", direction);
    if (record->type == PERF_RECORD_SWITCH_CPU_WIDE)
        weir_buf_printf(out, "  %s pid/tid: %5d/%-5d", is_out ? "next" : "prev", weir_text_s32_at(record, 8),
                        weir_text_s32_at(record, 12));
    weir_buf_append_u8(out, '\n');
}

const char *weir_namespace_name(uint64_t n)
{
    static const char *const names[] = {"net", "uts", "ipc", "pid", "user", "mnt", "cgroup"};
    return n < WEIR_ARRAY_COUNT(names) ? names[n] : "unknown";
}

static void append_namespaces(const struct weir_text_record *record, struct weir_buf *out)
{
    uint64_t count = weir_min_u64(weir_text_u64_at(record, 16), (record->body_bytes - 24) / NAMESPACE_BYTES);
    weir_buf_printf(out, " %d/%d - nr_namespaces: %" PRIu64 "\n\t\t[", weir_text_s32_at(record, 8),
                    weir_text_s32_at(record, 12), count);
    for (uint64_t i = 0; i < count; i++) {
        if (i && i % NAMESPACES_PER_LINE == 0)
            weir_buf_printf(out, "\n\t\t ");
        weir_buf_printf(out, "%" PRIu64 "/%s: %" PRIu64 "/%#" PRIx64 "%s", i, weir_namespace_name(i),
                        weir_text_u64_at(record, 24 + i * NAMESPACE_BYTES),
                        weir_text_u64_at(record, 32 + i * NAMESPACE_BYTES), i + 1 < count ? ", " : "");
    }
    weir_buf_printf(out, "]\n");
}

static void append_poke_bytes(const char *which, const uint8_t *data, size_t bytes, struct weir_buf *out)
{
    for (size_t i = 0; i < bytes; i++) {
        if (i % POKE_LINE_BYTES == 0)
            weir_buf_printf(out, "            %s bytes:", which);
        weir_buf_printf(out, " %02x%s", data[i], i + 1 == bytes || (i + 1) % POKE_LINE_BYTES == 0 ? "\n" : "");
    }
}

static void append_text_poke(const struct weir_text_record *record, struct weir_buf *out)
{
    uint16_t old_bytes = weir_load_u16(record->data + 16), new_bytes = weir_load_u16(record->data + 18);
    struct weir_cursor cursor = {.data = record->data + 20, .bytes = record->body_bytes - 20};
    weir_buf_printf(out, " %" PRIx64 "  old len %u new len %u\n", weir_text_u64_at(record, 8), old_bytes, new_bytes);
    const uint8_t *data = weir_cursor_take(&cursor, (uint64_t)old_bytes + new_bytes);
    if (!data)
        return;
    append_poke_bytes("Old", data, old_bytes, out);
    append_poke_bytes("New", data + old_bytes, new_bytes, out);
}

static void append_aux(const struct weir_text_record *record, struct weir_buf *out)
{
    uint64_t flags = weir_text_u64_at(record, 24);
    weir_buf_printf(out, " offset: %#" PRIx64 " size: %#" PRIx64 " flags: %#" PRIx64 " [%s%s%s]\n",
                    weir_text_u64_at(record, 8), weir_text_u64_at(record, 16), flags,
                    flags & PERF_AUX_FLAG_TRUNCATED ? "T" : "", flags & PERF_AUX_FLAG_OVERWRITE ? "O" : "",
                    flags & PERF_AUX_FLAG_PARTIAL ? "P" : "");
}

static void append_symbol(const struct weir_text_record *record, struct weir_buf *out)
{
    weir_buf_printf(out, " addr %" PRIx64 " len %u type %u flags 0x%x name ", weir_text_u64_at(record, 8),
                    weir_text_u32_at(record, 16), weir_load_u16(record->data + 20), weir_load_u16(record->data + 22));
    append_tail(record, 24, out);
}

static void append_deferred_chain(const struct weir_text_record *record, struct weir_buf *out)
{
    uint64_t count = weir_min_u64(weir_text_u64_at(record, 16), (record->body_bytes - 24) / sizeof(uint64_t));
    weir_buf_printf(out, " cookie: %#" PRIx64 "\n... FP chain: nr:%" PRIu64 "\n", weir_text_u64_at(record, 8), count);
    for (uint64_t i = 0; i < count; i++)
        weir_buf_printf(out, "..... %2" PRIu64 ": %016" PRIx64 "\n", i,
                        weir_text_u64_at(record, 24 + i * sizeof(uint64_t)));
}

/* The records that are a few numbers. */
static void append_numbers(const struct weir_text_record *record, struct weir_buf *out)
{
    switch (record->type) {
    case PERF_RECORD_LOST:
        weir_buf_printf(out, ": id:%" PRIu64 ": lost:%" PRIu64 "\n", weir_text_u64_at(record, 8),
                        weir_text_u64_at(record, 16));
        break;
    case PERF_RECORD_EXIT:
    case PERF_RECORD_FORK:
        weir_buf_printf(out, "(%d:%d):(%d:%d)\n", weir_text_s32_at(record, 8), weir_text_s32_at(record, 16),
                        weir_text_s32_at(record, 12), weir_text_s32_at(record, 20));
        break;
    case PERF_RECORD_THROTTLE:
    case PERF_RECORD_UNTHROTTLE:
        weir_buf_printf(out, ": time %" PRIu64 " id %" PRIu64 " stream id %" PRIu64 "\n", weir_text_u64_at(record, 8),
                        weir_text_u64_at(record, 16), weir_text_u64_at(record, 24));
        break;
    case PERF_RECORD_ITRACE_START:
        weir_buf_printf(out, " pid: %u tid: %u\n", weir_text_u32_at(record, 8), weir_text_u32_at(record, 12));
        break;
    case PERF_RECORD_LOST_SAMPLES:
        weir_buf_printf(out, ": id:%" PRIu64 ": lost samples :%" PRIu64 "\n", record->id.id,
                        weir_text_u64_at(record, 8));
        break;
    case PERF_RECORD_BPF_EVENT:
        weir_buf_printf(out, " type %u, flags %u, id %u\n", weir_load_u16(record->data + 8),
                        weir_load_u16(record->data + 10), weir_text_u32_at(record, 12));
        break;
    case PERF_RECORD_AUX_OUTPUT_HW_ID:
        weir_buf_printf(out, " hw_id: %#" PRIx64 "\n", weir_text_u64_at(record, 8));
        break;
    case WEIR_RECORD_CALLCHAIN_DEFERRED:
        append_deferred_chain(record, out);
        break;
    default:
        weir_buf_append_u8(out, '\n');
        break;
    }
}

void weir_kernel_record_append(const struct weir_text_record *record, struct weir_buf *out)
{
    switch (record->type) {
    case PERF_RECORD_MMAP:
        append_mmap(record, out);
        break;
    case PERF_RECORD_COMM:
        append_comm(record, out);
        break;
    case PERF_RECORD_READ:
        append_read(record, out);
        break;
    case PERF_RECORD_MMAP2:
        append_mmap2(record, out);
        break;
    case PERF_RECORD_AUX:
        append_aux(record, out);
        break;
    case PERF_RECORD_SWITCH:
    case PERF_RECORD_SWITCH_CPU_WIDE:
        append_switch(record, out);
        break;
    case PERF_RECORD_NAMESPACES:
        append_namespaces(record, out);
        break;
    case PERF_RECORD_KSYMBOL:
        append_symbol(record, out);
        break;
    case PERF_RECORD_CGROUP:
        weir_buf_printf(out, " cgroup: %" PRIu64 " ", weir_text_u64_at(record, 8));
        append_tail(record, 16, out);
        break;
    case PERF_RECORD_TEXT_POKE:
        append_text_poke(record, out);
        break;
    default:
        append_numbers(record, out);
        break;
    }
}
