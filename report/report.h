/*
 * `weir report`: one or two recordings, read, resolved and folded, in one of several forms.
 *
 * The report opens and reads a recording twice. It first reads all side records, which may lie behind the samples that
 * need them, and then the samples (report/survey.h, report/sampling.h). Nothing is read before every recording is open
 * and the gate has been passed; symbols are read behind it. The calling thread blocks; threads are started and joined.
 */
#ifndef WEIR_REPORT_REPORT_H
#define WEIR_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/notice.h"
#include "format/perf_input.h"
#include "report/objects.h"

#define WEIR_REPORT_RECORDINGS_MAX 2u

enum weir_report_form {
    WEIR_REPORT_HTML,   /* a page, of one recording or two */
    WEIR_REPORT_STDIO,  /* tables as text */
    WEIR_REPORT_FOLDED, /* stacks for flamegraph.pl */
    WEIR_REPORT_JSON,   /* everything, for programs */
    WEIR_REPORT_SPEEDSCOPE,
    WEIR_REPORT_PPROF,
    WEIR_REPORT_PERFETTO,
};

struct weir_report_options {
    const char *const *paths; /* borrowed, as all pointers here */
    const char *const *shown; /* the recordings' names as the user gave them */
    const char *sweep_path;   /* JSON of `weir bench drain --sweep`; NULL: none. For HTML and JSON */
    size_t path_count; /* 0 (with sweep_path) to WEIR_REPORT_RECORDINGS_MAX; forms other than HTML and JSON show one */
    enum weir_report_form form;
    const char *event; /* only this event; NULL: all */
    bool raw_names;    /* symbols are called as in their files */
    unsigned threads;  /* 0: as many as there are CPUs */
    struct weir_object_places places;
    const struct weir_input_gate *gate;     /* NULL: none. Its progress is that of all passes together */
    const struct weir_notice_sink *notices; /* of what is missing; may be NULL */
};

/* Returns whether the program was built with that form. */
bool weir_report_has_form(enum weir_report_form form);

/* Appends the report to out. 0; -EBADMSG (not a recording), -ENOENT (no such event), -EINVAL, -ENOMEM or -errno of
 * opening and reading, with err. */
int weir_report_run(const struct weir_report_options *options, struct weir_buf *out, struct weir_error *err);

#endif
