/* Threads that fold samples, and the thread that feeds them. */
#include "report/sampling.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "format/bytes.h"
#include "report/batch_queue.h"
#include "report/sample_split.h"

#define THREADS_MAX        64u
#define BATCHES_PER_THREAD 2u
#define CHAIN_MAX          8192u /* words of a record */
#define CACHE_ENTRIES      32768u
#define TASK_ENTRIES       1024u

struct parcel { /* in front of each sample of a batch */
    uint64_t clock;
    uint64_t weight; /* 0: the record says it */
    uint16_t event;  /* whose sample it is */
    uint16_t layout; /* the event that the record's fields are of */
    uint32_t bytes;  /* of the record, which follows, and is filled up to a multiple of 8 */
};

/* An answer that a thread has found already: it holds for the span of time. */
struct cached_frame {
    uint64_t address, since, until; /* until 0: empty */
    uint32_t process;
    weir_frame frame;
};

struct cached_task {
    uint32_t pid, tid;
    struct weir_task_found found; /* until 0: empty */
};

/* A thread that folds. It alone writes its fields, until it has ended. */
struct folder {
    pthread_t thread;
    struct weir_batch_queue *queue;
    struct weir_survey *survey;             /* shared, does not change but for the loading of symbols */
    const struct weir_input_events *events; /* of the survey: complete; nothing changes them */
    struct weir_fold fold;
    uint64_t samples, malformed;
    int error;                   /* -ENOMEM; the rest of the batches are only given back */
    struct cached_frame *frames; /* owned; CACHE_ENTRIES */
    struct cached_task *tasks;   /* owned; TASK_ENTRIES */
    struct weir_copied_stacks stacks;
    bool unwinds;                /* stacks is initialized */
    weir_frame chain[CHAIN_MAX]; /* of the present sample, the innermost first */
};

/* ---- resolving ---- */

static weir_frame look_up(struct folder *folder, uint32_t process, uint64_t address, uint64_t time,
                          struct cached_frame *entry)
{
    struct weir_survey *survey = folder->survey;
    struct weir_map_found found = weir_task_history_map(&survey->history, process, address, time);
    uint32_t object = WEIR_OBJECT_NUMBER_UNKNOWN, symbol = WEIR_SYMBOL_NONE;
    if (found.map) {
        object = survey->objects.list[found.map->object]->same;
        bool is_absolute = weir_object_is_absolute(survey->objects.list[object]);
        uint64_t place = is_absolute ? address : address - found.map->start + found.map->offset;
        symbol = weir_objects_resolve(&survey->objects, object, place);
    } else if (process == WEIR_PROCESS_KERNEL) {
        symbol = weir_objects_resolve(&survey->objects, WEIR_OBJECT_NUMBER_KERNEL, address);
        object = symbol == WEIR_SYMBOL_NONE ? object : WEIR_OBJECT_NUMBER_KERNEL;
    }
    *entry = (struct cached_frame){.address = address,
                                   .since = found.since,
                                   .until = found.until,
                                   .process = process,
                                   .frame = weir_frame_of(object, symbol)};
    return entry->frame;
}

static weir_frame resolve(struct folder *folder, uint32_t process, uint64_t address, uint64_t time)
{
    struct cached_frame *entry = &folder->frames[weir_mix(address ^ (uint64_t)process << 48) % CACHE_ENTRIES];
    if (entry->address == address && entry->process == process && entry->since <= time && time < entry->until)
        return entry->frame;
    return look_up(folder, process, address, time, entry);
}

static struct weir_task_found find_task(struct folder *folder, const struct weir_sample_id *id, uint64_t time)
{
    struct cached_task *entry = &folder->tasks[id->tid % TASK_ENTRIES];
    if (entry->pid != id->pid || entry->tid != id->tid || time < entry->found.since || time >= entry->found.until) {
        entry->pid = id->pid;
        entry->tid = id->tid;
        entry->found = weir_task_history_find(&folder->survey->history, id->pid, id->tid, time);
    }
    return entry->found;
}

/* The process whose mappings an address of that mode is in. */
static uint32_t process_of_mode(unsigned mode, const struct weir_task_found *task)
{
    switch (mode) {
    case PERF_RECORD_MISC_KERNEL:
        return WEIR_PROCESS_KERNEL;
    case PERF_RECORD_MISC_USER:
        return task->process;
    default:
        return WEIR_PROCESS_NONE;
    }
}

/* A mark in a chain says of which mode the following addresses are. */
static unsigned mode_of_mark(uint64_t mark)
{
    switch (mark) {
    case (uint64_t)PERF_CONTEXT_KERNEL:
        return PERF_RECORD_MISC_KERNEL;
    case (uint64_t)PERF_CONTEXT_USER:
        return PERF_RECORD_MISC_USER;
    default:
        return PERF_RECORD_MISC_CPUMODE_UNKNOWN;
    }
}

