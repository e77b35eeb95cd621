/*
 * One output file, written front to back in large asynchronous writes, always cut at a record boundary.
 *
 * Spans are appended in the order of weir_output_append(). A large span (64 KiB or more by default) is written from
 * where it lies (no copy, and with O_DIRECT and registered buffers where the file system and the kernel take them); a
 * small one is copied into the padding of the write before it, where that was not flushed yet, or into a staging
 * buffer, which is written when it is full, when a large span follows, or at weir_output_push_tail(). Spans complete
 * strictly in order, so that at any moment the file holds a whole prefix of what was appended:
 * weir_output_stable_bytes(). After the first write that cannot be completed (short and failed completions are retried
 * as the errno deserves) the output is failed: that span and all after it complete with the error, and the stable
 * prefix stays as it is.
 *
 * io/ knows nothing of perf.data: it keeps whole spans, and pads with the caller's padding where O_DIRECT wants a
 * multiple of 4096. One thread at a time (the writer thread, later the coordinator) owns an output; nothing here locks.
 * Its thread should ignore or block SIGXFSZ: then a write past RLIMIT_FSIZE fails with EFBIG like any other.
 *
 * "On file" means that every reader of the file sees it and that it outlives this process; only weir_output_sync() and
 * weir_output_begin_sync() make it outlive the machine. While recording the file is larger than its data: space is
 * allocated ahead in steps of up to 64 MiB, and cut off by weir_output_finish().
 *
 * An output path is never followed when it is a symbolic link (the directories before it are), and nothing that is not
 * a regular file (or /dev/null) is written. The file is made nameless (O_TMPFILE, else a hidden temporary name) with
 * mode 0600 and gets its name only at weir_output_publish(): before that a failure leaves nothing behind and an
 * existing file untouched.
 */
#ifndef WEIR_IO_OUTPUT_H
#define WEIR_IO_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "base/error.h"
#include "base/notice.h"

#define WEIR_OUTPUT_ALIGN_BYTES 4096u

enum weir_output_engine {
    WEIR_OUTPUT_AUTO,   /* io_uring where the kernel grants it, else plain writes */
    WEIR_OUTPUT_URING,  /* io_uring or fail */
    WEIR_OUTPUT_WRITEV, /* pwritev(2) */
};

enum weir_output_direct {
    WEIR_OUTPUT_DIRECT_AUTO, /* O_DIRECT where it works; buffered while the pool is under pressure */
    WEIR_OUTPUT_DIRECT_OFF,
};

struct weir_output_options {
    enum weir_output_engine engine;
    enum weir_output_direct direct;
    unsigned queue_depth; /* writes in flight at most; 0: 32 */
    size_t stage_bytes;   /* of each of the 4 staging buffers, a power of two from 16 KiB to 256 KiB; 0: the most.
                           * Spans of a quarter of it and more are written from where they lie */
    const struct iovec *buffers; /* memory that spans will lie in, to be registered, each at most 1 GiB (else none is
                                  * registered); borrowed until close */
    unsigned buffer_count;       /* 0: none */
    unsigned late_count;         /* the last of these are not to be registered, which would fault their pages in */
    /* Fills bytes (a multiple of 8, 8..4088) that readers of the file skip. NULL: no O_DIRECT. */
    void (*fill_padding)(void *data, size_t bytes);
    const struct weir_io_ops *io;           /* io/io_ops.h; NULL: the real system calls */
    const struct weir_notice_sink *notices; /* borrowed; may be NULL */
    bool refusal_is_told; /* of an output before it was told that io_uring is refused: of this one only verbosely */
};

/* What became of a span. */
struct weir_output_done {
    void *token;        /* as given to append */
    int result;         /* 0: on file; -errno: not, nor anything appended after it */
    size_t begun_bytes; /* of one that failed: its first bytes, which are in a stream. Files are cut before it: 0 */
};

struct weir_output_stats {
    uint64_t appended_bytes; /* payload given to append */
    uint64_t padding_bytes;  /* padding records added */
    uint64_t written_bytes;  /* payload and padding that completed */
    uint64_t copied_bytes;   /* payload that went through a staging buffer */
    uint64_t direct_bytes;   /* of written_bytes, with O_DIRECT */
    uint64_t buffered_bytes; /* of written_bytes, through the page cache */
    uint64_t writes;         /* write requests completed */
    uint64_t resubmitted;    /* short or retried completions */
    uint64_t enters;         /* system calls made to submit and to wait */
    unsigned in_flight_max;
};

struct weir_output; /* opaque */

