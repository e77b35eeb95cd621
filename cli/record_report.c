/* The closing lines and the ledger of a recording. Pure; any thread. */
#include "cli/record_report.h"

#include <inttypes.h>
#include <string.h>

#include "base/bits.h"
#include "base/clock.h"
#include "base/size_text.h"
#include "cli/ledger_table.h"
#include "cli/value.h"
#include "format/text_out.h"

#define BYTES_PER_KB      1024u
#define BYTES_PER_MB      (1024.0 * 1024.0)
#define PERCENT           100.0
#define PER_MILLE         10.0 /* of a percent */
#define US_PER_MS         1000.0
#define PERCENT_SHOWN_MIN 0.01 /* two decimals */

/* Losses of one kind (samples, or sideband records), by cause and place. */
struct losses {
    unsigned places;       /* CPUs in the ledger, or tasks */
    unsigned lossy_places; /* of them, those that lost */
    int worst_place;       /* number of the CPU, or id of the task */
    uint64_t worst_lost;
    bool of_tasks;
    uint64_t ring_full, write_failed; /* by cause */
};

/* The ledger is of tasks (--per-thread), not of CPUs. */
static bool is_of_tasks(const struct weir_record_result *result)
{
    return result->ledger_count > 0 && result->ledger[0].cpu < 0;
}

static int place_number(const struct weir_ledger_row *row)
{
    return row->cpu < 0 ? (int)row->task : row->cpu;
}

static bool is_sideband(const struct weir_record_result *result, const struct weir_ledger_row *row)
{
    return row->event >= result->side_event;
}

static void count_place(struct losses *losses, int place, uint64_t lost)
{
    losses->places++;
    losses->lossy_places += lost > 0;
    if (lost > losses->worst_lost) {
        losses->worst_lost = lost;
        losses->worst_place = place;
    }
}

/* The rows of a place stand together. */
static struct losses sum_losses(const struct weir_record_result *result, bool sideband)
{
    struct losses losses = {.of_tasks = is_of_tasks(result)};
    uint64_t lost_there = 0;
    bool is_there = false; /* the place has a row of that kind */
    for (size_t i = 0; i < result->ledger_count; i++) {
        const struct weir_ledger_row *row = &result->ledger[i];
        if (is_sideband(result, row) == sideband) {
            is_there = true;
            lost_there += weir_ledger_row_lost(row);
            losses.ring_full += row->lost_ring_full;
            losses.write_failed += row->lost_write_failed;
        }
        if (i + 1 == result->ledger_count || place_number(row + 1) != place_number(row)) {
            if (is_there)
                count_place(&losses, place_number(row), lost_there);
            lost_there = 0;
            is_there = false;
        }
    }
    return losses;
}

static void append_where(struct weir_buf *text, const struct losses *losses)
{
    if (losses->lossy_places == 0) { /* lost, but on no CPU of the ledger */
        weir_buf_printf(text, "on unknown CPUs");
        return;
    }
    const char *place = losses->of_tasks ? "task" : "CPU", *on = losses->of_tasks ? "of" : "on";
    weir_buf_printf(text, "%s %u of %u %ss, most %s %s %d (%" PRIu64 ")", on, losses->lossy_places, losses->places,
                    place, on, place, losses->worst_place, losses->worst_lost);
}

/* Appends items between separators. */
struct joiner {
    struct weir_buf *text;
    const char *first, *next; /* before the first item, before the others */
    unsigned count;
};

static void join(struct joiner *joiner)
{
    weir_buf_printf(joiner->text, "%s", joiner->count++ == 0 ? joiner->first : joiner->next);
}

static void append_cause(struct joiner *joiner, const char *cause, uint64_t lost, uint64_t all)
{
    if (lost == 0)
        return;
    join(joiner);
    weir_buf_printf(joiner->text, "%s", cause);
    if (lost != all)
        weir_buf_printf(joiner->text, " (%" PRIu64 ")", lost);
}