/* ---- one sample ---- */

/* A chain whose addresses are being resolved into folder->chain. */
struct chain {
    const struct weir_task_found *task;
    uint64_t time;
    unsigned mode; /* of the following addresses */
    size_t count;  /* of frames so far */
};

static void add_address(struct folder *folder, struct chain *chain, uint64_t address)
{
    if (chain->count < CHAIN_MAX)
        folder->chain[chain->count++] =
            resolve(folder, process_of_mode(chain->mode, chain->task), address, chain->time);
}

/* Returns the words that were resolved: all, or those before the mark of a part that is elsewhere. */
static uint64_t resolve_words(struct folder *folder, struct chain *chain, const struct weir_sample_array *words,
                              uint64_t end_mark)
{
    for (uint64_t i = 0; i < words->count; i++) {
        uint64_t address = weir_load_u64(words->data + i * sizeof(address));
        if (address == end_mark)
            return i;
        if (address >= (uint64_t)PERF_CONTEXT_MAX)
            chain->mode = mode_of_mark(address);
        else
            add_address(folder, chain, address);
    }
    return words->count;
}

/* The user's part is in another record, which the cookie behind the mark names. */
static void resolve_deferred(struct folder *folder, struct chain *chain, const struct weir_sample *sample,
                             uint64_t mark)
{
    struct weir_sample_array words;
    if (mark + 2 > sample->callchain.count)
        return;
    uint64_t cookie = weir_load_u64(sample->callchain.data + (mark + 1) * sizeof(cookie));
    words.data = weir_deferred_chains_find(&folder->survey->deferred, cookie, sample->id.tid, &words.count);
    if (words.data)
        resolve_words(folder, chain, &words, WEIR_CONTEXT_USER_DEFERRED);
}

/* The user's part is the call stack that the CPU kept as branches: where the last call went to, and where each came
 * from. */
static void resolve_branches(struct folder *folder, struct chain *chain, const struct weir_sample_array *branches)
{
    add_address(folder, chain, weir_load_u64(branches->data + offsetof(struct perf_branch_entry, to)));
    for (uint64_t i = 0; i < branches->count; i++)
        add_address(folder, chain, weir_load_u64(branches->data + i * WEIR_BRANCH_ENTRY_BYTES));
}

static void resolve_stack(struct folder *folder, struct chain *chain, const struct weir_sample_layout *layout,
                          const struct weir_sample *sample)
{
    struct weir_unwind_chain unwound;
    weir_copied_stacks_unwind(&folder->stacks, layout, sample, chain->task->process, chain->time, &unwound);
    for (unsigned i = 0; i < unwound.count; i++)
        add_address(folder, chain, unwound.frames[i]);
}

/* Resolves the calls of a sample, as perf's thread__resolve_callchain() finds them. Returns their number. */
static size_t resolve_chain(struct folder *folder, const struct weir_input_event *event,
                            const struct weir_sample *sample, const struct weir_task_found *task, uint64_t time)
{
    struct chain chain = {.task = task, .time = time, .mode = PERF_RECORD_MISC_USER};
    bool has_branches = event->attr.branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK && sample->branches.count > 0;
    uint64_t end_mark = has_branches ? (uint64_t)PERF_CONTEXT_USER : WEIR_CONTEXT_USER_DEFERRED;
    uint64_t done = resolve_words(folder, &chain, &sample->callchain, end_mark);
    chain.mode = PERF_RECORD_MISC_USER;
    if (done < sample->callchain.count && has_branches)
        resolve_branches(folder, &chain, &sample->branches);
    else if (done < sample->callchain.count)
        resolve_deferred(folder, &chain, sample, done);
    if (folder->unwinds && weir_unwound_is_wanted(&event->attr))
        resolve_stack(folder, &chain, &event->layout, sample);
    return chain.count;
}

static int push_chain(struct folder *folder, size_t count, uint32_t *stack)
{
    *stack = WEIR_STACK_NONE;
    while (count > 0) {
        *stack = weir_fold_push(&folder->fold, *stack, folder->chain[--count]);
        if (*stack == WEIR_STACK_NONE && !folder->fold.is_cut)
            return -ENOMEM;
    }
    return 0;
}

static uint64_t weight_of(const struct weir_sample *sample, const struct perf_event_attr *attr)
{
    if (sample->fields & PERF_SAMPLE_PERIOD)
        return sample->period;
    return attr->sample_period ? attr->sample_period : 1;
}

