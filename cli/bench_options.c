/* The options of `weir bench drain`: those of engine/sim/simulate.h. Main thread. */
#include "cli/bench_options.h"

#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "base/clock.h"
#include "cli/exit_status.h"
#include "cli/ring_options.h"

#define OTHER "Other options"

#define CPUS_DEFAULT    4
#define CPUS_MAX        WEIR_SIMULATE_CPUS_MAX
#define NODES_MAX       64
#define RECORDS_DEFAULT 1000000
#define RECORDS_MAX     1000000000000ull
#define RATE_MAX_HZ     1000000000ull
#define PAYLOAD_DEFAULT 64
#define PAYLOAD_MIN     8
#define PAYLOAD_MAX     60000
#define SEED_DEFAULT    1
#define SECONDS_MAX     86400
#define STALL_MAX_MS    60000
#define MIX_PARTS_MAX   1000
#define PROBE_DEFAULT_S 1
#define AFTER_STALL_NS  (100 * WEIR_NS_PER_MS) /* of a run that is as long as its stall asks for */
#define OUTPUT_DEFAULT  "/dev/null"

#define FIELD(name, type) WEIR_OPTION_FIELD(struct weir_bench_arguments, name, type)

static int refuse_mix(struct weir_error *err, const char *text, size_t length)
{
    weir_error_set(err, -EINVAL, "option '--mix': '%.*s' is not part of a mix", (int)length, text);
    weir_error_hint(
        err,
        "takes tracepoint, callchain, dwarf, aggregate, unwind and deferred, each with a number of parts from 1 to %d "
        "behind a colon, or without: tracepoint:90,callchain:9,dwarf:1",
        MIX_PARTS_MAX);
    return -EINVAL;
}

/* One "KIND" or "KIND:PARTS" of `length` characters. */
static int add_part(struct weir_sim_mix *mix, const char *text, size_t length, struct weir_error *err)
{
    const char *colon = memchr(text, ':', length);
    size_t name_length = colon ? (size_t)(colon - text) : length;
    char digits[8] = "1";
    uint64_t parts;
    if (colon) {
        size_t digit_count = length - name_length - 1;
        if (digit_count == 0 || digit_count >= sizeof(digits))
            return refuse_mix(err, text, length);
        memcpy(digits, colon + 1, digit_count);
        digits[digit_count] = '\0';
    }
    if (weir_value_parse_number(digits, &parts) < 0 || parts < 1 || parts > MIX_PARTS_MAX)
        return refuse_mix(err, text, length);
    for (unsigned kind = 0; kind < WEIR_SIM_KIND_COUNT; kind++) {
        const char *name = weir_sim_kind_names[kind];
        if (strlen(name) == name_length && memcmp(name, text, name_length) == 0) {
            mix->parts[kind] = (unsigned)parts;
            return 0;
        }
    }
    return refuse_mix(err, text, length);
}

static int apply_mix(void *object, const char *text, struct weir_error *err)
{
    struct weir_bench_arguments *arguments = object;
    struct weir_sim_mix mix = {{0}};
    for (const char *part = text;;) {
        size_t length = strcspn(part, ",");
        int result = add_part(&mix, part, length, err);
        if (result < 0)
            return result;
        if (part[length] == '\0')
            break;
        part += length + 1;
    }
    arguments->mix = mix;
    return 0;
}

static int apply_runs(void *object, const char *text, struct weir_error *err)
{
    struct weir_bench_arguments *arguments = object;
    uint64_t runs;
    if (weir_value_parse_number(text, &runs) < 0 || runs < 1 || runs > WEIR_BENCH_RUNS_MAX) {
        weir_error_set(err, -EINVAL, "option '--runs': '%s' is not a number of runs", text);
        weir_error_hint(err, "1 to %u", WEIR_BENCH_RUNS_MAX);
        return -EINVAL;
    }
    arguments->runs = (unsigned)runs;
    arguments->runs_given = true;
    return 0;
}

