/*
 * Which configuration files are read: perf's first, for the two keys of perf record that weir knows, then weir's own.
 * Later ones go before earlier ones, the command line before all. Never one in the current directory: whoever owns that
 * would decide what is recorded, and where to. So XDG_CONFIG_HOME and HOME count only when they begin with a slash.
 * Main thread; blocks on the files.
 */
#ifndef WEIR_CLI_CONFIG_FILES_H
#define WEIR_CLI_CONFIG_FILES_H

#include "base/error.h"
#include "base/notice.h"
#include "cli/config.h"

/* Where files are looked for; NULL: not set. All borrowed. weir_config_places_init() takes them from the environment,
 * where an empty variable is as one that is not set. */
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
 * Reads what is there. A file that belongs to neither root nor the effective user is left out with a warning, as perf
 * does; so is a file of perf's that cannot be understood. 0; -EINVAL (a file of weir's cannot be understood), -ENOENT
 * ($WEIR_CONFIG names none), -ENOMEM or -errno of reading it, with err. set is to be given to _fini in any case.
 */
int weir_config_set_load(struct weir_config_set *set, const struct weir_config_places *places,
                         const struct weir_notice_sink *notices, struct weir_error *err);
void weir_config_set_fini(struct weir_config_set *set);

#endif
