#include "engine/events/user_filter.h"

#include <errno.h>
#include <stdio.h>

#include "engine/bpf/sample_filter_program.h"
#include "engine/events/event_filter.h"

/* An event that takes no sample filter; NULL: all do. */
static const struct weir_event *find_unfiltered(const struct weir_event_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (!weir_event_takes_sample_filter(&list->events[i]))
            return &list->events[i];
    }
    return NULL;
}

bool weir_user_filter_is_possible(const struct weir_event_list *list, const struct weir_kernel_limits *limits,
                                  const struct weir_notice_sink *notices, struct weir_error *err)
{
    const struct weir_event *unfiltered = find_unfiltered(list);
    if (unfiltered) {
        weir_error_set(err, -EOPNOTSUPP, "event %s takes no sample filter", unfiltered->name);
        return false;
    }
    if (!limits->cap_perfmon && limits->perf_event_paranoid > 0) {
        weir_error_set(err, -EACCES, "kernel.perf_event_paranoid=%d forbids to record all tasks",
                       limits->perf_event_paranoid);
        return false;
    }
    const struct weir_sample_program_setup setup = {.user = "-u", .filters = 1, .events = 1, .notices = notices};
    struct weir_sample_program *program;
    int result = weir_sample_program_open(&program, &setup, err);
    if (result == 0)
        weir_sample_program_free(program);
    return result == 0;
}

int weir_user_filter_add(struct weir_event_list *list, uid_t uid, struct weir_error *err)
{
    char text[64];
    snprintf(text, sizeof(text), uid == 0 ? "uid == %u, pid != 0" : "uid == %u", (unsigned)uid);
    int result = 0;
    for (size_t i = 0; result == 0 && i < list->count; i++)
        result = weir_event_add_sample_filter(&list->events[i], text, err);
    return result;
}
