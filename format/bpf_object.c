/* BPF programs and types as images for the features. Any thread. */
#include "format/bpf_object.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bits.h"

#define INFO_BYTES  offsetof(struct bpf_prog_info, recursion_misses) /* Linux 5.1's ended here */
#define HEAD_BYTES  16u                                              /* of a program's image: u32, u32, u64 */
#define BTF_HEAD    8u
#define ARRAY_COUNT WEIR_ARRAY_COUNT(arrays)
#define TRIES       3 /* a program does not change, but for its counts between two calls */

_Static_assert(INFO_BYTES % sizeof(uint64_t) == 0 && INFO_BYTES == 208, "as perf 5.1 has it");

/* enum perf_bpil_array_types: the bit of an array, and where info has its address, its count, its entries' size. */
static const struct {
    unsigned bit;
    size_t address, count, entry; /* offsets in bpf_prog_info; entry 0: entry_bytes instead */
    size_t entry_bytes;
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

static uint32_t load_u32(const struct bpf_prog_info *info, size_t offset)
{
    uint32_t value;
    memcpy(&value, (const uint8_t *)info + offset, sizeof(value));
    return value;
}

static void store(struct bpf_prog_info *info, size_t offset, const void *value, size_t bytes)
{
    memcpy((uint8_t *)info + offset, value, bytes);
}

/* ---- bpf(2) ---- */

static int bpf(enum bpf_cmd command, union bpf_attr *attr)
{
    long result = syscall(SYS_bpf, command, attr, sizeof(*attr));
    return result < 0 ? -errno : (int)result;
}

int weir_bpf_next_program(uint32_t *id)
{
    union bpf_attr attr = {.start_id = *id};
    int result = bpf(BPF_PROG_GET_NEXT_ID, &attr);
    if (result == 0)
        *id = attr.next_id;
    return result;
}

int weir_bpf_open_program(uint32_t id)
{
    union bpf_attr attr = {.prog_id = id};
    return bpf(BPF_PROG_GET_FD_BY_ID, &attr);
}

static int info_of(int fd, void *info, uint32_t bytes)
{
    union bpf_attr attr = {.info = {.bpf_fd = (uint32_t)fd, .info_len = bytes, .info = (uintptr_t)info}};
    return bpf(BPF_OBJ_GET_INFO_BY_FD, &attr);
}

int weir_bpf_program_info(int fd, struct bpf_prog_info *info)
{
    return info_of(fd, info, sizeof(*info));
}

/* ---- programs ---- */

/* The bytes that an array takes of an image, with the padding behind it. */
static uint64_t array_bytes(const struct bpf_prog_info *info, size_t array)
{
    uint64_t entry = arrays[array].entry ? load_u32(info, arrays[array].entry) : arrays[array].entry_bytes;
    return weir_align_up(entry * load_u32(info, arrays[array].count), sizeof(uint64_t));
}

/* Of all arrays; more than WEIR_BPF_IMAGE_MAX_BYTES when one alone is longer than that, whose sum might wrap. */
static uint64_t all_array_bytes(const struct bpf_prog_info *info)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < ARRAY_COUNT; i++) {
        uint64_t more = array_bytes(info, i);
        if (more > WEIR_BPF_IMAGE_MAX_BYTES)
            return more;
        bytes += more;
    }
    return bytes;
}

/* Counts and addresses for the second call: the arrays that the first call has counted go to data. */
static void ask_for_arrays(struct bpf_prog_info *wanted, const struct bpf_prog_info *counted, uint8_t *data)
{
    *wanted = (struct bpf_prog_info){0};
    for (size_t i = 0; i < ARRAY_COUNT; i++) {
        uint32_t count = load_u32(counted, arrays[i].count);
        uint64_t address = count > 0 ? (uintptr_t)data : 0;
        store(wanted, arrays[i].count, &count, sizeof(count));
        store(wanted, arrays[i].address, &address, sizeof(address));
        if (arrays[i].entry) {
            uint32_t entry = load_u32(counted, arrays[i].entry);
            store(wanted, arrays[i].entry, &entry, sizeof(entry));
        }
        data += array_bytes(counted, i);
    }
}

/* Replaces addresses by offsets. Returns a bit for each array that the kernel has filled. The kernel hides arrays that
 * the caller may not see by a count or an address of 0. */
