/* The records of tasks that the test starts and holds, and of the kernel, beside those that perf itself writes. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bits.h"
#include "format/event_desc.h"
#include "format/synth.h"
#include "tests/format/perf_file_reader.h"
#include "tests/format/run_tool.h"

#define HELD_COUNT 2

/* A process with threads and its child, both asleep until the test ends. */
static pid_t held[HELD_COUNT];
static struct temp_tree tree;

static _Noreturn void sleep_forever(void)
{
    for (;;)
        pause();
}

static void *sleep_as(void *name)
{
    prctl(PR_SET_NAME, name);
    sleep_forever();
    return NULL;
}

static void map_code(void)
{
    int fd = memfd_create("jit code", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, 8192) < 0 ||
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED, fd, 4096) == MAP_FAILED ||
        mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
        _exit(1);
}

/* Runs in the first held process: starts the rest, tells the test who they are, and sleeps. */
static _Noreturn void hold(int ready_fd)
{
    static const char *const names[] = {"worker (1)", "exactly15bytes.", "a b"};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "held) S 1 (x");
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        map_code();
        pid_t self = getpid();
        prctl(PR_SET_NAME, "child");
        if (write(ready_fd, &self, sizeof(self)) != sizeof(self))
            _exit(1);
        sleep_forever();
    }
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(names); i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, sleep_as, (void *)names[i]))
            _exit(1);
    }
    sleep_forever();
}

/* The threads name themselves: waits until the last name that hold() gives is there. */
static bool has_thread_named(pid_t pid, const char *name)
{
    char command[128];
    format_text(command, sizeof(command), "grep -qxF '%s' /proc/%d/task/*/comm", name, (int)pid);
    const char *const argv[] = {"sh", "-c", command, NULL};
    struct tool_run run;
    tool_run(&run, &tree, argv);
    tool_run_fini(&run);
    return run.status == 0;
}

static void init(void)
{
    temp_tree_init(&tree);
    int ready[2];
    cr_assert_eq(pipe(ready), 0);
    held[0] = fork();
    cr_assert_geq(held[0], 0);
    if (held[0] == 0)
        hold(ready[1]);
    cr_assert_eq(read(ready[0], &held[1], sizeof(held[1])), (ssize_t)sizeof(held[1]));
    close(ready[0]);
    close(ready[1]);
    while (!has_thread_named(held[0], "worker (1)") || !has_thread_named(held[0], "exactly15bytes.") ||
           !has_thread_named(held[0], "a b"))
        usleep(1000);
}

static void fini(void)
{
    kill(held[1], SIGKILL);
    kill(held[0], SIGKILL);
    waitpid(held[0], NULL, 0);
    temp_tree_fini(&tree);
}

TestSuite(synth_like_perf, .init = init, .fini = fini, .timeout = 60);

/* ---- both sides ---- */

struct perf_side {
    struct weir_buf image; /* of the file */
    struct perf_file file;
    size_t sample_id_bytes;
};

static void run_perf(struct perf_side *perf, const char *const *target)
{
    tool_need("perf", "linux-perf");
    if (geteuid() != 0)
        cr_skip_test("needs root: perf record -a");
    char path[PATH_MAX];
    temp_tree_path(&tree, "perf.data", path);
    const char *argv[16] = {"perf", "record", "-B", "-N", "-e", "dummy", "-o", path};
    size_t argc = 8;
    for (; *target; target++)
        argv[argc++] = *target;
    argv[argc++] = "true";
    struct tool_run run;
    tool_run(&run, &tree, argv);
    cr_assert_eq(run.status, 0, "%s", run.err);
    tool_run_fini(&run);

    struct perf_file_event event;
    perf->image = (struct weir_buf)WEIR_BUF_INIT;
    cr_assert_eq(weir_buf_append_file(&perf->image, path), 0);
    cr_assert_null(perf_file_open(&perf->file, perf->image.data, perf->image.used));
    cr_assert(perf_file_event(&perf->file, 0, &event));
    perf->sample_id_bytes = weir_attr_sample_id_bytes(&event.attr);
}

static int emit(void *ctx, const void *records, size_t bytes)
{
    weir_buf_append(ctx, records, bytes);
    return 0;
}

static struct weir_synth_options options_for(const struct perf_side *perf, struct weir_buf *out)
{
    return (struct weir_synth_options){.sample_id_bytes = perf->sample_id_bytes, .emit = emit, .emit_ctx = out};
}

/* ---- comparison ---- */

/* Is it a synthesized record of one of the held processes (pid is the first field of each)? */
static bool is_of_held(const struct perf_event_header *header, bool with_forks)
{
    bool is_task = header->type == PERF_RECORD_COMM || header->type == PERF_RECORD_MMAP2 ||
                   (with_forks && header->type == PERF_RECORD_FORK);
    if (!is_task)
        return false;
    uint32_t pid;
    memcpy(&pid, header + 1, sizeof(pid));
    return (pid_t)pid == held[0] || (pid_t)pid == held[1];
}

/* perf_event.h describes the record in a comment only. */
struct mmap_record {
    struct perf_event_header header;
    uint32_t pid, tid;
    uint64_t start, length, page_offset;
};

