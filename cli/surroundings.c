/* Lists of files and environment variables; see surroundings.h. SYSCONFDIR is replaced at the installation. */
#include "cli/surroundings.h"

#define END        \
    {              \
        NULL, NULL \
    }
#define RECORDING                                                \
    {                                                            \
        "perf.data", "The recording, if no other file is named." \
    }
#define CONFIG_OF_WEIR                                                                                  \
    {                                                                                                   \
        "SYSCONFDIR/weir/config, $XDG_CONFIG_HOME/weir/config, ~/.config/weir/config", "Configuration." \
    }
#define CONFIG_OF_PERF                                                                                            \
    {                                                                                                             \
        "/etc/perfconfig, ~/.perfconfig", "perf's configuration: weir takes call-graph and buildid keys from it." \
    }
#define SOCKETS                                                                                      \
    {                                                                                                \
        "$XDG_RUNTIME_DIR/weir, /run/weir, /run/user/UID/weir", "The sockets of running recordings." \
    }
#define BUILD_ID_CACHE                                                    \
    {                                                                     \
        "~/.debug", "Copies of programs by build id, as perf keeps them." \
    }
#define TRACEFS                                                 \
    {                                                           \
        "/sys/kernel/tracing", "Tracepoints and their formats." \
    }
#define PMUS                                                               \
    {                                                                      \
        "/sys/bus/event_source/devices", "PMUs, their events and formats." \
    }
#define KNOBS                                                                                     \
    {                                                                                             \
        "/proc/sys/kernel/perf_event_paranoid, /proc/sys/kernel/perf_event_mlock_kb",             \
            "What users without privileges may record, and how much memory their rings may lock." \
    }
#define RUNTIME_FOLDER                                                                                           \
    {                                                                                                            \
        "XDG_RUNTIME_DIR", "The folder of the sockets of running recordings is inside, if it is the user's own." \
    }
#define NO_COLORS                                        \
    {                                                    \
        "NO_COLOR", "If set, no colors on the terminal." \
    }
#define TERMINAL                                                                                         \
    {                                                                                                    \
        "TERM", "The kind of terminal: the line of state and the screen need one that moves its cursor." \
    }

const struct weir_surrounding weir_files_of_recording[] = {
    {"perf.data", "The recording, if -o names no other; an older file becomes perf.data.old."},
    CONFIG_OF_WEIR,
    CONFIG_OF_PERF,
    SOCKETS,
    BUILD_ID_CACHE,
    TRACEFS,
    PMUS,
    KNOBS,
    END,
};
const struct weir_surrounding weir_files_of_reading[] = {RECORDING, END};
const struct weir_surrounding weir_files_of_symbols[] = {
    RECORDING, BUILD_ID_CACHE, {"/usr/lib/debug", "Symbols of programs without their own."}, END};
const struct weir_surrounding weir_files_of_running[] = {SOCKETS, END};
const struct weir_surrounding weir_files_of_events[] = {TRACEFS, PMUS, END};
const struct weir_surrounding weir_files_of_limits[] = {KNOBS, TRACEFS, PMUS, END};
const struct weir_surrounding weir_files_of_weir[] = {RECORDING, CONFIG_OF_WEIR, SOCKETS, END};

const struct weir_surrounding weir_environment_of_all[] = {
    {"PERF_PAGER, PAGER", "The program that shows help on a terminal; cat or nothing: none."}, END};
const struct weir_surrounding weir_environment_of_recording[] = {
    {"WEIR_CONFIG", "This configuration file alone is read; /dev/null: none."},
    {"PERF_CONFIG", "This file is read in place of both of perf's."},
    {"XDG_CONFIG_HOME, HOME", "Where the user's configuration is, if they begin with a slash."},
    {"PATH", "Where COMMAND is looked for."},
    {"WEIR_CONTROL", "Set for COMMAND: the address at which it can control its recording; see weir-snapshot(3)."},
    {"NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID", "Set by a service manager, which then hears of the state."},
    {"HWLOC_SYNTHETIC, HWLOC_XMLFILE", "With --dry-run: the plan for a machine that is not at hand; see hwloc(7)."},
    RUNTIME_FOLDER,
    TERMINAL,
    NO_COLORS,
    END};
const struct weir_surrounding weir_environment_of_reports[] = {
    {"HOME", "Where the cache of build ids is."},
    {"DEBUGINFOD_URLS", "With --debuginfod: the servers that are asked for symbols."},
    {"TMPDIR", "Where a recording from standard input is kept meanwhile; /tmp if not set."},
    END};
const struct weir_surrounding weir_environment_of_running[] = {RUNTIME_FOLDER, END};
const struct weir_surrounding weir_environment_of_top[] = {RUNTIME_FOLDER, TERMINAL, NO_COLORS, END};
const struct weir_surrounding weir_environment_of_programs[] = {
    {"PATH", "Where perf and other recorders are looked for."}, END};
