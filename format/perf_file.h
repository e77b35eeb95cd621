/*
 * The on-disk structures of perf.data (tools/perf/Documentation/perf.data-file-format.txt and tools/perf/util/header.h
 * of Linux 6.12), and the records that perf adds to the kernel's (tools/lib/perf/include/perf/event.h). Some are newer
 * than 6.12 and stand here as Linux 7.1 has them. Records: CALLCHAIN_DEFERRED (include/uapi/linux/perf_event.h, 6.19),
 * COMPRESSED2 (6.16), BPF_METADATA (6.17), SCHEDSTAT_CPU and _DOMAIN (7.0, with their counters in schedstat-v15.h to
 * -v17.h). Features: CPU_DOMAIN_INFO and E_MACHINE (7.0) and CLN_SIZE (7.1).
 *
 * Little endian. Each declaration asserts its size and offsets; docs/format.md lists them all, and
 * tests/format/test_document.c compares the two.
 */
#ifndef WEIR_FORMAT_PERF_FILE_H
#define WEIR_FORMAT_PERF_FILE_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

/* Asserts the offset of a field; used in the place of a declaration. */
#define WEIR_FIELD_AT(type, field, offset) _Static_assert(offsetof(type, field) == (offset), #type "." #field)

#define WEIR_PERF_MAGIC2 0x32454c4946524550ull /* "PERFILE2" */

struct weir_perf_section {
    uint64_t offset; /* bytes from the file's start */
    uint64_t size;   /* bytes */
};

_Static_assert(sizeof(struct weir_perf_section) == 16, "perf_file_section");
WEIR_FIELD_AT(struct weir_perf_section, offset, 0);
WEIR_FIELD_AT(struct weir_perf_section, size, 8);

struct weir_perf_header {
    uint64_t magic;
    uint64_t size;      /* of this structure */
    uint64_t attr_size; /* attr + one section: the stride of the attrs section */
    struct weir_perf_section attrs;
    struct weir_perf_section data;
    struct weir_perf_section event_types; /* unused since 3.x: zero */
    uint64_t features[4];                 /* bit n: feature n has an entry in the table behind the data */
};

_Static_assert(sizeof(struct weir_perf_header) == 104, "perf_file_header");
WEIR_FIELD_AT(struct weir_perf_header, magic, 0);
WEIR_FIELD_AT(struct weir_perf_header, size, 8);
WEIR_FIELD_AT(struct weir_perf_header, attr_size, 16);
WEIR_FIELD_AT(struct weir_perf_header, attrs, 24);
WEIR_FIELD_AT(struct weir_perf_header, data, 40);
WEIR_FIELD_AT(struct weir_perf_header, event_types, 56);
WEIR_FIELD_AT(struct weir_perf_header, features, 72);

/* The place of data.size, the one field that a checkpoint rewrites. */
#define WEIR_PERF_DATA_SIZE_OFFSET (offsetof(struct weir_perf_header, data) + offsetof(struct weir_perf_section, size))
_Static_assert(WEIR_PERF_DATA_SIZE_OFFSET == 48, "data.size");

struct weir_perf_build_id { /* struct perf_record_header_build_id; the name follows, padded with zeros to 8 bytes */
    struct perf_event_header header; /* type 0 */
    int32_t pid;                     /* -1: this machine, otherwise a guest */
    uint8_t id[20];
    uint8_t size; /* bytes of id; valid with bit 15 of header.misc */
    uint8_t reserved[3];
};

_Static_assert(sizeof(struct weir_perf_build_id) == 36, "perf_record_header_build_id");
WEIR_FIELD_AT(struct weir_perf_build_id, header, 0);
WEIR_FIELD_AT(struct weir_perf_build_id, pid, 8);
WEIR_FIELD_AT(struct weir_perf_build_id, id, 12);
WEIR_FIELD_AT(struct weir_perf_build_id, size, 32);
WEIR_FIELD_AT(struct weir_perf_build_id, reserved, 33);

_Static_assert(sizeof(struct perf_event_header) == 8, "perf_event_header");
WEIR_FIELD_AT(struct perf_event_header, type, 0);
WEIR_FIELD_AT(struct perf_event_header, misc, 4);
WEIR_FIELD_AT(struct perf_event_header, size, 6);

