/*
 * The PMUs of the machine as sysfs describes them: /sys/bus/event_source/devices/NAME.
 *
 * Each has a number for perf_event_attr.type, names for bit fields of config words (format/), names for events made of
 * such fields (events/, "aliases", with optional unit and scale), and the CPUs on which its events are to be opened
 * (cpumask of uncore PMUs, cpus of core PMUs of several kinds). The directories are read when the list is made; what a
 * PMU offers when weir_pmu_describe() is called for it. What cannot be read or understood is left out.
 *
 * Main thread, set-up; allocates, and blocks as reading sysfs does. Source:
 * Documentation/ABI/testing/sysfs-bus-event_source-devices*, Linux 6.12; tools/perf/util/pmu.c, Linux 6.1.
 */
#ifndef WEIR_ENGINE_EVENTS_PMU_H
#define WEIR_ENGINE_EVENTS_PMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpuset.h"

#define WEIR_PMU_CONFIG_WORDS 4 /* config, config1, config2, config3 */

/* A named bit field; its bits need not be neighbours. */
struct weir_pmu_format {
    char *name;    /* owned */
    unsigned word; /* below WEIR_PMU_CONFIG_WORDS */
    uint64_t mask; /* not 0 */
};

struct weir_pmu_alias {
    char *name;   /* owned */
    char *terms;  /* owned; "event=0xcd,umask=0x1" */
    char *unit;   /* owned; NULL: none */
    double scale; /* 1: none */
};

struct weir_pmu {
    char *name; /* owned */
    uint32_t type;
    bool described;                  /* what follows was read */
    struct weir_cpuset cpus;         /* owned; empty: all */
    struct weir_pmu_format *formats; /* owned; by name */
    size_t format_count;
    struct weir_pmu_alias *aliases; /* owned; by name */
    size_t alias_count;
};

struct weir_pmu_list {
    char *devices;         /* owned; path of the directory */
    struct weir_pmu *pmus; /* owned; by name, numbers in names by value */
    size_t count;
};

#define WEIR_PMU_LIST_INIT \
    {                      \
        NULL, NULL, 0      \
    }

/* Fills the list. sysfs_root NULL: "/sys". A machine without PMUs gives an empty list. 0 or -ENOMEM. */
int weir_pmu_list_read(struct weir_pmu_list *list, const char *sysfs_root);

/* Takes NULL and a list that was not read. */
void weir_pmu_list_fini(struct weir_pmu_list *list);

/* Reads what the PMU (of that list) offers, once. 0 or -ENOMEM; then nothing was added. */
int weir_pmu_describe(const struct weir_pmu_list *list, struct weir_pmu *pmu);

/*
 * True when the user's word stands for this PMU: its name; its name without a number at the end (uncore_imc or
 * uncore_imc_ for uncore_imc_0); either without "uncore_" in front; a pattern (glob(7)) that matches its name.
 */
bool weir_pmu_matches(const struct weir_pmu *pmu, const char *word);

/* NULL: none of that name. The name need not be terminated. An alias is found whatever its case, as by perf. */
const struct weir_pmu_format *weir_pmu_find_format(const struct weir_pmu *pmu, const char *name, size_t length);
const struct weir_pmu_alias *weir_pmu_find_alias(const struct weir_pmu *pmu, const char *name, size_t length);

/* One of the core PMUs of a machine with several kinds of cores (cpu_core, cpu_atom); described ones only. */
bool weir_pmu_is_hybrid_core(const struct weir_pmu *pmu);

/* Any core PMU: also the one that is named cpu, and those of ARM. Described ones only. */
bool weir_pmu_is_core(const struct weir_pmu *pmu);

/* The number of address filters that an event of that type may have (nr_addr_filters); 0 when there is none. */
unsigned weir_pmu_address_filters(const struct weir_pmu_list *list, uint32_t type);

/* Reads a number that the PMU has in a file of its own, in that base. False: there is none, or it is no number. */
bool weir_pmu_number(const struct weir_pmu_list *list, const struct weir_pmu *pmu, const char *file, int base,
                     uint64_t *value);

/* Reads a number that another file of the same sysfs has; path: below its root. False: likewise. */
bool weir_pmu_list_number(const struct weir_pmu_list *list, const char *path, int base, uint64_t *value);

/* The bits of attr.config, or of another word, that a format of the PMU stands for; 0: it has no such format. */
uint64_t weir_pmu_format_bits(const struct weir_pmu *pmu, const char *name);

/* NULL: none has that type. */
struct weir_pmu *weir_pmu_find_type(const struct weir_pmu_list *list, uint32_t type);

/* Reads the number of a trace sink (CoreSight: PMU/sinks/NAME, hexadecimal). True when there is one of that name. */
bool weir_pmu_sink(const struct weir_pmu_list *list, const struct weir_pmu *pmu, const char *name, uint64_t *id);

/* Spreads value over the bits of a format, lowest to lowest. Any value up to weir_pmu_format_max() is whole. */
uint64_t weir_pmu_format_place(const struct weir_pmu_format *format, uint64_t value);
uint64_t weir_pmu_format_max(const struct weir_pmu_format *format);

#endif
