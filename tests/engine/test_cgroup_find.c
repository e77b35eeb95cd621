/* Cgroups by the names of users, in trees of the test's own making: what systemd and the runtimes of containers make.
 */
#include "engine/events/cgroup_find.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "tests/base/failing_alloc.h"

#define ZEROS "00000000000000000000000000000000000000000000000000000000000000" /* 62 */
#define ID_1  "ab" ZEROS
#define ID_2  "ac" ZEROS
#define ID_3  "ad" ZEROS
#define ID_4  "ae" ZEROS
#define ID_5  "af" ZEROS

struct fixture {
    char root[128], mounts[160], hierarchy[160];
    struct weir_cgroup_paths paths;
    struct weir_error err;
};

static void make_folder(const struct fixture *f, const char *path)
{
    char whole[512];
    snprintf(whole, sizeof(whole), "%s/%s", f->hierarchy, path);
    for (char *slash = whole + strlen(f->hierarchy) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        mkdir(whole, 0755);
    }
    cr_assert_eq(mkdir(whole, 0755), 0, "%s", whole);
}

static void fixture_init(struct fixture *f, const char *type, const char *options)
{
    *f = (struct fixture){0};
    const char *folder = getenv("TMPDIR");
    snprintf(f->root, sizeof(f->root), "%s/weir-find-XXXXXX", folder ? folder : "/tmp");
    cr_assert_not_null(mkdtemp(f->root));
    snprintf(f->mounts, sizeof(f->mounts), "%s/mounts", f->root);
    snprintf(f->hierarchy, sizeof(f->hierarchy), "%s/tree", f->root);
    cr_assert_eq(mkdir(f->hierarchy, 0755), 0);
    FILE *file = fopen(f->mounts, "we");
    cr_assert_not_null(file);
    fprintf(file, "none %s %s %s 0 0\n", f->hierarchy, type, options);
    fclose(file);
}

static void fixture_fini(struct fixture *f)
{
    char command[160];
    weir_cgroup_paths_fini(&f->paths);
    weir_cgroup_paths_fini(&f->paths);
    weir_cgroup_paths_fini(NULL);
    snprintf(command, sizeof(command), "rm -r %s", f->root);
    cr_expect_eq(system(command), 0);
}

static int find(struct fixture *f, enum weir_cgroup_kind kind, const char *name)
{
    weir_cgroup_paths_fini(&f->paths);
    f->err = (struct weir_error){0};
    return weir_cgroup_find(kind, name, f->mounts, &f->paths, &f->err);
}

/* paths: with blanks between them. */
static void expect_found(struct fixture *f, enum weir_cgroup_kind kind, const char *name, const char *paths)
{
    char found[1024] = "";
    cr_expect_eq(find(f, kind, name), 0, "%s: %s", name, f->err.what);
    for (size_t i = 0; i < f->paths.count; i++) {
        size_t used = strlen(found);
        snprintf(found + used, sizeof(found) - used, "%s%s", i ? " " : "", f->paths.at[i]);
    }
    cr_expect_str_eq(found, paths, "%s: %s", name, found);
}

static void expect_error(struct fixture *f, enum weir_cgroup_kind kind, const char *name, int code, const char *what)
{
    cr_expect_eq(find(f, kind, name), code, "%s", name);
    cr_expect_eq(strncmp(f->err.what, what, strlen(what)), 0, "%s: %s", name, f->err.what);
    cr_expect_eq(f->paths.count, 0);
}

/* ---- errors ---- */

Test(cgroup_find, names_that_nothing_has_are_told)
{
    struct fixture f;
    fixture_init(&f, "cgroup2", "rw");
    make_folder(&f, "system.slice/nginx.service");
    make_folder(&f, "docker/" ID_1);
    make_folder(&f, "machine.slice/libpod-conmon-" ID_2 ".scope");
    expect_error(&f, WEIR_CGROUP_UNIT, "apache", -ENOENT, "unit 'apache.service' is not running: it has no cgroup in ");
    expect_error(&f, WEIR_CGROUP_UNIT, "nginx.socket", -ENOENT, "unit 'nginx.socket' is not running");
    expect_error(&f, WEIR_CGROUP_CONTAINER, "b", -ENOENT, "container 'b' is not running: it has no cgroup in ");
    expect_error(&f, WEIR_CGROUP_CONTAINER, "ac", -ENOENT, "container 'ac' is not running"); /* its monitor only */
    expect_error(&f, WEIR_CGROUP_CONTAINER, ID_1 "0", -ENOENT, "container '");
    expect_error(&f, WEIR_CGROUP_PATTERN, "*/apache*", -ENOENT, "no cgroup matches '*/apache*' in ");
    fixture_fini(&f);
}

