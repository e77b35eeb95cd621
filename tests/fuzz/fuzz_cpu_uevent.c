/*
 * Uevents of CPUs (topology/cpu_watch.h). Input: a message.
 *
 * What is told is in its first line, which ends in a zero: the number of a CPU that there can be, and nothing behind
 * it.
 */
#include "topology/cpu_watch.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/cpuset.h"
#include "tests/fuzz/fuzz.h"

#define FOLDER "/devices/system/cpu/cpu"

static void run(void *object, const uint8_t *data, size_t bytes)
{
    (void)object;
    struct weir_cpu_change change;
    if (!weir_cpu_uevent_parse((const char *)data, bytes, &change))
        return;
    const char *line = (const char *)data, *start = change.came ? "online@" FOLDER : "offline@" FOLDER;
    char *end;
    weir_assert(memchr(data, '\0', bytes) && strncmp(line, start, strlen(start)) == 0);
    weir_assert(change.cpu < WEIR_CPU_LIMIT && strtoull(line + strlen(start), &end, 10) == change.cpu && *end == '\0');
}

const struct fuzz_target fuzz_target = {.run = run};
