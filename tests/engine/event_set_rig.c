/* Building, opening and closing an event set of a test. */
#include "tests/engine/event_set_rig.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "engine/events/event_parse.h"
#include "tests/engine/fake_tracefs.h"

static void keep_notice(void *ctx, enum weir_notice_level level, const char *line)
{
    struct event_set_rig *rig = ctx;
    cr_assert_lt(rig->notice_count, NOTICES);
    rig->levels[rig->notice_count] = level;
    snprintf(rig->notices[rig->notice_count++], sizeof(rig->notices[0]), "%s", line);
}

void event_set_rig_init(struct event_set_rig *rig, const char *events, unsigned tasks)
{
    memset(rig, 0, sizeof(*rig));
    faulty_kernel_init(&rig->faulty);
    if (events) {
        struct fake_tracefs tracefs;
        fake_tracefs_init(&tracefs);
        const struct weir_event_sources sources = {.tracefs_root = tracefs.root};
        cr_assert_eq(weir_event_list_parse(&rig->list, events, &sources, &rig->err), 0, "%s", rig->err.what);
        fake_tracefs_fini(&tracefs);
    } else {
        cr_assert_eq(weir_event_list_add_default(&rig->list, NULL), 0);
    }
    cr_assert_eq(weir_event_list_add_sideband(&rig->list), 0);
    cr_assert_eq(weir_cpuset_parse(&rig->cpus, "1,5", &rig->err), 0);
    memcpy(rig->tids, (pid_t[]){FIRST, SECOND, THIRD}, sizeof(rig->tids));
    if (tasks == 0)
        rig->tids[0] = -1;
    rig->targets = (struct weir_targets){.tids = rig->tids, .count = tasks ? tasks : 1};
    rig->config = (struct weir_event_config){.period = 1000, .period_or_freq_given = true, .system_wide = tasks == 0};
    rig->limits = (struct weir_kernel_limits){.perf_event_paranoid = 2, .nofile = 1024, .nofile_max = 1024};
    rig->sink = (struct weir_notice_sink){.emit = keep_notice, .ctx = rig};
}

void event_set_rig_fini(struct event_set_rig *rig)
{
    weir_event_set_close(&rig->set);
    cr_expect_eq(rig->faulty.open_now, 0, "descriptors left open");
    cr_expect_eq(rig->faulty.maps_now, 0, "rings left mapped");
    faulty_kernel_fini(&rig->faulty);
    weir_cpuset_fini(&rig->cpus);
    weir_cpuset_fini(&rig->late_cpus);
    weir_cpuset_fini(&rig->side_cpus);
    weir_event_list_fini(&rig->list);
}

int event_set_rig_open(struct event_set_rig *rig)
{
    return weir_event_set_open(&rig->set,
                               &(struct weir_event_set_setup){
                                   .kernel = &rig->faulty.kernel,
                                   .list = &rig->list,
                                   .cpus = &rig->cpus,
                                   .late_cpus = &rig->late_cpus,
                                   .side_cpus = &rig->side_cpus,
                                   .late_are_side_only = rig->late_are_side_only,
                                   .with_siblings = true,
                                   .targets = &rig->targets,
                                   .per_thread = rig->per_thread,
                                   .config = &rig->config,
                                   .limits = &rig->limits,
                                   .notices = &rig->sink,
                                   .exclude_follows = rig->exclude_follows,
                               },
                               &rig->err);
}

void event_set_rig_expect_open(struct event_set_rig *rig)
{
    cr_assert_eq(event_set_rig_open(rig), 0, "%s", rig->err.what);
}

void event_set_rig_expect_refused(struct event_set_rig *rig, int code)
{
    cr_assert_eq(event_set_rig_open(rig), code, "%s", rig->err.what);
    cr_assert_eq(rig->err.code, code);
    cr_assert_eq(rig->faulty.open_now, 0);
    cr_assert_null(rig->set.fds);
}
