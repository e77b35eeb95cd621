/* The fields of a sample as text (dump_sample() in tools/perf/util/session.c) and as JSON. One thread. */
#include "format/sample_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/bits.h"
#include "format/bytes.h"
#include "format/text_out.h"

#define WORD_BYTES     8u
#define BRANCH_MISPRED (1u << 0)
#define BRANCH_PREDICT (1u << 1)
#define BRANCH_IN_TX   (1u << 2)
#define BRANCH_ABORT   (1u << 3)
#define CYCLES_SHIFT   4

/* perf's name of bit `bit` of a register mask; NULL: no name is known. */
static const char *register_name(bool is_x86, unsigned bit)
{
    static const char *const x86[] = {"AX", "BX", "CX", "DX", "SI", "DI", "BP",  "SP",  "IP",  "FLAGS", "CS",  "SS",
                                      "DS", "ES", "FS", "GS", "R8", "R9", "R10", "R11", "R12", "R13",   "R14", "R15"};
    return is_x86 && bit < WEIR_ARRAY_COUNT(x86) ? x86[bit] : NULL;
}

static uint64_t word_at(const struct weir_sample_array *array, uint64_t index)
{
    return weir_load_u64(array->data + index * WORD_BYTES);
}

static void append_callchain(const struct weir_sample *sample, struct weir_buf *out)
{
    if (!sample->callchain.data)
        return;
    weir_buf_printf(out, "... FP chain: nr:%" PRIu64 "\n", sample->callchain.count);
    for (uint64_t i = 0; i < sample->callchain.count; i++)
        weir_buf_printf(out, "..... %2" PRIu64 ": %016" PRIx64 "\n", i, word_at(&sample->callchain, i));
}

static void append_branches(const struct weir_sample *sample, struct weir_buf *out)
{
    if (!sample->branches.data)
        return;
    weir_buf_printf(out, "... branch stack: nr:%" PRIu64 "\n", sample->branches.count);
    for (uint64_t i = 0; i < sample->branches.count; i++) {
        const uint8_t *entry = sample->branches.data + i * WEIR_BRANCH_ENTRY_BYTES;
        uint64_t flags = weir_load_u64(entry + 2 * WORD_BYTES);
        weir_buf_printf(out, "..... %2" PRIu64 ": %016" PRIx64 " -> %016" PRIx64 " %u cycles %s%s%s%s\n", i,
                        weir_load_u64(entry), weir_load_u64(entry + WORD_BYTES), (uint16_t)(flags >> CYCLES_SHIFT),
                        flags & BRANCH_MISPRED ? "M" : " ", flags & BRANCH_PREDICT ? "P" : " ",
                        flags & BRANCH_ABORT ? "A" : " ", flags & BRANCH_IN_TX ? "T" : " ");
    }
}

static const char *abi_name(uint64_t abi)
{
    return abi == PERF_SAMPLE_REGS_ABI_64 ? "64-bit" : abi == PERF_SAMPLE_REGS_ABI_32 ? "32-bit" : "none";
}

static void append_regs(const char *which, bool is_x86, uint64_t mask, uint64_t abi,
                        const struct weir_sample_array *regs, struct weir_buf *out)
{
    if (!regs->data)
        return;
    weir_buf_printf(out, "... %s regs: mask 0x%" PRIx64 " ABI %s\n", which, mask, abi_name(abi));
    uint64_t next = 0;
    for (unsigned bit = 0; bit < 64 && next < regs->count; bit++) {
        if (!(mask >> bit & 1))
            continue;
        const char *name = register_name(is_x86, bit);
        if (name)
            weir_buf_printf(out, ".... %-5s 0x%016" PRIx64 "\n", name, word_at(regs, next++));
        else
            weir_buf_printf(out, ".... reg%-2u 0x%016" PRIx64 "\n", bit, word_at(regs, next++));
    }
}

static void append_read_value(uint64_t format, struct weir_cursor *words, bool has_times, struct weir_buf *out)
{
    uint64_t value = weir_cursor_u64(words);
    if (has_times && (format & PERF_FORMAT_TOTAL_TIME_ENABLED))
        weir_buf_printf(out, "...... time enabled %016" PRIx64 "\n", weir_cursor_u64(words));
    if (has_times && (format & PERF_FORMAT_TOTAL_TIME_RUNNING))
        weir_buf_printf(out, "...... time running %016" PRIx64 "\n", weir_cursor_u64(words));
    uint64_t id = format & PERF_FORMAT_ID ? weir_cursor_u64(words) : 0;
    weir_buf_printf(out, "..... id %016" PRIx64 ", value %016" PRIx64, id, value);
    if (format & PERF_FORMAT_LOST)
        weir_buf_printf(out, ", lost %" PRIu64, weir_cursor_u64(words));
    weir_buf_append_u8(out, '\n');
}

