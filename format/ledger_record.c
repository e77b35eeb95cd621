/*
 * A ledger in a file is one piece of bytes, little endian, cut into records of type EVENT_TYPE:
 *
 *     record  header of 8 bytes, u64 magic, u32 bytes of the whole ledger, u32 offset of this piece, piece
 *     ledger  struct head, u64 lost[causes], rows
 *             texts, each u32 bytes and text: hints by cause, names by event
 *             where stacks were unwound or call chains deferred: u32 number of words and the words of struct
 *             weir_unwound_sum, then in the same way struct weir_joined_sum. 0 words mean no such sum
 *
 * Consumers trust no byte: they check each count against the bytes that are there.
 */
#include "format/ledger_record.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "format/bytes.h"
#include "format/perf_file.h"
#include "format/records.h"
#include "format/text_out.h"

#define PIECE_MAGIC      0x524744454c524957ull /* "WIRLEDGR" */
#define PIECE_HEAD_BYTES 24u
#define PIECE_MAX_BYTES  (WEIR_RECORD_MAX_BYTES - PIECE_HEAD_BYTES)
#define VERSION          3u /* rows of version 1 end before `filtered`, those of version 2 before `lost_in_sums` */
#define RECORD_ALIGN     8u
#define JOINED_WORDS     (sizeof(struct weir_joined_sum) / sizeof(uint64_t))
#define UNWOUND_WORDS    (sizeof(struct weir_unwound_sum) / sizeof(uint64_t))

struct head {
    uint32_t version, bytes, causes, events, side_event, rows;
};
_Static_assert(sizeof(struct head) == 24, "the layout of files");

_Static_assert(sizeof(struct weir_ledger_row) == 104 && offsetof(struct weir_ledger_row, written) == 16,
               "the layout of files");

/* The size of rows; 0: of an unknown version. */
static size_t row_bytes(uint32_t version)
{
    static const size_t sizes[VERSION + 1] = {
        [1] = offsetof(struct weir_ledger_row, filtered),
        [2] = offsetof(struct weir_ledger_row, lost_in_sums),
        [3] = sizeof(struct weir_ledger_row),
    };
    return version <= VERSION ? sizes[version] : 0;
}

static const char *const cause_names[WEIR_LOSS_CAUSES] = {
    [WEIR_LOSS_NO_RING] = "no_ring",     [WEIR_LOSS_RING_DAMAGED] = "ring_damaged",
    [WEIR_LOSS_RING_FULL] = "ring_full", [WEIR_LOSS_RING_PAUSED] = "ring_paused",
    [WEIR_LOSS_SUSPENDED] = "suspended", [WEIR_LOSS_OUTPUT_BEHIND] = "output_behind",
    [WEIR_LOSS_SHED] = "shed",           [WEIR_LOSS_WRITE_FAILED] = "write_failed",
    [WEIR_LOSS_SUMS_FULL] = "sums_full",
};

void weir_ledger_row_add(struct weir_ledger_row *sum, const struct weir_ledger_row *row)
{
    sum->written += row->written;
    sum->evicted += row->evicted;
    sum->shed += row->shed;
    sum->lost_ring_full += row->lost_ring_full;
    sum->lost_write_failed += row->lost_write_failed;
    sum->left_out += row->left_out;
    sum->cut_off += row->cut_off;
    sum->filtered += row->filtered;
    sum->counted += row->counted;
    sum->merged += row->merged;
    sum->lost_in_sums += row->lost_in_sums;
}

uint64_t weir_ledger_row_lost(const struct weir_ledger_row *row)
{
    return row->shed + row->lost_ring_full + row->lost_write_failed + row->lost_in_sums;
}

/* ---- JSON ---- */

static struct weir_ledger_row total_of(const struct weir_ledger_content *content, uint64_t *side_lost)
{
    struct weir_ledger_row total = {0};
    *side_lost = 0;
    for (size_t i = 0; i < content->row_count; i++) {
        const struct weir_ledger_row *row = &content->rows[i];
        if (row->event >= content->side_event) {
            *side_lost += weir_ledger_row_lost(row);
            continue;
        }
        weir_ledger_row_add(&total, row);
    }
    return total;
}

