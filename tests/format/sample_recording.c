/* A tiny finished recording, see sample_recording.h. */
#include "tests/format/sample_recording.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bits.h"
#include "format/features.h"
#include "format/head.h"
#include "format/pipe_head.h"
#include "format/records.h"
#include "format/tracing_data.h"
#include "tests/format/sample_machine.h"

#define PID          4242
#define OTHER_PID    4343
#define SWITCH_ID    316 /* of the fixture's tracefs */
#define FIRST_NS     1000001000ull
#define SWITCH_NS    1000002000ull
#define LAST_NS      1000003000ull
#define CODE_START   0x400000ull
#define CODE_BYTES   0x10000ull
#define SAMPLED_IP   (CODE_START + 0x123)
#define CLOCK_PERIOD 250000ull
#define COMMON_TYPE                                                                                   \
    (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | \
     PERF_SAMPLE_PERIOD)

static const uint64_t clock_ids[] = {11, 12};
static const uint64_t switch_ids[] = {21, 22};

/* One sched_switch as the fixture's format lays it out. */
struct switch_fields {
    uint16_t common_type;
    uint8_t common_flags, common_preempt_count;
    int32_t common_pid;
    char prev_comm[16];
    int32_t prev_pid, prev_prio;
    int64_t prev_state;
    char next_comm[16];
    int32_t next_pid, next_prio;
};
_Static_assert(sizeof(struct switch_fields) == 64, "sched_switch");

static const char switch_format[] =
    "name: sched_switch\n"
    "ID: 316\n"
    "format:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
    "\n"
    "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
    "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
    "\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
    "\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
    "\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
    "\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
    "\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n"
    "\n"
    "print fmt: \"prev_comm=%s prev_pid=%d next_comm=%s next_pid=%d\", REC->prev_comm, REC->prev_pid, REC->next_comm, "
    "REC->next_pid\n";

static void write_tracefs(const struct temp_tree *tree)
{
    temp_tree_write_text(tree, "tracing/events/header_page",
                         "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
                         "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
                         "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
                         "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n");
    temp_tree_write_text(tree, "tracing/events/header_event", "# compressed entry header\n");
    temp_tree_write_text(tree, "tracing/events/sched/sched_switch/format", switch_format);
}

static void make_events(struct weir_event_desc events[2], bool of_day)
{
    events[0] = (struct weir_event_desc){.name = "cpu-clock", .ids = clock_ids, .id_count = 2};
    events[0].attr = (struct perf_event_attr){
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = CLOCK_PERIOD,
        .sample_type = COMMON_TYPE,
        .read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST,
        .sample_id_all = 1,
        .use_clockid = of_day, /* CLOCK_REALTIME is 0 */
    };
    events[1] = (struct weir_event_desc){
        .leader = 1,
        .name = "sched:sched_switch",
        .ids = switch_ids,
        .id_count = 2,
        .tracepoint_system = "sched",
        .tracepoint_name = "sched_switch",
    };
    events[1].attr = events[0].attr;
    events[1].attr.type = PERF_TYPE_TRACEPOINT;
    events[1].attr.config = SWITCH_ID;
    events[1].attr.sample_period = 1;
    events[1].attr.sample_type |= PERF_SAMPLE_RAW;
}

/* raw: appended behind the fixed fields; its size and u32 length make a multiple of 8. */
static void append_sample(struct weir_buf *out, uint64_t id, uint64_t time_ns, uint32_t cpu, uint64_t period,
                          const void *raw, uint32_t raw_bytes)
{
    uint32_t raw_room = raw ? (uint32_t)weir_align_up(raw_bytes + sizeof(raw_room), 8) : 0;
    struct perf_event_header header = {
        .type = PERF_RECORD_SAMPLE,
        .misc = PERF_RECORD_MISC_USER,
        .size = (uint16_t)(sizeof(header) + 6 * sizeof(uint64_t) + raw_room),
    };
    weir_buf_append(out, &header, sizeof(header));
    weir_buf_append_u64(out, id);
    weir_buf_append_u64(out, SAMPLED_IP);
    weir_buf_append_u32(out, PID);
    weir_buf_append_u32(out, PID);
    weir_buf_append_u64(out, time_ns);
    weir_buf_append_u64(out, cpu);
    weir_buf_append_u64(out, period);
    if (raw) {
        weir_buf_append_u32(out, raw_room - (uint32_t)sizeof(raw_room));
        weir_buf_append(out, raw, raw_bytes);
        weir_buf_append_zeros(out, raw_room - sizeof(raw_room) - raw_bytes);
    }
}

static void append_switch(struct weir_buf *out)
{
    const struct switch_fields fields = {
        .common_type = SWITCH_ID,
        .common_pid = PID,
        .prev_comm = "weirtest",
        .prev_pid = PID,
        .prev_prio = 120,
        .next_comm = "other",
        .next_pid = OTHER_PID,
        .next_prio = 120,
    };
    append_sample(out, switch_ids[1], SWITCH_NS, 1, 1, &fields, sizeof(fields));
}

static void append_lost_samples(struct weir_buf *out, uint64_t lost)
{
    const struct weir_record_sample_id trailer = {
        .sample_type = COMMON_TYPE,
        .time_ns = LAST_NS,
        .id = clock_ids[0],
    };
    weir_record_lost_samples(out, lost, &trailer);
}

