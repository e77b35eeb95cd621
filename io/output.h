/*
 * One output file, written front to back in large asynchronous writes, always cut at a record boundary.
 *
 * Spans reach the file in the order of weir_output_append(). The output writes a large span (64 KiB or more by default)
 * from the caller's memory, without a copy. It uses O_DIRECT and registered buffers where file system and kernel take
 * them. A small span is copied: into the padding of the write before it if that is not flushed yet, else into a staging
 * buffer. A staging buffer is written when it is full, when a large span follows, or at weir_output_push_tail().
 *
 * Spans complete strictly in order, so that at any moment the file holds a whole prefix of the appended spans:
 * weir_output_stable_bytes(). Short and failed completions are retried as their errno deserves. A write that cannot be
 * completed fails the output: its span and all later ones complete with the error. Where the write lacked room, the
 * output first cuts off the bytes behind the span, and fills the remaining room with the span's first bytes. The caller
 * knows where records end, and keeps the whole records among these bytes (weir_output_keep()). Otherwise the stable
 * prefix stays as it is.
 *
 * io/ knows nothing of perf.data: it keeps spans whole, and pads with the caller's padding where O_DIRECT needs a
 * multiple of 4096. One thread at a time owns an output (the writer thread, later the coordinator); nothing here locks.
 * That thread should ignore or block SIGXFSZ: then a write past RLIMIT_FSIZE fails with EFBIG like any other.
 *
 * "On file" means: every consumer of the file sees the bytes, and the bytes outlive this process. Only
 * weir_output_sync() and weir_output_begin_sync() make them outlive the machine. While recording the file is larger
 * than its data: space is allocated ahead in steps of up to 64 MiB, and weir_output_finish() cuts the rest off.
 *
 * Symbolic links are not followed in the last component of a path, only in the directories before it. Only regular
 * files and /dev/null are written. The file is made nameless (O_TMPFILE, else a hidden temporary name) with mode 0600
 * and gets its name at weir_output_file_publish(). Until then a failure leaves nothing behind and an existing file
 * untouched.
 */
#ifndef WEIR_IO_OUTPUT_H
#define WEIR_IO_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/error.h"
#include "base/notice.h"
#include "io/output_file.h"

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
                           * A span of a quarter of it or more is written from the caller's memory */
    const struct iovec *buffers; /* memory that spans will lie in, to be registered, each at most 1 GiB (else none is
                                  * registered); borrowed until close */
    unsigned buffer_count;       /* 0: none */
    unsigned late_count;         /* so many buffers at the end stay unregistered: registering faults their pages in */
    /* Fills bytes that consumers of the file skip: a multiple of 8, from padding_least to less than 4096 more. NULL: no
     * O_DIRECT. */
    void (*fill_padding)(void *data, size_t bytes);
    size_t padding_least; /* bytes of the shortest padding, a multiple of 8 up to 4096; 0: 8 */
    /* The directory of the file, borrowed for the call of open(); path then gives the file's name and is for messages.
     * NULL: path is looked up. */
    const int *directory_fd;
    const struct weir_io_ops *io;           /* io/io_ops.h; NULL: the real system calls */
    const struct weir_notice_sink *notices; /* borrowed; may be NULL */
    bool refusal_is_told; /* an earlier output has told that io_uring is refused: this output tells it verbosely only */
};