enum weir_perf_feature {
    WEIR_FEATURE_TRACING_DATA = 1,
    WEIR_FEATURE_BUILD_ID = 2,
    WEIR_FEATURE_HOSTNAME = 3,
    WEIR_FEATURE_OSRELEASE = 4,
    WEIR_FEATURE_VERSION = 5,
    WEIR_FEATURE_ARCH = 6,
    WEIR_FEATURE_NRCPUS = 7,
    WEIR_FEATURE_CPUDESC = 8,
    WEIR_FEATURE_CPUID = 9,
    WEIR_FEATURE_TOTAL_MEM = 10,
    WEIR_FEATURE_CMDLINE = 11,
    WEIR_FEATURE_EVENT_DESC = 12,
    WEIR_FEATURE_CPU_TOPOLOGY = 13,
    WEIR_FEATURE_NUMA_TOPOLOGY = 14,
    WEIR_FEATURE_BRANCH_STACK = 15,
    WEIR_FEATURE_PMU_MAPPINGS = 16,
    WEIR_FEATURE_GROUP_DESC = 17,
    WEIR_FEATURE_AUXTRACE = 18,
    WEIR_FEATURE_STAT = 19,
    WEIR_FEATURE_CACHE = 20,
    WEIR_FEATURE_SAMPLE_TIME = 21,
    WEIR_FEATURE_MEM_TOPOLOGY = 22,
    WEIR_FEATURE_CLOCKID = 23,
    WEIR_FEATURE_DIR_FORMAT = 24,
    WEIR_FEATURE_BPF_PROG_INFO = 25,
    WEIR_FEATURE_BPF_BTF = 26,
    WEIR_FEATURE_COMPRESSED = 27,
    WEIR_FEATURE_CPU_PMU_CAPS = 28,
    WEIR_FEATURE_CLOCK_DATA = 29,
    WEIR_FEATURE_HYBRID_TOPOLOGY = 30,
    WEIR_FEATURE_PMU_CAPS = 31,
    WEIR_FEATURE_CPU_DOMAIN_INFO = 32,
    WEIR_FEATURE_E_MACHINE = 33,
    WEIR_FEATURE_CLN_SIZE = 34,
};

/* HEADER_LAST_FEATURE of perf 5.19 to 6.19: in a stream, a record of this feature ends the features. Later versions,
 * with 33 to 35, read CPU_DOMAIN_INFO there and fail without a payload. So weir's end is one of CPU_DOMAIN_INFO with
 * version 0, which versions of all ages read; an empty one is the end, too. */
#define WEIR_FEATURE_LAST 32u

/* PERF_CONTEXT_USER_DEFERRED in a call chain (Linux 6.19): the user's frames are in the CALLCHAIN_DEFERRED record with
 * the cookie that follows. */
#define WEIR_CONTEXT_USER_DEFERRED ((uint64_t)-640)

/* PERF_RECORD_CALLCHAIN_DEFERRED, of kernels newer than the headers here. */
#define WEIR_RECORD_CALLCHAIN_DEFERRED 22u

/* Record types that only user space writes (enum perf_user_event_type). */
enum weir_user_record {
    WEIR_RECORD_ATTR = 64,
    WEIR_RECORD_EVENT_TYPE = 65, /* deprecated, skipped by every consumer; weir uses it as padding between records */
    WEIR_RECORD_TRACING_DATA = 66,
    WEIR_RECORD_BUILD_ID = 67,
    WEIR_RECORD_FINISHED_ROUND = 68,
    WEIR_RECORD_ID_INDEX = 69,
    WEIR_RECORD_AUXTRACE_INFO = 70,
    WEIR_RECORD_AUXTRACE = 71,
    WEIR_RECORD_AUXTRACE_ERROR = 72,
    WEIR_RECORD_THREAD_MAP = 73,
    WEIR_RECORD_CPU_MAP = 74,
    WEIR_RECORD_STAT_CONFIG = 75,
    WEIR_RECORD_STAT = 76,
    WEIR_RECORD_STAT_ROUND = 77,
    WEIR_RECORD_EVENT_UPDATE = 78,
    WEIR_RECORD_TIME_CONV = 79,
    WEIR_RECORD_FEATURE = 80,
    WEIR_RECORD_COMPRESSED = 81,
    WEIR_RECORD_FINISHED_INIT = 82,
    WEIR_RECORD_COMPRESSED2 = 83, /* Linux 6.16 */
    WEIR_RECORD_BPF_METADATA = 84,
    WEIR_RECORD_SCHEDSTAT_CPU = 85,
    WEIR_RECORD_SCHEDSTAT_DOMAIN = 86,
};

/* misc of a LOST_SAMPLES record from weir: weir dropped the samples, not the kernel, which never sets this bit there.
 * (Bit 15 is perf's, for samples that a BPF filter drops.) */
#define WEIR_RECORD_MISC_SHED (1u << 14)
/* misc of a LOST_SAMPLES record that counts no samples: the event's CPU was off line, and its records continue from
 * here. */
#define WEIR_RECORD_MISC_RETURNED (1u << 13)

enum weir_event_update { /* the types of EVENT_UPDATE: PERF_EVENT_UPDATE__* */
    WEIR_EVENT_UPDATE_UNIT = 0,
    WEIR_EVENT_UPDATE_SCALE = 1,
    WEIR_EVENT_UPDATE_NAME = 2,
    WEIR_EVENT_UPDATE_CPUS = 3,
};

#define WEIR_RECORD_MAX_BYTES 65528u /* largest multiple of 8 that perf_event_header.size holds */

#endif
