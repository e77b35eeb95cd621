/* Lists events as text; see evlist_text.h. */
#include "engine/control/evlist_text.h"

#include <inttypes.h>

#include "format/attr_text.h"

static bool leads_others(const struct weir_event_list *list, size_t leader)
{
    for (size_t i = leader + 1; i < list->count; i++) {
        if (list->events[i].leader == leader)
            return true;
    }
    return false;
}

/* Appends "{a,b}" for the leader of a group, and nothing for its members. */
static void append_group(const struct weir_event_list *list, size_t leader, struct weir_buf *out)
{
    const struct weir_event *event = &list->events[leader];
    if (event->leader != leader)
        return;
    if (!leads_others(list, leader)) {
        weir_buf_printf(out, "%s\n", event->name);
        return;
    }
    weir_buf_printf(out, "%s{%s", event->group_name ? event->group_name : "", event->name);
    for (size_t i = leader + 1; i < list->count; i++) {
        if (list->events[i].leader == leader)
            weir_buf_printf(out, ",%s", list->events[i].name);
    }
    weir_buf_printf(out, "}\n");
}

void weir_evlist_append_text(const struct weir_event_list *list, enum weir_control_detail detail, struct weir_buf *out)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct weir_event *event = &list->events[i];
        const struct perf_event_attr *attr = &event->attr;
        if (detail == WEIR_CONTROL_GROUPS) {
            append_group(list, i, out);
            continue;
        }
        weir_buf_printf(out, "%s", event->name);
        if (detail == WEIR_CONTROL_FREQ)
            weir_buf_printf(out, ": sample_%s=%" PRIu64, attr->freq ? "freq" : "period", (uint64_t)attr->sample_period);
        if (detail == WEIR_CONTROL_VERBOSE) {
            weir_buf_printf(out, ": ");
            weir_attr_append_text(out, attr);
        }
        weir_buf_append_u8(out, '\n');
    }
}