static void append_json_cause(const char *name, const struct weir_loss *loss, const char *between, struct weir_buf *out)
{
    weir_buf_printf(out, "%s\n  {\"cause\":\"%s\",\"lost\":%" PRIu64 ",\"hint\":", between, name, loss->lost);
    if (loss->hint[0])
        weir_text_append_json(out, loss->hint, sizeof(loss->hint));
    else
        weir_buf_printf(out, "null");
    weir_buf_printf(out, "}");
}

static void append_json_cell(const struct weir_ledger_content *content, const struct weir_ledger_row *row,
                             struct weir_buf *out)
{
    if (row->cpu >= 0)
        weir_buf_printf(out, "{\"cpu\":%d,\"task\":null,\"event\":", row->cpu);
    else
        weir_buf_printf(out, "{\"cpu\":null,\"task\":%d,\"event\":", (int)row->task);
    weir_text_append_json_string(out, content->event_names[row->event]);
    weir_buf_printf(out,
                    ",\"side\":%s,\"written\":%" PRIu64 ",\"evicted\":%" PRIu64 ",\"shed\":%" PRIu64
                    ",\"lost_in_ring\":%" PRIu64 ",\"lost_writing\":%" PRIu64 ",\"lost_in_sums\":%" PRIu64
                    ",\"left_out\":%" PRIu64 ",\"cut_off\":%" PRIu64 ",\"filtered\":%" PRIu64 ",\"merged\":%" PRIu64
                    ",\"counted\":%" PRIu64 "}",
                    row->event >= content->side_event ? "true" : "false", row->written, row->evicted, row->shed,
                    row->lost_ring_full, row->lost_write_failed, row->lost_in_sums, row->left_out, row->cut_off,
                    row->filtered, row->merged, row->counted);
}

void weir_ledger_append_json(const struct weir_ledger_content *content, struct weir_buf *out)
{
    uint64_t side_lost;
    struct weir_ledger_row total = total_of(content, &side_lost);
    weir_buf_printf(out,
                    "{\"written\":%" PRIu64 ",\"merged\":%" PRIu64 ",\"evicted\":%" PRIu64 ",\"lost\":%" PRIu64
                    ",\"left_out\":%" PRIu64 ",\"cut_off\":%" PRIu64 ",\"filtered\":%" PRIu64 ",\"side_lost\":%" PRIu64
                    ",\n \"causes\":[",
                    total.written, total.merged, total.evicted, weir_ledger_row_lost(&total), total.left_out,
                    total.cut_off, total.filtered, side_lost);
    const char *between = "";
    for (unsigned cause = 0; cause < WEIR_LOSS_CAUSES; cause++) {
        if (content->losses[cause].lost == 0)
            continue;
        append_json_cause(cause_names[cause], &content->losses[cause], between, out);
        between = ",";
    }
    weir_buf_printf(out, "],\n \"unwound\":");
    if (content->unwound)
        weir_unwound_append_json(content->unwound, out);
    else
        weir_buf_printf(out, "null");
    weir_buf_printf(out, ",\n \"joined\":");
    if (content->joined)
        weir_joined_append_json(content->joined, out);
    else
        weir_buf_printf(out, "null");
    weir_buf_printf(out, ",\n \"cells\":[");
    for (size_t i = 0; i < content->row_count; i++) {
        weir_buf_printf(out, "%s\n  ", i ? "," : "");
        append_json_cell(content, &content->rows[i], out);
    }
    weir_buf_printf(out, "]}");
}

/* ---- records ---- */

static void append_text(const char *text, struct weir_buf *out)
{
    size_t bytes = strlen(text);
    weir_buf_append_u32(out, (uint32_t)bytes);
    weir_buf_append(out, text, bytes);
}

