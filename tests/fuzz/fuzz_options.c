/*
 * The options of `weir record` (cli/record_options.h, which brings cli/option.h to work on the real table). Input: the
 * words of the command line, each ended by a newline or a zero byte.
 *
 * Arguments that were understood, written out as options again, are understood the same; every number is within its
 * row's range; what follows from them (rings, target) is what the header promises. What is refused is said in a line.
 */
#include "cli/record_options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "base/buf.h"
#include "cli/ring_options.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input.h"
#include "topology/plan.h"

#define WORDS_MAX  96
#define PAGE_BYTES 4096

/* A command line; each word in a block of its exact size. */
struct words {
    char *argv[WORDS_MAX + 1]; /* owned; NULL-terminated */
    size_t count;
};

static void words_fini(struct words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->argv[i]);
}

/* Words beyond the limit are dropped. */
static void words_split(struct words *words, const uint8_t *data, size_t bytes)
{
    *words = (struct words){.count = 0};
    for (size_t at = 0; at < bytes && words->count < WORDS_MAX;) {
        size_t length = 0;
        while (at + length < bytes && data[at + length] != '\n' && data[at + length] != '\0')
            length++;
        words->argv[words->count++] = fuzz_text(data + at, length);
        at += length + 1;
    }
}

__attribute__((format(printf, 2, 3))) static void words_add(struct words *words, const char *format, ...)
{
    weir_assert(words->count < WORDS_MAX);
    va_list args;
    va_start(args, format);
    weir_assert(vasprintf(&words->argv[words->count++], format, args) >= 0);
    va_end(args);
}

/* ---- arguments, written out ---- */

static void write_cpus(struct words *words, const struct weir_cpuset *cpus)
{
    size_t bytes = weir_cpuset_format(cpus, NULL, 0) + 1;
    char *list = malloc(bytes);
    weir_assert(list);
    weir_cpuset_format(cpus, list, bytes);
    words_add(words, "--cpu=%s", list);
    free(list);
}

static void write_pids(struct words *words, const struct weir_record_arguments *arguments)
{
    struct weir_buf list = WEIR_BUF_INIT;
    for (size_t i = 0; i < arguments->pid_count; i++)
        weir_buf_printf(&list, "%s%d", i > 0 ? "," : "", (int)arguments->pids[i]);
    words_add(words, "--pid=%s", weir_buf_str(&list));
    weir_buf_fini(&list);
}

static void write_verbosity(struct words *words, unsigned verbosity)
{
    struct weir_buf letters = WEIR_BUF_INIT;
    for (unsigned i = 0; i < verbosity; i++)
        weir_buf_append_u8(&letters, 'v');
    words_add(words, "-%s", weir_buf_str(&letters));
    weir_buf_fini(&letters);
}

static void write_numbers(struct words *words, const struct weir_record_arguments *arguments)
{
    if (arguments->options.rate.freq_hz == WEIR_VALUE_FREQ_MAX)
        words_add(words, "--freq=max");
    else if (arguments->options.rate.freq_hz)
        words_add(words, "--freq=%" PRIu64, arguments->options.rate.freq_hz);
    if (arguments->options.rate.period)
        words_add(words, "--count=%" PRIu64, arguments->options.rate.period);
    const struct weir_ring_size *data = &arguments->ring_sizes.data, *aux = &arguments->ring_sizes.aux;
    if (data->given && aux->given)
        words_add(words, "--mmap-pages=%" PRIu64 "%s,%" PRIu64 "%s", data->number, data->in_bytes ? "B" : "",
                  aux->number, aux->in_bytes ? "B" : "");
    else if (data->given)
        words_add(words, "--mmap-pages=%" PRIu64 "%s", data->number, data->in_bytes ? "B" : "");
    else if (aux->given)
        words_add(words, "--mmap-pages=,%" PRIu64 "%s", aux->number, aux->in_bytes ? "B" : "");
    if (arguments->options.memory.buffer_bytes)
        words_add(words, "--buffer-size=%" PRIu64, arguments->options.memory.buffer_bytes);
    if (arguments->options.readers.realtime_priority)
        words_add(words, "--realtime=%u", arguments->options.readers.realtime_priority);
}

