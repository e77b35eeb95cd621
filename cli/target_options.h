/*
 * The targets of `weir record`: the arguments of -p, -t, -u and -i, and perf's rules between all options that name a
 * target. Main thread.
 */
#ifndef WEIR_CLI_TARGET_OPTIONS_H
#define WEIR_CLI_TARGET_OPTIONS_H

#include "base/error.h"
#include "base/notice.h"
#include "cli/record_arguments.h"
#include "engine/events/event_list.h"

/* For rows of the table: see struct weir_option. arguments are a struct weir_record_arguments. */
int weir_target_options_apply_pids(void *arguments, const char *text, struct weir_error *err);
int weir_target_options_apply_tids(void *arguments, const char *text, struct weir_error *err);
int weir_target_options_apply_no_inherit(void *arguments, const char *text, struct weir_error *err);
void weir_target_options_clear_no_inherit(void *arguments);

int weir_target_options_apply_units(void *arguments, const char *text, struct weir_error *err);
int weir_target_options_apply_containers(void *arguments, const char *text, struct weir_error *err);
int weir_target_options_apply_cgroups(void *arguments, const char *text, struct weir_error *err);

/* Finds the cgroups of --unit, --container and patterns of -G. 0; or -errno of weir_cgroup_find() with err. The caller
 * gives *paths to weir_cgroup_paths_fini() in any case. */
int weir_target_options_find_cgroups(const struct weir_record_arguments *arguments, struct weir_cgroup_paths *paths,
                                     struct weir_error *err);

/* Assigns cgroups to events: those of each -G that follows `texts` -e options. Call it after each parsed -e, with
 * *given 0 before the first; and at the end with 0 for each -G before all -e, whose cgroups are for all events. 0,
 * -EINVAL or -ENOMEM with err. */
int weir_target_options_assign_cgroups(const struct weir_record_arguments *arguments, size_t texts,
                                       struct weir_event_list *events, size_t *given, struct weir_error *err);

/* Applies the rules, each with perf's warning: see weir_record_options_resolve(). 0, or -EINVAL with err
 * (-G for tasks). */
int weir_target_options_resolve(struct weir_record_arguments *arguments, const struct weir_notice_sink *notices,
                                struct weir_error *err);

/* Fills options.targets, once the rules are applied; looks up the user of -u. 0, -ENOENT (no such user) or another
 * errno of the user database, with err. */
int weir_target_options_fill(struct weir_record_arguments *arguments, struct weir_error *err);

/*
 * Turns -u into a recording of all tasks with a sample filter (engine/events/user_filter.h), where events, machine and
 * options allow a filter. Otherwise the targets stay the tasks in /proc. -v tells which and why. Once options and
 * events are complete. 0 or -errno with err.
 */
int weir_target_options_filter_user(struct weir_record_arguments *arguments, struct weir_event_list *events,
                                    const struct weir_notice_sink *notices, struct weir_error *err);

#endif
