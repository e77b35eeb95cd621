/*
 * Messages of libbpf. libbpf passes its messages to one function of the process, without a context. So a thread-local
 * variable holds the listener while a call of libbpf runs; messages at other times are dropped.
 */
#ifndef WEIR_ENGINE_BPF_LIBBPF_LISTENER_H
#define WEIR_ENGINE_BPF_LIBBPF_LISTENER_H

#include "base/notice.h"

#define WEIR_LIBBPF_LINE_BYTES 256

struct weir_libbpf_listener {
    const struct weir_notice_sink *notices; /* borrowed; NULL: nobody reads the lines */
    char first[WEIR_LIBBPF_LINE_BYTES];     /* warning, without its prefix; empty: none */
};

/* Makes the listener that of the calling thread: each line becomes a verbose notice. The listener is the caller's and
 * stays until stop. */
void weir_libbpf_listener_start(struct weir_libbpf_listener *listener, const struct weir_notice_sink *notices);

/* Ends the listening of the calling thread. */
void weir_libbpf_listener_stop(void);

/* The cause of a failure: the first warning, which tells more than the code does; otherwise the text of the code. text
 * holds the answer. */
const char *weir_libbpf_listener_cause(const struct weir_libbpf_listener *listener, int code,
                                       char text[WEIR_LIBBPF_LINE_BYTES]);

/* The errno of a code of libbpf, which has codes of its own beyond those of errno(3): -EINVAL for these. */
int weir_libbpf_errno(int code);

#endif
