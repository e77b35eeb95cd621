/* A recording with AUX areas, see aux_recording.h. */
#include "tests/format/aux_recording.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <link.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bits.h"
#include "format/features.h"
#include "format/head.h"
#include "format/index_records.h"
#include "format/pipe_head.h"
#include "format/records.h"
#include "tests/format/sample_machine.h"

#define PID         4242
#define PAGE_BYTES  4096ull
#define FIRST_NS    1000001000ull
#define STEP_NS     1000ull /* between AUX records */
#define BTS_WORDS   6u      /* tools/perf/util/intel-bts.h: PMU type, time shift, mult and zero, has time, snapshot */
#define RETURN_INSN 0xc3    /* of x86 */
#define COMMON_TYPE                                                                                   \
    (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | \
     PERF_SAMPLE_PERIOD)

static const uint64_t area_ids[] = {31, 32};

static const struct {
    unsigned area, branches;
} stretches[AUX_RECORDING_STRETCHES] = {{0, 150}, {1, 120}, {0, 100}};

/* What the branches come from; perf reads it from this program's file. */
static uint8_t const code[AUX_RECORDING_CODE_BYTES] = {[0 ... AUX_RECORDING_CODE_BYTES - 1] = RETURN_INSN};

struct aux_branch aux_recording_branch(unsigned i)
{
    unsigned stretch = 0, first = 0;
    for (; i >= first + stretches[stretch].branches; stretch++)
        first += stretches[stretch].branches;
    return (struct aux_branch){
        .task = PID + stretches[stretch].area,
        .from = AUX_RECORDING_CODE + i % AUX_RECORDING_CODE_BYTES,
        .to = AUX_RECORDING_TARGET + i,
    };
}

/* Where the code is in the program's file. */
static int find_code(struct dl_phdr_info *program, size_t bytes, void *ctx)
{
    (void)bytes;
    uint64_t *offset = ctx, address = (uintptr_t)code - program->dlpi_addr;
    for (size_t i = 0; i < program->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &program->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || address < segment->p_vaddr || address >= segment->p_vaddr + segment->p_filesz)
            continue;
        *offset = address - segment->p_vaddr + segment->p_offset;
        return 1;
    }
    return 0;
}

static void append_map(struct weir_buf *out, size_t trailer_bytes)
{
    char path[PATH_MAX] = "";
    uint64_t offset = 0;
    cr_assert_gt(readlink("/proc/self/exe", path, sizeof(path) - 1), 0);
    cr_assert_eq(dl_iterate_phdr(find_code, &offset), 1);
    /* The map begins with the code's page, and the code is at AUX_RECORDING_CODE. */
    const struct weir_record_map map = {
        .pid = PID,
        .tid = PID,
        .start = AUX_RECORDING_CODE - offset % PAGE_BYTES,
        .bytes = 2 * PAGE_BYTES,
        .page_offset = offset - offset % PAGE_BYTES,
        .protection = PROT_READ | PROT_EXEC,
        .flags = MAP_PRIVATE,
        .cpumode = PERF_RECORD_MISC_USER,
        .filename = path,
    };
    weir_record_mmap2(out, &map, trailer_bytes);
}

/* A record of the kernel: its words, and the trailer of an area. */
static void append_kernel(struct weir_buf *out, uint32_t type, const uint64_t *words, size_t count, unsigned area,
                          uint64_t time_ns)
{
    const struct perf_event_header header = {
        .type = type,
        .size = (uint16_t)(sizeof(header) + (count + 4) * sizeof(uint64_t)),
    };
    weir_buf_append(out, &header, sizeof(header));
    weir_buf_append(out, words, count * sizeof(*words));
    weir_buf_append_u32(out, PID);
    weir_buf_append_u32(out, PID + area);
    weir_buf_append_u64(out, time_ns);
    weir_buf_append_u64(out, area); /* CPU */
    weir_buf_append_u64(out, area_ids[area]);
}

/* AUXTRACE and what is behind it. first: of the branches, in all. */
static void append_stretch(struct weir_buf *out, unsigned stretch, uint64_t offset, unsigned first)
{
    unsigned area = stretches[stretch].area, count = stretches[stretch].branches;
    const struct weir_auxtrace auxtrace = {
        .bytes = (count + 1) * AUX_RECORDING_ENTRY_BYTES,
        .offset = offset,
        .reference = FIRST_NS + stretch * STEP_NS,
        .index = area,
        .task = (int32_t)(PID + area),
        .cpu = -1,
    };
    void *record = weir_buf_extend(out, WEIR_AUXTRACE_RECORD_BYTES);
    cr_assert_not_null(record);
    weir_auxtrace_write(record, &auxtrace);
    for (unsigned i = first; i < first + count; i++) {
        struct aux_branch branch = aux_recording_branch(i);
        weir_buf_append_u64(out, branch.from);
        weir_buf_append_u64(out, branch.to);
        weir_buf_append_u64(out, 0x10); /* predicted */
    }
    weir_buf_append_zeros(out, AUX_RECORDING_ENTRY_BYTES);
}

