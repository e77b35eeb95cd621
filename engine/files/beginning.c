/* Writes the beginning of the first file; see beginning.h. Coordinator; threads of the synthesis put their records,
 * too. */
#include "engine/files/beginning.h"

#include <errno.h>

#include "base/bits.h"
#include "engine/events/target_children.h"
#include "engine/files/beginning_internal.h"
#include "engine/files/record_sink.h"
#include "format/records.h"

#define SYNTH_THREADS_MAX 16 /* more threads gain little, because they wait for locks of /proc */

void weir_beginning_init(struct weir_beginning *beginning, const struct weir_beginning_setup *setup)
{
    *beginning =
        (struct weir_beginning){.setup = *setup, .kernel_records = WEIR_BUF_INIT, .guest_records = WEIR_BUF_INIT};
}

void weir_beginning_fini(struct weir_beginning *beginning)
{
    if (beginning) {
        weir_buf_fini(&beginning->kernel_records);
        weir_buf_fini(&beginning->guest_records);
    }
}

void weir_beginning_synth_options(const struct weir_beginning *beginning, struct weir_synth_options *options)
{
    const struct weir_beginning_setup *setup = &beginning->setup;
    const struct weir_record_options *asked = setup->plan->options;
    unsigned allowed = weir_cpuset_count(weir_topology_allowed(setup->plan->machine->topology));
    unsigned threads = (unsigned)weir_clamp_u64(allowed, 1, SYNTH_THREADS_MAX);
    *options = (struct weir_synth_options){
        .sample_id_bytes = weir_attr_sample_id_bytes(&setup->facts->descriptions[0].attr),
        .threads = asked->synth.threads ? asked->synth.threads : threads,
        .data_maps = setup->events->list->events[weir_event_set_sideband(setup->events)].attr.mmap_data,
        .no_maps = !asked->synth.maps,
        .namespaces = asked->samples.namespaces,
        .map_timeout_ms = asked->synth.map_timeout_ms,
        .build_ids = asked->build_ids.in_maps,
        .notices = asked->notices,
    };
}

static int explain(const struct weir_beginning *beginning, int result, struct weir_error *err)
{
    const char *path = beginning->setup.plan->options->output.path;
    return result < 0 ? weir_error_set_errno(err, result, "cannot write to %s", path) : 0;
}

/* ---- before the synthesis ---- */

/* With -A writes two rounds, behind which consumers have delivered all records of the continued recording. */
static int end_what_is_continued(const struct weir_beginning *beginning)
{
    if (!beginning->setup.facts->append)
        return 0;
    struct weir_buf rounds = WEIR_BUF_INIT;
    weir_record_finished_round(&rounds);
    weir_record_finished_round(&rounds);
    int result = weir_record_sink_send(beginning->setup.pipeline, &rounds);
    weir_buf_fini(&rounds);
    return result;
}

static int write_index(const struct weir_beginning *beginning)
{
    const struct weir_beginning_setup *setup = &beginning->setup;
    struct weir_buf records = WEIR_BUF_INIT;
    int result = weir_beginning_append_index(beginning, &records);
    if (result == 0 && setup->append_aux_info)
        result = setup->append_aux_info(setup->aux_ctx, &records);
    if (result == 0)
        result = weir_record_sink_send(setup->pipeline, &records);
    weir_buf_fini(&records);
    return result;
}

/* ---- synthesis ---- */

struct synthesis {
    struct weir_beginning *beginning;
    struct weir_record_sink sink;
    struct weir_synth_options options; /* emit puts records into the sink */
};

/* Side events are enabled by now, so FORK records describe all later children of the targets. */
static int synthesize_named_targets(struct synthesis *synthesis, struct weir_synth_counts *counts,
                                    struct weir_error *err)
{
    const struct weir_beginning_setup *setup = &synthesis->beginning->setup;
    int result = setup->plan->config.inherit ? weir_targets_add_children(setup->targets, NULL) : 0;
    if (result < 0)
        return weir_error_set_errno(err, result, "cannot list the children of the targets");
    return weir_synth_processes(&synthesis->options, setup->targets->pids, setup->targets->pid_count, counts, err);
}

static int synthesize_targets(struct synthesis *synthesis, struct weir_error *err)
{
    const struct weir_beginning_setup *setup = &synthesis->beginning->setup;
    const struct weir_record_options *asked = setup->plan->options;
    struct weir_synth_counts counts = {0};
    int result;
    if (!asked->synth.tasks && !asked->targets.command)
        return 0;
    synthesis->options.execs_next = asked->targets.command ? *setup->workload : 0;
    if (!asked->synth.tasks) /* the options leave out tasks from before the recording, which the workload is not */
        result = weir_synth_processes(&synthesis->options, setup->workload, 1, &counts, err);
    else if (setup->plan->config.system_wide)
        result = weir_synth_all_tasks(&synthesis->options, &counts, err);
    else
        result = synthesize_named_targets(synthesis, &counts, err);
    weir_notice(asked->notices, WEIR_NOTICE_VERBOSE, "synthesized %llu tasks and %llu maps",
                (unsigned long long)counts.tasks, (unsigned long long)counts.maps);
    return result;
}

