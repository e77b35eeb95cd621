/*
 * Who follows CPUs, on the simulated kernel: the list of a machine in a folder, uevents in a pair of sockets, and a
 * machine that says itself how long it was suspended. On a real machine: tests/record/hotplug.sh.
 */
#include "engine/session/cpu_follower.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/sim/sim_kernel.h"
#include "tests/base/failing_alloc.h"
#include "tests/engine/fake_clock.h"
#include "tests/engine/sim_rig.h"
#include "tests/format/temp_tree.h"

#define ONLINE  2u /* CPUs 0 and 1 */
#define LATE    1u /* CPU 2 */
#define LIST_ID 77u

#define LIST_CPUS_FROM 28u /* of EVENT_UPDATE: header, u64 sort, u64 id, u16 sort of list, u16 count */

struct fixture {
    struct sim_rig rig;
    struct temp_tree machine;
    struct weir_cpuset online;
    struct weir_poll_set sources;
    struct fake_clock suspended;
    struct weir_clock suspended_clock;
    struct weir_cpu_follower follower;
    struct weir_notice_sink sink;
    char notices[1024]; /* warnings, a line each */
    int map_error, trigger_error;
    unsigned maps;
    bool mapping;      /* control.mapping, while rings were mapped last */
    char triggers[64]; /* CPUs that came, a blank behind each */
    int uevents_fd;    /* where the test writes them; -1: there is a list only */
};

static void note(void *ctx, enum weir_notice_level level, const char *line)
{
    struct fixture *f = ctx;
    size_t used = strlen(f->notices);
    if (level == WEIR_NOTICE_WARNING)
        snprintf(f->notices + used, sizeof(f->notices) - used, "%s\n", line);
}

static int map_rings(void *ctx, unsigned place, struct weir_error *err)
{
    struct fixture *f = ctx;
    f->maps++;
    f->mapping = f->rig.pipeline.control.mapping;
    if (f->map_error < 0)
        return weir_error_set(err, f->map_error, "no rings");
    return sim_rig_map_place(&f->rig, place);
}

static int add_to_triggers(void *ctx, int cpu, struct weir_error *err)
{
    struct fixture *f = ctx;
    size_t used = strlen(f->triggers);
    snprintf(f->triggers + used, sizeof(f->triggers) - used, "%d ", cpu);
    return f->trigger_error < 0 ? weir_error_set(err, f->trigger_error, "no event") : 0;
}

static void set_online(struct fixture *f, const char *list)
{
    struct weir_cpuset now = WEIR_CPUSET_INIT;
    cr_assert_eq(weir_cpuset_parse(&now, list, NULL), 0);
    for (unsigned cpu = 0; cpu < ONLINE + LATE; cpu++)
        weir_sim_kernel_set_cpu(f->rig.sim, (int)cpu, weir_cpuset_has(&now, cpu));
    weir_cpuset_fini(&now);
    temp_tree_write_text(&f->machine, "sys/devices/system/cpu/online", list);
}

static void fixture_open(struct fixture *f, bool of_task)
{
    memset(f, 0, sizeof(*f));
    f->follower = (struct weir_cpu_follower)WEIR_CPU_FOLLOWER_INIT;
    f->sources = (struct weir_poll_set)WEIR_POLL_SET_INIT;
    f->online = (struct weir_cpuset)WEIR_CPUSET_INIT;
    f->sink = (struct weir_notice_sink){.emit = note, .ctx = f};
    f->suspended_clock = fake_clock_interface(&f->suspended);
    f->uevents_fd = -1;
    temp_tree_init(&f->machine);
    temp_tree_write_text(&f->machine, "sys/devices/system/cpu/present", "0-2\n");
    temp_tree_write_text(&f->machine, "sys/devices/system/cpu/online", "0-1\n");
    sim_rig_init(&f->rig,
                 &(struct sim_rig_options){
                     .cpus = ONLINE, .late = LATE, .of_task = of_task, .renames = !of_task, .ring_bytes = 4096});
    cr_assert_eq(weir_pipeline_prepare(&f->rig.pipeline, NULL, NULL), 0);
    weir_event_set_enable(&f->rig.set, false);
    cr_assert_eq(weir_cpuset_copy(&f->online, &f->rig.cpus), 0);
    cr_assert_eq(weir_cpu_follower_open(&f->follower, f->machine.root, &f->online), 0);
}

