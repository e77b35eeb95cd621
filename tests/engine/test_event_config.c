/*
 * The attrs of each kind of command line, field by field, against those of perf.
 *
 * A row's `perf` is what perf 6.1 was seen to open on Linux 6.18, event by event:
 *     perf record -vv -o /tmp/x COMMAND 2>&1 | sed -n '/^perf_event_attr/,/^sys_perf/p'
 * (hardware rows: on a machine without PMU, from the attempts that fail). with_differences() then makes the deliberate
 * changes of docs/compatibility.md, so that what is tested is "perf, but for this list".
 */
#include "engine/events/event_list.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "engine/events/event_config.h"
#include "engine/events/event_parse.h"
#include "tests/engine/fake_tracefs.h"

#define WATERMARK_BYTES          262144
#define SIDEBAND_WATERMARK_BYTES 32768

/* ---- what perf opens ---- */

#define TYPE_TASK (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME)
#define TYPE_CPU  (TYPE_TASK | PERF_SAMPLE_CPU)
#define TYPE_TP   (TYPE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW)

#define FREQ(hz)   .freq = 1, .sample_freq = (hz)
#define PERIOD(n)  .sample_period = (n)
#define ALWAYS     .size = 128, .read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST, .sample_id_all = 1
#define EVERY      ALWAYS, .inherit = 1, .disabled = 1
#define RECORDS    .mmap = 1, .mmap2 = 1, .comm = 1, .comm_exec = 1, .task = 1, .ksymbol = 1, .bpf_event = 1
#define SW(number) .type = PERF_TYPE_SOFTWARE, .config = (number)
#define HW(number) .type = PERF_TYPE_HARDWARE, .config = (number)
#define SWITCH     .type = PERF_TYPE_TRACEPOINT, .config = FAKE_SCHED_SWITCH_ID
#define HOST       .exclude_guest = 1

struct config_case {
    const char *command; /* behind `perf record` */
    const char *event;   /* its -e; NULL: the default event */
    struct weir_event_config config;
    struct perf_event_attr perf;
};

