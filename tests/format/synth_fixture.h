/*
 * What the tests of synthesis share: a /proc that the test writes, a sink for what is emitted, and records put together
 * by hand (sharing no code with format/records.c) to compare with byte by byte. Failures are Criterion assertions.
 */
#ifndef WEIR_TESTS_FORMAT_SYNTH_FIXTURE_H
#define WEIR_TESTS_FORMAT_SYNTH_FIXTURE_H

#include <pthread.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/notice.h"
#include "format/synth.h"
#include "tests/format/temp_tree.h"

#define TRAILER_BYTES 32u /* sample_id of TID|TIME|CPU|IDENTIFIER */

struct synth_sink {
    pthread_mutex_t lock;
    struct weir_buf records; /* everything emitted */
    unsigned calls;
    size_t largest_bytes;
    unsigned fail_at; /* this call (from 1) and all later ones return error; 0: none */
    int error;

    unsigned notices;
    char notice[1024]; /* the last one */
    pthread_t notice_thread;
};

struct synth_fixture {
    struct temp_tree tree;
    char proc_root[PATH_MAX];
    char modules_root[PATH_MAX];
    struct synth_sink sink;
    struct weir_notice_sink notice_sink;
    struct weir_synth_options options; /* reads the tree, fills the sink */
};

void synth_fixture_init(struct synth_fixture *fixture);
void synth_fixture_fini(struct synth_fixture *fixture);

/* Writes a file below the fixture's /proc. */
void synth_fixture_write(const struct synth_fixture *fixture, const char *path, const char *text);

struct fixture_task {
    pid_t pid, ppid;
    const char *comm;
    unsigned threads;  /* 0: 1 */
    uint64_t vm_bytes; /* 0: no address space */
    const char *maps;  /* NULL: no such file */
};

/* Writes PID/stat and PID/maps. */
void synth_fixture_add(const struct synth_fixture *fixture, const struct fixture_task *task);
/* Writes PID/task/TID/comm, a newline behind comm. */
void synth_fixture_add_thread(const struct synth_fixture *fixture, pid_t pid, pid_t tid, const char *comm);

struct expected_map {
    pid_t pid;
    uint64_t start, end, page_offset, inode;
    uint32_t major, minor, protection, flags;
    uint16_t misc;
    const char *name;
};

void expect_fork(struct weir_buf *expected, pid_t pid, pid_t ppid, pid_t tid, pid_t ptid);
void expect_comm(struct weir_buf *expected, pid_t pid, pid_t tid, const char *comm);
void expect_mmap2(struct weir_buf *expected, const struct expected_map *map);
void expect_mmap(struct weir_buf *expected, uint64_t start, uint64_t bytes, uint64_t page_offset, const char *name);

/* Asserts that the sink holds exactly the expected bytes, and frees those. */
void expect_emitted(const struct synth_fixture *fixture, struct weir_buf *expected);

/* The same, with whole records in any order: directories list their entries in an order of their own. */
void expect_emitted_in_any_order(const struct synth_fixture *fixture, struct weir_buf *expected);

#endif