/*
 * Makes the nameless file beside `path` and the I/O engine. Checks that publish() will be possible: an existing path
 * must be a regular file with one link, owned by this user (or we are root), not locked by another recorder.
 * 0, or -errno with err: -ELOOP (symbolic link), -EISDIR, -EINVAL (FIFO, device, socket, hard link), -EPERM (another
 * user's file), -EACCES, -ENOENT, -EROFS, -ENOSPC, -EBUSY (another recorder's: err names its pid), -ENOMEM.
 */
int weir_output_open(struct weir_output **out, const char *path, const struct weir_output_options *options,
                     struct weir_error *err);

/*
 * The same for a stream: what is written to fd (borrowed; it may be closed afterwards) goes to whoever reads it, and
 * cannot be changed any more. A pipe is made as large as the system lets it be. Everything below holds but for this:
 * the head may have any length and goes out with the spans, there is no patch_head(), publish() and sync() do nothing,
 * finish() takes no tail, and abandon() lets go of a reader that does not read. Its thread should ignore or block
 * SIGPIPE: then a reader that has gone is -EPIPE of the output. 0, or -errno with err: -EBADF (not open for writing),
 * -ENOTTY (a terminal), -EMFILE, -ENOMEM.
 */
int weir_output_open_stream(struct weir_output **out, int fd, const struct weir_output_options *options,
                            struct weir_error *err);

/* Only the checks of open_stream(). */
int weir_output_check_stream(int fd, struct weir_error *err);

/* Only the checks of open(), so that a bad path is told before anything else is begun. Leaves nothing behind.
 * 0 or -errno with err, as open(). */
int weir_output_check(const char *path, struct weir_error *err);

/* Gives the file its name. An existing file is first renamed to path + ".old" (replacing one of that name).
 * 0 or -errno with err; on failure the existing file is at its name again. No-op for /dev/null. */
int weir_output_publish(struct weir_output *output, struct weir_error *err);

struct weir_output_identity { /* which file, and in which state */
    uint64_t device, inode, bytes;
    int64_t changed_s, changed_ns;
    uint32_t mode, uid, gid;
};

void weir_output_identity_of(struct weir_output_identity *identity, const struct stat *st);

/* For an output that is going to replace() a file: gives it to that file's owner, where this process may. Early, as
 * what that takes (CAP_CHOWN) is dropped before recording. */
void weir_output_give_owner(struct weir_output *output, const struct weir_output_identity *was);

/*
 * Instead of publish(), once all is written and synced: takes the place of the existing file, with its mode if it has
 * its owner (weir_output_give_owner()), in one step. There is no ".old". 0 or -errno with err, and then that file is as
 * it was: -ESTALE (it is not as `was` says), those of linkat(2) and rename(2).
 */
int weir_output_replace(struct weir_output *output, const struct weir_output_identity *was, struct weir_error *err);

/*
 * For an output that is going to replace() a file: the name PATH + suffix until it does, so that what is on file of it
 * is found when this process is killed or the machine goes down. Closed without replace() it vanishes all the same.
 * Never replaces what has that name. 0 or -errno with err: -EEXIST, -ENAMETOOLONG, -ENOMEM, those of linkat(2).
 */
int weir_output_name_beside(struct weir_output *output, const char *suffix, struct weir_error *err);

/*
 * For an output that could not replace() its file: it gets the name PATH + suffix, if it has not, and stays there when
 * it is closed. 0 or -errno with err, as name_beside(); -ENOENT: somebody has removed it.
 */
int weir_output_keep_beside(struct weir_output *output, const char *suffix, struct weir_error *err);

/* True for what open_stream() made. */
bool weir_output_is_stream(const struct weir_output *output);

/* False for /dev/null and streams: they get no other name. */
bool weir_output_has_name(const struct weir_output *output);

/* False when what stands at its path is another file, or none: it was taken, or is not published. True for /dev/null
 * and streams. */
bool weir_output_is_at_name(const struct weir_output *output);

/* True when somebody has moved or removed the file, once it was published. */
bool weir_output_was_taken(const struct weir_output *output);

/*
 * Gives the file another name in its directory (name has no slash) and never replaces what has that name; one that was
 * not published is, under it. 0, or -errno with err, and then nothing has changed: -EEXIST, -ENAMETOOLONG, -ENOENT (the
 * file was removed meanwhile, or is not at its name any more), -ENOMEM and those of renameat2(2). Does nothing for
 * /dev/null and streams.
 */
