/* Which recording a reading command reads. Pure; any thread. */
#include "cli/input_options.h"

#include <errno.h>

int weir_input_options_parse(const struct weir_option_table *table, void *arguments, const char **path,
                             char *const *argv, struct weir_error *err)
{
    const char *word = NULL;
    size_t used;
    int result = weir_options_parse(table, arguments, argv, &used, err);
    if (result == WEIR_OPTIONS_PARSED && argv[used]) {
        word = argv[used];
        argv += used + 1;
        result = weir_options_parse(table, arguments, argv, &used, err);
    }
    if (result != WEIR_OPTIONS_PARSED)
        return result;
    const char *extra = argv[used] ? argv[used] : word && *path ? word : NULL;
    if (extra) {
        weir_error_set(err, -EINVAL, "unexpected argument '%s'", extra);
        weir_error_hint(err, "'%s' reads one recording", table->command);
        return -EINVAL;
    }
    *path = word ? word : *path ? *path : WEIR_INPUT_DEFAULT;
    return 0;
}
