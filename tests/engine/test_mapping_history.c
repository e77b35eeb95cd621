/* The history of mappings: answers depend on the records and their times, not on the order in which they came; beyond
 * the span and the bounds an answer is right or "not known". */
#include "engine/tasks/mapping_history.h"

#include "tests/base/failing_alloc.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define S            1000000000ull
#define PAGE         0x1000ull
#define OFFSET_PAGES 100u /* of a file, in front of the mapped part: answers tell the page of the file */

static struct weir_mapping_history *make(void)
{
    struct weir_mapping_history *history = NULL;
    cr_assert_eq(weir_mapping_history_new(&history), 0);
    return history;
}

/* ---- records ---- */

static struct weir_side_record fork_of(uint64_t time_ns, pid_t pid, pid_t parent)
{
    return (struct weir_side_record){
        .type = PERF_RECORD_FORK, .time_ns = time_ns, .pid = pid, .tid = pid, .ppid = parent, .ptid = parent};
}

static struct weir_side_record exec_of(uint64_t time_ns, pid_t pid)
{
    return (struct weir_side_record){.type = PERF_RECORD_COMM,
                                     .misc = PERF_RECORD_MISC_COMM_EXEC,
                                     .time_ns = time_ns,
                                     .pid = pid,
                                     .tid = pid,
                                     .comm = "x"};
}

static struct weir_side_record exit_of(uint64_t time_ns, pid_t pid)
{
    return (struct weir_side_record){.type = PERF_RECORD_EXIT, .time_ns = time_ns, .pid = pid, .tid = pid};
}

static struct weir_side_record map_of(uint64_t time_ns, pid_t pid, uint64_t page, uint64_t pages)
{
    return (struct weir_side_record){.type = PERF_RECORD_MMAP2,
                                     .time_ns = time_ns,
                                     .pid = pid,
                                     .tid = pid,
                                     .map = {.pid = pid,
                                             .tid = pid,
                                             .start = page * PAGE,
                                             .bytes = pages * PAGE,
                                             .page_offset = (OFFSET_PAGES + page) * PAGE,
                                             .cpumode = PERF_RECORD_MISC_USER}};
}

static void apply(struct weir_mapping_history *history, struct weir_side_record record, uint32_t file)
{
    weir_mapping_history_apply(history, &record, file);
}

/* ---- answers ---- */

#define NOTHING UINT32_MAX

/* The file at a page of a process, NOTHING if none is known. The offset of each file says the page. */
static uint32_t file_at(struct weir_mapping_history *history, pid_t pid, uint64_t time_ns, uint64_t page)
{
    struct weir_unwind_mapping mapping;
    uint64_t address = page * PAGE + 8;
    if (!weir_mapping_history_find(history, pid, time_ns, address, &mapping))
        return NOTHING;
    cr_assert_eq(address - mapping.start + mapping.offset, (OFFSET_PAGES + page) * PAGE + 8);
    cr_assert(mapping.has_file);
    return (uint32_t)mapping.key;
}

Test(mapping_history, mapping_lasts_from_its_record_on)
{
    struct weir_mapping_history *history = make();
    apply(history, map_of(100, 5, 4, 2), 7);
    cr_expect_eq(file_at(history, 5, 99, 4), NOTHING);
    cr_expect_eq(file_at(history, 5, 100, 4), 7);
    cr_expect_eq(file_at(history, 5, 20 * S, 5), 7);
    cr_expect_eq(file_at(history, 5, 100, 3), NOTHING);
    cr_expect_eq(file_at(history, 5, 100, 6), NOTHING);
    cr_expect_eq(file_at(history, 6, 100, 4), NOTHING);
    weir_mapping_history_free(history);
}

Test(mapping_history, newer_mapping_covers_a_part_of_the_older_one)
{
    struct weir_mapping_history *history = make();
    apply(history, map_of(100, 5, 0, 8), 1);
    apply(history, map_of(200, 5, 2, 3), 2);
    for (uint64_t page = 0; page < 8; page++) {
        cr_expect_eq(file_at(history, 5, 150, page), 1);
        cr_expect_eq(file_at(history, 5, 250, page), page >= 2 && page < 5 ? 2u : 1u);
    }
    weir_mapping_history_free(history);
}

