/*
 * The sideband thread of a recording, and its result: build ids for the file and for the build-id cache. Coordinator
 * thread.
 */
#ifndef WEIR_ENGINE_FILES_SIDEBAND_HOST_H
#define WEIR_ENGINE_FILES_SIDEBAND_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "engine/drain/pipeline.h"
#include "engine/events/event_set.h"
#include "engine/files/file_facts.h"
#include "engine/plan/recording_plan.h"
#include "engine/tasks/sideband.h"
#include "format/features.h"

struct weir_sideband_host {
    const struct weir_record_options *options; /* borrowed */
    struct weir_unwind_supply *supply;         /* borrowed; NULL: nobody unwinds */
    struct weir_sideband *sideband;            /* owned; NULL: the recording needs no sideband thread */
    struct weir_build_id_entry *build_ids;     /* owned; build ids of the last file, set by weir_sideband_host_stop() */
    size_t build_id_count;
};

/* Makes the state of the thread and attaches its tees to the readers. Makes no thread when the options want neither
 * build ids nor rotations, and supply is NULL. supply: is told of mappings; borrowed until fini. Call after the
 * pipeline was made, before its readers start. Returns 0 or -errno with err. */
int weir_sideband_host_make(struct weir_sideband_host *host, const struct weir_recording_plan *plan,
                            const struct weir_file_facts *facts, const struct weir_event_set *events,
                            struct weir_pipeline *pipeline, struct weir_unwind_supply *supply, struct weir_error *err);

/* Starts the thread, once the readers run. Returns 0 or -errno with err. */
int weir_sideband_host_start(struct weir_sideband_host *host, struct weir_error *err);

/* Ends the thread once the readers have ended, tells what the thread missed, and lists the build ids of file
 * file_number. hurried: does not wait for build ids that are not read yet. Returns 0 or -ENOMEM with err. Blocks for a
 * second at most. */
int weir_sideband_host_stop(struct weir_sideband_host *host, uint32_t file_number, bool hurried,
                            struct weir_error *err);

/* Tells what the unwinding of stacks has needed of the thread; a recording without it tells nothing. Call when the
 * stage has ended, after weir_sideband_host_stop(). */
void weir_sideband_host_tell_unwinding(const struct weir_sideband_host *host);

/* Copies the files that have build ids into the cache of --buildid-cache. A notice tells the outcome. Call after
 * weir_sideband_host_stop(). Blocks. */
void weir_sideband_host_fill_cache(const struct weir_sideband_host *host);

/* Releases everything, in any state. Call after the readers, which write to the tees, have gone. */
void weir_sideband_host_fini(struct weir_sideband_host *host);

#endif
