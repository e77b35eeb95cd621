/*
 * The storm: how much a recorder of system-wide events costs and loses. A measurement starts a recorder as a program of
 * its own, lets it settle, and runs a load in this process. Then the measurement stops the recorder with SIGINT, takes
 * its resource use from wait4(2), and counts the contents of its file. The recorder "none" runs the load alone.
 *
 * The caller's thread; blocks for seconds. The load has threads of its own.
 */
#ifndef WEIR_ENGINE_BENCH_STORM_H
#define WEIR_ENGINE_BENCH_STORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "engine/bench/data_count.h"
#include "engine/bench/storm_load.h"

struct weir_storm_case {
    const char *name;
    const char *what;        /* for people */
    const char *options[16]; /* after `record -a` */
    enum weir_storm_load_kind kind;
    unsigned thread_divisor; /* threads = CPUs / this, at least 1; 0: one */
    uint64_t calls;          /* by default */
};

struct weir_storm_recorder {
    const char *name;
    bool is_perf;
    bool records; /* false: the load alone */
    const char *extra[4];
    bool on_request; /* takes part only when it is named */
};

/* Each list ends with a NULL name. */
extern const struct weir_storm_case weir_storm_cases[];
extern const struct weir_storm_recorder weir_storm_recorders[];

#define WEIR_STORM_RECORDERS_MAX 16u

struct weir_storm_options { /* all borrowed */
    const struct weir_storm_case *what;
    uint64_t calls;          /* per thread; 0: those of the case */
    const char *weir, *perf; /* paths of the programs */
    const char *dir;         /* an empty folder for files and messages of the recorders */
};

struct weir_storm_measure {
    double cpu_seconds;  /* user and system time of the recorder */
    double load_seconds; /* of the load */
    double stop_seconds; /* from SIGINT to the recorder's end */
    uint64_t rss_kb;     /* peak */
    uint64_t switches;   /* voluntary */
    struct weir_data_count data;
};

/* Returns the number of threads of the load. */
unsigned weir_storm_threads(const struct weir_storm_case *what);

/* Returns the number of lost events: by the events' counts of losses, or by LOST records for recorders that do not read
 * these counts. */
uint64_t weir_storm_lost(const struct weir_storm_measure *measure);

/* Measures one recorder once. The folder is empty again afterwards. 0 or -errno with err; -ECHILD: the recorder failed,
 * and err has its first message. */
int weir_storm_run(const struct weir_storm_options *options, const struct weir_storm_recorder *recorder,
                   struct weir_storm_measure *measure, struct weir_error *err);

#endif