static void append_sums(const struct weir_ledger_content *content, struct weir_buf *image)
{
    if (!content->unwound && !content->joined)
        return;
    weir_buf_append_u32(image, content->unwound ? UNWOUND_WORDS : 0);
    if (content->unwound)
        weir_buf_append(image, content->unwound, sizeof(*content->unwound));
    weir_buf_append_u32(image, content->joined ? JOINED_WORDS : 0);
    if (content->joined)
        weir_buf_append(image, content->joined, sizeof(*content->joined));
}

static void append_image(const struct weir_ledger_content *content, struct weir_buf *image)
{
    struct head head = {
        .version = VERSION,
        .causes = WEIR_LOSS_CAUSES,
        .events = (uint32_t)content->event_count,
        .side_event = (uint32_t)content->side_event,
        .rows = (uint32_t)content->row_count,
    };
    weir_buf_append(image, &head, sizeof(head));
    for (unsigned cause = 0; cause < WEIR_LOSS_CAUSES; cause++)
        weir_buf_append_u64(image, content->losses[cause].lost);
    weir_buf_append(image, content->rows, content->row_count * sizeof(*content->rows));
    for (unsigned cause = 0; cause < WEIR_LOSS_CAUSES; cause++)
        append_text(content->losses[cause].hint, image);
    for (size_t i = 0; i < content->event_count; i++)
        append_text(content->event_names[i], image);
    append_sums(content, image);
    weir_buf_append_zeros(image, (RECORD_ALIGN - image->used % RECORD_ALIGN) % RECORD_ALIGN);
    if (weir_buf_error(image) == 0) {
        head.bytes = (uint32_t)image->used;
        memcpy(image->data, &head, sizeof(head));
    }
}

void weir_ledger_append_records(const struct weir_ledger_content *content, struct weir_buf *records)
{
    struct weir_buf image = WEIR_BUF_INIT;
    append_image(content, &image);
    if (weir_buf_error(&image) < 0)
        weir_buf_fail(records, weir_buf_error(&image));
    for (size_t at = 0; weir_buf_error(&image) == 0 && image.used <= WEIR_LEDGER_KEPT_MAX_BYTES && at < image.used;) {
        size_t piece = weir_min_u64(image.used - at, PIECE_MAX_BYTES);
        uint8_t *record = weir_buf_extend(records, PIECE_HEAD_BYTES + piece);
        if (!record)
            break;
        weir_record_fill_padding(record, PIECE_HEAD_BYTES + piece);
        const uint64_t magic = PIECE_MAGIC;
        const uint32_t place[2] = {(uint32_t)image.used, (uint32_t)at};
        memcpy(record + sizeof(struct perf_event_header), &magic, sizeof(magic));
        memcpy(record + sizeof(struct perf_event_header) + sizeof(magic), place, sizeof(place));
        memcpy(record + PIECE_HEAD_BYTES, image.data + at, piece);
        at += piece;
    }
    weir_buf_fini(&image);
}

/* ---- reading ---- */

int weir_ledger_reader_take(struct weir_ledger_reader *reader, const uint8_t *record, size_t bytes)
{
    if (bytes < PIECE_HEAD_BYTES || weir_load_u64(record + 8) != PIECE_MAGIC)
        return 0;
    uint32_t whole = weir_load_u32(record + 16), offset = weir_load_u32(record + 20);
    size_t piece = bytes - PIECE_HEAD_BYTES;
    if (offset == 0) {
        weir_buf_reset(&reader->part);
        reader->part_bytes = whole;
    }
    if (whole != reader->part_bytes || offset != reader->part.used || piece > whole - offset ||
        whole > WEIR_LEDGER_KEPT_MAX_BYTES - reader->whole.used)
        return 0; /* a piece before this one is missing, or it is none */
    weir_buf_append(&reader->part, record + PIECE_HEAD_BYTES, piece);
    if (weir_buf_error(&reader->part) == 0 && piece > 0 && reader->part.used == whole) {
        weir_buf_append(&reader->whole, reader->part.data, whole);
        weir_buf_reset(&reader->part);
        reader->part_bytes = 0;
    }
    int error = weir_buf_error(&reader->part);
    return error < 0 ? error : weir_buf_error(&reader->whole);
}

