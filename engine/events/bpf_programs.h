/*
 * The programs of one BPF file as sources of events: `-e FILE.o` and `-e FILE.c`.
 *
 *     open ──► events of the file ──► load ──► outputs of each CPU ──► attach ──► (programs run) ──► detach ──► free
 *
 * libbpf reads, loads and attaches. The name of a program's section says where to attach it, as libbpf defines it
 * (tracepoint/SYSTEM/NAME, kprobe/FUNCTION, uprobe/FILE:FUNCTION, ...) or perf 4.8 did (SYSTEM:NAME).
 *
 * - A program of a tracepoint makes that tracepoint an event. The kernel runs the program at each occurrence. When the
 *   program returns 0, neither this recording nor any other user of perf_event_open(2) gets a sample.
 * - A map of type PERF_EVENT_ARRAY makes an event of the map's name. The data that programs pass to
 *   bpf_perf_event_output(map, BPF_F_CURRENT_CPU, ...) is the raw data of its samples.
 * - Programs of other sections run, and make no event.
 *
 * Main thread, then the coordinator. Set-up only, except weir_bpf_programs_set_output(). Source: libbpf.h 1.1;
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
    const char *tracepoint_system, *tracepoint_name; /* NULL: the event is an output */
    const char *output;                              /* name of the map; NULL: the event is a tracepoint */
};

/*
 * Reads an object file; compiles the file first when its name ends in ".c". Needs no privileges. *made is the caller's.
 * 0; -EINVAL: the compiler failed, libbpf takes the file for no object file, a section does not say where to attach,
 * or there is nothing to record; -ENOENT and other errno of open(2) and posix_spawn(3); -ENOMEM. Each with err and
 * hint.
 */
int weir_bpf_programs_open(struct weir_bpf_programs **made, const char *path, const struct weir_bpf_build *build,
                           struct weir_error *err);

/* Detaches and unloads the programs, and frees all. NULL-safe. */
void weir_bpf_programs_free(struct weir_bpf_programs *programs);

/* The event of that number: each tracepoint once, then the outputs. Borrowed. NULL: there are fewer. */
const struct weir_bpf_event *weir_bpf_programs_event(const struct weir_bpf_programs *programs, size_t number);

/* Loads programs and maps into the kernel, which verifies the programs. Once. Lines of libbpf become verbose notices. 0
 * or -errno (-EPERM: CAP_BPF and CAP_PERFMON are needed) with err and hint. */
int weir_bpf_programs_load(struct weir_bpf_programs *programs, const struct weir_notice_sink *notices,
                           struct weir_error *err);

/* Connects one output on one CPU to fd, an open event of type bpf-output: programs that run on the CPU write their
 * samples there. event: number of the output. Any time after load(); replaces the descriptor before. 0 or -errno. */
int weir_bpf_programs_set_output(const struct weir_bpf_programs *programs, size_t event, unsigned cpu, int fd);

/* Attaches all programs: they run from now on. Once. 0 or -errno with err and hint; then none is attached. */
int weir_bpf_programs_attach(struct weir_bpf_programs *programs, const struct weir_notice_sink *notices,
                             struct weir_error *err);

/* Detaches all programs, if they are attached: none runs any more. */
void weir_bpf_programs_detach(struct weir_bpf_programs *programs);

#endif
