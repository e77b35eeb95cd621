/* ftrace's own snapshot, on a folder that plays tracefs: kernels without it are the rule. */
#include "engine/control/ftrace_snapshot.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "tests/format/temp_tree.h"

Test(ftrace_snapshot, kernel_without_it_is_told_with_what_it_takes)
{
    struct temp_tree tree;
    struct weir_ftrace_snapshot snapshot = {0};
    struct weir_error err;
    char wanted[PATH_MAX + 128];
    temp_tree_init(&tree);
    cr_assert_eq(weir_ftrace_snapshot_open(&snapshot, tree.root, &err), -ENOENT);
    format_text(wanted, sizeof(wanted),
                "ftrace takes no snapshots here: cannot open %s/snapshot: No such file or directory", tree.root);
    cr_assert_str_eq(err.what, wanted);
    cr_assert_str_eq(err.hint, "it needs a kernel with CONFIG_TRACER_SNAPSHOT; weir's own snapshots do without "
                               "--ftrace-snapshot");
    weir_ftrace_snapshot_close(&snapshot);
    temp_tree_fini(&tree);
}

Test(ftrace_snapshot, close_takes_null)
{
    weir_ftrace_snapshot_close(NULL);
}

static void count_warning(void *ctx, enum weir_notice_level level, const char *line)
{
    unsigned *warnings = ctx;
    cr_assert_eq(level, WEIR_NOTICE_WARNING);
    cr_assert_str_eq(line, "ftrace took no snapshot: Bad file descriptor");
    (*warnings)++;
}

Test(ftrace_snapshot, failure_is_told_once)
{
    unsigned warnings = 0;
    const struct weir_notice_sink sink = {.emit = count_warning, .ctx = &warnings};
    struct weir_ftrace_snapshot snapshot = {.open = true, .fd = -1};
    weir_ftrace_snapshot_take(&snapshot, &sink);
    weir_ftrace_snapshot_take(&snapshot, &sink);
    cr_assert_eq(warnings, 1);
}

Test(ftrace_snapshot, one_is_written_each_time)
{
    struct temp_tree tree;
    struct weir_ftrace_snapshot snapshot = {0};
    struct weir_buf text = WEIR_BUF_INIT;
    char path[PATH_MAX];
    temp_tree_init(&tree);
    temp_tree_write_text(&tree, "snapshot", "");
    temp_tree_path(&tree, "snapshot", path);
    cr_assert_eq(weir_ftrace_snapshot_open(&snapshot, tree.root, NULL), 0);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(truncate(path, 0), 0);
        weir_buf_reset(&text);
        weir_ftrace_snapshot_take(&snapshot, NULL);
        cr_assert_eq(weir_buf_append_file(&text, path), 0);
        cr_assert_str_eq(weir_buf_str(&text), "1");
    }
    weir_buf_fini(&text);
    weir_ftrace_snapshot_close(&snapshot);
    weir_ftrace_snapshot_close(&snapshot);
    temp_tree_fini(&tree);
}
