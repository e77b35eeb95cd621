/*
 * What a recording needs before any event is open, and has for a dry run: the file that it continues, the machine's
 * facts and the plan. Coordinator thread. Nothing on disk is changed.
 */
#include "engine/session/session.h"

#include <errno.h>

#include "io/output_folder.h"
#include "topology/thread_affinity.h"

static int check_output(const struct weir_record_options *options, struct weir_error *err)
{
    if (options->output_kind == WEIR_RECORD_OUTPUT_STREAM)
        return weir_output_file_check_stream(options->output_fd, err);
    return options->kcore ? weir_output_folder_check(options->output_path, err)
                          : weir_output_file_check(options->output_path, err);
}

static int open_append(struct weir_session *session, struct weir_error *err)
{
    int result = weir_append_open(&session->append, session->options->output_path, err);
    if (result == 0 && session->append && session->options->sync)
        result = weir_append_check_name(session->append, err);
    return result;
}

/* From here on no change of CPUs is missed. */
static int list_late_cpus(struct weir_session *session, struct weir_error *err)
{
    const struct weir_record_options *options = session->options;
    const struct weir_topology *topology = session->machine.topology;
    const struct weir_cpuset *online = weir_topology_online(topology);
    bool system_wide = weir_recording_plan_is_system_wide(options);
    bool has_late = !options->cpus && (system_wide || !options->per_thread) && weir_topology_is_this_machine(topology);
    int result = weir_cpu_follower_open(&session->cpu_follower, "", online);
    if (result == 0 && has_late)
        result = weir_cpu_follower_list_late(&session->cpu_follower, online, system_wide, &session->machine.late_cpus);
    return result < 0 ? weir_error_set_errno(err, result, "cannot list CPUs that are offline") : 0;
}

int weir_session_prepare(struct weir_session *session, struct weir_error *err)
{
    const struct weir_record_options *options = session->options;
    int result = check_output(options, err);
    if (result == 0 && options->append)
        result = open_append(session, err);
    if (result == 0 && options->kcore)
        result = weir_kcore_open(&session->kcore, NULL, err);
    if (result == 0)
        result = weir_machine_facts_read(&session->machine, options, session->kernel, err);
    if (result == 0)
        result = list_late_cpus(session, err);
    if (result < 0)
        return result;
    bool without_ids = session->append && weir_append_is_without_ids(session->append);
    return weir_recording_plan_make(&session->plan, options, &session->machine, session->append ? &without_ids : NULL,
                                    err);
}

/* How many are named, as of now: they are listed again when they are attached to, and who is missing is told then. */
static size_t count_tasks(const struct weir_session *session)
{
    const struct weir_target_spec *named = &session->options->target;
    struct weir_targets targets;
    if (!weir_recording_plan_has_tasks(session->options) || weir_targets_find(&targets, named, NULL, NULL) < 0)
        return 0;
    size_t count = targets.count;
    weir_targets_fini(&targets);
    return count;
}

int weir_session_tell_plan(const struct weir_session *session, struct weir_error *err)
{
    return weir_recording_plan_tell(&session->plan, count_tasks(session), err);
}

/* ---- housekeeping CPUs ---- */

void weir_session_enter_house(struct weir_session *session)
{
    const struct weir_cpuset *cpus = &session->plan.housekeeping_cpus;
    if (weir_cpuset_is_empty(cpus) || !weir_topology_is_this_machine(session->machine.topology))
        return;
    /* Neither can do harm when it fails: threads that are no readers then run where they did. */
    if (weir_thread_affinity(&session->outside) == 0)
        weir_thread_pin(cpus);
}

void weir_session_leave_house(struct weir_session *session)
{
    weir_thread_pin(&session->outside); /* nothing, when it is empty */
    weir_cpuset_fini(&session->outside);
    session->outside = (struct weir_cpuset)WEIR_CPUSET_INIT;
}
