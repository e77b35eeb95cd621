/* Counters by version: names in the order of the records. */
#include "format/schedstat_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/bits.h"
#include "format/bytes.h"
#include "format/perf_file.h"

#define COUNTERS_AT 24u
#define VERSION_MIN 15u
#define VERSIONS    3u
#define OF_CPU_U32  6u /* counters of a CPU that are a u32; the others are a u64 */

static const char *const of_cpu[] = {"yld_count",  "array_exp",   "sched_count", "sched_goidle", "ttwu_count",
                                     "ttwu_local", "rq_cpu_time", "run_delay",   "pcount"};

/* Of load_balance(), for each state of the CPU in which the scheduler calls it. */
static const char *const balance[] = {"lb_count",  "lb_balanced",   "lb_failed",  "lb_imbalance",
                                      "lb_gained", "lb_hot_gained", "lb_nobusyq", "lb_nobusyg"};
static const char *const balance_of_17[] = {
    "lb_count",          "lb_balanced",       "lb_failed",           "lb_imbalance_load",
    "lb_imbalance_util", "lb_imbalance_task", "lb_imbalance_misfit", "lb_gained",
    "lb_hot_gained",     "lb_nobusyq",        "lb_nobusyg"};
static const char *const rest[] = {"alb_count",    "alb_failed",       "alb_pushed",       "sbe_count",
                                   "sbe_balanced", "sbe_pushed",       "sbf_count",        "sbf_balanced",
                                   "sbf_pushed",   "ttwu_wake_remote", "ttwu_move_affine", "ttwu_move_balance"};

/* The order of the states by version. */
static const char *const states[VERSIONS][3] = {
    {"idle", "busy", "newidle"},
    {"busy", "idle", "newidle"},
    {"busy", "idle", "newidle"},
};

struct listing {
    const struct weir_text_record *record;
    struct weir_buf *out;
    size_t at; /* of the next counter */
    bool as_json;
};

/* Appends one counter, as far as the record goes. */
static void append_counter(struct listing *listing, const char *prefix, const char *name, size_t bytes)
{
    const struct weir_text_record *record = listing->record;
    if (bytes > record->bytes - listing->at)
        return;
    uint64_t value =
        bytes == sizeof(uint32_t) ? weir_text_u32_at(record, listing->at) : weir_text_u64_at(record, listing->at);
    bool is_first = listing->at == COUNTERS_AT;
    listing->at += bytes;
    if (listing->as_json)
        weir_buf_printf(listing->out, "%s\"%s%s%s\":%" PRIu64, is_first ? "" : ",", prefix, *prefix ? "_" : "", name,
                        value);
    else
        weir_buf_printf(listing->out, " %" PRIu64, value);
}

static void append_list(struct listing *listing, const char *prefix, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        append_counter(listing, prefix, names[i], sizeof(uint32_t));
}

static void append_domain(struct listing *listing, unsigned version)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(states[0]); i++) {
        const char *state = states[version - VERSION_MIN][i];
        if (version < VERSION_MIN + VERSIONS - 1)
            append_list(listing, state, balance, WEIR_ARRAY_COUNT(balance));
        else
            append_list(listing, state, balance_of_17, WEIR_ARRAY_COUNT(balance_of_17));
    }
    append_list(listing, "", rest, WEIR_ARRAY_COUNT(rest));
}

/* False: the version is unknown. */
static bool append_counters(const struct weir_text_record *record, bool as_json, struct weir_buf *out)
{
    struct listing listing = {.record = record, .out = out, .at = COUNTERS_AT, .as_json = as_json};
    unsigned version = weir_load_u16(record->data + 20);
    if (version < VERSION_MIN || version >= VERSION_MIN + VERSIONS)
        return false;
    if (record->type == WEIR_RECORD_SCHEDSTAT_DOMAIN) {
        append_domain(&listing, version);
        return true;
    }
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(of_cpu); i++)
        append_counter(&listing, "", of_cpu[i], i < OF_CPU_U32 ? sizeof(uint32_t) : sizeof(uint64_t));
    return true;
}

void weir_schedstat_text_append(const struct weir_text_record *record, struct weir_buf *out)
{
    if (record->type == WEIR_RECORD_SCHEDSTAT_CPU)
        weir_buf_printf(out, "\ncpu%" PRIu32, weir_text_u32_at(record, 16));
    else
        weir_buf_printf(out, "\ncpu%" PRIu32 " domain%u", weir_text_u32_at(record, 16),
                        weir_load_u16(record->data + 22));
    if (!append_counters(record, false, out))
        weir_buf_printf(out, " Unsupported /proc/schedstat version %u.", weir_load_u16(record->data + 20));
    weir_buf_append_u8(out, '\n');
}

void weir_schedstat_json_append(const struct weir_text_record *record, struct weir_buf *out)
{
    weir_buf_printf(out, ",\"counters\":{");
    append_counters(record, true, out);
    weir_buf_append_u8(out, '}');
}
