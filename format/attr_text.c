/* A perf_event_attr as text, field by field. Pure but for the buffer; any thread. */
#include "format/attr_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/bits.h"

#define FLAGS_OFFSET 40u
#define NAMED_FLAGS  40u /* flags that have names here */

/* ---- sets of bits by name ---- */

static const char *const sample_bits[] = {
    "IP",
    "TID",
    "TIME",
    "ADDR",
    "READ",
    "CALLCHAIN",
    "ID",
    "CPU",
    "PERIOD",
    "STREAM_ID",
    "RAW",
    "BRANCH_STACK",
    "REGS_USER",
    "STACK_USER",
    "WEIGHT",
    "DATA_SRC",
    "IDENTIFIER",
    "TRANSACTION",
    "REGS_INTR",
    "PHYS_ADDR",
    "AUX",
    "CGROUP",
    "DATA_PAGE_SIZE",
    "CODE_PAGE_SIZE",
    "WEIGHT_STRUCT",
};
static const char *const read_bits[] = {"TOTAL_TIME_ENABLED", "TOTAL_TIME_RUNNING", "ID", "GROUP", "LOST"};

static void append_bits(uint64_t bits, const char *const *names, size_t count, struct weir_buf *out)
{
    const char *between = "";
    for (unsigned bit = 0; bit < 64; bit++) {
        if (!(bits >> bit & 1))
            continue;
        if (bit < count)
            weir_buf_printf(out, "%s%s", between, names[bit]);
        else
            weir_buf_printf(out, "%sbit %u", between, bit);
        between = "|";
    }
    if (!bits)
        weir_buf_printf(out, "none");
}

void weir_attr_append_sample_type(struct weir_buf *out, uint64_t sample_type)
{
    append_bits(sample_type, sample_bits, WEIR_ARRAY_COUNT(sample_bits), out);
}

void weir_attr_append_read_format(struct weir_buf *out, uint64_t read_format)
{
    append_bits(read_format, read_bits, WEIR_ARRAY_COUNT(read_bits), out);
}

static void append_number(struct weir_buf *out, const char *name, uint64_t value)
{
    if (value)
        weir_buf_printf(out, ", %s: %" PRIu64, name, value);
}

static void append_hex(struct weir_buf *out, const char *name, uint64_t value)
{
    if (value)
        weir_buf_printf(out, ", %s: %#" PRIx64, name, value);
}

uint64_t weir_attr_flags(const struct perf_event_attr *attr)
{
    uint64_t flags;
    memcpy(&flags, (const uint8_t *)attr + FLAGS_OFFSET, sizeof(flags));
    return flags;
}

/* In the order of their bits. */
static void append_flags(struct weir_buf *out, const struct perf_event_attr *attr)
{
    append_number(out, "disabled", attr->disabled);
    append_number(out, "inherit", attr->inherit);
    append_number(out, "pinned", attr->pinned);
    append_number(out, "exclusive", attr->exclusive);
    append_number(out, "exclude_user", attr->exclude_user);
    append_number(out, "exclude_kernel", attr->exclude_kernel);
    append_number(out, "exclude_hv", attr->exclude_hv);
    append_number(out, "exclude_idle", attr->exclude_idle);
    append_number(out, "mmap", attr->mmap);
    append_number(out, "comm", attr->comm);
    append_number(out, "freq", attr->freq);
    append_number(out, "inherit_stat", attr->inherit_stat);
    append_number(out, "enable_on_exec", attr->enable_on_exec);
    append_number(out, "task", attr->task);
    append_number(out, "watermark", attr->watermark);
    append_number(out, "precise_ip", attr->precise_ip);
    append_number(out, "mmap_data", attr->mmap_data);
    append_number(out, "sample_id_all", attr->sample_id_all);
    append_number(out, "exclude_host", attr->exclude_host);
    append_number(out, "exclude_guest", attr->exclude_guest);
    append_number(out, "exclude_callchain_kernel", attr->exclude_callchain_kernel);
    append_number(out, "exclude_callchain_user", attr->exclude_callchain_user);
    append_number(out, "mmap2", attr->mmap2);
    append_number(out, "comm_exec", attr->comm_exec);
    append_number(out, "use_clockid", attr->use_clockid);
    append_number(out, "context_switch", attr->context_switch);
    append_number(out, "write_backward", attr->write_backward);
    append_number(out, "namespaces", attr->namespaces);
    append_number(out, "ksymbol", attr->ksymbol);
    append_number(out, "bpf_event", attr->bpf_event);
    append_number(out, "aux_output", attr->aux_output);
    append_number(out, "cgroup", attr->cgroup);
    append_number(out, "text_poke", attr->text_poke);
    append_number(out, "build_id", attr->build_id);
    append_number(out, "inherit_thread", attr->inherit_thread);
    append_number(out, "remove_on_exec", attr->remove_on_exec);
    append_number(out, "sigtrap", attr->sigtrap);
    append_number(out, "defer_callchain", attr->defer_callchain);
    append_number(out, "defer_output", attr->defer_output);
    for (unsigned bit = NAMED_FLAGS; bit < 64; bit++) {
        if (weir_attr_flags(attr) >> bit & 1)
            weir_buf_printf(out, ", bit %u: 1", bit);
    }
}

void weir_attr_append_text(struct weir_buf *out, const struct perf_event_attr *attr)
{
    weir_buf_printf(out, "type: %u, size: %u", attr->type, attr->size);
    append_hex(out, "config", attr->config);
    if (attr->sample_period)
        weir_buf_printf(out, ", { sample_period, sample_freq }: %" PRIu64, (uint64_t)attr->sample_period);
    if (attr->sample_type) {
        weir_buf_printf(out, ", sample_type: ");
        weir_attr_append_sample_type(out, attr->sample_type);
    }
    if (attr->read_format) {
        weir_buf_printf(out, ", read_format: ");
        weir_attr_append_read_format(out, attr->read_format);
    }
    append_flags(out, attr);
    append_number(out, "{ wakeup_events, wakeup_watermark }", attr->wakeup_events);
    append_number(out, "bp_type", attr->bp_type);
    append_hex(out, "{ bp_addr, config1 }", attr->config1);
    append_hex(out, "{ bp_len, config2 }", attr->config2);
    append_hex(out, "branch_sample_type", attr->branch_sample_type);
    append_hex(out, "sample_regs_user", attr->sample_regs_user);
    append_number(out, "sample_stack_user", attr->sample_stack_user);
    append_number(out, "clockid", (uint64_t)(uint32_t)attr->clockid);
    append_hex(out, "sample_regs_intr", attr->sample_regs_intr);
    append_number(out, "aux_watermark", attr->aux_watermark);
    append_number(out, "sample_max_stack", attr->sample_max_stack);
    append_number(out, "aux_sample_size", attr->aux_sample_size);
    append_number(out, "aux_start_paused", attr->aux_start_paused);
    append_number(out, "aux_pause", attr->aux_pause);
    append_number(out, "aux_resume", attr->aux_resume);
    append_hex(out, "sig_data", attr->sig_data);
    append_hex(out, "config3", attr->config3);
    append_hex(out, "config4", attr->config4);
}
