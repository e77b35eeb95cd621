/*
 * Switching the output of a running recording: the steps of it, and who does them.
 *
 *     coordinator   the file that ends is hidden (file_finisher.h), the next one is opened, a cut is wanted
 *         cut       what was lost up to here goes with the order to the writer; the next file takes the name
 *     writer        changes outputs between two chunks (writer_rotation.h); readers do not notice
 *     coordinator   asks the sideband thread
 *     sideband      ids, kernel, BPF programs, control groups, tasks and maps into the new file, then FINISHED_INIT;
 *                   what is to be read from /proc is waited for as long as that goes on (proc_reader.h)
 *     coordinator   rounds go on; once the writer has handed back the file that ended, it goes to the finisher
 *
 * Synthesised records have time 0: readers of the file deliver them before anything that is queued for its round, so
 * they may stand behind samples; no round stands before FINISHED_INIT.
 *
 * With -M and --overwrite a switch is a snapshot as well; with --snapshot-keep a snapshot is a switch as well. So is a
 * snapshot of the pair, which replaces the one before, in a recording into one file (recording_plan.h, pair_ends_file):
 * there nothing else asks for a switch, and the command "switch" is refused.
 *
 * A switch that finds no next file fails, and recording goes on in the file that it has. One whose time it is comes
 * again by itself; where it is the size, it is tried again four times a second.
 *
 * One switch at a time, as the dispatcher of triggers has it; one that is asked for meanwhile is remembered once. When
 * the finisher has no room the switch is over only when it has, so that the next one waits (told once).
 *
 * Coordinator, but for the answer. Nothing here blocks while data flows, but on opening and naming files, and on
 * removing them where the file system is full.
 */
#ifndef WEIR_ENGINE_SESSION_SESSION_SWITCH_H
#define WEIR_ENGINE_SESSION_SESSION_SWITCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "engine/drain/writer.h"
#include "engine/session/record_file.h"
#include "engine/session/trigger.h"
#include "engine/tasks/proc_reader.h"
#include "engine/tasks/sideband.h"

struct weir_session;

enum weir_switch_step {
    WEIR_SWITCH_IDLE,
    WEIR_SWITCH_CUTTING,   /* the round that ends the file is not closed yet */
    WEIR_SWITCH_CHANGING,  /* the order is on its way to the writer */
    WEIR_SWITCH_ANSWERING, /* the sideband thread writes what the next file must begin with */
    WEIR_SWITCH_DRAINING,  /* the writer still has the file that ended, or the finisher no room for it */
};

struct weir_session_switch {
    struct weir_session *session; /* borrowed; NULL: not made */
    enum weir_switch_step step;
    struct weir_record_file *next; /* owned; opened, not the session's yet */
    struct weir_record_file *left; /* owned; not the session's any more */
    struct weir_writer_rotation order;
    struct weir_buf losses;         /* records that the order carries */
    struct weir_buf first_records;  /* of each file but the first: what readers want to see before anything else */
    uint64_t *side_bytes;           /* owned; for each reader */
    struct weir_buf kernel_records; /* of kernel and modules, as they were synthesised at the start; the modules of
                                       later files are read anew */
    struct weir_sideband_question question;
    struct weir_proc_reader *proc_reader; /* owned; the sideband thread's while it answers */
    _Atomic bool answered;                /* written by the sideband thread, release; then the three below are set */
    int answer_result;
    size_t unread_processes; /* that the map does not know whole, and /proc did not tell in time */
    struct weir_proc_reading proc_reading;
    int progress_fd; /* owned eventfd: the writer, the answer, the finisher */
    int full_fd;     /* owned eventfd: the writer has written as much as a file may have */
    int timer_fd;    /* owned; -1: switching is not by time */
    int again_fd;    /* owned timerfd: the next try to end a file that is full; -1: switching is not by size */
    bool full;       /* the file is as large as it may be; the writer says so once */
    bool told_wait;
    bool put_off;       /* there was no room for the next file: asked for again when there is */
    bool taken_back;    /* recording ended before the file did: it ends as it would have, with a snapshot */
    uint64_t count;     /* of switches that were done, or are under way beyond the cut */
    uint64_t snapshots; /* that were taken when the last of these was cut: none of them is in the present file */
    uint64_t samples;   /* in these snapshots */
};

/* Begins a switch, as the trigger does and as snapshots may (snapshot.h); its end completes the trigger under way. None
 * must be under way. 0 or -errno with err. */
int weir_session_switch_begin(struct weir_session_switch *change, struct weir_error *err);

/* There is room again for a next file: begins a switch that found none. */
void weir_session_switch_ask_again(struct weir_session_switch *change);

/* Makes the descriptors, and takes the trigger "switch". After the pipeline was made, before its start; the coordinator
 * was initialised. 0 or -errno with err. */
int weir_session_switch_init(struct weir_session_switch *change, struct weir_session *session, struct weir_error *err);

/* Begins to watch for size and time. Before the coordinator's loop. */
int weir_session_switch_watch(struct weir_session_switch *change, struct weir_error *err);

/* Starts the thread that reads processes from /proc, and the finisher's. Before the sideband thread is asked anything.
 * 0 or -errno with err. */
int weir_session_switch_start(struct weir_session_switch *change, struct weir_error *err);

/* Writes the beginning of the session's file; ctx: the switch. The answer() of its question (sideband.h). */
void weir_session_switch_answer(void *ctx, const struct weir_sideband_view *view);

/* Ends a switch that is under way when recording ends: takes it back, or sees it through, but for an answer that does
 * not come within a second. Events are disabled, readers and writer still run. Blocks. */
void weir_session_switch_settle(struct weir_session_switch *change);

/* After the sideband thread and the writer have ended, before the finisher is: hands the file that ended over to it,
 * whatever the next one begins with. Does nothing when settle() has seen the switch through. Blocks. */
void weir_session_switch_end(struct weir_session_switch *change);

/* NULL-safe, in any state. The pipeline has been stopped; its memory is still there. */
void weir_session_switch_fini(struct weir_session_switch *change);

#endif