/* What stands before the areas' data. */
static void append_beginning(struct aux_recording *recording, struct weir_buf *out, size_t trailer_bytes, bool snapshot)
{
    const uint64_t words[BTS_WORDS] = {AUX_RECORDING_PMU, 0, 1, 0, 1, snapshot};
    const struct weir_id_index_entry entries[] = {{31, 0, UINT64_MAX, PID}, {32, 1, UINT64_MAX, PID + 1}};
    weir_record_id_index(out, entries, WEIR_ARRAY_COUNT(entries));
    cr_assert_eq(weir_auxtrace_info_append(out, WEIR_AUX_INTEL_BTS, words, BTS_WORDS), 0);
    weir_record_comm(out, PID, PID, "weirtest", 0, trailer_bytes);
    weir_record_fork(out, PID, PID, PID + 1, PID, trailer_bytes);
    append_map(out, trailer_bytes);
    weir_record_finished_init(out);
    for (unsigned area = 0; area < WEIR_ARRAY_COUNT(area_ids); area++) {
        const uint64_t task = (uint64_t)(PID + area) << 32 | PID;
        append_kernel(out, PERF_RECORD_ITRACE_START, &task, 1, area, FIRST_NS);
    }
    recording->records += 8;
}

static void append_data(struct aux_recording *recording, struct weir_buf *out,
                        const struct aux_recording_options *options)
{
    uint64_t offsets[WEIR_ARRAY_COUNT(area_ids)] = {0};
    for (unsigned i = 0, first = 0; i < AUX_RECORDING_STRETCHES; first += stretches[i++].branches) {
        bool is_last = i + 1 == AUX_RECORDING_STRETCHES;
        uint64_t *offset = &offsets[stretches[i].area], flags = 0;
        recording->payload_bytes[i] = (stretches[i].branches + 1) * AUX_RECORDING_ENTRY_BYTES;
        flags |= is_last && options->truncated ? PERF_AUX_FLAG_TRUNCATED : 0;
        flags |= options->snapshot ? PERF_AUX_FLAG_OVERWRITE : 0;
        const uint64_t aux[] = {*offset, recording->payload_bytes[i], flags};
        append_kernel(out, PERF_RECORD_AUX, aux, 3, stretches[i].area, FIRST_NS + (i + 1) * STEP_NS);
        recording->index[i] = (struct weir_aux_index_entry){out->used, WEIR_AUXTRACE_RECORD_BYTES};
        append_stretch(out, i, *offset, first);
        *offset += recording->payload_bytes[i];
        recording->records += 2;
        if (options->stream && !is_last)
            continue;
        weir_record_finished_round(out);
        recording->records++;
    }
}

static void append_file(struct aux_recording *recording, const struct weir_buf *data, struct weir_features_input *input,
                        bool features)
{
    struct weir_head_input head = {
        .events = input->events,
        .event_count = input->event_count,
        .id_room = WEIR_ARRAY_COUNT(area_ids),
        .data_bytes = data->used,
    };
    struct weir_buf probe = WEIR_BUF_INIT, sections = WEIR_BUF_INIT;
    cr_assert_eq(weir_head_build(&probe, &head), 0);
    recording->data_offset = probe.used;
    recording->data_end = probe.used + data->used;
    for (size_t i = 0; i < AUX_RECORDING_STRETCHES; i++)
        recording->index[i].file_offset += probe.used;
    input->aux_index = recording->index;
    input->aux_index_count = AUX_RECORDING_STRETCHES;
    if (features)
        cr_assert_eq(weir_features_build(&sections, recording->data_end, input, head.features), 0);
    cr_assert_eq(weir_head_build(&recording->bytes, &head), 0);
    weir_buf_append(&recording->bytes, data->data, data->used);
    weir_buf_append(&recording->bytes, sections.data, sections.used);
    weir_buf_fini(&probe);
    weir_buf_fini(&sections);
}

void aux_recording_build(struct aux_recording *recording, const struct aux_recording_options *options)
{
    static struct weir_machine_pmu pmus[] = {{1, (char *)"software"}, {AUX_RECORDING_PMU, (char *)"intel_bts"}};
    struct weir_machine machine = sample_machine();
    machine.pmus = pmus;
    machine.pmu_count = WEIR_ARRAY_COUNT(pmus);
    struct weir_event_desc event = {.name = "intel_bts//u", .ids = area_ids, .id_count = WEIR_ARRAY_COUNT(area_ids)};
    event.attr = (struct perf_event_attr){
        .type = AUX_RECORDING_PMU,
        .sample_period = 1,
        .sample_type = COMMON_TYPE,
        .read_format = PERF_FORMAT_ID,
        .sample_id_all = 1,
        .exclude_kernel = 1,
    };
    struct weir_features_input input = {.machine = &machine, .events = &event, .event_count = 1};
    struct weir_buf data = WEIR_BUF_INIT;
    *recording = (struct aux_recording){.records = 0};
    append_beginning(recording, &data, weir_attr_sample_id_bytes(&event.attr), options->snapshot);
    append_data(recording, &data, options);
    if (options->stream) {
        unsigned left_out;
        cr_assert_eq(weir_pipe_head_build(&recording->bytes, &input, &left_out), 0);
        cr_assert_eq(left_out, 0);
        weir_buf_append(&recording->bytes, data.data, data.used);
    } else {
        append_file(recording, &data, &input, options->features);
    }
    cr_assert_eq(weir_buf_error(&recording->bytes), 0);
    weir_buf_fini(&data);
}

void aux_recording_fini(struct aux_recording *recording)
{
    weir_buf_fini(&recording->bytes);
}
