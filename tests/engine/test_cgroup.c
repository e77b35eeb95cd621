/* Cgroups of events, on a hierarchy of the test's own making. */
#include "engine/events/cgroup.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "engine/events/event_parse.h"
#include "tests/base/failing_alloc.h"

struct fixture {
    struct weir_event_list list;
    struct weir_error err;
    size_t given;
    char root[128];
    char mounts[160];
};

static void fixture_init(struct fixture *f, const char *events)
{
    *f = (struct fixture){.list = WEIR_EVENT_LIST_INIT};
    cr_assert_eq(weir_event_list_parse(&f->list, events, NULL, &f->err), 0, "%s", f->err.what);
    const char *folder = getenv("TMPDIR");
    snprintf(f->root, sizeof(f->root), "%s/weir-cgroup-XXXXXX", folder ? folder : "/tmp");
    cr_assert_not_null(mkdtemp(f->root));
    snprintf(f->mounts, sizeof(f->mounts), "%s/mounts", f->root);
}

static void fixture_fini(struct fixture *f)
{
    static const char *const made[] = {"v1/a", "v1", "v2/a/b", "v2/a", "v2", "mounts"};
    weir_event_list_fini(&f->list);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(made); i++) {
        char path[256];
        snprintf(path, sizeof(path), "%s/%s", f->root, made[i]);
        remove(path);
    }
    cr_expect_eq(rmdir(f->root), 0);
}

static void make_folder(const struct fixture *f, const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", f->root, name);
    cr_assert_eq(mkdir(path, 0755), 0);
}

static void add_mount(const struct fixture *f, const char *folder, const char *type, const char *options)
{
    FILE *file = fopen(f->mounts, "ae");
    cr_assert_not_null(file);
    fprintf(file, "none %s/%s %s %s 0 0\n", f->root, folder, type, options);
    fclose(file);
}

static int assign(struct fixture *f, const char *names)
{
    return weir_cgroup_assign(&f->list, names, &f->given, &f->err);
}

static void expect_cgroup(const struct fixture *f, size_t event, const char *name)
{
    const char *has = f->list.events[event].cgroup;
    cr_expect_str_eq(has ? has : "none", name, "event %zu has %s", event, has ? has : "none");
}

/* ---- errors ---- */

Test(cgroup, names_without_an_event_are_refused)
{
    struct fixture f;
    fixture_init(&f, "cs,faults");
    cr_expect_eq(assign(&f, "a,b,c"), -EINVAL);
    cr_expect_str_eq(f.err.what, "cgroup 'c' has no event");
    cr_expect_str_eq(f.err.hint,
                     "events come before their cgroups: -e cs,faults -G A,B; one cgroup alone is for all of them");
    fixture_fini(&f);
}

Test(cgroup, hierarchy_that_is_not_mounted_is_an_error)
{
    struct fixture f;
    fixture_init(&f, "cs");
    cr_assert_eq(assign(&f, "a"), 0);
    add_mount(&f, "v1", "cgroup", "rw,cpu,cpuacct");
    add_mount(&f, "v2", "tmpfs", "rw,perf_event");
    cr_expect_eq(weir_cgroup_open(&f.list, f.mounts, &f.err), -ENODEV);
    cr_expect_str_eq(f.err.what, "no cgroup hierarchy is mounted that knows perf events (cgroup 'a')");
    cr_expect_str_eq(f.err.hint, "mount -t cgroup2 none /sys/fs/cgroup");
    cr_expect_eq(weir_cgroup_open(&f.list, "/nowhere", &f.err), -ENODEV);
    fixture_fini(&f);
}

Test(cgroup, missing_cgroup_is_named_with_its_hierarchy)
{
    struct fixture f;
    fixture_init(&f, "cs");
    make_folder(&f, "v2");
    add_mount(&f, "v2", "cgroup2", "rw");
    cr_assert_eq(assign(&f, "no/such"), 0);
    cr_expect_eq(weir_cgroup_open(&f.list, f.mounts, &f.err), -ENOENT);
    char what[256];
    snprintf(what, sizeof(what), "cannot open cgroup 'no/such' in %s/v2: No such file or directory", f.root);
    cr_expect_str_eq(f.err.what, what, "%s", f.err.what);
    snprintf(what, sizeof(what), "cgroups are the folders there: find %s/v2 -type d", f.root);
    cr_expect_str_eq(f.err.hint, what, "%s", f.err.hint);
    fixture_fini(&f);
}

Test(cgroup, file_is_no_cgroup)
{
    struct fixture f;
    fixture_init(&f, "cs");
    add_mount(&f, ".", "cgroup2", "rw");
    cr_assert_eq(assign(&f, "mounts"), 0);
    cr_expect_eq(weir_cgroup_open(&f.list, f.mounts, &f.err), -ENOTDIR);
    fixture_fini(&f);
}

Test(cgroup, out_of_memory_is_told)
{
    struct fixture f;
    fixture_init(&f, "cs,faults");
    for (unsigned successes = 0; successes < 2; successes++) {
        f.given = 0;
        failing_alloc_after(successes);
        cr_expect_eq(assign(&f, "a"), -ENOMEM, "after %u", successes);
        failing_alloc_never();
    }
    fixture_fini(&f);
}

/* ---- which event has which ---- */

