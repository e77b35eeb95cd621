/* Side records with times, for what takes them in: the bytes as a reader hands them over, and the same taken apart. */
#ifndef WEIR_TESTS_ENGINE_SIDE_RECORDS_H
#define WEIR_TESTS_ENGINE_SIDE_RECORDS_H

#include "base/buf.h"
#include "format/side_record.h"

extern const struct perf_event_attr side_attr; /* TID, TIME, CPU, IDENTIFIER in the trailers */

/* Append one record to out. */
void side_fork(struct weir_buf *out, uint64_t time_ns, pid_t pid, pid_t ppid, pid_t tid, pid_t ptid);
void side_exit(struct weir_buf *out, uint64_t time_ns, pid_t pid, pid_t tid);
void side_comm(struct weir_buf *out, uint64_t time_ns, pid_t pid, pid_t tid, const char *comm, bool exec);
/* An executable map of `inode` on device 8:1. */
void side_map(struct weir_buf *out, uint64_t time_ns, pid_t pid, uint64_t start, uint64_t end, uint64_t inode,
              const char *name);
/* The same of the kernel. */
void side_kernel_map(struct weir_buf *out, const char *name);
/* So many records were lost before it. */
void side_lost(struct weir_buf *out, uint64_t time_ns, uint64_t lost);
/* Sets or clears bits of the misc field of the last record appended, which is record_bytes long. */
void side_change_misc(const struct weir_buf *out, size_t at, uint16_t set, uint16_t clear);

/* The record at `at`, taken apart; returns where the next one begins. */
size_t side_parse(const struct weir_buf *out, size_t at, struct weir_side_record *record);

#endif