static void append_read(const struct weir_sample *sample, uint64_t format, struct weir_buf *out)
{
    if (!sample->read.data)
        return;
    struct weir_cursor words = {.data = sample->read.data, .bytes = sample->read.count * WORD_BYTES};
    weir_buf_printf(out, "... sample_read:\n");
    if (!(format & PERF_FORMAT_GROUP)) {
        append_read_value(format, &words, true, out);
        return;
    }
    uint64_t members = weir_cursor_u64(&words);
    if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
        weir_buf_printf(out, "...... time enabled %016" PRIx64 "\n", weir_cursor_u64(&words));
    if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
        weir_buf_printf(out, "...... time running %016" PRIx64 "\n", weir_cursor_u64(&words));
    weir_buf_printf(out, ".... group nr %" PRIu64 "\n", members);
    for (uint64_t i = 0; i < members && !words.failed; i++)
        append_read_value(format, &words, false, out);
}

/* get_page_size_name() and unit_number__scnprintf() in tools/perf/util: 4096 is 4K, and so is 4097; 1024 is 1024B. */
static void append_page_size(struct weir_buf *out, const char *of, uint64_t bytes)
{
    static const char units[] = "BKMG";
    unsigned unit = 0;
    for (; bytes / 1024 > 1 && units[unit + 1]; unit++)
        bytes /= 1024;
    if (bytes == 0)
        weir_buf_printf(out, " .. %s page size: N/A\n", of);
    else
        weir_buf_printf(out, " .. %s page size: %" PRIu64 "%c\n", of, bytes, units[unit]);
}

static void append_words(const struct weir_sample *sample, struct weir_buf *out)
{
    uint64_t fields = sample->fields;
    if (fields & PERF_SAMPLE_WEIGHT_STRUCT)
        weir_buf_printf(out, "... weight: %" PRIu32 ",0x%x,0x%x\n", (uint32_t)sample->weight,
                        (uint16_t)(sample->weight >> 32), (uint16_t)(sample->weight >> 48));
    else if (fields & PERF_SAMPLE_WEIGHT)
        weir_buf_printf(out, "... weight: %" PRIu64 "\n", sample->weight);
    if (fields & PERF_SAMPLE_DATA_SRC)
        weir_buf_printf(out, " . data_src: 0x%" PRIx64 "\n", sample->data_src);
    if (fields & PERF_SAMPLE_PHYS_ADDR)
        weir_buf_printf(out, " .. phys_addr: 0x%" PRIx64 "\n", sample->phys_addr);
    if (fields & PERF_SAMPLE_CGROUP)
        weir_buf_printf(out, " .. cgroup: %" PRIu64 "\n", sample->cgroup);
    if (fields & PERF_SAMPLE_DATA_PAGE_SIZE)
        append_page_size(out, "data", sample->data_page_size);
    if (fields & PERF_SAMPLE_CODE_PAGE_SIZE)
        append_page_size(out, "code", sample->code_page_size);
    if (fields & PERF_SAMPLE_TRANSACTION)
        weir_buf_printf(out, "... transaction: %" PRIx64 "\n", sample->transaction);
}

static bool is_tracepoint(const struct weir_sample_names *names, const struct weir_text_record *record,
                          const struct weir_sample *sample)
{
    return names->trace && record->event && record->event->attr.type == PERF_TYPE_TRACEPOINT && sample->raw.data;
}

