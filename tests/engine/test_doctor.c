/* What weir doctor makes of facts, and what it reads from a copy of /proc. */
#include "engine/upkeep/doctor.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "tests/format/temp_tree.h"

/* A user who may do everything. */
static struct weir_doctor_facts well(void)
{
    struct weir_doctor_facts facts = {
        .limits =
            {
                .has_perf_events = true,
                .perf_event_paranoid = 2,
                .mlock_kb = 516,
                .memlock_bytes = WEIR_LIMIT_NONE,
                .nofile = 1024,
                .nofile_max = 4096,
                .page_bytes = 4096,
                .cap_perfmon = true,
                .cap_ipc_lock = true,
            },
        .cpus = 4,
        .nodes = 1,
        .memory_bytes = 64ull << 30,
        .memory_limit = {.bytes = WEIR_MEMORY_UNLIMITED},
        .cap_syslog = true,
        .cap_sys_ptrace = true,
        .free_bytes = 8ull << 30,
        .tracefs = "/sys/kernel/tracing",
        .folder = "/data",
    };
    return facts;
}

static struct weir_doctor_facts plain_user(void)
{
    struct weir_doctor_facts facts = well();
    facts.limits.cap_perfmon = facts.limits.cap_ipc_lock = facts.cap_syslog = facts.cap_sys_ptrace = false;
    return facts;
}

static const struct weir_finding *finding_of(const struct weir_doctor_facts *facts, const char *name)
{
    static struct weir_finding findings[WEIR_FINDINGS_MAX];
    size_t count = weir_doctor_judge(facts, findings);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(findings[i].name, name) == 0)
            return &findings[i];
    }
    cr_assert_fail("no finding '%s'", name);
    return NULL;
}

static void expect_finding(const struct weir_doctor_facts *facts, const char *name, enum weir_verdict verdict,
                           const char *fix)
{
    const struct weir_finding *finding = finding_of(facts, name);
    cr_expect_eq(finding->verdict, verdict, "%s: %s", name, finding->state);
    cr_expect_str_eq(finding->fix, fix, "%s: %s", name, finding->state);
}

Test(doctor, everything_is_refused_without_perf_events)
{
    struct weir_doctor_facts facts = well();
    facts.limits.has_perf_events = false;
    facts.event_error = -ENOSYS;
    expect_finding(&facts, "events", WEIR_VERDICT_BAD, "");
    facts.event_error = 0; /* a container that hides the knob */
    expect_finding(&facts, "events", WEIR_VERDICT_OK, "");
}

Test(doctor, filter_that_refuses_events_is_told_from_paranoia)
{
    struct weir_doctor_facts facts = plain_user();
    facts.event_error = -EPERM;
    facts.seccomp = 2;
    expect_finding(&facts, "events", WEIR_VERDICT_BAD,
                   "start the container with --cap-add=PERFMON, or with --security-opt seccomp=unconfined");
    expect_finding(&facts, "seccomp", WEIR_VERDICT_NOTE, "start the container with --security-opt seccomp=unconfined");
    facts.limits.perf_event_paranoid = 3;
    facts.event_error = -EACCES;
    expect_finding(&facts, "events", WEIR_VERDICT_BAD, "sudo sysctl kernel.perf_event_paranoid=2");
}

/* Each goal has the least change that reaches it. */
Test(doctor, paranoia_limits_goals_of_who_has_no_capability)
{
    static const struct {
        const char *name;
        int level;
        const char *fix;
    } goals[] = {{"kernel", 1, "sudo sysctl kernel.perf_event_paranoid=1"},
                 {"all-cpus", 0, "sudo sysctl kernel.perf_event_paranoid=0"},
                 {"tracepoints", -1, "sudo sysctl kernel.perf_event_paranoid=-1"}};
    struct weir_doctor_facts facts = plain_user(), may_all = well();
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(goals); i++) {
        for (int level = -1; level <= 4; level++) {
            facts.limits.perf_event_paranoid = may_all.limits.perf_event_paranoid = level;
            if (level <= goals[i].level)
                expect_finding(&facts, goals[i].name, WEIR_VERDICT_OK, "");
            else
                expect_finding(&facts, goals[i].name, WEIR_VERDICT_LIMITED, goals[i].fix);
            expect_finding(&may_all, goals[i].name, WEIR_VERDICT_OK, "");
            cr_expect_not_null(finding_of(&facts, goals[i].name)->goal);
        }
    }
    may_all.tracefs_error = -ENODEV;
    expect_finding(&may_all, "tracepoints", WEIR_VERDICT_LIMITED, "");
}

