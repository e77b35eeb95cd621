/*
 * Branches in AUX areas, written by weir and decoded by perf without a warning: exactly those that were written, from a
 * whole file, from a killed or cut one that was recovered, and from a stream.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/recovery.h"
#include "tests/format/aux_recording.h"
#include "tests/format/run_tool.h"
#include "tests/format/temp_tree.h"

#define PERF "perf"

static struct temp_tree tree;
static struct aux_recording recording;
static char file[PATH_MAX];

static void make_tree(void)
{
    temp_tree_init(&tree);
    temp_tree_path(&tree, "perf.data", file);
}

static void remove_tree(void)
{
    aux_recording_fini(&recording);
    temp_tree_fini(&tree);
}

TestSuite(aux_decode, .init = make_tree, .fini = remove_tree);

static void write_file(const struct aux_recording_options *options)
{
    tool_need(PERF, "linux-perf");
    aux_recording_build(&recording, options);
    temp_tree_write(&tree, "perf.data", recording.bytes.data, recording.bytes.used);
}

/* Runs perf with a command and two options on the file; it succeeds and warns of nothing. */
static void perf(struct tool_run *run, const char *command, const char *option1, const char *option2)
{
    const char *const argv[] = {PERF, command, "-i", file, option1, option2, NULL};
    tool_run(run, &tree, argv);
    cr_expect_eq(run->status, 0);
    cr_expect_str_empty(run->err, "stderr: %s", run->err);
}

/* What perf script shows is branches 0 to expected - 1, each once, and nothing else. */
static void expect_lines(const char *lines, unsigned expected)
{
    bool seen[AUX_RECORDING_BRANCHES] = {false};
    unsigned count = 0;
    for (const char *line = lines; *line; line = strchr(line, '\n') + 1) {
        unsigned task;
        unsigned long long from, to;
        cr_assert(sscanf(line, "%u %llx => %llx", &task, &from, &to) == 3, "%s", line);
        unsigned branch = (unsigned)(to - AUX_RECORDING_TARGET);
        cr_assert(to >= AUX_RECORDING_TARGET && branch < expected, "%s", line);
        const struct aux_branch written = aux_recording_branch(branch);
        cr_expect(task == written.task && from == written.from, "%s", line);
        cr_expect_not(seen[branch], "%s", line);
        seen[branch] = true;
        count++;
    }
    cr_expect_eq(count, expected, "%u branches instead of %u", count, expected);
}

static void expect_branches(unsigned expected)
{
    struct tool_run run;
    perf(&run, "script", "--itrace=be", "-Ftid,ip,addr");
    expect_lines(run.out, expected);
    tool_run_fini(&run);
}

/* What `weir recover --in-place` does. */
static void recover_file(void)
{
    const struct weir_recovery_options options = {.path = file};
    struct weir_recovery recovery;
    struct weir_error err = {0};
    cr_assert_eq(weir_recovery_plan(&recovery, &options, &err), 0, "%s", err.what);
    cr_assert_not(recovery.is_whole);
    struct weir_buf bytes = WEIR_BUF_INIT;
    weir_buf_append(&bytes, recording.bytes.data, recovery.data_end);
    memcpy(bytes.data, &recovery.header, sizeof(recovery.header));
    weir_buf_append(&bytes, recovery.tail.data, recovery.tail.used);
    temp_tree_write(&tree, "perf.data", bytes.data, bytes.used);
    weir_buf_fini(&bytes);
    weir_recovery_fini(&recovery);
}

Test(aux_decode, whole_file_has_all_branches)
{
    write_file(&(struct aux_recording_options){.features = true});
    expect_branches(AUX_RECORDING_BRANCHES);

    struct tool_run run;
    perf(&run, "report", "--itrace=b", "--stdio");
    cr_expect_not_null(strstr(run.out, "# Samples: 370  of event 'branches:uh'\n"), "%s", run.out);
    tool_run_fini(&run);
    perf(&run, "evlist", NULL, NULL);
    cr_expect_str_eq(run.out, "intel_bts//u\n");
    tool_run_fini(&run);
}

Test(aux_decode, killed_file_has_all_branches_once_recovered)
{
    write_file(&(struct aux_recording_options){.features = false});
    recover_file();
    expect_branches(AUX_RECORDING_BRANCHES);
}

/* In the bytes of the last stretch, with the features in the place of its rest: the index has to lose its entry. */
Test(aux_decode, file_that_is_cut_has_the_branches_of_whole_stretches_once_recovered)
{
    write_file(&(struct aux_recording_options){.features = true});
    const struct weir_aux_index_entry *last = &recording.index[AUX_RECORDING_STRETCHES - 1];
    cr_assert_eq(truncate(file, (off_t)(last->file_offset + last->bytes + recording.payload_bytes[2] - 1)), 0);
    recover_file();
    expect_branches(150 + 120);
}

/* Through a pipe: perf 6.1 seeks behind an AUXTRACE record, and in a stream that was saved to a file it ends up 16
 * bytes before that, because it does not count the header. */
Test(aux_decode, stream_has_all_branches)
{
    char command[PATH_MAX + 64];
    write_file(&(struct aux_recording_options){.stream = true});
    format_text(command, sizeof(command), "cat '%s' | " PERF " script -i - --itrace=be -Ftid,ip,addr", file);
    const char *const argv[] = {"sh", "-c", command, NULL};
    struct tool_run run;
    tool_run(&run, &tree, argv);
    cr_expect_eq(run.status, 0);
    cr_expect_str_empty(run.err, "stderr: %s", run.err);
    expect_lines(run.out, AUX_RECORDING_BRANCHES);
    tool_run_fini(&run);
}