static const struct weir_option load_options[] = {
    {
        WEIR_OPTION_VALUE_OF(0, "cpus", "N", WEIR_OPTION_NUMBER, FIELD(cpus, uint64_t)),
        .min = 1,
        .max = CPUS_MAX,
        .default_text = "4",
        .help = "simulated CPUs, each with its own rings",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "nodes", "N", WEIR_OPTION_NUMBER, FIELD(nodes, uint64_t)),
        .min = 1,
        .max = NODES_MAX,
        .default_text = "1",
        .help = "number of NUMA nodes over which the CPUs are spread, evenly",
        .details = "Readers and chunks are placed as on such a machine, and bytes that cross nodes are counted; the "
                   "memory itself lies where this machine puts it.",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "records", "N", WEIR_OPTION_NUMBER, FIELD(records_per_cpu, uint64_t)),
        .min = 1,
        .max = RECORDS_MAX,
        .default_text = "1000000",
        .help = "samples that each CPU produces",
        .details = "With --stall, and without --records and --seconds, the run is as long as the stall needs.",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "seconds", "N", WEIR_OPTION_NUMBER, FIELD(seconds, uint64_t)),
        .unit = "s",
        .min = 1,
        .max = SECONDS_MAX,
        .help = "instead of --records: N seconds at --rate; of each run of --rate=max",
        .details = "By default a run of --rate=max takes one second.",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "rate", "HZ", WEIR_OPTION_FREQUENCY, FIELD(rate_per_cpu_hz, uint64_t)),
        .unit = "Hz",
        .min = 1,
        .max = RATE_MAX_HZ,
        .default_text = "as fast as they can",
        .help = "samples per second that each CPU produces; max: search the highest without loss",
        .details = "The search repeats the run with other rates until the highest rate without loss is known to 5 %; "
                   "the report is of a run with that rate. The producers share the machine with the readers, so the "
                   "rate is what this machine achieves at both.",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "closed-loop", FIELD(closed_loop, bool)),
        .help = "let producers wait for room in their rings, so that they make no loss",
        .details = "Without it a producer that is faster than its reader loses samples, as a kernel does. With it the "
                   "rate is what readers and writer can take.",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "burst", "N", WEIR_OPTION_NUMBER, FIELD(burst, uint64_t)),
        .unit = "samples",
        .min = 1,
        .max = RECORDS_MAX,
        .default_text = "few: all CPUs proceed side by side",
        .help = "samples that a CPU produces before another one has its turn",
        .details = "With more simulated CPUs than this machine has, each real CPU plays several in turn. Side by "
                   "side, simulated CPUs evict each other's rings from the caches before a ring reaches its "
                   "watermark. With bursts of a quarter of a ring and more, readers drain records that were written "
                   "just before, as on a machine where each CPU has caches of its own. With --rate each simulated CPU "
                   "has that rate on average, and the rate of all together during its turn.",
    },
    {
        WEIR_OPTION_CUSTOM_OF(0, "mix", "KIND[:PARTS],...", apply_mix),
        .default_text = "tracepoint",
        .help = "kinds of samples: tracepoint, callchain, dwarf, aggregate, unwind, deferred, by parts of all samples",
        .details = "tracepoint: the raw bytes of --payload; callchain: 8 to 40 frames; dwarf: registers and 8 KiB of "
                   "stack; aggregate: 512 different call chains, and equal samples are merged as by --aggregate of "
                   "weir record; unwind: as dwarf, with a real stack of some 20 frames, and all copied stacks of the "
                   "run are unwound before they are written; deferred: 6 frames of the kernel, and 8 to 40 user frames "
                   "in a record of their own, which weir joins. Each kind is an event of its own.",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "payload", "BYTES", WEIR_OPTION_NUMBER, FIELD(payload_bytes, uint64_t)),
        .unit = "bytes",
        .min = PAYLOAD_MIN,
        .max = PAYLOAD_MAX,
        .default_text = "64",
        .help = "raw bytes in each tracepoint sample, at most",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "seed", "N", WEIR_OPTION_NUMBER, FIELD(seed, uint64_t)),
        .max = UINT64_MAX,
        .default_text = "1",
        .help = "seed of the sizes and times of the records",
    },
};

static const struct weir_option series_options[] = {
    {
        WEIR_OPTION_CUSTOM_OF(0, "runs", "N", apply_runs),
        .default_text = "1, with all figures of the run",
        .help = "repeat each run N times; a table shows the median, the least and the greatest",
        .details = "Progress goes to standard error. A signal ends the series; the runs that are done are shown.",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "sweep", "OPTION=VALUE,...", WEIR_OPTION_TEXT_LIST,
                             FIELD(sweeps, struct weir_text_list)),
        .repeatable = true,
        .help = "run with each value of another option: cpus=1,8,64; several sweeps: each combination",
        .details = "Sweeps cpus, nodes, rate, payload, burst, shed, buffer-size and mmap-pages; also mix and threads, "
                   "with semicolons between values: 'mix=tracepoint;tracepoint:9,dwarf'.",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "fail-below", "FIGURE=N", WEIR_OPTION_TEXT_LIST,
                             FIELD(thresholds, struct weir_text_list)),
        .repeatable = true,
        .help = "exit with status 3 when the median of a figure is below N at any point",
        .details = "The figures are samples_per_cpu_per_s, mb_per_s, million_records_per_s, drain_mb_per_cpu_s and "
                   "kept_percent, as in the JSON.",
    },
};