Test(doctor, security_modules_are_named_and_yama_limits_nothing)
{
    struct weir_doctor_facts facts = well();
    snprintf(facts.lockdown, sizeof(facts.lockdown), "none [integrity] confidentiality");
    expect_finding(&facts, "lockdown", WEIR_VERDICT_OK, "");
    snprintf(facts.lockdown, sizeof(facts.lockdown), "none integrity [confidentiality]");
    expect_finding(&facts, "lockdown", WEIR_VERDICT_LIMITED, "");
    snprintf(facts.profile, sizeof(facts.profile), "weir (enforce)");
    expect_finding(&facts, "lsm", WEIR_VERDICT_OK, "");
    facts.event_error = -EACCES;
    expect_finding(&facts, "lsm", WEIR_VERDICT_NOTE, "");
    cr_expect_not_null(strstr(finding_of(&facts, "lsm")->state, "AppArmor confines this process (weir (enforce))"));
    facts.yama = 3;
    expect_finding(&facts, "yama", WEIR_VERDICT_OK, "");
}

Test(doctor, capabilities_that_are_missing_are_named)
{
    struct weir_doctor_facts facts = plain_user();
    facts.limits.cap_perfmon = true;
    const struct weir_finding *finding = finding_of(&facts, "capabilities");
    cr_expect_str_eq(finding->state, "missing: CAP_IPC_LOCK CAP_SYSLOG CAP_SYS_PTRACE; the fix gives them to a group");
    cr_expect_str_eq(finding->fix, "w=$(command -v weir); sudo groupadd -f perf_users; sudo chgrp perf_users \"$w\"; "
                                   "sudo chmod 750 \"$w\"; "
                                   "sudo setcap cap_perfmon,cap_ipc_lock,cap_syslog,cap_sys_ptrace=ep \"$w\"");
    facts.limits.in_user_namespace = true;
    expect_finding(&facts, "capabilities", WEIR_VERDICT_NOTE, "");
}

Test(doctor, locked_memory_is_compared_with_what_rings_and_buffers_take)
{
    struct weir_doctor_facts facts = plain_user();
    facts.limits.memlock_bytes = 8u << 20;
    expect_finding(&facts, "mlock", WEIR_VERDICT_NOTE, "sudo sysctl kernel.perf_event_mlock_kb=9224");
    expect_finding(&facts, "memlock", WEIR_VERDICT_NOTE, "sudo prlimit --pid $$ --memlock=unlimited");
    facts.limits.mlock_kb = 1u << 20;
    facts.limits.memlock_bytes = 128u << 20;
    expect_finding(&facts, "mlock", WEIR_VERDICT_OK, "");
    expect_finding(&facts, "memlock", WEIR_VERDICT_OK, "");
}

Test(doctor, memory_cgroup_that_is_too_small_limits)
{
    struct weir_doctor_facts facts = well();
    expect_finding(&facts, "cgroup", WEIR_VERDICT_OK, "");
    facts.memory_limit = (struct weir_memory_limit){.bytes = 64ull << 20, .file = "/c/memory.max"};
    expect_finding(&facts, "cgroup", WEIR_VERDICT_OK, "");
    facts.memory_limit.bytes = 4ull << 20;
    const struct weir_finding *finding = finding_of(&facts, "cgroup");
    cr_expect_eq(finding->verdict, WEIR_VERDICT_LIMITED);
    cr_expect_str_eq(finding->state, "recording begins with 21 MiB of memory, and its cgroup has at most 4 MiB");
    cr_expect(strncmp(finding->fix, "sudo sh -c 'echo ", 17) == 0 && strstr(finding->fix, " >/c/memory.max'"), "%s",
              finding->fix);
}

Test(doctor, hard_limit_on_descriptors_limits)
{
    struct weir_doctor_facts facts = well();
    facts.cpus = 256;
    facts.limits.nofile_max = 1024;
    expect_finding(&facts, "files", WEIR_VERDICT_LIMITED, "sudo prlimit --pid $$ --nofile=1344");
    facts.limits.nofile_max = 1344;
    expect_finding(&facts, "files", WEIR_VERDICT_OK, "");
}

Test(doctor, hidden_kernel_addresses_have_two_causes)
{
    struct weir_doctor_facts facts = plain_user();
    facts.kptr_restrict = 1;
    facts.limits.perf_event_paranoid = 1;
    expect_finding(&facts, "kptr", WEIR_VERDICT_NOTE, "sudo sysctl kernel.kptr_restrict=0");
    facts.kptr_restrict = 0;
    expect_finding(&facts, "kptr", WEIR_VERDICT_OK, "");
    facts.limits.perf_event_paranoid = 2;
    expect_finding(&facts, "kptr", WEIR_VERDICT_NOTE, "sudo sysctl kernel.perf_event_paranoid=1");
    facts.kptr_restrict = 1;
    expect_finding(&facts, "kptr", WEIR_VERDICT_NOTE,
                   "sudo sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1");
    facts = well();
    facts.kptr_restrict = 2;
    expect_finding(&facts, "kptr", WEIR_VERDICT_NOTE, "sudo sysctl kernel.kptr_restrict=0");
}

