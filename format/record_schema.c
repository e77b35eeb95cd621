/* One row per record type. Constant data. */
#include "format/record_schema.h"

#include <linux/perf_event.h>
#include <string.h>
#include <strings.h>

#include "format/perf_file.h"

#define PREFIX "PERF_RECORD_"

#define U16  WEIR_FIELD_U16
#define U32  WEIR_FIELD_U32
#define S32  WEIR_FIELD_S32
#define U64  WEIR_FIELD_U64
#define HEX  WEIR_FIELD_ADDRESS
#define TEXT WEIR_FIELD_TEXT
#define FIELDS(...)             \
    (const struct weir_field[]) \
    {                           \
        __VA_ARGS__,            \
        {                       \
            NULL, 0, U16        \
        }                       \
    }

static const struct weir_record_schema schemas[WEIR_RECORD_TYPES] = {
    [PERF_RECORD_MMAP] = {"MMAP", 40,
                          FIELDS({"pid", 8, S32}, {"tid", 12, S32}, {"start", 16, HEX}, {"length", 24, HEX},
                                 {"page_offset", 32, HEX}, {"filename", 40, TEXT})},
    [PERF_RECORD_LOST] = {"LOST", 24, FIELDS({"id", 8, U64}, {"lost", 16, U64})},
    [PERF_RECORD_COMM] = {"COMM", 16, FIELDS({"pid", 8, S32}, {"tid", 12, S32}, {"comm", 16, TEXT})},
    [PERF_RECORD_EXIT] = {"EXIT", 32,
                          FIELDS({"pid", 8, S32}, {"ppid", 12, S32}, {"tid", 16, S32}, {"ptid", 20, S32},
                                 {"time", 24, U64})},
    [PERF_RECORD_THROTTLE] = {"THROTTLE", 32, FIELDS({"time", 8, U64}, {"id", 16, U64}, {"stream_id", 24, U64})},
    [PERF_RECORD_UNTHROTTLE] = {"UNTHROTTLE", 32, FIELDS({"time", 8, U64}, {"id", 16, U64}, {"stream_id", 24, U64})},
    [PERF_RECORD_FORK] = {"FORK", 32,
                          FIELDS({"pid", 8, S32}, {"ppid", 12, S32}, {"tid", 16, S32}, {"ptid", 20, S32},
                                 {"time", 24, U64})},
    [PERF_RECORD_READ] = {"READ", 24, FIELDS({"pid", 8, S32}, {"tid", 12, S32})},
    [PERF_RECORD_SAMPLE] = {"SAMPLE", 8, NULL},
    [PERF_RECORD_MMAP2] = {"MMAP2", 72,
                           FIELDS({"pid", 8, S32}, {"tid", 12, S32}, {"start", 16, HEX}, {"length", 24, HEX},
                                  {"page_offset", 32, HEX}, {"protection", 64, U32}, {"flags", 68, U32},
                                  {"filename", 72, TEXT})},
    [PERF_RECORD_AUX] = {"AUX", 32, FIELDS({"aux_offset", 8, HEX}, {"aux_size", 16, HEX}, {"flags", 24, HEX})},
    [PERF_RECORD_ITRACE_START] = {"ITRACE_START", 16, FIELDS({"pid", 8, S32}, {"tid", 12, S32})},
    [PERF_RECORD_LOST_SAMPLES] = {"LOST_SAMPLES", 16, FIELDS({"lost", 8, U64})},
    [PERF_RECORD_SWITCH] = {"SWITCH", 8, NULL},
    [PERF_RECORD_SWITCH_CPU_WIDE] = {"SWITCH_CPU_WIDE", 16,
                                     FIELDS({"next_prev_pid", 8, S32}, {"next_prev_tid", 12, S32})},
    [PERF_RECORD_NAMESPACES] = {"NAMESPACES", 24, FIELDS({"pid", 8, S32}, {"tid", 12, S32}, {"nr", 16, U64})},
    [PERF_RECORD_KSYMBOL] = {"KSYMBOL", 24,
                             FIELDS({"addr", 8, HEX}, {"len", 16, U32}, {"ksym_type", 20, U16}, {"flags", 22, U16},
                                    {"symbol", 24, TEXT})},
    [PERF_RECORD_BPF_EVENT] = {"BPF_EVENT", 24, FIELDS({"bpf_type", 8, U16}, {"flags", 10, U16}, {"prog_id", 12, U32})},
    [PERF_RECORD_CGROUP] = {"CGROUP", 16, FIELDS({"cgroup", 8, U64}, {"path", 16, TEXT})},
    [PERF_RECORD_TEXT_POKE] = {"TEXT_POKE", 20, FIELDS({"addr", 8, HEX}, {"old_len", 16, U16}, {"new_len", 18, U16})},
    [PERF_RECORD_AUX_OUTPUT_HW_ID] = {"AUX_OUTPUT_HW_ID", 16, FIELDS({"hw_id", 8, HEX})},
    [WEIR_RECORD_CALLCHAIN_DEFERRED] = {"CALLCHAIN_DEFERRED", 24, FIELDS({"cookie", 8, HEX}, {"nr", 16, U64})},

    [WEIR_RECORD_ATTR] = {"ATTR", 72, FIELDS({"attr_type", 8, U32}, {"attr_size", 12, U32}, {"config", 16, HEX})},
    [WEIR_RECORD_EVENT_TYPE] = {"EVENT_TYPE", 8, NULL},
    [WEIR_RECORD_TRACING_DATA] = {"TRACING_DATA", 12, FIELDS({"data_size", 8, U32})},
    [WEIR_RECORD_BUILD_ID] = {"BUILD_ID", 36, FIELDS({"pid", 8, S32}, {"filename", 36, TEXT})},
    [WEIR_RECORD_FINISHED_ROUND] = {"FINISHED_ROUND", 8, NULL},
    [WEIR_RECORD_ID_INDEX] = {"ID_INDEX", 16, FIELDS({"nr", 8, U64})},
    [WEIR_RECORD_AUXTRACE_INFO] = {"AUXTRACE_INFO", 16, FIELDS({"auxtrace_type", 8, U32})},
    [WEIR_RECORD_AUXTRACE] = {"AUXTRACE", 48,
                              FIELDS({"auxtrace_size", 8, HEX}, {"auxtrace_offset", 16, HEX}, {"reference", 24, HEX},
                                     {"idx", 32, U32}, {"tid", 36, S32}, {"cpu", 40, S32})},
    [WEIR_RECORD_AUXTRACE_ERROR] = {"AUXTRACE_ERROR", 48,
                                    FIELDS({"error_type", 8, U32}, {"code", 12, U32}, {"cpu", 16, S32},
                                           {"pid", 20, S32}, {"tid", 24, S32}, {"ip", 32, HEX}, {"time", 40, U64},
                                           {"message", 48, TEXT})},
    [WEIR_RECORD_THREAD_MAP] = {"THREAD_MAP", 16, FIELDS({"nr", 8, U64})},
    [WEIR_RECORD_CPU_MAP] = {"CPU_MAP", 10, FIELDS({"map_type", 8, U16})},
    [WEIR_RECORD_STAT_CONFIG] = {"STAT_CONFIG", 16, FIELDS({"nr", 8, U64})},
    [WEIR_RECORD_STAT] = {"STAT", 48,
                          FIELDS({"id", 8, U64}, {"cpu", 16, S32}, {"thread", 20, S32}, {"value", 24, U64},
                                 {"enabled", 32, U64}, {"running", 40, U64})},
    [WEIR_RECORD_STAT_ROUND] = {"STAT_ROUND", 24, FIELDS({"round_type", 8, U64}, {"time", 16, U64})},
    [WEIR_RECORD_EVENT_UPDATE] = {"EVENT_UPDATE", 24, FIELDS({"update_type", 8, U64}, {"id", 16, U64})},
    [WEIR_RECORD_TIME_CONV] = {"TIME_CONV", 32,
                               FIELDS({"time_shift", 8, U64}, {"time_mult", 16, U64}, {"time_zero", 24, U64})},
    [WEIR_RECORD_FEATURE] = {"FEATURE", 16, FIELDS({"feature", 8, U64})},
    [WEIR_RECORD_COMPRESSED] = {"COMPRESSED", 8, NULL},
    [WEIR_RECORD_FINISHED_INIT] = {"FINISHED_INIT", 8, NULL},
    [WEIR_RECORD_COMPRESSED2] = {"COMPRESSED2", 16, FIELDS({"data_size", 8, U64})},
    [WEIR_RECORD_BPF_METADATA] = {"BPF_METADATA", 528, FIELDS({"nr_entries", 520, U64})},
    [WEIR_RECORD_SCHEDSTAT_CPU] = {"SCHEDSTAT_CPU", 72,
                                   FIELDS({"timestamp", 8, U64}, {"cpu", 16, U32}, {"version", 20, U16})},
    [WEIR_RECORD_SCHEDSTAT_DOMAIN] = {"SCHEDSTAT_DOMAIN", 168,
                                      FIELDS({"timestamp", 8, U64}, {"cpu", 16, U32}, {"version", 20, U16},
                                             {"domain", 22, U16})},
};

const struct weir_record_schema *weir_record_schema(uint32_t type)
{
    return type < WEIR_RECORD_TYPES && schemas[type].name ? &schemas[type] : NULL;
}

int weir_record_type_of(const char *name)
{
    if (strncasecmp(name, PREFIX, strlen(PREFIX)) == 0)
        name += strlen(PREFIX);
    for (unsigned type = 0; type < WEIR_RECORD_TYPES; type++) {
        if (schemas[type].name && strcasecmp(schemas[type].name, name) == 0)
            return (int)type;
    }
    return -1;
}
