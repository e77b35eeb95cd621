/*
 * What the rules of modules.h do not refuse, and why. "Pending" entries are what the rules found when they were made:
 * who mends one removes it.
 */
#include "tests/tidy/modules.h"

#define PENDING "pending"

static const struct module_exception circles[] = {
    {"engine/events/",
     "event_bpf event_breakpoint event_cache event_config "
     "event_filter event_ladder event_list event_modifiers event_names event_open "
     "event_parse event_pmu event_reopen event_set event_terms event_tracepoint",
     PENDING},
    {"engine/events/", "bpf_compile bpf_programs", PENDING},
    {"engine/session/", "control control_socket", PENDING},
    {"engine/session/", "*", PENDING},
    {"engine/tasks/", "task_map task_mappings", PENDING},
    {NULL, NULL, NULL},
};

static const struct module_exception declarations[] = {
    {"engine/events/event_list.h", "event_config event_filter event_parse", PENDING},
    {"engine/events/event_list_internal.h", "event_filter event_modifiers event_names event_parse", PENDING},
    {"engine/events/event_parse_internal.h",
     "event_bpf event_breakpoint event_cache event_modifiers event_pmu event_terms "
     "event_tracepoint",
     PENDING},
    {"engine/events/event_set.h", "event_bpf event_filter event_open event_reopen", PENDING},
    {"engine/events/event_set_internal.h", "event_filter event_open", PENDING},
    {"engine/session/control.h", "control_socket", PENDING},
    {"engine/session/session.h", "*", PENDING},
    {"engine/session/session_switch.h", "switch_answer", PENDING},
    {NULL, NULL, NULL},
};

const struct module_exceptions tree_exceptions = {.circles = circles, .declarations = declarations};
