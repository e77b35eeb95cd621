/*
 * -S and --aux-sample: their texts. Main thread. The grammar is that of
 * auxtrace_parse_snapshot_options() and auxtrace_parse_sample_options(), tools/perf/util/auxtrace.c, Linux 6.1, but for
 * numbers, which are those of all options (cli/value.h).
 */
#include "cli/aux_arguments.h"

#include <errno.h>

#include "base/size_text.h"
#include "cli/record_arguments.h"
#include "cli/ring_options.h"
#include "cli/value.h"
#include "engine/events/event_config.h"

/* A size of 1 to max. 0; else -EINVAL with err. */
static int parse_bytes(const char *option, const char *text, uint64_t max, uint64_t *bytes, struct weir_error *err)
{
    int result = weir_value_parse_size(text, bytes);
    if (result == 0 && *bytes >= 1 && *bytes <= max)
        return 0;
    char limit[WEIR_SIZE_TEXT_BYTES];
    weir_size_format(max, limit);
    if (result == -EINVAL)
        weir_error_set(err, -EINVAL, "option '%s': '%s' is not a size", option, text);
    else
        weir_error_set(err, -EINVAL, "option '%s': %s is not 1 to %s", option, text, limit);
    weir_error_hint(err, "a number of bytes, or with K, M or G behind it: 1 to %s", limit);
    return -EINVAL;
}

int weir_apply_aux_snapshot(void *arguments, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *record = arguments;
    bool on_exit = text && text[0] == 'e';
    const char *size = text ? text + on_exit : "";
    uint64_t bytes = 0;
    int result = *size ? parse_bytes("--snapshot", size, WEIR_AUX_RING_BYTES_MAX, &bytes, err) : 0;
    if (result < 0)
        return result;
    record->options.aux.snapshot = true;
    record->options.aux.snapshot_on_exit = on_exit;
    record->options.aux.snapshot_bytes = bytes;
    return 0;
}

int weir_apply_aux_sample(void *arguments, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *record = arguments;
    uint64_t bytes = 0;
    int result = text ? parse_bytes("--aux-sample", text, WEIR_AUX_SAMPLE_BYTES_MAX, &bytes, err) : 0;
    if (result < 0)
        return result;
    record->options.aux.sample = true;
    record->options.aux.sample_bytes = (uint32_t)bytes;
    return 0;
}
