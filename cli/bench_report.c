/* The report that `weir bench drain` prints. Pure; any thread. */
#include "cli/bench_report.h"

#include <errno.h>
#include <inttypes.h>

#include "base/bits.h"
#include "base/clock.h"
#include "cli/bench_figures.h"
#include "format/text_out.h"

#define BYTES_PER_MB  1e6
#define BYTES_PER_GB  1e9
#define RECORDS_PER_M 1e6
#define PERCENT       100.0
#define MS_PER_S      1000.0
#define US_PER_MS     1000.0
#define US_PER_S      1e6

static const double percents[] = {50, 90, 99, 100};

/* The figures that both forms show. Rates are 0 where nothing was measured. */
struct figures {
    double mb_per_s;
    double million_records_per_s;
    double cpu_s_per_gb;
    double drain_mb_per_cpu_s; /* what the readers and the writer move in a second of CPU time */
    double copy_mb_per_s;      /* what memcpy(3) does ... */
    double records_mb_per_s;   /* ... and where the source is not alike, as records are not */
    double rings_mb_per_s;     /* ... and out of as many rings as a core plays */
    double copy_percent;       /* of the first of these */
    double lost_percent;
};

static double ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}

static struct figures figures_of(const struct weir_simulate_result *result)
{
    const struct weir_record_result *record = &result->record;
    double bytes = (double)record->file_bytes, drained = (double)result->drained_bytes;
    double drain_seconds = result->reader_cpu_seconds + result->writer_cpu_seconds;
    double copy_per_s = weir_copy_sum_per_s(&result->copy.aligned);
    return (struct figures){
        .mb_per_s = ratio(bytes / BYTES_PER_MB, result->seconds),
        .million_records_per_s =
            ratio((double)(record->samples + record->merged_samples) / RECORDS_PER_M, result->seconds),
        .cpu_s_per_gb = ratio(result->recorder_cpu_seconds, bytes / BYTES_PER_GB),
        .drain_mb_per_cpu_s = ratio(drained / BYTES_PER_MB, drain_seconds),
        .copy_mb_per_s = copy_per_s / BYTES_PER_MB,
        .records_mb_per_s = weir_copy_sum_per_s(&result->copy.records) / BYTES_PER_MB,
        .rings_mb_per_s = weir_copy_sum_per_s(&result->copy.rings) / BYTES_PER_MB,
        .copy_percent = PERCENT * ratio(ratio(drained, drain_seconds), copy_per_s),
        .lost_percent = ratio(PERCENT * (double)record->lost_samples, (double)result->produced),
    };
}

static double latency_ms(const struct weir_simulate_result *result, double percent)
{
    return (double)weir_histogram_percentile(&result->latency_us, percent) / US_PER_MS;
}

int weir_bench_check_balance(const struct weir_simulate_result *result, struct weir_error *err)
{
    uint64_t accounted = result->record.samples + result->record.merged_samples + result->record.lost_samples;
    if (accounted == result->produced)
        return 0;
    return weir_error_set(
        err, -EIO,
        "the ledger does not balance: %" PRIu64 " produced, %" PRIu64 " written, %" PRIu64 " merged, %" PRIu64 " lost",
        result->produced, result->record.samples, result->record.merged_samples, result->record.lost_samples);
}

/* ---- text ---- */

static const char *limit_words(enum weir_simulate_goal goal, enum weir_search_limit limit)
{
    if (limit == WEIR_SEARCH_LIMIT_REACH)
        return "; the producers cannot do more on this machine";
    if (limit == WEIR_SEARCH_LIMIT_GREATEST)
        return goal == WEIR_SIMULATE_RATE ? "; no higher rate was tried" : "; no longer stall was tried";
    return "";
}

static void append_found(struct weir_buf *text, enum weir_simulate_goal goal, const struct weir_simulate_found *found)
{
    if (goal == WEIR_SIMULATE_ONCE)
        return;
    bool rate = goal == WEIR_SIMULATE_RATE;
    if (found->value == 0 && found->limit == WEIR_SEARCH_LIMIT_REACH)
        weir_buf_printf(text, "found     nothing: the producers cannot do %s on this machine, %u runs\n",
                        rate ? "any rate" : "this rate", found->runs);
    else if (found->value == 0)
        weir_buf_printf(text, "found     no %s is without loss, %u runs\n", rate ? "rate" : "stall", found->runs);
    else
        weir_buf_printf(text, "found     %s without loss: %" PRIu64 " %s, %u runs%s\n",
                        rate ? "highest rate" : "longest stall", found->value, rate ? "Hz per CPU" : "ms", found->runs,
                        limit_words(goal, found->limit));
}

