/*
 * A plain description of a machine: topology/ collects it, and format/ writes it into the features of the header. It
 * has no functions, so that neither layer needs the other.
 */
#ifndef WEIR_BASE_MACHINE_H
#define WEIR_BASE_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* The structs own all their strings. A string is UTF-8 or ASCII, never NULL unless its comment says so, and "" when
 * unknown. */

struct weir_machine_cpu {
    uint32_t id;         /* the kernel's CPU number */
    int32_t core_id;     /* within its package, /sys/devices/system/cpu/cpuN/topology/core_id; -1 unknown */
    int32_t die_id;      /* -1 unknown, or an architecture whose dies perf does not record (all but x86-64 and s390x) */
    int32_t package_id;  /* "socket" in perf's words; -1 unknown */
    char *core_siblings; /* CPU list of its package, "0-7"; "" unknown, here and below */
    char *die_siblings;  /* CPU list of its die; "" where die_id is -1 */
    char *thread_siblings; /* CPU list of its core */
};

struct weir_machine_node {
    uint32_t id;
    uint64_t mem_total_kb;
    uint64_t mem_free_kb;
    char *cpus;                 /* CPU list; "" for a node without CPUs */
    uint64_t *memory_blocks;    /* owned; bitmap of the /sys/devices/system/memory blocks in this node; NULL: none */
    uint64_t memory_block_bits; /* greatest block number plus one: bits of memory_blocks, in 64-bit words */
};

struct weir_machine_cache { /* one distinct cache, /sys/devices/system/cpu/cpuN/cache/indexM */
    uint32_t level;
    uint32_t line_bytes; /* coherency_line_size; 0 unknown, here and below */
    uint32_t sets;       /* number_of_sets */
    uint32_t ways;       /* ways_of_associativity */
    char *type;          /* "Data", "Instruction", "Unified" */
    char *size;          /* as sysfs prints it: "32K" */
    char *cpus;          /* shared_cpu_list */
};

struct weir_machine_pmu_cap { /* a file of /sys/bus/event_source/devices/NAME/caps */
    char *name;
    char *value;
};

struct weir_machine_pmu { /* /sys/bus/event_source/devices/NAME/type */
    uint32_t type;
    char *name;
    struct weir_machine_pmu_cap *caps; /* owned; by name */
    size_t cap_count;
    char *cpus; /* file cpus of a core PMU, "0-15", on a machine with several kinds of cores; NULL otherwise */
};

struct weir_machine {
    char *hostname;              /* uname(2) nodename */
    char *os_release;            /* uname(2) release */
    char *arch;                  /* uname(2) machine */
    char *cpu_desc;              /* "model name" of /proc/cpuinfo, white space folded */
    char *cpuid;                 /* perf's form: "GenuineIntel,6,85,7", or arm64's MIDR "0x..."; NULL unknown */
    uint32_t cpus_available;     /* greatest present CPU number plus one, as perf counts; above all CPU numbers here */
    uint32_t cpus_online;        /* equals _SC_NPROCESSORS_ONLN on this machine */
    uint64_t mem_total_kb;       /* MemTotal of /proc/meminfo */
    uint64_t memory_block_bytes; /* /sys/devices/system/memory/block_size_bytes; 0 unknown */

    struct weir_machine_cpu *cpus;   /* owned; the online ones, ascending by id */
    size_t cpu_count;                /* equals cpus_online */
    struct weir_machine_node *nodes; /* owned; the online ones, ascending by id */
    size_t node_count;
    struct weir_machine_cache *caches; /* owned; by level, then by first CPU */
    size_t cache_count;
    struct weir_machine_pmu *pmus; /* owned; by type, then by name */
    size_t pmu_count;
};

#endif
