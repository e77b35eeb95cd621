/*
 * The PMUs of the machine as sysfs describes them: /sys/bus/event_source/devices/NAME.
 *
 * A PMU has a number for perf_event_attr.type and names for bit fields of config words (format/). Aliases (events/)
 * name events made of such fields, with an optional unit and scale. weir opens the events of a PMU on the CPUs in its
 * file cpumask (uncore PMUs) or cpus (core PMUs, where there are several kinds). weir_pmu_list_read() reads names,
 * numbers and CPUs; weir_pmu_describe() reads fields and aliases. Both leave out what they cannot read or understand.
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

#define WEIR_PMU_CONFIG_WORDS 5 /* config, config1, config2, config3, config4 */

/* A named bit field; its bits need not be neighbors. */
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
    bool described;                  /* weir_pmu_describe() has read the fields below */
    struct weir_cpuset cpus;         /* owned; empty: all */
    struct weir_pmu_format *formats; /* owned; by name */
    size_t format_count;
    struct weir_pmu_alias *aliases; /* owned; by name */
    size_t alias_count;
};

struct weir_pmu_list {
    char *devices;         /* owned; path of the directory */
    struct weir_pmu *pmus; /* owned; sorted by name, with numbers in names by value */
    size_t count;
};

#define WEIR_PMU_LIST_INIT \
    {                      \
        NULL, NULL, 0      \
    }

/* Reads the list. sysfs_root NULL: "/sys". On a machine without PMUs the list is empty. 0 or -ENOMEM. */
int weir_pmu_list_read(struct weir_pmu_list *list, const char *sysfs_root);

/* Frees the list. NULL-safe; takes a list that was not read. */
void weir_pmu_list_fini(struct weir_pmu_list *list);

/* Reads fields and aliases of a PMU of that list, once. 0; or -ENOMEM, and the PMU is unchanged. */
int weir_pmu_describe(const struct weir_pmu_list *list, struct weir_pmu *pmu);

/*
 * Whether the user's word stands for this PMU. The word is its name; its name without the number at the end (uncore_imc
 * or uncore_imc_ for uncore_imc_0); either of these without "uncore_"; or a pattern (glob(7)) that matches its name.
 */
bool weir_pmu_matches(const struct weir_pmu *pmu, const char *word);

/* Finds a field or an alias by name; NULL: there is none. The name need not be terminated. The case of an alias does
 * not matter, as in perf. */
const struct weir_pmu_format *weir_pmu_find_format(const struct weir_pmu *pmu, const char *name, size_t length);
const struct weir_pmu_alias *weir_pmu_find_alias(const struct weir_pmu *pmu, const char *name, size_t length);

/* Whether it is a core PMU of a machine with several kinds of cores (cpu_core, cpu_atom). The PMU is described. */
bool weir_pmu_is_hybrid_core(const struct weir_pmu *pmu);

/* Whether it is any core PMU: also `cpu`, and those of ARM. The PMU is described. */
bool weir_pmu_is_core(const struct weir_pmu *pmu);

/* The number of address filters that an event of that type may have (nr_addr_filters); 0: none. */
unsigned weir_pmu_address_filters(const struct weir_pmu_list *list, uint32_t type);

/* Reads a number from a file in the PMU's folder. base: of its digits. False: no such file, or not a number. */
bool weir_pmu_number(const struct weir_pmu_list *list, const struct weir_pmu *pmu, const char *file, int base,
                     uint64_t *value);

/* As weir_pmu_number(), but returns the number, or `otherwise` without it. */
uint64_t weir_pmu_number_or(const struct weir_pmu_list *list, const struct weir_pmu *pmu, const char *file, int base,
                            uint64_t otherwise);

/* Reads a number from another file of the same sysfs. path: below its root. False: no such file, or not a number. */
bool weir_pmu_list_number(const struct weir_pmu_list *list, const char *path, int base, uint64_t *value);

/* The bits of the config word that a named field of the PMU covers; 0: the PMU has no such field. */
uint64_t weir_pmu_format_bits(const struct weir_pmu *pmu, const char *name);

/* The PMU of that type; NULL: there is none. */
struct weir_pmu *weir_pmu_find_type(const struct weir_pmu_list *list, uint32_t type);

/* Reads the number of a trace sink (CoreSight: PMU/sinks/NAME, hexadecimal). False: there is no sink of that name. */
bool weir_pmu_sink(const struct weir_pmu_list *list, const struct weir_pmu *pmu, const char *name, uint64_t *id);

/* Spreads value over the bits of a field, lowest bit first. Values up to weir_pmu_format_max() fit. */
uint64_t weir_pmu_format_place(const struct weir_pmu_format *format, uint64_t value);
uint64_t weir_pmu_format_max(const struct weir_pmu_format *format);

#endif