static const struct config_case cases[] = {
    /* -a: events on every CPU; perf tracks mappings with a dummy event of its own, as weir always does */
    {"-a true",
     NULL,
     {.freq_hz = 4000, .system_wide = true, .inherit = true},
     /* exclude_guest: see default_event_is_cycles_at_the_highest_precision in test_event_parse.c */
     {HW(0), EVERY, FREQ(4000), .sample_type = TYPE_CPU | PERF_SAMPLE_PERIOD, .precise_ip = 3}},
    {"-e cycles:u -a true",
     "cycles:u",
     {.freq_hz = 4000, .system_wide = true, .inherit = true},
     {HW(0), EVERY, FREQ(4000), .sample_type = TYPE_CPU | PERF_SAMPLE_PERIOD, HOST, .exclude_kernel = 1,
      .exclude_hv = 1}},
    {"-e cpu-clock -a true",
     "cpu-clock",
     {.freq_hz = 4000, .system_wide = true, .inherit = true},
     {SW(0), EVERY, FREQ(4000), .sample_type = TYPE_CPU | PERF_SAMPLE_PERIOD, HOST}},
    {"-e cpu-clock -C 0 true",
     "cpu-clock",
     {.freq_hz = 4000, .system_wide = true, .inherit = true},
     {SW(0), EVERY, FREQ(4000), .sample_type = TYPE_CPU | PERF_SAMPLE_PERIOD, HOST}},
    {"-e cpu-clock -i -a true",
     "cpu-clock",
     {.freq_hz = 4000, .system_wide = true},
     {SW(0), ALWAYS, .disabled = 1, FREQ(4000), .sample_type = TYPE_CPU | PERF_SAMPLE_PERIOD, HOST}},
    {"-e cpu-clock -F 99 -a true",
     "cpu-clock",
     {.freq_hz = 99, .period_or_freq_given = true, .system_wide = true, .inherit = true},
     {SW(0), EVERY, FREQ(99), .sample_type = TYPE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_ID, HOST}},
    {"-e cpu-clock -c 1000000 -a true",
     "cpu-clock",
     {.period = 1000000, .period_or_freq_given = true, .system_wide = true, .inherit = true},
     {SW(0), EVERY, PERIOD(1000000), .sample_type = TYPE_CPU | PERF_SAMPLE_ID, HOST}},
    {"-e cpu-clock -g -a true",
     "cpu-clock",
     {.freq_hz = 4000, .samples = {.call_graph = {.mode = WEIR_CALL_GRAPH_FP}}, .system_wide = true, .inherit = true},
     {SW(0), EVERY, FREQ(4000), .sample_type = TYPE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN, HOST}},
    {"-e cpu-clock:k -a true",
     "cpu-clock:k",
     {.freq_hz = 4000, .system_wide = true, .inherit = true},
     {SW(0), EVERY, FREQ(4000), .sample_type = TYPE_CPU | PERF_SAMPLE_PERIOD, .exclude_user = 1, .exclude_hv = 1}},
    {"-e page-faults -a true",
     "page-faults",
     {.freq_hz = 4000, .system_wide = true, .inherit = true},
     {SW(2), EVERY, FREQ(4000), .sample_type = TYPE_CPU | PERF_SAMPLE_PERIOD, HOST}},
    {"-e context-switches -a true",
     "context-switches",
     {.freq_hz = 4000, .system_wide = true, .inherit = true},
     {SW(3), EVERY, FREQ(4000), .sample_type = TYPE_CPU | PERF_SAMPLE_PERIOD, HOST}},
    {"-e cs -c 1 -a true",
     "cs",
     {.period = 1, .period_or_freq_given = true, .system_wide = true, .inherit = true},
     {SW(3), EVERY, PERIOD(1), .sample_type = TYPE_CPU | PERF_SAMPLE_ID, HOST}},
    {"-e bpf-output -a true",
     "bpf-output",
     {.freq_hz = 4000, .system_wide = true, .inherit = true},
     {SW(10), EVERY, PERIOD(1), .sample_type = TYPE_TP, HOST}},
    {"-e cgroup-switches -a true",
     "cgroup-switches",
     {.freq_hz = 4000, .system_wide = true, .inherit = true},
     {SW(11), EVERY, FREQ(4000), .sample_type = TYPE_CPU | PERF_SAMPLE_PERIOD, HOST}},

    /* tracepoints: each one, unless -c or -F */
    {"-e sched:sched_switch -a true",
     "sched:sched_switch",
     {.freq_hz = 4000, .system_wide = true, .inherit = true},
     {SWITCH, EVERY, PERIOD(1), .sample_type = TYPE_TP, HOST}},
    {"-e sched:sched_switch -F 99 -a true",
     "sched:sched_switch",
     {.freq_hz = 99, .period_or_freq_given = true, .system_wide = true, .inherit = true},
     {SWITCH, EVERY, FREQ(99), .sample_type = TYPE_TP, HOST}},
    {"-e sched:sched_switch -c 10 -a true",
     "sched:sched_switch",
     {.period = 10, .period_or_freq_given = true, .system_wide = true, .inherit = true},
     {SWITCH, EVERY, PERIOD(10), .sample_type = TYPE_TP, HOST}},
    {"-e sched:sched_switch -g -a true",
     "sched:sched_switch",
     {.freq_hz = 4000, .samples = {.call_graph = {.mode = WEIR_CALL_GRAPH_FP}}, .system_wide = true, .inherit = true},
     {SWITCH, EVERY, PERIOD(1), .sample_type = TYPE_TP | PERF_SAMPLE_CALLCHAIN, HOST}},
    {"-e sched:sched_switch:u -a true",
     "sched:sched_switch:u",
     {.freq_hz = 4000, .system_wide = true, .inherit = true},
     {SWITCH, EVERY, PERIOD(1), .sample_type = TYPE_TP, HOST, .exclude_kernel = 1, .exclude_hv = 1}},

    /* a workload: enabled by its exec; perf tracks mappings with the first event */
    {"true",
     NULL,
     {.freq_hz = 4000, .inherit = true, .enable_on_exec = true},
     {HW(0), EVERY, FREQ(4000), .sample_type = TYPE_TASK | PERF_SAMPLE_PERIOD, .precise_ip = 3, .enable_on_exec = 1,
      RECORDS}},
    {"-e cpu-clock true",
     "cpu-clock",
     {.freq_hz = 4000, .inherit = true, .enable_on_exec = true},
     {SW(0), EVERY, FREQ(4000), .sample_type = TYPE_TASK | PERF_SAMPLE_PERIOD, HOST, .enable_on_exec = 1, RECORDS}},
    {"-e cpu-clock -g true",
     "cpu-clock",
     {.freq_hz = 4000,
      .samples = {.call_graph = {.mode = WEIR_CALL_GRAPH_FP}},
      .inherit = true,
      .enable_on_exec = true},
     {SW(0), EVERY, FREQ(4000), .sample_type = TYPE_TASK | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN, HOST,
      .enable_on_exec = 1, RECORDS}},
    {"-e cs -c 1 true",
     "cs",
     {.period = 1, .period_or_freq_given = true, .inherit = true, .enable_on_exec = true},
     {SW(3), EVERY, PERIOD(1), .sample_type = TYPE_TASK, HOST, .enable_on_exec = 1, RECORDS}},
    {"-e sched:sched_switch true",
     "sched:sched_switch",
     {.freq_hz = 4000, .inherit = true, .enable_on_exec = true},
     {SWITCH, EVERY, PERIOD(1), .sample_type = TYPE_TP, HOST, .enable_on_exec = 1, RECORDS}},

    /* -p: enabled by ioctl when all is open */
    {"-e cpu-clock -p PID sleep 1",
     "cpu-clock",
     {.freq_hz = 4000, .inherit = true},
     {SW(0), EVERY, FREQ(4000), .sample_type = TYPE_TASK | PERF_SAMPLE_PERIOD, HOST, RECORDS}},
    {"-e sched:sched_switch -p PID true",
     "sched:sched_switch",
     {.freq_hz = 4000, .inherit = true},
     {SWITCH, EVERY, PERIOD(1), .sample_type = TYPE_TP, HOST, RECORDS}},
};