static struct weir_cpu_follower_setup setup_of(struct fixture *f)
{
    return (struct weir_cpu_follower_setup){
        .sources = &f->sources,
        .events = &f->rig.set,
        .cpus = &f->rig.cpus,
        .pipeline = &f->rig.pipeline,
        .limits = &f->rig.limits,
        .suspended = &f->suspended_clock,
        .notices = &f->sink,
        .list_id = LIST_ID,
        .expects_all_cpus = true,
        .map_rings = map_rings,
        .add_to_triggers = add_to_triggers,
        .ctx = f,
    };
}

static void watch(struct fixture *f)
{
    const struct weir_cpu_follower_setup setup = setup_of(f);
    cr_assert_eq(weir_cpu_follower_watch(&f->follower, &setup), 0);
}

static void fixture_init(struct fixture *f, bool of_task)
{
    fixture_open(f, of_task);
    watch(f);
}

static void fixture_fini(struct fixture *f)
{
    weir_cpu_follower_close(&f->follower);
    if (f->uevents_fd >= 0)
        close(f->uevents_fd);
    weir_poll_set_fini(&f->sources);
    weir_cpuset_fini(&f->online);
    sim_rig_fini(&f->rig);
    temp_tree_fini(&f->machine);
}

/* What the loop does when fd is ready. */
static void become_ready(struct fixture *f, int fd)
{
    size_t i = 0;
    while (i < f->sources.count && f->sources.sources[i].fd != fd)
        i++;
    cr_assert_lt(i, f->sources.count);
    f->sources.sources[i].ready(f->sources.sources[i].ctx, POLLIN);
}

static void look(struct fixture *f)
{
    become_ready(f, f->follower.look_fd);
}

static void expect_notices(struct fixture *f, const char *expected)
{
    cr_assert_str_eq(f->notices, expected);
    f->notices[0] = '\0';
}

/* Asserts which lists of CPUs the file has got since the last call, "0;0,1;", and gives the chunks back. */
static void expect_lists(struct fixture *f, const char *expected)
{
    char lists[256] = "";
    size_t used = 0;
    struct weir_chunk *chunk;
    while ((chunk = weir_chunk_queue_pop(&f->rig.pipeline.queue))) {
        uint64_t id;
        uint16_t count, cpu;
        memcpy(&id, chunk->data + 16, sizeof(id));
        memcpy(&count, chunk->data + LIST_CPUS_FROM - sizeof(count), sizeof(count));
        cr_assert_eq(id, LIST_ID);
        for (unsigned i = 0; i < count; i++) {
            memcpy(&cpu, chunk->data + LIST_CPUS_FROM + i * sizeof(cpu), sizeof(cpu));
            used += (size_t)snprintf(lists + used, sizeof(lists) - used, "%s%u", i ? "," : "", cpu);
        }
        used += (size_t)snprintf(lists + used, sizeof(lists) - used, ";");
        weir_pool_put(&f->rig.pipeline.pool, chunk);
    }
    cr_assert_str_eq(lists, expected);
}

static bool sample(struct fixture *f, unsigned place)
{
    static const uint8_t raw[12];
    return weir_sim_kernel_sample(f->rig.sim, sim_rig_fd(&f->rig, 0, place),
                                  &(struct weir_sim_sample){.time_ns = 5, .raw = raw, .raw_bytes = sizeof(raw)});
}

/* ---- before the recording ---- */

Test(cpu_follower, nothing_was_opened_and_all_is_closed)
{
    struct weir_cpu_follower follower = WEIR_CPU_FOLLOWER_INIT;
    weir_cpu_follower_close(&follower);
    weir_cpu_follower_close(&follower);
    cr_expect_eq(follower.look_fd, -1);
}

Test(cpu_follower, closes_before_it_watches)
{
    struct fixture f;
    fixture_open(&f, false);
    weir_cpu_follower_close(&f.follower);
    weir_cpu_follower_tell_again(&f.follower);
    fixture_fini(&f);
}

Test(cpu_follower, without_memory_it_does_not_open)
{
    struct fixture f;
    fixture_open(&f, false);
    weir_cpu_follower_close(&f.follower);
    failing_alloc_after(0);
    cr_expect_eq(weir_cpu_follower_open(&f.follower, f.machine.root, &f.online), -ENOMEM);
    failing_alloc_never();
    fixture_fini(&f);
}

