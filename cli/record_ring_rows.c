/* Rows of `weir record`: buffers and threads. Main thread. */
#include "cli/record_rows.h"

#include <errno.h>
#include <string.h>

#include "cli/aux_arguments.h"
#include "cli/ring_options.h"

#define SECTION "Buffers and threads"

#define REALTIME_MIN 1 /* sched(7): SCHED_FIFO priorities */
#define REALTIME_MAX 99

static int apply_threads(void *object, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *arguments = object;
    return weir_threads_spec_apply(&arguments->threads_spec, text, err);
}

static int apply_reader_cpus(void *object, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *arguments = object;
    struct weir_error below = {0};
    if (strcmp(text, "efficient") == 0) {
        weir_cpuset_fini(&arguments->reader_cpus);
        arguments->reader_cpus = (struct weir_cpuset)WEIR_CPUSET_INIT;
        arguments->efficient_readers = true;
        return 0;
    }
    int result = weir_value_parse_cpu_list(text, &arguments->reader_cpus, &below);
    if (result < 0) {
        weir_error_set(err, result, "option '--reader-cpus': %s", below.what);
        weir_error_hint(err, "a list of CPU numbers and ranges such as 0-3,8; or 'efficient', for those of a hybrid "
                             "machine that save energy");
        return result;
    }
    arguments->efficient_readers = false;
    return 0;
}

static int apply_memory(void *object, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *arguments = object;
    uint64_t bytes, span_ns;
    int result = weir_value_parse_size_or_time(text, &bytes, &span_ns);
    if (result < 0 || (bytes == 0 && span_ns == 0)) {
        weir_error_set(err, -EINVAL, "option '--memory': %s '%s'",
                       result == -ERANGE ? "too much:" : "cannot understand", text);
        weir_error_hint(err, "a size with B, K, M or G, such as 64M; or a time with s, m, h or d, such as 30s");
        return -EINVAL;
    }
    arguments->memory_bytes = bytes;
    arguments->memory_span_ns = span_ns;
    return 0;
}

static int apply_max_loss(void *object, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *arguments = object;
    if (weir_value_parse_percent(text, &arguments->max_loss_ppm) < 0) {
        weir_error_set(err, -EINVAL, "option '--max-loss': '%s' is no percentage", text);
        weir_error_hint(err, "0 to 100, with four digits behind the point at most, such as 0.5");
        return -EINVAL;
    }
    arguments->max_loss_given = true;
    return 0;
}

static int apply_shed(void *object, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *arguments = object;
    return weir_shed_apply(&arguments->shed, text, err);
}

