/*
 * The text of /proc/PID/stat, status and maps (proc_pid_stat(5), proc_pid_status(5), proc_pid_maps(5)), taken apart by
 * hand: one pass, no allocation, no locale. All functions are pure; any thread.
 */
#ifndef WEIR_FORMAT_PROC_TEXT_H
#define WEIR_FORMAT_PROC_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define WEIR_PROC_COMM_BYTES 16 /* TASK_COMM_LEN: 15 bytes and a zero */

struct weir_proc_stat {
    char comm[WEIR_PROC_COMM_BYTES]; /* raw bytes, cut as the kernel's COMM records are */
    pid_t ppid;
    uint32_t threads;     /* in its thread group */
    uint64_t start_ticks; /* CLOCK_BOOTTIME, in units of sysconf(_SC_CLK_TCK) a second */
    uint64_t vm_bytes;    /* 0: no address space, that is a kernel thread or a zombie */
};

/* text ends in a zero. false when it is not a whole stat line: stat is undefined then. */
bool weir_proc_stat_parse(const char *text, struct weir_proc_stat *stat);

/* The thread group of a status text, which ends in a zero; -1 when it does not say. */
pid_t weir_proc_status_tgid(const char *text);

/* The contents of a comm file without the newline that ends it (a name may have newlines of its own), cut at 15 bytes
 * and ended by a zero. */
void weir_proc_comm_copy(char comm[WEIR_PROC_COMM_BYTES], const char *text, size_t bytes);

struct weir_proc_map {
    uint64_t start, end; /* addresses, start < end */
    uint64_t page_offset;
    uint64_t inode;
    uint32_t major, minor;
    uint32_t protection; /* PROT_* */
    uint32_t flags;      /* MAP_SHARED or MAP_PRIVATE */
    const char *name;    /* as maps prints it, "" for anonymous memory; borrowed from the line */
};

/* line: without newline, ends in a zero. false when it is malformed: map is undefined then. */
bool weir_proc_map_parse(const char *line, struct weir_proc_map *map);

#endif