/* The flags about samples: their names and where they are kept. */
static const struct {
    const char *name;
    size_t field;
} sample_flags[] = {
    {"--kernel-callchains", offsetof(struct weir_record_arguments, options.samples.kernel_callchains)},
    {"--user-callchains", offsetof(struct weir_record_arguments, options.samples.user_callchains)},
    {"--data", offsetof(struct weir_record_arguments, options.samples.addresses)},
    {"--phys-data", offsetof(struct weir_record_arguments, options.samples.physical_addresses)},
    {"--data-page-size", offsetof(struct weir_record_arguments, options.samples.data_page_size)},
    {"--code-page-size", offsetof(struct weir_record_arguments, options.samples.code_page_size)},
    {"--weight", offsetof(struct weir_record_arguments, options.samples.weight)},
    {"--transaction", offsetof(struct weir_record_arguments, options.samples.transaction)},
    {"--raw-samples", offsetof(struct weir_record_arguments, options.samples.raw)},
    {"--running-time", offsetof(struct weir_record_arguments, options.samples.running_time)},
    {"--no-samples", offsetof(struct weir_record_arguments, options.samples.no_samples)},
    {"--no-buffering", offsetof(struct weir_record_arguments, options.samples.no_buffering)},
    {"--no-bpf-event", offsetof(struct weir_record_arguments, options.samples.no_bpf_events)},
    {"--switch-events", offsetof(struct weir_record_arguments, options.samples.switch_events)},
    {"--namespaces", offsetof(struct weir_record_arguments, options.samples.namespaces)},
    {"--all-cgroups", offsetof(struct weir_record_arguments, options.samples.cgroups)},
    {"--strict-freq", offsetof(struct weir_record_arguments, options.rate.strict)},
    {"--all-kernel", offsetof(struct weir_record_arguments, options.all_kernel)},
    {"--all-user", offsetof(struct weir_record_arguments, options.all_user)},
};

static bool sample_flag(const struct weir_record_arguments *arguments, size_t index)
{
    return *(const bool *)((const char *)arguments + sample_flags[index].field);
}

static void write_call_graph(struct words *words, const struct weir_call_graph_request *request)
{
    if (request->mode == WEIR_CALL_GRAPH_FP && request->max_stack)
        words_add(words, "--call-graph=fp,%" PRIu32, request->max_stack);
    else if (request->mode == WEIR_CALL_GRAPH_FP)
        words_add(words, "-g");
    else if (request->mode == WEIR_CALL_GRAPH_DWARF)
        words_add(words, "--call-graph=dwarf,%" PRIu32, request->stack_bytes);
    else if (request->mode == WEIR_CALL_GRAPH_LBR)
        words_add(words, "--call-graph=lbr");
}

static void write_samples(struct words *words, const struct weir_record_arguments *arguments)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(sample_flags); i++) {
        if (sample_flag(arguments, i))
            words_add(words, "%s", sample_flags[i].name);
    }
    write_call_graph(words, &arguments->options.samples.call_graph);
    if (arguments->options.samples.period != WEIR_CHOICE_NONE)
        words_add(words, "--%speriod", arguments->options.samples.period == WEIR_CHOICE_NO ? "no-" : "");
    if (arguments->options.samples.clock.given)
        words_add(words, "--clockid=%" PRId32, arguments->options.samples.clock.id);
}

static void check_samples_equal(const struct weir_record_arguments *a, const struct weir_record_arguments *b)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(sample_flags); i++)
        weir_assert(sample_flag(a, i) == sample_flag(b, i));
    const struct weir_sample_options *x = &a->options.samples, *y = &b->options.samples;
    weir_assert(x->call_graph.mode == y->call_graph.mode && x->call_graph.stack_bytes == y->call_graph.stack_bytes);
    weir_assert(x->call_graph.max_stack == y->call_graph.max_stack && x->period == y->period);
    weir_assert(x->clock.given == y->clock.given && x->clock.id == y->clock.id);
}

/* Each option in its long form, then those of `more` (NULL: none), then the command. False: more words than a command
 * line of this test has room for. */