/* The kernel reports mappings of data with -d only. */
Test(mapping_history, mapping_of_data_leaves_no_code)
{
    struct weir_mapping_history *history = make();
    struct weir_side_record data = map_of(200, 5, 2, 3);
    data.misc = PERF_RECORD_MISC_MMAP_DATA;
    apply(history, map_of(100, 5, 0, 8), 1);
    apply(history, data, 2);
    cr_expect_eq(file_at(history, 5, 150, 2), 1);
    cr_expect_eq(file_at(history, 5, 250, 1), 1);
    cr_expect_eq(file_at(history, 5, 250, 2), NOTHING);
    cr_expect_eq(file_at(history, 5, 250, 5), 1);
    weir_mapping_history_free(history);
}

Test(mapping_history, memory_without_a_file_is_told)
{
    struct weir_mapping_history *history = make();
    struct weir_unwind_mapping mapping;
    apply(history, map_of(100, 5, 0, 8), WEIR_MAPPING_NO_FILE);
    cr_assert(weir_mapping_history_find(history, 5, 100, 0x10, &mapping));
    cr_expect_not(mapping.has_file);
    weir_mapping_history_free(history);
}

/* Records of the kernel's own mappings, threads, and names that are not those of a new program. */
Test(mapping_history, other_records_change_nothing)
{
    struct weir_mapping_history *history = make();
    struct weir_side_record kernel = map_of(200, 5, 0, 8), thread = fork_of(200, 5, 4), name = exec_of(200, 5);
    struct weir_side_record of_thread = exec_of(200, 5), nobody = map_of(200, 0, 0, 8);
    kernel.map.cpumode = PERF_RECORD_MISC_KERNEL;
    thread.tid = of_thread.tid = 6;
    name.misc = 0;
    apply(history, map_of(100, 5, 0, 8), 1);
    apply(history, kernel, 2);
    apply(history, thread, 2);
    apply(history, name, 2);
    apply(history, of_thread, 2);
    apply(history, nobody, 2);
    apply(history, (struct weir_side_record){.type = PERF_RECORD_LOST, .time_ns = 200, .pid = 5, .tid = 5}, 2);
    cr_expect_eq(file_at(history, 5, 300, 0), 1);
    cr_expect_eq(weir_mapping_history_count(history).changes, 1);
    weir_mapping_history_free(history);
}

Test(mapping_history, exec_leaves_nothing)
{
    struct weir_mapping_history *history = make();
    apply(history, map_of(100, 5, 0, 8), 1);
    apply(history, map_of(200, 5, 0, 1), 2); /* taken in first, and at the same time */
    apply(history, exec_of(200, 5), 0);
    cr_expect_eq(file_at(history, 5, 199, 0), 1);
    cr_expect_eq(file_at(history, 5, 200, 0), 2);
    cr_expect_eq(file_at(history, 5, 200, 1), NOTHING);
    weir_mapping_history_free(history);
}

/* The fork comes last, as from another CPU, and the parent's mapping after it. */
Test(mapping_history, child_has_the_mappings_of_the_time_of_the_fork)
{
    struct weir_mapping_history *history = make();
    apply(history, map_of(300, 6, 1, 1), 3);
    apply(history, map_of(250, 5, 2, 1), 2);
    apply(history, fork_of(200, 6, 5), 0);
    apply(history, map_of(100, 5, 0, 3), 1);
    cr_expect_eq(file_at(history, 6, 199, 0), NOTHING);
    cr_expect_eq(file_at(history, 6, 260, 0), 1);
    cr_expect_eq(file_at(history, 6, 260, 1), 1);
    cr_expect_eq(file_at(history, 6, 260, 2), 1);
    cr_expect_eq(file_at(history, 6, 300, 1), 3);
    cr_expect_eq(file_at(history, 5, 260, 2), 2);
    weir_mapping_history_free(history);
}