static void append_stall(struct weir_buf *text, const struct weir_simulate_options *options,
                         enum weir_simulate_goal goal, const struct weir_simulate_found *found,
                         const struct weir_simulate_result *result)
{
    uint64_t stall_ms = goal == WEIR_SIMULATE_STALL ? found->value : options->stall_ns / WEIR_NS_PER_MS;
    if (goal != WEIR_SIMULATE_STALL && stall_ms == 0)
        return;
    double rate = ratio((double)result->drained_bytes / BYTES_PER_MB, result->produce_seconds);
    weir_buf_printf(
        text, "stall     %" PRIu64 " ms; the pool of %.0f MB holds %.0f ms at %.1f MB/s, with the rings %.0f ms\n",
        stall_ms, (double)result->record.pool_bytes / BYTES_PER_MB,
        MS_PER_S * weir_simulate_pool_seconds(result, false), rate,
        MS_PER_S * weir_simulate_pool_seconds(result, true));
}

static void append_nodes(struct weir_buf *text, const struct weir_simulate_result *result)
{
    for (unsigned i = 0; result->node_count > 1 && i < result->node_count; i++) {
        const struct weir_simulate_node *node = &result->nodes[i];
        weir_buf_printf(text,
                        "node %-3d  %u CPUs, %u readers: %.1f MB, %.3f CPU s, lost %" PRIu64 ", wake-ups %" PRIu64
                        ", %.1f MB across nodes\n",
                        node->node, node->cpus, node->readers, (double)node->bytes / BYTES_PER_MB,
                        node->reader_cpu_seconds, node->lost, node->wakeups,
                        (double)node->crossed_bytes / BYTES_PER_MB);
    }
}

void weir_bench_report_text(struct weir_buf *text, const struct weir_simulate_options *options,
                            enum weir_simulate_goal goal, const struct weir_simulate_found *found,
                            const struct weir_simulate_result *result)
{
    const struct weir_record_result *record = &result->record;
    struct figures figures = figures_of(result);
    append_found(text, goal, found);
    weir_buf_printf(text, "drained   %.1f MB/s, %.3f M records/s (%.1f MB in %.3f s)\n", figures.mb_per_s,
                    figures.million_records_per_s, (double)record->file_bytes / BYTES_PER_MB, result->seconds);
    weir_buf_printf(text, "CPU       %.3f s per GB (%.3f s without the producers: readers %.3f, writer %.3f)\n",
                    figures.cpu_s_per_gb, result->recorder_cpu_seconds, result->reader_cpu_seconds,
                    result->writer_cpu_seconds);
    weir_buf_printf(text,
                    "copying   %.0f MB per CPU second, %.0f %% of memcpy's %.0f (%.0f at the offsets of records, %.0f "
                    "out of all the rings)\n",
                    figures.drain_mb_per_cpu_s, figures.copy_percent, figures.copy_mb_per_s, figures.records_mb_per_s,
                    figures.rings_mb_per_s);
    weir_buf_printf(text,
                    "lost      %" PRIu64 " of %" PRIu64 " records (%.2f %%), %" PRIu64 " while waiting for the disk\n",
                    record->lost_samples, result->produced, figures.lost_percent, record->lost_while_pool_empty);
    weir_buf_printf(text, "latency   of chunks to the file: median %.1f ms, 90 %% %.1f, 99 %% %.1f, longest %.1f\n",
                    latency_ms(result, percents[0]), latency_ms(result, percents[1]), latency_ms(result, percents[2]),
                    latency_ms(result, percents[3]));
    weir_buf_printf(text, "rounds    %" PRIu64 ", wake-ups %" PRIu64 "; start %.3f s, end %.3f s\n", record->rounds,
                    record->wakeups, result->open_seconds, result->seconds - result->produce_seconds);
    append_stall(text, options, goal, found, result);
    if (record->trimmed_bytes + record->shed_samples > 0)
        weir_buf_printf(text, "shed      %" PRIu64 " of the lost records; %" PRIu64 " stacks cut by %.1f MB\n",
                        record->shed_samples, record->trimmed_samples, (double)record->trimmed_bytes / BYTES_PER_MB);
    if (record->joins) {
        weir_buf_printf(text, "joined    ");
        weir_joined_append_text(&record->joined, text);
        weir_buf_printf(text, "; %.3f s of CPU time, %.2f us each\n", result->stage_cpu_seconds,
                        US_PER_S * ratio(result->stage_cpu_seconds, (double)record->joined.joined));
    }
    if (record->unwinds) {
        weir_buf_printf(text, "unwound   ");
        weir_unwound_append_text(&record->unwound, text);
        weir_buf_printf(text, "; %.3f s of CPU time, %.1f us each\n", result->stage_cpu_seconds,
                        US_PER_S * ratio(result->stage_cpu_seconds, (double)record->unwound.unwound));
    }
    append_nodes(text, result);
    struct weir_bench_figures compared = weir_bench_figures_of(options, goal, found, result);
    weir_bench_figures_conclude(&compared, goal == WEIR_SIMULATE_RATE || options->load.closed_loop, text);
}

