/*
 * From the events of a list and the options of a recording to complete perf_event_attrs. Main thread, set-up; no
 * allocation, no system call.
 */
#ifndef WEIR_ENGINE_EVENTS_EVENT_CONFIG_H
#define WEIR_ENGINE_EVENTS_EVENT_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/notice.h"
#include "engine/events/event_list.h"
#include "engine/events/sample_options.h"

/* How samples are taken and what they hold, the same for all events of a list. */
struct weir_event_config {
    uint64_t freq_hz;          /* 0 when period is used */
    uint64_t period;           /* 0 when freq_hz is used; exactly one of the two is set */
    bool period_or_freq_given; /* by -c or -F: overrides a tracepoint's own period of 1 */
    struct weir_sample_options samples;
    bool system_wide;         /* -a or -C */
    bool inherit;             /* children too; without effect on events of CPUs, as in perf */
    bool inherit_reads;       /* children of a group that is read with its leader, too (Linux 6.13) */
    bool inherit_stat;        /* a READ record has the counts of each thread that ends */
    bool starts_disabled;     /* samples are enabled later (-D), not by execve(2) */
    bool enable_on_exec;      /* workload without -a; never together with system_wide */
    bool build_ids_in_maps;   /* --buildid-mmap */
    bool guests;              /* events without G or H count in guests, too */
    bool text_pokes;          /* record changes of the kernel's code */
    bool all_switches;        /* record context switches of all tasks, whichever tasks are sampled */
    bool without_ids;         /* records have no id: the list has one event besides the side events */
    bool overwrite;           /* rings keep the newest samples, unless an event's own term says otherwise */
    uint32_t watermark_bytes; /* the kernel wakes the reader after so many bytes */
    uint32_t sideband_watermark_bytes;
    uint32_t side_only_watermark_bytes; /* of a sideband ring at a place without samples */
};

/*
 * Completes every attr. The text of -e has set type, config, exclude_*, precise_ip, pinned, exclusive and the
 * breakpoint fields; this sets the others: size, sampling, sample_type (IDENTIFIER unless config->without_ids, IP, TID,
 * TIME, CPU; the others as config->samples and perf have them), read_format ID|LOST, sample_id_all, disabled, inherit,
 * watermark. An event's own terms override the config.
 *
 * - Every event gets the same sample_id trailer, so that a consumer can parse side records with the first attr
 *   (docs/format.md).
 * - In a group whose leader is sampled with its members (:S), the members do not sample.
 * - Side events get mmap, mmap2, comm, comm_exec, task, ksymbol, bpf_event and what config->samples adds to these, and
 *   no samples.
 * - Leaders start disabled. Side events count from their opening, so that weir misses nothing before it reads /proc or
 *   copies the kernel. Only the sideband event of a fresh workload starts disabled.
 *
 * docs/compatibility.md says what differs from perf, and why. May be called again with another config.
 */
void weir_event_list_configure(struct weir_event_list *list, const struct weir_event_config *config);

/* Returns the attr of an event as the file has it. Where weir unwinds samples before it writes them, that is the attr
 * of unwound samples. Where the kernel defers the user parts of call chains, that is the attr of whole call chains. The
 * event's own attr is complete. */
struct perf_event_attr weir_event_file_attr(const struct weir_event *event, const struct weir_event_config *config);

/* Warns of each part of config->samples that these events cannot have, or not together, and says what is recorded
 * instead. Once, before the events are opened; notices may be NULL. */
void weir_event_list_tell_limits(const struct weir_event_list *list, const struct weir_event_config *config,
                                 const struct weir_notice_sink *notices);

/* Whether samples go to rings that the kernel overwrites: 1 or 0. wanted: for events without a term for it. -EINVAL
 * with err: some events ask for overwriting and others do not, though they share a ring; or a group with :S asks for
 * overwriting. */
int weir_event_list_overwrites(const struct weir_event_list *list, bool wanted, struct weir_error *err);

/* --all-kernel and --all-user: every event of the list records that side only, and its modifiers do not count. No event
 * falls back to the other side then. */
enum weir_event_side {
    WEIR_EVENT_SIDE_KERNEL,
    WEIR_EVENT_SIDE_USER,
};
void weir_event_list_limit_to(struct weir_event_list *list, enum weir_event_side side);

#endif
