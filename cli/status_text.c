/* Texts of status lines. Pure; any thread. */
#include "cli/status_text.h"

#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/clock.h"

#define THOUSAND     1000.0
#define BYTES_PER_MB 1e6
#define PER_PERCENT  10.0 /* thousandths */
#define RED          "\033[1;31m"
#define PLAIN        "\033[m"
#define S_PER_MINUTE 60u
#define S_PER_HOUR   3600u

const char *weir_status_text_number(char text[16], double number)
{
    static const char letters[] = {'\0', 'k', 'M', 'G', 'T', 'P', 'E'};
    size_t letter = 0;
    for (; number >= 9999.5 && letter + 1 < sizeof(letters); letter++)
        number /= THOUSAND;
    int decimals = letter == 0 ? 0 : number < 9.995 ? 2 : number < 99.95 ? 1 : 0;
    snprintf(text, 16, "%.*f%c", decimals, number, letters[letter]);
    return text;
}

const char *weir_status_text_duration(char text[16], uint64_t ns)
{
    unsigned seconds = (unsigned)weir_min_u64(ns / WEIR_NS_PER_S, UINT32_MAX);
    unsigned minutes = seconds / S_PER_MINUTE % S_PER_MINUTE, hours = seconds / S_PER_HOUR;
    if (hours > 0)
        snprintf(text, 16, "%u:%02u:%02u", hours, minutes, seconds % S_PER_MINUTE);
    else
        snprintf(text, 16, "%u:%02u", minutes, seconds % S_PER_MINUTE);
    return text;
}

/* ---- lines of parts ---- */

#define PARTS_MAX  11
#define PART_BYTES 48

struct part {
    char text[PART_BYTES];
    unsigned rank; /* the highest is left out first; 0: never */
    bool red;
};

struct parts {
    struct part at[PARTS_MAX];
    size_t count;
};

static struct part *add(struct parts *parts, unsigned rank)
{
    struct part *part = &parts->at[parts->count++];
    part->rank = rank;
    return part;
}

static size_t width_of(const struct parts *parts, unsigned highest)
{
    size_t width = 0;
    for (size_t i = 0; i < parts->count; i++) {
        if (parts->at[i].rank <= highest)
            width += strlen(parts->at[i].text) + (width > 0 ? 2 : 0);
    }
    return width;
}

/* Joins the parts that fit. If not even the parts of rank 0 do, cuts the text. */
static void join(char text[WEIR_STATUS_TEXT_BYTES], const struct parts *parts, unsigned columns)
{
    unsigned highest = PARTS_MAX;
    while (highest > 0 && width_of(parts, highest) > columns)
        highest--;
    size_t used = 0, width = 0;
    text[0] = '\0';
    for (size_t i = 0; i < parts->count && width < columns; i++) {
        const struct part *part = &parts->at[i];
        if (part->rank > highest)
            continue;
        const char *gap = width > 0 ? "  " : "";
        int room = (int)(columns - width - weir_min_u64(columns - width, strlen(gap)));
        int length = (int)weir_min_u64(strlen(part->text), (uint64_t)room);
        int got = snprintf(text + used, WEIR_STATUS_TEXT_BYTES - used, "%s%s%.*s%s", gap, part->red ? RED : "", length,
                           part->text, part->red ? PLAIN : "");
        used += (size_t)got;
        width += strlen(gap) + (size_t)length;
    }
}

static double rate(uint64_t now, uint64_t before, uint64_t ns)
{
    return ns > 0 && now > before ? (double)(now - before) * WEIR_NS_PER_S / (double)ns : 0;
}