static const struct weir_option run_options[] = {
    {
        WEIR_OPTION_VALUE_OF('o', "output", "FILE", WEIR_OPTION_TEXT, FIELD(options.output.path, const char *)),
        .default_text = OUTPUT_DEFAULT,
        .section = WEIR_RING_OPTIONS_SECTION,
        .help = "write to FILE, so that the figures include its disk",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "stall", "MS", WEIR_OPTION_FREQUENCY, FIELD(stall_ms, uint64_t)),
        .unit = "ms",
        .min = 1,
        .max = STALL_MAX_MS,
        .section = WEIR_RING_OPTIONS_SECTION,
        .help = "stall the disk for MS milliseconds; max: search the longest stall without loss",
        .details = "Needs --rate. The stall begins 200 ms after the start; the disk takes no write meanwhile, through "
                   "the page cache or past it. The report shows the stall beside the rule pool >= rate x stall.",
    },
    {
        WEIR_OPTION_FLAG_OF('j', "json", FIELD(json, bool)),
        .section = OTHER,
        .help = "print parameters and results as one JSON object",
    },
    {
        WEIR_OPTION_VALUE_OF('v', "verbose", NULL, WEIR_OPTION_COUNTER, FIELD(verbosity, unsigned)),
        .negatable = true,
        .repeatable = true,
        .section = OTHER,
        .help = "show the plan, and at the end the counts and losses of each CPU",
    },
    {
        WEIR_OPTION_FLAG_OF('q', "quiet", FIELD(quiet, bool)),
        .section = OTHER,
        .help = "no notices; overrides -v",
    },
    WEIR_OPTION_HELP_ROW,
};

static const struct weir_option_rows load_rows = WEIR_OPTION_ROWS_OF("Simulated load", load_options);
static const struct weir_option_rows series_rows = WEIR_OPTION_ROWS_OF("Several runs", series_options);
static const struct weir_option_rows run_rows = WEIR_OPTION_ROWS_OF(NULL, run_options);

/* In the order of help. */
static const struct weir_option_rows *const parts[] = {&load_rows, &series_rows, &weir_ring_option_rows, &run_rows};

static const char *const usages[] = {"[OPTION...]", NULL};

static const char *const description[] = {
    "Runs weir's own readers, buffers and writer on simulated rings: threads write records into memory "
    "with the layout and the memory order of the kernel's rings. Needs no privileges.",
    "Every sample is counted: produced equals written plus lost, or the run fails.",
    NULL,
};

static const struct weir_example examples[] = {
    {"weir bench drain --cpus 64 --rate 20000", "The cost of 64 CPUs with 20000 samples per second each."},
    {"weir bench drain -o out.data --json", "The rate into a file, for a script."},
    {"weir bench drain --cpus 16 --mix tracepoint:99,dwarf:1 --rate max", "The highest rate without loss."},
    {"weir bench drain --cpus 16 --rate 50000 --buffer-size 256M --stall max",
     "The longest stall that a pool of that size bridges."},
    {"weir bench drain --closed-loop --sweep cpus=1,8,64 --runs 5", "What this machine holds, by number of CPUs."},
    {"weir bench drain --rate 100000 --seconds 2 --runs 3 --fail-below kept_percent=100",
     "A gate for a test: exit status 3 if that rate loses samples."},
    {NULL, NULL},
};

const struct weir_command weir_bench_drain_command = {
    .name = "bench drain",
    .summary = "measure how fast and at what CPU cost simulated rings are drained and written",
    .usages = usages,
    .description = description,
    .exits = weir_exit_meanings_of_bench,
    .examples = examples,
    .options = {.command = "weir bench drain", .parts = parts, .part_count = WEIR_ARRAY_COUNT(parts)},
};

void weir_bench_arguments_init(struct weir_bench_arguments *arguments)
{
    *arguments = (struct weir_bench_arguments){
        .options = {.memory.shed = WEIR_SHED_DEFAULT, .output.path = OUTPUT_DEFAULT},
        .cpus = CPUS_DEFAULT,
        .nodes = 1,
        .mix.parts[WEIR_SIM_TRACEPOINT] = 1,
        .payload_bytes = PAYLOAD_DEFAULT,
        .seed = SEED_DEFAULT,
        .runs = 1,
    };
}

void weir_bench_arguments_fini(struct weir_bench_arguments *arguments)
{
    weir_text_list_fini(&arguments->sweeps);
    weir_text_list_fini(&arguments->thresholds);
}