Test(mapping_history, synthesized_mapping_is_older_than_all_others)
{
    struct weir_mapping_history *history = make();
    apply(history, map_of(100, 5, 0, 2), 1);
    apply(history, exec_of(300, 5), 0);
    apply(history, map_of(400, 5, 1, 1), 2);
    apply(history, fork_of(0, 5, 1), 0); /* of a synthesized process the mappings come, too */
    apply(history, map_of(0, 5, 0, 8), 9);
    apply(history, map_of(0, 5, 7, 1), 8);
    cr_expect_eq(file_at(history, 5, 50, 0), 9);
    cr_expect_eq(file_at(history, 5, 150, 0), 1);
    cr_expect_eq(file_at(history, 5, 150, 2), 9);
    cr_expect_eq(file_at(history, 5, 150, 7), 8);
    cr_expect_eq(file_at(history, 5, 350, 2), NOTHING);
    cr_expect_eq(file_at(history, 5, 450, 1), 2);
    weir_mapping_history_free(history);
}

Test(mapping_history, line_of_forks_has_a_bound)
{
    struct weir_mapping_history *history = make();
    const pid_t last = 100 + (pid_t)WEIR_MAPPING_FORKS_MAX;
    apply(history, map_of(50, 100, 0, 1), 1);
    for (pid_t pid = 101; pid <= last + 1; pid++)
        apply(history, fork_of((uint64_t)pid, pid, pid - 1), 0);
    cr_expect_eq(file_at(history, last, 1000, 0), 1);
    cr_expect_eq(file_at(history, last + 1, 1000, 0), NOTHING);
    weir_mapping_history_free(history);
}

/* ---- the span ---- */

/* Forgets what is older than the span, by records of a process that stays. */
static void pass_time(struct weir_mapping_history *history, uint64_t until_ns)
{
    apply(history, exit_of(until_ns, 999999), 0);
}

Test(mapping_history, within_the_span_old_versions_are_known)
{
    struct weir_mapping_history *history = make();
    apply(history, map_of(100, 5, 0, 8), 1);
    apply(history, map_of(200, 5, 0, 1), 2);
    pass_time(history, 200 + WEIR_MAPPING_HISTORY_SPAN_NS - 1);
    cr_expect_eq(file_at(history, 5, 199, 0), 1);
    pass_time(history, 2 * WEIR_MAPPING_HISTORY_SPAN_NS);
    cr_expect_eq(file_at(history, 5, 199, 0), NOTHING, "replaced, and longer ago than the span");
    cr_expect_eq(file_at(history, 5, 199, 1), 1, "as it is still");
    cr_expect_eq(file_at(history, 5, 200, 0), 2);
    weir_mapping_history_free(history);
}

/* The parent maps, and ends, after the fork: the child keeps what it had. */
Test(mapping_history, old_fork_stands_for_itself)
{
    struct weir_mapping_history *history = make();
    apply(history, map_of(100, 5, 0, 8), 1);
    apply(history, fork_of(200, 6, 5), 0);
    apply(history, map_of(300, 5, 0, 8), 2);
    apply(history, exit_of(400, 5), 0);
    uint64_t bytes = weir_mapping_history_count(history).bytes;
    pass_time(history, 2 * WEIR_MAPPING_HISTORY_SPAN_NS);
    cr_expect_eq(weir_mapping_history_count(history).processes, 1);
    cr_expect_lt(weir_mapping_history_count(history).bytes, bytes);
    cr_expect_eq(file_at(history, 6, S, 3), 1);
    cr_expect_eq(file_at(history, 6, 100, 3), NOTHING);
    cr_expect_eq(file_at(history, 5, 300, 3), NOTHING);
    weir_mapping_history_free(history);
}