/* ---- what samples hold: `perf record -e cpu-clock OPTIONS true` ---- */

#define CLOCK_TYPE (TYPE_TASK | PERF_SAMPLE_PERIOD)
#define CLOCK      SW(0), EVERY, FREQ(4000), HOST, .enable_on_exec = 1, RECORDS

struct samples_case {
    const char *options;
    struct weir_sample_options samples;
    struct perf_event_attr perf;
};

static const struct samples_case samples_cases[] = {
    {"--call-graph fp,8",
     {.call_graph = {.mode = WEIR_CALL_GRAPH_FP, .max_stack = 8}},
     {CLOCK, .sample_type = CLOCK_TYPE | PERF_SAMPLE_CALLCHAIN, .sample_max_stack = 8}},
    {"--call-graph lbr",
     {.call_graph = {.mode = WEIR_CALL_GRAPH_LBR}},
     {CLOCK, .sample_type = CLOCK_TYPE | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK,
      .branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_NO_FLAGS |
                            PERF_SAMPLE_BRANCH_NO_CYCLES | PERF_SAMPLE_BRANCH_HW_INDEX}},
    {"--call-graph lbr -b",
     {.call_graph = {.mode = WEIR_CALL_GRAPH_LBR}, .branch_filter = PERF_SAMPLE_BRANCH_ANY},
     {CLOCK, .sample_type = CLOCK_TYPE | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK,
      .branch_sample_type = PERF_SAMPLE_BRANCH_ANY}},
    {"-g --kernel-callchains",
     {.call_graph = {.mode = WEIR_CALL_GRAPH_FP}, .kernel_callchains = true},
     {CLOCK, .sample_type = CLOCK_TYPE | PERF_SAMPLE_CALLCHAIN, .exclude_callchain_user = 1}},
    {"-g --user-callchains",
     {.call_graph = {.mode = WEIR_CALL_GRAPH_FP}, .user_callchains = true},
     {CLOCK, .sample_type = CLOCK_TYPE | PERF_SAMPLE_CALLCHAIN, .exclude_callchain_kernel = 1}},
    {"--kernel-callchains --user-callchains",
     {.kernel_callchains = true, .user_callchains = true},
     {CLOCK, .sample_type = CLOCK_TYPE}},
    {"-d",
     {.addresses = true},
     {CLOCK, .sample_type = CLOCK_TYPE | PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC, .mmap_data = 1}},
    {"-d --no-data-mmap",
     {.addresses = true, .data_maps = WEIR_CHOICE_NO},
     {CLOCK, .sample_type = CLOCK_TYPE | PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC}},
    {"--data-mmap", {.data_maps = WEIR_CHOICE_YES}, {CLOCK, .sample_type = CLOCK_TYPE, .mmap_data = 1}},
    {"--sample-mem-info", {.data_sources = true}, {CLOCK, .sample_type = CLOCK_TYPE | PERF_SAMPLE_DATA_SRC}},
    {"--phys-data --data-page-size --code-page-size",
     {.physical_addresses = true, .data_page_size = true, .code_page_size = true},
     {CLOCK,
      .sample_type = CLOCK_TYPE | PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE}},
    {"--transaction -R --all-cgroups",
     {.transaction = true, .raw = true, .cgroups = true},
     {CLOCK,
      .sample_type = CLOCK_TYPE | PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_RAW | PERF_SAMPLE_CPU | PERF_SAMPLE_CGROUP,
      .cgroup = 1}},
    {"--no-period", {.period = WEIR_CHOICE_NO}, {CLOCK, .sample_type = TYPE_TASK}},
    {"-j any_call,u",
     {.branch_filter = PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_USER},
     {CLOCK, .sample_type = CLOCK_TYPE | PERF_SAMPLE_BRANCH_STACK,
      .branch_sample_type = PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_USER}},
    {"-IAX,BX", {.intr_regs = 3}, {CLOCK, .sample_type = CLOCK_TYPE | PERF_SAMPLE_REGS_INTR, .sample_regs_intr = 3}},
    {"--user-regs=IP",
     {.user_regs = 0x100},
     {CLOCK, .sample_type = CLOCK_TYPE | PERF_SAMPLE_REGS_USER, .sample_regs_user = 0x100}},
    {"-k tai", {.clock = {true, 11}}, {CLOCK, .sample_type = CLOCK_TYPE, .use_clockid = 1, .clockid = 11}},
    {"--switch-events", {.switch_events = true}, {CLOCK, .sample_type = CLOCK_TYPE, .context_switch = 1}},
    {"--namespaces", {.namespaces = true}, {CLOCK, .sample_type = CLOCK_TYPE, .namespaces = 1}},
#if defined(__x86_64__)
    {"-W", {.weight = true}, {CLOCK, .sample_type = CLOCK_TYPE | PERF_SAMPLE_WEIGHT_STRUCT}},
    {"--call-graph dwarf",
     {.call_graph = {.mode = WEIR_CALL_GRAPH_DWARF, .stack_bytes = 8192}},
     {CLOCK,
      .sample_type = CLOCK_TYPE | PERF_SAMPLE_ADDR | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
                     PERF_SAMPLE_STACK_USER | PERF_SAMPLE_DATA_SRC,
      .mmap_data = 1, .exclude_callchain_user = 1, .sample_regs_user = 0xff0fff, .sample_stack_user = 8192}},
    {"--call-graph dwarf --user-regs=AX",
     {.call_graph = {.mode = WEIR_CALL_GRAPH_DWARF, .stack_bytes = 8192}, .user_regs = 1},
     {CLOCK,
      .sample_type = CLOCK_TYPE | PERF_SAMPLE_ADDR | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
                     PERF_SAMPLE_STACK_USER | PERF_SAMPLE_DATA_SRC,
      .mmap_data = 1, .exclude_callchain_user = 1, .sample_regs_user = 0x181, .sample_stack_user = 8192}},
#endif
};