Test(cgroup_find, hierarchy_that_is_not_mounted_is_an_error)
{
    struct fixture f;
    fixture_init(&f, "cgroup", "rw,name=systemd");
    expect_error(&f, WEIR_CGROUP_UNIT, "a", -ENODEV, "no cgroup hierarchy is mounted that knows perf events ('a')");
    fixture_fini(&f);
}

Test(cgroup_find, several_containers_are_named)
{
    struct fixture f;
    fixture_init(&f, "cgroup2", "rw");
    make_folder(&f, "docker/" ID_1);
    make_folder(&f, "docker/" ID_2);
    expect_error(&f, WEIR_CGROUP_CONTAINER, "a", -ENOTUNIQ, "several containers have ids that begin with 'a': a");
    fixture_fini(&f);
}

Test(cgroup_find, number_of_cgroups_is_bounded)
{
    struct fixture f;
    char name[32];
    fixture_init(&f, "cgroup2", "rw");
    for (unsigned i = 0; i <= WEIR_CGROUP_FIND_MAX; i++) {
        snprintf(name, sizeof(name), "a%u.service", i);
        make_folder(&f, name);
    }
    expect_error(&f, WEIR_CGROUP_UNIT, "a*", -E2BIG, "'a*' stands for more than 256 cgroups");
    expect_error(&f, WEIR_CGROUP_PATTERN, "a*", -E2BIG, "'a*' stands for more than 256 cgroups");
    fixture_fini(&f);
}

Test(cgroup_find, out_of_memory_is_told)
{
    struct fixture f;
    fixture_init(&f, "cgroup2", "rw");
    make_folder(&f, "a.service");
    int result = -ENOMEM;
    for (unsigned successes = 0; result < 0 && successes < 100; successes++) {
        failing_alloc_after(successes);
        result = find(&f, WEIR_CGROUP_UNIT, "a");
        failing_alloc_never();
        cr_expect(result == 0 || result == -ENOMEM || result == -ENODEV, "%d after %u", result, successes);
    }
    cr_expect_eq(result, 0);
    fixture_fini(&f);
}

/* ---- units ---- */

Test(cgroup_find, units_are_found_by_name_template_and_pattern)
{
    struct fixture f;
    fixture_init(&f, "cgroup2", "rw");
    make_folder(&f, "system.slice/nginx.service/worker");
    make_folder(&f, "system.slice/system-getty.slice/getty@tty2.service");
    make_folder(&f, "system.slice/system-getty.slice/getty@tty1.service");
    make_folder(&f, "system.slice/dbus.service");
    make_folder(&f, "system.slice/dbus.socket");
    make_folder(&f, "user.slice/user-1.slice/user@1.service/app.slice/dbus.service");
    make_folder(&f, "user.slice/user-1.slice/user@1.service/app.slice/pipewire.service");
    make_folder(&f, "user.slice/user-1.slice/session-2.scope");
    expect_found(&f, WEIR_CGROUP_UNIT, "nginx", "system.slice/nginx.service");
    expect_found(&f, WEIR_CGROUP_UNIT, "nginx.service", "system.slice/nginx.service");
    expect_found(&f, WEIR_CGROUP_UNIT, "getty@tty1", "system.slice/system-getty.slice/getty@tty1.service");
    expect_found(&f, WEIR_CGROUP_UNIT, "getty@",
                 "system.slice/system-getty.slice/getty@tty1.service "
                 "system.slice/system-getty.slice/getty@tty2.service");
    expect_found(&f, WEIR_CGROUP_UNIT, "getty@.service",
                 "system.slice/system-getty.slice/getty@tty1.service "
                 "system.slice/system-getty.slice/getty@tty2.service");
    expect_found(&f, WEIR_CGROUP_UNIT, "system-getty.slice", "system.slice/system-getty.slice");
    expect_found(&f, WEIR_CGROUP_UNIT, "session-2.scope", "user.slice/user-1.slice/session-2.scope");
    expect_found(&f, WEIR_CGROUP_UNIT, "dbus", "system.slice/dbus.service"); /* not that of the user */
    expect_found(&f, WEIR_CGROUP_UNIT, "pipewire", "user.slice/user-1.slice/user@1.service/app.slice/pipewire.service");
    expect_found(&f, WEIR_CGROUP_UNIT, "[dn]*.socket", "system.slice/dbus.socket");
    fixture_fini(&f);
}

