/* The options of `weir bench drain`: those of engine/simulate.h. Main thread. */
#include "cli/bench_options.h"

#include <errno.h>

#include "base/bits.h"
#include "cli/exit_status.h"
#include "cli/ring_options.h"

#define LOAD  "Simulated load"
#define DRAIN "Buffers and threads"
#define OTHER "Other options"

#define CPUS_DEFAULT    4
#define CPUS_MAX        1024
#define RECORDS_DEFAULT 1000000
#define RECORDS_MAX     1000000000000ull
#define RATE_MAX_HZ     1000000000ull
#define PAYLOAD_DEFAULT 64
#define PAYLOAD_MIN     8
#define PAYLOAD_MAX     60000
#define SEED_DEFAULT    1
#define OUTPUT_DEFAULT  "/dev/null"

#define FIELD(name, type) WEIR_OPTION_FIELD(struct weir_bench_arguments, name, type)

static int apply_threads(void *object, const char *text, struct weir_error *err)
{
    struct weir_bench_arguments *arguments = object;
    return weir_threads_spec_apply(&arguments->threads_spec, text, err);
}

static const struct weir_option options[] = {
    {
        .long_name = "cpus",
        .argument = "N",
        .kind = WEIR_OPTION_NUMBER,
        .field = FIELD(cpus, uint64_t),
        .min = 1,
        .max = CPUS_MAX,
        .default_text = "4",
        .section = LOAD,
        .help = "simulated CPUs, each with its own rings",
    },
    {
        .long_name = "records",
        .argument = "N",
        .kind = WEIR_OPTION_NUMBER,
        .field = FIELD(records_per_cpu, uint64_t),
        .min = 1,
        .max = RECORDS_MAX,
        .default_text = "1000000",
        .section = LOAD,
        .help = "samples that each CPU produces",
    },
    {
        .long_name = "rate",
        .argument = "HZ",
        .kind = WEIR_OPTION_NUMBER,
        .field = FIELD(rate_per_cpu_hz, uint64_t),
        .unit = "Hz",
        .min = 1,
        .max = RATE_MAX_HZ,
        .default_text = "as fast as they can",
        .section = LOAD,
        .help = "samples per second that each CPU produces",
    },
    {
        .long_name = "payload",
        .argument = "BYTES",
        .kind = WEIR_OPTION_NUMBER,
        .field = FIELD(payload_bytes, uint64_t),
        .unit = "bytes",
        .min = PAYLOAD_MIN,
        .max = PAYLOAD_MAX,
        .default_text = "64",
        .section = LOAD,
        .help = "raw bytes in each sample",
    },
    {
        .long_name = "seed",
        .argument = "N",
        .kind = WEIR_OPTION_NUMBER,
        .field = FIELD(seed, uint64_t),
        .max = UINT64_MAX,
        .default_text = "1",
        .section = LOAD,
        .help = "what sizes and times of the records follow from",
    },
    {
        .short_name = 'm',
        .long_name = "mmap-pages",
        .argument = "PAGES|SIZE",
        .kind = WEIR_OPTION_RING_SIZE,
        .field = FIELD(ring_size, struct weir_ring_size),
        .default_text = "512K",
        .section = DRAIN,
        .help = "size of each simulated ring: a number of pages, or a size with B, K, M or G",
        .details = "Rounded up to a power of two pages.",
    },
    {
        .long_name = "buffer-size",
        .argument = "SIZE",
        .kind = WEIR_OPTION_SIZE,
        .field = FIELD(buffer_bytes, uint64_t),
        .min = WEIR_BUFFER_BYTES_MIN,
        .max = WEIR_BUFFER_BYTES_MAX,
        .default_text = "chosen from memory and CPU count",
        .section = DRAIN,
        .help = "memory for what was drained and is not yet written, in all",
    },
    {
        .long_name = "threads",
        .argument = "SPEC",
        .argument_optional = true,
        .kind = WEIR_OPTION_CUSTOM,
        .apply = apply_threads,
        .default_text = "cpu",
        .section = DRAIN,
        .help = "which threads drain the rings, as for weir record",
    },
    {
        .short_name = 'o',
        .long_name = "output",
        .argument = "FILE",
        .kind = WEIR_OPTION_TEXT,
        .field = FIELD(output_path, const char *),
        .default_text = OUTPUT_DEFAULT,
        .section = DRAIN,
        .help = "write to FILE, to have its disk in the figures",
    },
    {
        .long_name = "json",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(json, bool),
        .section = OTHER,
        .help = "print parameters and results as one JSON object",
    },
    {
        .short_name = 'v',
        .long_name = "verbose",
        .negatable = true,
        .repeatable = true,
        .kind = WEIR_OPTION_COUNTER,
        .field = FIELD(verbosity, unsigned),
        .section = OTHER,
        .help = "show the plan, and at the end the counts and losses of each CPU; -vv: all decisions",
    },
    {
        .short_name = 'q',
        .long_name = "quiet",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(quiet, bool),
        .section = OTHER,
        .help = "no notices; goes before -v",
    },
    WEIR_OPTION_HELP_ROW,
};

static const char *const usages[] = {"[OPTION...]", NULL};

static const char *const description[] = {
    "Runs weir's own readers, buffers and writer on simulated rings: threads write records into memory of the layout "
    "and "
    "the memory order that the kernel's rings have. Needs no privileges.",
    "Every sample is counted: what was produced is what was written and what was lost, or the run fails.",
    NULL,
};

static const struct weir_example examples[] = {
    {"weir bench drain --cpus 64 --rate 20000", "What 64 CPUs with 20000 samples per second each cost."},
    {"weir bench drain -o out.data --json", "The rate into a file, for a script."},
    {NULL, NULL},
};

const struct weir_command weir_bench_drain_command = {
    .name = "bench drain",
    .summary = "measure how fast and at what CPU cost simulated rings are drained and written",
    .usages = usages,
    .description = description,
    .exits = weir_exit_meanings,
    .examples = examples,
    .options = {.command = "weir bench drain", WEIR_OPTION_ONE_PART(options)},
};

void weir_bench_arguments_init(struct weir_bench_arguments *arguments)
{
    *arguments = (struct weir_bench_arguments){
        .cpus = CPUS_DEFAULT,
        .records_per_cpu = RECORDS_DEFAULT,
        .payload_bytes = PAYLOAD_DEFAULT,
        .seed = SEED_DEFAULT,
        .output_path = OUTPUT_DEFAULT,
    };
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

int weir_bench_arguments_resolve(struct weir_bench_arguments *arguments, uint64_t page_bytes,
                                 const struct weir_notice_sink *notices, struct weir_error *err)
{
    return weir_ring_size_resolve(&arguments->ring_size, WEIR_RING_BYTES_MAX, page_bytes, notices,
                                  &arguments->ring_bytes, err);
}