static int fold_sample(struct folder *folder, const struct parcel *parcel, const uint8_t *record)
{
    const struct weir_input_event *event = &folder->events->list[parcel->layout];
    struct weir_sample sample;
    size_t bad_offset;
    if (weir_sample_parse(&sample, &event->layout, record, parcel->bytes, &bad_offset) < 0) {
        folder->malformed++;
        return 0;
    }
    struct weir_survey *survey = folder->survey;
    struct weir_task_found task = find_task(folder, &sample.id, parcel->clock);
    unsigned mode = weir_load_u16(record + offsetof(struct perf_event_header, misc)) & PERF_RECORD_MISC_CPUMODE_MASK;
    weir_frame own = resolve(folder, process_of_mode(mode, &task), sample.ip, parcel->clock);
    size_t count = resolve_chain(folder, event, &sample, &task, parcel->clock);
    bool has_own = sample.fields & PERF_SAMPLE_IP;
    if (count == 0 && has_own)
        folder->chain[count++] = own;
    struct weir_cell cell = {
        .time = parcel->clock > survey->first_ns ? parcel->clock - survey->first_ns : 0,
        .task = task.task,
        .event = parcel->event,
        .cpu = sample.fields & PERF_SAMPLE_CPU && sample.id.cpu < WEIR_CPU_UNKNOWN ? (uint16_t)sample.id.cpu
                                                                                   : WEIR_CPU_UNKNOWN,
        .count = weir_input_sample_count(&folder->events->merge, &sample),
        .weight = parcel->weight ? parcel->weight : weight_of(&sample, &event->attr),
    };
    cell.time = survey->has_times ? cell.time : 0;
    int result = push_chain(folder, count, &cell.stack);
    if (result == 0)
        result = weir_fold_add(&folder->fold, &cell);
    uint32_t comm = task.task == WEIR_ROW_NONE ? 0 : survey->history.tasks[task.task].comm;
    if (result == 0)
        result = weir_fold_sum(&folder->fold, parcel->event, comm, own, &cell);
    folder->samples++;
    return result;
}

static void fold_batch(struct folder *folder, const struct weir_batch *batch)
{
    size_t at = 0;
    while (folder->error == 0 && at < batch->used) {
        struct parcel parcel;
        memcpy(&parcel, batch->data + at, sizeof(parcel));
        at += sizeof(parcel);
        folder->error = fold_sample(folder, &parcel, batch->data + at);
        at += weir_align_up(parcel.bytes, 8);
    }
}

static void *fold_all(void *argument)
{
    struct folder *folder = argument;
    struct weir_batch *batch;
    while ((batch = weir_batch_take_full(folder->queue))) {
        fold_batch(folder, batch);
        weir_batch_put_empty(folder->queue, batch);
    }
    return NULL;
}

/* ---- feeding ---- */

struct feed {
    struct weir_survey *survey;
    struct weir_perf_input *input;
    struct weir_batch_queue queue;
    struct weir_batch *batch; /* being filled; NULL: none */
    struct weir_sample_split split;
    uint64_t unknown;
};

static void feed_parcel(struct feed *feed, const struct weir_record_view *record, const struct parcel *parcel)
{
    size_t bytes = sizeof(*parcel) + weir_align_up(record->bytes, 8);
    if (feed->batch && feed->batch->used + bytes > sizeof(feed->batch->data)) {
        weir_batch_put_full(&feed->queue, feed->batch);
        feed->batch = NULL;
    }
    if (!feed->batch)
        feed->batch = weir_batch_take_empty(&feed->queue);
    uint8_t *at = feed->batch->data + feed->batch->used;
    memcpy(at, parcel, sizeof(*parcel));
    memcpy(at + sizeof(*parcel), record->data, record->bytes);
    feed->batch->used += bytes;
}

static int feed_sample(struct feed *feed, const struct weir_record_view *record, uint64_t number)
{
    const struct weir_input_event *event = weir_input_event_of(&feed->input->events, record);
    size_t index = event ? (size_t)(event - feed->input->events.list) : 0;
    if (!event || index >= feed->survey->event_count || index > UINT16_MAX) {
        feed->unknown++;
        return 0;
    }
    struct parcel parcel = {.clock = weir_survey_clock(feed->survey, event, record, number),
                            .event = (uint16_t)index,
                            .layout = (uint16_t)index,
                            .bytes = record->bytes};
    if (!weir_sample_is_split(event)) {
        feed_parcel(feed, record, &parcel);
        return 0;
    }
    int result = weir_sample_split_take(&feed->split, &feed->input->events, event, record);
    for (size_t i = 0; result == 0 && i < feed->split.count; i++) {
        parcel.event = (uint16_t)feed->split.parts[i].event;
        parcel.weight = feed->split.parts[i].weight;
        if (feed->split.parts[i].event <= UINT16_MAX)
            feed_parcel(feed, record, &parcel);
    }
    return result;
}

