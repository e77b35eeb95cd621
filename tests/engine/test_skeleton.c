/* BPF programs of this tree: each missing prerequisite has its message, and loaded programs run while attached. */
#include "engine/bpf/skeleton.h"

#include <bpf/bpf.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/engine/switch_count.h"
#include "tests/engine/switch_count_skeleton.h"

static struct weir_skeleton *skeleton;
static struct weir_error err;

static struct weir_skeleton_setup setup_of(void)
{
    return (struct weir_skeleton_setup){
        .user = "--count", .image = weir_switch_count_skeleton, .image_bytes = weir_switch_count_skeleton_bytes};
}

static void skip_without_programs(void)
{
    if (weir_switch_count_skeleton_bytes == 0)
        cr_skip("built without clang or bpftool (scripts/deps build)");
    if (access("/sys/kernel/btf/vmlinux", R_OK) < 0)
        cr_skip("the kernel has no BTF");
}

static void skip_without_rights(void)
{
    skip_without_programs();
    if (geteuid() != 0)
        cr_skip("loading BPF programs needs root");
}

static void fini(void)
{
    weir_skeleton_free(skeleton);
}

TestSuite(skeleton, .fini = fini);

Test(skeleton, build_without_programs_says_so)
{
    struct weir_skeleton_setup setup = setup_of();
    setup.image_bytes = 0;
    cr_expect_eq(weir_skeleton_open(&skeleton, &setup, &err), -EOPNOTSUPP);
    cr_expect_str_eq(err.what, "--count needs BPF programs, and this weir was built without them");
    cr_expect_not_null(strstr(err.hint, "clang and bpftool"), "%s", err.hint);
}

Test(skeleton, kernel_without_types_says_so)
{
    skip_without_programs();
    struct weir_skeleton_setup setup = setup_of();
    setup.btf = "/nonexistent/btf";
    cr_expect_eq(weir_skeleton_open(&skeleton, &setup, &err), -EOPNOTSUPP);
    cr_expect_not_null(strstr(err.what, "/nonexistent/btf"), "%s", err.what);
    cr_expect_not_null(strstr(err.hint, "CONFIG_DEBUG_INFO_BTF"), "%s", err.hint);
}

Test(skeleton, damaged_image_is_refused)
{
    skip_without_programs();
    struct weir_skeleton_setup setup = setup_of();
    setup.image_bytes /= 2;
    cr_expect_lt(weir_skeleton_open(&skeleton, &setup, &err), 0);
    cr_expect_eq(strncmp(err.what, "cannot read the BPF programs of --count", 39), 0, "%s", err.what);
}

Test(skeleton, missing_rights_are_named)
{
    skip_without_rights();
    struct weir_skeleton_setup setup = setup_of();
    cr_assert_eq(weir_skeleton_open(&skeleton, &setup, &err), 0, "%s", err.what);
    weir_skeleton_omit(skeleton, "never_loads");
    cr_assert_eq(setresuid(65534, 65534, 65534), 0);
    cr_expect_eq(weir_skeleton_load(skeleton, &err), -EPERM);
    cr_expect_str_eq(err.what, "cannot load the BPF programs of --count: Operation not permitted");
    cr_expect_not_null(strstr(err.hint, "CAP_BPF and CAP_PERFMON"), "%s", err.hint);
}

Test(skeleton, program_that_the_kernel_cannot_run_is_refused)
{
    skip_without_rights();
    struct weir_skeleton_setup setup = setup_of();
    cr_assert_eq(weir_skeleton_open(&skeleton, &setup, &err), 0, "%s", err.what);
    cr_expect_lt(weir_skeleton_load(skeleton, &err), 0);
    cr_expect_not_null(strstr(err.what, "never_loads"), "%s", err.what);
}

static void sleep_a_little(void)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    nanosleep(&pause, NULL);
}

Test(skeleton, programs_run_with_their_config_while_they_are_attached)
{
    skip_without_rights();
    struct weir_skeleton_setup setup = setup_of();
    cr_assert_eq(weir_skeleton_open(&skeleton, &setup, &err), 0, "%s", err.what);
    weir_skeleton_omit(skeleton, "never_loads");
    struct switch_count_config *config = weir_skeleton_variables(skeleton, ".rodata.config", sizeof(*config));
    config->pid = getpid();
    cr_assert_eq(weir_skeleton_load(skeleton, &err), 0, "%s", err.what);
    const struct switch_count_state *state = weir_skeleton_variables(skeleton, ".data.state", sizeof(*state));

    sleep_a_little();
    cr_expect_eq(state->switches, 0);
    cr_assert_eq(weir_skeleton_attach(skeleton, &err), 0, "%s", err.what);
    for (int i = 0; i < 5; i++)
        sleep_a_little();
    weir_skeleton_detach(skeleton);
    unsigned long long attached = state->switches, total;
    cr_expect_geq(attached, 5); /* preemptions besides */
    const unsigned key = 0;
    cr_assert_eq(bpf_map_lookup_elem(weir_skeleton_map(skeleton, "totals"), &key, &total), 0);
    cr_expect_eq(total, attached);
    for (int i = 0; i < 5; i++)
        sleep_a_little();
    cr_expect_leq(state->switches, attached + 1); /* one may be under way while the link is closed */
}
