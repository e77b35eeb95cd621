/*
 * Writes the metrics of a recording (metrics_text.h) into a file, for the textfile collector of node_exporter: at the
 * start, every ten seconds, and at the end.
 *
 *     coordinator    makes the text and copies it for the thread, under a lock that no thread holds during I/O
 *     thread         writes the newest text into a new file of the same directory, and renames it over the old file. A
 *                    consumer sees whole texts only
 *
 * The thread names both files relative to a descriptor of their directory (base/new_file.h), and so follows no link
 * that another user has put there. A failure costs the recording nothing: the coordinator warns of the first one, and
 * the thread tries the next text again. A file system that hangs holds up the thread alone. The end of the recording
 * waits a few seconds for the last text, and then leaves the thread behind.
 *
 * Coordinator thread, but for the thread itself.
 */
#ifndef WEIR_ENGINE_SESSION_METRICS_H
#define WEIR_ENGINE_SESSION_METRICS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/notice.h"
#include "engine/kernel/poll_set.h"
#include "engine/plan/metrics_spec.h"
#include "engine/session/metrics_text.h"
#include "engine/session/status.h"

struct weir_metrics_file; /* shared with the thread; the last of both frees it */

/* Starts with WEIR_METRICS_INIT. The coordinator writes all fields. */
struct weir_metrics {
    const struct weir_metrics_spec *spec; /* borrowed; NULL: not started */
    struct weir_status_sources (*sources)(void *ctx);
    void *ctx;                              /* borrowed */
    const struct weir_notice_sink *notices; /* borrowed */
    char *name;                             /* owned; the label `recording` */
    int timer_fd;                           /* owned; -1: none */
    struct weir_buf text;                   /* owned; the last one */
    uint64_t offers;                        /* texts so far */
    bool told;                              /* of a failure */
    struct weir_metrics_file *file;
};

#define WEIR_METRICS_INIT \
    {                     \
        .timer_fd = -1    \
    }

/* Starts the thread, and offers texts from the first wait for `polls` on. Set sources and ctx before. spec, polls and
 * notices are borrowed until fini(). 0 or -errno with err. No effect without a path. */
int weir_metrics_start(struct weir_metrics *metrics, const struct weir_metrics_spec *spec, struct weir_poll_set *polls,
                       const struct weir_notice_sink *notices, struct weir_error *err);

/* The id of the thread; 0: there is none. */
pid_t weir_metrics_tid(const struct weir_metrics *metrics);

/* Offers the last text and waits for it, not any longer once hurried(ctx) returns true. */
void weir_metrics_end(struct weir_metrics *metrics, const struct weir_record_result *result, bool (*hurried)(void *ctx),
                      void *ctx);

/* Ends the thread without another text. Call this when `polls` is polled no more. NULL-safe, idempotent. */
void weir_metrics_fini(struct weir_metrics *metrics);

#endif
