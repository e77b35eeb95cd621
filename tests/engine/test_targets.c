/* Lists of processes and their threads, on a /proc of the test's own making and on the real one. */
#include "engine/events/targets.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bits.h"
#include "tests/base/failing_alloc.h"

/* ---- -p lists ---- */

static const struct {
    const char *list;
    unsigned column; /* of the error */
} bad_lists[] = {
    {"", 1},
    {",", 1},
    {"1,", 3},
    {",1", 1},
    {"1,,2", 3},
    {"0", 1},
    {"-1", 1},
    {"+1", 1},
    {" 1", 1},
    {"1 ", 2},
    {"1, 2", 3},
    {"x", 1},
    {"12x", 3},
    {"1,2;3", 4},
    {"1.5", 2},
    {"2147483648", 1},
    {"1,99999999999999999999999", 3},
    {"1,18446744073709551621", 3},
};

Test(targets, bad_pid_lists_are_refused_with_their_column)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(bad_lists); i++) {
        pid_t *pids = (pid_t *)-1;
        size_t count = 99;
        struct weir_error err = {0};
        cr_expect_eq(weir_targets_parse_pids(bad_lists[i].list, &pids, &count, &err), -EINVAL, "%s", bad_lists[i].list);
        char what[128];
        snprintf(what, sizeof(what), "process id expected at column %u of '%s'", bad_lists[i].column,
                 bad_lists[i].list);
        cr_expect_str_eq(err.what, what, "%s", err.what);
        cr_expect_eq(pids, (pid_t *)-1, "%s: outputs are untouched", bad_lists[i].list);
        cr_expect_eq(count, 99);
    }
}

Test(targets, pid_list_keeps_its_order)
{
    pid_t *pids;
    size_t count;
    cr_assert_eq(weir_targets_parse_pids("2147483647,1,007,1", &pids, &count, NULL), 0);
    const pid_t wanted[] = {2147483647, 1, 7, 1};
    cr_assert_eq(count, 4);
    cr_expect_arr_eq(pids, wanted, sizeof(wanted));
    free(pids);
}

Test(targets, long_pid_list_is_parsed_whole)
{
    char list[4000] = "1";
    for (int i = 0; i < 999; i++)
        memcpy(list + 1 + 2 * i, ",1", 3);
    pid_t *pids;
    size_t count;
    cr_assert_eq(weir_targets_parse_pids(list, &pids, &count, NULL), 0);
    cr_expect_eq(count, 1000);
    free(pids);
}

/* ---- threads, on a fake /proc ---- */

static const char *const fake_folders[] = {
    "20",     "20/task",  "20/task/22", "20/task/20",    "20/task/103", "9",
    "9/task", "9/task/9", "9/task/x1",  "9/task/10junk", "30",          "30/task",
};

struct fake_proc {
    char root[128];
};

static void fake_proc_init(struct fake_proc *fake)
{
    const char *folder = getenv("TMPDIR");
    snprintf(fake->root, sizeof(fake->root), "%s/weir-proc-XXXXXX", folder ? folder : "/tmp");
    cr_assert_not_null(mkdtemp(fake->root));
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(fake_folders); i++) {
        char path[256];
        snprintf(path, sizeof(path), "%s/%s", fake->root, fake_folders[i]);
        cr_assert_eq(mkdir(path, 0755), 0);
    }
}

static void fake_proc_fini(struct fake_proc *fake)
{
    for (size_t i = WEIR_ARRAY_COUNT(fake_folders); i-- > 0;) {
        char path[256];
        snprintf(path, sizeof(path), "%s/%s", fake->root, fake_folders[i]);
        rmdir(path);
    }
    rmdir(fake->root);
}

Test(targets, missing_process_is_named_and_nothing_is_kept)
{
    struct fake_proc fake;
    fake_proc_init(&fake);
    const pid_t pids[] = {20, 21, 9};
    struct weir_targets targets = {.tids = NULL, .count = 77};
    struct weir_error err = {0};
    cr_expect_eq(weir_targets_init_pids(&targets, pids, 3, fake.root, &err), -ESRCH);
    cr_expect_eq(err.code, -ESRCH);
    cr_expect_str_eq(err.what, "there is no process 21");
    cr_expect_str_eq(err.hint, "ps -e lists the processes");
    cr_expect_eq(targets.count, 77, "outputs are untouched");
    fake_proc_fini(&fake);
}

