#include "engine/files/sideband_host.h"

#include <limits.h>
#include <stdlib.h>

#include "engine/tasks/build_id_cache.h"

#define STOP_TIMEOUT_MS    1000u /* limit for build ids not read yet, however slow the file systems are */
#define HURRIED_TIMEOUT_MS 0u

int weir_sideband_host_make(struct weir_sideband_host *host, const struct weir_recording_plan *plan,
                            const struct weir_file_facts *facts, const struct weir_event_set *events,
                            struct weir_pipeline *pipeline, struct weir_unwind_supply *supply, struct weir_error *err)
{
    const struct weir_record_options *options = plan->options;
    bool reads_programs = !options->build_ids.left_out && !options->samples.no_bpf_events &&
                          options->output.kind != WEIR_RECORD_OUTPUT_STREAM;
    bool maps_data = events->list->events[weir_event_set_sideband(events)].attr.mmap_data;
    host->options = options;
    host->supply = supply;
    if (options->build_ids.left_out && !weir_modes_rotate(&plan->modes) && !supply)
        return 0;
    int result = weir_sideband_new(&host->sideband, &(struct weir_sideband_setup){
                                                        .attr = &facts->descriptions[0].attr,
                                                        .tee_count = pipeline->reader_count,
                                                        .epoch = &pipeline->control.epoch,
                                                        .read_build_ids = !options->build_ids.left_out,
                                                        .supply = supply,
                                                        .keeps_files = options->build_ids.fill_cache,
                                                        .read_bpf_programs = reads_programs,
                                                        /* The task map has only code and names. */
                                                        .is_doubtful = maps_data || options->samples.namespaces,
                                                    });
    if (result < 0)
        return weir_error_set_errno(err, result, "cannot set up the sideband thread");
    for (unsigned i = 0; i < pipeline->reader_count; i++)
        pipeline->readers[i]->sink.tee = weir_sideband_tee(host->sideband, i);
    return 0;
}

int weir_sideband_host_start(struct weir_sideband_host *host, struct weir_error *err)
{
    int result = host->sideband ? weir_sideband_start(host->sideband) : 0;
    if (result < 0) {
        weir_error_set_errno(err, result, "cannot start the sideband thread");
        weir_error_hint(err, "see ulimit -u and kernel.threads-max; --no-buildid does without it");
    }
    return result;
}

void weir_sideband_host_tell_unwinding(const struct weir_sideband_host *host)
{
    if (!host->supply)
        return;
    const struct weir_unwind_supply_counts counts = weir_unwind_supply_count(host->supply);
    weir_notice(host->options->notices, WEIR_NOTICE_VERBOSE,
                "unwinding: %llu changes of mappings, %llu without room; %llu processes in %llu KiB at the end; news "
                "asked for %llu times, %llu times too late",
                (unsigned long long)counts.history.changes, (unsigned long long)counts.history.refused,
                (unsigned long long)counts.history.processes, (unsigned long long)(counts.history.bytes >> 10),
                (unsigned long long)counts.looks, (unsigned long long)counts.late);
}

static void report(const struct weir_sideband_host *host, const struct weir_sideband_counts *counts)
{
    const struct weir_notice_sink *notices = host->options->notices;
    uint64_t cpu_time_ns = counts->cpu_time_ns + counts->ids_cpu_time_ns;
    weir_notice(notices, WEIR_NOTICE_VERBOSE,
                "sideband: %llu records, %llu tasks, %llu mapped files, %llu build ids; %llu.%03llu ms of CPU time",
                (unsigned long long)counts->records, (unsigned long long)counts->tasks,
                (unsigned long long)counts->files, (unsigned long long)counts->build_ids,
                (unsigned long long)(cpu_time_ns / 1000000), (unsigned long long)(cpu_time_ns / 1000 % 1000));
    if (counts->programs > 0 || counts->programs_left_out > 0)
        weir_notice(notices, WEIR_NOTICE_VERBOSE, "sideband: read %llu BPF programs, left out %llu for want of room",
                    (unsigned long long)counts->programs, (unsigned long long)counts->programs_left_out);
    if (counts->reordered > 0)
        weir_notice(notices, WEIR_NOTICE_VERBOSE, "sideband: %llu records were used before their order was certain",
                    (unsigned long long)counts->reordered);
    if (counts->missed > 0)
        weir_notice(notices, WEIR_NOTICE_WARNING,
                    "the sideband thread missed %llu blocks of mappings: they are in the file, but their build ids may "
                    "not be",
                    (unsigned long long)counts->missed);
    if (counts->lacks_files)
        weir_notice(notices, WEIR_NOTICE_WARNING,
                    "more than %u files were mapped: the build ids of those that came later are not in the file; perf "
                    "finds these files by name",
                    WEIR_MAPPED_FILES_MAX);
    if (counts->lacks_memory)
        weir_notice(notices, WEIR_NOTICE_WARNING,
                    "no memory for some mapped files (see ulimit -v and the cgroup's memory.max): their build ids are "
                    "not in the file; perf finds these files by name");
    if (counts->unread > 0)
        weir_notice(notices, WEIR_NOTICE_WARNING,
                    "%llu build ids could not be read in time and are not in the file; perf finds these files by name",
                    (unsigned long long)counts->unread);
}

int weir_sideband_host_stop(struct weir_sideband_host *host, uint32_t file_number, bool hurried, struct weir_error *err)
{
    if (!host->sideband)
        return 0;
    struct weir_sideband_counts counts;
    weir_sideband_stop(host->sideband, hurried ? HURRIED_TIMEOUT_MS : STOP_TIMEOUT_MS, &counts);
    report(host, &counts);
    if (host->options->build_ids.left_out)
        return 0;
    int result = weir_mapped_files_list(weir_sideband_files(host->sideband), file_number, &host->build_ids,
                                        &host->build_id_count);
    return result < 0 ? weir_error_set_errno(err, result, "cannot list build ids") : 0;
}

void weir_sideband_host_fill_cache(const struct weir_sideband_host *host)
{
    if (!host->sideband || !host->options->build_ids.fill_cache)
        return;
    const char *dir = host->options->build_ids.cache_dir;
    const struct weir_notice_sink *notices = host->options->notices;
    char at_home[PATH_MAX];
    if (!dir && !weir_build_id_cache_default(at_home, sizeof(at_home))) {
        weir_notice(notices, WEIR_NOTICE_WARNING, "no build-id cache: HOME is not set; name a folder by --buildid-dir");
        return;
    }
    dir = dir ? dir : at_home;
    struct weir_build_id_cache_counts counts;
    struct weir_error err = {0};
    if (weir_build_id_cache_fill(dir, weir_sideband_files(host->sideband), weir_sideband_roots(host->sideband), &counts,
                                 &err) < 0) {
        weir_notice(notices, WEIR_NOTICE_WARNING, "%s; the recording is whole", err.what);
        return;
    }
    weir_notice(notices, WEIR_NOTICE_VERBOSE, "build-id cache %s: %zu files added, %zu there already, %zu left out",
                dir, counts.added, counts.present, counts.left_out);
}

void weir_sideband_host_fini(struct weir_sideband_host *host)
{
    free(host->build_ids);
    weir_sideband_free(host->sideband);
    *host = (struct weir_sideband_host){0};
}
