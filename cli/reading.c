/* The common part of commands that read a recording. Main thread. */
#include "cli/reading.h"

#include "cli/exit_status.h"

void weir_reading_begin(struct weir_reading *reading, struct weir_print *print, const char *work, bool streams_out)
{
    reading->notices = weir_print_sink(print);
    reading->sandbox = (struct weir_sandbox_gate){.kind = WEIR_SANDBOX_READING, .notices = &reading->notices};
    reading->gate = weir_sandbox_input_gate(&reading->sandbox);
    weir_progress_begin(&reading->progress, print, work, streams_out);
    reading->gate.progress = weir_progress_of_input(&reading->progress);
}

void weir_reading_end(struct weir_reading *reading)
{
    weir_progress_end(&reading->progress);
}

int weir_reading_write(void *ctx, const char *text, size_t bytes, struct weir_error *err)
{
    (void)ctx;
    return weir_print_output_bytes(text, bytes, err);
}

int weir_reading_flush(const struct weir_print *print, int code, const struct weir_error *err)
{
    struct weir_error output_error = {0};
    int flushed = weir_print_output("", &output_error);
    if (code < 0)
        weir_print_error(print, err);
    else if (flushed < 0)
        weir_print_error(print, &output_error);
    return weir_exit_status_of_reading(code < 0 ? code : flushed);
}
