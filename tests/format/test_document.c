/*
 * docs/format.md beside what is written: each of its tables of bytes against the structure of that name, with another
 * value in each field. A row that is wrong, missing or too many fails, and so does a table that nobody writes.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bits.h"
#include "format/bpf_object.h"
#include "tests/format/document_structures.h"

static char *document;

static void read_document(void)
{
    char path[4096];
    cr_assert(getenv("WEIR_DOCS_DIR"), "run by ctest");
    snprintf(path, sizeof(path), "%s/format.md", getenv("WEIR_DOCS_DIR"));
    document = byte_tables_read(path);
}

static void free_document(void)
{
    free(document);
}

TestSuite(document, .init = read_document, .fini = free_document);

/* ---- what the kernel has a part in ---- */

static int bpf(enum bpf_cmd command, union bpf_attr *attr)
{
    int fd = (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
    if (fd < 0)
        cr_skip_test("needs leave to load a BPF program");
    return fd;
}

/* A socket filter that takes every packet whole: r0 = 0; exit. */
static void write_program(struct byte_sample *sample)
{
    const struct bpf_insn code[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K}, {.code = BPF_JMP | BPF_EXIT}};
    union bpf_attr attr = {
        .prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
        .insn_cnt = 2,
        .insns = (uintptr_t)code,
        .license = (uintptr_t) "GPL",
        .prog_name = "weir_test",
    };
    struct bpf_prog_info info = {0};
    struct weir_bpf_image *image;
    int fd = bpf(BPF_PROG_LOAD, &attr);
    cr_assert_eq(weir_bpf_program_info(fd, &info), 0);
    cr_assert_eq(weir_bpf_read_program(info.id, &image), 0);
    close(fd);
    weir_buf_append(&sample->bytes, image->data, image->bytes);
    free(image);

    const size_t tags = BPF_TAG_SIZE;
    cr_assert_geq(sample->bytes.used, 224 + tags);
    cr_assert_arr_eq(sample->bytes.data + sample->bytes.used - tags, info.tag, tags, "they are the last array");
    cr_assert_arr_eq(sample->bytes.data + 16 + offsetof(struct bpf_prog_info, tag), info.tag, tags);
    byte_sample_number(sample, "info_len", 208);
    byte_sample_number(sample, "data_len", sample->bytes.used - 224);
    byte_sample_number(sample, "arrays", info.jited_prog_len > 0 ? 1u << 8 | 1u << 4 | 1u << 3 | 1u : 1u << 8);
    byte_sample_part(sample, "info");
    byte_sample_length(sample, 'n', sample->bytes.used - 224);
    byte_sample_part(sample, "data");
}

/* Types that a program may have: int. */
static void write_btf(struct byte_sample *sample)
{
    static const struct {
        struct btf_header header;
        struct btf_type type;
        uint32_t encoding;
        char strings[5];
    } types = {
        .header =
            {.magic = BTF_MAGIC, .version = BTF_VERSION, .hdr_len = 24, .type_len = 16, .str_off = 16, .str_len = 5},
        .type = {.name_off = 1, .info = BTF_KIND_INT << 24, .size = 4},
        .encoding = 32,
        .strings = "\0int",
    };
    const uint32_t bytes = 24 + 16 + 5;
    union bpf_attr attr = {.btf = (uintptr_t)&types, .btf_size = bytes};
    struct bpf_btf_info info = {0};
    struct weir_bpf_image *image;
    int fd = bpf(BPF_BTF_LOAD, &attr);
    union bpf_attr query = {.info = {.bpf_fd = (uint32_t)fd, .info_len = sizeof(info), .info = (uintptr_t)&info}};
    cr_assert_eq(syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &query, sizeof(query)), 0);
    cr_assert_eq(weir_bpf_read_btf(info.id, &image), 0);
    close(fd);
    weir_buf_append(&sample->bytes, image->data, image->bytes);
    free(image);
    byte_sample_number(sample, "id", info.id);
    byte_sample_number(sample, "data_size", bytes);
    byte_sample_length(sample, 'n', bytes);
    byte_sample_bytes(sample, "data", &types, bytes);
}

static const struct byte_structure by_the_kernel[] = {
    {"BPF_PROG_INFO program", write_program},
    {"BPF_BTF BTF", write_btf},
    {NULL, NULL},
};

/* ---- tests ---- */

static const struct byte_structure *const all[] = {document_records, document_features, by_the_kernel};

static int is_known(const char *title)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(all); i++) {
        for (const struct byte_structure *structure = all[i]; structure->title; structure++) {
            if (strcmp(structure->title, title) == 0)
                return 1;
        }
    }
    return 0;
}

static void check_all(const struct byte_structure *structures)
{
    for (; structures->title; structures++)
        byte_tables_check(document, structures);
}

Test(document, each_table_is_of_something_that_is_written)
{
    char *unknown = byte_tables_unknown(document, is_known);
    cr_expect_null(unknown, "nobody writes '%s'", unknown);
    free(unknown);
}

Test(document, heads_and_records_are_as_their_tables)
{
    check_all(document_records);
}

Test(document, features_are_as_their_tables)
{
    check_all(document_features);
}

Test(document, programs_of_the_kernel_are_as_their_tables)
{
    check_all(by_the_kernel);
}
