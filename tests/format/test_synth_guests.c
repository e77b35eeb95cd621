/* The kernels and modules of guests, from files that the test writes: what cannot be read first. */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/format/synth_fixture.h"

#define KALLSYMS "ffffffff81000000 T _stext\nffffffff81000000 T _text\nffffffff83000000 D _edata\n"
#define MODULES                                            \
    "late 4096 0 - Live 0xffffffffc0200000 (E)\ngarbage\n" \
    "early 8192 1 late, Live 0xffffffffc0100000\nhidden 4096 0 - Live 0x0000000000000000\n"

static struct synth_fixture fixture;
static char kallsyms[PATH_MAX], modules[PATH_MAX], mount_point[PATH_MAX];
static struct weir_guests guests;

static void init(void)
{
    synth_fixture_init(&fixture);
    temp_tree_path(&fixture.tree, "guest.kallsyms", kallsyms);
    temp_tree_path(&fixture.tree, "guest.modules", modules);
    temp_tree_path(&fixture.tree, "mount", mount_point);
}

static void fini(void)
{
    synth_fixture_fini(&fixture);
}

TestSuite(synth_guests, .init = init, .fini = fini);

/* An MMAP of a guest's kernel, by hand. */
static void expect_map(struct weir_buf *expected, pid_t pid, uint64_t start, uint64_t bytes, uint64_t page_offset,
                       const char *name)
{
    size_t at = expected->used;
    expect_mmap(expected, start, bytes, page_offset, name);
    const uint16_t misc = PERF_RECORD_MISC_GUEST_KERNEL;
    memcpy(expected->data + at + 4, &misc, sizeof(misc));
    memcpy(expected->data + at + 8, &pid, sizeof(pid));
}

static void write_guest(const char *relative, const char *text)
{
    temp_tree_write_text(&fixture.tree, relative, text);
}

Test(synth_guests, files_that_cannot_be_read_are_refused_before_anything_begins)
{
    struct weir_error err = {0};
    cr_expect_not(weir_guests_are_given(&guests));
    cr_expect_eq(weir_guests_check(&guests, &err), 0);
    guests.kallsyms = kallsyms;
    cr_expect(weir_guests_are_given(&guests));
    cr_expect_eq(weir_guests_check(&guests, &err), -ENOENT);
    write_guest("guest.kallsyms", KALLSYMS);
    cr_expect_eq(weir_guests_check(&guests, &err), 0);
    cr_assert_eq(mkfifo(modules, 0600), 0); /* opening it would block */
    guests.modules = modules;
    cr_expect_eq(weir_guests_check(&guests, &err), -EINVAL);
    guests.modules = NULL;
    guests.mount = kallsyms;
    cr_expect_eq(weir_guests_check(&guests, &err), -ENOTDIR);
}

static void expect_warning(const char *text, const char *part)
{
    write_guest("guest.kallsyms", text);
    guests.kallsyms = kallsyms;
    unsigned before = fixture.sink.notices;
    cr_expect_eq(weir_synth_guests(&fixture.options, &guests, NULL), 0);
    cr_expect_eq(fixture.sink.calls, 0);
    cr_expect_eq(fixture.sink.notices, before + 1);
    cr_expect_not_null(strstr(fixture.sink.notice, part), "%s", fixture.sink.notice);
}

Test(synth_guests, kernel_without_addresses_or_bounds_is_a_warning)
{
    expect_warning("0000000000000000 T _text\n", "hides its addresses");
    expect_warning("ffffffff81000000 T start\n", "has neither _text nor _stext");
    expect_warning("", "has neither _text nor _stext");
}

Test(synth_guests, error_of_emit_is_returned)
{
    write_guest("guest.kallsyms", KALLSYMS);
    guests.kallsyms = kallsyms;
    fixture.sink.fail_at = 1;
    fixture.sink.error = -ENOSPC;
    struct weir_error err;
    cr_expect_eq(weir_synth_guests(&fixture.options, &guests, &err), -ENOSPC);
    cr_expect_str_eq(err.what, "cannot record the kernels of guests: No space left on device");
}

Test(synth_guests, guest_of_copied_files_has_no_process_and_modules_come_first)
{
    write_guest("guest.kallsyms", KALLSYMS);
    write_guest("guest.modules", MODULES);
    guests.kallsyms = kallsyms;
    guests.modules = modules;
    cr_expect_eq(weir_synth_guests(&fixture.options, &guests, NULL), 0);
    cr_expect_eq(fixture.sink.notices, 0);
    struct weir_buf expected = WEIR_BUF_INIT;
    expect_map(&expected, 0, 0xffffffffc0100000, 8192, 0, "[early]");
    expect_map(&expected, 0, 0xffffffffc0200000, 4096, 0, "[late]");
    expect_map(&expected, 0, 0xffffffff81000000, 0x2000000, 0xffffffff81000000, "[guest.kernel.kallsyms]_text");
    expect_emitted(&fixture, &expected);
}

Test(synth_guests, mounted_guests_have_the_process_of_their_hypervisor)
{
    write_guest("mount/77/proc/kallsyms", "ffffffff81200000 T _stext\nffffffff81300000 T _etext\n");
    write_guest("mount/9/proc/kallsyms", KALLSYMS);
    write_guest("mount/9/proc/modules", MODULES);
    write_guest("mount/9/proc/version", "Linux version 6.9.1 (root@x) #1 SMP\n");
    write_guest("mount/9/lib/modules/6.9.1/modules.dep", "kernel/fs/early.ko:\n");
    write_guest("mount/notes/proc/kallsyms", KALLSYMS); /* no process */
    write_guest("mount/007/proc/kallsyms", KALLSYMS);
    guests.mount = mount_point;
    cr_expect_eq(weir_synth_guests(&fixture.options, &guests, NULL), 0);
    cr_expect_eq(fixture.sink.notices, 0);
    char path[PATH_MAX + 64];
    format_text(path, sizeof(path), "%s/9/lib/modules/6.9.1/kernel/fs/early.ko", mount_point);
    struct weir_buf expected = WEIR_BUF_INIT;
    expect_map(&expected, 9, 0xffffffffc0100000, 8192, 0, path);
    expect_map(&expected, 9, 0xffffffffc0200000, 4096, 0, "[late]");
    expect_map(&expected, 9, 0xffffffff81000000, 0x2000000, 0xffffffff81000000, "[guest.kernel.kallsyms.9]_text");
    expect_map(&expected, 77, 0xffffffff81200000, 0x100000, 0xffffffff81200000, "[guest.kernel.kallsyms.77]_stext");
    expect_emitted(&fixture, &expected);
}

Test(synth_guests, fifo_of_a_guest_holds_nothing_up)
{
    char path[PATH_MAX];
    write_guest("mount/9/proc/version", "x\n");
    temp_tree_path(&fixture.tree, "mount/9/proc/kallsyms", path);
    cr_assert_eq(mkfifo(path, 0600), 0);
    temp_tree_path(&fixture.tree, "mount/9/proc/modules", path);
    cr_assert_eq(mkfifo(path, 0600), 0);
    guests.mount = mount_point;
    cr_expect_eq(weir_synth_guests(&fixture.options, &guests, NULL), 0);
    cr_expect_eq(fixture.sink.calls, 0);
    cr_expect_eq(fixture.sink.notices, 1);
}
