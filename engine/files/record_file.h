/*
 * One output of a recording in the making: opened without a name, filled by the writer, finished with its features.
 *
 *     open ──► (publish) ──► the writer fills it ──► finish ──► (sync) ──► close
 *
 * A recording has one output at a time. A recording that rotates has one output after another. Each is complete in
 * itself. file_facts.h has the facts that all outputs of a recording state (events, machine, clock).
 *
 * While the writer has an output, no other thread touches it (writer_rotation.h). Before, the coordinator calls the
 * functions here. Afterwards, the coordinator or the finisher does.
 */
#ifndef WEIR_ENGINE_FILES_RECORD_FILE_H
#define WEIR_ENGINE_FILES_RECORD_FILE_H

#include <stdint.h>

#include "base/clock.h"
#include "base/error.h"
#include "engine/drain/train_list.h"
#include "engine/files/file_facts.h"
#include "engine/plan/record_options.h"
#include "engine/plan/stamped_name.h"
#include "engine/tasks/bpf_images.h"
#include "io/io_ops.h"
#include "io/output.h"

struct weir_build_id_entry;
struct weir_pipeline;
struct weir_writer_account;

/*
 * The kind of an output decides how the output begins and ends:
 *
 *     file     head without features; at the end features behind the data, and the head again
 *     --kcore  like a file, in a folder, with a copy of the kernel's code beside it (format/kcore.h)
 *     stream   head with all features known by then; at the end build ids, which are records
 *              (weir_file_series_finish())
 */

struct weir_record_file {
    enum weir_record_output_kind kind;
    bool syncs;                        /* --sync */
    char *path;                        /* owned; the name that the user gave the output, for messages */
    struct weir_output *output;        /* owned; lent to the writer between publish and finish */
    struct weir_output_folder *folder; /* owned; the folder of the output; NULL: it has no folder of its own */
    uint64_t head_bytes;               /* offset of the data: data.offset */
    struct weir_buf early_table;       /* owned; table of the features in the head (format/early_features.h) */
    uint64_t early_features[4];        /* bits of the features in the head */
    uint64_t first_sample_ns; /* by the recording's clock, set before finish; first and last are both 0: no sample */
    uint64_t last_sample_ns;
    uint64_t raw_bytes, compressed_bytes;        /* input and output of compression, set before finish; 0: none */
    const struct weir_build_id_entry *build_ids; /* borrowed; set before finish */
    size_t build_id_count;
    struct weir_train_list trains; /* owned; set before finish */
    struct weir_bpf_list bpf;      /* owned, except the images; set before finish */
    /* Owned; whole records that end the data, also behind data that was cut short. Set before finish. A stream has
     * none: it ends with the data of its writer. */
    struct weir_buf last_records;
    uint32_t number;              /* index among the recording's outputs, from 0 */
    uint64_t unwritten_samples;   /* samples that failed writes took and last_records report. Set before finish */
    uint64_t file_bytes;          /* bytes of the whole file; set by finish */
    uint64_t samples;             /* samples in its snapshots, if it ends with a snapshot; set when it ends */
    bool lasting;                 /* it has snapshots that no other snapshot replaces; set when it ends */
    bool broken;                  /* weir could not write all of it; set when it was finished */
    char stamp[WEIR_STAMP_BYTES]; /* time of its end, for its name; "" until it ends */
};

/*
 * Makes the output that the options ask for (a nameless file beside `path`, or a stream), and writes its head. The
 * memory of the pipeline's pool becomes the output's registered buffers. directory_fd: the directory of a file, or NULL
 * (io/output.h). io: NULL for the real system calls.
 *
 * The caller owns *file and closes it before the pipeline ends. Returns 0; or -errno with err, as weir_output_open(),
 * and then there is no output. Blocks, allocates.
 */
int weir_record_file_open(struct weir_record_file **file, const struct weir_file_facts *facts,
                          const struct weir_pipeline *pipeline, const char *path, const int *directory_fd,
                          const struct weir_io_ops *io, struct weir_error *err);

/* Copies the kernel's code into the folder of a file that is not published yet. The events that report changes of this
 * code must count before. Returns 0 or -errno with err. Blocks, allocates. */
int weir_record_file_copy_kernel(struct weir_record_file *file, const struct weir_file_facts *facts,
                                 struct weir_error *err);

/* Gives a file, or its folder, its name. Returns 0 or -errno with err. */
int weir_record_file_publish(struct weir_record_file *file, struct weir_error *err);

/* Gives a file that continues another file its temporary name, until it takes the other file's place (append.h).
 * Returns 0 or -errno with err. */
int weir_record_file_name_beside(struct weir_record_file *file, struct weir_error *err);

/* With --sync, makes the present name survive a crash of the machine; without, does nothing. Returns 0 or -errno with
 * err. Blocks. */
int weir_record_file_sync_name(const struct weir_record_file *file, struct weir_error *err);

/* Takes over the writer's facts about a file that has ended. Another thread may then finish the file while the
 * recording goes on. Call before finish. Coordinator. */
void weir_record_file_note(struct weir_record_file *file, struct weir_writer_account *account);

/* Notes the present time of day (weir_clock_day) as the end of the file. */
void weir_record_file_stamp(struct weir_record_file *file, const struct weir_clock *day);

/* Names the file "PREFIX" + last component of its path + ".STAMP". Appends "-001" and so on while the name is taken:
 * rename never replaces a file. Returns 0 or -errno with err, as weir_output_file_rename(). */
int weir_record_file_rename(struct weir_record_file *file, const char *prefix, struct weir_error *err);

/*
 * Writes features behind the data, then the head that announces these features. When they find no room, or weir can no
 * longer gather them, the features in the head serve, which were known at the start. A table of a few hundred bytes
 * behind the data then refers to the features in the head. Without room for the table, the file is still whole for weir
 * recover.
 *
 * Does not sync. Returns 0 or -errno with err, also when the features in the head serve. An error of
 * weir_output_check_kept() comes before any other. May be called again after an error. Blocks, allocates.
 */
int weir_record_file_finish(struct weir_record_file *file, const struct weir_file_facts *facts, struct weir_error *err);

/* Returns 0, or the error because of which the file lacks recorded data. Call once the writer has left the output. */
int weir_record_file_error(const struct weir_record_file *file);

/* Calls fsync(2). Returns 0 or -errno with err. */
int weir_record_file_sync(struct weir_record_file *file, struct weir_error *err);

/* Closes the output. An unpublished file vanishes. Call once the writer has left the output, while the pool still
 * exists. NULL-safe. */
void weir_record_file_close(struct weir_record_file *file);

#endif
