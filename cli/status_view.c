/* Parses the status of a recording, by jansson. Pure; any thread. */
#include "cli/status_view.h"

#include <errno.h>

#ifdef WEIR_JANSSON

#include <jansson.h>
#include <stdlib.h>

#include "base/bits.h"

static uint64_t number_of(const json_t *object, const char *name)
{
    json_int_t number = json_integer_value(json_object_get(object, name)); /* 0 of NULL and of other types */
    return number > 0 ? (uint64_t)number : 0;
}

static void copy_word(char *word, size_t bytes, const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    size_t length = 0;
    for (; text && text[length] >= 'a' && text[length] <= 'z' && length + 1 < bytes; length++)
        word[length] = text[length];
    word[length] = '\0';
}

static int64_t entry(const json_t *list, size_t index)
{
    return json_integer_value(json_array_get(list, index));
}

static int take_places(struct weir_status_view *view, const json_t *places)
{
    const json_t *id = json_object_get(places, "id"), *node = json_object_get(places, "node"),
                 *package = json_object_get(places, "package"), *fill = json_object_get(places, "fill_per_mille"),
                 *samples = json_object_get(places, "samples"), *lost = json_object_get(places, "lost");
    char kind[8];
    size_t count = weir_min_u64(json_array_size(id), WEIR_STATUS_PLACES_MAX);
    copy_word(kind, sizeof(kind), places, "kind");
    view->of_tasks = kind[0] == 't';
    if (count == 0)
        return 0;
    view->places = calloc(count, sizeof(*view->places));
    if (!view->places)
        return -ENOMEM;
    view->place_count = count;
    for (size_t i = 0; i < count; i++) {
        view->places[i] = (struct weir_place_view){
            .id = entry(id, i),
            .node = entry(node, i),
            .package = entry(package, i),
            .fill_per_mille = entry(fill, i),
            .samples = (uint64_t)entry(samples, i),
            .lost = (uint64_t)entry(lost, i),
        };
    }
    return 0;
}

static void take_drains(struct weir_status_view *view, const json_t *drains)
{
    view->gap_p99_us = number_of(json_object_get(drains, "gap_us"), "p99");
    view->waits = number_of(drains, "waits");
    view->wait_p99_us = number_of(json_object_get(drains, "wait_us"), "p99");
}

static void take_output(struct weir_status_view *view, const json_t *output)
{
    view->has_output = output != NULL;
    view->output_bytes = number_of(output, "bytes");
    view->output_chunks = number_of(output, "chunks");
    view->output_latency_us = number_of(output, "latency_us");
}

int weir_status_view_parse(struct weir_status_view *view, const char *line, size_t bytes)
{
    json_t *status = json_loadb(line, bytes, JSON_REJECT_DUPLICATES, NULL);
    *view = (struct weir_status_view){0};
    if (!json_is_object(status)) {
        json_decref(status);
        return -EPROTO;
    }
    const json_t *lost = json_object_get(status, "lost"), *pool = json_object_get(status, "pool");
    copy_word(view->state, sizeof(view->state), status, "state");
    copy_word(view->pressure, sizeof(view->pressure), status, "pressure");
    view->elapsed_ms = number_of(status, "elapsed_ms");
    const json_t *lease = json_object_get(status, "lease");
    view->has_lease = lease != NULL;
    view->lease_left_ms = number_of(lease, "left_ms");
    view->samples = number_of(status, "samples");
    view->bytes = number_of(status, "bytes");
    view->lost = number_of(lost, "ring_full");
    view->lost_waiting = number_of(lost, "of_these_waiting_for_output");
    view->shed = number_of(json_object_get(status, "shed"), "samples");
    view->pool_bytes = number_of(pool, "bytes");
    view->pool_used_bytes = number_of(pool, "used_bytes");
    view->files = number_of(status, "files");
    view->snapshots = number_of(status, "snapshots");
    view->output_error = number_of(status, "output_error");
    take_drains(view, json_object_get(json_object_get(status, "drains"), "elsewhere"));
    take_output(view, json_object_get(status, "output"));
    int result = take_places(view, json_object_get(status, "places"));
    json_decref(status);
    return result;
}

void weir_status_view_fini(struct weir_status_view *view)
{
    if (!view)
        return;
    free(view->places);
    view->places = NULL;
    view->place_count = 0;
}

bool weir_status_view_is_built(void)
{
    return true;
}

#else

int weir_status_view_parse(struct weir_status_view *view, const char *line, size_t bytes)
{
    (void)line;
    (void)bytes;
    *view = (struct weir_status_view){0};
    return -EOPNOTSUPP;
}

void weir_status_view_fini(struct weir_status_view *view)
{
    (void)view;
}

bool weir_status_view_is_built(void)
{
    return false;
}

#endif