/* Names a cause for people. */
static const char *cause_text(enum weir_loss_cause cause, const struct weir_report_context *context)
{
    switch (cause) {
    case WEIR_LOSS_NO_RING:
        return "on CPUs that had no ring yet";
    case WEIR_LOSS_RING_DAMAGED:
        return "in rings that the kernel damages for -s";
    case WEIR_LOSS_RING_FULL:
        return "kernel ring full";
    case WEIR_LOSS_RING_PAUSED:
        return "rings paused for snapshots";
    case WEIR_LOSS_SUSPENDED:
        return "suspended for lack of disk space";
    case WEIR_LOSS_OUTPUT_BEHIND:
        return context->is_stream ? "waiting for the consumer" : "waiting for the disk";
    case WEIR_LOSS_SHED:
        return "shed";
    case WEIR_LOSS_WRITE_FAILED:
        return "write failed";
    case WEIR_LOSS_SUMS_FULL:
        return "sums of off-CPU time full";
    case WEIR_LOSS_CAUSES:
        break;
    }
    return "";
}

/* The pool is advised beside the rest, not instead of it, and once. */
static void append_remedies(struct weir_buf *text, const struct weir_loss *losses)
{
    struct joiner remedies = {.text = text, .first = "; to prevent it: ", .next = " or "};
    for (unsigned cause = 0; cause < WEIR_LOSS_CAUSES; cause++) {
        bool is_of_pool = cause == WEIR_LOSS_OUTPUT_BEHIND || cause == WEIR_LOSS_SHED;
        bool is_told = cause == WEIR_LOSS_SHED && losses[WEIR_LOSS_OUTPUT_BEHIND].lost > 0;
        if (losses[cause].lost == 0 || !losses[cause].hint[0] || is_told)
            continue;
        remedies.next = is_of_pool ? " and " : " or ";
        join(&remedies);
        weir_buf_printf(text, "%s", losses[cause].hint);
    }
}

static void append_lost_samples(struct weir_buf *text, const struct weir_record_result *result,
                                const struct weir_report_context *context)
{
    uint64_t lost = result->lost_samples;
    uint64_t all = result->samples + result->merged_samples + result->evicted_samples + lost;
    double percent = PERCENT * (double)lost / (double)all;
    weir_buf_printf(text, "[ weir record: Lost %" PRIu64 " of %" PRIu64 " samples ", lost, all);
    if (percent < PERCENT_SHOWN_MIN)
        weir_buf_printf(text, "(under %.2f %%): ", PERCENT_SHOWN_MIN);
    else
        weir_buf_printf(text, "(%.2f %%): ", percent);

    struct losses losses = sum_losses(result, false);
    append_where(text, &losses);
    struct joiner causes = {.text = text, .first = "; ", .next = ", "};
    for (unsigned cause = 0; cause < WEIR_LOSS_CAUSES; cause++)
        append_cause(&causes, cause_text((enum weir_loss_cause)cause, context), result->losses[cause].lost, lost);
    append_remedies(text, result->losses);
    weir_buf_printf(text, " ]\n");
}

static void append_trimmed(struct weir_buf *text, const struct weir_record_result *result,
                           const struct weir_report_context *context)
{
    weir_buf_printf(text,
                    "[ weir record: Cut the stacks of %" PRIu64 " samples while %s was behind: %.3f MB left out ]\n",
                    result->trimmed_samples, context->is_stream ? "the consumer" : "the disk",
                    (double)result->trimmed_bytes / BYTES_PER_MB);
}

static void append_lost_sideband(struct weir_buf *text, const struct weir_record_result *result)
{
    struct losses losses = sum_losses(result, true);
    weir_buf_printf(text, "[ weir record: Lost %" PRIu64 " side records (mmap, comm, task%s): ", result->lost_sideband,
                    result->joins ? ", user parts of call chains" : "");
    append_where(text, &losses);
    struct joiner causes = {.text = text, .first = "; ", .next = ", "};
    append_cause(&causes, "kernel ring full", losses.ring_full, result->lost_sideband);
    append_cause(&causes, "write failed", losses.write_failed, result->lost_sideband);
    weir_buf_printf(text, "; symbols may be missing ]\n");
}