/* ---- containers ---- */

Test(cgroup_find, containers_of_all_runtimes_are_found_by_id)
{
    struct fixture f;
    fixture_init(&f, "cgroup", "rw,perf_event");
    make_folder(&f, "system.slice/docker-" ID_1 ".scope/init");
    make_folder(&f, "docker/" ID_2);
    make_folder(&f, "kubepods.slice/kubepods-burstable.slice/cri-containerd-" ID_3 ".scope");
    make_folder(&f, "kubepods/besteffort/podaaaaaaaa-aaaa/" ID_4);
    make_folder(&f, "machine.slice/libpod-" ID_5 ".scope/container");
    make_folder(&f, "machine.slice/libpod-conmon-" ID_5 ".scope");
    make_folder(&f, "machine.slice/machine-deb.scope");
    expect_found(&f, WEIR_CGROUP_CONTAINER, "ab", "system.slice/docker-" ID_1 ".scope");
    expect_found(&f, WEIR_CGROUP_CONTAINER, ID_2, "docker/" ID_2);
    expect_found(&f, WEIR_CGROUP_CONTAINER, "ad0",
                 "kubepods.slice/kubepods-burstable.slice/cri-containerd-" ID_3 ".scope");
    expect_found(&f, WEIR_CGROUP_CONTAINER, "ae", "kubepods/besteffort/podaaaaaaaa-aaaa/" ID_4);
    expect_found(&f, WEIR_CGROUP_CONTAINER, "af", "machine.slice/libpod-" ID_5 ".scope");
    expect_found(&f, WEIR_CGROUP_CONTAINER, "deb", "machine.slice/machine-deb.scope");
    fixture_fini(&f);
}

/* ---- patterns ---- */

Test(cgroup_find, patterns_are_of_folders_in_the_hierarchy)
{
    struct fixture f;
    char name[256], link[256];
    fixture_init(&f, "cgroup2", "rw");
    make_folder(&f, "a/x1");
    make_folder(&f, "a/x2");
    make_folder(&f, "b/x3");
    snprintf(link, sizeof(link), "%s/a/x9", f.hierarchy);
    cr_assert_eq(symlink("..", link), 0);
    expect_found(&f, WEIR_CGROUP_PATTERN, "a/x*", "a/x1 a/x2");
    expect_found(&f, WEIR_CGROUP_PATTERN, "/?/x[13]", "a/x1 b/x3");
    snprintf(name, sizeof(name), "%s/*/x2", f.hierarchy);
    expect_found(&f, WEIR_CGROUP_PATTERN, name, "a/x2");
    cr_expect(weir_cgroup_is_pattern("a/x?"));
    cr_expect_not(weir_cgroup_is_pattern("a/x1"));
    fixture_fini(&f);
}

Test(cgroup_find, each_path_is_there_once)
{
    struct fixture f;
    fixture_init(&f, "cgroup2", "rw");
    make_folder(&f, "b.service");
    make_folder(&f, "a.service");
    cr_assert_eq(find(&f, WEIR_CGROUP_UNIT, "b"), 0);
    cr_assert_eq(weir_cgroup_find(WEIR_CGROUP_UNIT, "*", f.mounts, &f.paths, &f.err), 0);
    cr_assert_eq(f.paths.count, 2);
    cr_expect_str_eq(f.paths.at[0], "b.service");
    cr_expect_str_eq(f.paths.at[1], "a.service");
    fixture_fini(&f);
}