/* The result of one span. */
struct weir_output_done {
    void *token;        /* as given to append */
    int result;         /* 0: on file; -errno: neither the span nor a later one is */
    size_t begun_bytes; /* of a failed span: so many of its first bytes are in the file, or in the stream. A file is cut
                         * before the span unless weir_output_keep() follows */
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

/* ---- open ---- */

/*
 * Makes the nameless file beside `path` and the I/O engine. Checks that weir_output_file_publish() will be possible. An
 * existing path must be a regular file with one link that no other recorder has locked. It must belong to this user,
 * unless weir runs as root. 0, or -errno with err: -ELOOP (symbolic link), -EISDIR, -EINVAL (FIFO, device, socket, hard
 * link), -EPERM (another user's file), -EACCES, -ENOENT, -EROFS, -ENOSPC, -EBUSY (another recorder's: err names its
 * pid), -ENOMEM.
 */
int weir_output_open(struct weir_output **out, const char *path, const struct weir_output_options *options,
                     struct weir_error *err);

/*
 * Opens an output on a stream: bytes go to the consumer that reads fd (borrowed; the caller may close it afterwards),
 * and no byte can be changed any more. A pipe is made as large as the system allows. A stream differs from a file in
 * this: the head may have any length and goes out with the spans. patch_head() must not be called. sync() and the
 * functions of io/output_file.h do nothing. finish() takes no tail. abandon() gives up a consumer that does not read.
 * The thread that owns the stream should ignore or block SIGPIPE. Then the output fails with -EPIPE when the consumer
 * has gone. 0, or -errno with err: -EBADF (not open for writing), -ENOTTY (a terminal), -EMFILE, -ENOMEM.
 */
int weir_output_open_stream(struct weir_output **out, int fd, const struct weir_output_options *options,
                            struct weir_error *err);

/* Returns the output's file, for its name; borrowed until close. */
struct weir_output_file *weir_output_file_of(struct weir_output *output);

/* Whether open_stream() made the output. */
bool weir_output_is_stream(const struct weir_output *output);

/* Whether no CPU reads the data of whole chunks, because they go to /dev/null, or to the device past the page cache
 * (O_DIRECT). The answer may change: a file system may refuse O_DIRECT at the first write. */
bool weir_output_is_unread(const struct weir_output *output);

/* Describes how the output writes at this moment, for -v: "io_uring, O_DIRECT, 64 registered buffers". Borrowed. */
const char *weir_output_describe(const struct weir_output *output);

/* ---- head ---- */

/* Writes the fixed bytes at the start of the file, synchronously: data begins at head_bytes (a multiple of 4096; 0:
 * there is no head) after this. Once, before the first append. 0 or -errno. */
int weir_output_write_head(struct weir_output *output, const void *head, size_t head_bytes);

/*
 * Copies [offset, offset + bytes) of the file fd behind the head, as the first of the data, sharing blocks where the
 * file system can. After write_head(), before the first append. 0; or -errno, -ENODATA when fd ends before, and then
 * the output is of no use. Blocks.
 */
int weir_output_copy_in(struct weir_output *output, int fd, uint64_t offset, uint64_t bytes);

/*
 * Sets that many bytes aside for the tail of finish(), a sixteenth of the free space at most. finish() uses them when
 * it finds no other room. least: bytes that the tail surely has. When a span fills the file system up, the output
 * leaves free as many of these as it could not set aside. At most once, before finish(). Returns the number of bytes.
 * Also returns 0 for /dev/null and streams, and on file systems that make no nameless files or allocate nothing ahead.
 * finish() then has no bytes set aside.
 */
uint64_t weir_output_set_aside(struct weir_output *output, uint64_t bytes, uint64_t least);

/* Overwrites bytes below the data start, synchronously and atomically for bytes <= 8 (checkpoints, final header). */
int weir_output_patch_head(struct weir_output *output, uint64_t offset, const void *data, size_t bytes);

/* ---- data ---- */

/* True while append() takes another span without waiting. While false, something is always on its way to the file, so
 * that reap() in a loop makes it true again. A full output is the exception: try_again() comes first. */
bool weir_output_can_append(const struct weir_output *output);

/*
 * Appends [data, data + bytes), bytes > 0 and a multiple of 8. The bytes must stay unchanged until the completion of
 * the span is reaped.
 * buffer_index: which of options.buffers holds the span, -1 for none. With a buffer, the output also owns the bytes
 * behind the span until then, up to the next multiple of 4096 or the buffer's end. The output puts padding or the next
 * span there. O_DIRECT takes spans that begin at a multiple of 4096 and have that room. All others go through the page
 * cache, and so does a span whose room is too little for padding.
 * pressed: the pool is nearly empty. This span goes through the page cache, which absorbs the lag of a slow disk.
 * Only queues: weir_output_flush() tells the kernel. Must not be called while !weir_output_can_append().
 * Returns the file offset of the first byte (in a stream: counted from its beginning); UINT64_MAX when the output has
 * failed.
 */
uint64_t weir_output_append(struct weir_output *output, const void *data, size_t bytes, int buffer_index, bool pressed,
                            void *token);

/*
 * Begins and ends a whole: the spans from the first one after begin_whole() to the first one after end_whole(). A whole
 * stands in the file without padding between its spans, and stable_bytes() covers either none or all of it. Its spans
 * complete like others; of a failed whole, spans that were told as on file may be cut off. Wholes do not nest. A span
 * behind one that is no multiple of 4096 goes through the page cache.
 */
void weir_output_begin_whole(struct weir_output *output);
void weir_output_end_whole(struct weir_output *output); /* the next span is the last one */

/* Queues the contents of the staging buffer, so that its spans complete soon after the next flush() or reap(). They go
 * through the page cache, without waiting for the disk. For a writer that has nothing else to do. */
void weir_output_push_tail(struct weir_output *output);

/* Hands queued writes to the kernel. 0, or -errno when the queue itself failed (which fails the output). */
int weir_output_flush(struct weir_output *output);

/* Collects up to max completions in append order; waits up to wait_ms (0: not at all) for the first when something is
 * in flight. Submits failed writes again where that helps. Returns the number of completions (0 is not an error). */
unsigned weir_output_reap(struct weir_output *output, struct weir_output_done *done, unsigned max, unsigned wait_ms);

/*
 * Keeps the first `bytes` of a failed span in its file: from now on they are stable. At most begun_bytes; once, right
 * after the reap() that gave the span, and not in a stream, which keeps them anyway.
 */
void weir_output_keep(struct weir_output *output, size_t bytes);

/* Returns the number of spans appended and not yet reaped. */
unsigned weir_output_pending(const struct weir_output *output);

/* Returns the number of stable bytes, from the data start. They are on file and end at a span's end, or at the end of
 * the bytes that keep() kept. Monotonic. */
uint64_t weir_output_stable_bytes(const struct weir_output *output);

/* Fails a stream by that error at once, with all spans on their way. For a consumer that has stopped reading. */
void weir_output_abandon(struct weir_output *output, int error);

/* Returns 0, or the error that failed this output. */
int weir_output_error(const struct weir_output *output);

void weir_output_get_stats(const struct weir_output *output, struct weir_output_stats *stats);

/* ---- a file system without room ---- */

/* Whether that -errno, of any operation on files, means want of room: on the file system (ENOSPC), or in the quota of a
 * user, folder or project (EDQUOT). */
bool weir_output_lacks_space(int result);

/*
 * Chooses whether the output waits for room (weir_output_lacks_space()); at first want of room is a failure. While
 * the output waits all spans stay pending, and writes are submitted only after try_again(), in their order. With false
 * the waiting writes are tried once more. Any time.
 */
void weir_output_wait_for_space(struct weir_output *output, bool waits);

/* True from a write that found no room, and waits for it, until a write finds room. */
bool weir_output_is_full(const struct weir_output *output);

/* Has the next flush() or reap() submit the writes of a full output again. */
void weir_output_try_again(struct weir_output *output);

/* ---- disk ---- */

/*
 * Begins fdatasync(2) of the bytes that are on file now. The queue does it while spans go on being written; a queue on
 * plain writes does it at once. One at a time; reap() sees the end. Not for streams. 0; -EBUSY (no room in the queue:
 * again after reap()); the error of the output.
 */
int weir_output_begin_sync(struct weir_output *output);

/* -EINPROGRESS: ask again after reap(). 0: the last sync succeeded. -EAGAIN: begin the sync again. Another -errno has
 * failed the output: bytes written after the sync before are not on file. */
int weir_output_sync_result(const struct weir_output *output);

/* fsync(2). 0 or -errno, also of an earlier sync, which the kernel tells once only. The slow part of finishing. */
int weir_output_sync(struct weir_output *output);

/*
 * Whether another process has removed or cut the file since the last look, while it is written: 0, -ENOENT (removed) or
 * -ENODATA (cut), once. Makes two or three system calls, whatever the size of the file. The look covers the bytes
 * written since, and the block before them, which is gone whenever an earlier block is. The thread that owns the
 * output.
 */
int weir_output_look(struct weir_output *output);

/* ---- end ---- */

/*
 * Whether the file still holds all that was written: 0; -ENOENT (removed: it goes at close) or -ENODATA (cut), with
 * err. Before finish(), which writes behind a cut and so hides it. Passes over streams, /dev/null and files without a
 * name. Nothing may be in flight.
 */
int weir_output_check_kept(const struct weir_output *output, struct weir_error *err);

/*
 * Stops waiting for room, waits for everything in flight, writes `tail` (the feature sections) right behind the stable
 * data, synchronously, and cuts the file there. That drops preallocated space, and after a failure all bytes behind the
 * stable data. If the tail finds no room, finish() gives the set-aside room back and writes the tail once more. If
 * there is still no room, it writes the tail again behind an fsync(2): file systems with a journal give the cut bytes
 * back only then. 0, also for a failed output; or -errno, and then the file ends with the stable data. Some spans may
 * still be to reap. No append afterwards.
 */
int weir_output_finish(struct weir_output *output, const void *tail, size_t tail_bytes);

/* Waits until the kernel holds none of our buffers, and closes. An unpublished file vanishes. NULL is allowed. */
void weir_output_close(struct weir_output *output);

#endif