static uint64_t place_arrays(struct bpf_prog_info *info, const struct bpf_prog_info *counted)
{
    uint64_t present = 0, offset = 0;
    for (size_t i = 0; i < ARRAY_COUNT; i++) {
        uint64_t address;
        memcpy(&address, (const uint8_t *)info + arrays[i].address, sizeof(address));
        bool is_there = address != 0 && load_u32(info, arrays[i].count) > 0;
        uint64_t value = is_there ? offset : 0;
        store(info, arrays[i].address, &value, sizeof(value));
        present |= is_there ? 1ull << arrays[i].bit : 0;
        offset += array_bytes(counted, i);
    }
    /* What was not asked for: code before it was compiled, and maps. */
    info->xlated_prog_insns = 0;
    info->map_ids = 0;
    return present;
}

/* Whether the second call counts as the first one did: then all that was asked for fits. */
static bool counts_agree(const struct bpf_prog_info *a, const struct bpf_prog_info *b)
{
    for (size_t i = 0; i < ARRAY_COUNT; i++) {
        if (load_u32(a, arrays[i].count) != load_u32(b, arrays[i].count))
            return false;
    }
    return true;
}

static void write_head(struct weir_bpf_image *image, const struct bpf_prog_info *info, uint64_t present, size_t bytes)
{
    const uint32_t sizes[] = {(uint32_t)INFO_BYTES, (uint32_t)bytes};
    memcpy(image->data, sizes, sizeof(sizes));
    memcpy(image->data + sizeof(sizes), &present, sizeof(present));
    memcpy(image->data + HEAD_BYTES, info, INFO_BYTES);
}

/* 0, -EAGAIN when the program's counts are others by now. */
static int read_arrays(int fd, const struct bpf_prog_info *counted, struct weir_bpf_image **read)
{
    uint64_t bytes = all_array_bytes(counted);
    if (bytes > WEIR_BPF_IMAGE_MAX_BYTES)
        return -EFBIG;
    struct weir_bpf_image *image = calloc(1, sizeof(*image) + HEAD_BYTES + INFO_BYTES + bytes);
    if (!image)
        return -ENOMEM;
    struct bpf_prog_info info;
    ask_for_arrays(&info, counted, image->data + HEAD_BYTES + INFO_BYTES);
    int result = weir_bpf_program_info(fd, &info);
    if (result == 0 && !counts_agree(&info, counted))
        result = -EAGAIN;
    if (result < 0) {
        free(image);
        return result;
    }
    uint64_t present = place_arrays(&info, counted);
    image->id = info.id;
    image->btf_id = info.btf_id;
    image->bytes = (uint32_t)(HEAD_BYTES + INFO_BYTES + bytes);
    write_head(image, &info, present, bytes);
    *read = image;
    return 0;
}

int weir_bpf_read_program(uint32_t id, struct weir_bpf_image **image)
{
    int fd = weir_bpf_open_program(id), result = fd < 0 ? fd : -EAGAIN;
    for (unsigned tries = 0; result == -EAGAIN && tries < TRIES; tries++) {
        struct bpf_prog_info counted = {0};
        result = weir_bpf_program_info(fd, &counted);
        if (result == 0)
            result = read_arrays(fd, &counted, image);
    }
    if (fd >= 0)
        close(fd);
    return result;
}

/* ---- types ---- */

static int read_btf_data(int fd, struct weir_bpf_image **read)
{
    struct bpf_btf_info info = {0};
    int result = info_of(fd, &info, sizeof(info));
    if (result < 0 || info.btf_size > WEIR_BPF_IMAGE_MAX_BYTES)
        return result < 0 ? result : -EFBIG;
    struct weir_bpf_image *image = calloc(1, sizeof(*image) + BTF_HEAD + info.btf_size);
    if (!image)
        return -ENOMEM;
    uint32_t bytes = info.btf_size;
    info = (struct bpf_btf_info){.btf = (uintptr_t)(image->data + BTF_HEAD), .btf_size = bytes};
    result = info_of(fd, &info, sizeof(info));
    if (result == 0 && info.btf_size != bytes)
        result = -EAGAIN;
    if (result < 0) {
        free(image);
        return result;
    }
    const uint32_t head[] = {info.id, bytes};
    memcpy(image->data, head, sizeof(head));
    image->id = info.id;
    image->bytes = BTF_HEAD + bytes;
    *read = image;
    return 0;
}

int weir_bpf_read_btf(uint32_t id, struct weir_bpf_image **image)
{
    union bpf_attr attr = {.btf_id = id};
    int fd = bpf(BPF_BTF_GET_FD_BY_ID, &attr);
    int result = fd < 0 ? fd : read_btf_data(fd, image);
    if (fd >= 0)
        close(fd);
    return result;
}
