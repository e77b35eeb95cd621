/*
 * A recording's sideband thread, and what the recording takes from it in the end: build ids for the file and for the
 * cache. Coordinator thread.
 */
#ifndef WEIR_ENGINE_SESSION_SIDEBAND_HOST_H
#define WEIR_ENGINE_SESSION_SIDEBAND_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "engine/drain/pipeline.h"
#include "engine/events/event_set.h"
#include "engine/session/file_facts.h"
#include "engine/session/recording_plan.h"
#include "engine/tasks/sideband.h"
#include "format/features.h"

struct weir_sideband_host {
    const struct weir_record_options *options; /* borrowed */
    struct weir_sideband *sideband;            /* owned; NULL: nobody would use what the thread finds */
    struct weir_build_id_entry *build_ids;     /* owned; of the last file, set by stop() */
    size_t build_id_count;
};

/* Makes the thread's state and hangs its tees into the readers, unless neither build ids nor rotations are wanted.
 * After the pipeline was made, before its readers start. 0 or -errno with err. */
int weir_sideband_host_make(struct weir_sideband_host *host, const struct weir_recording_plan *plan,
                            const struct weir_file_facts *facts, const struct weir_event_set *events,
                            struct weir_pipeline *pipeline, struct weir_error *err);

/* Starts the thread, once the readers run. 0 or -errno with err. */
int weir_sideband_host_start(struct weir_sideband_host *host, struct weir_error *err);

/* Ends the thread once the readers have ended, tells what it missed, and lists the build ids of the file of that
 * number. hurried: what is not read yet is not waited for. 0 or -ENOMEM with err. Blocks for a second at most. */
int weir_sideband_host_stop(struct weir_sideband_host *host, uint32_t file_number, bool hurried,
                            struct weir_error *err);

/* Copies what has a build id into the cache of --buildid-cache; tells that, or why not. After stop(). Blocks. */
void weir_sideband_host_fill_cache(const struct weir_sideband_host *host);

/* After the readers are gone, which write to the tees. In any state. */
void weir_sideband_host_fini(struct weir_sideband_host *host);

#endif
