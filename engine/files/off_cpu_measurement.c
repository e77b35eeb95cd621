#include "engine/files/off_cpu_measurement.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/clock.h"
#include "engine/drain/off_cpu_sample.h"
#include "engine/files/record_sink.h"

#define TASKS_SPARE 1024u /* threads that start while weir attaches */

/* ---- set-up ---- */

static enum weir_off_cpu_scope scope_of(const struct weir_recording_plan *plan)
{
    if (plan->options->off_cpu.of_user)
        return WEIR_OFF_CPU_OWNED;
    if (plan->config.system_wide)
        return WEIR_OFF_CPU_ALL_TASKS;
    if (!weir_recording_plan_has_tasks(&plan->options->targets))
        return WEIR_OFF_CPU_COMMAND;
    return plan->options->targets.spec.kind == WEIR_TARGET_USER ? WEIR_OFF_CPU_OWNED : WEIR_OFF_CPU_LISTED;
}

/* Lists the folders of all cgroups of -G. Returns how many; -E2BIG with err: too many. */
static int list_cgroups(const struct weir_event_list *list, int fds[WEIR_OFF_CPU_CGROUPS], struct weir_error *err)
{
    int count = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct weir_event *event = &list->events[i];
        if (!event->cgroup || event->shares_cgroup_fd)
            continue;
        if (count == WEIR_OFF_CPU_CGROUPS) {
            weir_error_set(err, -E2BIG, "--off-cpu knows at most %d cgroups", WEIR_OFF_CPU_CGROUPS);
            weir_error_hint(err, "name a cgroup above them with -G: it includes those below");
            return -E2BIG;
        }
        fds[count++] = event->cgroup_fd;
    }
    return count;
}

int weir_off_cpu_measurement_open(struct weir_off_cpu **made, const struct weir_recording_plan *plan,
                                  const struct weir_targets *targets, pid_t command, struct weir_error *err)
{
    const struct weir_record_options *options = plan->options;
    int cgroup_fds[WEIR_OFF_CPU_CGROUPS];
    int cgroup_count = list_cgroups(options->events, cgroup_fds, err);
    if (cgroup_count < 0)
        return cgroup_count;
    const struct weir_off_cpu_setup setup = {
        .threshold_ns = options->off_cpu.threshold_ms * WEIR_NS_PER_MS,
        .scope = scope_of(plan),
        .uid = options->off_cpu.of_user ? options->off_cpu.uid : options->targets.spec.uid,
        .command = command,
        .task_count = targets->count * 2 + TASKS_SPARE,
        .inherit = !options->targets.no_inherit,
        .cpus = options->targets.cpus,
        .cgroup_fds = cgroup_fds,
        .cgroup_count = (size_t)cgroup_count,
        .cgroup_ids = plan->config.samples.cgroups,
        .kernel_chains = !plan->config.samples.user_callchains,
        .user_chains = !plan->config.samples.kernel_callchains,
        .notices = options->notices,
    };
    return weir_off_cpu_open(made, &setup, err);
}

int weir_off_cpu_measurement_find_tasks(const struct weir_off_cpu *off_cpu, const struct weir_recording_plan *plan,
                                        struct weir_error *err)
{
    if (scope_of(plan) != WEIR_OFF_CPU_LISTED)
        return 0;
    struct weir_targets targets;
    int result = weir_targets_find(&targets, &plan->options->targets.spec, NULL, err);
    if (result < 0)
        return result;
    result = weir_off_cpu_add_tasks(off_cpu, targets.tids, targets.count);
    weir_targets_fini(&targets);
    return result < 0 ? weir_error_set_errno(err, result, "cannot measure the off-CPU time of so many tasks") : 0;
}

/* ---- the end ---- */