Test(targets, process_that_may_not_be_looked_at_is_named)
{
    if (geteuid() != 0)
        cr_skip_test("needs root: drops to another user to be refused");
    struct fake_proc fake;
    fake_proc_init(&fake);
    char path[256];
    snprintf(path, sizeof(path), "%s/30/task", fake.root);
    cr_assert_eq(chmod(path, 0700), 0);
    cr_assert_eq(chmod(fake.root, 0755), 0);

    pid_t child = fork();
    if (child == 0) {
        struct weir_targets targets;
        struct weir_error err;
        const pid_t pid = 30;
        int result = setuid(65534) == 0 ? weir_targets_init_pids(&targets, &pid, 1, fake.root, &err) : 0;
        bool named = strcmp(err.what, "cannot list the threads of process 30: Permission denied") == 0;
        _exit(result == -EACCES && named ? 0 : 1);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect_eq(status, 0);
    fake_proc_fini(&fake);
}

Test(targets, failing_allocations_leave_the_outputs_alone)
{
    struct fake_proc fake;
    fake_proc_init(&fake);
    const pid_t pid = 20;
    struct weir_targets targets = {.count = 77};
    struct weir_error err = {0};
    failing_alloc_after(0);
    cr_expect_eq(weir_targets_init_pids(&targets, &pid, 1, fake.root, &err), -ENOMEM);
    cr_expect_str_eq(err.what, "cannot list the threads of process 20: Cannot allocate memory");
    failing_alloc_after(0);
    cr_expect_eq(weir_targets_init_all(&targets), -ENOMEM);
    cr_expect_eq(targets.count, 77);

    pid_t *pids = NULL;
    size_t count = 77;
    failing_alloc_after(0);
    cr_expect_eq(weir_targets_parse_pids("1,2", &pids, &count, &err), -ENOMEM);
    cr_expect_str_eq(err.what, "cannot parse '1,2': Cannot allocate memory");
    cr_expect_null(pids);
    cr_expect_eq(count, 77);

    const char *list = "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17"; /* grows a second time */
    failing_alloc_after(1);
    cr_expect_eq(weir_targets_parse_pids(list, &pids, &count, NULL), -ENOMEM);
    fake_proc_fini(&fake);
}

Test(targets, no_processes_are_no_threads)
{
    struct weir_targets targets;
    cr_assert_eq(weir_targets_init_pids(&targets, NULL, 0, "/nowhere", NULL), 0);
    cr_expect_eq(targets.count, 0);
    weir_targets_fini(&targets);
}

Test(targets, process_whose_threads_have_just_ended_adds_none)
{
    struct fake_proc fake;
    fake_proc_init(&fake);
    const pid_t pid = 30;
    struct weir_targets targets;
    cr_assert_eq(weir_targets_init_pids(&targets, &pid, 1, fake.root, NULL), 0);
    cr_expect_eq(targets.count, 0);
    weir_targets_fini(&targets);
    fake_proc_fini(&fake);
}

Test(targets, threads_are_ascending_and_each_there_once)
{
    struct fake_proc fake;
    fake_proc_init(&fake);
    const pid_t pids[] = {20, 9, 20};
    const pid_t wanted[] = {9, 20, 22, 103};
    struct weir_targets targets;
    cr_assert_eq(weir_targets_init_pids(&targets, pids, 3, fake.root, NULL), 0);
    cr_assert_eq(targets.count, 4);
    cr_expect_arr_eq(targets.tids, wanted, sizeof(wanted));
    weir_targets_fini(&targets);
    cr_expect_eq(targets.count, 0);
    cr_expect_null(targets.tids);
    fake_proc_fini(&fake);
}

/* ---- threads and users ---- */

/* A task of the fake /proc: its status, and for the leader of a process its task folder. */
static void add_status(const struct fake_proc *fake, pid_t tid, pid_t tgid, uid_t real, uid_t effective)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%d", fake->root, (int)tid);
    cr_assert(mkdir(path, 0755) == 0 || errno == EEXIST);
    snprintf(path, sizeof(path), "%s/%d/status", fake->root, (int)tid);
    FILE *file = fopen(path, "we");
    cr_assert_not_null(file);
    fprintf(file, "Name:\tU\\nUid:\t5\nTgid:\t%d\nUid:\t%u\t%u\t%u\t%u\n", (int)tgid, real, effective, effective,
            effective);
    fclose(file);
}