static void append_aux_snapshots(struct weir_buf *text, const struct weir_record_result *result)
{
    weir_buf_printf(text, "[ weir record: Took %" PRIu64 " snapshot%s of %" PRIu64 " AUX area%s", result->snapshots,
                    result->snapshots == 1 ? "" : "s", result->aux.areas, result->aux.areas == 1 ? "" : "s");
    if (result->snapshots == 0)
        weir_buf_printf(text, "; SIGUSR2 takes one, -Se one at the end");
    weir_buf_printf(text, " ]\n");
}

/* Decoders go on behind a gap; perf report tells of it, too ("AUX data lost N times"). */
static void append_lost_aux(struct weir_buf *text, const struct weir_aux_sum *aux)
{
    if (aux->truncated > 0)
        weir_buf_printf(text,
                        "[ weir record: AUX data lost %" PRIu64 " times out of %" PRIu64 ": area full; try -m ,%" PRIu64
                        "K ]\n",
                        aux->truncated, aux->records, 2 * aux->area_bytes / BYTES_PER_KB);
    if (aux->failed_bytes > 0)
        weir_buf_printf(text, "[ weir record: %.3f MB of AUX data are not in the file ]\n",
                        (double)aux->failed_bytes / BYTES_PER_MB);
}

static double ratio_of(const struct weir_record_result *result)
{
    return (double)result->compressed_in_bytes / (double)weir_max_u64(result->compressed_out_bytes, 1);
}

/* perf's words. */
static void append_ratio(struct weir_buf *text, const struct weir_record_result *result)
{
    if (result->compressed_in_bytes > 0)
        weir_buf_printf(text, ", compressed (original %.3f MB, ratio is %.3f)",
                        (double)result->compressed_in_bytes / BYTES_PER_MB, ratio_of(result));
}

static void append_snapshots(struct weir_buf *text, const struct weir_record_result *result)
{
    weir_buf_printf(text, "[ weir record: Took %" PRIu64 " snapshot%s", result->snapshots,
                    result->snapshots == 1 ? "" : "s");
    if (result->replaced_snapshots > 0)
        weir_buf_printf(text, "; newer ones replaced %" PRIu64 " of them, with %" PRIu64 " samples",
                        result->replaced_snapshots, result->replaced_samples);
}

/* Evicted samples are not lost: no snapshot has asked for them. */
static void append_evicted(struct weir_buf *text, const struct weir_record_result *result)
{
    uint64_t left = weir_min_u64(result->left_samples, result->evicted_samples);
    uint64_t evicted = result->evicted_samples - left;
    append_snapshots(text, result);
    if (evicted > 0)
        weir_buf_printf(text, "; evicted %" PRIu64 " older samples from memory", evicted);
    if (left > 0)
        weir_buf_printf(text, "; left %" PRIu64 " samples in memory at the end", left);
    if (result->snapshots == 0)
        weir_buf_printf(text, "; SIGUSR2 takes one, --snapshot-on-exit one at the end");
    weir_buf_printf(text, " ]\n");
}

static void append_overwritten(struct weir_buf *text, const struct weir_record_result *result)
{
    append_snapshots(text, result);
    if (result->overwritten_bytes > 0)
        weir_buf_printf(text, "; older records were overwritten: %.3f MB",
                        (double)result->overwritten_bytes / BYTES_PER_MB);
    if (result->evicted_samples > 0)
        weir_buf_printf(text, ", %" PRIu64 " samples", result->evicted_samples);
    weir_buf_printf(text, " ]\n");
}

/* perf's words where it ends the session. Something else may have ended that before, and the limit then cut off what
 * was written last: the rest of the rings, or a snapshot at the end. */
