/*
 * The options in force, in order, with their origin: the command line, a preset, or a line of a configuration file.
 * Allocates; any thread.
 */
#ifndef WEIR_CLI_SETTINGS_H
#define WEIR_CLI_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

struct weir_option;

struct weir_setting {
    const struct weir_option *option; /* borrowed: a row of the command's table */
    bool negated;                     /* the option is negated, as by --no-X */
    const char *value;                /* borrowed; NULL: no argument */
    const char *path;                 /* borrowed: the configuration file; NULL: the command line */
    unsigned line;                    /* in that file, from 1 */
    const char *preset;               /* borrowed: the preset that the command line names, and which has the option */
};

struct weir_settings {
    struct weir_setting *items; /* owned */
    size_t count;
    size_t capacity;
};

void weir_settings_fini(struct weir_settings *settings);

/* Appends a setting. 0 or -ENOMEM. */
int weir_settings_add(struct weir_settings *settings, const struct weir_setting *setting);

/* Returns the last setting of an option, borrowed until the next one is added; NULL: none. */
const struct weir_setting *weir_settings_last(const struct weir_settings *settings, const struct weir_option *option);

#endif