/* A thread runs on when the first one has ended. */
Test(mapping_history, ended_process_that_is_asked_for_stays)
{
    struct weir_mapping_history *history = make();
    apply(history, map_of(100, 5, 0, 8), 1);
    apply(history, exit_of(400, 5), 0);
    cr_expect_eq(file_at(history, 5, 500, 0), 1);
    for (unsigned spans = 2; spans < 6; spans++) {
        pass_time(history, spans * WEIR_MAPPING_HISTORY_SPAN_NS);
        cr_expect_eq(file_at(history, 5, 500, 0), 1);
    }
    pass_time(history, 7 * WEIR_MAPPING_HISTORY_SPAN_NS); /* was asked for since the last look */
    pass_time(history, 9 * WEIR_MAPPING_HISTORY_SPAN_NS);
    cr_expect_eq(weir_mapping_history_count(history).processes, 0);
    cr_expect_eq(weir_mapping_history_count(history).bytes, 0);
    weir_mapping_history_free(history);
}

/* An exec by another thread: the first thread ends before it. A number that is used again. */
Test(mapping_history, process_that_goes_on_after_an_exit_stays)
{
    struct weir_mapping_history *history = make();
    apply(history, exit_of(400, 5), 0);
    apply(history, exec_of(410, 5), 0);
    apply(history, map_of(420, 5, 0, 8), 1);
    apply(history, map_of(420, 6, 0, 8), 2);
    apply(history, fork_of(510, 6, 5), 0);
    apply(history, exit_of(500, 6), 0); /* comes late, from another CPU */
    for (unsigned spans = 2; spans < 6; spans++)
        pass_time(history, spans * WEIR_MAPPING_HISTORY_SPAN_NS);
    cr_expect_eq(file_at(history, 5, S, 0), 1);
    cr_expect_eq(file_at(history, 6, S, 0), 1);
    weir_mapping_history_free(history);
}

/* Only a full log has moved more into the maps than the span says. */
Test(mapping_history, change_older_than_the_maps_goes_between_newer_ones)
{
    struct weir_mapping_history *history = make();
    apply(history, map_of(100, 5, 0, 8), 1);
    apply(history, map_of(300, 5, 2, 2), 2);
    for (uint64_t i = 0; i < 2 * WEIR_MAPPING_LOG_MAX; i++)
        apply(history, map_of(400 + i, 5, 20, 1), 3);
    apply(history, map_of(200, 5, 1, 5), 4);
    static const uint32_t files[] = {1, 4, 2, 2, 4, 4, 1, 1};
    for (uint64_t page = 0; page < 8; page++)
        cr_expect_eq(file_at(history, 5, 5000, page), files[page], "page %u", (unsigned)page);
    apply(history, exec_of(250, 5), 0);
    for (uint64_t page = 0; page < 8; page++)
        cr_expect_eq(file_at(history, 5, 5000, page), page == 2 || page == 3 ? 2u : NOTHING);
    apply(history, map_of(249, 5, 0, 8), 5);
    cr_expect_eq(file_at(history, 5, 5000, 0), NOTHING);
    weir_mapping_history_free(history);
}

/* ---- bounds ---- */

Test(mapping_history, full_log_keeps_the_newest_changes)
{
    struct weir_mapping_history *history = make();
    const uint64_t count = 5000;
    for (uint64_t i = 1; i <= count; i++)
        apply(history, map_of(i, 5, 0, 1), (uint32_t)i);
    for (uint64_t i = 1; i <= count; i++) {
        uint32_t file = file_at(history, 5, i, 0);
        cr_assert(file == i || (file == NOTHING && i <= count - WEIR_MAPPING_LOG_MAX / 2), "at %u", (unsigned)i);
    }
    weir_mapping_history_free(history);
}

