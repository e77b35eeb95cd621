/* Names of clocks, and their relation to the time of day. Main thread. Source: clockids[] and parse_clockid(),
 * tools/perf/util/clockid.c, and record__init_clock(), tools/perf/builtin-record.c, Linux 6.1. */
#include "engine/events/sample_clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/bits.h"
#include "base/buf.h"

#define NS_PER_S UINT64_C(1000000000)

static const struct {
    const char *name;
    clockid_t id;
} clocks[] = {
    {"monotonic", CLOCK_MONOTONIC},
    {"monotonic_raw", CLOCK_MONOTONIC_RAW},
    {"realtime", CLOCK_REALTIME},
    {"boottime", CLOCK_BOOTTIME},
    {"tai", CLOCK_TAI},
    {"mono", CLOCK_MONOTONIC},
    {"raw", CLOCK_MONOTONIC_RAW},
    {"real", CLOCK_REALTIME},
    {"boot", CLOCK_BOOTTIME},
};

/* attr.clockid has a sign, but the kernel knows no negative clock: those are of processes and devices. */
static bool parse_number(const char *text, int32_t *id)
{
    if (text[0] < '0' || text[0] > '9')
        return false;
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (*end != '\0' || errno != 0 || number > INT32_MAX)
        return false;
    *id = (int32_t)number;
    return true;
}

int weir_sample_clock_parse(const char *text, int32_t *id, struct weir_error *err)
{
    static const char prefix[] = "CLOCK_";
    if (parse_number(text, id))
        return 0;
    const char *name = strncasecmp(text, prefix, sizeof(prefix) - 1) == 0 ? text + sizeof(prefix) - 1 : text;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(clocks); i++) {
        if (strcasecmp(name, clocks[i].name) == 0) {
            *id = clocks[i].id;
            return 0;
        }
    }
    weir_error_set(err, -EINVAL, "unknown clock '%s'", text);
    weir_error_hint(err, "monotonic, monotonic_raw, realtime, boottime or tai, or its number in clock_gettime(2)");
    return -EINVAL;
}

static uint64_t to_ns(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * NS_PER_S + (uint64_t)time->tv_nsec;
}

/*
 * Returns by how much clock_gettime(2) is ahead of the clock that the kernel stamps samples with: the offset of the
 * time namespace (time_namespaces(7)). Lines are "monotonic  1000000  0" and "boottime  1000000  0".
 */
static int64_t offset_of_namespace_ns(int32_t id)
{
    bool is_boottime = id == CLOCK_BOOTTIME;
    if (!is_boottime && id != CLOCK_MONOTONIC && id != CLOCK_MONOTONIC_RAW)
        return 0;
    struct weir_buf text = WEIR_BUF_INIT;
    long long seconds = 0, ns = 0;
    if (weir_buf_append_file(&text, "/proc/self/timens_offsets") ==
        0) { /* a kernel without such namespaces has no file */
        const char *name = is_boottime ? "boottime" : "monotonic";
        const char *at = strstr(weir_buf_str(&text), name);
        char *end;
        seconds = at ? strtoll(at + strlen(name), &end, 10) : 0;
        ns = at ? strtoll(end, NULL, 10) : 0;
    }
    weir_buf_fini(&text);
    return seconds * (int64_t)NS_PER_S + ns;
}

int weir_sample_clock_reference(int32_t id, struct weir_clock_reference *reference, struct weir_error *err)
{
    struct timespec resolution = {0}, day, now;
    if (clock_gettime(CLOCK_REALTIME, &day) < 0 || clock_gettime(id, &now) < 0) {
        int code = -errno;
        weir_error_set_errno(err, code, "cannot read clock %d", id);
        weir_error_hint(err, "-k takes a clock that clock_gettime(2) knows, such as monotonic");
        return code;
    }
    if (clock_getres(id, &resolution) < 0)
        resolution = (struct timespec){0};
    *reference = (struct weir_clock_reference){
        .resolution_ns = to_ns(&resolution),
        .time_of_day_ns = to_ns(&day),
        .clock_ns = to_ns(&now) - (uint64_t)offset_of_namespace_ns(id),
    };
    return 0;
}

const char *weir_sample_clock_name(size_t index)
{
    return index < WEIR_ARRAY_COUNT(clocks) ? clocks[index].name : NULL;
}
