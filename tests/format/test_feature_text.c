/*
 * Features as text: those that are lists. The others, in whole files: test_verify.c. And as the document has them.
 */
#include "format/feature_text.h"

#include <criterion/criterion.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/perf_file.h"
#include "format/perf_input.h"

#define DATA_BYTES     24u
#define DOCUMENT_BYTES (256u * 1024)

static void append_program(struct weir_buf *payload, uint32_t id, const char *name, uint32_t info_bytes)
{
    struct bpf_prog_info info = {.id = id, .tag = {0xde, 0xad, 0xbe, 0xef, 0, 1, 2, 3}};
    uint8_t data[DATA_BYTES] = {0};
    /* One that fills the field has no end, as the kernel's. */
    memcpy(info.name, name, strnlen(name, sizeof(info.name)));
    weir_buf_append_u32(payload, info_bytes);
    weir_buf_append_u32(payload, DATA_BYTES);
    weir_buf_append_u64(payload, 0);
    weir_buf_append(payload, &info, info_bytes);
    weir_buf_append(payload, data, DATA_BYTES);
}

static void expect_text_of(unsigned bit, const struct weir_buf *payload, size_t bytes, const char *expected)
{
    struct weir_buf text = WEIR_BUF_INIT;
    weir_feature_text_append(bit, payload->data, bytes, &text);
    weir_buf_append_u8(&text, '\0');
    cr_assert_str_eq((const char *)text.data, expected);
    weir_buf_fini(&text);
}

static void expect_text(const struct weir_buf *payload, size_t bytes, const char *expected)
{
    expect_text_of(WEIR_FEATURE_BPF_PROG_INFO, payload, bytes, expected);
}

Test(feature_text, bpf_programs_have_id_name_and_tag)
{
    struct weir_buf payload = WEIR_BUF_INIT;
    weir_buf_append_u32(&payload, 2);
    append_program(&payload, 7, "sixteen_letters_", 208);
    append_program(&payload, 9, "", 208);
    expect_text(&payload, payload.used,
                "2 programs: id 7 sixteen_letters_ tag deadbeef00010203, id 9 tag deadbeef00010203");
    weir_buf_fini(&payload);
}

Test(feature_text, bpf_programs_that_are_cut_or_short_are_told_as_far_as_they_go)
{
    struct weir_buf payload = WEIR_BUF_INIT;
    weir_buf_append_u32(&payload, 2);
    append_program(&payload, 7, "a", offsetof(struct bpf_prog_info, jited_prog_len)); /* of an older kernel: no name */
    append_program(&payload, 9, "b", 208);
    expect_text(&payload, payload.used - 1, "2 programs: id 7 tag deadbeef00010203 (cut)");
    expect_text(&payload, 3, " (cut)");
    weir_buf_fini(&payload);
}

/* weir verify goes by whether there is a "(cut)". */
Test(feature_text, types_of_bpf_programs_and_bitmaps_are_read_to_their_end)
{
    struct weir_buf types = WEIR_BUF_INIT, nodes = WEIR_BUF_INIT;
    const uint32_t entries[] = {2, 7, 4, 0, 9, 0}; /* count; id, bytes and so many of them, each time */
    weir_buf_append(&types, entries, sizeof(entries));
    expect_text_of(WEIR_FEATURE_BPF_BTF, &types, types.used, "2 BTF");
    expect_text_of(WEIR_FEATURE_BPF_BTF, &types, types.used - 1, "2 BTF (cut)");
    const uint64_t words[] = {1, 4096, 2, 0, 65, 65, 1, 1, 1, 0, 0}; /* of the nodes: number, bits, bits, bitmap */
    weir_buf_append(&nodes, words, sizeof(words));
    expect_text_of(WEIR_FEATURE_MEM_TOPOLOGY, &nodes, nodes.used, "version 1, blocks of 4096 bytes, 2 nodes");
    expect_text_of(WEIR_FEATURE_MEM_TOPOLOGY, &nodes, nodes.used - 1, "version 1, blocks of 4096 bytes, 2 nodes (cut)");
    weir_buf_fini(&types);
    weir_buf_fini(&nodes);
}

/* docs/format.md, in which each feature that there is has a row, or is said not to be written. */
static char *read_document(void)
{
    char path[4096];
    cr_assert(getenv("WEIR_DOCS_DIR"), "run by ctest");
    snprintf(path, sizeof(path), "%s/format.md", getenv("WEIR_DOCS_DIR"));
    FILE *file = fopen(path, "re");
    char *text = calloc(1, DOCUMENT_BYTES);
    cr_assert(file && text, "%s", path);
    size_t bytes = fread(text, 1, DOCUMENT_BYTES - 1, file);
    cr_assert(bytes > 0 && feof(file));
    fclose(file);
    return text;
}

Test(feature_text, index_of_aux_areas_shows_its_first_entries)
{
    struct weir_buf payload = WEIR_BUF_INIT;
    weir_buf_append_u64(&payload, 18);
    for (uint64_t i = 0; i < 18; i++) {
        weir_buf_append_u64(&payload, 16 * (i + 1));
        weir_buf_append_u64(&payload, 48);
    }
    expect_text_of(WEIR_FEATURE_AUXTRACE, &payload, payload.used,
                   "index of 18 entries: 0x10 + 48, 0x20 + 48, 0x30 + 48, 0x40 + 48, 0x50 + 48, 0x60 + 48, 0x70 + 48, "
                   "0x80 + 48, 0x90 + 48, 0xa0 + 48, 0xb0 + 48, 0xc0 + 48, 0xd0 + 48, 0xe0 + 48, 0xf0 + 48, "
                   "0x100 + 48, and 2 more");
    expect_text_of(WEIR_FEATURE_AUXTRACE, &payload, 8 + 16 + 15, "index of 18 entries: 0x10 + 48 (cut)");
    expect_text_of(WEIR_FEATURE_AUXTRACE, &payload, 7, " (cut)");
    memset(payload.data, 0xff, sizeof(uint64_t));
    expect_text_of(WEIR_FEATURE_AUXTRACE, &payload, 8 + 16, "index of 18446744073709551615 entries: 0x10 + 48 (cut)");
    weir_buf_fini(&payload);
}

Test(feature_text, every_feature_is_in_the_document_by_its_bit_and_name)
{
    char *document = read_document();
    const char *not_written = strstr(document, "\nNot written: ");
    cr_assert_not_null(not_written);
    for (unsigned bit = 0; bit < WEIR_FEATURES_KNOWN; bit++) {
        char row[80];
        const char *name = weir_feature_name(bit);
        snprintf(row, sizeof(row), "\n| %u | %s | ", bit, name ? name : "");
        bool written = name && strstr(document, row), left_out = false;
        if (name && !written) {
            const char *named = strstr(not_written, name);
            left_out = named && named < strchr(not_written + 1, '\n');
        }
        cr_expect(!name || written || left_out, "no row '%s'", row + 1);
        cr_expect(name || bit == 0);
    }
    free(document);
}
