/* The arguments of `weir record`: their defaults, and the release of the objects that they own. Main thread. */
#include "cli/record_arguments.h"

#include <stdlib.h>
#include <unistd.h>

void weir_record_arguments_init(struct weir_record_arguments *arguments)
{
    *arguments = (struct weir_record_arguments){
        .options =
            {
                .memory.shed = WEIR_SHED_DEFAULT,
                .output.path = WEIR_RECORD_OUTPUT_DEFAULT,
                .output.fd = STDOUT_FILENO,
                .synth = {.tasks = true, .maps = true, .cgroups = true},
                .snapshot.on.hold_off_ms = WEIR_RECORD_HOLD_OFF_DEFAULT_MS,
                .off_cpu.threshold_ms = WEIR_RECORD_OFF_CPU_DEFAULT_MS,
                .control = WEIR_CONTROL_SPEC_INIT,
            },
        .cpus = WEIR_CPUSET_INIT,
        .reader_cpus = WEIR_CPUSET_INIT,
        .timestamp = true,
    };
}

void weir_record_arguments_fini(struct weir_record_arguments *arguments)
{
    if (!arguments)
        return;
    weir_schedule_fini(&arguments->options.schedule);
    weir_control_spec_fini(&arguments->options.control);
    weir_metrics_spec_fini(&arguments->options.metrics);
    weir_cpuset_fini(&arguments->cpus);
    weir_cpuset_fini(&arguments->reader_cpus);
    free(arguments->pids);
    free(arguments->tids);
    weir_text_list_fini(&arguments->presets);
    weir_text_list_fini(&arguments->events);
    free(arguments->pfm);
    free(arguments->filters);
    free(arguments->cgroups);
    free(arguments->scopes);
    weir_text_list_fini(&arguments->rotate_on);
    weir_text_list_fini(&arguments->snapshot_on);
    free(arguments->on_rotate);
    weir_record_arguments_init(arguments);
}