void weir_sample_text_append(const struct weir_sample_names *names, const struct weir_text_record *record,
                             struct weir_buf *out)
{
    struct weir_sample sample;
    size_t bad_offset;
    if (!record->event) {
        weir_buf_printf(out, ": (of no event in the header)\n");
        return;
    }
    const struct perf_event_attr *attr = &record->event->attr;
    int result = weir_sample_parse(&sample, &record->event->layout, record->data, record->bytes, &bad_offset);
    int pid = attr->sample_type & PERF_SAMPLE_TID ? (int)sample.id.pid : -1;
    int tid = attr->sample_type & PERF_SAMPLE_TID ? (int)sample.id.tid : -1;
    uint64_t period = attr->sample_type & PERF_SAMPLE_PERIOD ? sample.period : attr->sample_period;
    weir_buf_printf(out, "(IP, 0x%x): %d/%d: %#" PRIx64 " period: %" PRIu64 " addr: %#" PRIx64 "\n", record->misc, pid,
                    tid, sample.ip, period, sample.addr);
    append_callchain(&sample, out);
    append_branches(&sample, out);
    append_regs("user", names->is_x86, attr->sample_regs_user, sample.user_abi, &sample.user_regs, out);
    append_regs("intr", names->is_x86, attr->sample_regs_intr, sample.intr_abi, &sample.intr_regs, out);
    if (result == 0 && (attr->sample_type & PERF_SAMPLE_STACK_USER))
        weir_buf_printf(out, "... ustack: size %" PRIu64 ", offset 0x%" PRIx64 "\n", sample.user_stack.count,
                        sample.user_stack_offset);
    if (result == 0)
        append_words(&sample, out);
    append_read(&sample, attr->read_format, out);
    if (result < 0)
        weir_buf_printf(out, "... damaged: its field at %#zx is not inside its %zu bytes\n", bad_offset, record->bytes);
    weir_buf_printf(out, " ... event: ");
    weir_text_append(out, record->event->name, strlen(record->event->name));
    weir_buf_append_u8(out, '\n');
    if (is_tracepoint(names, record, &sample)) {
        weir_buf_printf(out, " ... common: ");
        weir_trace_append_common(names->trace, attr->config, sample.raw.data, sample.raw.count, out);
        weir_buf_printf(out, "\n ... fields: ");
        weir_trace_append_text(names->trace, attr->config, sample.raw.data, sample.raw.count, out);
        weir_buf_append_u8(out, '\n');
    }
}

/* ---- JSON ---- */

static void append_json_words(const char *name, const struct weir_sample_array *array, struct weir_buf *out)
{
    if (!array->data)
        return;
    weir_buf_printf(out, ",\"%s\":[", name);
    for (uint64_t i = 0; i < array->count; i++)
        weir_buf_printf(out, "%s\"%#" PRIx64 "\"", i ? "," : "", word_at(array, i));
    weir_buf_append_u8(out, ']');
}

void weir_sample_id_json_append(const struct weir_sample_id *id, uint64_t types, struct weir_buf *out)
{
    if (types & PERF_SAMPLE_TID)
        weir_buf_printf(out, ",\"pid\":%" PRId32 ",\"tid\":%" PRId32, (int32_t)id->pid, (int32_t)id->tid);
    if (types & PERF_SAMPLE_TIME)
        weir_buf_printf(out, ",\"time\":%" PRIu64, id->time);
    if (types & PERF_SAMPLE_CPU)
        weir_buf_printf(out, ",\"cpu\":%" PRIu32, id->cpu);
}

static void append_json_fixed(const struct weir_sample *sample, struct weir_buf *out)
{
    uint64_t fields = sample->fields;
    if (fields & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER))
        weir_buf_printf(out, ",\"id\":%" PRIu64, sample->id.id);
    weir_sample_id_json_append(&sample->id, fields, out);
    if (fields & PERF_SAMPLE_IP)
        weir_buf_printf(out, ",\"ip\":\"%#" PRIx64 "\"", sample->ip);
    if (fields & PERF_SAMPLE_ADDR)
        weir_buf_printf(out, ",\"addr\":\"%#" PRIx64 "\"", sample->addr);
    if (fields & PERF_SAMPLE_PERIOD)
        weir_buf_printf(out, ",\"period\":%" PRIu64, sample->period);
}

static void append_json_regs(const char *name, bool is_x86, uint64_t mask, const struct weir_sample_array *regs,
                             struct weir_buf *out)
{
    if (!regs->data)
        return;
    weir_buf_printf(out, ",\"%s\":{", name);
    uint64_t next = 0;
    for (unsigned bit = 0; bit < 64 && next < regs->count; bit++) {
        if (!(mask >> bit & 1))
            continue;
        const char *reg = register_name(is_x86, bit);
        if (reg)
            weir_buf_printf(out, "%s\"%s\"", next ? "," : "", reg);
        else
            weir_buf_printf(out, "%s\"reg%u\"", next ? "," : "", bit);
        weir_buf_printf(out, ":\"%#" PRIx64 "\"", word_at(regs, next++));
    }
    weir_buf_append_u8(out, '}');
}