static void remove_status(const struct fake_proc *fake, pid_t tid)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%d/status", fake->root, (int)tid);
    unlink(path);
    *strrchr(path, '/') = '\0';
    rmdir(path);
}

Test(targets, missing_thread_is_named_and_nothing_is_kept)
{
    struct fake_proc fake;
    fake_proc_init(&fake);
    add_status(&fake, 20, 20, 0, 0);
    const pid_t tids[] = {20, 21};
    struct weir_targets targets = {.count = 77};
    struct weir_error err = {0};
    struct weir_target_spec spec = {.kind = WEIR_TARGET_THREADS, .ids = tids, .id_count = 2};
    cr_expect_eq(weir_targets_find(&targets, &spec, fake.root, &err), -ESRCH);
    cr_expect_str_eq(err.what, "there is no thread 21");
    cr_expect_str_eq(err.hint, "ps -eLo pid,tid,comm lists the threads");
    cr_expect_eq(targets.count, 77, "outputs are untouched");
    remove_status(&fake, 20);
    fake_proc_fini(&fake);
}

Test(targets, user_without_tasks_is_an_error)
{
    struct fake_proc fake;
    fake_proc_init(&fake);
    add_status(&fake, 20, 20, 1000, 1001);
    struct weir_targets targets = {.count = 77};
    struct weir_error err = {0};
    struct weir_target_spec spec = {.kind = WEIR_TARGET_USER, .uid = 1000};
    cr_expect_eq(weir_targets_find(&targets, &spec, fake.root, &err), -ESRCH);
    cr_expect_str_eq(err.what, "user 1000 has no tasks");
    cr_expect_str_eq(err.hint, "ps -eo user,uid,pid,comm lists tasks and their users");
    cr_expect_eq(targets.count, 77, "outputs are untouched");
    remove_status(&fake, 20);
    fake_proc_fini(&fake);
}

Test(targets, tasks_of_nowhere_cannot_be_listed)
{
    struct weir_targets targets;
    struct weir_error err = {0};
    struct weir_target_spec spec = {.kind = WEIR_TARGET_USER};
    cr_expect_eq(weir_targets_find(&targets, &spec, "/nowhere", &err), -ENOENT);
    cr_expect_str_eq(err.what, "cannot list processes in /nowhere: No such file or directory");
}

Test(targets, failing_allocations_of_threads_and_users_leave_the_outputs_alone)
{
    struct fake_proc fake;
    fake_proc_init(&fake);
    add_status(&fake, 20, 20, 7, 7);
    const pid_t tid = 20;
    const struct weir_target_spec specs[] = {
        {.kind = WEIR_TARGET_THREADS, .ids = &tid, .id_count = 1},
        {.kind = WEIR_TARGET_USER, .uid = 7},
        {.kind = WEIR_TARGET_PROCESSES, .ids = &tid, .id_count = 1},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(specs); i++) {
        for (unsigned successes = 0; successes < 2; successes++) { /* threads, processes */
            struct weir_targets targets = {.count = 77};
            struct weir_error err = {0};
            failing_alloc_after(successes);
            cr_expect_eq(weir_targets_find(&targets, &specs[i], fake.root, &err), -ENOMEM);
            failing_alloc_never();
            cr_expect_eq(err.code, -ENOMEM);
            cr_expect_eq(targets.count, 77);
        }
    }
    remove_status(&fake, 20);
    fake_proc_fini(&fake);
}

Test(targets, threads_are_taken_as_they_are_and_their_processes_found)
{
    struct fake_proc fake;
    fake_proc_init(&fake);
    add_status(&fake, 20, 20, 0, 0);
    add_status(&fake, 22, 20, 0, 0);
    add_status(&fake, 9, 9, 0, 0);
    const pid_t tids[] = {22, 9, 22, 20}, threads[] = {9, 20, 22}, processes[] = {9, 20};
    struct weir_targets targets;
    struct weir_target_spec spec = {.kind = WEIR_TARGET_THREADS, .ids = tids, .id_count = 4};
    cr_assert_eq(weir_targets_find(&targets, &spec, fake.root, NULL), 0);
    cr_assert_eq(targets.count, 3);
    cr_expect_arr_eq(targets.tids, threads, sizeof(threads));
    cr_assert_eq(targets.pid_count, 2);
    cr_expect_arr_eq(targets.pids, processes, sizeof(processes));
    cr_assert_eq(targets.sibling_count, 1);
    cr_expect_eq(targets.tids[3], 103);
    const pid_t fewer[] = {22};
    spec = (struct weir_target_spec){.kind = WEIR_TARGET_THREADS, .ids = fewer, .id_count = 1};
    struct weir_targets one;
    cr_assert_eq(weir_targets_find(&one, &spec, fake.root, NULL), 0);
    cr_assert_eq(one.count, 1);
    cr_assert_eq(one.sibling_count, 2);
    const pid_t siblings[] = {22, 20, 103};
    cr_expect_arr_eq(one.tids, siblings, sizeof(siblings));
    one.sibling_count = 1;
    cr_expect_eq(weir_targets_count_new(&one, &targets), 3, "targets 9 and 20, sibling 103");
    one.count = 0;
    weir_targets_fini(&one);
    weir_targets_fini(&targets);
    remove_status(&fake, 20);
    remove_status(&fake, 22);
    remove_status(&fake, 9);
    fake_proc_fini(&fake);
}