/* Reads up to the damage at which the survey ended, too: that is no error. */
static int feed_all(struct feed *feed, struct weir_error *err)
{
    struct weir_record_view record;
    int result, fed = 0;
    for (uint64_t number = 0; fed == 0 && (result = weir_perf_input_next(feed->input, &record, err)) > 0; number++) {
        if (record.type == PERF_RECORD_SAMPLE)
            fed = feed_sample(feed, &record, number);
    }
    if (fed < 0)
        result = weir_error_set_errno(err, fed, "cannot fold the samples");
    if (feed->batch)
        weir_batch_put_full(&feed->queue, feed->batch);
    return result == -EBADMSG ? 0 : result;
}

/* ---- threads ---- */

static unsigned cpus_allowed(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
    return count < 1 ? 1 : (unsigned)count;
}

/* Whether there are copied stacks that can be unwound. */
static bool has_stacks(const struct weir_survey *survey)
{
    for (size_t i = 0; survey->machine && i < survey->event_count; i++) {
        if (survey->events[i].has_dumps)
            return true;
    }
    return false;
}

static int start_folder(struct folder *folder, struct feed *feed, const struct weir_fold_plan *plan)
{
    folder->queue = &feed->queue;
    folder->survey = feed->survey;
    folder->events = feed->survey->input_events;
    folder->frames = calloc(CACHE_ENTRIES, sizeof(*folder->frames));
    folder->tasks = calloc(TASK_ENTRIES, sizeof(*folder->tasks));
    weir_fold_init(&folder->fold, plan);
    if (!folder->frames || !folder->tasks)
        return -ENOMEM;
    if (has_stacks(feed->survey)) {
        int result =
            weir_copied_stacks_init(&folder->stacks, feed->survey, WEIR_COPIED_STACKS_TABLES_BYTES / plan->folds);
        if (result < 0)
            return result;
        folder->unwinds = true;
    }
    return -pthread_create(&folder->thread, NULL, fold_all, folder);
}

static void free_folder(struct folder *folder)
{
    weir_fold_fini(&folder->fold);
    weir_copied_stacks_fini(&folder->stacks);
    free(folder->frames);
    free(folder->tasks);
}

static int collect(struct weir_fold *fold, struct weir_sampling_result *result, const struct folder *folder)
{
    result->samples += folder->samples;
    result->malformed += folder->malformed;
    weir_unwound_counts_add(&result->stacks, &folder->stacks.counts);
    return folder->error < 0 ? folder->error : weir_fold_merge(fold, &folder->fold);
}

static int run_folders(struct folder *folders, struct feed *feed, const struct weir_fold_plan *plan,
                       struct weir_fold *fold, struct weir_sampling_result *counts, struct weir_error *err)
{
    unsigned started = 0;
    int result = 0;
    while (result == 0 && started < plan->folds) {
        result = start_folder(&folders[started], feed, plan);
        started += result == 0;
    }
    if (result < 0)
        weir_error_set_errno(err, result, "cannot start a thread");
    else
        result = feed_all(feed, err);
    weir_batch_queue_close(&feed->queue);
    for (unsigned i = 0; i < started; i++)
        pthread_join(folders[i].thread, NULL);
    for (unsigned i = 0; result == 0 && i < started; i++) {
        result = collect(fold, counts, &folders[i]);
        if (result < 0)
            weir_error_set_errno(err, result, "cannot fold the samples");
        free_folder(&folders[i]);
        folders[i] = (struct folder){.error = 0};
    }
    for (unsigned i = 0; i < plan->folds; i++)
        free_folder(&folders[i]);
    return result;
}

int weir_sampling_run(struct weir_fold *fold, struct weir_sampling_result *result, struct weir_survey *survey,
                      struct weir_perf_input *input, unsigned threads, struct weir_error *err)
{
    struct feed feed = {.survey = survey, .input = input};
    struct weir_fold_plan plan = {
        .samples = survey->samples,
        .span = survey->last_ns - survey->first_ns,
        .folds = (unsigned)weir_min_u64(threads ? threads : cpus_allowed(), THREADS_MAX),
        .seed = survey->strings.key.words[1],
    };
    struct weir_fold_plan whole = plan;
    whole.folds = 1;
    weir_fold_init(fold, &whole);
    weir_sample_split_init(&feed.split, plan.seed);
    *result = (struct weir_sampling_result){0};
    struct folder *folders = calloc(plan.folds, sizeof(*folders));
    int code = weir_batch_queue_init(&feed.queue, BATCHES_PER_THREAD * plan.folds + 1);
    if (!folders || code < 0)
        code = weir_error_set_errno(err, -ENOMEM, "cannot fold the samples");
    if (code == 0 && folders)
        code = run_folders(folders, &feed, &plan, fold, result, err);
    result->unknown = feed.unknown;
    weir_batch_queue_fini(&feed.queue);
    weir_sample_split_fini(&feed.split);
    free(folders);
    if (code == 0 && weir_fold_finish(fold) < 0)
        code = weir_error_set_errno(err, -ENOMEM, "cannot fold the samples");
    return code;
}
