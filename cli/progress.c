/* Shows how far a reading command is. Main thread. */
#include "cli/progress.h"

#include <unistd.h>

#include "base/clock.h"
#include "cli/status_text.h"

#define PATIENCE_NS WEIR_NS_PER_S
#define PERIOD_NS   (WEIR_NS_PER_S / 2)

void weir_progress_begin(struct weir_progress *progress, struct weir_print *print, const char *work, bool streams_out)
{
    uint64_t now_ns = weir_clock_now_ns(&weir_clock_monotonic);
    int fd = fileno(print->stream);
    *progress =
        (struct weir_progress){.print = print, .work = work, .begun_ns = now_ns, .due_ns = now_ns + PATIENCE_NS};
    progress->has_line = !print->quiet && weir_status_line_suits(fd) && !(streams_out && isatty(STDOUT_FILENO));
    if (!progress->has_line)
        return;
    weir_status_line_open(&progress->line, fd, false);
    print->line = &progress->line;
}

static void tell(void *ctx, uint64_t done_bytes, uint64_t total_bytes)
{
    struct weir_progress *progress = ctx;
    uint64_t now_ns = weir_clock_now_ns(&weir_clock_monotonic);
    if (now_ns < progress->due_ns)
        return;
    char text[WEIR_STATUS_TEXT_BYTES];
    progress->due_ns = now_ns + PERIOD_NS;
    weir_status_text_progress(text, progress->work, done_bytes, total_bytes, now_ns - progress->begun_ns,
                              weir_status_line_columns(&progress->line));
    weir_status_line_draw(&progress->line, text);
}

struct weir_input_progress weir_progress_of_input(struct weir_progress *progress)
{
    return (struct weir_input_progress){.tell = progress->has_line ? tell : NULL, .ctx = progress};
}

void weir_progress_end(struct weir_progress *progress)
{
    if (!progress->has_line)
        return;
    progress->print->line = NULL;
    if (weir_clock_now_ns(&weir_clock_monotonic) >= progress->begun_ns + PATIENCE_NS)
        progress->line.drawn = true; /* by a child, perhaps */
    weir_status_line_close(&progress->line);
    progress->has_line = false;
}
