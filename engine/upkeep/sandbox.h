/*
 * A filter of system calls for commands that read recordings. The process enters it before it reads the first byte of a
 * recording.
 *
 * Anybody may make a recording, and libtraceevent, libelf and zstd parse it in this process. So the process gives up,
 * for good, all system calls but those that reading needs. Any other call ends it by SIGSYS: weir's parsers make no
 * such call, so code that makes one has taken the process over. The filter binds the calling thread, which is the only
 * one, and its children and the threads that it starts.
 *
 *     reading    read, write to open descriptors, memory that is not executable, fork (trials of tracepoint formats)
 *     recovery   also: open for reading, and look at names, as recovery compares with /proc and tracefs
 *     symbols    as recovery, and threads: files with symbols are opened by the names of mappings (report/)
 *
 * None can open a file for writing; make, rename or remove a file; execute; connect; or signal, trace or limit
 * another process. Builds with a sanitizer also allow the calls of its reports and its leak check.
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
    WEIR_SANDBOX_SYMBOLS,
};

/* Returns whether the program was built with filters. */
bool weir_sandbox_is_built(void);

/*
 * Binds the calling thread, and sets no_new_privs. If the kernel refuses, as old kernels and some containers do, the
 * thread goes on without a filter and one warning says so: the user asked for reading. Allocates. 0, or -errno of the
 * refusal; callers may ignore it.
 */
int weir_sandbox_enter(enum weir_sandbox kind, const struct weir_notice_sink *notices);

/* A gate (format/perf_input.h) that enters the sandbox and never ends the opening. */
struct weir_sandbox_gate {
    enum weir_sandbox kind;
    const struct weir_notice_sink *notices; /* borrowed; may be NULL */
};

/* Returns the gate for weir_perf_input_open_gated(). gate is borrowed as long as the result is used. */
struct weir_input_gate weir_sandbox_input_gate(struct weir_sandbox_gate *gate);

#endif
