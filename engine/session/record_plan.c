/* PLANNING: all work that needs no event; a dry run does nothing else. Coordinator thread. Nothing on disk changes. */
#include "engine/session/record_internal.h"
#include "io/output_file.h"
#include "io/output_folder.h"

static int check_output(const struct weir_record_output *output, struct weir_error *err)
{
    if (output->kind == WEIR_RECORD_OUTPUT_STREAM)
        return weir_output_file_check_stream(output->fd, err);
    return output->kcore ? weir_output_folder_check(output->path, err) : weir_output_file_check(output->path, err);
}

static int open_append(struct weir_recording *recording, struct weir_error *err)
{
    int result = weir_append_open(&recording->append, recording->options->output.path, err);
    if (result == 0 && recording->append && recording->options->output.sync)
        result = weir_append_check_name(recording->append, err);
    return result;
}

/* Lists the CPUs that may come online later. From here on weir misses no change of CPUs. */
static int list_late_cpus(struct weir_recording *recording, struct weir_error *err)
{
    const struct weir_record_options *options = recording->options;
    const struct weir_topology *topology = recording->machine.topology;
    const struct weir_cpuset *online = weir_topology_online(topology);
    struct weir_cpu_follower *follower = &recording->cpu_follower;
    bool system_wide = weir_recording_plan_is_system_wide(&options->targets);
    bool has_late = (system_wide || !options->targets.per_thread) && weir_topology_is_this_machine(topology);
    int result = weir_cpu_follower_open(follower, "", online);
    if (result == 0 && has_late)
        result = weir_cpu_follower_list_late(follower, online, system_wide, &recording->machine.late_cpus);
    return result < 0 ? weir_error_set_errno(err, result, "cannot list CPUs that are offline") : 0;
}

/* Tells the plan for the named tasks as of now. weir lists the tasks again when it attaches to them, and then tells
 * which are missing. */
static int tell_plan(const struct weir_recording *recording, struct weir_error *err)
{
    const struct weir_record_options *options = recording->options;
    struct weir_targets targets = {0};
    if (weir_recording_plan_has_tasks(&options->targets))
        (void)weir_targets_find(&targets, &options->targets.spec, NULL, NULL); /* unchanged if it fails */
    int result = weir_recording_plan_tell(&recording->plan, &targets, err);
    weir_targets_fini(&targets);
    return result;
}

int weir_recording_make_plan(struct weir_recording *recording, struct weir_error *err)
{
    const struct weir_record_options *options = recording->options;
    int result = check_output(&options->output, err);
    if (result == 0)
        result = weir_guests_check(&options->guests, err);
    if (result == 0 && options->output.append)
        result = open_append(recording, err);
    if (result == 0 && options->output.kcore)
        result = weir_kcore_open(&recording->kcore, NULL, err);
    if (result == 0)
        result = weir_machine_facts_read(&recording->machine, options, &weir_kernel_linux, err);
    if (result == 0)
        result = list_late_cpus(recording, err);
    if (result < 0)
        return result;
    bool without_ids = recording->append && weir_append_is_without_ids(recording->append);
    result = weir_recording_plan_make(&recording->plan, options, &recording->machine,
                                      recording->append ? &without_ids : NULL, err);
    return result < 0 ? result : tell_plan(recording, err);
}
