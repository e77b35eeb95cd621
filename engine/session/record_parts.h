/*
 * The files of the readers in perf's parallel layout: DIR/data.N holds what reader N has drained, as raw records
 * without head and rounds; DIR/data, which is written like any other file, holds head, synthesised records and
 * features.
 *
 * The writer thread writes them with pwritev(2) through the page cache, each as it is flushed: with hundreds of readers
 * a queue of its own for each would cost more than it brings. Their staging buffers take 8 MiB together, but no less
 * than 64 KiB each. Coordinator, before and after the writer has them.
 */
#ifndef WEIR_ENGINE_SESSION_RECORD_PARTS_H
#define WEIR_ENGINE_SESSION_RECORD_PARTS_H

#include <stdint.h>

#include "base/error.h"
#include "base/notice.h"
#include "io/output.h"
#include "io/output_folder.h"

struct weir_record_parts {
    struct weir_output **outputs; /* owned, each of them too; [reader]; NULL: the recording is in one file */
    unsigned count;
};

/* Makes a file for each of `readers` in the folder. 0 or -errno with err; *parts is to be given to fini() in any case.
 */
int weir_record_parts_open(struct weir_record_parts *parts, const struct weir_output_folder *folder, unsigned readers,
                           const struct weir_notice_sink *notices, struct weir_error *err);

/* The size of each staging buffer for that many readers. */
size_t weir_record_parts_stage_bytes(unsigned readers);

/* The folder that they are in gets that path, by which messages name them from now on. 0 or -ENOMEM. */
int weir_record_parts_set_folder(struct weir_record_parts *parts, const char *folder);

/* Whether each is still what was written to it, see weir_output_check_kept(): before finish(). 0 or -errno with err. */
int weir_record_parts_check_kept(const struct weir_record_parts *parts, struct weir_error *err);

/* 0, or the error that failed one of them. */
int weir_record_parts_error(const struct weir_record_parts *parts);

/* Ends the files behind what is whole in them; *bytes: of all of them. 0 or -errno. */
int weir_record_parts_finish(struct weir_record_parts *parts, uint64_t *bytes);

/* fsync(2) of each. 0 or the first -errno. */
int weir_record_parts_sync(struct weir_record_parts *parts);

/* Closes all, before their folder. Zeroed ones are allowed. */
void weir_record_parts_fini(struct weir_record_parts *parts);

#endif
