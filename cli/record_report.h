/*
 * What `weir record` says when it is done: perf's closing lines, the loss line, and with -v the ledger.
 *
 *   [ weir record: Woken up 12 times to write data ]
 *   [ weir record: Captured and wrote 1.234 MB perf.data (5678 samples) ]
 *   [ weir record: Lost 9 of 5687 samples (0.16 %): WHERE; CAUSE; to prevent it: REMEDY ]     when samples were lost
 *   [ weir record: Lost 3 side records (mmap, comm, task): WHERE; symbols may be missing ]    when such were lost
 *   [ weir record: Skipped 64 bytes of rings that held no valid record ]                      when a kernel is broken
 *
 * The first two are perf's to the letter (tools/perf/builtin-record.c, __cmd_record(), Linux 6.12), because scripts
 * parse them. MB are 2^20 bytes. Without samples the bracket with their number is missing. Counts are exact here. Pure;
 * appends to text. Any thread.
 */
#ifndef WEIR_CLI_RECORD_REPORT_H
#define WEIR_CLI_RECORD_REPORT_H

#include "base/buf.h"
#include "engine/session/record.h"

/* What the lines depend on, beside the result. */
struct weir_report_context {
    const char *output_path;
    bool is_stream; /* a consumer waits for the output, not a disk */
    bool stamped;   /* the files have their times in their names */
};

void weir_report_closing(struct weir_buf *text, const struct weir_record_result *result,
                         const struct weir_report_context *context);

/* One line per CPU and event that had any record, then the sum over samples, then rings, pool and rounds. */
void weir_report_ledger(struct weir_buf *text, const struct weir_record_result *result);

#endif
