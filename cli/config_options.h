/*
 * Applies configuration files to a command's arguments. A key is the long name of any option of the command; if the
 * option takes no argument, its value is true, false, or missing.
 *
 * The command line overrides the files. A key is ignored if the command line has its option, or one that excludes it.
 * Keys about events of a file are ignored if the command line names events. A later file overrides an earlier one in
 * the same way.
 *
 * Two keys are perf's and not options (perf-config(1)): record.call-graph is the meaning of -g, and record.build-id
 * (cache, no-cache, skip, mmap) stands for options. These two, and [call-graph] record-mode and dump-size, are also
 * taken from perf's own files. Pure, but that it allocates; main thread.
 */
#ifndef WEIR_CLI_CONFIG_OPTIONS_H
#define WEIR_CLI_CONFIG_OPTIONS_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/notice.h"
#include "cli/config_files.h"
#include "cli/option.h"
#include "cli/settings.h"

#define WEIR_CONFIG_SECTION "record"

/* Joins [call-graph] record-mode = dwarf and the dump-size behind it, in a file of perf, to one entry: dwarf,SIZE. A
 * bad size gives a warning and changes nothing. Call it before weir_config_check(). 0 or -ENOMEM. */
int weir_config_join_dump_sizes(struct weir_config *perf, const struct weir_notice_sink *notices);

/* Applies every entry that no later file replaces to scratch, throw-away arguments of the command. So weir finds a
 * mistake even if the command line overrides the entry. 0, -EINVAL (err: "PATH:LINE: ...") or -ENOMEM. */
int weir_config_check(const struct weir_option_table *table, const struct weir_config_set *set, void *scratch,
                      const struct weir_notice_sink *notices, struct weir_error *err);

/* Applies the entries that the command line (its settings are given) does not override, and appends them to settings.
 * Arguments and settings borrow texts from set. Results as weir_config_check(). */
int weir_config_apply(const struct weir_option_table *table, const struct weir_config_set *set, void *arguments,
                      struct weir_settings *settings, struct weir_error *err);

/* Whether the command line, with these settings, puts an option of an earlier place out of force: it has the option, or
 * one that excludes it. */
bool weir_config_is_overruled(const struct weir_settings *given, const struct weir_option *option);

/* Appends the settings in force, as a configuration file: a line for each option with the origin of its value; unset
 * options are comments. */
void weir_config_print(struct weir_buf *text, const struct weir_option_table *table,
                       const struct weir_settings *settings);

#endif