/* ---- JSON ---- */

void weir_bench_report_parameters(struct weir_buf *text, const struct weir_simulate_options *options,
                                  uint64_t ring_bytes, uint64_t pool_bytes)
{
    const struct weir_sim_load *load = &options->load;
    weir_buf_printf(text, "{\"cpus\": %u, \"nodes\": %u, \"records_per_cpu\": %" PRIu64, load->cpus, options->nodes,
                    load->records_per_cpu);
    weir_buf_printf(text, ", \"rate_per_cpu_hz\": %" PRIu64 ", \"burst\": %" PRIu64 ", \"mix\": {",
                    load->rate_per_cpu_hz, load->burst);
    for (unsigned kind = 0; kind < WEIR_SIM_KIND_COUNT; kind++)
        weir_buf_printf(text, "%s\"%s\": %u", kind ? ", " : "", weir_sim_kind_names[kind], load->mix.parts[kind]);
    weir_buf_printf(text, "}, \"payload_bytes\": %u, \"seed\": %" PRIu64 ", \"ring_bytes\": %" PRIu64,
                    load->payload_bytes, load->seed, ring_bytes);
    weir_buf_printf(text, ", \"pool_bytes\": %" PRIu64 ", \"stall_ms\": %" PRIu64 ", \"threads\": ", pool_bytes,
                    (uint64_t)(options->stall_ns / WEIR_NS_PER_MS));
    weir_text_append_json_string(text,
                                 options->record.readers.threads_spec ? options->record.readers.threads_spec : "cpu");
    weir_buf_printf(text, ", \"shed\": \"%s\", \"output\": ", weir_shed_word(options->record.memory.shed));
    weir_text_append_json_string(text, options->record.output.path);
    weir_buf_printf(text, ", \"closed_loop\": %s}", load->closed_loop ? "true" : "false");
}

static void append_search(struct weir_buf *text, enum weir_simulate_goal goal, const struct weir_simulate_found *found)
{
    static const char *const goals[] = {
        [WEIR_SIMULATE_RATE] = "rate_per_cpu_hz",
        [WEIR_SIMULATE_STALL] = "stall_ms",
    };
    static const char *const limits[] = {
        [WEIR_SEARCH_LIMIT_FAILURE] = "loss",
        [WEIR_SEARCH_LIMIT_REACH] = "producers",
        [WEIR_SEARCH_LIMIT_GREATEST] = "range",
    };
    if (goal != WEIR_SIMULATE_ONCE)
        weir_buf_printf(text,
                        "  \"search\": {\"of\": \"%s\", \"found\": %" PRIu64 ", \"limit\": \"%s\", \"runs\": %u},\n",
                        goals[goal], found->value, limits[found->limit], found->runs);
}

static void append_latency(struct weir_buf *text, const struct weir_simulate_result *result)
{
    weir_buf_printf(text, "  \"chunk_latency_ms\": {\"chunks\": %" PRIu64, result->latency_us.count);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(percents); i++)
        weir_buf_printf(text, ", \"p%.0f\": %.3f", percents[i], latency_ms(result, percents[i]));
    weir_buf_printf(text, "},\n");
}

static void append_node_list(struct weir_buf *text, const struct weir_simulate_result *result)
{
    weir_buf_printf(text, "  \"nodes\": [");
    for (unsigned i = 0; i < result->node_count; i++) {
        const struct weir_simulate_node *node = &result->nodes[i];
        weir_buf_printf(text,
                        "%s\n    {\"node\": %d, \"cpus\": %u, \"readers\": %u, \"bytes\": %" PRIu64
                        ", \"written\": %" PRIu64 ", \"lost\": %" PRIu64 ", \"wakeups\": %" PRIu64
                        ", \"crossed_bytes\": %" PRIu64 ", \"reader_cpu_seconds\": %.6f}",
                        i ? "," : "", node->node, node->cpus, node->readers, node->bytes, node->samples, node->lost,
                        node->wakeups, node->crossed_bytes, node->reader_cpu_seconds);
    }
    weir_buf_printf(text, "\n  ]\n}\n");
}