/* perf's own tracking event of `perf record -e cpu-clock -a true`. */
static const struct perf_event_attr perf_tracking = {
    SW(9), ALWAYS, .inherit = 1, PERIOD(1), .sample_type = TYPE_CPU | PERF_SAMPLE_IDENTIFIER, RECORDS};

/* ---- what weir does otherwise: docs/compatibility.md, "Events" ---- */

static void with_differences(struct perf_event_attr *attr)
{
    attr->sample_type &= ~(uint64_t)PERF_SAMPLE_ID;
    attr->sample_type |= PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_CPU;
    if (!attr->freq && attr->sample_period > 1)
        attr->sample_type &= ~(uint64_t)PERF_SAMPLE_PERIOD;
    attr->watermark = 1;
    attr->wakeup_watermark = WATERMARK_BYTES;
    attr->mmap = attr->mmap2 = attr->mmap_data = attr->comm = attr->comm_exec = attr->task = 0;
    attr->ksymbol = attr->bpf_event = attr->context_switch = attr->namespaces = attr->cgroup = 0;
}

static void sideband_with_differences(struct perf_event_attr *attr, const struct weir_event_config *config)
{
    attr->exclude_kernel = attr->exclude_hv = attr->exclude_guest = 1;
    attr->watermark = 1;
    attr->wakeup_watermark = SIDEBAND_WATERMARK_BYTES;
    attr->inherit = config->inherit;
    attr->disabled = attr->enable_on_exec = config->enable_on_exec;
}

/* ---- comparing ---- */

#define EXPECT_FIELD(field)                                                                                  \
    cr_expect_eq((uint64_t)got->field, (uint64_t)want->field, "%s: " #field " is %#llx, not %#llx", command, \
                 (unsigned long long)got->field, (unsigned long long)want->field)

static void expect_sampling(const char *command, const struct perf_event_attr *got, const struct perf_event_attr *want)
{
    EXPECT_FIELD(type);
    EXPECT_FIELD(size);
    EXPECT_FIELD(config);
    EXPECT_FIELD(sample_period);
    EXPECT_FIELD(freq);
    EXPECT_FIELD(sample_type);
    EXPECT_FIELD(read_format);
    EXPECT_FIELD(sample_id_all);
    EXPECT_FIELD(precise_ip);
    EXPECT_FIELD(watermark);
    EXPECT_FIELD(wakeup_watermark);
    EXPECT_FIELD(disabled);
    EXPECT_FIELD(enable_on_exec);
    EXPECT_FIELD(inherit);
}

static void expect_filters_and_records(const char *command, const struct perf_event_attr *got,
                                       const struct perf_event_attr *want)
{
    EXPECT_FIELD(exclude_user);
    EXPECT_FIELD(exclude_kernel);
    EXPECT_FIELD(exclude_hv);
    EXPECT_FIELD(exclude_idle);
    EXPECT_FIELD(exclude_host);
    EXPECT_FIELD(exclude_guest);
    EXPECT_FIELD(exclude_callchain_user);
    EXPECT_FIELD(mmap);
    EXPECT_FIELD(mmap2);
    EXPECT_FIELD(comm);
    EXPECT_FIELD(comm_exec);
    EXPECT_FIELD(task);
    EXPECT_FIELD(ksymbol);
    EXPECT_FIELD(bpf_event);
}

static void expect_attr(const char *command, const struct perf_event_attr *got, const struct perf_event_attr *want)
{
    expect_sampling(command, got, want);
    expect_filters_and_records(command, got, want);
    cr_expect_arr_eq(got, want, sizeof(*got), "%s: a field that is not named above differs", command);
}

/* The row's event and the sideband event, configured. */
static void make_list(struct weir_event_list *list, const struct config_case *row)
{
    struct fake_tracefs fake;
    fake_tracefs_init(&fake);
    *list = (struct weir_event_list)WEIR_EVENT_LIST_INIT;
    struct weir_error err = {0};
    const struct weir_event_sources sources = {.tracefs_root = fake.root};
    int result =
        row->event ? weir_event_list_parse(list, row->event, &sources, &err) : weir_event_list_add_default(list, NULL);
    fake_tracefs_fini(&fake);
    cr_assert_eq(result, 0, "%s: %s", row->command, err.what);
    cr_assert_eq(weir_event_list_add_sideband(list), 0);

    struct weir_event_config config = row->config;
    config.watermark_bytes = WATERMARK_BYTES;
    config.sideband_watermark_bytes = SIDEBAND_WATERMARK_BYTES;
    weir_event_list_configure(list, &config);
}