int weir_output_rename(struct weir_output *output, const char *name, struct weir_error *err);

/* Takes the name of a published file away: it vanishes at close. One that is not at its name any more stays. Does
 * nothing for /dev/null and streams. */
void weir_output_remove(struct weir_output *output);

/*
 * Instead of remove(): gives the name of a published file to another one of its directory, in one step. heir: the name
 * of that one until then, without a slash; it must still be the file that device and inode say. 0; or -errno, and then
 * nothing has changed: -ENOENT (one of the two is not at its name any more), -EOPNOTSUPP (/dev/null, streams), those of
 * rename(2).
 */
int weir_output_pass_name(struct weir_output *output, const char *heir, dev_t device, ino_t inode);

/* The path that it was opened with, with its name of now; borrowed until the next rename. */
const char *weir_output_path(const struct weir_output *output);

/* Its folder gets another name: that is its path from now on. 0 or -ENOMEM, and then nothing has changed. */
int weir_output_set_path(struct weir_output *output, const char *path);

/* Writes the fixed bytes at the file's start, synchronously: data begins at head_bytes (a multiple of 4096; 0: there is
 * no head) after this. Called once, before the first append. 0 or -errno. */
int weir_output_write_head(struct weir_output *output, const void *head, size_t head_bytes);

/*
 * Copies [offset, offset + bytes) of the file fd behind the head, as the first of the data, sharing blocks where the
 * file system can. After write_head(), before the first append. 0; or -errno, -ENODATA when fd ends before, and then
 * the output is of no use. Blocks.
 */
int weir_output_copy_in(struct weir_output *output, int fd, uint64_t offset, uint64_t bytes);

/* Whether another process has locked the file of fd as its output. 0, or -EBUSY with err, which has path and its pid.
 */
int weir_output_check_lock(int fd, const char *path, struct weir_error *err);

/* Locks a file as an output's own, for other recorders to see; until a descriptor of it is closed. 0 or -errno. */
int weir_output_lock(int fd);

/*
 * Sets that many bytes aside for the tail of finish(), which has them when it finds no room otherwise; a sixteenth of
 * what is free there at most. At most once, before finish(). Returns how many; 0 also where the file system makes no
 * files without a name or allocates nothing ahead, and for /dev/null and streams: then finish() does without.
 */
uint64_t weir_output_set_aside(struct weir_output *output, uint64_t bytes);

/* Overwrites bytes below the data start, synchronously and atomically for bytes <= 8 (checkpoints, final header). */
int weir_output_patch_head(struct weir_output *output, uint64_t offset, const void *data, size_t bytes);

/* True while append() would take another span without waiting. While it is false something is always on its way to the
 * file, so that reap() in a loop makes it true again; but for a full output, see below. */
bool weir_output_can_append(const struct weir_output *output);

/* Whether that -errno, of anything that is done to files, says that there is no room: none on the file system (ENOSPC),
 * or none of what its user, folder or project may have of it (EDQUOT). */
bool weir_output_lacks_space(int result);

/*
 * Whether a file system without room (weir_output_lacks_space()) is waited for; else, as at first, it is a failure.
 * While it is waited for all spans stay pending, and writes are submitted only after try_again(), in their order. With
 * false what waits is tried once more. Any time.
 */
void weir_output_wait_for_space(struct weir_output *output, bool waits);

/* True from a write that found no room, and waits for it, until one has found some. */
bool weir_output_is_full(const struct weir_output *output);

/* Has the writes of a full output submitted again by the next flush() or reap(). */
void weir_output_try_again(struct weir_output *output);

/*
 * Appends [data, data + bytes), bytes > 0 and a multiple of 8, to stay unchanged until its completion is reaped.
 * buffer_index: which of options.buffers holds it, -1 for none. When it is in one, the bytes behind it up to the next
 * multiple of 4096, as far as they lie in the same buffer, belong to the output as well until then: it pads there, or
 * puts there what is appended next. O_DIRECT takes data that begins at a multiple of 4096 and has that room; all other
 * goes through the page cache.
 * pressed: the pool is nearly empty; this span goes through the page cache, which absorbs what a slow disk does not.
 * Only queues: weir_output_flush() tells the kernel. Must not be called while !weir_output_can_append().
 * Returns the file offset of its first byte; UINT64_MAX when the output has failed. In a stream that counts from its
 * beginning.
 */
uint64_t weir_output_append(struct weir_output *output, const void *data, size_t bytes, int buffer_index, bool pressed,
                            void *token);

