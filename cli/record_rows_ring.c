/* Rows of `weir record`: buffers and threads, behind those that `weir bench drain` has, too (cli/ring_options.h). Main
 * thread. */
#include "cli/record_rows_internal.h"

#include <errno.h>
#include <string.h>

#include "cli/aux_arguments.h"
#include "cli/ring_options.h"

#define REALTIME_MIN 1 /* sched(7): SCHED_FIFO priorities */
#define REALTIME_MAX 99

static int apply_memory(void *object, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *arguments = object;
    uint64_t bytes, span_ns;
    int result = weir_value_parse_size_or_time(text, &bytes, &span_ns);
    if (result < 0 || (bytes == 0 && span_ns == 0)) {
        weir_error_set(err, -EINVAL, "option '--memory': %s '%s'",
                       result == -ERANGE ? "too much:" : "cannot understand", text);
        weir_error_hint(err,
                        "a size in bytes, or with K, M or G, such as 64M; or a time with s, m, h or d, such as 30s");
        return -EINVAL;
    }
    arguments->options.memory.retained_bytes = bytes;
    arguments->options.memory.retained_span_ns = span_ns;
    return 0;
}

static int apply_max_loss(void *object, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *arguments = object;
    if (weir_value_parse_percent(text, &arguments->max_loss_ppm) < 0) {
        weir_error_set(err, -EINVAL, "option '--max-loss': '%s' is not a percentage", text);
        weir_error_hint(err, "0 to 100, with at most four decimals, such as 0.5");
        return -EINVAL;
    }
    arguments->max_loss_given = true;
    return 0;
}

static const struct weir_option options[] = {
    {
        WEIR_OPTION_CUSTOM_OF(0, "max-loss", "PCT", apply_max_loss),
        .unit = "%",
        .default_text = "losses do not change the exit status",
        .help = "exit with status 3 when more than PCT percent of the samples were lost",
        .details = "0 allows none. The file is finished all the same. Status 3 stands for a workload that exited with "
                   "0 and for a signal that ended the recording; any other status of the workload is kept.",
    },
    {
        WEIR_OPTION_CUSTOM_OF('M', "memory", "SIZE|TIME", apply_memory),
        .default_text = "none: samples go to the file at once",
        .help = "keep the newest samples in SIZE of memory, or for TIME, until a snapshot is requested",
        .details = "SIGUSR2 writes the samples in memory to the file, any number of times; recording continues "
                   "meanwhile. Older samples make room for newer ones; records of mappings and tasks always go to the "
                   "file, so that every sample of a snapshot finds its symbols. Memory is taken at the start; SIZE is "
                   "bytes, or has a suffix of B, K, M or G, and is raised to what each reader needs at least; with "
                   "TIME it is 64 MiB for each reader, at most a sixteenth of the machine's. The snapshot at the end "
                   "(--snapshot-on-exit) may begin a second earlier than TIME says.",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "overwrite", FIELD(options.memory.overwrite, bool)),
        .help = "let the kernel's rings keep the newest samples (-m); they are read at the end",
        .details = "SIGUSR2 has weir read the rings earlier, any number of times. All rings are paused at one moment "
                   "for that, and the events of the meantime are counted as lost. No reader runs in between. Records "
                   "of mappings and tasks are recorded all the time.",
    },
    {
        WEIR_OPTION_CUSTOM_OF('S', "snapshot", "[e][SIZE]", weir_apply_aux_snapshot),
        .argument_optional = true,
        .default_text = "AUX areas go to the file as they fill up",
        .help = "let the kernel keep the newest trace in AUX areas; SIGUSR2 writes it to the file; e: at the end, too",
        .details = "At most SIZE bytes of each area; all of the area by default (-m ,AUX). Needs an event with an AUX "
                   "area, such as intel_pt//. Each request for a snapshot takes one: signals, --control, "
                   "--snapshot-on. Tracing stops during a snapshot. Samples stay in memory with -M, and go to the "
                   "file at once without it.",
    },
    {
        WEIR_OPTION_CUSTOM_OF(0, "aux-sample", "SIZE", weir_apply_aux_sample),
        .argument_optional = true,
        .default_text = "samples hold no trace; SIZE is 4096",
        .help = "put the newest SIZE bytes of the AUX area into each sample of the events that its event leads",
        .details = "As in -e '{intel_pt//,cycles}': 60K at most. The term aux-sample-size sets the size for single "
                   "events, 0 for none, and needs no --aux-sample. The whole trace is not recorded.",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "snapshot-on-exit", FIELD(options.snapshot.at_exit, bool)),
        .help = "with -M or -S: take a snapshot when recording ends, too; --overwrite always does",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "reader-cpus", "LIST", WEIR_OPTION_CPU_LIST, FIELD(reader_cpus, struct weir_cpuset)),
        .default_text = "all but those of isolcpus= and nohz_full=",
        .help = "the CPUs on which weir's threads run, such as housekeeping CPUs",
        .details = "One reader runs on each of them and drains the rings of the CPUs of its NUMA node; with "
                   "--threads=LAYOUT the number of readers stays and only their CPUs change. By default no reader "
                   "runs on CPUs that the kernel was told to isolate (isolcpus=, nohz_full=), unless masks of "
                   "--threads say so.",
    },
    {
        WEIR_OPTION_FLAG_OF(0, "no-buffering", FIELD(options.samples.no_buffering, bool)),
        .help = "wake up for each record rather than when a quarter of a ring is filled",
    },
    {
        WEIR_OPTION_VALUE_OF('r', "realtime", "PRIO", WEIR_OPTION_UNSIGNED,
                             FIELD(options.readers.realtime_priority, unsigned)),
        .min = REALTIME_MIN,
        .max = REALTIME_MAX,
        .default_text = "none",
        .help = "run weir's threads with this SCHED_FIFO priority",
    },
};

const struct weir_option_rows weir_record_ring_rows = WEIR_OPTION_ROWS_OF(WEIR_RING_OPTIONS_SECTION, options);
