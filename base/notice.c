/* Notices of library layers. Any thread that is not on the data path. */
#include "base/notice.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/line.h"

#define LINE_BYTES 1024

__attribute__((format(printf, 2, 0))) static void format_line(char line[LINE_BYTES], const char *format, va_list args)
{
    vsnprintf(line, LINE_BYTES, format, args);
    weir_line_clean(line);
}

/* ---- the limiter ---- */

struct weir_notice_kind {
    const char *format; /* borrowed; a literal */
    enum weir_notice_level level;
    uint64_t window_ns; /* begin of the window */
    unsigned passed;    /* in this window */
    uint64_t left_out;  /* not told yet */
    char last[128];     /* begin of the last line that was left out */
};

struct weir_notice_limiter {
    const struct weir_clock *clock; /* borrowed; monotonic */
    pthread_mutex_t lock;           /* guards the following fields; notices come from several threads */
    bool started;                   /* until then each line passes */
    unsigned kind_count;
    struct weir_notice_kind kinds[WEIR_NOTICE_KINDS]; /* the last one stands for all further kinds, too */
};

struct weir_notice_limiter *weir_notice_limiter_new(const struct weir_clock *clock)
{
    struct weir_notice_limiter *limiter = calloc(1, sizeof(*limiter));
    if (!limiter)
        return NULL;
    limiter->clock = clock;
    pthread_mutex_init(&limiter->lock, NULL);
    return limiter;
}

void weir_notice_limiter_start(struct weir_notice_limiter *limiter)
{
    if (!limiter)
        return;
    pthread_mutex_lock(&limiter->lock);
    limiter->started = true;
    pthread_mutex_unlock(&limiter->lock);
}

static struct weir_notice_kind *find_kind(struct weir_notice_limiter *limiter, const char *format,
                                          enum weir_notice_level level, uint64_t now_ns)
{
    for (unsigned i = 0; i < limiter->kind_count; i++) {
        struct weir_notice_kind *kind = &limiter->kinds[i];
        if (kind->level == level && strcmp(kind->format, format) == 0)
            return kind;
    }
    if (limiter->kind_count == WEIR_NOTICE_KINDS)
        return &limiter->kinds[WEIR_NOTICE_KINDS - 1];
    struct weir_notice_kind *kind = &limiter->kinds[limiter->kind_count++];
    *kind = (struct weir_notice_kind){.format = format, .level = level, .window_ns = now_ns};
    return kind;
}

/* Whether the line may pass. *left_out: earlier lines of its kind that the caller now tells. */
static bool take(struct weir_notice_kind *kind, uint64_t now_ns, const char *line, uint64_t *left_out)
{
    if (now_ns - kind->window_ns >= WEIR_NOTICE_WINDOW_NS) {
        kind->window_ns = now_ns;
        kind->passed = 0;
    }
    if (kind->passed == WEIR_NOTICE_BURST) {
        kind->left_out++;
        snprintf(kind->last, sizeof(kind->last), "%s", line);
        return false;
    }
    kind->passed++;
    *left_out = kind->left_out;
    kind->left_out = 0;
    return true;
}

static bool passes(struct weir_notice_limiter *limiter, const char *format, enum weir_notice_level level,
                   const char *line, uint64_t *left_out)
{
    uint64_t now_ns = weir_clock_now_ns(limiter->clock);
    pthread_mutex_lock(&limiter->lock);
    bool may_pass = !limiter->started || take(find_kind(limiter, format, level, now_ns), now_ns, line, left_out);
    pthread_mutex_unlock(&limiter->lock);
    return may_pass;
}

static void tell_left_out(const struct weir_notice_sink *sink, enum weir_notice_level level, uint64_t left_out,
                          const char *like)
{
    char line[LINE_BYTES];
    snprintf(line, sizeof(line), "left out %llu more line%s like: %s", (unsigned long long)left_out,
             left_out == 1 ? "" : "s", like);
    sink->emit(sink->ctx, level, line);
}

void weir_notice_limiter_free(struct weir_notice_limiter *limiter, const struct weir_notice_sink *sink)
{
    if (!limiter)
        return;
    for (unsigned i = 0; i < limiter->kind_count; i++) {
        const struct weir_notice_kind *kind = &limiter->kinds[i];
        if (kind->left_out > 0 && sink && sink->emit)
            tell_left_out(sink, kind->level, kind->left_out, kind->last);
    }
    pthread_mutex_destroy(&limiter->lock);
    free(limiter);
}

/* Asks the limiter, if there is one, and tells of the lines before this one that it has left out. */
static bool may_emit(const struct weir_notice_sink *sink, const char *format, enum weir_notice_level level,
                     const char *line)
{
    uint64_t left_out = 0;
    if (!sink->limiter)
        return true;
    if (!passes(sink->limiter, format, level, line, &left_out))
        return false;
    if (left_out > 0)
        tell_left_out(sink, level, left_out, line);
    return true;
}

/* ---- lines ---- */

/* is_limited: the line counts against the limiter. */
__attribute__((format(printf, 4, 0))) static void emit(const struct weir_notice_sink *sink, bool is_limited,
                                                       enum weir_notice_level level, const char *format, va_list args)
{
    char line[LINE_BYTES];
    if (!sink || !sink->emit)
        return;
    format_line(line, format, args);
    if (!is_limited || may_emit(sink, format, level, line))
        sink->emit(sink->ctx, level, line);
}

void weir_notice(const struct weir_notice_sink *sink, enum weir_notice_level level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    emit(sink, true, level, format, args);
    va_end(args);
}

void weir_notice_product(const struct weir_notice_sink *sink, enum weir_notice_level level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    emit(sink, false, level, format, args);
    va_end(args);
}

void weir_notice_text(const struct weir_notice_sink *sink, enum weir_notice_level level, const char *text)
{
    char line[LINE_BYTES];
    bool is_first = true;
    if (!sink || !sink->emit)
        return;
    for (size_t length; *text; text += length + (text[length] == '\n')) {
        length = strcspn(text, "\n");
        snprintf(line, sizeof(line), "%.*s", (int)weir_min_u64(length, sizeof(line)), text);
        weir_line_clean(line);
        if (is_first && !may_emit(sink, "text", level, line))
            return;
        is_first = false;
        sink->emit(sink->ctx, level, line);
    }
}