void weir_ledger_reader_fini(struct weir_ledger_reader *reader)
{
    weir_buf_fini(&reader->whole);
    weir_buf_fini(&reader->part);
}

struct parsed { /* all owned */
    struct weir_ledger_row *rows;
    char **event_names;
    struct weir_loss losses[WEIR_LOSS_CAUSES];
    struct weir_unwound_sum unwound;
    struct weir_joined_sum joined;
    struct weir_ledger_content content;
};

static void parsed_fini(struct parsed *parsed)
{
    for (size_t i = 0; parsed->event_names && i < parsed->content.event_count; i++)
        free(parsed->event_names[i]);
    free(parsed->event_names);
    free(parsed->rows);
}

/* The next text of a ledger; NULL: it lies outside. */
static const char *next_text(const uint8_t *data, size_t bytes, size_t *at, uint32_t *length)
{
    if (bytes - *at < sizeof(*length))
        return NULL;
    *length = weir_load_u32(data + *at);
    *at += sizeof(*length);
    if (*length > bytes - *at)
        return NULL;
    const char *text = (const char *)data + *at;
    *at += *length;
    return text;
}

static int parse_rows(const uint8_t *at, const struct head *head, struct parsed *parsed)
{
    size_t bytes = row_bytes(head->version);
    for (uint32_t i = 0; i < head->rows; i++) {
        struct weir_ledger_row row = {0};
        memcpy(&row, at + i * bytes, bytes);
        if (row.event >= head->events)
            return -EBADMSG;
        parsed->rows[i] = row;
    }
    return 0;
}

/* Reads the words of a sum, if there are any. Fewer than `most` are of an older weir, more of a newer one. */
static bool parse_sum(struct weir_cursor *at, void *sum, size_t most)
{
    uint64_t words = weir_cursor_u32(at);
    const uint8_t *found = weir_cursor_take(at, words * sizeof(uint64_t));
    if (!found || words == 0)
        return false;
    memcpy(sum, found, weir_min_u64(words, most) * sizeof(uint64_t));
    return true;
}

static void parse_sums(const uint8_t *data, size_t bytes, struct parsed *parsed)
{
    struct weir_cursor at = {.data = data, .bytes = bytes};
    if (parse_sum(&at, &parsed->unwound, UNWOUND_WORDS))
        parsed->content.unwound = &parsed->unwound;
    if (parse_sum(&at, &parsed->joined, JOINED_WORDS))
        parsed->content.joined = &parsed->joined;
}

static int parse_texts(const uint8_t *data, size_t at, const struct head *head, struct parsed *parsed)
{
    uint32_t length;
    for (uint32_t cause = 0; cause < head->causes; cause++) {
        const char *text = next_text(data, head->bytes, &at, &length);
        if (!text)
            return -EBADMSG;
        if (cause < WEIR_LOSS_CAUSES)
            memcpy(parsed->losses[cause].hint, text, weir_min_u64(length, WEIR_LOSS_HINT_BYTES - 1));
    }
    for (uint32_t event = 0; event < head->events; event++) {
        const char *text = next_text(data, head->bytes, &at, &length);
        if (!text)
            return -EBADMSG;
        parsed->event_names[event] = strndup(text, length);
        if (!parsed->event_names[event])
            return -ENOMEM;
    }
    parse_sums(data + at, head->bytes - at, parsed);
    return 0;
}