static void append_size_limit(struct weir_buf *text, const struct weir_record_result *result)
{
    uint64_t kilobytes = result->file_bytes / BYTES_PER_KB;
    if (result->samples == 0 && result->left_out_samples > 0)
        weir_buf_printf(
            text, "[ weir record: --max-size left no room for samples: the running tasks and their mappings, with "
                  "which a recording begins, fill it; take a larger SIZE, or leave them out with --synth=no ]\n");
    if (result->end == WEIR_RECORD_END_SIZE)
        weir_buf_printf(text, "[ weir record: weir size limit reached (%" PRIu64 " KB), stopping session ]\n",
                        kilobytes);
    else if (result->left_out_samples > 0)
        weir_buf_printf(text,
                        "[ weir record: weir size limit reached (%" PRIu64 " KB), the last %" PRIu64
                        " samples are left out ]\n",
                        kilobytes, result->left_out_samples);
}

void weir_report_closing(struct weir_buf *text, const struct weir_record_result *result,
                         const struct weir_report_context *context)
{
    append_size_limit(text, result);
    weir_buf_printf(text, "[ weir record: Woken up %" PRIu64 " times to write data ]\n", result->wakeups);
    uint64_t bytes = result->file_bytes - weir_min_u64(result->replaced_bytes, result->file_bytes);
    uint64_t samples = result->samples - weir_min_u64(result->replaced_samples, result->samples);
    weir_buf_printf(text, "[ weir record: Captured and wrote %.3f MB ", (double)bytes / BYTES_PER_MB);
    weir_text_append(text, context->output_path, strlen(context->output_path));
    weir_buf_printf(text, "%s", context->stamped ? ".<timestamp>" : "");
    if (samples > 0 && result->merged_samples > 0)
        weir_buf_printf(text, " (%" PRIu64 " samples), with %" PRIu64 " equal ones merged into them", samples,
                        result->merged_samples);
    else if (samples > 0)
        weir_buf_printf(text, " (%" PRIu64 " samples)", samples);
    append_ratio(text, result);
    weir_buf_printf(text, " ]\n");
    if (result->overwritten)
        append_overwritten(text, result);
    else if (result->retained_bytes > 0 || result->evicted_samples > 0)
        append_evicted(text, result);
    else if (result->aux.kept_newest)
        append_aux_snapshots(text, result);
    if (result->filtered_samples > 0)
        weir_buf_printf(text, "[ weir record: Filters dropped %" PRIu64 " samples ]\n", result->filtered_samples);
    if (result->joins && result->joined.samples > 0) {
        weir_buf_printf(text, "[ weir record: ");
        weir_joined_append_text(&result->joined, text);
        weir_buf_printf(text, " ]\n");
    }
    if (result->unwinds) {
        weir_buf_printf(text, "[ weir record: Unwound ");
        weir_unwound_append_text(&result->unwound, text);
        weir_buf_printf(text, " ]\n");
    }
    if (result->trimmed_bytes > 0)
        append_trimmed(text, result, context);
    if (result->lost_samples > 0)
        append_lost_samples(text, result, context);
    if (result->lost_sideband > 0)
        append_lost_sideband(text, result);
    if (result->sleeper_counts > 0)
        weir_buf_printf(text,
                        "[ weir record: This kernel counted %" PRIu64
                        " events of tasks that slept when they happened, and makes no samples of these; -a samples all "
                        "that happen ]\n",
                        result->sleeper_counts);
    append_lost_aux(text, &result->aux);
    if (result->discarded_bytes > 0)
        weir_buf_printf(text, "[ weir record: Skipped %" PRIu64 " bytes of rings that held no valid record ]\n",
                        result->discarded_bytes);
}

