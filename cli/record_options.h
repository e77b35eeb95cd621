/*
 * The options of `weir record` as a whole: the table, and the rules between options. Touches neither kernel nor files:
 * arguments that are wrong here are wrong on every machine. Main thread.
 */
#ifndef WEIR_CLI_RECORD_OPTIONS_H
#define WEIR_CLI_RECORD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/notice.h"
#include "cli/command.h"
#include "cli/record_arguments.h"
#include "cli/settings.h"

extern const struct weir_command weir_record_command;

/* Parses argv (the words behind `weir record`) and appends what it understands to settings, which may be NULL. As
 * weir_options_parse_noted(); arguments are to be given to _fini in any case. */
int weir_record_options_parse(struct weir_record_arguments *arguments, char *const *argv,
                              struct weir_settings *settings, struct weir_error *err);

/*
 * Applies the rules between options, as perf does: -F excludes -c; -p and -t go before -u, these before -C and -a, and
 * -a before --per-thread (with one warning); -t implies -i unless --inherit is given; -C implies -a; no target and no
 * workload means -a; --switch-output implies --timestamp-filename; -m becomes bytes (with a notice when it was
 * rounded). 0 or -EINVAL with err.
 */
int weir_record_options_resolve(struct weir_record_arguments *arguments, uint64_t page_bytes,
                                const struct weir_notice_sink *notices, struct weir_error *err);

/* Whether an option asks for files: then a recording that is piped does not become a stream. Once resolved. */
bool weir_record_options_want_files(const struct weir_record_arguments *arguments);

/* Applies the rules once the events are known, with what their terms say of --overwrite and with their AUX areas. 0 or
 * -EINVAL with err. */
int weir_record_options_resolve_events(struct weir_record_arguments *arguments, const struct weir_event_list *events,
                                       struct weir_error *err);

#endif