/*
 * What is appended after begin_whole(), up to the first span after end_whole(), is one thing: it stands in the file
 * without padding between its spans, and stable_bytes() covers either none or all of it. Its spans complete as others
 * do; of a whole that has failed some may be told as on file, and are cut off. Wholes do not nest. What follows a span
 * that is no multiple of 4096 goes through the page cache.
 */
void weir_output_begin_whole(struct weir_output *output);
void weir_output_end_whole(struct weir_output *output); /* the next span is its last one */

/* Fails a stream by that error at once, with whatever is on its way. For a reader that has stopped reading. */
void weir_output_abandon(struct weir_output *output, int error);

/* Hands what is queued to the kernel. 0, or -errno when the queue as a whole failed (which fails the output). */
int weir_output_flush(struct weir_output *output);

/* Collects up to max completions in append order; waits up to wait_ms (0: not at all) for the first when there is
 * something in flight. Submits again what needs it. Returns their number (0 is not an error). */
unsigned weir_output_reap(struct weir_output *output, struct weir_output_done *done, unsigned max, unsigned wait_ms);

/* Spans appended and not yet reaped. */
unsigned weir_output_pending(const struct weir_output *output);

/* Queues what lies in the staging buffer, so that its spans complete soon after the next flush() or reap(). It goes
 * through the page cache: the disk is not waited for. For a writer that has nothing else to do. */
void weir_output_push_tail(struct weir_output *output);

/* Bytes of data (from the data start) that are on file and end at a span's end. Monotonic. */
uint64_t weir_output_stable_bytes(const struct weir_output *output);

/*
 * Begins fdatasync(2) of what is on file now. The queue does it while spans go on being written; a queue on plain
 * writes does it at once. One at a time; reap() sees the end. Not for streams. 0; -EBUSY (no room in the queue: again
 * after reap()); the error of the output.
 */
int weir_output_begin_sync(struct weir_output *output);

/* -EINPROGRESS: ask again after reap(). 0: the last one that was begun has succeeded. -EAGAIN: it is to be begun again.
 * Another -errno has failed the output: what was written after is not on file. */
int weir_output_sync_result(const struct weir_output *output);

/* Makes the file's name of now outlive the machine: fsync(2) of its directory. Does nothing for /dev/null and streams.
 * 0 or -errno: -EACCES (the directory must be readable) and those of fsync(2). Blocks. */
int weir_output_sync_name(const struct weir_output *output);

/* 0, or the error that failed this output. */
int weir_output_error(const struct weir_output *output);

void weir_output_get_stats(const struct weir_output *output, struct weir_output_stats *stats);

/* Whether no CPU looks at the data of whole chunks: they go to the device past the page cache (O_DIRECT), as far as is
 * known (a file system may refuse it at the first write), or to /dev/null. */
bool weir_output_is_unread(const struct weir_output *output);

/* How it writes at this moment, for -v: "io_uring, O_DIRECT, 64 registered buffers". Borrowed. */
const char *weir_output_describe(const struct weir_output *output);

/*
 * Stops waiting for space, waits for everything in flight, then writes `tail` (the feature sections) right behind the
 * stable data, synchronously and cuts the file there (dropping preallocation, and after a failure what lies behind the
 * stable data). A tail that finds no room is written once more when what was set aside is given back, and behind an
 * fsync(2), when file systems with a journal have given back what was cut. 0, also for an output that has failed; or
 * -errno, and then the file ends with the stable data. Spans not reaped yet may still be. No append afterwards.
 */
int weir_output_finish(struct weir_output *output, const void *tail, size_t tail_bytes);

/*
 * Whether the file is still what was written to it, before finish(), which makes up for some of it: 0; -ENOENT (it was
 * removed, so that it goes when it is closed) or -ENODATA (it was cut), with err. Streams, /dev/null and files without
 * a name are passed over. Nothing may be in flight.
 */
int weir_output_check_kept(const struct weir_output *output, struct weir_error *err);

/*
 * Whether that has happened since the last look, while it is written: 0, -ENOENT or -ENODATA, once. Two or three system
 * calls, whatever the file's size: only what was written since is looked at, and the blocks before, of which
 * one is gone whenever more is. Who writes the output.
 */
int weir_output_look(struct weir_output *output);

/* fsync(2). 0 or -errno, also of an earlier sync, which the kernel tells once only. The slow part of finishing. */
int weir_output_sync(struct weir_output *output);

/* Waits for what the kernel still holds of our buffers, closes. An unpublished file vanishes. NULL is allowed. */
void weir_output_close(struct weir_output *output);

#endif
