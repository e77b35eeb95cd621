/* Rows of a document beside bytes, see byte_tables.h. */
#include "tests/format/byte_tables.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

#define TITLE_MARK  "\n#### "
#define COLUMNS     "| offset | bytes | field | where it comes from |\n|---|---|---|---|\n"
#define TITLE_BYTES 80u
#define CELL_BYTES  120u

struct row {
    char offset[CELL_BYTES], bytes[CELL_BYTES], field[CELL_BYTES];
};

/* ---- samples ---- */

static struct byte_field *add_field(struct byte_sample *sample, const char *name)
{
    cr_assert_lt(sample->field_count, BYTE_FIELDS_MAX);
    struct byte_field *field = &sample->fields[sample->field_count++];
    *field = (struct byte_field){.name = name, .is_checked = 1};
    return field;
}

void byte_sample_number(struct byte_sample *sample, const char *field, uint64_t number)
{
    add_field(sample, field)->number = number;
}

void byte_sample_bytes(struct byte_sample *sample, const char *field, const void *value, size_t bytes)
{
    struct byte_field *added = add_field(sample, field);
    added->value = value;
    added->value_bytes = bytes;
}

void byte_sample_text(struct byte_sample *sample, const char *field, const char *text)
{
    byte_sample_bytes(sample, field, text, strlen(text));
}

void byte_sample_part(struct byte_sample *sample, const char *field)
{
    add_field(sample, field)->is_checked = 0;
}

void byte_sample_header(struct byte_sample *sample, uint32_t type, uint16_t misc)
{
    /* The record's own size, whatever else is behind it. */
    struct perf_event_header header;
    cr_assert_geq(sample->bytes.used, sizeof(header));
    memcpy(&header, sample->bytes.data, sizeof(header));
    byte_sample_number(sample, "header", type | (uint64_t)misc << 32 | (uint64_t)header.size << 48);
}

void byte_sample_length(struct byte_sample *sample, char letter, size_t bytes)
{
    cr_assert(letter >= 'a' && letter <= 'z');
    sample->lengths[letter - 'a'] = bytes;
}

/* ---- the document ---- */

char *byte_tables_read(const char *path)
{
    struct weir_buf text = WEIR_BUF_INIT;
    cr_assert_eq(weir_buf_append_file(&text, path), 0, "%s", path);
    char *copy = strdup(weir_buf_str(&text));
    cr_assert_not_null(copy);
    weir_buf_fini(&text);
    return copy;
}

/* The title behind the mark at `at`. */
static void copy_title(const char *at, char title[TITLE_BYTES])
{
    size_t length = strcspn(at + strlen(TITLE_MARK), "\n");
    cr_assert_lt(length, TITLE_BYTES);
    memcpy(title, at + strlen(TITLE_MARK), length);
    title[length] = '\0';
}

char *byte_tables_unknown(const char *document, int (*is_known)(const char *title))
{
    char title[TITLE_BYTES];
    for (const char *at = document; (at = strstr(at, TITLE_MARK)); at++) {
        copy_title(at, title);
        if (!is_known(title))
            return strdup(title);
    }
    return NULL;
}

/* The first row of the table. */
static const char *find_table(const char *document, const char *wanted)
{
    char title[TITLE_BYTES];
    for (const char *at = document; (at = strstr(at, TITLE_MARK)); at++) {
        copy_title(at, title);
        if (strcmp(title, wanted) != 0)
            continue;
        const char *next = strstr(at + 1, "\n#"), *columns = strstr(at, COLUMNS);
        cr_assert(columns && (!next || columns < next), "'%s' has no table with these columns", wanted);
        return columns + strlen(COLUMNS);
    }
    cr_assert_fail("no table '%s'", wanted);
    return NULL;
}

