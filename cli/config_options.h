/*
 * From configuration files to a command's arguments. A key is the long name of any option of the command; where it
 * takes no argument, its value is true, false, or none at all. What the command line says goes before: a key for an
 * option that stands there, for one that excludes it, or for what is of the events of a file when others are typed, is
 * left out. A later file goes before an earlier one likewise.
 *
 * Two keys are perf's and not options (perf-config(1)): record.call-graph is what -g stands for, record.build-id
 * (cache, no-cache, skip, mmap) stands for options. They, and [call-graph] record-mode and dump-size, are taken from
 * perf's own files too. Pure, but that it allocates; main thread.
 */
#ifndef WEIR_CLI_CONFIG_OPTIONS_H
#define WEIR_CLI_CONFIG_OPTIONS_H

#include "base/buf.h"
#include "base/error.h"
#include "base/notice.h"
#include "cli/config_files.h"
#include "cli/option.h"
#include "cli/settings.h"

#define WEIR_CONFIG_SECTION "record"

/* Makes one entry of [call-graph] record-mode = dwarf and the dump-size behind it, in a file of perf: dwarf,SIZE. A bad
 * size is a warning, and changes nothing. 0 or -ENOMEM. Before what follows. */
int weir_config_join_dump_sizes(struct weir_config *perf, const struct weir_notice_sink *notices);

/* Applies every entry that no later file replaces to scratch, arguments of the command that are good for nothing else,
 * so that a mistake is found also where the command line goes before it. 0, -EINVAL (err: "PATH:LINE: ...") or -ENOMEM.
 */
int weir_config_check(const struct weir_option_table *table, const struct weir_config_set *set, void *scratch,
                      const struct weir_notice_sink *notices, struct weir_error *err);

/* Applies the entries that the command line, whose settings are given, leaves room for; appends them to settings.
 * Arguments and settings borrow texts from set. As above. */
int weir_config_apply(const struct weir_option_table *table, const struct weir_config_set *set, void *arguments,
                      struct weir_settings *settings, struct weir_error *err);

/* What is in force, as a configuration file: a line for each option with where it was set, in comments those that were
 * not. */
void weir_config_print(struct weir_buf *text, const struct weir_option_table *table,
                       const struct weir_settings *settings);

#endif
