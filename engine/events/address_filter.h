/*
 * Filters of events that trace instructions (Intel PT, CoreSight), as perf's --filter takes them:
 *
 *     filters = filter { { " " | "," } filter } .
 *     filter  = ACTION place [ "/" ( SIZE | end ) ] [ "@" FILE ] .    filter, start, stop or tracestop
 *     place   = ADDRESS | "*" | FUNCTION [ "#" ( N | "g" ) ] .        blanks end a name
 *
 * The name of a function becomes its offset in FILE, or its address in the kernel where there is no FILE. #N chooses
 * the Nth of several functions of that name, #g the global one. * is all of the file, or of the kernel. In filter and
 * tracestop a name stands for the whole function.
 *
 * Source: addr_filters__parse_bare_filter() and addr_filter__resolve_syms(), tools/perf/util/auxtrace.c, Linux 6.1. The
 * kernel's own grammar: perf_event_parse_addr_filter(), kernel/events/core.c.
 *
 * Main thread, set-up; allocates, and blocks as reading files does.
 */
#ifndef WEIR_ENGINE_EVENTS_ADDRESS_FILTER_H
#define WEIR_ENGINE_EVENTS_ADDRESS_FILTER_H

#include "base/buf.h"
#include "base/error.h"

/*
 * Appends the filters in the kernel's form, without names: "filter 0x1130/0x20@/bin/true,start 0x...". max: number of
 * filters that the PMU can have. proc_root NULL: "/proc".
 * 0; -EINVAL: wrong grammar, too many filters, no such function, or several of that name; -errno of a file that cannot
 * be read; -ENOMEM. On failure err says why, and out is unchanged.
 */
int weir_address_filter_resolve(struct weir_buf *out, const char *text, unsigned max, const char *proc_root,
                                struct weir_error *err);

#endif
