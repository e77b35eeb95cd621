/*
 * Options of `weir record` that have no effect without another one. Where nothing meets the need, an option that perf
 * 6.1 takes and ignores gives a warning, so that a command line of perf still records. Any other one is refused.
 *
 * Only options of the command line count: a configuration file or a preset may hold a value for the recordings that
 * use it. Main thread.
 */
#ifndef WEIR_CLI_RECORD_NEEDS_H
#define WEIR_CLI_RECORD_NEEDS_H

#include "base/error.h"
#include "base/notice.h"
#include "cli/record_arguments.h"
#include "cli/settings.h"

/* Checks each setting of the command line. The arguments are resolved, and options.events is the list of events. 0, or
 * -EINVAL with err and hint. */
int weir_record_needs_check(const struct weir_record_arguments *arguments, const struct weir_settings *settings,
                            const struct weir_notice_sink *notices, struct weir_error *err);

#endif