static bool write_arguments(struct words *words, const struct weir_record_arguments *arguments, const char *const *more)
{
    const size_t others_max = 24 + WEIR_ARRAY_COUNT(sample_flags);
    size_t workload_count = 0;
    while (arguments->options.targets.command && arguments->options.targets.command[workload_count])
        workload_count++;
    *words = (struct words){.count = 0};
    if (arguments->events.count + workload_count + others_max > WORDS_MAX)
        return false;

    if (arguments->options.targets.system_wide)
        words_add(words, "--all-cpus");
    if (!weir_cpuset_is_empty(&arguments->cpus))
        write_cpus(words, &arguments->cpus);
    if (arguments->pid_count > 0)
        write_pids(words, arguments);
    for (size_t i = 0; i < arguments->events.count; i++)
        words_add(words, "--event=%s", arguments->events.items[i]);
    write_numbers(words, arguments);
    write_samples(words, arguments);
    if (arguments->options.targets.exclude_self)
        words_add(words, "--exclude-perf");
    if (arguments->options.readers.threads_spec)
        words_add(words, "--threads=%s", arguments->options.readers.threads_spec);
    if (arguments->verbosity > 0)
        write_verbosity(words, arguments->verbosity);
    if (arguments->quiet)
        words_add(words, "--quiet");
    if (arguments->options.dry_run)
        words_add(words, "--dry-run");
    words_add(words, "--output=%s", arguments->options.output.path);
    for (; more && *more; more++)
        words_add(words, "%s", *more);
    words_add(words, "--");
    for (size_t i = 0; i < workload_count; i++)
        words_add(words, "%s", arguments->options.targets.command[i]);
    return true;
}

/* ---- what must hold ---- */