Test(mapping_history, without_room_a_process_is_unknown_until_its_next_exec)
{
    struct weir_mapping_history *history = make();
    uint64_t pages = 2ull * WEIR_TASK_MAPS_MAX + WEIR_MAPPING_LOG_MAX, time_ns = 10;
    for (uint64_t i = 0; i < pages; i++)
        apply(history, map_of(time_ns++, 5, 2 * i, 1), 1);
    cr_expect_gt(weir_mapping_history_count(history).refused, 0);
    cr_expect_eq(file_at(history, 5, 10, 0), 1);
    cr_expect_eq(file_at(history, 5, time_ns, 0), NOTHING);
    cr_expect_eq(file_at(history, 5, time_ns, 2 * pages - 2), NOTHING);
    apply(history, fork_of(time_ns, 6, 5), 0);
    cr_expect_eq(file_at(history, 6, time_ns, 0), NOTHING);
    apply(history, exec_of(time_ns++, 5), 0);
    apply(history, map_of(time_ns, 5, 0, 1), 2);
    cr_expect_eq(file_at(history, 5, time_ns, 0), 2);
    cr_expect_eq(file_at(history, 5, time_ns - 3, 0), NOTHING);
    weir_mapping_history_free(history);
}

/* Within one span; then the span shrinks, and later there is room again. */
Test(mapping_history, memory_has_a_bound)
{
    struct weir_mapping_history *history = make();
    uint64_t time_ns = S;
    for (pid_t pid = 1; pid < 400000; pid++, time_ns += 1000) {
        apply(history, map_of(time_ns, pid, 0, 1), 1);
        apply(history, exit_of(time_ns, pid), 0);
    }
    cr_expect_gt(weir_mapping_history_count(history).refused, 0);
    cr_expect_leq(weir_mapping_history_count(history).bytes, WEIR_TASK_MAPS_BYTES_MAX);
    time_ns += 2 * S; /* less than the span */
    apply(history, map_of(time_ns, 400001, 0, 1), 2);
    cr_expect_eq(file_at(history, 400001, time_ns, 0), 2);
    cr_expect_eq(weir_mapping_history_count(history).processes, 1);
    weir_mapping_history_free(history);
}

Test(mapping_history, without_memory_it_is_not_made)
{
    struct weir_mapping_history *history = NULL;
    failing_alloc_after(0);
    cr_expect_eq(weir_mapping_history_new(&history), -ENOMEM);
    failing_alloc_never();
    weir_mapping_history_free(NULL);
}

/* ---- any order ---- */

#define PIDS    6u /* 1 .. */
#define PAGES   16u
#define RECORDS 400u
#define QUERIES 3000u

struct step {
    struct weir_side_record record;
    uint32_t file;
};

static uint32_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(*state >> 33);
}

/* Steps in the order of time, over several spans. */
static void make_steps(struct step *steps, uint64_t *state)
{
    uint64_t time_ns = 1;
    for (uint32_t i = 0; i < RECORDS; i++) {
        pid_t pid = 1 + (pid_t)(next(state) % PIDS);
        uint32_t kind = next(state) % 16, page = next(state) % PAGES;
        time_ns += 1 + next(state) % (S / 2);
        steps[i].file = i + 1;
        if (kind == 0) {
            steps[i].record = exec_of(time_ns, pid);
        } else if (kind < 4) {
            steps[i].record = fork_of(time_ns, pid, 1 + (pid + (pid_t)(next(state) % (PIDS - 1))) % (pid_t)PIDS);
        } else {
            steps[i].record = map_of(time_ns, pid, page, 1 + next(state) % (PAGES - page));
            steps[i].record.misc = kind == 4 ? PERF_RECORD_MISC_MMAP_DATA : 0;
        }
    }
}

/* The model: what each page of each process is after the steps up to a time, one after another. */
static void run_model(const struct step *steps, uint64_t time_ns, uint32_t pages[PIDS + 1][PAGES])
{
    memset(pages, 0xff, (PIDS + 1) * sizeof(pages[0])); /* NOTHING */
    for (uint32_t i = 0; i < RECORDS && steps[i].record.time_ns <= time_ns; i++) {
        const struct weir_side_record *record = &steps[i].record;
        uint32_t *own = pages[record->pid];
        uint64_t first = record->map.start / PAGE, count = record->map.bytes / PAGE;
        if (record->type == PERF_RECORD_FORK)
            memcpy(own, pages[record->ppid], sizeof(pages[0]));
        if (record->type == PERF_RECORD_COMM)
            memset(own, 0xff, sizeof(pages[0]));
        for (uint64_t page = first; record->type == PERF_RECORD_MMAP2 && page < first + count; page++)
            own[page] = record->misc & PERF_RECORD_MISC_MMAP_DATA ? NOTHING : steps[i].file;
    }
}