/* Behind the cell, whose text goes to `cell`. */
static const char *read_cell(const char *at, char cell[CELL_BYTES])
{
    at += strspn(at, "| ");
    size_t length = strcspn(at, "|\n");
    const char *behind = at + length;
    while (length > 0 && at[length - 1] == ' ')
        length--;
    cr_assert_lt(length, CELL_BYTES);
    memcpy(cell, at, length);
    cell[length] = '\0';
    return behind;
}

/* Behind the row; NULL: the table has ended. */
static const char *read_row(const char *at, struct row *row)
{
    if (*at != '|')
        return NULL;
    const char *behind = read_cell(read_cell(read_cell(at, row->offset), row->bytes), row->field);
    behind += strcspn(behind, "\n");
    return *behind ? behind + 1 : behind;
}

/* A sum of numbers and letters. */
static size_t evaluate(const char *title, const char *text, const struct byte_sample *sample)
{
    size_t sum = 0;
    const char *at = text;
    for (;;) {
        char *end = (char *)at;
        if (isdigit((unsigned char)*at)) {
            sum += strtoul(at, &end, 10);
        } else if (islower((unsigned char)*at)) {
            sum += sample->lengths[*at - 'a'];
            end++;
        }
        cr_assert_neq(end, at, "%s: '%s' is no sum of numbers and letters", title, text);
        if (!*end)
            return sum;
        cr_assert_eq(strncmp(end, " + ", 3), 0, "%s: '%s' is no sum of numbers and letters", title, text);
        at = end + 3;
    }
}

/* ---- bytes ---- */

static void check_value(const char *title, const struct byte_field *field, const uint8_t *bytes, size_t count)
{
    uint8_t number[sizeof(field->number)];
    memcpy(number, &field->number, sizeof(number));
    const uint8_t *value = field->value ? field->value : number;
    size_t value_bytes = field->value ? field->value_bytes : weir_min_u64(sizeof(number), count);
    if (!field->is_checked)
        return;
    cr_assert(field->value || count >= sizeof(number) || field->number >> (8 * count) == 0,
              "%s: %s has %zu bytes, which do not hold what was written", title, field->name, count);
    cr_assert_leq(value_bytes, count, "%s: %s has %zu bytes, and %zu were written", title, field->name, count,
                  value_bytes);
    for (size_t i = 0; i < count; i++)
        cr_assert_eq(bytes[i], i < value_bytes ? value[i] : 0, "%s: byte %zu of %s is %#x", title, i, field->name,
                     bytes[i]);
}

static void check_rows(const char *title, const char *table, const struct byte_sample *sample)
{
    struct row row;
    size_t end = 0, count = 0;
    for (const char *at = table; (at = read_row(at, &row)); count++) {
        size_t offset = evaluate(title, row.offset, sample), bytes = evaluate(title, row.bytes, sample);
        cr_assert_eq(offset, end, "%s: %s is at %zu, and what stands before ends at %zu", title, row.field, offset,
                     end);
        cr_assert_leq(offset + bytes, sample->bytes.used, "%s: %s ends behind the structure, at %zu of %zu", title,
                      row.field, offset + bytes, sample->bytes.used);
        cr_assert_lt(count, sample->field_count, "%s: there is no %s", title, row.field);
        cr_assert_str_eq(row.field, sample->fields[count].name, "%s: %s stands where %s does", title, row.field,
                         sample->fields[count].name);
        check_value(title, &sample->fields[count], sample->bytes.data + offset, bytes);
        end = offset + bytes;
    }
    cr_assert_eq(count, sample->field_count, "%s: no row for %s", title,
                 count < sample->field_count ? sample->fields[count].name : "");
    cr_assert_eq(end, sample->bytes.used, "%s: the rows end at %zu, the structure at %zu", title, end,
                 sample->bytes.used);
}

void byte_tables_check(const char *document, const struct byte_structure *structure)
{
    struct byte_sample sample = {.bytes = WEIR_BUF_INIT};
    structure->write(&sample);
    cr_assert_eq(weir_buf_error(&sample.bytes), 0);
    check_rows(structure->title, find_table(document, structure->title), &sample);
    weir_buf_fini(&sample.bytes);
}
