/* Which recording a reading command reads. Pure; any thread. */
#include "cli/input_options.h"

#include <errno.h>

int weir_input_path_resolve(const char **path, const char *given, char *const *words, const char *command,
                            struct weir_error *err)
{
    const char *extra = !words[0] ? NULL : given ? words[0] : words[1];
    if (extra) {
        weir_error_set(err, -EINVAL, "unexpected argument '%s'", extra);
        weir_error_hint(err, "'%s' reads one recording", command);
        return -EINVAL;
    }
    *path = given ? given : words[0] ? words[0] : WEIR_INPUT_DEFAULT;
    return 0;
}
