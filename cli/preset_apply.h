/*
 * Applies presets to the arguments of `weir record`.
 *
 * A preset stands in front of the command line, as perf's record commands put their options in front of those of the
 * user. An option of a preset is out of force if the command line has the option, or one that excludes it. Events of
 * presets come first, those of -e are added. Several presets are joined: an event of two of them is recorded once, and
 * the options of a later preset hold. The event parser decides which events this machine knows. Main thread; reads
 * sysfs and tracefs, and allocates.
 */
#ifndef WEIR_CLI_PRESET_APPLY_H
#define WEIR_CLI_PRESET_APPLY_H

#include "base/error.h"
#include "base/notice.h"
#include "cli/option.h"
#include "cli/record_arguments.h"
#include "cli/settings.h"
#include "engine/events/event_parse.h"

struct weir_preset_target {
    const struct weir_option_table *table;    /* of weir record */
    const struct weir_settings *given;        /* what the command line has, which goes before */
    struct weir_record_arguments *arguments;  /* nothing of the command line is applied to them yet */
    struct weir_settings *settings;           /* what is applied is appended; it borrows texts of the table */
    const struct weir_event_sources *sources; /* where events are looked up; NULL: the machine's */
    const struct weir_notice_sink *notices;
};

/* The row of --preset: keeps the name in a struct weir_record_arguments. As weir_option.apply: -EINVAL with err, and a
 * hint with the nearest name, when no preset has that name. */
int weir_preset_apply_name(void *arguments, const char *text, struct weir_error *err);

/*
 * Applies the presets with these names, which weir_preset_apply_name() has taken, in their order. 0; -ENOMEM; or the
 * event parser's error for the first choice of events, where this machine knows no choice.
 */
int weir_presets_apply(const struct weir_preset_target *target, const struct weir_text_list *names,
                       struct weir_error *err);

#endif
