/* CPUs that come and go: what uevents say, and the list that counts, from recorded trees. */
#include "topology/cpu_watch.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "tests/topology/fixture.h"

Test(cpu_watch, uevents_of_other_things_say_nothing)
{
    struct weir_cpu_change change;
    static const char *const others[] = {
        "offline@/devices/system/cpu/",
        "online@/devices/system/cpu/cpu",
        "online@/devices/system/cpu/cpu1x",
        "online@/devices/system/memory/memory1",
        "add@/devices/system/cpu/cpu1",
        "online@/devices/system/cpu/cpu65536",
        "online@/devices/system/cpu/cpu99999999999999999999",
        "",
        "libudev",
    };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        cr_expect_not(weir_cpu_uevent_parse(others[i], strlen(others[i]) + 1, &change), "%s", others[i]);
    cr_expect_not(weir_cpu_uevent_parse("online@/devices/system/cpu/cpu1", 31, &change), "its line does not end");
    cr_expect_not(weir_cpu_uevent_parse("", 0, &change));
}

Test(cpu_watch, uevent_of_a_cpu_names_it)
{
    static const char came[] = "online@/devices/system/cpu/cpu137\0ACTION=online\0SUBSYSTEM=cpu";
    struct weir_cpu_change change;
    cr_expect(weir_cpu_uevent_parse(came, sizeof(came), &change));
    cr_expect(change.came && change.cpu == 137);
    static const char went[] = "offline@/devices/system/cpu/cpu65535";
    cr_expect(weir_cpu_uevent_parse(went, sizeof(went), &change));
    cr_expect(!change.came && change.cpu == 65535);
}

Test(cpu_watch, list_that_cannot_be_read_leaves_the_one_of_before)
{
    struct fixture fixture;
    struct weir_cpu_watch watch;
    struct weir_cpuset online = WEIR_CPUSET_INIT;
    struct weir_cpu_change change;
    fixture_init(&fixture);
    weir_cpu_watch_open(&watch, fixture.path);
    cr_expect_lt(watch.fd, 0, "another machine has no socket");
    cr_expect_eq(weir_cpu_watch_next(&watch, &change), 0);
    cr_assert_eq(weir_cpuset_add(&online, 3), 0);
    cr_expect_eq(weir_cpu_watch_list(&watch, &online), -EIO);
    cr_expect(weir_cpuset_has(&online, 3));
    weir_cpu_watch_close(&watch);
    weir_cpu_watch_close(&watch);
    weir_cpuset_fini(&online);
    fixture_fini(&fixture);
}

Test(cpu_watch, smt_is_off_when_the_machine_says_so)
{
    static const struct {
        const char *control;
        bool is_off;
    } rows[] = {{"on\n", false}, {"notsupported\n", false}, {"off\n", true}, {"forceoff\n", true}};
    struct fixture fixture;
    struct weir_cpu_watch watch;
    fixture_init(&fixture);
    weir_cpu_watch_open(&watch, fixture.path);
    cr_expect_not(weir_cpu_watch_smt_is_off(&watch), "not told");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        fixture_write(&fixture, rows[i].control, "sys/devices/system/cpu/smt/control");
        cr_expect_eq(weir_cpu_watch_smt_is_off(&watch), rows[i].is_off, "%s", rows[i].control);
    }
    weir_cpu_watch_close(&watch);
    fixture_fini(&fixture);
}

Test(cpu_watch, online_and_offline_cpus_follow_the_list)
{
    struct fixture fixture;
    struct weir_cpu_watch watch;
    struct weir_cpuset online = WEIR_CPUSET_INIT, offline = WEIR_CPUSET_INIT;
    char text[32];
    fixture_init(&fixture);
    fixture_write(&fixture, "0-1,3\n", "sys/devices/system/cpu/online");
    fixture_write(&fixture, "0-4\n", "sys/devices/system/cpu/present");
    weir_cpu_watch_open(&watch, fixture.path);
    cr_expect_eq(weir_cpu_watch_list(&watch, &online), 0);
    weir_cpuset_format(&online, text, sizeof(text));
    cr_expect_str_eq(text, "0-1,3");
    cr_expect_eq(weir_cpu_watch_offline(&watch, &online, &offline), 0);
    weir_cpuset_format(&offline, text, sizeof(text));
    cr_expect_str_eq(text, "2,4");
    fixture_write(&fixture, "0\n", "sys/devices/system/cpu/online");
    cr_expect_eq(weir_cpu_watch_list(&watch, &online), 0);
    cr_expect_eq(weir_cpuset_count(&online), 1);
    weir_cpuset_fini(&online);
    weir_cpuset_fini(&offline);
    fixture_fini(&fixture);
}
