/*
 * What the kernel answers about BPF programs and types (format/bpf_object.h). Input: two answers about one object, one
 * behind the other, as struct bpf_prog_info or struct bpf_btf_info has them; what is missing is zero. bpf(2) is played
 * here, as kernel/bpf/syscall.c of Linux 6.12 does it: an answer tells counts of its own, and fills each array that it
 * was given an address for, up to the smaller of its count and the one that it was given.
 *
 * It ends, with an error or with an image whose sizes are its own: the arrays it tells of follow each other inside it,
 * and hold what the kernel wrote, and nothing but offsets stands in the place of addresses.
 */
#include "format/bpf_object.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "tests/fuzz/fuzz.h"

#define ANSWERS    2u
#define HEAD_BYTES 16u
#define INFO_BYTES 208u
#define FILLED     0xb5

/* bpf.h, and the bits of enum perf_bpil_array_types in tools/perf/util/bpf-utils.h. */
static const struct array {
    unsigned bit;
    size_t address, count, entry; /* entry 0: entry_bytes */
    uint64_t entry_bytes;
} arrays[] = {
    {0, offsetof(struct bpf_prog_info, jited_prog_insns), offsetof(struct bpf_prog_info, jited_prog_len), 0, 1},
    {3, offsetof(struct bpf_prog_info, jited_ksyms), offsetof(struct bpf_prog_info, nr_jited_ksyms), 0, 8},
    {4, offsetof(struct bpf_prog_info, jited_func_lens), offsetof(struct bpf_prog_info, nr_jited_func_lens), 0, 4},
    {5, offsetof(struct bpf_prog_info, func_info), offsetof(struct bpf_prog_info, nr_func_info),
     offsetof(struct bpf_prog_info, func_info_rec_size), 0},
    {6, offsetof(struct bpf_prog_info, line_info), offsetof(struct bpf_prog_info, nr_line_info),
     offsetof(struct bpf_prog_info, line_info_rec_size), 0},
    {7, offsetof(struct bpf_prog_info, jited_line_info), offsetof(struct bpf_prog_info, nr_jited_line_info),
     offsetof(struct bpf_prog_info, jited_line_info_rec_size), 0},
    {8, offsetof(struct bpf_prog_info, prog_tags), offsetof(struct bpf_prog_info, nr_prog_tags), 0, BPF_TAG_SIZE},
};

/* The kernel that is played: one, as there is one to a process. */
static struct {
    struct bpf_prog_info programs[ANSWERS];
    struct bpf_btf_info types[ANSWERS];
    unsigned asked; /* answers given since the object was opened */
    bool is_btf;
} kernel;

static uint32_t u32_at(const struct bpf_prog_info *info, size_t offset)
{
    uint32_t value;
    memcpy(&value, (const uint8_t *)info + offset, sizeof(value));
    return value;
}

static uint64_t u64_at(const struct bpf_prog_info *info, size_t offset)
{
    uint64_t value;
    memcpy(&value, (const uint8_t *)info + offset, sizeof(value));
    return value;
}

static uint64_t entry_bytes(const struct bpf_prog_info *info, const struct array *array)
{
    return array->entry ? u32_at(info, array->entry) : array->entry_bytes;
}

static void answer_program(const struct bpf_prog_info *answer, struct bpf_prog_info *info)
{
    const struct bpf_prog_info asked = *info;
    *info = *answer;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(arrays); i++) {
        uint64_t address = u64_at(&asked, arrays[i].address);
        bool hidden = u64_at(answer, arrays[i].address) % 2 == 1; /* from who may not see it */
        uint64_t count = weir_min_u64(u32_at(&asked, arrays[i].count), u32_at(answer, arrays[i].count));
        if (hidden)
            address = 0;
        memcpy((uint8_t *)info + arrays[i].address, &address, sizeof(address));
        /* The size of an entry is a constant of the kernel's: that of the first answer. */
        if (arrays[i].entry)
            memcpy((uint8_t *)info + arrays[i].entry, (const uint8_t *)&kernel.programs[0] + arrays[i].entry, 4);
        if (address != 0)
            memset((void *)(uintptr_t)address, FILLED, count * entry_bytes(info, &arrays[i]));
    }
}

static void answer_types(const struct bpf_btf_info *answer, struct bpf_btf_info *info)
{
    uint64_t address = info->btf, bytes = weir_min_u64(info->btf_size, answer->btf_size);
    *info = *answer;
    info->btf = address;
    if (address != 0)
        memset((void *)(uintptr_t)address, FILLED, bytes);
}

