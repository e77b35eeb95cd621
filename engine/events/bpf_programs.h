/*
 * The programs of one BPF file as sources of events: what `-e FILE.o` and `-e FILE.c` stand for.
 *
 *     open ──► events of the file ──► load ──► outputs of each CPU ──► attach ──► (programs run) ──► detach ──► free
 *
 * libbpf reads, loads and attaches; what a program is attached to is said by its section, in libbpf's words
 * (tracepoint/SYSTEM/NAME, kprobe/FUNCTION, uprobe/FILE:FUNCTION, ...), or in perf's of 4.8 (SYSTEM:NAME).
 *
 * - A program of a tracepoint makes that tracepoint an event. The kernel asks the program at each occurrence: 0 keeps
 *   the sample out, of this recording and of whatever else listens by perf_event_open(2) meanwhile.
 * - A map of type PERF_EVENT_ARRAY is an event of its name: what programs give to bpf_perf_event_output(map,
 *   BPF_F_CURRENT_CPU, ...) is the raw data of its samples.
 * - Programs of other sections make no event of their own, and run.
 *
 * Main thread, then the coordinator; set-up only, but for weir_bpf_programs_set_output(). Source: libbpf.h 1.1;
 * bpf-helpers(7); perf_event_attach_bpf_prog(), kernel/trace/bpf_trace.c of Linux 6.12.
 */
#ifndef WEIR_ENGINE_EVENTS_BPF_PROGRAMS_H
#define WEIR_ENGINE_EVENTS_BPF_PROGRAMS_H

#include <stddef.h>

#include "base/error.h"
#include "base/notice.h"
#include "engine/events/bpf_compile.h"

struct weir_bpf_programs; /* opaque */

struct weir_bpf_event {
    const char *tracepoint_system, *tracepoint_name; /* of a tracepoint; NULL: of an output */
    const char *output;                              /* the map's name */
};

/*
 * Reads an object file, or compiles a source file whose name ends in ".c" and reads what comes of it; needs no
 * privileges. *made is the caller's. 0; -ENOENT and other errno of open(2) and posix_spawn(3); -EINVAL (not compiled,
 * not an object file that libbpf takes, a section that says nothing of where to attach, nothing to record); -ENOMEM;
 * each with err and hint.
 */
int weir_bpf_programs_open(struct weir_bpf_programs **made, const char *path, const struct weir_bpf_build *build,
                           struct weir_error *err);

/* Detaches what is attached, and unloads all. NULL-safe. */
void weir_bpf_programs_free(struct weir_bpf_programs *programs);

/* What there is to record, by number: each tracepoint once, then the outputs. Borrowed; NULL behind the last one. */
const struct weir_bpf_event *weir_bpf_programs_event(const struct weir_bpf_programs *programs, size_t number);

/* Has the kernel check and load programs and maps. Once. Lines of libbpf become verbose notices. 0 or -errno (-EPERM:
 * CAP_BPF and CAP_PERFMON are needed) with err and hint. */
int weir_bpf_programs_load(struct weir_bpf_programs *programs, const struct weir_notice_sink *notices,
                           struct weir_error *err);

/* Where programs that run on that CPU send what they give to the output, an event of the file: to an open event of type
 * bpf-output there. Any time after load(); replaces the one before. 0 or -errno. */
int weir_bpf_programs_set_output(const struct weir_bpf_programs *programs, size_t event, unsigned cpu, int fd);

/* Attaches all programs: they run from now on. Once. 0 or -errno with err and hint; then none is attached. */
int weir_bpf_programs_attach(struct weir_bpf_programs *programs, const struct weir_notice_sink *notices,
                             struct weir_error *err);

/* None runs any more. Whether any did or not. */
void weir_bpf_programs_detach(struct weir_bpf_programs *programs);

#endif