static bool text_equal(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool ring_size_equal(const struct weir_ring_size *a, const struct weir_ring_size *b)
{
    return a->given == b->given && a->number == b->number && a->in_bytes == b->in_bytes;
}

static void check_equal(const struct weir_record_arguments *a, const struct weir_record_arguments *b)
{
    weir_assert(a->options.targets.system_wide == b->options.targets.system_wide &&
                weir_cpuset_equal(&a->cpus, &b->cpus));
    weir_assert(a->pid_count == b->pid_count);
    weir_assert(a->pid_count == 0 || memcmp(a->pids, b->pids, a->pid_count * sizeof(*a->pids)) == 0);
    weir_assert(a->events.count == b->events.count);
    for (size_t i = 0; i < a->events.count; i++)
        weir_assert(strcmp(a->events.items[i], b->events.items[i]) == 0);
    weir_assert(a->options.rate.freq_hz == b->options.rate.freq_hz && a->options.rate.period == b->options.rate.period);
    check_samples_equal(a, b);
    weir_assert(a->options.targets.exclude_self == b->options.targets.exclude_self);
    weir_assert(ring_size_equal(&a->ring_sizes.data, &b->ring_sizes.data));
    weir_assert(ring_size_equal(&a->ring_sizes.aux, &b->ring_sizes.aux) &&
                a->options.memory.buffer_bytes == b->options.memory.buffer_bytes);
    weir_assert(text_equal(a->options.readers.threads_spec, b->options.readers.threads_spec) &&
                text_equal(a->options.output.path, b->options.output.path));
    weir_assert(a->options.readers.realtime_priority == b->options.readers.realtime_priority &&
                a->verbosity == b->verbosity);
    weir_assert(a->quiet == b->quiet && a->options.dry_run == b->options.dry_run);
    weir_assert((a->options.targets.command != NULL) == (b->options.targets.command != NULL));
    for (size_t i = 0; a->options.targets.command && a->options.targets.command[i]; i++)
        weir_assert(text_equal(a->options.targets.command[i], b->options.targets.command[i]));
}

/* Arguments, written out with more options behind them, are understood as expected. */
static void check_written(const struct weir_record_arguments *arguments, const char *const *more,
                          const struct weir_record_arguments *expected)
{
    struct words words;
    if (!write_arguments(&words, arguments, more))
        return;
    struct weir_record_arguments again;
    weir_record_arguments_init(&again);
    weir_assert(weir_record_options_parse(&again, words.argv, NULL, NULL) == 0);
    check_equal(&again, expected);
    weir_record_arguments_fini(&again);
    words_fini(&words);
}

/* Of a flag the last word holds. */
static void check_negated(const struct weir_record_arguments *arguments)
{
    static const char *const negations[] = {"--no-all-cpus", "--no-exclude-perf", "--no-verbose",
                                            "--no-quiet",    "--no-dry-run",      NULL};
    struct weir_record_arguments expected = *arguments; /* borrows what that owns */
    expected.options.targets.system_wide = expected.options.targets.exclude_self = expected.quiet =
        expected.options.dry_run = false;
    expected.verbosity = 0;
    check_written(arguments, negations, &expected);
}

static void check_ranges(const struct weir_record_arguments *arguments, const struct words *words)
{
    weir_assert(arguments->options.rate.freq_hz <= UINT32_MAX ||
                arguments->options.rate.freq_hz == WEIR_VALUE_FREQ_MAX);
    weir_assert(arguments->options.rate.period <= INT64_MAX);
    weir_assert(arguments->options.readers.realtime_priority <= 99);
    weir_assert(arguments->options.memory.buffer_bytes == 0 ||
                (arguments->options.memory.buffer_bytes >= WEIR_BUFFER_BYTES_MIN &&
                 arguments->options.memory.buffer_bytes <= WEIR_BUFFER_BYTES_MAX));
    weir_assert(!arguments->options.readers.threads_spec ||
                weir_plan_check_spec(arguments->options.readers.threads_spec, NULL) == 0);
    weir_assert(arguments->options.output.path[0] != '\0');
    for (size_t i = 0; i < arguments->pid_count; i++)
        weir_assert(arguments->pids[i] > 0);
    for (size_t i = 0; i < arguments->events.count; i++)
        weir_assert(arguments->events.items[i][0] != '\0');
    if (arguments->options.targets.command)
        weir_assert(arguments->options.targets.command >= words->argv &&
                    arguments->options.targets.command < words->argv + words->count);
}

static void check_notice(void *ctx, enum weir_notice_level level, const char *line)
{
    (void)ctx;
    (void)level;
    fuzz_check_line(line);
}

static void check_resolved(struct weir_record_arguments *arguments)
{
    const struct weir_notice_sink sink = {.emit = check_notice};
    struct weir_error err = {0};
    bool has_both = arguments->options.rate.freq_hz != 0 && arguments->options.rate.period != 0;
    int result = weir_record_options_resolve(arguments, PAGE_BYTES, &sink, &err);
    if (result < 0) {
        weir_assert(result == -EINVAL);
        fuzz_check_error(&err, result);
        return;
    }
    weir_assert(!has_both);
    const struct weir_ring_size_pair *sizes = &arguments->ring_sizes;
    weir_assert(sizes->data.given ? weir_is_power_of_two(arguments->options.memory.ring_bytes)
                                  : arguments->options.memory.ring_bytes == 0);
    weir_assert(sizes->aux.given ? weir_is_power_of_two(arguments->options.aux.area_bytes)
                                 : arguments->options.aux.area_bytes == 0);
    weir_assert(arguments->options.memory.ring_bytes <= WEIR_RING_BYTES_MAX);
    bool has_cpus = !weir_cpuset_is_empty(&arguments->cpus);
    weir_assert(!has_cpus || arguments->options.targets.system_wide);
    weir_assert(!arguments->options.targets.system_wide ||
                (arguments->pid_count == 0 && arguments->tid_count == 0 && !arguments->user));
    bool has_tasks = arguments->pid_count > 0 || arguments->tid_count > 0 || arguments->user;
    weir_assert(arguments->options.targets.system_wide || has_tasks || arguments->options.targets.command);
}

static void run(void *fixture, const uint8_t *data, size_t bytes)
{
    (void)fixture;
    struct words words;
    words_split(&words, data, bytes);
    struct weir_record_arguments arguments;
    struct weir_error err = {0};
    weir_record_arguments_init(&arguments);
    int result = weir_record_options_parse(&arguments, words.argv, NULL, &err);
    if (result < 0) {
        weir_assert(result == -EINVAL);
        fuzz_check_error(&err, result);
    } else if (result == WEIR_OPTIONS_PARSED) {
        check_ranges(&arguments, &words);
        check_written(&arguments, NULL, &arguments);
        check_negated(&arguments);
        check_resolved(&arguments);
    } else {
        weir_assert(result == WEIR_OPTIONS_HELP);
    }
    weir_record_arguments_fini(&arguments);
    words_fini(&words);
}

const struct fuzz_target fuzz_target = {.run = run};