Test(event_config, attrs_are_perfs_but_for_the_documented_differences)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
        struct weir_event_list list;
        make_list(&list, &cases[i]);
        cr_assert_eq(list.count, 2);
        struct perf_event_attr want = cases[i].perf;
        with_differences(&want);
        want.size = PERF_ATTR_SIZE_VER7;
        if (!cases[i].event) /* differs between vendors, see the first row */
            want.exclude_guest = list.events[0].attr.exclude_guest;
        expect_attr(cases[i].command, &list.events[0].attr, &want);
        weir_event_list_fini(&list);
    }
}

Test(event_config, sideband_is_perfs_tracking_event_without_privileges_of_its_own)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
        struct weir_event_list list;
        make_list(&list, &cases[i]);
        struct perf_event_attr want = perf_tracking;
        sideband_with_differences(&want, &cases[i].config);
        want.size = PERF_ATTR_SIZE_VER7;
        expect_attr(cases[i].command, &list.events[1].attr, &want);
        weir_event_list_fini(&list);
    }
}

/* The sideband event takes the records that perf's first event has, and the clock, and nothing else. */
static void sideband_as_first_event(struct perf_event_attr *attr, const struct perf_event_attr *perf)
{
    attr->bpf_event = perf->bpf_event;
    attr->mmap_data = perf->mmap_data;
    attr->context_switch = perf->context_switch;
    attr->namespaces = perf->namespaces;
    attr->cgroup = perf->cgroup;
    attr->use_clockid = perf->use_clockid;
    attr->clockid = perf->clockid;
    attr->read_format = perf->read_format;
}

Test(event_config, samples_hold_what_perfs_hold)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(samples_cases); i++) {
        const struct samples_case *row = &samples_cases[i];
        const struct config_case common = {
            .command = row->options,
            .event = "cpu-clock",
            .config = {.freq_hz = 4000, .inherit = true, .enable_on_exec = true, .samples = row->samples}};
        struct weir_event_list list;
        make_list(&list, &common);
        struct perf_event_attr want = row->perf, sideband = perf_tracking;
        with_differences(&want);
        want.size = sideband.size = PERF_ATTR_SIZE_VER7;
        expect_attr(row->options, &list.events[0].attr, &want);
        sideband_with_differences(&sideband, &common.config);
        sideband_as_first_event(&sideband, &row->perf);
        expect_attr(row->options, &list.events[1].attr, &sideband);
        weir_event_list_fini(&list);
    }
}

/* The three that take away or replace what all rows above have. */
Test(event_config, fewer_samples_and_records_on_request)
{
    struct weir_event_list list;
    struct weir_event_config config = {.freq_hz = 99, .samples = {.no_samples = true}};
    make_list(&list, &(struct config_case){"-n", "cs", config, {0}});
    cr_expect(list.events[0].attr.freq && list.events[0].attr.sample_freq == 0);
    cr_expect(list.events[0].attr.sample_type & PERF_SAMPLE_PERIOD);
    cr_expect(list.events[1].attr.sample_period == 1 && list.events[1].attr.bpf_event);

    config.samples = (struct weir_sample_options){.no_bpf_events = true, .running_time = true};
    weir_event_list_configure(&list, &config);
    cr_expect(!list.events[1].attr.bpf_event && list.events[1].attr.ksymbol);
    for (size_t i = 0; i < list.count; i++)
        cr_expect_eq(list.events[i].attr.read_format, PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
                                                          PERF_FORMAT_ID | PERF_FORMAT_LOST);
    weir_event_list_fini(&list);
}

Test(event_config, without_buffering_each_record_wakes)
{
    struct weir_event_list list;
    make_list(&list,
              &(struct config_case){"--no-buffering", "cs", {.freq_hz = 99, .samples = {.no_buffering = true}}, {0}});
    for (size_t i = 0; i < list.count; i++)
        cr_expect(list.events[i].attr.watermark == 0 && list.events[i].attr.wakeup_events == 1);
    weir_event_list_fini(&list);
}

Test(event_config, dummy_event_has_no_branches_and_registers)
{
    struct weir_event_list list;
    const struct weir_sample_options samples = {.branch_filter = 1, .intr_regs = 1, .user_regs = 1};
    make_list(&list, &(struct config_case){"-e dummy", "dummy", {.freq_hz = 99, .samples = samples}, {0}});
    cr_expect_eq(list.events[0].attr.sample_type & (PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_INTR), 0);
    cr_expect_eq(list.events[0].attr.branch_sample_type, 0);
    weir_event_list_fini(&list);
}