/* The bytes that a thread compresses in a second of its own time. */
static void append_compression(struct weir_buf *text, const struct weir_record_result *result)
{
    if (result->compressed_in_bytes == 0)
        return;
    double seconds = (double)result->compressed_cpu_ns / (double)WEIR_NS_PER_S;
    weir_buf_printf(text, "compressed %.1f MB to %.1f MB", (double)result->compressed_in_bytes / BYTES_PER_MB,
                    (double)result->compressed_out_bytes / BYTES_PER_MB);
    if (seconds > 0)
        weir_buf_printf(text, " in %.3f s of CPU time (%.0f MB/s)", seconds,
                        (double)result->compressor_bytes / BYTES_PER_MB / seconds);
    if (result->compressed_raw_bytes > 0)
        weir_buf_printf(text, "; %.1f MB as they were, because compression was behind",
                        (double)result->compressed_raw_bytes / BYTES_PER_MB);
    weir_buf_printf(text, "\n");
}

/* How the readers kept up; nothing when no ring ever called for one. */
static void append_drains(struct weir_buf *text, const struct weir_drain_summary *drains, const char *when)
{
    const struct weir_drain_spread *gap = &drains->gap_us, *fill = &drains->fill_per_mille, *wait = &drains->wait_us;
    if (gap->count == 0 && wait->count == 0)
        return;
    weir_buf_printf(text, "drained %s %" PRIu64 " times, %.3f ms apart (99 %%: %.3f, at most %.3f)", when, gap->count,
                    (double)gap->p50 / US_PER_MS, (double)gap->p99 / US_PER_MS, (double)gap->max / US_PER_MS);
    weir_buf_printf(text, ", the fullest ring %.1f %% full (99 %%: %.1f, at most %.1f)", (double)fill->p50 / PER_MILLE,
                    (double)fill->p99 / PER_MILLE, (double)fill->max / PER_MILLE);
    weir_buf_printf(text, "; %" PRIu64 " waits for memory", wait->count);
    if (wait->count > 0)
        weir_buf_printf(text, ", %.3f ms (99 %%: %.3f, at most %.3f)", (double)wait->p50 / US_PER_MS,
                        (double)wait->p99 / US_PER_MS, (double)wait->max / US_PER_MS);
    weir_buf_printf(text, "\n");
}

/* How near the pool came to its end. */
static void append_pressure(struct weir_buf *text, const struct weir_record_result *result)
{
    const uint64_t *rises = result->pressure_rises;
    if (rises[WEIR_PRESSURE_SOME] == 0)
        return;
    weir_buf_printf(text,
                    "readers saw the pool half full %" PRIu64 " times, at three quarters %" PRIu64
                    ", at seven eighths %" PRIu64 "; cut %" PRIu64 " stacks by %.3f MB, dropped %" PRIu64 " samples\n",
                    rises[WEIR_PRESSURE_SOME], rises[WEIR_PRESSURE_HIGH], rises[WEIR_PRESSURE_FULL],
                    result->trimmed_samples, (double)result->trimmed_bytes / BYTES_PER_MB, result->shed_samples);
}

void weir_report_ledger(struct weir_buf *text, const struct weir_record_result *result)
{
    size_t silent = weir_ledger_table_append(text, result);
    char ring[WEIR_SIZE_TEXT_BYTES], pool[WEIR_SIZE_TEXT_BYTES];
    weir_size_format(result->ring_bytes, ring);
    weir_size_format(result->pool_bytes, pool);
    weir_buf_printf(text, "%" PRIu64 " rings of %s, pool %s, %" PRIu64 " rounds, throttled %" PRIu64 " times",
                    result->rings, ring, pool, result->rounds, result->throttled);
    if (silent > 0)
        weir_buf_printf(text, "; %zu rows of zeros left out", silent);
    if (result->unplaced_samples > 0)
        weir_buf_printf(text, "; %" PRIu64 " samples stayed apart, for want of room in the table of equal ones",
                        result->unplaced_samples);
    if (result->unknown_samples > 0)
        weir_buf_printf(text, "; %" PRIu64 " samples with unknown ids", result->unknown_samples);
    weir_buf_printf(text, "\n");
    append_drains(text, &result->drains[WEIR_DRAIN_ELSEWHERE], result->files > 1 ? "between switches" : "rings");
    append_drains(text, &result->drains[WEIR_DRAIN_AT_ROTATION], "around switches");
    append_pressure(text, result);
    append_compression(text, result);
}
