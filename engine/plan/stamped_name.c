#include "engine/plan/stamped_name.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/directory.h"

#define SUFFIX_BYTES     (1 + WEIR_STAMP_BYTES - 1 + 4) /* ".STAMP-999" */
#define NS_PER_HUNDREDTH 10000000u

void weir_stamp_write(char stamp[WEIR_STAMP_BYTES], uint64_t day_ns)
{
    time_t day_s = (time_t)(day_ns / WEIR_NS_PER_S);
    struct tm utc;
    gmtime_r(&day_s, &utc);
    size_t used = strftime(stamp, WEIR_STAMP_BYTES, "%Y%m%d%H%M%S", &utc);
    snprintf(stamp + used, WEIR_STAMP_BYTES - used, "%02u", (unsigned)(day_ns % WEIR_NS_PER_S / NS_PER_HUNDREDTH));
}

int weir_stamped_name_write(char *name, size_t bytes, const char *path, const char *prefix, const char *stamp,
                            unsigned n)
{
    const char *base = weir_path_name(path);
    int length = n == 0 ? snprintf(name, bytes, "%s%s.%s", prefix, base, stamp)
                        : snprintf(name, bytes, "%s%s.%s-%03u", prefix, base, stamp, n);
    return length < 0 || (size_t)length >= bytes ? -ENAMETOOLONG : 0;
}

int weir_stamped_name_check(const char *path, const char *prefix, struct weir_error *err)
{
    size_t most = NAME_MAX - SUFFIX_BYTES - strlen(prefix);
    if (strlen(weir_path_name(path)) <= most)
        return 0;
    weir_error_set(err, -ENAMETOOLONG, "the name of output '%s' is too long: its files get their time behind it", path);
    weir_error_hint(err, "a name of at most %zu bytes leaves room for that", most);
    return -ENAMETOOLONG;
}
