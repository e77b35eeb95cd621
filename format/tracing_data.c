/*
 * The TRACING_DATA section, layout version 0.6:
 *
 *   17 08 44 "tracing" "0.6\0"  u8 big endian  u8 bytes of long  u32 page size
 *   "header_page\0"  u64 size  events/header_page
 *   "header_event\0" u64 size  events/header_event
 *   u32 count, per event of the system ftrace:              u64 size  format
 *   u32 count, per other system: its name and a zero, u32 count, per event: u64 size  format
 *   u32 0                       (kallsyms, which perf leaves empty too)
 *   u32 size printk_formats     (0 when the kernel has none)
 *   u64 size saved_cmdlines     (0 when the kernel has none)
 *
 * The coordinator writes the section when it opens or finishes an output, and blocks on reads of tracefs. Source:
 * tools/perf/util/trace-event-info.c of Linux 6.12. weir describes exactly the recorded events, in the order in which
 * they were given. perf also describes an event of the same name in another used system.
 */
#include "format/tracing_data.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "format/tracefs_internal.h"

#define FTRACE_SYSTEM "ftrace"

static const uint8_t magic[] = {0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g'};
static const char version[] = "0.6";

struct builder {
    struct weir_buf *out;
    const char *root;
    const struct weir_event_desc *events;
    size_t event_count;
    struct weir_error *err;
};

enum size_width {
    SIZE_U32 = 4,
    SIZE_U64 = 8,
};

enum presence {
    REQUIRED,
    OPTIONAL, /* a file that is not there has size 0 */
};

static void append_text(struct weir_buf *out, const char *text)
{
    weir_buf_append(out, text, strlen(text) + 1);
}

static void append_preamble(struct weir_buf *out)
{
    weir_buf_append(out, magic, sizeof(magic));
    append_text(out, version);
    weir_buf_append_u8(out, 0); /* little endian, base/buf.c asserts it */
    weir_buf_append_u8(out, sizeof(long));
    weir_buf_append_u32(out, (uint32_t)sysconf(_SC_PAGESIZE));
}

/* Appends the size of root/relative and its contents. tracefs files have no st_size: the size is filled in last. */
static int append_file(const struct builder *builder, const char *relative, enum size_width width,
                       enum presence presence)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", builder->root, relative) >= sizeof(path))
        return weir_error_set_errno(builder->err, -ENAMETOOLONG, "cannot read %s below tracefs", relative);

    struct weir_buf *out = builder->out;
    size_t size_at = out->used;
    weir_buf_append_zeros(out, width);
    size_t start = out->used;
    int result = weir_buf_append_file(out, path);
    if (result == -ENOENT && presence == OPTIONAL)
        return 0;
    if (result == -ENOMEM)
        return weir_error_set_errno(builder->err, result, "cannot describe tracepoints");
    if (result < 0) {
        weir_error_set_errno(builder->err, result, "cannot read %s", path);
        if (result == -EACCES)
            weir_tracefs_hint_unreadable(builder->err, builder->root);
        return result;
    }

    uint64_t size = out->used - start;
    memcpy(out->data + size_at, &size, width);
    return 0;
}

static bool is_tracepoint(const struct weir_event_desc *event)
{
    return event->tracepoint_system && event->tracepoint_name;
}

static bool is_in_system(const struct weir_event_desc *event, const char *system)
{
    return is_tracepoint(event) && strcmp(event->tracepoint_system, system) == 0;
}

/* Is events[index] the first that describes this tracepoint? The same one may be recorded twice. */
static bool is_first_of_event(const struct builder *builder, size_t index)
{
    const struct weir_event_desc *event = &builder->events[index];
    for (size_t i = 0; i < index; i++) {
        if (is_in_system(&builder->events[i], event->tracepoint_system) &&
            strcmp(builder->events[i].tracepoint_name, event->tracepoint_name) == 0)
            return false;
    }
    return true;
}

static bool is_first_of_system(const struct builder *builder, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (is_in_system(&builder->events[i], builder->events[index].tracepoint_system))
            return false;
    }
    return true;
}

