/* The names of generic events, from type and config. Source: enum perf_hw_id, enum perf_sw_ids; evsel__hw_name() in
 * tools/perf. Pure. */
#include "format/attr_name.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/bits.h"

static const char *const hardware[] = {
    "cycles",        "instructions", "cache-references",        "cache-misses",           "branches",
    "branch-misses", "bus-cycles",   "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles",
};
static const char *const software[] = {
    "cpu-clock",        "task-clock",   "page-faults",  "context-switches",
    "cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
    "emulation-faults", "dummy",        "bpf-output",   "cgroup-switches",
};

static void write_modifier(const struct perf_event_attr *attr, char text[8])
{
    size_t used = 0;
    bool some = attr->exclude_user || attr->exclude_kernel || attr->exclude_hv;
    if (some || attr->precise_ip)
        text[used++] = ':';
    if (some && !attr->exclude_kernel)
        text[used++] = 'k';
    if (some && !attr->exclude_user)
        text[used++] = 'u';
    if (some && !attr->exclude_hv)
        text[used++] = 'h';
    for (unsigned i = 0; i < attr->precise_ip; i++)
        text[used++] = 'p';
    text[used] = '\0';
}

void weir_attr_name(const struct perf_event_attr *attr, char name[WEIR_ATTR_NAME_BYTES])
{
    char modifier[8];
    write_modifier(attr, modifier);
    if (attr->type == PERF_TYPE_HARDWARE && attr->config < WEIR_ARRAY_COUNT(hardware))
        snprintf(name, WEIR_ATTR_NAME_BYTES, "%s%s", hardware[attr->config], modifier);
    else if (attr->type == PERF_TYPE_SOFTWARE && attr->config < WEIR_ARRAY_COUNT(software))
        snprintf(name, WEIR_ATTR_NAME_BYTES, "%s%s", software[attr->config], modifier);
    else if (attr->type == PERF_TYPE_TRACEPOINT)
        snprintf(name, WEIR_ATTR_NAME_BYTES, "tracepoint:%" PRIu64, (uint64_t)attr->config);
    else if (attr->type == PERF_TYPE_BREAKPOINT)
        snprintf(name, WEIR_ATTR_NAME_BYTES, "mem:%#" PRIx64, (uint64_t)attr->bp_addr);
    else
        snprintf(name, WEIR_ATTR_NAME_BYTES, "type %u config %#" PRIx64 "%s", attr->type, (uint64_t)attr->config,
                 modifier);
}