Test(cpu_follower, machine_without_a_list_has_the_cpus_that_the_caller_found)
{
    struct weir_cpu_follower follower = WEIR_CPU_FOLLOWER_INIT;
    struct weir_cpuset online = WEIR_CPUSET_INIT;
    struct temp_tree empty;
    temp_tree_init(&empty);
    cr_assert_eq(weir_cpuset_parse(&online, "4-5", NULL), 0);
    cr_assert_eq(weir_cpu_follower_open(&follower, empty.root, &online), 0);
    cr_expect(weir_cpuset_equal(&follower.online, &online));
    weir_cpu_follower_close(&follower);
    weir_cpuset_fini(&online);
    temp_tree_fini(&empty);
}

Test(cpu_follower, cpus_that_smt_keeps_offline_are_late_for_events_of_all_tasks_only)
{
    struct fixture f;
    struct weir_cpuset late = WEIR_CPUSET_INIT;
    fixture_open(&f, false);
    cr_assert_eq(weir_cpu_follower_list_late(&f.follower, &f.online, false, &late), 0);
    cr_expect(weir_cpuset_has(&late, 2) && weir_cpuset_count(&late) == 1);
    weir_cpuset_fini(&late);
    late = (struct weir_cpuset)WEIR_CPUSET_INIT;

    temp_tree_write_text(&f.machine, "sys/devices/system/cpu/smt/control", "off\n");
    cr_assert_eq(weir_cpu_follower_list_late(&f.follower, &f.online, false, &late), 0);
    cr_expect(weir_cpuset_is_empty(&late));
    cr_assert_eq(weir_cpu_follower_list_late(&f.follower, &f.online, true, &late), 0);
    cr_expect(weir_cpuset_has(&late, 2) && weir_cpuset_count(&late) == 1);
    weir_cpuset_fini(&late);
    fixture_fini(&f);
}

Test(cpu_follower, what_happened_since_it_was_opened_is_followed_at_once)
{
    struct fixture f;
    fixture_open(&f, false);
    set_online(&f, "0");
    watch(&f);
    expect_notices(&f, "CPU 1 went offline: it is not recorded until it comes back\n");
    expect_lists(&f, "0;");
    fixture_fini(&f);
}

/* ---- events of all tasks ---- */

Test(cpu_follower, cpus_that_stay_are_not_told_of)
{
    struct fixture f;
    fixture_init(&f, false);
    look(&f);
    weir_cpu_follower_tell_again(&f.follower);
    expect_notices(&f, "");
    expect_lists(&f, "");
    cr_expect_eq(f.maps, 0);
    fixture_fini(&f);
}

Test(cpu_follower, cpu_that_goes_leaves_the_list)
{
    struct fixture f;
    fixture_init(&f, false);
    set_online(&f, "0");
    look(&f);
    look(&f); /* and is told of once */
    expect_notices(&f, "CPU 1 went offline: it is not recorded until it comes back\n");
    expect_lists(&f, "0;");
    cr_expect_not(weir_cpuset_has(&f.follower.recorded, 1));
    fixture_fini(&f);
}

Test(cpu_follower, cpu_that_comes_back_counts_again_in_the_rings_that_it_had)
{
    struct fixture f;
    fixture_init(&f, false);
    set_online(&f, "0");
    look(&f);
    cr_expect_not(sample(&f, 1), "the event is dead");
    set_online(&f, "0-1");
    look(&f);
    expect_notices(&f, "CPU 1 went offline: it is not recorded until it comes back\n"
                       "CPU 1 came online: it is recorded from here on\n");
    expect_lists(&f, "0;0,1;");
    cr_expect(sample(&f, 1));
    cr_expect_eq(f.maps, 0);
    cr_expect_str_eq(f.triggers, "1 ");
    fixture_fini(&f);
}

Test(cpu_follower, late_cpu_gets_rings_when_it_comes_first)
{
    struct fixture f;
    fixture_init(&f, false);
    for (unsigned times = 0; times < 2; times++) {
        set_online(&f, "0-2");
        look(&f);
        expect_notices(&f, "CPU 2 came online: it is recorded from here on\n");
        expect_lists(&f, "0,1,2;");
        cr_expect(sample(&f, 2));
        set_online(&f, "0-1");
        look(&f);
        expect_notices(&f, "CPU 2 went offline: it is not recorded until it comes back\n");
        expect_lists(&f, "0,1;");
    }
    cr_expect_eq(f.maps, 1);
    cr_expect(f.mapping, "no mark became a round meanwhile");
    cr_expect_not(f.rig.pipeline.control.mapping);
    fixture_fini(&f);
}