static bool begins_system(const struct builder *builder, size_t index)
{
    const struct weir_event_desc *event = &builder->events[index];
    return is_tracepoint(event) && strcmp(event->tracepoint_system, FTRACE_SYSTEM) != 0 &&
           is_first_of_system(builder, index);
}

static int append_format(const struct builder *builder, const struct weir_event_desc *event)
{
    char relative[PATH_MAX];
    int length =
        snprintf(relative, sizeof(relative), "events/%s/%s/format", event->tracepoint_system, event->tracepoint_name);
    if ((size_t)length >= sizeof(relative))
        return weir_error_set_errno(builder->err, -ENAMETOOLONG, "cannot read the format of %s", event->name);
    return append_file(builder, relative, SIZE_U64, REQUIRED);
}

/* u32 count, then the format of each event of the system, once. */
static int append_system(const struct builder *builder, const char *system)
{
    uint32_t count = 0;
    for (size_t i = 0; i < builder->event_count; i++)
        count += is_in_system(&builder->events[i], system) && is_first_of_event(builder, i);
    weir_buf_append_u32(builder->out, count);

    for (size_t i = 0; i < builder->event_count; i++) {
        if (!is_in_system(&builder->events[i], system) || !is_first_of_event(builder, i))
            continue;
        int result = append_format(builder, &builder->events[i]);
        if (result < 0)
            return result;
    }
    return 0;
}

/* u32 count of systems, then each: its name and its events. */
static int append_systems(const struct builder *builder)
{
    uint32_t count = 0;
    for (size_t i = 0; i < builder->event_count; i++)
        count += begins_system(builder, i);
    weir_buf_append_u32(builder->out, count);

    for (size_t i = 0; i < builder->event_count; i++) {
        if (!begins_system(builder, i))
            continue;
        append_text(builder->out, builder->events[i].tracepoint_system);
        int result = append_system(builder, builder->events[i].tracepoint_system);
        if (result < 0)
            return result;
    }
    return 0;
}

static int append_header_files(const struct builder *builder)
{
    append_text(builder->out, "header_page");
    int result = append_file(builder, "events/header_page", SIZE_U64, REQUIRED);
    if (result < 0)
        return result;
    append_text(builder->out, "header_event");
    return append_file(builder, "events/header_event", SIZE_U64, REQUIRED);
}

static int append_all(const struct builder *builder)
{
    append_preamble(builder->out);
    int result = append_header_files(builder);
    if (result == 0)
        result = append_system(builder, FTRACE_SYSTEM);
    if (result == 0)
        result = append_systems(builder);
    if (result < 0)
        return result;

    weir_buf_append_u32(builder->out, 0); /* kallsyms */
    result = append_file(builder, "printk_formats", SIZE_U32, OPTIONAL);
    if (result == 0)
        result = append_file(builder, "saved_cmdlines", SIZE_U64, OPTIONAL);
    return result;
}

static int check_names(const struct builder *builder)
{
    for (size_t i = 0; i < builder->event_count; i++) {
        const struct weir_event_desc *event = &builder->events[i];
        if (!is_tracepoint(event))
            continue;
        int result = weir_tracefs_check_name("system", event->tracepoint_system, builder->err);
        if (result == 0)
            result = weir_tracefs_check_name("name", event->tracepoint_name, builder->err);
        if (result < 0)
            return result;
    }
    return 0;
}

int weir_tracing_data_build(struct weir_buf *out, const char *root, const struct weir_event_desc *events,
                            size_t event_count, struct weir_error *err)
{
    const struct builder builder = {out, root, events, event_count, err};
    size_t start = out->used;
    int result = check_names(&builder);
    if (result == 0)
        result = append_all(&builder);
    if (result == 0 && weir_buf_error(out) < 0)
        result = weir_error_set_errno(err, weir_buf_error(out), "cannot describe tracepoints");
    if (result < 0)
        out->used = start;
    return result;
}
