/*
 * --pfm-events texts (weir_event_list_parse_pfm()) on a CPU that libpfm4 knows, so that the text reaches its parser.
 * Input: the text.
 *
 * What is taken: an event for each name between the signs, which stands alone for the same attr; braces make groups
 * whose leaders lead themselves. What is refused: the error's column lies in the text, and the list has what it had.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "engine/events/event_parse.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input.h"

static void *init(void)
{
    setenv("LIBPFM_FORCE_PMU", "skl", 1);
    return NULL;
}

static void fini(void *fixture)
{
    (void)fixture;
}

static void check_refusal(const struct weir_error *err, int result, const char *text)
{
    weir_assert(result == -EINVAL || result == -ENOENT || result == -ENOTSUP);
    fuzz_check_error(err, result);
    unsigned column;
    const char *place = strstr(text, "at column ") ? NULL : strstr(err->what, "at column ");
    if (place && sscanf(place, "at column %u", &column) == 1)
        weir_assert(column >= 1 && column <= strlen(text) + 1);
}

/* The number of names: as many as signs in front of which one stands, and that of the end. */
static size_t count_names(const char *text)
{
    size_t count = 0;
    while (*text) {
        size_t length = strcspn(text, ",{}");
        count += length > 0;
        text += length;
        text += *text != '\0';
    }
    return count;
}

static void check_event(const struct weir_event_list *list, size_t index)
{
    const struct weir_event *event = &list->events[index];
    weir_assert(event->leader <= index && list->events[event->leader].leader == event->leader);
    weir_assert(!strpbrk(event->name, ",{}") && event->attr.sample_period == 0 && !event->attr.freq);
    struct weir_event_list again = WEIR_EVENT_LIST_INIT;
    weir_assert(weir_event_list_parse_pfm(&again, event->name, NULL) == 0 && again.count == 1);
    weir_assert(memcmp(&again.events[0].attr, &event->attr, sizeof(event->attr)) == 0);
    weir_assert(again.events[0].terms.given == event->terms.given);
    weir_event_list_fini(&again);
}

static void run(void *fixture, const uint8_t *data, size_t bytes)
{
    (void)fixture;
    char *text = fuzz_text(data, bytes);
    struct weir_event_list list = WEIR_EVENT_LIST_INIT;
    struct weir_error err = {0};
    weir_assert(weir_event_list_append(&list));
    int result = weir_event_list_parse_pfm(&list, text, &err);
    if (result < 0) {
        check_refusal(&err, result, text);
        weir_assert(list.count == 1);
    } else {
        weir_assert(result == 0 && list.count == 1 + count_names(text));
    }
    for (size_t i = 1; i < list.count; i++)
        check_event(&list, i);
    weir_event_list_fini(&list);
    free(text);
}

const struct fuzz_target fuzz_target = {.init = init, .run = run, .fini = fini};