static bool is_of_kernel(const struct perf_event_header *header, bool with_forks)
{
    (void)with_forks;
    uint32_t pid;
    memcpy(&pid, header + 1, sizeof(pid));
    return header->type == PERF_RECORD_MMAP && pid == UINT32_MAX;
}

typedef bool record_filter(const struct perf_event_header *header, bool with_forks);

static void keep_from_perf(struct weir_buf *out, const struct perf_side *perf, record_filter *is_wanted)
{
    const struct perf_event_header *header = NULL;
    while ((header = perf_file_next_record(&perf->file, header))) {
        if (is_wanted(header, true))
            weir_buf_append(out, header, header->size);
    }
}

static void keep_from_weir(struct weir_buf *out, const struct weir_buf *records, record_filter *is_wanted,
                           bool with_forks)
{
    const struct perf_event_header *header;
    for (size_t at = 0; at < records->used; at += header->size) {
        header = (const void *)(records->data + at);
        if (is_wanted(header, with_forks))
            weir_buf_append(out, header, header->size);
    }
}

static void expect_same(struct weir_buf *ours, struct weir_buf *theirs)
{
    cr_expect_eq(ours->used, theirs->used, "weir %zu bytes, perf %zu", ours->used, theirs->used);
    cr_expect_neq(theirs->used, 0, "perf has none of them");
    cr_expect(ours->used == theirs->used && memcmp(ours->data, theirs->data, ours->used) == 0);
    weir_buf_fini(ours);
    weir_buf_fini(theirs);
}

static void compare_all_tasks(bool data_maps)
{
    struct perf_side perf;
    run_perf(&perf, data_maps ? (const char *const[]){"-a", "-d", NULL} : (const char *const[]){"-a", NULL});
    struct weir_buf all = WEIR_BUF_INIT, ours = WEIR_BUF_INIT, theirs = WEIR_BUF_INIT;
    struct weir_synth_options options = options_for(&perf, &all);
    options.data_maps = data_maps;
    cr_expect_eq(weir_synth_all_tasks(&options, NULL, NULL), 0);
    keep_from_weir(&ours, &all, is_of_held, true);
    keep_from_perf(&theirs, &perf, is_of_held);
    expect_same(&ours, &theirs);
    weir_buf_fini(&all);
    weir_buf_fini(&perf.image);
}

Test(synth_like_perf, all_tasks_have_perfs_records_byte_by_byte)
{
    compare_all_tasks(false);
}

Test(synth_like_perf, data_maps_have_perfs_records_byte_by_byte)
{
    compare_all_tasks(true);
}

Test(synth_like_perf, chosen_process_has_perfs_records_and_forks_besides)
{
    char pid_text[16];
    format_text(pid_text, sizeof(pid_text), "%d", (int)held[0]);
    struct perf_side perf;
    run_perf(&perf, (const char *const[]){"-p", pid_text, NULL});
    struct weir_buf all = WEIR_BUF_INIT, ours = WEIR_BUF_INIT, theirs = WEIR_BUF_INIT;
    struct weir_synth_options options = options_for(&perf, &all);
    struct weir_synth_counts counts;
    cr_expect_eq(weir_synth_processes(&options, held, 1, &counts, NULL), 0);
    cr_expect_eq(counts.tasks, 4);
    keep_from_weir(&ours, &all, is_of_held, false);
    keep_from_perf(&theirs, &perf, is_of_held);
    expect_same(&ours, &theirs);
    weir_buf_fini(&all);
    weir_buf_fini(&perf.image);
}

static bool is_in_kallsyms(const char *name)
{
    FILE *file = fopen("/proc/kallsyms", "re");
    char line[1024], symbol[512];
    bool is_found = false;
    while (!is_found && fgets(line, sizeof(line), file))
        is_found = sscanf(line, "%*x %*c %511s", symbol) == 1 && strcmp(symbol, name) == 0;
    fclose(file);
    return is_found;
}

/* Where kallsyms has no _edata, perf's map of the kernel ends at _etext, ours with the data. Gives perf's that end. */
static void extend_to_data(struct weir_buf *theirs, const struct weir_buf *ours)
{
    uint64_t length, perf_length;
    const size_t at = offsetof(struct mmap_record, length);
    cr_assert(ours->used > at + sizeof(length) && theirs->used > at + sizeof(length));
    memcpy(&length, ours->data + at, sizeof(length));
    memcpy(&perf_length, theirs->data + at, sizeof(length));
    cr_expect_geq(length, perf_length);
    cr_expect_lt(length, 1ull << 30, "an image of less than 1 GiB");
    memcpy(theirs->data + at, &length, sizeof(length));
}

Test(synth_like_perf, kernel_has_perfs_records_byte_by_byte)
{
    struct perf_side perf;
    run_perf(&perf, (const char *const[]){"-a", NULL});
    struct weir_buf ours = WEIR_BUF_INIT, theirs = WEIR_BUF_INIT;
    struct weir_synth_options options = options_for(&perf, &ours);
    cr_expect_eq(weir_synth_kernel(&options, NULL), 0);
    keep_from_perf(&theirs, &perf, is_of_kernel);
    if (!is_in_kallsyms("_edata"))
        extend_to_data(&theirs, &ours);
    expect_same(&ours, &theirs);
    weir_buf_fini(&perf.image);
}
