/* The options of `weir report`: the table and what it fills. Touches no files. Main thread. */
#ifndef WEIR_CLI_REPORT_OPTIONS_H
#define WEIR_CLI_REPORT_OPTIONS_H

#include <stdbool.h>

#include "base/error.h"
#include "cli/command.h"
#include "report/report.h"

struct weir_report_arguments {
    const char *input_path;  /* borrowed from argv, here and below */
    const char *output_path; /* "-": standard output; NULL: the form's default */
    const char *event;
    const char *symfs;
    bool stdio, folded, json, speedscope, pprof, perfetto;
    bool debuginfod;
    bool no_demangle;
    bool quiet;
    unsigned threads;

    const char *paths[WEIR_REPORT_RECORDINGS_MAX]; /* the recordings, by weir_report_arguments_parse(), as below */
    size_t path_count;
    const char *sweep_path; /* by cli/report_command.c: the one of them that is JSON; NULL: none */
    enum weir_report_form form;
};

extern const struct weir_command weir_report_command;

/* Parses argv (the words behind `weir report`): options and recordings. As weir_options_parse(). */
int weir_report_arguments_parse(struct weir_report_arguments *arguments, char *const *argv, struct weir_error *err);

#endif