Test(event_config, one_side_for_all_events_is_kept_by_every_configuration)
{
    struct weir_event_list list;
    make_list(&list, &(struct config_case){"-e cs:k,faults", "cs:k,faults", {.freq_hz = 99}, {0}});
    weir_event_list_limit_to(&list, WEIR_EVENT_SIDE_USER);
    weir_event_list_configure(&list, &(struct weir_event_config){.period = 1});
    for (size_t i = 0; i < 2; i++) {
        cr_expect(list.events[i].attr.exclude_kernel && !list.events[i].attr.exclude_user);
        cr_expect_not(weir_event_fall_back_to_user(&list.events[i]));
    }
    weir_event_list_limit_to(&list, WEIR_EVENT_SIDE_KERNEL);
    cr_expect(!list.events[0].attr.exclude_kernel && list.events[0].attr.exclude_user);
    weir_event_list_fini(&list);
}

/* ---- terms and groups, as the parser leaves them ---- */

static struct perf_event_attr configured_with(struct weir_event_terms terms, const struct weir_event_config *config)
{
    struct weir_event_list list;
    make_list(&list, &(struct config_case){"terms", "cpu-clock", *config, {0}});
    list.events[0].terms = terms;
    weir_event_list_configure(&list, config);
    struct perf_event_attr attr = list.events[0].attr;
    weir_event_list_fini(&list);
    return attr;
}

Test(event_config, terms_of_an_event_go_before_the_options)
{
    const struct weir_event_config config = {
        .freq_hz = 99,
        .inherit = true,
        .samples = {.call_graph = {.mode = WEIR_CALL_GRAPH_DWARF, .stack_bytes = 4096}}};
    struct perf_event_attr attr =
        configured_with((struct weir_event_terms){.given = WEIR_TERM_PERIOD, .period = 7}, &config);
    cr_expect(!attr.freq && attr.sample_period == 7 && !(attr.sample_type & PERF_SAMPLE_PERIOD));
    attr = configured_with((struct weir_event_terms){.given = WEIR_TERM_FREQ, .freq_hz = 5},
                           &(struct weir_event_config){.period = 100});
    cr_expect(attr.freq && attr.sample_freq == 5 && attr.sample_type & PERF_SAMPLE_PERIOD);
    attr = configured_with((struct weir_event_terms){.given = WEIR_TERM_INHERIT, .inherit = false}, &config);
    cr_expect_eq(attr.inherit, 0);
    attr = configured_with((struct weir_event_terms){.given = WEIR_TERM_TIME, .time = false}, &config);
    cr_expect(attr.sample_type & PERF_SAMPLE_TIME);
    attr = configured_with((struct weir_event_terms){.given = WEIR_TERM_BRANCH, .branch_filter = 8}, &config);
    cr_expect(attr.sample_type & PERF_SAMPLE_BRANCH_STACK && attr.branch_sample_type == 8);
}

Test(event_config, call_chain_terms_of_an_event_go_before_the_options)
{
    const struct weir_event_config config = {
        .freq_hz = 99, .samples = {.call_graph = {.mode = WEIR_CALL_GRAPH_DWARF, .stack_bytes = 4096}}};
    struct perf_event_attr attr =
        configured_with((struct weir_event_terms){.given = WEIR_TERM_CALL_GRAPH}, &config); /* "no" */
    cr_expect_eq(attr.sample_type & (PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_STACK_USER), 0);
    attr = configured_with((struct weir_event_terms){.given = WEIR_TERM_MAX_STACK, .max_stack = 3}, &config);
    cr_expect(attr.sample_max_stack == 3 && !(attr.sample_type & PERF_SAMPLE_STACK_USER));
    attr = configured_with((struct weir_event_terms){.given = WEIR_TERM_STACK_SIZE, .stack_bytes = 1001}, &config);
    cr_expect_eq(attr.sample_stack_user, 1008);
    attr =
        configured_with((struct weir_event_terms){.given = WEIR_TERM_CALL_GRAPH, .call_graph = WEIR_CALL_GRAPH_DWARF},
                        &(struct weir_event_config){.period = 1});
    cr_expect(attr.sample_stack_user == 8192 && attr.exclude_callchain_user);
}

/* `perf record --call-graph fp,defer` of perf 6.19 sets the same bits, defer_output on its tracking event. */
Test(event_config, user_parts_of_call_chains_are_deferred)
{
    struct weir_event_config config = {
        .freq_hz = 99, .samples = {.call_graph = {.mode = WEIR_CALL_GRAPH_FP, .defers = true}}, .overwrite = true};
    struct weir_event_list list = WEIR_EVENT_LIST_INIT;
    cr_assert_eq(weir_event_list_parse(&list, "cs,faults/call-graph=fp/", NULL, NULL), 0);
    cr_assert_eq(weir_event_list_add_sideband(&list), 0);
    cr_assert_eq(weir_event_list_add_deferred(&list), 0);
    weir_event_list_configure(&list, &config);
    const struct perf_event_attr *output = &list.events[3].attr;
    cr_expect(list.events[0].attr.defer_callchain && !list.events[0].attr.defer_output);
    cr_expect(!list.events[1].attr.defer_callchain && list.events[1].attr.sample_type & PERF_SAMPLE_CALLCHAIN);
    cr_expect(!list.events[2].attr.defer_callchain && !list.events[2].attr.defer_output);
    cr_expect(output->defer_output && !output->defer_callchain);
    /* It asks for a side record, so that the kernel asks it, and gets no other. */
    cr_expect(output->comm_exec && !output->comm && !output->mmap && !output->task);
    cr_expect(output->sample_period == 0 && output->write_backward);
    for (size_t i = 0; i < list.count; i++) {
        const struct perf_event_attr attr = weir_event_file_attr(&list.events[i], &config);
        cr_expect(!attr.defer_callchain && !attr.defer_output);
    }
    config.samples.kernel_callchains = true;
    weir_event_list_configure(&list, &config);
    cr_expect_not(list.events[0].attr.defer_callchain);
    weir_event_list_fini(&list);
}

