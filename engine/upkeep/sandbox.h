/*
 * What reading commands may still ask of the kernel: a filter of system calls, put on before the first byte of a
 * recording is looked at.
 *
 * A recording may be made by anybody, and libtraceevent, libelf and zstd read it with us. So the process gives up, for
 * good, all but what reading takes. A call that is not on the list ends it by SIGSYS: no parser of ours makes one, so
 * whoever does has taken it over. Only the calling thread is bound (there is one), and what it forks.
 *
 *     reading    read, write to what is open, memory that is not executable, fork (trials of tracepoint formats)
 *     recovery   and besides: opening for reading, and looking at names, as recovery compares with /proc and tracefs
 *
 * Neither can open a file for writing, make, rename or remove one, execute, connect, signal, trace or set a limit of
 * another process. Under the sanitizers the calls of their own reports and leak check are let through besides.
 *
 * Source: seccomp(2), seccomp_rule_add(3) of libseccomp 2.5. Without libseccomp (-DWEIR_SECCOMP=OFF) there is no
 * filter.
 */
#ifndef WEIR_ENGINE_UPKEEP_SANDBOX_H
#define WEIR_ENGINE_UPKEEP_SANDBOX_H

#include <stdbool.h>

#include "base/notice.h"
#include "format/perf_input.h"

enum weir_sandbox {
    WEIR_SANDBOX_READING,
    WEIR_SANDBOX_RECOVERY,
};

/* Whether the program was built with filters. */
bool weir_sandbox_is_built(void);

/*
 * Binds the calling thread, and sets no_new_privs. Where the kernel refuses, one warning says so and the thread goes on
 * unbound: old kernels and some containers do, and what is asked for is to read. Allocates. 0, or -errno of the
 * kernel's refusal, for those who want to know.
 */
int weir_sandbox_enter(enum weir_sandbox kind, const struct weir_notice_sink *notices);

/* A gate (format/perf_input.h) that enters the sandbox and lets everybody through. */
struct weir_sandbox_gate {
    enum weir_sandbox kind;
    const struct weir_notice_sink *notices; /* borrowed; may be NULL */
};

/* gate is borrowed as long as the result is used. */
struct weir_input_gate weir_sandbox_input_gate(struct weir_sandbox_gate *gate);

#endif
