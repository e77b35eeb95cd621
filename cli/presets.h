/*
 * The presets of `weir record`: what perf's own record commands (`perf sched record` and others) ask of its recorder,
 * as one table of options and events.
 *
 * An event that a machine may lack stands in a step of several choices. The first choice holds whose events this
 * machine knows; a choice without events is always known. Constant data; any thread.
 */
#ifndef WEIR_CLI_PRESETS_H
#define WEIR_CLI_PRESETS_H

#include <stdbool.h>
#include <stddef.h>

#define WEIR_PRESET_STEPS   4
#define WEIR_PRESET_CHOICES 8

/* An option without its dashes. */
struct weir_preset_option {
    const char *name;  /* the long name; NULL: the end of a list */
    const char *value; /* NULL: no argument */
};

struct weir_preset_choice {
    const char *const *events;                /* arguments of -e, NULL-terminated; NULL: no such choice */
    const struct weir_preset_option *options; /* that come with this choice; NULL: none */
    const char *notice;                       /* what the file lacks with this choice; NULL: nothing that is missed */
};

struct weir_preset_step {
    struct weir_preset_choice choices[WEIR_PRESET_CHOICES]; /* the first one that the machine knows */
    bool each; /* one choice: those of its events that the machine knows, each for itself */
};

struct weir_preset {
    const char *name;
    const char *summary;                      /* what is recorded */
    const char *readers;                      /* the commands of perf that read the file */
    const struct weir_preset_option *options; /* NULL: none */
    const char *needs;                        /* said where this machine has no choice; NULL: the parser says it */
    struct weir_preset_step steps[WEIR_PRESET_STEPS];
};

/* Returns the preset with that number, in the order of `weir list presets`; NULL behind the last one. */
const struct weir_preset *weir_preset_at(size_t index);

#endif