/* `perf record -e '{cpu-clock,task-clock,cs}:S'`: the leader samples, the members are read with it. */
Test(event_config, members_of_a_sampled_group_are_read_with_their_leader)
{
    struct weir_event_list list;
    const struct weir_event_config config = {.freq_hz = 4000, .inherit = true, .enable_on_exec = true};
    make_list(&list, &(struct config_case){":S", "cpu-clock,task-clock,cs", config, {0}});
    for (size_t i = 0; i < 3; i++) {
        list.events[i].leader = 0;
        list.events[i].sample_read = true;
    }
    list.events[2].terms = (struct weir_event_terms){.given = WEIR_TERM_PERIOD, .period = 7};
    weir_event_list_configure(&list, &config);
    for (size_t i = 0; i < 3; i++) {
        const struct perf_event_attr *attr = &list.events[i].attr;
        cr_expect_eq(attr->read_format, PERF_FORMAT_ID | PERF_FORMAT_LOST | PERF_FORMAT_GROUP);
        cr_expect(attr->sample_type & PERF_SAMPLE_READ);
        cr_expect(attr->inherit == 0 && attr->disabled == (i == 0) && attr->enable_on_exec == (i == 0));
    }
    cr_expect(list.events[0].attr.freq && list.events[0].attr.sample_freq == 4000);
    cr_expect(!list.events[1].attr.freq && list.events[1].attr.sample_period == 0);
    cr_expect_eq(list.events[1].attr.sample_type, list.events[0].attr.sample_type);
    cr_expect_eq(list.events[2].attr.sample_period, 7, "its own period lets a member sample");
    cr_expect_eq(list.events[3].attr.read_format, PERF_FORMAT_ID | PERF_FORMAT_LOST, "not of the sideband event");
    weir_event_list_fini(&list);
}

/* `weir record -b -e '{cpu-clock/call-graph=dwarf/,dummy}:S'`: the kernel takes no sample_type without what belongs to
 * it.
 */
Test(event_config, members_of_a_sampled_group_have_what_belongs_to_its_samples)
{
    struct weir_event_list list;
    const struct weir_event_config config = {.freq_hz = 4000, .samples = {.branch_filter = PERF_SAMPLE_BRANCH_ANY}};
    make_list(&list, &(struct config_case){":S", "cpu-clock,dummy", config, {0}});
    for (size_t i = 0; i < 2; i++) {
        list.events[i].leader = 0;
        list.events[i].sample_read = true;
    }
    list.events[0].terms =
        (struct weir_event_terms){.given = WEIR_TERM_CALL_GRAPH, .call_graph = WEIR_CALL_GRAPH_DWARF};
    weir_event_list_configure(&list, &config);
    const struct perf_event_attr *leader = &list.events[0].attr, *member = &list.events[1].attr;
    cr_expect(leader->sample_regs_user && leader->sample_stack_user && leader->branch_sample_type);
    cr_expect_eq(member->sample_type, leader->sample_type);
    cr_expect_eq(member->sample_regs_user, leader->sample_regs_user);
    cr_expect_eq(member->sample_stack_user, leader->sample_stack_user);
    cr_expect_eq(member->branch_sample_type, leader->branch_sample_type);
    weir_event_list_fini(&list);
}

/* `perf record -a -e '{cpu-clock,cs:S,faults}'`: one member reads the group, all of them sample. */
Test(event_config, member_that_reads_its_group_samples_by_itself)
{
    struct weir_event_list list = WEIR_EVENT_LIST_INIT;
    const struct weir_event_config config = {.freq_hz = 4000, .system_wide = true, .inherit = true};
    make_list(&list, &(struct config_case){":S", "cpu-clock,cs,faults", config, {0}});
    for (unsigned i = 0; i < 3; i++)
        list.events[i].leader = 0;
    list.events[1].sample_read = true;
    weir_event_list_configure(&list, &config);
    for (unsigned i = 0; i < 3; i++) {
        const struct perf_event_attr *attr = &list.events[i].attr;
        cr_expect_eq((attr->sample_type & PERF_SAMPLE_READ) != 0, i == 1);
        cr_expect_eq((attr->read_format & PERF_FORMAT_GROUP) != 0, i == 1);
        cr_expect_eq(attr->inherit, i != 1);
        cr_expect(attr->freq == 1 && attr->sample_freq == 4000);
    }
    weir_event_list_fini(&list);
}

