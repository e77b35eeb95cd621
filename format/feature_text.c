/*
 * Features as text. Each layout is a line in a small language. Text stands for itself. %u and %U read a u32 and a u64,
 * and %s reads a perf string. {...} repeats as often as the u32 before it says. Any thread.
 *
 * Source of the layouts: the write_*() functions in tools/perf/util/header.c of Linux 6.12, and of Linux 7.1 for the
 * features from CPU_DOMAIN_INFO on.
 */
#include "format/feature_text.h"

#include <inttypes.h>
#include <linux/bpf.h>
#include <string.h>

#include "base/bits.h"
#include "format/bytes.h"
#include "format/perf_file.h"
#include "format/text_out.h"

#define TEXT_MAX_BYTES (1u << 20) /* what a hostile count can make of one feature */
#define DEPTH_MAX      4u
#define INDEX_SHOWN    16u /* entries */
#define WORD_BITS      64u
#define NAMED_DOMAINS  17u /* the version of /proc/schedstat since which domains have names */

static const struct {
    const char *name, *layout;
} known[] = {
    [WEIR_FEATURE_TRACING_DATA] = {"TRACING_DATA", "formats of tracepoints"},
    [WEIR_FEATURE_BUILD_ID] = {"BUILD_ID", ""},
    [WEIR_FEATURE_HOSTNAME] = {"HOSTNAME", "%s"},
    [WEIR_FEATURE_OSRELEASE] = {"OSRELEASE", "%s"},
    [WEIR_FEATURE_VERSION] = {"VERSION", "%s"},
    [WEIR_FEATURE_ARCH] = {"ARCH", "%s"},
    [WEIR_FEATURE_NRCPUS] = {"NRCPUS", "%u available, %u online"},
    [WEIR_FEATURE_CPUDESC] = {"CPUDESC", "%s"},
    [WEIR_FEATURE_CPUID] = {"CPUID", "%s"},
    [WEIR_FEATURE_TOTAL_MEM] = {"TOTAL_MEM", "%U kB"},
    [WEIR_FEATURE_CMDLINE] = {"CMDLINE", "{%s }"},
    [WEIR_FEATURE_EVENT_DESC] = {"EVENT_DESC", "%u events"},
    [WEIR_FEATURE_CPU_TOPOLOGY] = {"CPU_TOPOLOGY", "packages{ %s}; cores{ %s}"},
    [WEIR_FEATURE_NUMA_TOPOLOGY] = {"NUMA_TOPOLOGY", "{node %u: %U kB, %U kB free, CPUs %s; }"},
    [WEIR_FEATURE_BRANCH_STACK] = {"BRANCH_STACK", "samples have branches"},
    [WEIR_FEATURE_PMU_MAPPINGS] = {"PMU_MAPPINGS", "{%u = %s, }"},
    [WEIR_FEATURE_GROUP_DESC] = {"GROUP_DESC", "{'%s' from event %u, %u members; }"},
    [WEIR_FEATURE_AUXTRACE] = {"AUXTRACE", ""},
    [WEIR_FEATURE_STAT] = {"STAT", "of perf stat"},
    [WEIR_FEATURE_CACHE] = {"CACHE", "version %u: {L%u line %u sets %u ways %u %s %s CPUs %s; }"},
    [WEIR_FEATURE_SAMPLE_TIME] = {"SAMPLE_TIME", "%U ns to %U ns"},
    [WEIR_FEATURE_MEM_TOPOLOGY] = {"MEM_TOPOLOGY", ""},
    [WEIR_FEATURE_CLOCKID] = {"CLOCKID", "resolution %U ns"},
    [WEIR_FEATURE_DIR_FORMAT] = {"DIR_FORMAT", "version %U"},
    [WEIR_FEATURE_BPF_PROG_INFO] = {"BPF_PROG_INFO", ""},
    [WEIR_FEATURE_BPF_BTF] = {"BPF_BTF", ""},
    [WEIR_FEATURE_COMPRESSED] = {"COMPRESSED", "version %u, type %u, level %u, ratio %u, mmap_len %u"},
    [WEIR_FEATURE_CPU_PMU_CAPS] = {"CPU_PMU_CAPS", "{%s=%s }"},
    [WEIR_FEATURE_CLOCK_DATA] = {"CLOCK_DATA", "version %u, clock %u: %U ns since 1970 are %U ns"},
    [WEIR_FEATURE_HYBRID_TOPOLOGY] = {"HYBRID_TOPOLOGY", "{%s CPUs %s; }"},
    [WEIR_FEATURE_PMU_CAPS] = {"PMU_CAPS", "{{%s=%s }of %s; }"},
    [WEIR_FEATURE_CPU_DOMAIN_INFO] = {"CPU_DOMAIN_INFO", ""},
    [WEIR_FEATURE_E_MACHINE] = {"E_MACHINE", "machine %u, flags %u"},
    [WEIR_FEATURE_CLN_SIZE] = {"CLN_SIZE", "%u bytes"},
};