/* As the kernel writes it: the id, the count, the trailer. */
static void append_lost(struct weir_buf *out, uint64_t lost)
{
    struct weir_buf told = WEIR_BUF_INIT;
    struct perf_event_header header;
    append_lost_samples(&told, lost);
    memcpy(&header, told.data, sizeof(header));
    header.type = PERF_RECORD_LOST;
    header.size = (uint16_t)(header.size + sizeof(uint64_t));
    weir_buf_append(out, &header, sizeof(header));
    weir_buf_append_u64(out, clock_ids[0]);
    weir_buf_append(out, told.data + sizeof(header), told.used - sizeof(header));
    weir_buf_fini(&told);
}

static void append_data(struct weir_buf *out, const struct weir_event_desc *events,
                        const struct sample_recording_options *options)
{
    const struct weir_record_map map = {
        .pid = PID,
        .tid = PID,
        .start = CODE_START,
        .bytes = CODE_BYTES,
        .protection = PROT_READ | PROT_EXEC,
        .flags = MAP_PRIVATE,
        .cpumode = PERF_RECORD_MISC_USER,
        .filename = "/nonexistent/weirtest",
    };
    size_t sample_id_bytes = weir_attr_sample_id_bytes(&events[0].attr);
    weir_record_comm(out, PID, PID, "weirtest", 0, sample_id_bytes);
    weir_record_mmap2(out, &map, sample_id_bytes);
    weir_record_finished_init(out);

    append_sample(out, clock_ids[0], FIRST_NS, 0, CLOCK_PERIOD, NULL, 0);
    void *padding = weir_buf_extend(out, 4096);
    cr_assert_not_null(padding);
    weir_record_fill_padding(padding, 4096);
    if (options->tracepoint)
        append_switch(out);
    weir_record_finished_round(out);
    append_sample(out, clock_ids[1], LAST_NS, 1, CLOCK_PERIOD, NULL, 0);
    if (options->lost)
        append_lost(out, options->lost);
    if (options->lost_samples)
        append_lost_samples(out, options->lost_samples);
    weir_record_finished_round(out);
}

static void build_tracing_data(struct weir_buf *out, const struct temp_tree *tree, const struct weir_event_desc *events)
{
    char root[PATH_MAX];
    struct weir_error err = {0};
    write_tracefs(tree);
    temp_tree_path(tree, "tracing", root);
    cr_assert_eq(weir_tracing_data_build(out, root, events, 2, &err), 0, "%s", err.what);
}

static void append_stream(struct weir_buf *out, const struct weir_features_input *input, const struct weir_buf *data)
{
    struct weir_build_id_entry entry = {.name = "/nonexistent/weirtest", .cpumode = PERF_RECORD_MISC_USER};
    entry.id.bytes = WEIR_BUILD_ID_MAX_BYTES;
    for (unsigned i = 0; i < WEIR_BUILD_ID_MAX_BYTES; i++)
        entry.id.data[i] = (uint8_t)(i + 1);
    unsigned left_out = 99;
    cr_assert_eq(weir_pipe_head_build(out, input, &left_out), 0);
    cr_assert_eq(left_out, 0);
    weir_buf_append(out, data->data, data->used);
    cr_assert_eq(weir_features_append_build_id_records(out, &entry, 1), 0);
}

static void append_file(struct weir_buf *out, struct weir_head_input *head, const struct weir_features_input *input,
                        const struct weir_buf *data, const struct sample_recording_options *options)
{
    struct weir_features_input early = *input;
    early.first_sample_ns = early.last_sample_ns = 0; /* nothing was sampled yet */
    head->early = options->early ? &early : NULL;
    struct weir_buf probe = WEIR_BUF_INIT, sections = WEIR_BUF_INIT;
    cr_assert_eq(weir_head_build(&probe, head), 0);
    if (options->features)
        cr_assert_eq(weir_features_build(&sections, probe.used + data->used, input, head->features), 0);

    cr_assert_eq(weir_head_build(out, head), 0);
    weir_buf_append(out, data->data, data->used);
    weir_buf_append(out, sections.data, sections.used);
    weir_buf_fini(&probe);
    weir_buf_fini(&sections);
}

void sample_recording_build(struct weir_buf *out, const struct temp_tree *tree,
                            const struct sample_recording_options *options)
{
    static const char *const command[] = {"/usr/bin/weir", "record", "-a"};
    struct weir_buf data = WEIR_BUF_INIT, tracing = WEIR_BUF_INIT;
    struct weir_event_desc events[2];
    make_events(events, options->of_day);
    append_data(&data, events, options);

    const struct weir_machine machine = sample_machine();
    struct weir_head_input head = {
        .events = events,
        .event_count = options->tracepoint ? 2 : 1,
        .id_room = 4,
        .data_bytes = data.used,
    };
    struct weir_features_input input = {
        .machine = &machine,
        .events = events,
        .event_count = head.event_count,
        .command = command,
        .command_count = WEIR_ARRAY_COUNT(command),
        .first_sample_ns = FIRST_NS,
        .last_sample_ns = LAST_NS,
    };
    if (options->tracepoint) {
        build_tracing_data(&tracing, tree, events);
        input.tracing_data = &tracing;
    }
    if (options->stream)
        append_stream(out, &input, &data);
    else
        append_file(out, &head, &input, &data, options);
    cr_assert_eq(weir_buf_error(out), 0);
    weir_buf_fini(&tracing);
    weir_buf_fini(&data);
}