Test(targets, user_has_all_threads_of_the_processes_with_the_users_rights)
{
    struct fake_proc fake;
    fake_proc_init(&fake);
    add_status(&fake, 20, 20, 1000, 1001); /* threads 20, 22, 103 */
    add_status(&fake, 9, 9, 1001, 1000);
    add_status(&fake, 30, 30, 1001, 1001); /* whose threads have just ended */
    const pid_t threads[] = {20, 22, 103}, processes[] = {20, 30};
    struct weir_targets targets;
    struct weir_target_spec spec = {.kind = WEIR_TARGET_USER, .uid = 1001};
    cr_assert_eq(weir_targets_find(&targets, &spec, fake.root, NULL), 0);
    cr_assert_eq(targets.count, 3);
    cr_expect_arr_eq(targets.tids, threads, sizeof(threads));
    cr_assert_eq(targets.pid_count, 2);
    cr_expect_arr_eq(targets.pids, processes, sizeof(processes));
    weir_targets_fini(&targets);
    remove_status(&fake, 20);
    remove_status(&fake, 9);
    remove_status(&fake, 30);
    fake_proc_fini(&fake);
}

static size_t count_new(pid_t *before, size_t before_count, pid_t *now, size_t now_count)
{
    return weir_targets_count_new(&(struct weir_targets){.tids = before, .count = before_count},
                                  &(struct weir_targets){.tids = now, .count = now_count});
}

Test(targets, tasks_that_came_are_counted_and_those_that_went_are_not)
{
    pid_t few[] = {3, 5}, many[] = {1, 3, 4, 5, 9}, other[] = {2, 5};
    cr_expect_eq(count_new(few, 2, few, 2), 0);
    cr_expect_eq(count_new(few, 2, many, 5), 3);
    cr_expect_eq(count_new(many, 5, few, 2), 0);
    cr_expect_eq(count_new(few, 2, other, 2), 1);
    cr_expect_eq(count_new(NULL, 0, few, 2), 2);
    cr_expect_eq(count_new(few, 2, NULL, 0), 0);
}

/* ---- and on the real one ---- */

#define THREADS 20

static void *wait_for_the_end(void *barrier)
{
    pthread_barrier_wait(barrier);
    return NULL;
}

Test(targets, all_threads_of_a_live_process_are_found)
{
    const pid_t self = getpid();
    struct weir_targets before, with_threads;
    cr_assert_eq(weir_targets_init_pids(&before, &self, 1, NULL, NULL), 0);

    pthread_t threads[THREADS];
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, wait_for_the_end, &barrier), 0);
    cr_assert_eq(weir_targets_init_pids(&with_threads, &self, 1, NULL, NULL), 0);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);

    cr_expect_eq(with_threads.count, before.count + THREADS);
    weir_targets_fini(&with_threads);
    weir_targets_fini(&before);
}

Test(targets, reaped_child_is_no_process_any_more)
{
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    cr_assert_eq(waitpid(child, NULL, 0), child);
    struct weir_targets targets;
    cr_expect_eq(weir_targets_init_pids(&targets, &child, 1, NULL, NULL), -ESRCH);
}

Test(targets, all_tasks_are_the_single_minus_one)
{
    struct weir_targets targets;
    cr_assert_eq(weir_targets_init_all(&targets), 0);
    cr_assert_eq(targets.count, 1);
    cr_expect_eq(targets.tids[0], -1);
    weir_targets_fini(&targets);
    weir_targets_fini(NULL);
}
