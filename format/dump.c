/* Reads records, asks the filter, writes them as text or JSON. One thread. */
#include "format/dump.h"

#include <errno.h>

#include "format/perf_input_trace.h"
#include "format/record_text.h"

#define FLUSH_BYTES (64u << 10)

struct dump {
    const struct weir_dump_options *options;
    struct weir_perf_input input;
    struct weir_trace *trace; /* owned; NULL: no tracepoint can be decoded */
    bool is_trace_read;       /* whether or not there is one then: the first TRACING_DATA counts */
    size_t named;             /* events whose names were looked for */
    uint64_t features;        /* first word of those that were known then */
    struct weir_record_text text;
    struct weir_buf out;
};

/* A damaged description costs the fields, not the dump. 0 or -ENOMEM. */
static int read_trace(struct dump *dump)
{
    struct weir_error cause = {0};
    int result = weir_perf_input_trace(&dump->input, &dump->trace, &cause);
    dump->is_trace_read = true;
    if (result < 0 && result != -ENOMEM)
        weir_notice(dump->options->notices, WEIR_NOTICE_WARNING, "fields of tracepoints are not decoded: %s",
                    cause.what);
    return result == -ENOMEM ? result : 0;
}

/* The state on which the text of records depends, as far as it is new. A stream may bring such state between any two
 * records, and as often as it likes. 0, or -ENOMEM with err. */
static int describe(struct dump *dump, struct weir_error *err)
{
    struct weir_perf_input *input = &dump->input;
    bool has_trace = weir_perf_input_has_feature(input, WEIR_FEATURE_TRACING_DATA);
    bool has_new_feature = input->features[0] != dump->features;
    int result = 0;
    if (has_trace && !dump->is_trace_read)
        result = read_trace(dump);
    else if (dump->trace)
        result = weir_perf_input_name_tracepoints(input, dump->trace, dump->named);
    dump->named = input->events.count;
    dump->features = input->features[0];
    if (result == 0 && has_new_feature)
        result = weir_record_text_init(&dump->text, input, dump->trace);
    return result < 0 ? weir_error_set_errno(err, result, "cannot dump %s", input->source.path) : 0;
}

static int flush(struct dump *dump, size_t from, struct weir_error *err)
{
    int result = weir_buf_error(&dump->out);
    if (result < 0)
        return weir_error_set_errno(err, result, "cannot dump %s", dump->input.source.path);
    if (dump->out.used < from || dump->out.used == 0)
        return 0;
    result = dump->options->write(dump->options->ctx, (const char *)dump->out.data, dump->out.used, err);
    weir_buf_reset(&dump->out);
    return result;
}

static void append(struct dump *dump, const struct weir_record_view *record)
{
    if (dump->options->json) {
        weir_record_json_append(&dump->text, record, &dump->out);
        weir_buf_append_u8(&dump->out, '\n');
    } else {
        weir_record_text_append(&dump->text, record, &dump->out);
    }
}

static bool describes_events(const struct weir_record_view *record)
{
    return record->type == WEIR_RECORD_ATTR || record->type == WEIR_RECORD_TRACING_DATA ||
           record->type == WEIR_RECORD_FEATURE;
}

/* A name that is mistyped would show nothing, and no reason. */
static void tell_of_unknown_names(const struct dump *dump)
{
    const struct weir_dump_filter *filter = dump->options->filter;
    for (size_t i = 0; i < filter->event_count; i++) {
        if (!weir_dump_filter_knows(filter, i, &dump->input))
            weir_notice(dump->options->notices, WEIR_NOTICE_WARNING,
                        "%s has no event '%s'; weir info shows those that it has", dump->input.source.path,
                        filter->events[i]);
    }
}

static int dump_records(struct dump *dump, uint64_t *records, struct weir_error *err)
{
    const struct weir_dump_options *options = dump->options;
    struct weir_record_view record;
    bool is_stale = true;
    int result = 1;
    while (result == 1 && (options->limit == 0 || *records < options->limit)) {
        result = weir_perf_input_next(&dump->input, &record, err);
        if (result != 1)
            break;
        is_stale |= dump->input.is_pipe && describes_events(&record);
        if (is_stale && !describes_events(&record)) {
            int described = describe(dump, err);
            if (described < 0)
                return described;
            is_stale = false;
        }
        bool is_wanted = weir_dump_filter_wants(options->filter, &dump->input, &record);
        if (is_wanted)
            append(dump, &record);
        weir_record_text_add_events(&dump->text);
        if (!is_wanted)
            continue;
        (*records)++;
        int flushed = flush(dump, FLUSH_BYTES, err);
        result = flushed < 0 ? flushed : 1;
    }
    return result < 0 ? result : 0;
}

int weir_dump_run(const struct weir_dump_options *options, uint64_t *records, struct weir_error *err)
{
    struct dump dump = {.options = options};
    *records = 0;
    int result = weir_perf_input_open_gated(&dump.input, options->path, options->gate, err);
    if (result < 0)
        return result;
    result = weir_record_text_init(&dump.text, &dump.input, NULL);
    if (result < 0)
        weir_error_set_errno(err, result, "cannot dump %s", options->path);
    else
        result = dump_records(&dump, records, err);
    if (result == 0 &&
        (options->limit == 0 || *records < options->limit)) /* of a stream the last record may name one */
        tell_of_unknown_names(&dump);
    struct weir_error write_error = {0};
    int flushed = flush(&dump, 0, &write_error);
    if (result == 0 && flushed < 0) {
        result = flushed;
        if (err)
            *err = write_error;
    }
    weir_trace_free(dump.trace);
    weir_buf_fini(&dump.out);
    weir_perf_input_close(&dump.input);
    return result;
}