Test(cpu_follower, cpu_without_rings_is_told_of_and_tried_again_when_it_comes_again)
{
    struct fixture f;
    fixture_init(&f, false);
    f.map_error = -EPERM;
    set_online(&f, "0-2");
    look(&f);
    expect_notices(&f, "CPU 2 came online, but is not recorded: no rings\n");
    expect_lists(&f, "");
    cr_expect_not(weir_cpuset_has(&f.follower.recorded, 2));
    cr_expect_not(f.rig.pipeline.control.mapping);
    cr_expect_str_eq(f.triggers, "");

    f.map_error = 0;
    set_online(&f, "0-1");
    look(&f);
    expect_notices(&f, "");
    set_online(&f, "0-2");
    look(&f);
    expect_notices(&f, "CPU 2 came online: it is recorded from here on\n");
    expect_lists(&f, "0,1,2;");
    fixture_fini(&f);
}

Test(cpu_follower, cpu_without_triggers_is_recorded_all_the_same)
{
    struct fixture f;
    fixture_init(&f, false);
    f.trigger_error = -EMFILE;
    set_online(&f, "0-2");
    look(&f);
    expect_notices(&f, "events on CPU 2 trigger no rotation and no snapshot: no event\n"
                       "CPU 2 came online: it is recorded from here on\n");
    cr_expect(sample(&f, 2));
    fixture_fini(&f);
}

Test(cpu_follower, cpu_that_nobody_planned_for_is_told_of_where_all_were_to_be_recorded)
{
    struct fixture f;
    fixture_init(&f, false);
    temp_tree_write_text(&f.machine, "sys/devices/system/cpu/online", "0-1,3");
    look(&f);
    expect_notices(&f, "CPU 3 was added to the machine: it is not recorded\n");
    expect_lists(&f, "");
    fixture_fini(&f);

    fixture_open(&f, false);
    struct weir_cpu_follower_setup setup = setup_of(&f);
    setup.expects_all_cpus = false;
    cr_assert_eq(weir_cpu_follower_watch(&f.follower, &setup), 0);
    temp_tree_write_text(&f.machine, "sys/devices/system/cpu/online", "0-1,3");
    look(&f);
    expect_notices(&f, "");
    fixture_fini(&f);
}

Test(cpu_follower, list_that_finds_no_chunk_is_written_by_a_later_look)
{
    struct fixture f;
    fixture_init(&f, false);
    struct weir_pool *pool = &f.rig.pipeline.pool;
    struct weir_chunk **taken = calloc(pool->chunk_count + 1, sizeof(struct weir_chunk *));
    size_t count = 0;
    while ((taken[count] = weir_pool_take(pool, 0, false)))
        count++;
    set_online(&f, "0");
    look(&f);
    expect_lists(&f, "");
    cr_expect(f.follower.untold);
    while (count > 0)
        weir_pool_put(pool, taken[--count]);
    free(taken);
    look(&f);
    expect_lists(&f, "0;");
    cr_expect_not(f.follower.untold);
    fixture_fini(&f);
}

Test(cpu_follower, later_file_gets_the_list_once_it_has_changed)
{
    struct fixture f;
    fixture_init(&f, false);
    set_online(&f, "0");
    look(&f);
    set_online(&f, "0-1");
    look(&f);
    expect_lists(&f, "0;0,1;");
    weir_cpu_follower_tell_again(&f.follower);
    expect_lists(&f, "0,1;");
    fixture_fini(&f);
}

/* ---- events of a task ---- */

Test(cpu_follower, events_of_a_task_need_rings_only)
{
    struct fixture f;
    fixture_init(&f, true);
    int fd = sim_rig_fd(&f.rig, 0, 2);
    set_online(&f, "0-2");
    look(&f);
    expect_notices(&f, "CPU 2 came online: it is recorded from here on\n");
    cr_expect_eq(sim_rig_fd(&f.rig, 0, 2), fd);
    cr_expect(sample(&f, 2));
    cr_expect_eq(f.maps, 1);
    set_online(&f, "0");
    look(&f);
    set_online(&f, "0-2");
    look(&f);
    expect_notices(&f, "");
    expect_lists(&f, "");
    cr_expect_eq(f.maps, 1);
    fixture_fini(&f);
}