static bool records_kernel(const struct weir_event_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (!list->events[i].attr.exclude_kernel)
            return true;
    }
    return false;
}

/* Puts records of the kernel and keeps a copy for later files. */
static int put_kernel(void *ctx, const void *records, size_t bytes)
{
    struct synthesis *synthesis = ctx;
    if (weir_modes_rotate(&synthesis->beginning->setup.plan->modes))
        weir_buf_append(&synthesis->beginning->kernel_records, records, bytes);
    return weir_record_sink_put(&synthesis->sink, records, bytes);
}

/* Puts records of guests and keeps a copy for later files, which do not read the guests' files again. */
static int put_guests(void *ctx, const void *records, size_t bytes)
{
    struct synthesis *synthesis = ctx;
    if (weir_modes_rotate(&synthesis->beginning->setup.plan->modes))
        weir_buf_append(&synthesis->beginning->guest_records, records, bytes);
    return weir_record_sink_put(&synthesis->sink, records, bytes);
}

static int synthesize_guests(struct synthesis *synthesis, struct weir_error *err)
{
    const struct weir_guests *guests = &synthesis->beginning->setup.plan->options->guests;
    struct weir_synth_options options = synthesis->options;
    options.emit = put_guests;
    options.emit_ctx = synthesis;
    weir_buf_reset(&synthesis->beginning->guest_records); /* --tail-synthesize may describe a second time */
    return weir_guests_are_given(guests) ? weir_synth_guests(&options, guests, err) : 0;
}

/* Leaves out the kernel where no event records it. Users of ":u" then get no warning about hidden kernel addresses. */
static int synthesize_kernel(struct synthesis *synthesis, struct weir_error *err)
{
    const struct weir_beginning_setup *setup = &synthesis->beginning->setup;
    if (!records_kernel(setup->events->list))
        return 0;
    uint64_t programs;
    struct weir_synth_options options = synthesis->options;
    options.emit = put_kernel;
    options.emit_ctx = synthesis;
    int result = weir_synth_kernel(&options, err);
    if (result == 0)
        result = weir_synth_bpf(&synthesis->options, &programs, err);
    if (result == 0 && programs > 0)
        weir_notice(setup->plan->options->notices, WEIR_NOTICE_VERBOSE, "synthesized %llu BPF programs",
                    (unsigned long long)programs);
    return result;
}

static int finish_synthesis(struct synthesis *synthesis)
{
    struct weir_buf end = WEIR_BUF_INIT;
    weir_record_finished_init(&end);
    int result = weir_record_sink_put_all(&synthesis->sink, &end);
    weir_buf_fini(&end);
    return result < 0 ? result : weir_record_sink_flush(&synthesis->sink);
}

int weir_beginning_synthesize(struct weir_beginning *beginning, struct weir_error *err)
{
    const struct weir_beginning_setup *setup = &beginning->setup;
    const struct weir_record_options *asked = setup->plan->options;
    struct synthesis synthesis = {.beginning = beginning};
    weir_record_sink_init(&synthesis.sink, setup->pipeline, setup->sideband);
    weir_beginning_synth_options(beginning, &synthesis.options);
    synthesis.options.emit = weir_record_sink_put;
    synthesis.options.emit_ctx = &synthesis.sink;
    int result = synthesize_kernel(&synthesis, err);
    if (result == 0)
        result = synthesize_guests(&synthesis, err);
    if (result == 0)
        result = synthesize_targets(&synthesis, err);
    if (result == 0 && asked->samples.cgroups && asked->synth.cgroups)
        result = weir_synth_cgroups(&synthesis.options, err);
    if (result == 0) {
        result = explain(beginning, finish_synthesis(&synthesis), err);
        if (setup->sideband)
            weir_sideband_end_feed(setup->sideband);
    }
    weir_record_sink_fini(&synthesis.sink);
    return result;
}

int weir_beginning_write_first(struct weir_beginning *beginning, struct weir_error *err)
{
    const struct weir_beginning_setup *setup = &beginning->setup;
    int result = end_what_is_continued(beginning);
    if (result == 0)
        result = write_index(beginning);
    if (result < 0)
        return explain(beginning, result, err);
    if (!weir_modes_describe_at_end_only(&setup->plan->modes))
        return weir_beginning_synthesize(beginning, err);
    if (setup->sideband) /* so that the sideband thread does not wait for the synthesis at the end */
        weir_sideband_end_feed(setup->sideband);
    return 0;
}