void weir_status_text_recording(char text[WEIR_STATUS_TEXT_BYTES], const struct weir_record_figures *now,
                                const struct weir_record_figures *before, unsigned columns, bool colors)
{
    struct parts parts = {0};
    char number[16];
    uint64_t ns = now->elapsed_ns - before->elapsed_ns, lost = now->lost + now->shed;
    snprintf(add(&parts, 0)->text, PART_BYTES, "weir: %s", weir_status_text_duration(number, now->elapsed_ns));
    if (strcmp(now->state, "enabled") != 0)
        snprintf(add(&parts, 0)->text, PART_BYTES, "%s", now->state);
    snprintf(add(&parts, 2)->text, PART_BYTES, "%s/s",
             weir_status_text_number(number, rate(now->samples, before->samples, ns)));
    snprintf(add(&parts, 3)->text, PART_BYTES, "%.1f MB/s", rate(now->bytes, before->bytes, ns) / BYTES_PER_MB);
    snprintf(add(&parts, 4)->text, PART_BYTES, "%.0f MB", (double)now->bytes / BYTES_PER_MB);
    snprintf(add(&parts, 5)->text, PART_BYTES, "ring %.0f %%", now->fill_per_mille / PER_PERCENT);
    snprintf(add(&parts, 6)->text, PART_BYTES, "pool %.0f %%", now->pool_per_mille / PER_PERCENT);
    if (now->lease_left_ns > 0)
        snprintf(add(&parts, 1)->text, PART_BYTES, "lease %s", weir_status_text_duration(number, now->lease_left_ns));
    struct part *losses = add(&parts, 1);
    snprintf(losses->text, PART_BYTES, "lost %s", weir_status_text_number(number, (double)lost));
    losses->red = colors && lost > 0;
    if (now->files > 1)
        snprintf(add(&parts, 7)->text, PART_BYTES, "files %s", weir_status_text_number(number, (double)now->files));
    join(text, &parts, columns);
}

static const char *step_text(enum weir_ending_step step)
{
    switch (step) {
    case WEIR_ENDING_DRAIN:
        return "draining the rings";
    case WEIR_ENDING_BUILD_IDS:
        return "reading build ids";
    case WEIR_ENDING_WRITE:
        return "writing the last data";
    case WEIR_ENDING_FEATURES:
        return "writing the header";
    case WEIR_ENDING_SYNC:
        return "waiting for the disk (fsync)";
    case WEIR_ENDING_FILES:
        return "completing earlier files";
    case WEIR_ENDING_CACHE:
        return "copying to the build-id cache";
    case WEIR_ENDING_COMMAND:
        return "waiting for the command";
    }
    return "";
}

void weir_status_text_ending(char text[WEIR_STATUS_TEXT_BYTES], enum weir_ending_step step, uint64_t taken_ns,
                             unsigned columns)
{
    struct parts parts = {0};
    char number[16];
    snprintf(add(&parts, 0)->text, PART_BYTES, "weir: finishing: %s", step_text(step));
    snprintf(add(&parts, 1)->text, PART_BYTES, "%s", weir_status_text_duration(number, taken_ns));
    join(text, &parts, columns);
}

void weir_status_text_progress(char text[WEIR_STATUS_TEXT_BYTES], const char *work, uint64_t done_bytes,
                               uint64_t total_bytes, uint64_t taken_ns, unsigned columns)
{
    struct parts parts = {0};
    char number[16];
    snprintf(add(&parts, 0)->text, PART_BYTES, "%s: %s", work, weir_status_text_duration(number, taken_ns));
    if (total_bytes > 0)
        snprintf(add(&parts, 1)->text, PART_BYTES, "%.0f %%",
                 100.0 * (double)weir_min_u64(done_bytes, total_bytes) / (double)total_bytes);
    if (total_bytes > 0)
        snprintf(add(&parts, 2)->text, PART_BYTES, "%.0f of %.0f MB", (double)done_bytes / BYTES_PER_MB,
                 (double)total_bytes / BYTES_PER_MB);
    else
        snprintf(add(&parts, 2)->text, PART_BYTES, "%.0f MB", (double)done_bytes / BYTES_PER_MB);
    join(text, &parts, columns);
}
