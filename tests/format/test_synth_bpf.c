/* Records of BPF programs: of one that the test loads, read back from the kernel. */
#include "format/bpf_object.h"
#include "format/synth.h"

#include "tests/format/synth_fixture.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct synth_fixture fixture;

static void init(void)
{
    synth_fixture_init(&fixture);
}

static void fini(void)
{
    synth_fixture_fini(&fixture);
}

TestSuite(synth_bpf, .init = init, .fini = fini);

/* A socket filter that takes every packet whole: r0 = 0; exit. Its descriptor. */
static int load_program(struct bpf_prog_info *info)
{
    const struct bpf_insn code[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K},
        {.code = BPF_JMP | BPF_EXIT},
    };
    union bpf_attr attr = {
        .prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
        .insn_cnt = 2,
        .insns = (uintptr_t)code,
        .license = (uintptr_t) "GPL",
        .prog_name = "weir_test",
    };
    int fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
    if (fd < 0)
        cr_skip_test("needs leave to load a BPF program");
    union bpf_attr query = {.info = {.bpf_fd = (uint32_t)fd, .info_len = sizeof(*info), .info = (uintptr_t)info}};
    memset(info, 0, sizeof(*info));
    cr_assert_eq(syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &query, sizeof(query)), 0);
    return fd;
}

/* The record of that type with `bytes` at `offset`; NULL: there is none. */
static const uint8_t *find_record(uint32_t type, size_t offset, const void *bytes, size_t count)
{
    const struct weir_buf *records = &fixture.sink.records;
    struct perf_event_header header;
    for (size_t at = 0; at < records->used; at += header.size) {
        memcpy(&header, records->data + at, sizeof(header));
        if (header.type == type && header.size >= offset + count &&
            memcmp(records->data + at + offset, bytes, count) == 0)
            return records->data + at;
    }
    return NULL;
}

Test(synth_bpf, error_of_emit_is_returned)
{
    struct bpf_prog_info info;
    uint64_t programs;
    struct weir_error err;
    int fd = load_program(&info);
    fixture.sink.fail_at = 1;
    fixture.sink.error = -ENOSPC;
    cr_expect_eq(weir_synth_bpf(&fixture.options, &programs, &err), -ENOSPC);
    cr_expect_str_eq(err.what, "cannot record the BPF programs of the kernel: No space left on device");
    close(fd);
}

Test(synth_bpf, loaded_program_has_its_event_and_symbol)
{
    struct bpf_prog_info info;
    uint64_t programs;
    char name[64];
    int fd = load_program(&info);
    cr_assert_eq(weir_synth_bpf(&fixture.options, &programs, NULL), 0);
    cr_expect_geq(programs, 1);
    cr_expect_not_null(find_record(PERF_RECORD_BPF_EVENT, 12, &info.id, sizeof(info.id)));
    cr_expect_not_null(find_record(PERF_RECORD_BPF_EVENT, 16, info.tag, sizeof(info.tag)));
    size_t used = (size_t)snprintf(name, sizeof(name), "bpf_prog_");
    for (size_t i = 0; i < sizeof(info.tag); i++)
        used += (size_t)snprintf(name + used, sizeof(name) - used, "%02x", info.tag[i]);
    snprintf(name + used, sizeof(name) - used, "_weir_test");
    bool is_compiled = info.jited_prog_len > 0;
    cr_expect_eq(find_record(PERF_RECORD_KSYMBOL, 24, name, strlen(name) + 1) != NULL, is_compiled);
    close(fd);
}

/* ---- images ---- */

Test(synth_bpf, image_of_a_program_that_is_gone_is_refused)
{
    struct bpf_prog_info info;
    struct weir_bpf_image *image = NULL;
    close(load_program(&info));
    int result;
    for (unsigned tries = 0; tries < 200; tries++) { /* the kernel frees it a little later */
        result = weir_bpf_read_program(info.id, &image);
        if (result < 0)
            break;
        free(image);
        usleep(10000);
    }
    cr_expect_eq(result, -ENOENT);
    cr_expect_eq(weir_bpf_read_btf(UINT32_MAX - 1, &image), -ENOENT);
}

/* Head, info with offsets, arrays: what perf's reader takes apart. */
Test(synth_bpf, image_holds_code_symbols_and_tags_behind_the_info)
{
    struct bpf_prog_info info, stored = {0};
    struct weir_bpf_image *image = NULL;
    int fd = load_program(&info);
    cr_assert_eq(weir_bpf_read_program(info.id, &image), 0);
    cr_expect_eq(image->id, info.id);
    cr_expect_eq(image->btf_id, 0);
    uint32_t info_bytes, data_bytes;
    uint64_t present;
    memcpy(&info_bytes, image->data, 4);
    memcpy(&data_bytes, image->data + 4, 4);
    memcpy(&present, image->data + 8, 8);
    cr_expect_eq(info_bytes, 208);
    cr_assert_eq(image->bytes, 16 + info_bytes + data_bytes);
    memcpy(&stored, image->data + 16, info_bytes);
    cr_expect_str_eq(stored.name, "weir_test");
    cr_expect_arr_eq(stored.tag, info.tag, BPF_TAG_SIZE);
    cr_expect_eq(stored.xlated_prog_insns, 0);
    cr_expect_eq(stored.map_ids, 0);
    const uint8_t *data = image->data + 16 + info_bytes;
    cr_expect_eq(present >> 8 & 1, 1, "its tags");
    cr_expect_arr_eq(data + stored.prog_tags, info.tag, BPF_TAG_SIZE);
    if (info.jited_prog_len > 0) {
        uint64_t address;
        cr_expect_eq(present & 9, 9, "its code and its symbol");
        cr_expect_eq(stored.jited_prog_insns, 0, "first of all");
        memcpy(&address, data + stored.jited_ksyms, sizeof(address));
        cr_expect_neq(address, 0);
    }
    free(image);
    close(fd);
}
