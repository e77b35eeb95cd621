/* Numbers, sizes and frequencies of the command line. Pure; any thread. */
#include "cli/value.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/bits.h"
#include "base/clock.h"

#define DECIMAL 10u

/* One suffix: ascending, so that the last that divides a size is its best one. */
static const struct {
    char upper, lower;
    unsigned shift;
} suffixes[] = {{'B', 'b', 0}, {'K', 'k', 10}, {'M', 'm', 20}, {'G', 'g', 30}};

/* Reads the digits at *text and moves it behind them. 0, -EINVAL (no digit) or -ERANGE. */
static int take_digits(const char **text, uint64_t *number)
{
    const char *at = *text;
    uint64_t sum = 0;
    bool too_large = false;
    for (; *at >= '0' && *at <= '9'; at++) {
        too_large |= __builtin_mul_overflow(sum, DECIMAL, &sum);
        too_large |= __builtin_add_overflow(sum, (uint64_t)(*at - '0'), &sum);
    }
    if (at == *text)
        return -EINVAL;
    *text = at;
    *number = sum;
    return too_large ? -ERANGE : 0;
}

/* Digits and at most one suffix, then stop. *suffixed: there was one. */
static int parse_until(const char *text, char stop, uint64_t *number, bool *suffixed)
{
    uint64_t value = 0;
    int result = take_digits(&text, &value);
    if (result == -EINVAL)
        return result;

    unsigned shift = 0;
    *suffixed = *text != stop;
    if (*suffixed) {
        size_t i = 0;
        while (i < WEIR_ARRAY_COUNT(suffixes) && *text != suffixes[i].upper && *text != suffixes[i].lower)
            i++;
        if (i == WEIR_ARRAY_COUNT(suffixes) || text[1] != stop)
            return -EINVAL;
        shift = suffixes[i].shift;
    }
    if (result < 0 || value > UINT64_MAX >> shift)
        return -ERANGE;
    *number = value << shift;
    return 0;
}

int weir_value_parse_number(const char *text, uint64_t *number)
{
    uint64_t value = 0;
    int result = take_digits(&text, &value);
    if (result == -EINVAL || *text != '\0')
        return -EINVAL;
    if (result == 0)
        *number = value;
    return result;
}

int weir_value_parse_size(const char *text, uint64_t *bytes)
{
    bool suffixed;
    return parse_until(text, '\0', bytes, &suffixed);
}

static const struct {
    char unit;
    uint64_t seconds;
} time_units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};

int weir_value_parse_time(const char *text, uint64_t *ns)
{
    uint64_t number = 0, product;
    int result = take_digits(&text, &number);
    if (result == -EINVAL || text[0] == '\0' || text[1] != '\0')
        return -EINVAL;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(time_units); i++) {
        if (text[0] != time_units[i].unit)
            continue;
        if (result < 0 || __builtin_mul_overflow(number, time_units[i].seconds * WEIR_NS_PER_S, &product) ||
            product > INT64_MAX)
            return -ERANGE;
        *ns = product;
        return 0;
    }
    return -EINVAL;
}

int weir_value_parse_size_or_time(const char *text, uint64_t *bytes, uint64_t *ns)
{
    uint64_t size = 0, time_ns = 0;
    size_t length = strlen(text);
    int result = weir_value_parse_time(text, &time_ns);
    if (result == -EINVAL && length > 0 && strchr("0123456789BKMG", text[length - 1]))
        result = weir_value_parse_size(text, &size);
    if (result == 0) {
        *bytes = size;
        *ns = time_ns;
    }
    return result;
}

int weir_value_parse_frequency(const char *text, uint64_t *freq_hz)
{
    if (strcasecmp(text, "max") == 0) { /* as perf */
        *freq_hz = WEIR_VALUE_FREQ_MAX;
        return 0;
    }
    uint64_t number = 0;
    int result = weir_value_parse_number(text, &number);
    if (result == 0 && number == WEIR_VALUE_FREQ_MAX)
        return -ERANGE;
    if (result == 0)
        *freq_hz = number;
    return result;
}

static int parse_ring_size_until(const char *text, char stop, struct weir_ring_size *size)
{
    struct weir_ring_size parsed = {.given = true};
    int result = parse_until(text, stop, &parsed.number, &parsed.in_bytes);
    if (result == 0)
        *size = parsed;
    return result;
}

int weir_value_parse_cpu_list(const char *text, struct weir_cpuset *cpus, struct weir_error *err)
{
    struct weir_cpuset parsed = WEIR_CPUSET_INIT;
    int result = weir_cpuset_parse(&parsed, text, err);
    if (result == 0 && weir_cpuset_is_empty(&parsed))
        result = weir_error_set(err, -EINVAL, "the list names no CPU");
    if (result < 0) {
        weir_cpuset_fini(&parsed);
        return result;
    }
    weir_cpuset_fini(cpus);
    *cpus = parsed;
    return 0;
}

int weir_value_parse_ring_size(const char *text, struct weir_ring_size *size)
{
    return parse_ring_size_until(text, '\0', size);
}

int weir_value_parse_ring_size_pair(const char *text, struct weir_ring_size_pair *pair)
{
    struct weir_ring_size_pair parsed = {.data = {.number = 0}};
    const char *comma = strchr(text, ',');
    int result = comma == text ? 0 : parse_ring_size_until(text, comma ? ',' : '\0', &parsed.data);
    int aux_result = comma ? weir_value_parse_ring_size(comma + 1, &parsed.aux) : 0;
    if (result == 0 || aux_result == -EINVAL)
        result = aux_result;
    if (result == 0)
        *pair = parsed;
    return result;
}

int weir_value_resolve_ring_size(const struct weir_ring_size *size, uint64_t page_bytes, uint64_t max_bytes,
                                 uint64_t *ring_bytes, bool *rounded)
{
    uint64_t pages = size->number;
    if (size->in_bytes) /* a page too many cannot overflow: page_bytes is at least 2 */
        pages = size->number / page_bytes + (size->number % page_bytes != 0);
    if (pages > max_bytes / page_bytes)
        return -ERANGE;

    uint64_t power = weir_round_up_power_of_two(pages);
    if (power > max_bytes / page_bytes)
        return -ERANGE;
    *rounded = power != pages;
    *ring_bytes = power * page_bytes;
    return 0;
}

int weir_value_parse_percent(const char *text, uint64_t *ppm)
{
    uint64_t value = 0, unit = 10000;
    const char *at = text;
    for (; *at >= '0' && *at <= '9' && value <= 100; at++)
        value = 10 * value + (uint64_t)(*at - '0');
    if (at == text)
        return -EINVAL;
    value *= unit;
    if (*at == '.') {
        at++;
        if (*at == '\0')
            return -EINVAL;
        for (; *at >= '0' && *at <= '9' && unit > 1; at++) {
            unit /= 10;
            value += unit * (uint64_t)(*at - '0');
        }
    }
    if (value > 1000000)
        return -ERANGE;
    if (*at != '\0')
        return -EINVAL;
    *ppm = value;
    return 0;
}
