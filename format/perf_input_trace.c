/* TRACING_DATA, from a file's features or a pipe's record. One thread. */
#include "format/perf_input_trace.h"

#include <errno.h>
#include <string.h>

#include "format/attr_name.h"

/* An event whose name was made from its attr. */
static bool is_nameless(const struct weir_input_event *event)
{
    char name[WEIR_ATTR_NAME_BYTES];
    weir_attr_name(&event->attr, name);
    return event->attr.type == PERF_TYPE_TRACEPOINT && strcmp(event->name, name) == 0;
}

int weir_perf_input_name_tracepoints(struct weir_perf_input *input, const struct weir_trace *trace, size_t first)
{
    struct weir_buf name = WEIR_BUF_INIT;
    int result = 0;
    for (size_t i = first; result == 0 && i < input->events.count; i++) {
        weir_buf_reset(&name);
        if (is_nameless(&input->events.list[i]) &&
            weir_trace_append_name(trace, input->events.list[i].attr.config, &name))
            result = weir_input_events_rename(&input->events, i, weir_buf_str(&name));
    }
    weir_buf_fini(&name);
    return result;
}

int weir_perf_input_trace(struct weir_perf_input *input, struct weir_trace **trace, struct weir_error *err)
{
    struct weir_buf section = WEIR_BUF_INIT;
    struct weir_error cause = {0};
    *trace = NULL;
    int result = weir_perf_input_feature(input, WEIR_FEATURE_TRACING_DATA, &section, err);
    if (result == 1) {
        int made = weir_trace_new(trace, section.data, section.used, &cause);
        if (made == 0)
            made = weir_perf_input_name_tracepoints(input, *trace, 0);
        if (made < 0) {
            weir_trace_free(*trace);
            *trace = NULL;
            result = cause.code < 0 ? weir_error_set(err, made, "%s: %s", input->source.path, cause.what)
                                    : weir_error_set_errno(err, made, "cannot read %s", input->source.path);
        }
    }
    weir_buf_fini(&section);
    return result;
}