const char *weir_feature_name(unsigned bit)
{
    return bit < WEIR_ARRAY_COUNT(known) ? known[bit].name : NULL;
}

const char *weir_feature_layout(unsigned bit)
{
    return bit < WEIR_ARRAY_COUNT(known) && known[bit].layout ? known[bit].layout : "";
}

/* ---- the language ---- */

struct writer {
    struct weir_cursor cursor;
    struct weir_buf *out;
    size_t limit; /* of out->used */
};

static bool may_go_on(const struct writer *writer)
{
    return !writer->cursor.failed && writer->out->used < writer->limit;
}

/* Behind the brace that closes the one before layout. */
static const char *skip_group(const char *layout)
{
    for (unsigned depth = 1; *layout && depth > 0; layout++) {
        depth += *layout == '{';
        depth -= *layout == '}';
    }
    return layout;
}

static void write_value(struct writer *writer, char kind)
{
    struct weir_cursor *cursor = &writer->cursor;
    if (kind == 'u') {
        uint32_t value = weir_cursor_u32(cursor);
        if (!cursor->failed)
            weir_buf_printf(writer->out, "%" PRIu32, value);
    } else if (kind == 'U') {
        uint64_t value = weir_cursor_u64(cursor);
        if (!cursor->failed)
            weir_buf_printf(writer->out, "%" PRIu64, value);
    } else {
        const char *text = weir_cursor_string(cursor);
        weir_text_append(writer->out, text, text ? strlen(text) : 0);
    }
}

/* Writes layout up to its end or its closing brace. depth: bounded by the table above. */
static void write_layout(struct writer *writer, const char *layout, unsigned depth) // NOLINT(misc-no-recursion)
{
    while (*layout && *layout != '}' && may_go_on(writer)) {
        if (*layout == '%') {
            write_value(writer, layout[1]);
            layout += 2;
        } else if (*layout == '{') {
            uint32_t count = weir_cursor_u32(&writer->cursor);
            for (uint32_t i = 0; i < count && depth < DEPTH_MAX && may_go_on(writer); i++)
                write_layout(writer, layout + 1, depth + 1);
            layout = skip_group(layout + 1);
        } else {
            weir_buf_append_u8(writer->out, (uint8_t)*layout++);
        }
    }
}

/* ---- features that are lists ---- */

static bool append_build_ids(const uint8_t *payload, size_t bytes, struct weir_buf *out)
{
    size_t count = 0, at = 0;
    while (bytes - at >= sizeof(struct perf_event_header)) {
        struct perf_event_header header;
        memcpy(&header, payload + at, sizeof(header));
        if (header.size < sizeof(header) || header.size > bytes - at)
            break;
        at += header.size;
        count++;
    }
    weir_buf_printf(out, "%zu build ids%s", count, at < bytes ? " (cut)" : "");
    return at == bytes;
}

/* One program of perf's list; see format/bpf_object.h. Older kernels tell less of it. */
static void append_bpf_program(const uint8_t *info, uint32_t info_bytes, struct weir_buf *out)
{
    struct bpf_prog_info program = {0};
    memcpy(&program, info, weir_min_u64(info_bytes, sizeof(program)));
    weir_buf_printf(out, "id %" PRIu32 " ", program.id);
    weir_text_append(out, program.name, strnlen(program.name, sizeof(program.name)));
    weir_buf_printf(out, "%stag ", program.name[0] ? " " : "");
    for (size_t i = 0; i < sizeof(program.tag); i++)
        weir_buf_printf(out, "%02x", program.tag[i]);
}

static void append_bpf_programs(struct writer *writer)
{
    struct weir_cursor *cursor = &writer->cursor;
    uint32_t count = weir_cursor_u32(cursor);
    if (!cursor->failed)
        weir_buf_printf(writer->out, "%" PRIu32 " programs", count);
    for (uint32_t i = 0; i < count && may_go_on(writer); i++) {
        uint32_t info_bytes = weir_cursor_u32(cursor), data_bytes = weir_cursor_u32(cursor);
        weir_cursor_u64(cursor); /* which arrays there are */
        const uint8_t *info = weir_cursor_take(cursor, info_bytes);
        weir_cursor_take(cursor, data_bytes);
        if (cursor->failed)
            return;
        weir_buf_printf(writer->out, i == 0 ? ": " : ", ");
        append_bpf_program(info, info_bytes, writer->out);
    }
}