Test(cpu_follower, task_that_may_run_where_it_is_not_recorded_is_told_of)
{
    struct fixture f;
    fixture_init(&f, true);
    temp_tree_write_text(&f.machine, "sys/devices/system/cpu/online", "0-1,3");
    look(&f);
    expect_notices(&f, "CPU 3 came online: the targets are not recorded there (they are with -a)\n");
    fixture_fini(&f);
}

/* ---- uevents ---- */

static void use_uevents(struct fixture *f)
{
    int fds[2];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    f->follower.watch.fd = fds[0];
    f->uevents_fd = fds[1];
}

static void send_uevent(struct fixture *f, const char *what, unsigned cpu)
{
    char text[64];
    int length = snprintf(text, sizeof(text), "%s@/devices/system/cpu/cpu%u", what, cpu);
    cr_assert_eq(send(f->uevents_fd, text, (size_t)length + 1, 0), length + 1);
}

Test(cpu_follower, cpu_that_went_and_came_between_two_looks_is_opened_anew)
{
    struct fixture f;
    fixture_open(&f, false);
    use_uevents(&f);
    watch(&f);
    set_online(&f, "0");
    set_online(&f, "0-1");
    cr_expect_not(sample(&f, 1), "the event is dead");
    send_uevent(&f, "offline", 1);
    send_uevent(&f, "online", 1);
    become_ready(&f, f.follower.watch.fd);
    expect_notices(&f, "CPU 1 went offline: it is not recorded until it comes back\n"
                       "CPU 1 came online: it is recorded from here on\n");
    cr_expect(sample(&f, 1));
    expect_lists(&f, "0,1;");
    fixture_fini(&f);
}

Test(cpu_follower, uevent_of_what_is_known_is_passed_over)
{
    struct fixture f;
    fixture_open(&f, false);
    use_uevents(&f);
    send_uevent(&f, "online", 1);
    watch(&f);
    send_uevent(&f, "offline", 2);
    become_ready(&f, f.follower.watch.fd);
    expect_notices(&f, "");
    expect_lists(&f, "");
    fixture_fini(&f);
}

/* ---- suspended ---- */

static void leap(struct fixture *f, uint64_t suspended_ns)
{
    f->suspended.now_ns += suspended_ns;
    become_ready(f, f->follower.resume_fd);
}

Test(cpu_follower, clock_that_was_set_is_no_suspend)
{
    struct fixture f;
    fixture_init(&f, false);
    leap(&f, 0);
    leap(&f, 99 * WEIR_NS_PER_MS);
    expect_notices(&f, "");
    expect_lists(&f, "");
    fixture_fini(&f);
}

Test(cpu_follower, suspend_has_all_cpus_but_the_first_one_opened_anew)
{
    struct fixture f;
    fixture_init(&f, false);
    weir_sim_kernel_set_cpu(f.rig.sim, 1, false); /* no list and no uevent tells */
    weir_sim_kernel_set_cpu(f.rig.sim, 1, true);
    int first = sim_rig_fd(&f.rig, 0, 0);
    leap(&f, 5 * WEIR_NS_PER_S);
    expect_notices(&f, "the machine was suspended for 5000 ms: CPUs that were offline meanwhile are recorded from here "
                       "on\n");
    expect_lists(&f, "0;0,1;");
    cr_expect(sample(&f, 1));
    cr_expect_eq(sim_rig_fd(&f.rig, 0, 0), first);
    cr_expect_str_eq(f.triggers, "1 ");
    fixture_fini(&f);
}

Test(cpu_follower, cpu_that_did_not_come_back_from_a_suspend_is_told_of)
{
    struct fixture f;
    fixture_init(&f, false);
    set_online(&f, "0");
    leap(&f, WEIR_NS_PER_S);
    expect_notices(&f, "the machine was suspended for 1000 ms: CPUs that were offline meanwhile are recorded from here "
                       "on\nCPU 1 went offline: it is not recorded until it comes back\n");
    expect_lists(&f, "0;");
    fixture_fini(&f);
}

Test(cpu_follower, events_of_a_task_outlive_a_suspend)
{
    struct fixture f;
    fixture_init(&f, true);
    leap(&f, 5 * WEIR_NS_PER_S);
    expect_notices(&f, "");
    expect_lists(&f, "");
    cr_expect(sample(&f, 1));
    fixture_fini(&f);
}