/* Parses the ledger of a head and the bytes behind it. 0, -EBADMSG or -ENOMEM; release *parsed in any case. */
static int parse(const uint8_t *data, const struct head *head, struct parsed *parsed)
{
    size_t causes_at = sizeof(*head);
    uint64_t rows_at = causes_at + (uint64_t)head->causes * sizeof(uint64_t);
    uint64_t texts_at = rows_at + (uint64_t)head->rows * row_bytes(head->version);
    *parsed = (struct parsed){0};
    if (row_bytes(head->version) == 0 || texts_at > head->bytes || head->events > head->bytes / sizeof(uint32_t))
        return -EBADMSG;
    parsed->rows = calloc((size_t)head->rows + 1, sizeof(*parsed->rows));
    parsed->event_names = calloc((size_t)head->events + 1, sizeof(*parsed->event_names));
    parsed->content = (struct weir_ledger_content){
        .rows = parsed->rows,
        .row_count = head->rows,
        .event_names = (const char *const *)parsed->event_names,
        .event_count = head->events,
        .side_event = head->side_event,
        .losses = parsed->losses,
    };
    if (!parsed->rows || !parsed->event_names)
        return -ENOMEM;
    for (unsigned cause = 0; cause < weir_min_u64(head->causes, WEIR_LOSS_CAUSES); cause++)
        parsed->losses[cause].lost = weir_load_u64(data + causes_at + cause * sizeof(uint64_t));
    int result = parse_rows(data + rows_at, head, parsed);
    return result < 0 ? result : parse_texts(data, texts_at, head, parsed);
}

/* Calls show() for each whole ledger. */
static void for_each(const struct weir_ledger_reader *reader,
                     void (*show)(const struct weir_ledger_content *content, unsigned number, struct weir_buf *out),
                     struct weir_buf *out)
{
    const struct weir_buf *whole = &reader->whole;
    unsigned number = 0;
    int result = 0;
    for (size_t at = 0; result != -ENOMEM && whole->used - at >= sizeof(struct head);) {
        struct head head;
        struct parsed parsed;
        memcpy(&head, whole->data + at, sizeof(head));
        if (head.bytes < sizeof(head) || head.bytes > whole->used - at)
            break;
        result = parse(whole->data + at, &head, &parsed);
        if (result == 0)
            show(&parsed.content, number++, out);
        parsed_fini(&parsed);
        at += head.bytes;
    }
    if (result == -ENOMEM)
        weir_buf_fail(out, result);
}

static void show_json(const struct weir_ledger_content *content, unsigned number, struct weir_buf *out)
{
    weir_buf_printf(out, "%s\n ", number ? "," : "");
    weir_ledger_append_json(content, out);
}

static void show_text(const struct weir_ledger_content *content, unsigned number, struct weir_buf *out)
{
    (void)number;
    uint64_t side_lost;
    struct weir_ledger_row total = total_of(content, &side_lost);
    weir_buf_printf(out, "ledger          %" PRIu64 " samples written, ", total.written);
    if (total.merged > 0)
        weir_buf_printf(out, "%" PRIu64 " merged into these, ", total.merged);
    weir_buf_printf(out, "%" PRIu64 " evicted, %" PRIu64 " lost; %" PRIu64 " side records lost", total.evicted,
                    weir_ledger_row_lost(&total), side_lost);
    if (total.filtered > 0)
        weir_buf_printf(out, "; filters dropped %" PRIu64 " samples", total.filtered);
    weir_buf_append_u8(out, '\n');
    if (content->joined) {
        weir_buf_printf(out, "joined          ");
        weir_joined_append_text(content->joined, out);
        weir_buf_append_u8(out, '\n');
    }
    if (content->unwound) {
        weir_buf_printf(out, "unwound         ");
        weir_unwound_append_text(content->unwound, out);
        weir_buf_append_u8(out, '\n');
    }
    for (unsigned cause = 0; cause < WEIR_LOSS_CAUSES; cause++) {
        const struct weir_loss *loss = &content->losses[cause];
        if (loss->lost == 0)
            continue;
        weir_buf_printf(out, "                %10" PRIu64 " %s%s", loss->lost, cause_names[cause],
                        loss->hint[0] ? "; to prevent it: " : "");
        weir_text_append(out, loss->hint, sizeof(loss->hint));
        weir_buf_append_u8(out, '\n');
    }
}

void weir_ledger_reader_append_json(const struct weir_ledger_reader *reader, struct weir_buf *out)
{
    weir_buf_printf(out, "[");
    for_each(reader, show_json, out);
    weir_buf_printf(out, "]");
}

void weir_ledger_reader_append_text(const struct weir_ledger_reader *reader, struct weir_buf *out)
{
    for_each(reader, show_text, out);
}