/* Types of BPF programs: per entry u32 id, u32 length, bytes. */
static void append_bpf_types(struct writer *writer)
{
    struct weir_cursor *cursor = &writer->cursor;
    uint32_t count = weir_cursor_u32(cursor);
    if (!cursor->failed)
        weir_buf_printf(writer->out, "%" PRIu32 " BTF", count);
    for (uint32_t i = 0; i < count && !cursor->failed; i++) {
        weir_cursor_u32(cursor);
        weir_cursor_take(cursor, weir_cursor_u32(cursor));
    }
}

/* Per node u64 number, u64 bits, u64 bits of the bitmap, the bitmap in u64 words. */
static void append_memory_nodes(struct writer *writer)
{
    struct weir_cursor *cursor = &writer->cursor;
    write_layout(writer, "version %U, blocks of %U bytes, ", 0);
    uint64_t count = weir_cursor_u64(cursor);
    if (!cursor->failed)
        weir_buf_printf(writer->out, "%" PRIu64 " nodes", count);
    for (uint64_t i = 0; i < count && !cursor->failed; i++) {
        weir_cursor_take(cursor, 2 * sizeof(uint64_t));
        uint64_t bits = weir_cursor_u64(cursor);
        weir_cursor_take(cursor, (bits / WORD_BITS + (bits % WORD_BITS > 0)) * sizeof(uint64_t));
    }
}

/* Where AUXTRACE records are: the first of them. */
static void append_aux_index(struct writer *writer)
{
    struct weir_cursor *cursor = &writer->cursor;
    uint64_t count = weir_cursor_u64(cursor);
    if (!cursor->failed)
        weir_buf_printf(writer->out, "index of %" PRIu64 " entries", count);
    for (uint64_t i = 0; i < count && may_go_on(writer); i++) {
        uint64_t offset = weir_cursor_u64(cursor), bytes = weir_cursor_u64(cursor);
        if (!cursor->failed && i < INDEX_SHOWN)
            weir_buf_printf(writer->out, "%s%#" PRIx64 " + %" PRIu64, i ? ", " : ": ", offset, bytes);
    }
    if (count > INDEX_SHOWN && !cursor->failed)
        weir_buf_printf(writer->out, ", and %" PRIu64 " more", count - INDEX_SHOWN);
}

/* Per CPU, up to the end: u32 number, u32 domains; per domain u32 level, its name, its CPUs as a mask and as a list. */
static void append_domains(struct writer *writer)
{
    struct weir_cursor *cursor = &writer->cursor;
    uint32_t version = weir_cursor_u32(cursor), levels = weir_cursor_u32(cursor);
    if (!cursor->failed)
        weir_buf_printf(writer->out, "version %" PRIu32 ", %" PRIu32 " levels", version, levels);
    while (cursor->bytes > 0 && may_go_on(writer)) {
        write_layout(writer, "; CPU %u:", 0);
        uint32_t count = weir_cursor_u32(cursor);
        for (uint32_t i = 0; i < count && may_go_on(writer); i++) {
            write_layout(writer, version >= NAMED_DOMAINS ? " %u %s" : " %u", 0);
            weir_cursor_string(cursor); /* the same CPUs as a mask */
            write_layout(writer, " CPUs %s", 0);
        }
    }
}

bool weir_feature_text_append(unsigned bit, const uint8_t *payload, size_t bytes, struct weir_buf *out)
{
    if (bit == WEIR_FEATURE_BUILD_ID)
        return append_build_ids(payload, bytes, out);
    if (!weir_feature_name(bit)) {
        weir_buf_printf(out, "%zu bytes", bytes);
        return true;
    }
    struct writer writer = {
        .cursor = {.data = payload, .bytes = bytes},
        .out = out,
        .limit = out->used + TEXT_MAX_BYTES,
    };
    if (bit == WEIR_FEATURE_BPF_PROG_INFO)
        append_bpf_programs(&writer);
    else if (bit == WEIR_FEATURE_AUXTRACE)
        append_aux_index(&writer);
    else if (bit == WEIR_FEATURE_BPF_BTF)
        append_bpf_types(&writer);
    else if (bit == WEIR_FEATURE_MEM_TOPOLOGY)
        append_memory_nodes(&writer);
    else if (bit == WEIR_FEATURE_CPU_DOMAIN_INFO)
        append_domains(&writer);
    else
        write_layout(&writer, known[bit].layout, 0);
    if (writer.cursor.failed)
        weir_buf_printf(out, " (cut)");
    return !writer.cursor.failed;
}