static int play_bpf(enum bpf_cmd command, union bpf_attr *attr)
{
    unsigned number = (unsigned)weir_min_u64(kernel.asked, ANSWERS - 1);
    switch (command) {
    case BPF_PROG_GET_FD_BY_ID:
    case BPF_BTF_GET_FD_BY_ID:
        kernel.asked = 0;
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
    case BPF_OBJ_GET_INFO_BY_FD:
        kernel.asked++;
        if (kernel.is_btf)
            answer_types(&kernel.types[number], (struct bpf_btf_info *)(uintptr_t)attr->info.info);
        else
            answer_program(&kernel.programs[number], (struct bpf_prog_info *)(uintptr_t)attr->info.info);
        return 0;
    default:
        errno = EINVAL;
        return -1;
    }
}

/* Instead of the C library's; what is tested makes no other call of it. */
long syscall(long number, ...)
{
    if (number != SYS_bpf) {
        errno = ENOSYS;
        return -1;
    }
    va_list list;
    va_start(list, number);
    enum bpf_cmd command = (enum bpf_cmd)va_arg(list, int);
    union bpf_attr *attr = va_arg(list, union bpf_attr *);
    va_end(list);
    return play_bpf(command, attr);
}

static void check_program(const struct weir_bpf_image *image)
{
    uint32_t sizes[2];
    uint64_t present;
    struct bpf_prog_info info = {0};
    weir_assert(image->bytes >= HEAD_BYTES + INFO_BYTES);
    memcpy(sizes, image->data, sizeof(sizes));
    memcpy(&present, image->data + sizeof(sizes), sizeof(present));
    memcpy(&info, image->data + HEAD_BYTES, INFO_BYTES);
    weir_assert(sizes[0] == INFO_BYTES && image->bytes == HEAD_BYTES + INFO_BYTES + sizes[1]);
    weir_assert(image->id == info.id && image->btf_id == info.btf_id);
    weir_assert(info.xlated_prog_insns == 0 && info.map_ids == 0);

    const uint8_t *data = image->data + HEAD_BYTES + INFO_BYTES;
    uint64_t end = 0, known = 0;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(arrays); i++) {
        uint64_t offset = u64_at(&info, arrays[i].address);
        uint64_t bytes = u32_at(&info, arrays[i].count) * entry_bytes(&info, &arrays[i]);
        known |= 1ull << arrays[i].bit;
        if (!(present & 1ull << arrays[i].bit)) {
            weir_assert(offset == 0);
            continue;
        }
        weir_assert(offset >= end && offset % sizeof(uint64_t) == 0 && offset + bytes <= sizes[1]);
        for (uint64_t at = offset; at < offset + bytes; at++)
            weir_assert(data[at] == FILLED);
        end = offset + bytes;
    }
    weir_assert((present & ~known) == 0);
}

static void check_types(const struct weir_bpf_image *image)
{
    uint32_t head[2];
    memcpy(head, image->data, sizeof(head));
    weir_assert(image->bytes == sizeof(head) + head[1] && image->id == head[0]);
    for (uint32_t i = 0; i < head[1]; i++)
        weir_assert(image->data[sizeof(head) + i] == FILLED);
}

static bool is_expected(int result)
{
    return result == 0 || result == -EFBIG || result == -EAGAIN || result == -ENOMEM;
}

/* As much of the input as there is. */
static void take(void *answers, size_t answers_bytes, const uint8_t *data, size_t bytes)
{
    memset(answers, 0, answers_bytes);
    if (bytes > 0)
        memcpy(answers, data, weir_min_u64(bytes, answers_bytes));
}

static void run(void *fixture, const uint8_t *data, size_t bytes)
{
    (void)fixture;
    struct weir_bpf_image *image = NULL;
    take(kernel.programs, sizeof(kernel.programs), data, bytes);
    kernel.is_btf = false;
    int result = weir_bpf_read_program(1, &image);
    weir_assert(is_expected(result) && (image != NULL) == (result == 0));
    if (image)
        check_program(image);
    free(image);

    image = NULL;
    take(kernel.types, sizeof(kernel.types), data, bytes);
    kernel.is_btf = true;
    result = weir_bpf_read_btf(1, &image);
    weir_assert(is_expected(result) && (image != NULL) == (result == 0));
    if (image)
        check_types(image);
    free(image);
}

const struct fuzz_target fuzz_target = {.run = run};
