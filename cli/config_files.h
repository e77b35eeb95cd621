/*
 * Finds and reads the configuration files: perf's first, for the two keys of perf record that weir knows, then weir's
 * own. Later files override earlier ones, and the command line overrides all.
 *
 * weir never reads a file in the current directory, whose owner would decide what is recorded, and where to. So
 * XDG_CONFIG_HOME and HOME count only if they begin with a slash. Main thread; blocks on the files.
 */
#ifndef WEIR_CLI_CONFIG_FILES_H
#define WEIR_CLI_CONFIG_FILES_H

#include "base/error.h"
#include "base/notice.h"
#include "cli/config.h"

/* The places of the files; NULL: not set. All borrowed. weir_config_places_init() takes them from the environment,
 * where an empty variable counts as not set. */
struct weir_config_places {
    const char *weir_config;      /* $WEIR_CONFIG: this file alone */
    const char *perf_config;      /* $PERF_CONFIG: instead of the two of perf */
    const char *xdg_config_home;  /* $XDG_CONFIG_HOME */
    const char *home;             /* $HOME */
    const char *system_file;      /* /etc/weir/config, by the installation's prefix */
    const char *perf_system_file; /* /etc/perfconfig */
};

struct weir_config_set {
    struct weir_config perf; /* entries of perf's files */
    struct weir_config weir;
};

void weir_config_places_init(struct weir_config_places *places);

/*
 * Reads the files that exist. A file that belongs to neither root nor the effective user is ignored with a warning, as
 * in perf; so is a malformed file of perf. 0; -EINVAL (a malformed file of weir), -ENOENT (the file that $WEIR_CONFIG
 * names does not exist), -ENOMEM or -errno of reading, with err. Release set with weir_config_set_fini() in any case.
 */
int weir_config_set_load(struct weir_config_set *set, const struct weir_config_places *places,
                         const struct weir_notice_sink *notices, struct weir_error *err);
void weir_config_set_fini(struct weir_config_set *set);

#endif
