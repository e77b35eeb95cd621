/*
 * The options of `weir record` as a whole: the table, and the rules between options. Touches neither kernel nor
 * files: what is wrong here is wrong on every machine. Main thread.
 */
#ifndef WEIR_CLI_RECORD_OPTIONS_H
#define WEIR_CLI_RECORD_OPTIONS_H

#include <stdint.h>

#include "base/error.h"
#include "base/notice.h"
#include "cli/command.h"
#include "cli/record_arguments.h"
#include "cli/settings.h"

extern const struct weir_command weir_record_command;

/* Parses argv (the words behind `weir record`). As weir_options_parse(); arguments are to be given to _fini in any
 * case. */
int weir_record_options_parse(struct weir_record_arguments *arguments, char *const *argv, struct weir_error *err);

/* The same, and appends what was understood to settings. */
int weir_record_options_parse_noted(struct weir_record_arguments *arguments, char *const *argv,
                                    struct weir_settings *settings, struct weir_error *err);

/*
 * Applies the rules between options, as perf does: -F excludes -c; -p and -t go before -u, these before -C and -a, and
 * -a before --per-thread (with one warning); -t implies -i unless --inherit is given; -C implies -a; no target and no
 * workload means -a; --switch-output implies --timestamp-filename; -m becomes bytes (with a notice when it was
 * rounded). 0 or -EINVAL with err.
 */
int weir_record_options_resolve(struct weir_record_arguments *arguments, uint64_t page_bytes,
                                const struct weir_notice_sink *notices, struct weir_error *err);

/* Once the events are known: what their terms say of --overwrite goes before it, and the rules about memory apply
 * again. 0 or -EINVAL with err. */
int weir_record_options_resolve_terms(struct weir_record_arguments *arguments, const struct weir_event_list *events,
                                      struct weir_error *err);

#endif