Test(event_config, event_that_is_read_alone_needs_no_group)
{
    struct weir_event_list list;
    const struct weir_event_config config = {.freq_hz = 4000, .inherit = true};
    make_list(&list, &(struct config_case){"cpu-clock:S", "cpu-clock", config, {0}});
    list.events[0].sample_read = true;
    weir_event_list_configure(&list, &config);
    cr_expect_eq(list.events[0].attr.read_format, PERF_FORMAT_ID | PERF_FORMAT_LOST);
    cr_expect(list.events[0].attr.sample_type & PERF_SAMPLE_READ && list.events[0].attr.inherit);
    weir_event_list_fini(&list);
}

/* ---- what cannot be had ---- */

static char told[4][256];
static size_t told_count;

static void keep_notice(void *ctx, enum weir_notice_level level, const char *line)
{
    (void)ctx;
    cr_assert(told_count < WEIR_ARRAY_COUNT(told) && level == WEIR_NOTICE_WARNING);
    snprintf(told[told_count++], sizeof(told[0]), "%s", line);
}

Test(event_config, what_cannot_be_had_is_told)
{
    const struct weir_notice_sink sink = {.emit = keep_notice};
    struct weir_event_config config = {
        .freq_hz = 99,
        .samples = {.call_graph = {.mode = WEIR_CALL_GRAPH_LBR}, .branch_filter = PERF_SAMPLE_BRANCH_ANY}};
    struct weir_event_list list;
    make_list(&list, &(struct config_case){"lbr", "cs:k,faults,ftrace:function", config, {0}});
    weir_event_list_tell_limits(&list, &config, &sink);
    cr_assert_eq(told_count, 2);
    cr_expect(strstr(told[0], "--call-graph=lbr") && strstr(told[1], "event cs:k"));

    told_count = 0;
    config.samples = (struct weir_sample_options){.call_graph = {.mode = WEIR_CALL_GRAPH_DWARF, .stack_bytes = 8}};
    weir_event_list_tell_limits(&list, &config, &sink);
    cr_assert_eq(told_count, 1);
    cr_expect(strstr(told[0], "event ftrace:function"));
    config.samples.call_graph.mode = WEIR_CALL_GRAPH_FP;
    weir_event_list_tell_limits(&list, &config, &sink);
    cr_expect_eq(told_count, 1);
    weir_event_list_fini(&list);
}

Test(event_config, all_events_share_one_trailer)
{
    const uint64_t trailer = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
                             PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
        struct weir_event_list list;
        make_list(&list, &cases[i]);
        for (size_t event = 0; event < list.count; event++) {
            const struct perf_event_attr *attr = &list.events[event].attr;
            cr_expect_eq(attr->sample_type & trailer,
                         PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER, "%s",
                         cases[i].command);
            cr_expect_eq(attr->sample_id_all, 1);
        }
        weir_event_list_fini(&list);
    }
}

/* One event beside that of side records: no record says which it is of, and nothing else changes. */
Test(event_config, only_the_id_is_missing_without_ids)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
        struct weir_event_list with, without;
        struct config_case row = cases[i];
        make_list(&with, &row);
        row.config.without_ids = true;
        make_list(&without, &row);
        for (size_t event = 0; event < with.count; event++) {
            struct perf_event_attr want = with.events[event].attr;
            want.sample_type &= ~(uint64_t)PERF_SAMPLE_IDENTIFIER;
            expect_attr(row.command, &without.events[event].attr, &want);
        }
        weir_event_list_fini(&with);
        weir_event_list_fini(&without);
    }
}

Test(event_config, function_trace_leaves_out_user_call_chains)
{
    struct weir_event_list list;
    make_list(&list, &(struct config_case){"-e ftrace:function -a true", "ftrace:function", {.freq_hz = 4000}, {0}});
    cr_expect_eq(list.events[0].attr.exclude_callchain_user, 1);
    cr_expect_eq(list.events[1].attr.exclude_callchain_user, 0);
    weir_event_list_fini(&list);
}

Test(event_config, a_second_configuration_leaves_nothing_of_the_first)
{
    struct weir_event_list first, second;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(cases); i++) {
        make_list(&second, &cases[i]);
        make_list(&first, &cases[i]);
        const struct weir_event_config other = {.period = 7,
                                                .period_or_freq_given = true,
                                                .samples = {.call_graph = {.mode = WEIR_CALL_GRAPH_FP}},
                                                .inherit = !cases[i].config.inherit};
        weir_event_list_configure(&second, &other);
        struct weir_event_config config = cases[i].config;
        config.watermark_bytes = WATERMARK_BYTES;
        config.sideband_watermark_bytes = SIDEBAND_WATERMARK_BYTES;
        weir_event_list_configure(&second, &config);
        for (size_t event = 0; event < 2; event++)
            expect_attr(cases[i].command, &second.events[event].attr, &first.events[event].attr);
        weir_event_list_fini(&first);
        weir_event_list_fini(&second);
    }
}
