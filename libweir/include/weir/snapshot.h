/*
 * Snapshots of a recording, taken by the recorded program. The functions correspond to the kernel's tracing_snapshot()
 * and tracing_snapshot_alloc(), for programs that run under `weir record -M SIZE` or `--overwrite`.
 *
 *     int weir = weir_connect();            once, at the start; negative: weir does not record this program
 *     weir_snapshot_alloc(weir);            reserves memory, and takes a snapshot
 *     ...
 *     weir_snapshot(weir);                  when something goes wrong; also in a signal handler
 *
 * The connection is a descriptor: close(2) closes it, and so does execve(2). Functions that do not wait make one
 * send(2), so any thread and any signal handler may call them at any time. Functions that wait are for one thread of
 * one process at a time. Another thread or process, such as a child after fork(2), opens a connection of its own. No
 * function changes errno.
 *
 * All functions accept a negative descriptor and return -EBADF for it, so that a program need not ask whether it is
 * recorded. All may return -EPIPE: weir has gone, its recording has ended, or it has rejected the program (weir_ask()
 * gets the reason). All may return the errors of send(2).
 */
#ifndef WEIR_LIBWEIR_INCLUDE_WEIR_SNAPSHOT_H
#define WEIR_LIBWEIR_INCLUDE_WEIR_SNAPSHOT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_SNAPSHOT_API_VERSION 1

/*
 * Connects to the weir that records this program, which the environment variable WEIR_CONTROL names. Returns a
 * descriptor; -ENOENT: no such variable; -EINVAL: its value is not an address; -ECONNREFUSED: that weir has gone; or
 * another error of socket(2) or connect(2).
 */
int weir_connect(void);

/* Connects to an address in the form of WEIR_CONTROL: "unix:@NAME" or "unix:/PATH". Results as weir_connect(). */
int weir_connect_to(const char *address);

/*
 * Asks for a snapshot: weir writes the samples in memory to the file, and goes on in the memory that was reserved. Does
 * not wait. 0: the request is sent; -EAGAIN: weir has not yet received earlier requests.
 *
 * Without reserved memory, weir prints a message and this is the last snapshot: recording stops, and the samples in
 * memory go to the end of the file. While an earlier snapshot is being written, weir refuses the request with a
 * message. A request made just before the program ends or crashes is still carried out.
 *
 * As in the kernel, a snapshot replaces the earlier one that these functions, or the equal commands of the control
 * protocol, have taken. The snapshot is a file of its own, FILE.TIME. When the recording ends, weir renames it to FILE.
 * weir removes the earlier one once the new one is complete; with --snapshot-keep N it keeps the newest N. Dumps
 * (SIGUSR2, --snapshot-on) are never replaced. Outputs that cannot go on in another file (a stream, -A, --kcore) hold
 * all snapshots, one after the other. With --switch-output and --on-rotate all files stay, or as many as
 * --switch-max-files allows.
 */
int weir_snapshot(int weir);

/*
 * Reserves memory if that has not been done, takes a snapshot, and waits until it is written. 0, or -EREMOTEIO: weir
 * has refused, for example for lack of memory, and the recording goes on unchanged.
 */
int weir_snapshot_alloc(int weir);

/* Enable and disable the events. Do not wait; results as weir_snapshot(). */
int weir_enable(int weir);
int weir_disable(int weir);

/* Asks for a new output file, with --switch-output. Does not wait; results as weir_snapshot(). */
int weir_switch_output(int weir);

/*
 * Sends any command of weir's control protocol ("status", "enable EVENT", ...) and waits for the answer. answer
 * receives the text besides "ack", or the reason of a refusal, as a string cut to its size. answer may be NULL with 0
 * bytes.
 *
 * 0; -EREMOTEIO: weir has refused; -EINVAL: the command is empty, contains a newline, or begins with the minus sign
 * that suppresses an answer; -EMSGSIZE: more than 1024 bytes; -EPROTO: the answer is malformed.
 */
int weir_ask(int weir, const char *command, char *answer, size_t answer_bytes);

#ifdef __cplusplus
}
#endif

#endif