struct weir_simulate_options weir_bench_arguments_simulate_options(const struct weir_bench_arguments *arguments)
{
    bool searches_rate = arguments->goal == WEIR_SIMULATE_RATE, searches_stall = arguments->goal == WEIR_SIMULATE_STALL;
    return (struct weir_simulate_options){
        .load =
            {
                .cpus = (unsigned)arguments->cpus,
                .records_per_cpu = arguments->records_per_cpu,
                .rate_per_cpu_hz = searches_rate ? 0 : arguments->rate_per_cpu_hz,
                .burst = arguments->burst,
                .closed_loop = arguments->closed_loop,
                .payload_bytes = (uint32_t)arguments->payload_bytes,
                .mix = arguments->mix,
                .seed = arguments->seed,
            },
        .nodes = (unsigned)arguments->nodes,
        .record = arguments->options,
        .stall_ns = searches_stall ? 0 : arguments->stall_ms * WEIR_NS_PER_MS,
    };
}

bool weir_bench_arguments_want_series(const struct weir_bench_arguments *arguments)
{
    return arguments->runs_given || arguments->sweeps.count > 0 || arguments->thresholds.count > 0;
}

int weir_bench_arguments_parse(struct weir_bench_arguments *arguments, char *const *argv, struct weir_error *err)
{
    size_t used;
    int result = weir_options_parse(&weir_bench_drain_command.options, arguments, argv, &used, err);
    if (result == WEIR_OPTIONS_PARSED && argv[used]) {
        weir_error_set(err, -EINVAL, "unexpected argument '%s'", argv[used]);
        weir_error_hint(err, "'%s' takes options only", weir_bench_drain_command.options.command);
        return -EINVAL;
    }
    return result;
}

static int refuse(struct weir_error *err, const char *what, const char *hint)
{
    weir_error_set(err, -EINVAL, "%s", what);
    weir_error_hint(err, "%s", hint);
    return -EINVAL;
}

/* Options that need or exclude one another. */
static int check_together(const struct weir_bench_arguments *arguments, struct weir_error *err)
{
    bool searches_rate = arguments->rate_per_cpu_hz == WEIR_VALUE_FREQ_MAX;
    if (arguments->cpus % arguments->nodes != 0)
        return refuse(err, "--nodes does not divide --cpus", "the CPUs are spread over the nodes evenly");
    if (arguments->records_per_cpu && arguments->seconds)
        return refuse(err, "--records and --seconds both say how long to run", "give one of them");
    if (arguments->seconds && !arguments->rate_per_cpu_hz)
        return refuse(err, "--seconds needs --rate", "as fast as they can, the producers run by --records");
    if (arguments->stall_ms && (!arguments->rate_per_cpu_hz || searches_rate))
        return refuse(err, "--stall needs a --rate",
                      "what is bridged depends on how fast the pool fills: --rate 10000");
    if (searches_rate && arguments->records_per_cpu)
        return refuse(err, "--records cannot be combined with --rate=max", "--seconds says how long each run takes");
    if (arguments->closed_loop && (searches_rate || arguments->stall_ms == WEIR_VALUE_FREQ_MAX))
        return refuse(err, "--closed-loop cannot be combined with a search",
                      "a search looks for the first loss, and producers that wait lose nothing");
    if (arguments->stall_ms == WEIR_VALUE_FREQ_MAX && (arguments->records_per_cpu || arguments->seconds))
        return refuse(err, "--stall=max takes neither --records nor --seconds",
                      "each run is as long as its stall needs");
    return 0;
}

/* How long one run is, from whichever option says so. */
static void resolve_length(struct weir_bench_arguments *arguments)
{
    arguments->goal = arguments->rate_per_cpu_hz == WEIR_VALUE_FREQ_MAX ? WEIR_SIMULATE_RATE
                      : arguments->stall_ms == WEIR_VALUE_FREQ_MAX      ? WEIR_SIMULATE_STALL
                                                                        : WEIR_SIMULATE_ONCE;
    arguments->probe_ns = (arguments->seconds ? arguments->seconds : PROBE_DEFAULT_S) * WEIR_NS_PER_S;
    if (arguments->records_per_cpu || arguments->goal != WEIR_SIMULATE_ONCE)
        return;
    uint64_t length_ns = arguments->seconds * WEIR_NS_PER_S;
    if (!length_ns && arguments->stall_ms)
        length_ns = WEIR_SIMULATE_WARM_UP_NS + arguments->stall_ms * WEIR_NS_PER_MS + AFTER_STALL_NS;
    double records = (double)arguments->rate_per_cpu_hz * (double)length_ns / (double)WEIR_NS_PER_S;
    arguments->records_per_cpu = length_ns ? weir_max_u64((uint64_t)records, 1) : RECORDS_DEFAULT;
}

int weir_bench_arguments_resolve(struct weir_bench_arguments *arguments, uint64_t page_bytes,
                                 const struct weir_notice_sink *notices, struct weir_error *err)
{
    int result = check_together(arguments, err);
    if (result < 0)
        return result;
    resolve_length(arguments);
    return weir_ring_sizes_resolve(&arguments->ring_sizes, page_bytes, notices, &arguments->options, err);
}
