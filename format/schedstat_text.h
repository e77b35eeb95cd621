/*
 * The counters of SCHEDSTAT_CPU and SCHEDSTAT_DOMAIN records, which `perf sched stats record` of Linux 7.0 writes. They
 * are the counters of a CPU and of one of its scheduling domains in /proc/schedstat, by the version of that file (15 to
 * 17). Pure but for the buffer; any thread.
 *
 * Source: struct perf_record_schedstat_cpu and _domain in tools/lib/perf/include/perf/event.h, and the fields in
 * schedstat-v15.h, -v16.h and -v17.h beside it, of Linux 7.1.
 */
#ifndef WEIR_FORMAT_SCHEDSTAT_TEXT_H
#define WEIR_FORMAT_SCHEDSTAT_TEXT_H

#include "base/buf.h"
#include "format/text_record.h"

/* Appends what the record says as text, as perf prints it: "cpu0" or "domain0" and the counters. record: as long as its
 * schema requires. */
void weir_schedstat_text_append(const struct weir_text_record *record, struct weir_buf *out);

/* Appends ,"counters":{"name":value,...}, an empty object for an unknown version. */
void weir_schedstat_json_append(const struct weir_text_record *record, struct weir_buf *out);

#endif