Test(doctor, watchdog_matters_with_hardware_counters_only)
{
    struct weir_doctor_facts facts = well();
    facts.nmi_watchdog = 1;
    expect_finding(&facts, "watchdog", WEIR_VERDICT_NOTE, "sudo sysctl kernel.nmi_watchdog=0");
    facts.hardware_error = -ENOENT;
    expect_finding(&facts, "watchdog", WEIR_VERDICT_OK, "");
    expect_finding(&facts, "hardware", WEIR_VERDICT_NOTE, "");
}

Test(doctor, tracefs_may_be_closed_or_not_mounted)
{
    struct weir_doctor_facts facts = well();
    facts.tracefs_error = -EACCES;
    expect_finding(&facts, "tracefs", WEIR_VERDICT_LIMITED, "sudo mount -o remount,mode=755 /sys/kernel/tracing");
    facts.tracefs_error = -ENODEV;
    expect_finding(&facts, "tracefs", WEIR_VERDICT_LIMITED, "sudo mount -t tracefs nodev /sys/kernel/tracing");
}

Test(doctor, io_uring_may_be_switched_off_or_filtered)
{
    struct weir_doctor_facts facts = well();
    facts.uring_error = -EPERM;
    facts.io_uring_disabled = 2;
    expect_finding(&facts, "io_uring", WEIR_VERDICT_NOTE, "sudo sysctl kernel.io_uring_disabled=0");
    facts.io_uring_disabled = 0;
    expect_finding(&facts, "io_uring", WEIR_VERDICT_NOTE, "start the container with --security-opt seccomp=unconfined");
    facts.uring_error = -ENOMEM;
    expect_finding(&facts, "io_uring", WEIR_VERDICT_NOTE, "sudo prlimit --pid $$ --memlock=unlimited");
}

Test(doctor, folder_may_take_no_direct_writes_no_files_or_no_bytes)
{
    struct weir_doctor_facts facts = well();
    facts.direct_error = -EINVAL;
    expect_finding(&facts, "direct", WEIR_VERDICT_NOTE, "");
    facts.direct_error = -EACCES;
    expect_finding(&facts, "direct", WEIR_VERDICT_LIMITED, "");
    facts.free_bytes = 5u << 20;
    cr_expect_str_eq(finding_of(&facts, "space")->state, "5 MiB are free in /data");
    expect_finding(&facts, "space", WEIR_VERDICT_NOTE, "");
    facts.space_error = -ENOENT;
    expect_finding(&facts, "space", WEIR_VERDICT_LIMITED, "");
}

Test(doctor, nothing_is_wrong_where_nothing_is)
{
    struct weir_doctor_facts facts = well();
    struct weir_finding findings[WEIR_FINDINGS_MAX];
    size_t count = weir_doctor_judge(&facts, findings);
    cr_expect_eq(count, 21);
    for (size_t i = 0; i < count; i++) {
        cr_expect_eq(findings[i].verdict, WEIR_VERDICT_OK, "%s: %s", findings[i].name, findings[i].state);
        cr_expect_str_eq(findings[i].fix, "");
        cr_expect_str_neq(findings[i].state, "");
    }
}

Test(doctor, knobs_come_from_the_copy_of_proc)
{
    struct temp_tree tree;
    temp_tree_init(&tree);
    temp_tree_write_text(&tree, "sys/kernel/perf_event_paranoid", "3\n");
    temp_tree_write_text(&tree, "sys/kernel/kptr_restrict", "2\n");
    temp_tree_write_text(&tree, "sys/kernel/io_uring_disabled", "1\n");
    temp_tree_write_text(&tree, "sys/kernel/yama/ptrace_scope", "2\n");
    temp_tree_write_text(&tree, "self/attr/current", "weir (enforce)\n");
    temp_tree_write_text(&tree, "kernel/security/lockdown", "none [integrity] confidentiality\n");
    temp_tree_write_text(&tree, "fs/selinux/enforce", "1");
    temp_tree_write_text(&tree, "self/status", "Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n");
    struct weir_doctor_facts facts;
    struct weir_error err = {0};
    const struct weir_doctor_setup setup = {.proc_root = tree.root, .sys_root = tree.root, .folder = "/no/such/folder"};
    cr_assert_eq(weir_doctor_gather(&facts, &setup, &err), 0, "%s", err.what);
    cr_expect_eq(facts.limits.perf_event_paranoid, 3);
    cr_expect_eq(facts.kptr_restrict, 2);
    cr_expect_eq(facts.io_uring_disabled, 1);
    cr_expect_eq(facts.seccomp, 2);
    cr_expect_eq(facts.yama, 2);
    cr_expect_str_eq(facts.profile, "weir (enforce)");
    cr_expect_str_eq(facts.lockdown, "none [integrity] confidentiality");
    cr_expect(facts.selinux_enforces);
    cr_expect_eq(facts.nmi_watchdog, -1, "not told");
    cr_expect_eq(facts.direct_error, -ENOENT);
    cr_expect_eq(facts.space_error, -ENOENT);
    cr_expect_gt(facts.cpus, 0);
    temp_tree_fini(&tree);
}
