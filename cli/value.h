/*
 * Numbers, sizes and frequencies in the form of the command line, read and written.
 *
 * Grammar: decimal digits only. No sign, no white space, no 0x, no fraction. perf uses strtoul's leniency ("99k" is 99
 * there); weir refuses text that it does not understand as a whole. Suffixes are perf's B, K, M, G (powers of 1024), in
 * either case. Pure functions, any thread; outputs are untouched on failure.
 */
#ifndef WEIR_CLI_VALUE_H
#define WEIR_CLI_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpuset.h"
#include "base/error.h"

#define WEIR_VALUE_FREQ_MAX UINT64_MAX /* what weir_value_parse_frequency() makes of "max" */

/* The argument of -m: a number of pages, or a size that is turned into pages once the page size is known. */
struct weir_ring_size {
    uint64_t number;
    bool in_bytes; /* a suffix was given: number is bytes, else pages */
    bool given;
};

/* The argument of perf's -m: "DATA", "DATA,AUX" or ",AUX". */
struct weir_ring_size_pair {
    struct weir_ring_size data, aux;
};

/* "123" to *number. 0, -EINVAL (not decimal digits) or -ERANGE (above 2^64 - 1). */
int weir_value_parse_number(const char *text, uint64_t *number);

/* "123", "4K", "16m" to *bytes; without suffix: bytes. 0, -EINVAL or -ERANGE. */
int weir_value_parse_size(const char *text, uint64_t *bytes);

/* "5", "0.25": a percentage of 0 to 100 with four digits behind the point at most, in millionths. 0, -EINVAL or
 * -ERANGE. */
int weir_value_parse_percent(const char *text, uint64_t *ppm);

/* "5s", "10m", "2h", "1d" to *ns; the unit is needed. 0, -EINVAL or -ERANGE (above 2^63 - 1). */
int weir_value_parse_time(const char *text, uint64_t *ns);

/* perf's SIZE|TIME (perf-record(1) on --switch-output): "5s", "10m", "2h", "1d" or a size, with B, K, M or G in upper
 * case, since m is minutes, or in bytes. Exactly one of *bytes and *ns is set, the other becomes 0. 0, -EINVAL or
 * -ERANGE. */
int weir_value_parse_size_or_time(const char *text, uint64_t *bytes, uint64_t *ns);

/* "99" to Hz, "max" to WEIR_VALUE_FREQ_MAX. 0, -EINVAL or -ERANGE. */
int weir_value_parse_frequency(const char *text, uint64_t *freq_hz);

/* weir_cpuset_parse() of a list that names a CPU at least: cpus is replaced. Else -EINVAL, too, and it is unchanged. */
int weir_value_parse_cpu_list(const char *text, struct weir_cpuset *cpus, struct weir_error *err);

/* "128" (pages) or "512K" (bytes). 0, -EINVAL or -ERANGE. */
int weir_value_parse_ring_size(const char *text, struct weir_ring_size *size);

/* "128", "4M,64M" or ",64M": the part that is not there is not given. Both parts as weir_value_parse_ring_size(). */
int weir_value_parse_ring_size_pair(const char *text, struct weir_ring_size_pair *pair);

/*
 * The ring that size asks for, as perf has it: bytes are rounded up to pages, pages up to a power of two, none becomes
 * one. *rounded: the number of pages is another than asked for. page_bytes: a power of two.
 * 0, or -ERANGE when the ring would be larger than max_bytes (at most 2^63).
 */
int weir_value_resolve_ring_size(const struct weir_ring_size *size, uint64_t page_bytes, uint64_t max_bytes,
                                 uint64_t *ring_bytes, bool *rounded);

#endif
