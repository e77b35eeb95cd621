#include "cli/bench_storm_report.h"

#include <inttypes.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/spread.h"
#include "format/text_out.h"

#define RUNS_MAX 64u

static double ratio(double value, double divisor)
{
    return divisor > 0 ? value / divisor : 0;
}

static double cpu_seconds(const struct weir_storm_measure *m)
{
    return m->cpu_seconds;
}

static double cpu_per_gb(const struct weir_storm_measure *m)
{
    return ratio(m->cpu_seconds, (double)m->data.bytes / 1e9);
}

static double cpu_per_million(const struct weir_storm_measure *m)
{
    return ratio(m->cpu_seconds, (double)m->data.samples / 1e6);
}

static double stored_events(const struct weir_storm_measure *m)
{
    return (double)m->data.samples;
}

static double lost_events(const struct weir_storm_measure *m)
{
    return (double)weir_storm_lost(m);
}

static double stored_percent(const struct weir_storm_measure *m)
{
    return ratio(100.0 * (double)m->data.samples, (double)(m->data.samples + weir_storm_lost(m)));
}

static double load_seconds(const struct weir_storm_measure *m)
{
    return m->load_seconds;
}

static double stop_seconds(const struct weir_storm_measure *m)
{
    return m->stop_seconds;
}

static double peak_rss_mib(const struct weir_storm_measure *m)
{
    return (double)m->rss_kb / 1024;
}

static double voluntary_switches(const struct weir_storm_measure *m)
{
    return (double)m->switches;
}

static const struct {
    const char *name;
    double (*figure)(const struct weir_storm_measure *);
} figures[] = {
    {"cpu_seconds", cpu_seconds},
    {"cpu_seconds_per_gb", cpu_per_gb},
    {"cpu_seconds_per_million_events", cpu_per_million},
    {"stored_events", stored_events},
    {"lost_events", lost_events},
    {"stored_percent", stored_percent},
    {"load_seconds", load_seconds},
    {"stop_seconds", stop_seconds},
    {"peak_rss_mib", peak_rss_mib},
    {"voluntary_switches", voluntary_switches},
};

static struct weir_spread spread_of(const struct weir_storm_results *results, size_t recorder,
                                    double (*figure)(const struct weir_storm_measure *))
{
    double values[RUNS_MAX];
    unsigned count = results->run_counts[recorder];
    for (unsigned run = 0; run < count; run++)
        values[run] = figure(&results->runs_of[recorder][run]);
    return weir_spread_of(values, count);
}

static bool has_runs(const struct weir_storm_results *results, size_t recorder)
{
    return results->runs_of[recorder] && results->run_counts[recorder] > 0;
}

/* The index of the recorder of that name, if it has runs; else -1. */
static int index_of(const struct weir_storm_results *results, const char *name)
{
    for (size_t i = 0; weir_storm_recorders[i].name; i++) {
        if (strcmp(weir_storm_recorders[i].name, name) == 0 && has_runs(results, i))
            return (int)i;
    }
    return -1;
}

static void conclude(const struct weir_storm_results *results, struct weir_buf *text)
{
    int weir = index_of(results, "weir"), perf = index_of(results, "perf");
    if (weir < 0)
        return;
    double cpu = spread_of(results, (size_t)weir, cpu_per_million).median;
    double stored = spread_of(results, (size_t)weir, stored_percent).median;
    weir_buf_printf(text, "on this machine weir stores %.2f %% of the events, for %.3f CPU s per million", stored, cpu);
    if (perf >= 0)
        weir_buf_printf(text, "; perf stores %.2f %%, for %.3f",
                        spread_of(results, (size_t)perf, stored_percent).median,
                        spread_of(results, (size_t)perf, cpu_per_million).median);
    weir_buf_printf(text, "\n");
}

void weir_bench_storm_append_text(const struct weir_storm_results *results, struct weir_buf *text)
{
    weir_buf_printf(text, "case %s (%s): %u threads of load with %" PRIu64 " calls each, medians (least to greatest)\n",
                    results->what->name, results->what->what, weir_storm_threads(results->what), results->calls);
    weir_buf_printf(text, "%-16s %4s %24s %8s %8s %10s %26s %8s %7s %7s %8s\n", "RECORDER", "RUNS", "CPU S", "CPU S/GB",
                    "CPU S/M", "STORED", "LOST", "STORED %", "LOAD S", "STOP S", "RSS MIB");
    for (size_t i = 0; weir_storm_recorders[i].name; i++) {
        if (!has_runs(results, i))
            continue;
        struct weir_spread s[WEIR_ARRAY_COUNT(figures)];
        for (size_t f = 0; f < WEIR_ARRAY_COUNT(figures); f++)
            s[f] = spread_of(results, i, figures[f].figure);
        weir_buf_printf(text,
                        "%-16s %4u %7.3f (%6.3f to %6.3f) %8.3f %8.4f %10.0f %8.0f (%7.0f to %7.0f) %8.2f %7.3f "
                        "%7.3f %8.1f\n",
                        weir_storm_recorders[i].name, results->run_counts[i], s[0].median, s[0].min, s[0].max,
                        s[1].median, s[2].median, s[3].median, s[4].median, s[4].min, s[4].max, s[5].median,
                        s[6].median, s[7].median, s[8].median);
    }
    conclude(results, text);
}

void weir_bench_storm_append_json(const struct weir_storm_results *results, struct weir_buf *text)
{
    struct utsname machine = {0};
    uname(&machine);
    weir_buf_printf(text,
                    "{\n  \"benchmark\": \"storm\",\n  \"version\": \"" WEIR_VERSION "\",\n  \"interrupted\": %s,\n",
                    results->interrupted ? "true" : "false");
    weir_buf_printf(text, "  \"case\": \"%s\",\n  \"kernel\": ", results->what->name);
    weir_text_append_json_string(text, machine.release);
    weir_buf_printf(text, ",\n  \"machine\": ");
    weir_text_append_json_string(text, machine.machine);
    weir_buf_printf(text, ",\n  \"cpus\": %ld,\n  \"threads\": %u,\n  \"calls\": %" PRIu64 ",\n  \"recorders\": [",
                    sysconf(_SC_NPROCESSORS_ONLN), weir_storm_threads(results->what), results->calls);
    const char *between = "";
    for (size_t i = 0; weir_storm_recorders[i].name; i++) {
        if (!has_runs(results, i))
            continue;
        weir_buf_printf(text, "%s\n   {\"recorder\": \"%s\", \"runs\": %u", between, weir_storm_recorders[i].name,
                        results->run_counts[i]);
        for (size_t f = 0; f < WEIR_ARRAY_COUNT(figures); f++) {
            struct weir_spread s = spread_of(results, i, figures[f].figure);
            weir_buf_printf(text, ",\n    \"%s\": {\"median\": %.6f, \"min\": %.6f, \"max\": %.6f}", figures[f].name,
                            s.median, s.min, s.max);
        }
        weir_buf_printf(text, "}");
        between = ",";
    }
    weir_buf_printf(text, "\n  ]\n}\n");
}
