/*
 * Snapshots of a recording, taken by the program that is recorded: the pair of the kernel's tracing_snapshot() and
 * tracing_snapshot_alloc(), for programs that run under `weir record -M SIZE` or `--overwrite`.
 *
 *     int weir = weir_connect();            once, at the start; negative: nobody records this program by weir
 *     weir_snapshot_alloc(weir);            sets memory aside, and takes a snapshot
 *     ...
 *     weir_snapshot(weir);                  when something went wrong; in a signal handler, too
 *
 * The connection is a descriptor: it is closed by close(2), and closed in programs that are executed. Functions that
 * do not wait may be called by any thread at any time, and from signal handlers: all they do is one send(2). Functions
 * that wait are for one thread of one process at a time; another one, and a child after fork(2), has a connection of
 * its own. errno is as it was before.
 *
 * All functions take a negative descriptor, and return -EBADF for it: a program need not ask whether it is recorded.
 * Other results of all: -EPIPE when weir has gone, when its recording has ended, or when it has turned the program away
 * (weir_ask() is told why), and those of send(2).
 */
#ifndef WEIR_LIBWEIR_INCLUDE_WEIR_SNAPSHOT_H
#define WEIR_LIBWEIR_INCLUDE_WEIR_SNAPSHOT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_SNAPSHOT_API_VERSION 1

/*
 * Connects to the weir that records this program, by WEIR_CONTROL in the environment. Returns a descriptor;
 * -ENOENT when there is no such variable, -EINVAL when it holds no address, -ECONNREFUSED when that weir has gone, or
 * another error of socket(2) or connect(2).
 */
int weir_connect(void);

/* The same, with the value that WEIR_CONTROL has: "unix:@NAME" or "unix:/PATH". */
int weir_connect_to(const char *address);

/*
 * Asks for a snapshot: what is in memory goes to the file, and the memory that was set aside takes its place. Does not
 * wait. When no memory was set aside weir says so, and this is the last snapshot: recording stops, and what is in
 * memory is kept for the file's end. Asked for while a snapshot is still being written, it is refused. Both are told by
 * weir. Asked for as the last thing before the program ends or crashes, it is taken. 0 once it is asked for, or -EAGAIN
 * when weir has not taken what was asked before.
 *
 * A snapshot replaces the one before of this pair of functions and of the commands that they stand for, as in the
 * kernel: it is in a file of its own, FILE.TIME, which is FILE when recording has ended, and the one before goes once
 * that is whole. Under --snapshot-keep N the newest N stay. Dumps (SIGUSR2, --snapshot-on) are never replaced. What
 * cannot go on in another file (a stream, -A, --kcore) has all snapshots, one behind the other;
 * under --switch-output and --on-rotate all files stay, or as many as --switch-max-files says.
 */
int weir_snapshot(int weir);

/*
 * Has memory set aside, if that was not done before, then takes a snapshot, and waits until it is written. 0, or
 * -EREMOTEIO when weir has refused it, for want of memory, say: then recording goes on as before.
 */
int weir_snapshot_alloc(int weir);

/* Has samples count, or not. Does not wait; as weir_snapshot(). */
int weir_enable(int weir);
int weir_disable(int weir);

/* Asks for a new output file, under --switch-output. Does not wait; as weir_snapshot(). */
int weir_switch_output(int weir);

/*
 * Has any command of weir's control protocol done ("status", "enable EVENT", ...) and waits for the answer. What it
 * says besides "ack", or why it was refused, is in answer (may be NULL with 0 bytes): a string, cut to its size. 0;
 * -EREMOTEIO when weir has refused it; -EINVAL for an empty command, one with a newline in it, or one with the minus
 * sign in front that says that no answer is wanted; -EMSGSIZE for one of more than 1024 bytes; -EPROTO for an answer
 * that is none.
 */
int weir_ask(int weir, const char *command, char *answer, size_t answer_bytes);

#ifdef __cplusplus
}
#endif

#endif
