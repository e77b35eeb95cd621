/* The commands that read recordings, and nothing else of weir: reading_calls.sh looks at what the linker took for them.
 * Never run. */
#include "cli/dump_command.h"
#include "cli/inspect_command.h"
#include "engine/upkeep/recovery_answer.h"
#include "engine/upkeep/sandbox.h"
#include "format/recovery.h"

/* As engine/upkeep/recovery_child.c does it in its child. */
static int plan(const struct weir_recovery_options *options)
{
    struct weir_recovery recovery = {0};
    struct weir_error err = {0};
    int result = weir_recovery_plan(&recovery, options, &err);
    weir_recovery_answer_write(1, result, &recovery, &err);
    weir_recovery_fini(&recovery);
    return result;
}

int main(int argc, char **argv)
{
    const struct weir_invocation invocation = {.argv = argv, .argc = (size_t)argc, .arguments = argv + 1};
    const struct weir_recovery_options options = {.path = argv[0]};
    return weir_dump_main(&invocation) + weir_info_main(&invocation) + weir_verify_main(&invocation) + plan(&options);
}
