/*
 * Parses the text of /proc/PID/stat, status and maps (proc_pid_stat(5), proc_pid_status(5), proc_pid_maps(5)): one
 * pass, no allocation, no locale. All functions are pure; any thread.
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

/* Parses a stat line that ends in a zero. False: not a whole stat line; stat is then undefined. */
bool weir_proc_stat_parse(const char *text, struct weir_proc_stat *stat);

/* Returns the thread group in a status text that ends in a zero; -1: it names none. */
pid_t weir_proc_status_tgid(const char *text);

/* Copies the contents of a comm file without the newline at its end, cut at 15 bytes and terminated by a zero. The name
 * itself may contain newlines. */
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

/* Parses a line of maps, without newline and terminated by a zero. False: malformed; map is then undefined. */
bool weir_proc_map_parse(const char *line, struct weir_proc_map *map);

#endif
