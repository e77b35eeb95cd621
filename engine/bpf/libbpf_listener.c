#include "engine/bpf/libbpf_listener.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local struct weir_libbpf_listener *current;

static void take_line(enum libbpf_print_level level, const char *line)
{
    static const char prefix[] = "libbpf: ";
    if (strncmp(line, prefix, strlen(prefix)) == 0)
        line += strlen(prefix);
    if (level == LIBBPF_WARN && current->first[0] == '\0')
        snprintf(current->first, sizeof(current->first), "%s", line);
    if (line[0])
        weir_notice(current->notices, WEIR_NOTICE_VERBOSE, "libbpf: %s", line);
}

/* The verifier's log comes as one message of many lines. */
__attribute__((format(printf, 2, 0))) static int hear(enum libbpf_print_level level, const char *format, va_list values)
{
    char *text;
    if (!current || level == LIBBPF_DEBUG || vasprintf(&text, format, values) < 0)
        return 0;
    char *rest;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        take_line(level, line);
    free(text);
    return 0;
}

void weir_libbpf_listener_start(struct weir_libbpf_listener *listener, const struct weir_notice_sink *notices)
{
    *listener = (struct weir_libbpf_listener){.notices = notices};
    current = listener;
    libbpf_set_print(hear);
}

void weir_libbpf_listener_stop(void)
{
    current = NULL;
}

const char *weir_libbpf_listener_cause(const struct weir_libbpf_listener *listener, int code,
                                       char text[WEIR_LIBBPF_LINE_BYTES])
{
    if (listener->first[0])
        return listener->first;
    libbpf_strerror(code, text, WEIR_LIBBPF_LINE_BYTES);
    return text;
}

int weir_libbpf_errno(int code)
{
    return code > -__LIBBPF_ERRNO__START ? code : -EINVAL;
}