static const struct weir_option options[] = {
    {
        .short_name = 'm',
        .long_name = "mmap-pages",
        .argument = "PAGES|SIZE[,AUX]",
        .kind = WEIR_OPTION_RING_PAIR,
        .field = FIELD(ring_sizes, struct weir_ring_size_pair),
        .default_text = "chosen from memory and privileges",
        .section = SECTION,
        .help = "size of each kernel ring: a number of pages, or a size with B, K, M or G",
        .details = "Rounded up to a power of two pages. Without CAP_IPC_LOCK the kernel allows "
                   "kernel.perf_event_mlock_kb per CPU and user, beyond RLIMIT_MEMLOCK. AUX is the size of the area "
                   "beside each ring of an event that has one (intel_pt, intel_bts, arm_spe_N, cs_etm): 4M without "
                   "it, and 128K where the kernel limits what rings take; nothing else uses it.",
    },
    {
        .long_name = "buffer-size",
        .argument = "SIZE",
        .kind = WEIR_OPTION_SIZE,
        .field = FIELD(buffer_bytes, uint64_t),
        .min = WEIR_BUFFER_BYTES_MIN,
        .max = WEIR_BUFFER_BYTES_MAX,
        .default_text = "chosen from memory and CPU count",
        .section = SECTION,
        .help = "memory for what was drained and is not yet written, in all",
        .details = "It bounds how long the disk may stall without loss.",
    },
    {
        .long_name = "shed",
        .argument = WEIR_SHED_ARGUMENT,
        .kind = WEIR_OPTION_CUSTOM,
        .apply = apply_shed,
        .default_text = "batches",
        .section = SECTION,
        .help = "what to do without while the disk is behind: each step includes those before it",
        .details =
            "batches, when half of the buffers is in use: rounds are further apart, which changes no record. "
            "stacks, at three quarters: dumps of user stacks (--call-graph dwarf) are cut to a quarter, from the "
            "outer end. cpus, at seven eighths: samples of the CPUs that hold most of the buffers are dropped "
            "once their rings are half full; LOST_SAMPLES records, the ledger and the closing line tell of them, "
            "and --max-loss counts them. Side records are never shed, nor are samples that -M or --overwrite "
            "keep in memory.",
    },
    {
        .long_name = "max-loss",
        .argument = "PCT",
        .kind = WEIR_OPTION_CUSTOM,
        .apply = apply_max_loss,
        .unit = "%",
        .default_text = "losses are told and change no exit status",
        .section = SECTION,
        .help = "exit with status 3 when more than this part of the samples was lost",
        .details = "0 allows none. The file is finished all the same. Status 3 stands for a workload that exited with "
                   "0 and for a signal that ended the recording; any other status of the workload is kept.",
    },
    {
        .short_name = 'M',
        .long_name = "memory",
        .argument = "SIZE|TIME",
        .kind = WEIR_OPTION_CUSTOM,
        .apply = apply_memory,
        .default_text = "none: samples go to the file as they come",
        .section = SECTION,
        .help = "keep the newest samples in so much memory, or for so long, until a snapshot is asked for",
        .details =
            "SIGUSR2 writes what memory holds to the file, any number of times; recording goes on meanwhile. "
            "Older samples make room for newer ones; records of mappings and tasks always go to the file, so "
            "that every sample of a snapshot finds its symbols. Memory is taken at the start; with TIME it is 64 "
            "MiB for each reader, at most a sixteenth of the machine's. What is written when recording ends "
            "(--snapshot-on-exit) may begin a second earlier than TIME says.",
    },
    {
        .long_name = "overwrite",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(overwrite, bool),
        .section = SECTION,
        .help = "let the kernel's rings keep the newest samples (-m); they are read at the end",
        .details = "SIGUSR2 has them read earlier, any number of times; all rings are paused for that at one moment, "
                   "and what comes meanwhile is counted as lost. No reader runs in between. Records of mappings and "
                   "tasks are recorded as ever.",
    },
    {
        .short_name = 'S',
        .long_name = "snapshot",
        .argument = "[e][SIZE]",
        .argument_optional = true,
        .kind = WEIR_OPTION_CUSTOM,
        .apply = weir_apply_aux_snapshot,
        .default_text = "AUX areas go to the file as they fill up",
        .section = SECTION,
        .help = "let the kernel keep the newest trace in AUX areas; SIGUSR2 writes it to the file; e: at the end, too",
        .details = "Of each area SIZE bytes at most; without it all of the area (-m ,AUX). Needs an event with an AUX "
                   "area, such as intel_pt//. All that asks for a snapshot takes one: signals, --control, "
                   "--snapshot-on. Tracing stops while it is taken; with -M samples are kept in memory meanwhile, and "
                   "without it they go to the file as they come.",
    },
    {
        .long_name = "aux-sample",
        .argument = "SIZE",
        .argument_optional = true,
        .kind = WEIR_OPTION_CUSTOM,
        .apply = weir_apply_aux_sample,
        .default_text = "samples hold no trace; SIZE is 4096",
        .section = SECTION,
        .help = "put the newest SIZE bytes of the AUX area into each sample of the events that its event leads",
        .details = "As in -e '{intel_pt//,cycles}': 60K at most. Of single events the term aux-sample-size says how "
                   "much, 0 for none, and needs no --aux-sample. The trace as a whole is not recorded.",
    },
    {
        .long_name = "snapshot-on-exit",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(snapshot_on_exit, bool),
        .section = SECTION,
        .help = "with -M or -S: write what memory holds when recording ends, too; --overwrite always does",
    },
    {
        .long_name = "threads",
        .argument = "SPEC",
        .argument_optional = true,
        .kind = WEIR_OPTION_CUSTOM,
        .apply = apply_threads,
        .default_text = "cpu",
        .section = SECTION,
        .help = "which threads drain the rings: one per cpu, core, package or numa node, or masks "
                "CPUS/AFFINITY[:CPUS/AFFINITY...]",
    },
    {
        .long_name = "reader-cpus",
        .argument = "CPUS",
        .kind = WEIR_OPTION_CUSTOM,
        .apply = apply_reader_cpus,
        .default_text = "all but those of isolcpus= and nohz_full=",
        .section = SECTION,
        .help = "the CPUs on which weir's threads run, such as housekeeping CPUs; or 'efficient': the efficient cores "
                "of a hybrid machine",
        .details = "One reader runs on each of them and drains the rings of the CPUs of its NUMA node; with "
                   "--threads=LAYOUT the readers stay as they are and only move there. Without it, no reader runs on "
                   "CPUs that the kernel was told to isolate (isolcpus=, nohz_full=), unless masks of --threads say "
                   "so. 'efficient' leaves these out, too; where all CPUs are of one kind it warns, and changes "
                   "nothing.",
    },
    {
        .long_name = "no-buffering",
        .negatable = true,
        .kind = WEIR_OPTION_FLAG,
        .field = FIELD(samples.no_buffering, bool),
        .section = SECTION,
        .help = "wake up for each record rather than when a quarter of a ring is filled",
    },
    {
        .short_name = 'r',
        .long_name = "realtime",
        .argument = "PRIO",
        .kind = WEIR_OPTION_NUMBER,
        .field = FIELD(realtime_priority, uint64_t),
        .min = REALTIME_MIN,
        .max = REALTIME_MAX,
        .default_text = "none",
        .section = SECTION,
        .help = "run weir's threads with this SCHED_FIFO priority",
    },
};

const struct weir_option_rows weir_record_ring_rows = WEIR_OPTION_ROWS(options);
