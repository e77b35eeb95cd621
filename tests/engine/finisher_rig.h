/* A recording that is just enough for the finisher: files that have ended, without data, hidden as a rotation
 * leaves them, in a folder of their own. No Criterion: race programs use it too. One thread. */
#ifndef WEIR_TESTS_ENGINE_FINISHER_RIG_H
#define WEIR_TESTS_ENGINE_FINISHER_RIG_H

#include <limits.h>
#include <signal.h>

#include "engine/drain/pipeline.h"
#include "engine/files/file_facts.h"
#include "engine/files/file_finisher.h"
#include "engine/plan/recording_plan.h"
#include "tests/engine/fake_clock.h"

struct finisher_rig {
    char folder[PATH_MAX - 64], path[PATH_MAX - 32];
    struct weir_record_options options; /* the caller may change it before start() */
    struct weir_recording_plan plan;
    struct weir_file_facts facts;
    struct weir_pipeline pipeline;  /* of which files use the memory of the pool: none */
    struct weir_sideband *sideband; /* borrowed; set before start(); NULL: none */
    struct weir_event_desc description;
    uint64_t id;
    sigset_t signals;
    struct fake_clock ended; /* a stamp of its own for each file: the name of one that was removed is free again */
    struct weir_rotation_count rotations;
    int room_fd;                         /* owned */
    struct weir_file_finisher *finisher; /* owned */
};

/* Files go to a new folder; what the finisher says goes to notices (borrowed). Must stay in place. */
void finisher_rig_init(struct finisher_rig *rig, const struct weir_notice_sink *notices);

/* Makes the finisher and starts its thread. */
void finisher_rig_start(struct finisher_rig *rig);

/* io: NULL for a real file; else an output on that disk, which has no name. Owned by the caller, until it is pushed. */
struct weir_record_file *finisher_rig_make_file(struct finisher_rig *rig, const struct weir_io_ops *io);

/* The finisher ends, hurried. 0, or -errno when something is left in the folder, which is then left, too. */
int finisher_rig_fini(struct finisher_rig *rig);

#endif