Test(cgroup, one_alone_is_for_all_events)
{
    struct fixture f;
    fixture_init(&f, "cs,faults,migrations");
    cr_assert_eq(assign(&f, "a/b"), 0);
    for (size_t i = 0; i < 3; i++)
        expect_cgroup(&f, i, "a/b");
    fixture_fini(&f);
}

Test(cgroup, several_are_for_one_event_each_and_an_empty_one_for_none)
{
    struct fixture f;
    fixture_init(&f, "cs,faults,migrations");
    cr_assert_eq(assign(&f, "a,,b"), 0);
    expect_cgroup(&f, 0, "a");
    expect_cgroup(&f, 1, "none");
    expect_cgroup(&f, 2, "b");
    fixture_fini(&f);
}

Test(cgroup, later_lists_go_on_with_the_next_event)
{
    struct fixture f;
    fixture_init(&f, "cs,faults,migrations,minor-faults");
    cr_assert_eq(assign(&f, "a,b"), 0);
    cr_assert_eq(assign(&f, "c"), 0);
    cr_assert_eq(f.given, 3);
    expect_cgroup(&f, 0, "a");
    expect_cgroup(&f, 1, "b");
    expect_cgroup(&f, 2, "c");
    expect_cgroup(&f, 3, "none");
    fixture_fini(&f);
}

/* ---- where they are ---- */

Test(cgroup, version_1_with_perf_event_goes_before_version_2)
{
    struct fixture f;
    struct stat opened, wanted;
    fixture_init(&f, "cs,faults");
    make_folder(&f, "v1");
    make_folder(&f, "v1/a");
    make_folder(&f, "v2");
    make_folder(&f, "v2/a");
    add_mount(&f, "v2", "cgroup2", "rw");
    add_mount(&f, "v1", "cgroup", "rw,perf_event");
    cr_assert_eq(assign(&f, "a,"), 0);
    cr_assert_eq(weir_cgroup_open(&f.list, f.mounts, &f.err), 0, "%s", f.err.what);
    cr_expect_eq(f.list.events[1].cgroup_fd, -1);
    char path[256];
    snprintf(path, sizeof(path), "%s/v1/a", f.root);
    cr_assert_eq(fstat(f.list.events[0].cgroup_fd, &opened), 0);
    cr_assert_eq(stat(path, &wanted), 0);
    cr_expect_eq(opened.st_ino, wanted.st_ino);
    fixture_fini(&f);
}

Test(cgroup, paths_below_version_2_and_its_root_are_found)
{
    struct fixture f;
    fixture_init(&f, "cs,faults");
    make_folder(&f, "v2");
    make_folder(&f, "v2/a");
    make_folder(&f, "v2/a/b");
    add_mount(&f, "v2", "cgroup2", "rw");
    cr_assert_eq(assign(&f, "a/b,/"), 0);
    cr_assert_eq(weir_cgroup_open(&f.list, f.mounts, &f.err), 0, "%s", f.err.what);
    cr_expect_geq(f.list.events[0].cgroup_fd, 0);
    cr_expect_geq(f.list.events[1].cgroup_fd, 0);
    fixture_fini(&f);
}

Test(cgroup, absolute_paths_into_the_hierarchy_are_found)
{
    struct fixture f;
    char names[512];
    fixture_init(&f, "cs,faults,migrations");
    make_folder(&f, "v2");
    make_folder(&f, "v2/a");
    make_folder(&f, "v2/a/b");
    add_mount(&f, "v2", "cgroup2", "rw");
    snprintf(names, sizeof(names), "%s/v2/a/b,/a/b,%s/v2", f.root, f.root);
    cr_assert_eq(assign(&f, names), 0);
    cr_assert_eq(weir_cgroup_open(&f.list, f.mounts, &f.err), 0, "%s", f.err.what);
    struct stat absolute, below;
    cr_assert_eq(fstat(f.list.events[0].cgroup_fd, &absolute), 0);
    cr_assert_eq(fstat(f.list.events[1].cgroup_fd, &below), 0);
    cr_expect_eq(absolute.st_ino, below.st_ino);
    fixture_fini(&f);
}

/* -G A with hundreds of tracepoints. */
Test(cgroup, events_of_one_cgroup_share_its_descriptor)
{
    struct fixture f;
    fixture_init(&f, "cs,faults,migrations,minor-faults");
    make_folder(&f, "v2");
    make_folder(&f, "v2/a");
    make_folder(&f, "v2/a/b");
    add_mount(&f, "v2", "cgroup2", "rw");
    cr_assert_eq(assign(&f, "a,a/b,a,"), 0);
    cr_expect_eq(weir_cgroup_count_fds(&f.list), 0);
    cr_assert_eq(weir_cgroup_open(&f.list, f.mounts, &f.err), 0, "%s", f.err.what);
    const struct weir_event *events = f.list.events;
    cr_expect_eq(events[2].cgroup_fd, events[0].cgroup_fd);
    cr_expect_neq(events[1].cgroup_fd, events[0].cgroup_fd);
    cr_expect_eq(weir_cgroup_count_fds(&f.list), 2);
    int fd = events[0].cgroup_fd;
    weir_event_list_truncate(&f.list, 2);
    cr_expect_geq(fcntl(fd, F_GETFD), 0, "it is the first one's");
    weir_event_list_truncate(&f.list, 0);
    cr_expect_eq(fcntl(fd, F_GETFD), -1);
    fixture_fini(&f);
}
