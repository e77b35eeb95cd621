/*
 * A stack, the tables of a file and the file itself, all made to harm (unwind/unwinder.h). Input: u32 bytes of the
 * file, 17 words of registers, the file (an ELF file with .eh_frame or .debug_frame), the stack.
 *
 * Whatever is in it: a chain has at most WEIR_UNWIND_FRAMES_MAX frames, none of which is a mark, the file is read once,
 * and a second run on what the first has put into the caches gives the same frames.
 */
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "tests/fuzz/fuzz.h"
#include "unwind/unwinder.h"

#define REGS 17u
#define MASK 0xff01ffu /* those of x86_64 that tables know */
#define BASE 0x555500000000u

/* The unwinder stays for all runs, as it is large; each run has another file. */
struct fixture {
    struct weir_unwinder unwinder;
    const uint8_t *data; /* of the present file */
    size_t bytes;
    uint64_t key;
    unsigned opened;
};

static int open_file(void *ctx, uint64_t key)
{
    struct fixture *file = ctx;
    weir_assert(key == file->key);
    file->opened++;
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    weir_assert(fd >= 0 && write(fd, file->data, file->bytes) == (ssize_t)file->bytes);
    return fd;
}

static bool find(void *ctx, uint64_t address, struct weir_unwind_mapping *mapping)
{
    const struct fixture *file = ctx;
    *mapping = (struct weir_unwind_mapping){.start = BASE, .has_file = true, .key = file->key};
    return address >= BASE;
}

static void *init(void)
{
    static struct fixture fixture;
    const struct weir_table_source files = {.open = open_file, .ctx = &fixture};
    const struct weir_unwind_machine *machine = weir_unwind_machine_find("x86_64");
    weir_assert(weir_unwinder_init(&fixture.unwinder, machine, &files, 1 << 20) == 0);
    return &fixture;
}

static void fini(void *object)
{
    struct fixture *fixture = object;
    weir_unwinder_fini(&fixture->unwinder);
}

static void run(void *object, const uint8_t *data, size_t bytes)
{
    struct fixture *fixture = object;
    uint32_t file_bytes;
    size_t head = sizeof(file_bytes) + REGS * sizeof(uint64_t);
    if (bytes < head)
        return;
    memcpy(&file_bytes, data, sizeof(file_bytes));
    fixture->data = data + head;
    fixture->bytes = weir_min_u64(file_bytes, bytes - head);
    fixture->opened = 0;
    fixture->key++;
    const struct weir_unwind_input input = {.regs_mask = MASK,
                                            .regs = data + sizeof(file_bytes),
                                            .reg_count = REGS,
                                            .stack = data + head + fixture->bytes,
                                            .stack_bytes = bytes - head - fixture->bytes};
    const struct weir_unwind_mappings mappings = {.find = find, .ctx = fixture};
    struct weir_unwind_chain chain, again;
    weir_unwinder_run(&fixture->unwinder, &input, &mappings, &chain);
    weir_unwinder_run(&fixture->unwinder, &input, &mappings, &again);
    weir_assert(chain.count <= WEIR_UNWIND_FRAMES_MAX && chain.end < WEIR_UNWIND_ENDS && fixture->opened <= 1);
    weir_assert(fixture->unwinder.tables.bytes <= fixture->unwinder.tables.max_bytes);
    for (unsigned i = 0; i < chain.count; i++)
        weir_assert(chain.frames[i] < (uint64_t)PERF_CONTEXT_MAX);
    weir_assert(again.count == chain.count && again.end == chain.end);
    weir_assert(memcmp(again.frames, chain.frames, chain.count * sizeof(chain.frames[0])) == 0);
}

const struct fuzz_target fuzz_target = {.init = init, .run = run, .fini = fini};
