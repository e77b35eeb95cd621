/* What `weir bench drain` prints. Pure; any thread. */
#include "cli/bench_report.h"

#include <inttypes.h>

#include "cli/json_text.h"

#define BYTES_PER_MB  1e6
#define BYTES_PER_GB  1e9
#define RECORDS_PER_M 1e6
#define PERCENT       100.0

/* The figures that both forms show. Rates are 0 where nothing was measured. */
struct figures {
    double mb_per_s;
    double million_records_per_s;
    double cpu_s_per_gb;
    double lost_percent;
};

static double ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}

static struct figures figures_of(const struct weir_simulate_result *result)
{
    const struct weir_record_result *record = &result->record;
    double bytes = (double)record->file_bytes;
    return (struct figures){
        .mb_per_s = ratio(bytes / BYTES_PER_MB, result->seconds),
        .million_records_per_s = ratio((double)record->samples / RECORDS_PER_M, result->seconds),
        .cpu_s_per_gb = ratio(result->recorder_cpu_seconds, bytes / BYTES_PER_GB),
        .lost_percent = ratio(PERCENT * (double)record->lost_samples, (double)result->produced),
    };
}

void weir_bench_report_text(struct weir_buf *text, const struct weir_simulate_result *result)
{
    const struct weir_record_result *record = &result->record;
    struct figures figures = figures_of(result);
    weir_buf_printf(text, "drained   %.1f MB/s, %.3f M records/s (%.1f MB in %.3f s)\n", figures.mb_per_s,
                    figures.million_records_per_s, (double)record->file_bytes / BYTES_PER_MB, result->seconds);
    weir_buf_printf(text, "CPU       %.3f s per GB (%.3f s in weir's threads)\n", figures.cpu_s_per_gb,
                    result->recorder_cpu_seconds);
    weir_buf_printf(text,
                    "lost      %" PRIu64 " of %" PRIu64 " records (%.2f %%), %" PRIu64 " while waiting for the disk\n",
                    record->lost_samples, result->produced, figures.lost_percent, record->lost_while_pool_empty);
    weir_buf_printf(text, "rounds    %" PRIu64 ", wake-ups %" PRIu64 "\n", record->rounds, record->wakeups);
}

void weir_bench_report_json(struct weir_buf *text, const struct weir_simulate_options *options,
                            const struct weir_simulate_result *result)
{
    const struct weir_record_result *record = &result->record;
    struct figures figures = figures_of(result);
    weir_buf_printf(text, "{\n  \"benchmark\": \"drain\",\n  \"version\": \"" WEIR_VERSION "\",\n  \"parameters\": {");
    weir_buf_printf(text, "\"cpus\": %u, \"records_per_cpu\": %" PRIu64 ", \"rate_per_cpu_hz\": %" PRIu64,
                    options->cpus, options->records_per_cpu, options->rate_per_cpu_hz);
    weir_buf_printf(text, ", \"payload_bytes\": %u, \"seed\": %" PRIu64 ", \"ring_bytes\": %" PRIu64,
                    options->payload_bytes, options->seed, record->ring_bytes);
    weir_buf_printf(text, ", \"pool_bytes\": %" PRIu64 ", \"threads\": ", record->pool_bytes);
    weir_json_append_string(text, options->threads_spec ? options->threads_spec : "cpu");
    weir_buf_printf(text, ", \"output\": ");
    weir_json_append_string(text, options->output_path);
    weir_buf_printf(text, "},\n  \"seconds\": %.6f,\n  \"recorder_cpu_seconds\": %.6f,\n", result->seconds,
                    result->recorder_cpu_seconds);
    weir_buf_printf(text, "  \"mb_per_s\": %.3f,\n  \"million_records_per_s\": %.6f,\n  \"cpu_s_per_gb\": %.6f,\n",
                    figures.mb_per_s, figures.million_records_per_s, figures.cpu_s_per_gb);
    weir_buf_printf(text, "  \"produced\": %" PRIu64 ",\n  \"written\": %" PRIu64 ",\n  \"lost\": %" PRIu64 ",\n",
                    result->produced, record->samples, record->lost_samples);
    weir_buf_printf(text, "  \"lost_while_pool_empty\": %" PRIu64 ",\n  \"file_bytes\": %" PRIu64 ",\n",
                    record->lost_while_pool_empty, record->file_bytes);
    weir_buf_printf(text, "  \"rounds\": %" PRIu64 ",\n  \"wakeups\": %" PRIu64 "\n}\n", record->rounds,
                    record->wakeups);
}
