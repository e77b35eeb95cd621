/*
 * The ledger of a recording as a program reads it: every CPU, event and cause, with a hint for each cause that lost
 * samples. A recording keeps the ledger at its end, in records that consumers skip (docs/format.md, "EVENT_TYPE"); JSON
 * shows it (docs/json.md). Pure; allocates. Any thread.
 */
#ifndef WEIR_FORMAT_LEDGER_RECORD_H
#define WEIR_FORMAT_LEDGER_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "format/joined_sum.h"
#include "format/unwound_sum.h"

/* One row of the loss ledger: produced = written + merged + evicted + shed + lost, by cause. For events that count
 * their samples (weir_event_counts_samples()), counted = produced + filtered + cut_off. */
struct weir_ledger_row {        /* the order stands in files */
    int cpu;                    /* -1: the row of a task, on any CPU */
    pid_t task;                 /* -1: the row of a CPU */
    unsigned event;             /* index into the recording's events; side events come last */
    unsigned reserved;          /* 0 */
    uint64_t written;           /* samples in the file (side events: records) */
    uint64_t evicted;           /* -M, --overwrite: replaced in memory by newer samples before any snapshot */
    uint64_t shed;              /* dropped under pressure, as --shed=cpus allows (engine/drain/shed.h) */
    uint64_t lost_ring_full;    /* the kernel found no room in the ring (PERF_FORMAT_LOST), or there was none yet */
    uint64_t lost_write_failed; /* drained, but the output failed */
    uint64_t left_out;          /* drained after max_bytes was reached */
    /* Occurrences that the event counted while it was being disabled, or while the task slept to which they happened.
     * The kernel makes no sample of these occurrences, and loses none. Known only for events that count their samples
     * (engine/files/ledger.c). */
    uint64_t cut_off;
    uint64_t counted;      /* the event's own count, PERF_EVENT read(2) value */
    uint64_t filtered;     /* rejected by the event's sample filter (--filter): nobody asked for them */
    uint64_t merged;       /* --aggregate: samples for which another one in the file stands */
    uint64_t lost_in_sums; /* --off-cpu: short stretches for which the sums had no room (engine/bpf/off_cpu.h) */
};

/* Adds the counts of a row to those of a sum. */
void weir_ledger_row_add(struct weir_ledger_row *sum, const struct weir_ledger_row *row);

/* Samples that are in no file though the event made them: shed, or lost in a ring, in the sums or at the output. */
uint64_t weir_ledger_row_lost(const struct weir_ledger_row *row);

/* Why samples were lost. The first six divide what the rows have as lost_ring_full. The numbers stand in files. */
enum weir_loss_cause {
    WEIR_LOSS_NO_RING,       /* on CPUs that came later, before they had a ring */
    WEIR_LOSS_RING_DAMAGED,  /* in rings that the kernel damages for -s */
    WEIR_LOSS_RING_FULL,     /* the reader did not come in time */
    WEIR_LOSS_RING_PAUSED,   /* --overwrite: while a snapshot read the ring */
    WEIR_LOSS_SUSPENDED,     /* --on-full=suspend: while the output had no room */
    WEIR_LOSS_OUTPUT_BEHIND, /* in full rings whose reader waited for the output */
    WEIR_LOSS_SHED,          /* dropped by --shed=cpus */
    WEIR_LOSS_WRITE_FAILED,  /* the output failed */
    WEIR_LOSS_SUMS_FULL,     /* --off-cpu: the sums of short stretches had no room */
    WEIR_LOSS_CAUSES,
};

#define WEIR_LOSS_HINT_BYTES 192u

struct weir_loss {
    uint64_t lost;                   /* samples */
    char hint[WEIR_LOSS_HINT_BYTES]; /* what would have prevented it, as options of weir record; "": nothing known */
};

struct weir_ledger_content { /* a view: all pointers are borrowed */
    const struct weir_ledger_row *rows;
    size_t row_count;
    const char *const *event_names;
    size_t event_count;
    size_t side_event;                      /* index of the first side event */
    const struct weir_loss *losses;         /* [WEIR_LOSS_CAUSES] */
    const struct weir_joined_sum *joined;   /* NULL: no call chains were deferred */
    const struct weir_unwound_sum *unwound; /* NULL: no stacks were unwound */
};

/* Appends the ledger as one JSON object without a newline behind it. */
void weir_ledger_append_json(const struct weir_ledger_content *content, struct weir_buf *out);

/* Appends the records that keep the ledger in a file. */
void weir_ledger_append_records(const struct weir_ledger_content *content, struct weir_buf *records);

/* ---- reading ---- */

#define WEIR_LEDGER_KEPT_MAX_BYTES (64u << 20) /* of all ledgers of a recording; later ones are left out */

/* Collects the ledgers of a recording. Initialize with zeros. */
struct weir_ledger_reader {
    struct weir_buf whole; /* owned; whole ledgers, one behind the other */
    struct weir_buf part;  /* owned; the beginning of the next one */
    uint32_t part_bytes;   /* of it, once it is whole */
};

/* Takes a record of type EVENT_TYPE; any other payload than a piece of a ledger is passed over. 0 or -ENOMEM. */
int weir_ledger_reader_take(struct weir_ledger_reader *reader, const uint8_t *record, size_t bytes);
void weir_ledger_reader_fini(struct weir_ledger_reader *reader);

/* Appends the ledgers as a JSON list, in the order of the recording; those that are damaged are left out. */
void weir_ledger_reader_append_json(const struct weir_ledger_reader *reader, struct weir_buf *out);

/* Appends a line for each ledger, and one for each cause that lost samples. */
void weir_ledger_reader_append_text(const struct weir_ledger_reader *reader, struct weir_buf *out);

#endif
