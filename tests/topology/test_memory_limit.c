/* The memory limit of cgroups, by copies of the files that tell of it. */
#include "topology/memory_limit.h"

#include <criterion/criterion.h>
#include <errno.h>

#include "tests/base/failing_alloc.h"
#include "tests/topology/fixture.h"

#define MIB (UINT64_C(1) << 20)
#define V1                                                                 \
    "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n" \
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:7 - cgroup cgroup rw,hugetlb,memory\n"
#define V2   "28 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
#define NONE "9223372036854771712\n" /* what version 1 has for no limit */

static struct fixture fixture;
static struct weir_memory_limit limit;

static void set_up(const char *mounts, const char *cgroups)
{
    fixture_init(&fixture);
    fixture_write(&fixture, mounts, "proc/self/mountinfo");
    fixture_write(&fixture, cgroups, "proc/self/cgroup");
}

static void expect(uint64_t bytes, const char *file)
{
    cr_assert_eq(weir_memory_limit_read(&limit, fixture.path), 0);
    cr_expect_eq(limit.bytes, bytes, "%llu", (unsigned long long)limit.bytes);
    cr_expect_str_eq(limit.file, file);
}

Test(memory_limit, what_cannot_be_read_limits_nothing)
{
    fixture_init(&fixture);
    expect(WEIR_MEMORY_UNLIMITED, "");
    fixture_fini(&fixture);
    static const char *const odd[] = {"", "\n\n", "memory", "4:memory", ":", "0:", "::", "4:cpumemory:/a\n0:x:/b\n"};
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        set_up(i % 2 ? V1 V2 : "35 31 - cgroup\n - \n1 2 3 4 5 - cgroup cgroup memory\n", odd[i]);
        fixture_write(&fixture, "1000\n", "sys/fs/cgroup/memory/memory.limit_in_bytes");
        expect(WEIR_MEMORY_UNLIMITED, "");
        fixture_fini(&fixture);
    }
    set_up(V2, "0::/a\n");
    fixture_write(&fixture, "max\n", "sys/fs/cgroup/a/memory.max");
    expect(WEIR_MEMORY_UNLIMITED, "");
    fixture_fini(&fixture);
}

Test(memory_limit, out_of_memory_is_told)
{
    set_up(V1, "4:memory:/a\n");
    for (unsigned successes = 0;; successes++) {
        failing_alloc_after(successes);
        int result = weir_memory_limit_read(&limit, fixture.path);
        failing_alloc_never();
        if (result == 0)
            break;
        cr_assert_eq(result, -ENOMEM);
    }
    fixture_fini(&fixture);
}

Test(memory_limit, least_of_all_on_the_way_up_counts)
{
    set_up(V1, "9:name=systemd:/x\n4:hugetlb,memory:/a/b/c\n0::/\n");
    fixture_write(&fixture, NONE, "sys/fs/cgroup/memory/memory.limit_in_bytes");
    fixture_write(&fixture, "67108864\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes");
    fixture_write(&fixture, "134217728\n", "sys/fs/cgroup/memory/a/b/c/memory.limit_in_bytes");
    expect(64 * MIB, "/sys/fs/cgroup/memory/a/memory.limit_in_bytes");
    fixture_write(&fixture, "1048576\n", "sys/fs/cgroup/memory/a/b/c/memory.limit_in_bytes");
    expect(MIB, "/sys/fs/cgroup/memory/a/b/c/memory.limit_in_bytes");
    fixture_fini(&fixture);
}

Test(memory_limit, version_2_is_asked_where_version_1_has_no_memory)
{
    set_up(V2, "0::/user.slice/x.scope\n");
    fixture_write(&fixture, "max\n", "sys/fs/cgroup/user.slice/x.scope/memory.max");
    fixture_write(&fixture, "2097152\n", "sys/fs/cgroup/user.slice/memory.max");
    expect(2 * MIB, "/sys/fs/cgroup/user.slice/memory.max");
    fixture_fini(&fixture);
}

/* A container sees its own cgroup as the mount's root; /proc may tell of paths from further up. */
Test(memory_limit, mount_of_a_part_of_the_hierarchy_is_followed_from_there)
{
    static const char mounted[] = "35 31 0:32 /docker/1f /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
    set_up(mounted, "4:memory:/docker/1f/job\n");
    fixture_write(&fixture, "3145728\n", "sys/fs/cgroup/memory/memory.limit_in_bytes");
    fixture_write(&fixture, NONE, "sys/fs/cgroup/memory/job/memory.limit_in_bytes");
    expect(3 * MIB, "/sys/fs/cgroup/memory/memory.limit_in_bytes");
    fixture_write(&fixture, "4:memory:/docker/1fff\n", "proc/self/cgroup");
    expect(3 * MIB, "/sys/fs/cgroup/memory/memory.limit_in_bytes");
    fixture_fini(&fixture);
}

/* mountinfo writes a blank as \040, /proc/self/cgroup as it is. */
Test(memory_limit, names_with_blanks_are_found)
{
    static const char mounted[] = "28 23 0:26 /my\\040box\\134x /sys/fs/my\\011cgroups rw - cgroup2 cgroup2 rw\n";
    set_up(mounted, "0::/my box\\x/job\n");
    fixture_write(&fixture, "4194304\n", "sys/fs/my\tcgroups/job/memory.max");
    expect(4 * MIB, "/sys/fs/my\tcgroups/job/memory.max");
    fixture_fini(&fixture);
    set_up("28 23 0:26 / /sys/fs/x\\04 rw - cgroup2 cgroup2 rw\n", "0::/\n"); /* no such number: as it stands */
    fixture_write(&fixture, "4194304\n", "sys/fs/x\\04/memory.max");
    expect(4 * MIB, "/sys/fs/x\\04/memory.max");
    fixture_fini(&fixture);
}