static void append_json_branches(const struct weir_sample *sample, struct weir_buf *out)
{
    if (!sample->branches.data)
        return;
    weir_buf_printf(out, ",\"branches\":[");
    for (uint64_t i = 0; i < sample->branches.count; i++) {
        const uint8_t *entry = sample->branches.data + i * WEIR_BRANCH_ENTRY_BYTES;
        weir_buf_printf(out, "%s{\"from\":\"%#" PRIx64 "\",\"to\":\"%#" PRIx64 "\",\"flags\":\"%#" PRIx64 "\"}",
                        i ? "," : "", weir_load_u64(entry), weir_load_u64(entry + WORD_BYTES),
                        weir_load_u64(entry + 2 * WORD_BYTES));
    }
    weir_buf_append_u8(out, ']');
}

static void append_json_extra(const struct weir_sample *sample, struct weir_buf *out)
{
    const struct {
        uint64_t bit, value;
        const char *name;
    } words[] = {
        {PERF_SAMPLE_WEIGHT, sample->weight, "weight"},
        {PERF_SAMPLE_WEIGHT_STRUCT, (uint32_t)sample->weight, "weight"},
        {PERF_SAMPLE_WEIGHT_STRUCT, (uint16_t)(sample->weight >> 32), "var2_w"}, /* union perf_sample_weight */
        {PERF_SAMPLE_WEIGHT_STRUCT, (uint16_t)(sample->weight >> 48), "var3_w"},
        {PERF_SAMPLE_DATA_SRC, sample->data_src, "data_src"},
        {PERF_SAMPLE_TRANSACTION, sample->transaction, "transaction"},
        {PERF_SAMPLE_PHYS_ADDR, sample->phys_addr, "phys_addr"},
        {PERF_SAMPLE_CGROUP, sample->cgroup, "cgroup"},
        {PERF_SAMPLE_DATA_PAGE_SIZE, sample->data_page_size, "data_page_size"},
        {PERF_SAMPLE_CODE_PAGE_SIZE, sample->code_page_size, "code_page_size"},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(words); i++) {
        if (sample->fields & words[i].bit)
            weir_buf_printf(out, ",\"%s\":%" PRIu64, words[i].name, words[i].value);
    }
    if (sample->user_stack.data)
        weir_buf_printf(out, ",\"user_stack_bytes\":%" PRIu64, sample->user_stack.count);
    if (sample->aux.data)
        weir_buf_printf(out, ",\"aux_bytes\":%" PRIu64, sample->aux.count);
}

/* Returns false when the raw bytes hold more than the fields that were appended. */
static bool append_json_tracepoint(const struct weir_sample_names *names, const struct weir_text_record *record,
                                   const struct weir_sample *sample, struct weir_buf *out)
{
    size_t start = out->used;
    if (!is_tracepoint(names, record, sample))
        return false;
    uint64_t id = record->event->attr.config;
    weir_buf_printf(out, ",\"fields\":");
    if (!weir_trace_append_json(names->trace, id, sample->raw.data, sample->raw.count, out))
        out->used = start;
    return weir_trace_knows_all(names->trace, id);
}

void weir_sample_json_append(const struct weir_sample_names *names, const struct weir_text_record *record,
                             struct weir_buf *out)
{
    struct weir_sample sample;
    size_t bad_offset;
    if (!record->event) {
        weir_buf_printf(out, ",\"event\":null");
        return;
    }
    weir_buf_printf(out, ",\"event\":");
    weir_text_append_json(out, record->event->name, strlen(record->event->name));
    int result = weir_sample_parse(&sample, &record->event->layout, record->data, record->bytes, &bad_offset);
    append_json_fixed(&sample, out);
    append_json_words("read", &sample.read, out);
    append_json_words("callchain", &sample.callchain, out);
    append_json_branches(&sample, out);
    append_json_regs("user_regs", names->is_x86, record->event->attr.sample_regs_user, &sample.user_regs, out);
    append_json_regs("intr_regs", names->is_x86, record->event->attr.sample_regs_intr, &sample.intr_regs, out);
    if (result == 0)
        append_json_extra(&sample, out);
    else
        weir_buf_printf(out, ",\"damaged_at\":%zu", bad_offset);
    if (!append_json_tracepoint(names, record, &sample, out) && sample.raw.data) {
        weir_buf_printf(out, ",\"raw\":\"");
        weir_text_append_hex(out, sample.raw.data, sample.raw.count);
        weir_buf_append_u8(out, '"');
    }
}
