/*
 * Copies /proc/kcore, kallsyms and modules. Coordinator thread.
 *
 *     kallsyms ─┬─ copied, and searched for the ranges of code
 *     modules ──┘
 *     kcore ────── program headers x ranges = segments; a head that lists them, then their bytes
 *     kallsyms ─── read again and compared with the copy; if they differ, everything is copied once more
 */
#include "format/kcore.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/remedy.h"
#include "base/write_whole.h"
#include "format/kcore_ranges.h"
#include "format/line_source.h"

#define FILE_MODE    0400
#define TRIES        3
#define BLOCK_BYTES  (64u << 10)    /* whole pages of any size that kernels have */
#define LINE_BYTES   (4 * PATH_MAX) /* symbols have at most 512 bytes */
#define SEGMENTS_MAX 64u
#define HEADERS_MAX  65536u

struct copying {
    const struct weir_kcore *kcore; /* borrowed */
    int folder_fd;                  /* borrowed */
    uint64_t page_bytes;
    struct weir_kcore_symbols symbols;
    Elf *elf; /* owned; of kcore */
    GElf_Ehdr header;
    struct weir_kcore_segment segments[SEGMENTS_MAX];
    unsigned segment_count;
};

/* ---- the source ---- */

static int explain_open(const struct weir_kcore *kcore, int code, struct weir_error *err)
{
    weir_error_set_errno(err, code, "cannot read %s/kcore", kcore->proc_root);
    weir_error_hint(err, "--kcore needs root (CAP_SYS_RAWIO), a kernel with CONFIG_PROC_KCORE and without lockdown; "
                         "leave it out: the kernel's code is then read from its own file");
    return code;
}

int weir_kcore_open(struct weir_kcore *kcore, const char *proc_root, struct weir_error *err)
{
    char path[PATH_MAX];
    *kcore = (struct weir_kcore){.proc_root = proc_root ? proc_root : "/proc", .fd = -1};
    if (snprintf(path, sizeof(path), "%s/kcore", kcore->proc_root) >= (int)sizeof(path))
        return weir_error_set(err, -ENAMETOOLONG, "the name of %s/kcore is too long", kcore->proc_root);
    kcore->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (kcore->fd < 0)
        return explain_open(kcore, -errno, err);
    char magic[SELFMAG];
    ssize_t got = pread(kcore->fd, magic, sizeof(magic), 0);
    if (got < 0)
        return explain_open(kcore, -errno, err);
    if (got < SELFMAG || memcmp(magic, ELFMAG, SELFMAG) != 0)
        return weir_error_set(err, -ENOEXEC, "%s is not an ELF file", path);
    return 0;
}

void weir_kcore_close(struct weir_kcore *kcore)
{
    if (kcore->proc_root && kcore->fd >= 0)
        close(kcore->fd);
    *kcore = (struct weir_kcore){0};
}

/* ---- files ---- */

