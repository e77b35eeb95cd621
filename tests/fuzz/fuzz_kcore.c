/*
 * The kernel's code, found and copied (format/kcore_ranges.h, format/kcore.h). Input: kallsyms, modules and kcore of
 * some /proc, with separators in between.
 *
 * It ends, with an error that is one line or with a copy of segments that begin where the symbols say that code does,
 * lie one behind the other in the copy, and hold what kcore has there.
 */
#include "format/kcore.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bits.h"
#include "format/kcore_ranges.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/tree.h"

#define PAGE_BYTES 4096u

enum {
    KALLSYMS,
    MODULES,
    KCORE,
    FILES
};

static const char *const names[FILES] = {"kallsyms", "modules", "kcore"};

struct fixture {
    struct fuzz_tree proc, copies;
    int folder_fd; /* of the copies */
};

static void *init(void)
{
    struct fixture *fixture = malloc(sizeof(*fixture));
    weir_assert(fixture && sysconf(_SC_PAGESIZE) == PAGE_BYTES && elf_version(EV_CURRENT) != EV_NONE);
    fuzz_tree_init(&fixture->proc);
    fuzz_tree_init(&fixture->copies);
    fuzz_tree_create_all(&fixture->proc, names, FILES);
    fixture->folder_fd = open(fixture->copies.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    weir_assert(fixture->folder_fd >= 0);
    return fixture;
}

static void fini(void *object)
{
    struct fixture *fixture = object;
    close(fixture->folder_fd);
    fuzz_tree_fini(&fixture->copies);
    fuzz_tree_fini(&fixture->proc);
    free(fixture);
}

/* Line by line, as far as a line reader takes them for such. */
static void note_lines(struct weir_kcore_symbols *symbols, struct fuzz_part part,
                       void (*note)(struct weir_kcore_symbols *symbols, const char *line))
{
    while (part.bytes > 0) {
        const uint8_t *end = memchr(part.data, '\n', part.bytes);
        size_t bytes = end ? (size_t)(end - part.data) : part.bytes;
        char *line = fuzz_part_text((struct fuzz_part){.data = part.data, .bytes = bytes});
        note(symbols, line);
        free(line);
        part.data += bytes + (end != NULL);
        part.bytes -= bytes + (end != NULL);
    }
}

static unsigned check_ranges(const struct fuzz_part *parts, struct weir_kcore_range *ranges)
{
    struct weir_kcore_symbols symbols = {0};
    note_lines(&symbols, parts[KALLSYMS], weir_kcore_note_symbol);
    note_lines(&symbols, parts[MODULES], weir_kcore_note_module);
    weir_assert(symbols.first <= symbols.last && symbols.first_module <= symbols.last_module);
    unsigned count = weir_kcore_ranges(&symbols, PAGE_BYTES, ranges);
    weir_assert(count <= WEIR_KCORE_RANGES_MAX);
    for (unsigned i = 0; i < count; i++) {
        weir_assert(ranges[i].start > 0 && ranges[i].start < ranges[i].end);
        weir_assert(ranges[i].start % PAGE_BYTES == 0 && ranges[i].end % PAGE_BYTES == 0);
    }
    return count;
}

/* Whether the segment of the copy is what some header of the source has at that address. */
static bool is_in_source(Elf *source, struct fuzz_part kcore, const GElf_Phdr *segment, const uint8_t *copied)
{
    size_t count = 0;
    elf_getphdrnum(source, &count);
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        if (!gelf_getphdr(source, (int)i, &header) || header.p_type != PT_LOAD || !(header.p_flags & PF_X) ||
            segment->p_vaddr < header.p_vaddr)
            continue;
        uint64_t before = segment->p_vaddr - header.p_vaddr, at = header.p_offset + before;
        if (before < header.p_filesz && segment->p_filesz <= header.p_filesz - before && at <= kcore.bytes &&
            segment->p_filesz <= kcore.bytes - at && memcmp(kcore.data + at, copied, segment->p_filesz) == 0)
            return true;
    }
    return false;
}

static void check_copy(const struct fixture *fixture, struct fuzz_part kcore, const struct weir_kcore_range *ranges,
                       unsigned range_count, const struct weir_kcore_copied *copied)
{
    int fd = openat(fixture->folder_fd, "kcore", O_RDONLY | O_CLOEXEC);
    struct stat st;
    weir_assert(fd >= 0 && fstat(fd, &st) == 0);
    Elf *copy = elf_begin(fd, ELF_C_READ, NULL), *source = elf_begin(fixture->proc.fds[KCORE], ELF_C_READ, NULL);
    size_t count = 0;
    weir_assert(copy && source && elf_getphdrnum(copy, &count) == 0 && count == copied->segments);
    uint64_t sum = 0, end = 0;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr segment;
        weir_assert(gelf_getphdr(copy, (int)i, &segment));
        bool starts = false;
        for (unsigned r = 0; r < range_count; r++)
            starts |= ranges[r].start == segment.p_vaddr && segment.p_filesz <= ranges[r].end - ranges[r].start;
        weir_assert(starts && (end == 0 ? segment.p_offset % PAGE_BYTES == 0 : segment.p_offset == end));
        uint8_t *bytes = malloc(segment.p_filesz + 1);
        weir_assert(bytes && pread(fd, bytes, segment.p_filesz, (off_t)segment.p_offset) == (ssize_t)segment.p_filesz);
        weir_assert(is_in_source(source, kcore, &segment, bytes));
        free(bytes);
        sum += segment.p_filesz;
        end = segment.p_offset + segment.p_filesz;
    }
    weir_assert(sum == copied->bytes && (uint64_t)st.st_size == end);
    elf_end(source);
    elf_end(copy);
    close(fd);
}

static void run(void *object, const uint8_t *data, size_t bytes)
{
    const struct fixture *fixture = object;
    struct fuzz_part parts[FILES];
    fuzz_split(data, bytes, FUZZ_SEPARATOR, parts, FILES);
    for (unsigned i = 0; i < FILES; i++)
        fuzz_file_write(fixture->proc.fds[i], parts[i]);
    struct weir_kcore_range ranges[WEIR_KCORE_RANGES_MAX];
    unsigned range_count = check_ranges(parts, ranges);

    struct weir_kcore kcore;
    struct weir_kcore_copied copied;
    struct weir_error err = {0};
    int result = weir_kcore_open(&kcore, fixture->proc.root, &err);
    if (result == 0)
        result = weir_kcore_copy(&kcore, fixture->folder_fd, &copied, &err);
    if (result == 0)
        check_copy(fixture, parts[KCORE], ranges, range_count, &copied);
    else
        fuzz_check_error(&err, result);
    weir_kcore_close(&kcore);
}

const struct fuzz_target fuzz_target = {.init = init, .run = run, .fini = fini};
