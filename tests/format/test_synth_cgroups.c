/* CGROUP records: of a list of mounts that the test writes, and of the hierarchy of the machine. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/format/synth_fixture.h"

static struct synth_fixture fixture;

static void init(void)
{
    synth_fixture_init(&fixture);
}

static void fini(void)
{
    synth_fixture_fini(&fixture);
}

TestSuite(synth_cgroups, .init = init, .fini = fini);

Test(synth_cgroups, without_a_list_of_mounts_there_are_no_groups)
{
    cr_expect_eq(weir_synth_cgroups(&fixture.options, NULL), 0);
    cr_expect_eq(fixture.sink.calls, 0);
}

Test(synth_cgroups, other_controllers_and_vanished_mounts_give_no_groups)
{
    synth_fixture_write(&fixture, "mounts", "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\nproc /proc proc rw 0 0\n");
    cr_expect_eq(weir_synth_cgroups(&fixture.options, NULL), 0);
    synth_fixture_write(&fixture, "mounts", "cgroup2 /nonexistent/cgroup cgroup2 rw 0 0\n");
    cr_expect_eq(weir_synth_cgroups(&fixture.options, NULL), 0);
    cr_expect_eq(fixture.sink.calls, 0);
}

/* ---- the machine's own ---- */

static char mount[PATH_MAX], group[PATH_MAX], inner[PATH_MAX];

/* The hierarchy of perf_event; false: this machine has none. */
static bool find_machines_mount(void)
{
    FILE *mounts = setmntent("/proc/mounts", "re");
    cr_assert_not_null(mounts);
    const struct mntent *entry;
    while (!mount[0] && (entry = getmntent(mounts))) {
        if (strcmp(entry->mnt_type, "cgroup") == 0 && hasmntopt(entry, "perf_event"))
            format_text(mount, sizeof(mount), "%s", entry->mnt_dir);
    }
    endmntent(mounts);
    return mount[0];
}

static uint64_t id_of(const char *path)
{
    union {
        struct file_handle handle;
        char room[sizeof(struct file_handle) + 8];
    } buffer = {.handle = {.handle_bytes = 8}};
    int mount_id;
    uint64_t id;
    cr_assert_eq(name_to_handle_at(AT_FDCWD, path, &buffer.handle, &mount_id, 0), 0);
    memcpy(&id, buffer.handle.f_handle, sizeof(id));
    return id;
}

/* The position of the group's record among all, -1: none. Its bytes are checked. */
static int position_of(const char *path, uint64_t id)
{
    const struct weir_buf *records = &fixture.sink.records;
    int position = 0;
    struct perf_event_header header;
    for (size_t at = 0; at < records->used; at += header.size, position++) {
        memcpy(&header, records->data + at, sizeof(header));
        cr_assert(header.type == PERF_RECORD_CGROUP && header.size % 8 == 0);
        const char *name = (const char *)records->data + at + 16;
        if (strcmp(name, path) != 0)
            continue;
        cr_expect_eq(memcmp(records->data + at + 8, &id, sizeof(id)), 0, "id of %s", path);
        cr_expect_eq(header.size, 16 + (strlen(path) + 8) / 8 * 8 + TRAILER_BYTES);
        return position;
    }
    return -1;
}

Test(synth_cgroups, every_group_of_the_machine_comes_after_its_parent)
{
    if (!find_machines_mount())
        cr_skip_test("needs cgroup version 1 with the controller perf_event");
    char name[64], below[128];
    format_text(name, sizeof(name), "/weir-test-%d", (int)getpid());
    format_text(below, sizeof(below), "%s/inner", name);
    format_text(group, sizeof(group), "%s%s", mount, name);
    format_text(inner, sizeof(inner), "%s%s", mount, below);
    if (mkdir(group, 0755) < 0)
        cr_skip_test("needs to be allowed to make control groups");
    cr_assert_eq(mkdir(inner, 0755), 0);
    uint64_t root_id = id_of(mount), group_id = id_of(group), inner_id = id_of(inner);
    fixture.options.proc_root = NULL;
    int result = weir_synth_cgroups(&fixture.options, NULL);
    cr_expect_eq(rmdir(inner), 0);
    cr_expect_eq(rmdir(group), 0);

    cr_assert_eq(result, 0);
    cr_expect_eq(position_of("/", root_id), 0);
    cr_expect_gt(position_of(name, group_id), 0);
    cr_expect_eq(position_of(below, inner_id), position_of(name, group_id) + 1);
}

Test(synth_cgroups, failure_to_write_ends_it)
{
    if (!find_machines_mount())
        cr_skip_test("needs cgroup version 1 with the controller perf_event");
    struct weir_error err = {0};
    fixture.options.proc_root = NULL;
    fixture.sink.fail_at = 1;
    fixture.sink.error = -ENOSPC;
    cr_expect_eq(weir_synth_cgroups(&fixture.options, &err), -ENOSPC);
    cr_expect_eq(strncmp(err.what, "cannot record the control groups in /", 37), 0, "%s", err.what);
}
