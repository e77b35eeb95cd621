/*
 * Tracepoints (format/trace_decode.h). Input: a TRACING_DATA section, "%%\n", and the raw bytes of a sample.
 *
 * Every id that fits in 16 bits of the sample's own first field, and a few others, is decoded both ways; what comes out
 * can be shown. That libtraceevent reads nothing outside is for the sanitizers to see.
 */
#include "format/trace_decode.h"

#include <string.h>

#include "base/assert.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input.h"

#define IDS 8u

/* libtraceevent forgets memory of formats that it cannot parse. For LeakSanitizer; unused without it. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libtraceevent";
}

static void check_event(struct weir_trace *trace, uint64_t id, struct fuzz_part raw)
{
    struct weir_buf out = WEIR_BUF_INIT;
    weir_trace_append_text(trace, id, raw.data, raw.bytes, &out);
    fuzz_check_line(weir_buf_str(&out));
    weir_buf_reset(&out);
    bool is_known = weir_trace_append_json(trace, id, raw.data, raw.bytes, &out);
    const char *json = weir_buf_str(&out);
    fuzz_check_line(json);
    weir_assert(is_known ? json[0] == '{' && json[strlen(json) - 1] == '}' : json[0] == '\0');
    weir_buf_fini(&out);
}

static void run(void *object, const uint8_t *data, size_t bytes)
{
    (void)object;
    struct fuzz_part parts[2];
    fuzz_split(data, bytes, FUZZ_SEPARATOR, parts, 2);
    struct weir_trace *trace;
    struct weir_error err = {0};
    int result = weir_trace_new(&trace, parts[0].data, parts[0].bytes, &err);
    if (result < 0) {
        fuzz_check_error(&err, result);
        return;
    }
    for (uint64_t id = 0; id < IDS; id++)
        check_event(trace, id, parts[1]);
    if (parts[1].bytes >= 2)
        check_event(trace, (uint64_t)parts[1].data[0] | (uint64_t)parts[1].data[1] << 8, parts[1]);
    weir_trace_free(trace);
}

const struct fuzz_target fuzz_target = {.run = run};
