/*
 * The options of `weir record` about AUX areas, and what else they, or an event with such an area, cannot be used with.
 * Main thread; nothing is allocated.
 */
#ifndef WEIR_CLI_AUX_ARGUMENTS_H
#define WEIR_CLI_AUX_ARGUMENTS_H

#include "base/error.h"
#include "cli/record_arguments.h"

/* For rows of the option table: as weir_option.apply; arguments are a struct weir_record_arguments. */
int weir_apply_aux_snapshot(void *arguments, const char *text, struct weir_error *err);
int weir_apply_aux_sample(void *arguments, const char *text, struct weir_error *err);

/* Whether the options go with the others. Touches no event: see below. 0 or -EINVAL with err. */
int weir_aux_arguments_check(const struct weir_record_arguments *arguments, struct weir_error *err);

/* Whether the events are what the options want, and go with the other options. 0 or -EINVAL with err. */
int weir_aux_arguments_check_events(const struct weir_record_arguments *arguments, const struct weir_event_list *events,
                                    struct weir_error *err);

#endif
