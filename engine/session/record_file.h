/*
 * One output of a recording in the making: opened without a name, filled by the writer, finished with its features.
 *
 *     open ──► (publish) ──► the writer's ──► ours again: finish ──► (sync) ──► close
 *
 * A recording has one at a time; a recording that rotates its output has one after another, each complete in itself.
 * What all of them state (events, machine, clock) is in file_facts.h. While the writer has the output nobody else
 * touches it (writer_rotation.h); the functions here are for the coordinator before, and for the coordinator or the
 * finisher after.
 */
#ifndef WEIR_ENGINE_SESSION_RECORD_FILE_H
#define WEIR_ENGINE_SESSION_RECORD_FILE_H

#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "engine/drain/train_list.h"
#include "engine/session/file_facts.h"
#include "engine/session/record_options.h"
#include "engine/tasks/bpf_images.h"
#include "io/io_ops.h"
#include "io/output.h"

#define WEIR_HIDING_PREFIX "." /* of the name of a file that has ended and is not finished */
#define WEIR_STAMP_BYTES   17  /* "2026112118000012": UTC, hundredths of seconds last, as perf record writes it */

struct weir_build_id_entry;
struct weir_pipeline;
struct weir_writer_account;

/*
 * What the output is decides how it begins and ends:
 *
 *     file     head without features; at the end features behind the data, and the head again
 *     with a copy of the kernel (--kcore): as a file, in a folder, with the copy beside it (format/kcore.h)
 *     stream   head with all that is known by then; at the end build ids, which are records (weir_file_series_finish())
 */

struct weir_record_file {
    enum weir_record_output_kind kind;
    bool syncs;                        /* --sync */
    char *path;                        /* owned: as the user named it, for messages */
    struct weir_output *output;        /* owned; lent to the writer between publish and finish */
    struct weir_output_folder *folder; /* owned; what the output stands in; NULL: in none of its own */
    uint64_t head_bytes;               /* where its data begins: data.offset */
    struct weir_buf early_table;       /* owned; of the features in the head (format/early_features.h) */
    uint64_t early_features[4];        /* which they are */
    uint64_t first_sample_ns;          /* set before finish, by the clock of the recording; both 0: no sample */
    uint64_t last_sample_ns;
    uint64_t raw_bytes, compressed_bytes; /* set before finish: what compression was given, and made of it; 0: none */
    const struct weir_build_id_entry *build_ids; /* borrowed; set before finish */
    size_t build_id_count;
    struct weir_train_list trains; /* owned; set before finish */
    struct weir_bpf_list bpf;      /* owned, but for the images; set before finish */
    struct weir_buf last_records;  /* owned; whole ones that end the data, also where it was cut. Set before finish; not
                                    * of a stream, which has no end behind what its writer was given */
    uint32_t number;               /* of the recording's outputs, from 0 */
    uint64_t unwritten_samples;    /* of which these tell: failed writes took them. Set before finish */
    uint64_t file_bytes;           /* all of it; set by finish */
    uint64_t samples;              /* in its snapshots, where it ends with one; set when it ends */
    bool lasting;                  /* it has snapshots that no other replaces; set when it ends */
    bool broken;                   /* not all of it could be written; set when it was finished */
    char stamp[WEIR_STAMP_BYTES];  /* when it ended, for its name; "" until it is known */
};

/*
 * Makes the output that the options want (a nameless file beside `path`, or a stream), with the memory of the
 * pipeline's pool as its registered buffers, and writes the head. io: NULL for the real system calls. *file is owned by
 * the caller and must be closed before the pipeline ends. 0 or -errno with err, as weir_output_open(); then there is
 * none. Blocks, allocates.
 */
int weir_record_file_open(struct weir_record_file **file, const struct weir_file_facts *facts,
                          const struct weir_pipeline *pipeline, const char *path, const struct weir_io_ops *io,
                          struct weir_error *err);

/* Copies the kernel's code into the folder of a file that is not published yet; when the events count already that tell
 * of changes to it. 0 or -errno with err. Blocks, allocates. */
int weir_record_file_copy_kernel(struct weir_record_file *file, const struct weir_file_facts *facts,
                                 struct weir_error *err);

/* Gives a file, or its folder, its name. */
int weir_record_file_publish(struct weir_record_file *file, struct weir_error *err);

/* Gives a file that continues another one the name that it has until it takes that one's place (append.h). 0 or -errno
 * with err. */
int weir_record_file_name_beside(struct weir_record_file *file, struct weir_error *err);

/* With --sync, makes the name that it has now outlive the machine; else does nothing. 0 or -errno with err. Blocks. */
int weir_record_file_sync_name(const struct weir_record_file *file, struct weir_error *err);

/* It has ended: takes over what the writer knows of it by now, so that another thread may finish it while the session
 * records on. Before finish. Coordinator. */
void weir_record_file_note(struct weir_record_file *file, struct weir_writer_account *account);

/* Notes that it ends now, by the time of day (weir_clock_day). */
void weir_record_file_stamp(struct weir_record_file *file, const struct weir_clock *day);

/* Gives it the name "PREFIX" + last component of its path + ".STAMP", with "-001" and so on behind it where that is
 * taken. Never replaces anything. 0 or -errno with err, as weir_output_file_rename(). */
int weir_record_file_rename(struct weir_record_file *file, const char *prefix, struct weir_error *err);

/* Whether rename() will have room for the name that it makes of the one in path. 0; -ENAMETOOLONG with err. */
int weir_record_file_check_name(const char *path, const char *prefix, struct weir_error *err);

/*
 * Writes features behind the data, then the head that announces them. Where they find no room, or cannot be known any
 * more, those that were known at the start serve, which stand in the head: a few hundred bytes behind the data say so.
 * Without these the file is still whole, for weir recover. Not synced. 0 or -errno with err, also when those of the
 * start serve; what weir_output_check_kept() found goes before. May be called again after an error. Blocks, allocates.
 */
int weir_record_file_finish(struct weir_record_file *file, const struct weir_file_facts *facts, struct weir_error *err);

/* 0, or the error that failed it: not all that was recorded is in it. The writer must not have it any more. */
int weir_record_file_error(const struct weir_record_file *file);

/* fsync(2). 0 or -errno with err. */
int weir_record_file_sync(struct weir_record_file *file, struct weir_error *err);

/* The writer must not have it any more, and the pool must still be there. An unpublished file vanishes. NULL-safe. */
void weir_record_file_close(struct weir_record_file *file);

#endif
