/*
 * Filters of events that trace instructions (Intel PT, CoreSight), as perf's --filter takes them:
 *
 *     filters = filter { { " " | "," } filter } .
 *     filter  = ACTION place [ "/" ( SIZE | end ) ] [ "@" FILE ] .    filter, start, stop or tracestop
 *     place   = ADDRESS | "*" | FUNCTION [ "#" ( N | "g" ) ] .        blanks end a name
 *
 * Names of functions become offsets in FILE, or addresses of the kernel where there is no FILE; #N chooses the Nth of
 * several of the same name, #g the global one; * is all of the file, or of the kernel. A name stands for the whole
 * function in filter and tracestop.
 *
 * Source: addr_filters__parse_bare_filter() and addr_filter__resolve_syms(), tools/perf/util/auxtrace.c, Linux 6.1; for
 * what the kernel takes perf_event_parse_addr_filter(), kernel/events/core.c.
 *
 * Main thread, set-up; allocates, and blocks as reading files does.
 */
#ifndef WEIR_ENGINE_EVENTS_ADDRESS_FILTER_H
#define WEIR_ENGINE_EVENTS_ADDRESS_FILTER_H

#include "base/buf.h"
#include "base/error.h"

/*
 * Appends what the kernel is to be told, "filter 0x1130/0x20@/bin/true,start 0x...", without names. max: filters that
 * the PMU can have. proc_root NULL: "/proc".
 * 0, -EINVAL (grammar, too many, no such function or several), -errno of a file that cannot be read, -ENOMEM; with err,
 * and out is as it was.
 */
int weir_address_filter_resolve(struct weir_buf *out, const char *text, unsigned max, const char *proc_root,
                                struct weir_error *err);

#endif