/* Each step comes up to two seconds late. */
static void apply_shuffled(struct weir_mapping_history *history, const struct step *steps, uint64_t *state)
{
    struct {
        uint64_t at;
        uint32_t step;
    } order[RECORDS];
    for (uint32_t i = 0; i < RECORDS; i++) {
        order[i].at = steps[i].record.time_ns + next(state) % (2 * S);
        order[i].step = i;
        for (uint32_t k = i; k > 0 && order[k].at < order[k - 1].at; k--) {
            uint64_t at = order[k].at;
            uint32_t step = order[k].step;
            order[k] = order[k - 1];
            order[k - 1].at = at;
            order[k - 1].step = step;
        }
    }
    for (uint32_t i = 0; i < RECORDS; i++)
        apply(history, steps[order[i].step].record, steps[order[i].step].file);
}

static void compare(struct weir_mapping_history *history, const struct step *steps, uint64_t *state)
{
    uint64_t last_ns = steps[RECORDS - 1].record.time_ns;
    uint32_t pages[PIDS + 1][PAGES], known = 0;
    for (uint32_t i = 0; i < QUERIES / PAGES / PIDS; i++) {
        uint64_t time_ns = last_ns - next(state) % (i % 2 ? WEIR_MAPPING_HISTORY_SPAN_NS - 2 * S : last_ns);
        run_model(steps, time_ns, pages);
        for (pid_t pid = 1; pid <= (pid_t)PIDS; pid++) {
            for (uint32_t page = 0; page < PAGES; page++) {
                uint32_t file = file_at(history, pid, time_ns, page);
                bool is_kept = time_ns + WEIR_MAPPING_HISTORY_SPAN_NS >= last_ns;
                cr_assert(file == pages[pid][page] || (!is_kept && file == NOTHING),
                          "process %d, page %u at %llu of %llu: %u instead of %u", (int)pid, page,
                          (unsigned long long)time_ns, (unsigned long long)last_ns, file, pages[pid][page]);
                known += file != NOTHING;
            }
        }
    }
    cr_assert_gt(known, 0);
}

Test(mapping_history, order_of_arrival_does_not_matter)
{
    static struct step steps[RECORDS];
    for (uint64_t seed = 0; seed < 300; seed++) {
        uint64_t state = seed;
        struct weir_mapping_history *history = make();
        make_steps(steps, &state);
        apply_shuffled(history, steps, &state);
        compare(history, steps, &state);
        cr_assert_eq(weir_mapping_history_count(history).refused, 0, "seed %u", (unsigned)seed);
        weir_mapping_history_free(history);
    }
}

/* Whatever allocation fails, an answer is right or "not known". */
Test(mapping_history, without_memory_nothing_is_wrong)
{
    static struct step steps[RECORDS];
    for (unsigned successes = 0; successes < 120; successes++) {
        uint64_t state = 1;
        uint32_t pages[PIDS + 1][PAGES];
        struct weir_mapping_history *history = make();
        make_steps(steps, &state);
        failing_alloc_after(successes);
        for (uint32_t i = 0; i < RECORDS; i++)
            apply(history, steps[i].record, steps[i].file);
        failing_alloc_never();
        run_model(steps, UINT64_MAX, pages);
        for (pid_t pid = 1; pid <= (pid_t)PIDS; pid++) {
            for (uint32_t page = 0; page < PAGES; page++) {
                uint32_t file = file_at(history, pid, steps[RECORDS - 1].record.time_ns, page);
                cr_assert(file == pages[pid][page] || file == NOTHING);
            }
        }
        weir_mapping_history_free(history);
    }
}
