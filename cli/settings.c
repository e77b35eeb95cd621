/* The list of what was asked for. Any thread. */
#include "cli/settings.h"

#include <errno.h>
#include <stdlib.h>

#define CAPACITY_FIRST 16

void weir_settings_fini(struct weir_settings *settings)
{
    if (!settings)
        return;
    free(settings->items);
    *settings = (struct weir_settings){0};
}

int weir_settings_add(struct weir_settings *settings, const struct weir_setting *setting)
{
    if (settings->count == settings->capacity) {
        size_t capacity = settings->capacity ? 2 * settings->capacity : CAPACITY_FIRST;
        struct weir_setting *items = reallocarray(settings->items, capacity, sizeof(*items));
        if (!items)
            return -ENOMEM;
        settings->items = items;
        settings->capacity = capacity;
    }
    settings->items[settings->count++] = *setting;
    return 0;
}

const struct weir_setting *weir_settings_last(const struct weir_settings *settings, const struct weir_option *option)
{
    for (size_t i = settings->count; i > 0; i--) {
        if (settings->items[i - 1].option == option)
            return &settings->items[i - 1];
    }
    return NULL;
}