void weir_bench_report_json(struct weir_buf *text, const struct weir_simulate_options *options,
                            enum weir_simulate_goal goal, const struct weir_simulate_found *found,
                            const struct weir_simulate_result *result)
{
    const struct weir_record_result *record = &result->record;
    struct figures figures = figures_of(result);
    weir_buf_printf(text, "{\n  \"benchmark\": \"drain\",\n  \"version\": \"" WEIR_VERSION "\",\n  \"parameters\": ");
    weir_bench_report_parameters(text, options, record->ring_bytes, record->pool_bytes);
    weir_buf_printf(text, ",\n");
    append_search(text, goal, found);
    weir_buf_printf(text, "  \"seconds\": %.6f,\n  \"open_seconds\": %.6f,\n  \"produce_seconds\": %.6f,\n",
                    result->seconds, result->open_seconds, result->produce_seconds);
    weir_buf_printf(text,
                    "  \"recorder_cpu_seconds\": %.6f,\n  \"reader_cpu_seconds\": %.6f,\n"
                    "  \"writer_cpu_seconds\": %.6f,\n  \"stage_cpu_seconds\": %.6f,\n",
                    result->recorder_cpu_seconds, result->reader_cpu_seconds, result->writer_cpu_seconds,
                    result->stage_cpu_seconds);
    weir_buf_printf(text, "  \"mb_per_s\": %.3f,\n  \"million_records_per_s\": %.6f,\n  \"cpu_s_per_gb\": %.6f,\n",
                    figures.mb_per_s, figures.million_records_per_s, figures.cpu_s_per_gb);
    weir_buf_printf(text,
                    "  \"drain_mb_per_cpu_s\": %.3f,\n  \"memcpy_mb_per_s\": %.3f,\n  \"memcpy_percent\": %.3f,\n"
                    "  \"memcpy_records_mb_per_s\": %.3f,\n  \"memcpy_rings_mb_per_s\": %.3f,\n",
                    figures.drain_mb_per_cpu_s, figures.copy_mb_per_s, figures.copy_percent, figures.records_mb_per_s,
                    figures.rings_mb_per_s);
    weir_buf_printf(text, "  \"produced\": %" PRIu64 ",\n  \"written\": %" PRIu64 ",\n  \"lost\": %" PRIu64 ",\n",
                    result->produced, record->samples, record->lost_samples);
    weir_buf_printf(text, "  \"lost_while_pool_empty\": %" PRIu64 ",\n  \"drained_bytes\": %" PRIu64 ",\n",
                    record->lost_while_pool_empty, result->drained_bytes);
    weir_buf_printf(text, "  \"shed\": %" PRIu64 ",\n  \"trimmed\": %" PRIu64 ",\n  \"trimmed_bytes\": %" PRIu64 ",\n",
                    record->shed_samples, record->trimmed_samples, record->trimmed_bytes);
    weir_buf_printf(text, "  \"file_bytes\": %" PRIu64 ",\n  \"direct_bytes\": %" PRIu64 ",\n", record->file_bytes,
                    result->direct_bytes);
    weir_buf_printf(text, "  \"rounds\": %" PRIu64 ",\n  \"wakeups\": %" PRIu64 ",\n", record->rounds, record->wakeups);
    weir_buf_printf(text, "  \"pool_holds_ms\": %.3f,\n  \"pool_and_rings_hold_ms\": %.3f,\n",
                    MS_PER_S * weir_simulate_pool_seconds(result, false),
                    MS_PER_S * weir_simulate_pool_seconds(result, true));
    weir_buf_printf(text, "  \"joined\": ");
    if (record->joins)
        weir_joined_append_json(&record->joined, text);
    else
        weir_buf_printf(text, "null");
    weir_buf_printf(text, ",\n  \"unwound\": ");
    if (record->unwinds)
        weir_unwound_append_json(&record->unwound, text);
    else
        weir_buf_printf(text, "null");
    weir_buf_printf(text, ",\n");
    struct weir_bench_figures compared = weir_bench_figures_of(options, goal, found, result);
    weir_buf_printf(text, "  \"samples_per_cpu_per_s\": %.3f,\n", compared.values[WEIR_BENCH_SAMPLES_PER_CPU]);
    append_latency(text, result);
    append_node_list(text, result);
}
