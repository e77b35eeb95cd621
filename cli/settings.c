/* The list of the settings that a command was given. Any thread. */
#include "cli/settings.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

void weir_settings_fini(struct weir_settings *settings)
{
    if (!settings)
        return;
    free(settings->items);
    *settings = (struct weir_settings){0};
}

int weir_settings_add(struct weir_settings *settings, const struct weir_setting *setting)
{
    struct weir_setting *items =
        weir_array_grow(settings->items, sizeof(*items), settings->count, 1, &settings->capacity);
    if (!items)
        return -ENOMEM;
    settings->items = items;
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