static int open_source(const struct copying *copying, const char *name)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/%s", copying->kcore->proc_root, name) >= (int)sizeof(path))
        return -ENAMETOOLONG;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static int make_file(const struct copying *copying, const char *name)
{
    unlinkat(copying->folder_fd, name, 0); /* of the try before */
    int fd = openat(copying->folder_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
    return fd < 0 ? -errno : fd;
}

/* As much as there is, up to bytes; a file of proc gives less than was asked for at any place. */
static ssize_t read_some(int fd, char *data, size_t bytes)
{
    ssize_t got;
    do
        got = read(fd, data, bytes);
    while (got < 0 && errno == EINTR);
    return got < 0 ? -errno : got;
}

/* ---- kallsyms and modules ---- */

static int copy_text(int from, int to)
{
    char block[BLOCK_BYTES];
    for (;;) {
        ssize_t got = read_some(from, block, sizeof(block));
        if (got <= 0)
            return (int)got;
        int result = weir_write_whole(to, block, (size_t)got);
        if (result < 0)
            return result;
    }
}

static int note_lines(struct weir_kcore_symbols *symbols, int fd,
                      void (*note)(struct weir_kcore_symbols *symbols, const char *line))
{
    char text[LINE_BYTES];
    struct weir_line_source lines;
    if (lseek(fd, 0, SEEK_SET) < 0)
        return -errno;
    weir_line_source_init(&lines, fd, text, sizeof(text));
    const char *line;
    while ((line = weir_line_source_next(&lines)))
        note(symbols, line);
    return lines.error;
}

/* Copies the file, and notes the facts in its lines. */
static int take_text(struct copying *copying, const char *name, bool is_needed,
                     void (*note)(struct weir_kcore_symbols *symbols, const char *line), struct weir_error *err)
{
    int from = open_source(copying, name), to = -1, result = from;
    if (from >= 0 || (from == -ENOENT && !is_needed))
        result = to = make_file(copying, name);
    if (to >= 0)
        result = from < 0 ? 0 : copy_text(from, to);
    if (result == 0)
        result = note_lines(&copying->symbols, to, note);
    if (from >= 0)
        close(from);
    if (to >= 0)
        close(to);
    return result < 0 ? weir_error_set_errno(err, result, "cannot copy %s/%s into the recording",
                                             copying->kcore->proc_root, name)
                      : 0;
}

/* 1: its copy is what it is now. */
static int is_unchanged(const struct copying *copying, const char *name)
{
    char now[BLOCK_BYTES], then[BLOCK_BYTES];
    int source = open_source(copying, name);
    int copy = source < 0 ? -1 : openat(copying->folder_fd, name, O_RDONLY | O_CLOEXEC);
    int result = source < 0 ? source : copy < 0 ? -errno : 1;
    uint64_t at = 0;
    while (result == 1) {
        ssize_t got = read_some(source, now, sizeof(now));
        ssize_t had = got < 0 ? 0 : pread(copy, then, got > 0 ? (size_t)got : 1, (off_t)at);
        if (got < 0)
            result = (int)got;
        else if (had != got || memcmp(now, then, (size_t)got) != 0)
            result = 0;
        else if (got == 0)
            break;
        at += got > 0 ? (uint64_t)got : 0;
    }
    if (copy >= 0)
        close(copy);
    if (source >= 0)
        close(source);
    return result;
}

/* ---- kcore ---- */

/* The headers of kcore, in their order, and in each the ranges in theirs. */
static int find_segments(struct copying *copying, struct weir_error *err)
{
    struct weir_kcore_range ranges[WEIR_KCORE_RANGES_MAX];
    unsigned range_count = weir_kcore_ranges(&copying->symbols, copying->page_bytes, ranges);
    if (range_count == 0) {
        weir_error_set(err, -EACCES, "the kernel hides its addresses: cannot find the code in %s/kcore",
                       copying->kcore->proc_root);
        weir_error_hint(err, "record as root, or %s",
                        weir_remedy(WEIR_REMEDY_KPTR_RESTRICT, 0, (char[WEIR_REMEDY_BYTES]){0}));
        return -EACCES;
    }
    size_t header_count = 0;
    elf_getphdrnum(copying->elf, &header_count);
    copying->segment_count = 0;
    for (size_t i = 0; i < header_count && i < HEADERS_MAX; i++) {
        GElf_Phdr header;
        for (unsigned range = 0; range < range_count && gelf_getphdr(copying->elf, (int)i, &header); range++) {
            if (copying->segment_count < SEGMENTS_MAX &&
                weir_kcore_segment_of(&header, &ranges[range], &copying->segments[copying->segment_count]))
                copying->segment_count++;
        }
    }
    if (copying->segment_count > 0)
        return 0;
    return weir_error_set(err, -ENODATA, "%s/kcore does not hold the kernel's code", copying->kcore->proc_root);
}

static bool fill_header(Elf *elf, const struct copying *copying)
{
    const GElf_Ehdr *source = &copying->header;
    int class = source->e_ident[EI_CLASS];
    if (!gelf_newehdr(elf, class) || !gelf_newphdr(elf, copying->segment_count))
        return false;
    GElf_Ehdr header;
    if (!gelf_getehdr(elf, &header))
        return false;
    header.e_ident[EI_DATA] = source->e_ident[EI_DATA];
    header.e_ident[EI_OSABI] = source->e_ident[EI_OSABI];
    header.e_type = source->e_type;
    header.e_machine = source->e_machine;
    header.e_version = source->e_version;
    header.e_flags = source->e_flags;
    return gelf_update_ehdr(elf, &header) != 0;
}

/* Where the bytes of the first segment go: behind ELF and program headers, on a page. */
static uint64_t data_offset(Elf *elf, const struct copying *copying)
{
    return weir_align_up(gelf_fsize(elf, ELF_T_EHDR, 1, EV_CURRENT) +
                             gelf_fsize(elf, ELF_T_PHDR, copying->segment_count, EV_CURRENT),
                         copying->page_bytes);
}

/* ELF head and program headers. 0 or -EIO. *offset: where the bytes of the segments begin. */
static int write_head(int fd, const struct copying *copying, uint64_t *offset)
{
    Elf *elf = elf_begin(fd, ELF_C_WRITE, NULL);
    bool done = elf && fill_header(elf, copying);
    *offset = done ? data_offset(elf, copying) : 0;
    uint64_t at = *offset;
    for (unsigned i = 0; done && i < copying->segment_count; i++) {
        GElf_Phdr header = {
            .p_type = PT_LOAD,
            .p_flags = PF_R | PF_W | PF_X,
            .p_offset = at,
            .p_vaddr = copying->segments[i].address,
            .p_filesz = copying->segments[i].bytes,
            .p_memsz = copying->segments[i].bytes,
            .p_align = copying->page_bytes,
        };
        done = gelf_update_phdr(elf, (int)i, &header) != 0;
        at += copying->segments[i].bytes;
    }
    done = done && elf_update(elf, ELF_C_WRITE) > 0;
    elf_end(elf);
    return done ? 0 : -EIO;
}

static int copy_segment(const struct copying *copying, const struct weir_kcore_segment *segment, int to, uint64_t at)
{
    char block[BLOCK_BYTES];
    for (uint64_t done = 0; done < segment->bytes;) {
        size_t wanted = weir_min_u64(sizeof(block), segment->bytes - done);
        ssize_t got = pread(copying->kcore->fd, block, wanted, (off_t)(segment->offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -errno : -ENODATA;
        for (size_t page = 0; page < (size_t)got; page += copying->page_bytes) {
            size_t bytes = weir_min_u64(copying->page_bytes, (size_t)got - page);
            int result =
                weir_is_zero(block + page, bytes) ? 0 : weir_write_whole_at(to, block + page, bytes, at + done + page);
            if (result < 0)
                return result;
        }
        done += (uint64_t)got;
    }
    return 0;
}

static int write_kcore(const struct copying *copying, struct weir_error *err)
{
    uint64_t at;
    int to = make_file(copying, "kcore"), result = to;
    if (to >= 0)
        result = write_head(to, copying, &at);
    for (unsigned i = 0; result == 0 && i < copying->segment_count; i++) {
        result = copy_segment(copying, &copying->segments[i], to, at);
        at += copying->segments[i].bytes;
    }
    if (result == 0 && ftruncate(to, (off_t)at) < 0) /* it may end in a hole */
        result = -errno;
    if (to >= 0)
        close(to);
    return result < 0
               ? weir_error_set_errno(err, result, "cannot copy %s/kcore into the recording", copying->kcore->proc_root)
               : 0;
}

static int copy_once(struct copying *copying, struct weir_error *err)
{
    copying->symbols = (struct weir_kcore_symbols){0};
    int result = take_text(copying, "kallsyms", true, weir_kcore_note_symbol, err);
    if (result == 0)
        result = take_text(copying, "modules", false, weir_kcore_note_module, err);
    if (result == 0)
        result = find_segments(copying, err);
    return result < 0 ? result : write_kcore(copying, err);
}

static int copy_until_unchanged(struct copying *copying, struct weir_kcore_copied *copied, struct weir_error *err)
{
    *copied = (struct weir_kcore_copied){.changed = true};
    for (unsigned tries = 0; copied->changed && tries < TRIES; tries++) {
        int result = copy_once(copying, err);
        if (result < 0)
            return result;
        copied->changed = is_unchanged(copying, "kallsyms") != 1;
    }
    copied->segments = copying->segment_count;
    for (unsigned i = 0; i < copying->segment_count; i++)
        copied->bytes += copying->segments[i].bytes;
    return 0;
}

int weir_kcore_copy(const struct weir_kcore *kcore, int folder_fd, struct weir_kcore_copied *copied,
                    struct weir_error *err)
{
    struct copying copying = {.kcore = kcore, .folder_fd = folder_fd, .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE)};
    if (elf_version(EV_CURRENT) != EV_NONE)
        copying.elf = elf_begin(kcore->fd, ELF_C_READ, NULL);
    int result = copying.elf && gelf_getehdr(copying.elf, &copying.header)
                     ? copy_until_unchanged(&copying, copied, err)
                     : weir_error_set(err, -ENOEXEC, "%s/kcore is not an ELF file", kcore->proc_root);
    elf_end(copying.elf);
    return result;
}