/* No sample of the file is later. The clock of samples is the kernel's own, and only the kernel can read it. */
static uint64_t newest_ns(const struct weir_pipeline *pipeline)
{
    uint64_t newest = 0;
    for (unsigned i = 0; i < pipeline->reader_count; i++) {
        const struct weir_reader_rings *rings = &pipeline->readers[i]->rings;
        for (unsigned n = 0; n < rings->count; n++)
            newest = weir_max_u64(newest, rings->at[n].newest_ns);
    }
    return newest ? newest : weir_clock_now_ns(&weir_clock_monotonic);
}

static int write_totals(const struct weir_off_cpu *off_cpu, const struct weir_event_set *events,
                        struct weir_pipeline *pipeline, uint64_t *written)
{
    unsigned event = (unsigned)weir_event_set_off_cpu_event(events);
    const struct weir_off_cpu_moment moment = {
        .id = events->file_ids[weir_event_set_slot(events, event, 0, 0)],
        .time_ns = newest_ns(pipeline),
        .cpu = (uint32_t)events->places[0].cpu,
        .cgroup_ids = events->list->events[event].attr.sample_type & PERF_SAMPLE_CGROUP,
    };
    struct weir_off_cpu_total *total = calloc(1, sizeof(*total));
    struct weir_buf record = WEIR_BUF_INIT;
    struct weir_record_sink sink;
    weir_record_sink_init(&sink, pipeline, NULL);
    int result = total ? 1 : -ENOMEM;
    while (result == 1 && (result = weir_off_cpu_next_total(off_cpu, total)) == 1) {
        weir_buf_reset(&record);
        weir_off_cpu_sample_append(&total->key, &total->sum, &total->stack, &moment, &record);
        int put = weir_buf_error(&record);
        if (put == 0)
            put = weir_record_sink_put(&sink, record.data, record.used);
        *written += put == 0;
        result = put < 0 ? put : 1;
    }
    if (result == 0)
        result = weir_record_sink_flush(&sink);
    weir_record_sink_fini(&sink);
    weir_buf_fini(&record);
    free(total);
    return result;
}

static void tell(const struct weir_off_cpu_counts *off_cpu, const struct weir_notice_sink *notices)
{
    if (off_cpu->overflowed > 0)
        weir_notice(
            notices, WEIR_NOTICE_WARNING,
            "%llu short stretches off the CPUs, together %.3f s, are lost: there is room for %u stacks and %u sums",
            (unsigned long long)off_cpu->overflowed, (double)off_cpu->overflowed_ns / WEIR_NS_PER_S,
            WEIR_OFF_CPU_STACKS_MAX, WEIR_OFF_CPU_SUMS_MAX);
    if (off_cpu->unfollowed > 0)
        weir_notice(notices, WEIR_NOTICE_WARNING,
                    "%llu times the kernel had no memory for the off-CPU time of a task, which is then incomplete",
                    (unsigned long long)off_cpu->unfollowed);
}

int weir_off_cpu_measurement_finish(const struct weir_off_cpu *off_cpu, const struct weir_event_set *events,
                                    struct weir_pipeline *pipeline, struct weir_record_result *result,
                                    const struct weir_notice_sink *notices, struct weir_error *err)
{
    struct weir_off_cpu_counts counts = {0};
    int code = weir_off_cpu_count(off_cpu, &counts);
    result->off_cpu_unsummed = counts.overflowed;
    if (code == 0)
        code = write_totals(off_cpu, events, pipeline, &result->off_cpu_sums);
    weir_notice(notices, WEIR_NOTICE_VERBOSE,
                "off-CPU time: %llu stretches by themselves, %llu in %llu sums; %llu without the stack of the kernel, "
                "which did not tell their end",
                (unsigned long long)counts.samples, (unsigned long long)counts.summed,
                (unsigned long long)result->off_cpu_sums, (unsigned long long)counts.late);
    tell(&counts, notices);
    return code < 0 ? weir_error_set_errno(err, code, "cannot write the sums of off-CPU time") : 0;
}
