/*
 * Finds build ids in the tables of an ELF file (elf_file.h), and among bare notes, as the kernel shows its own and its
 * modules'. Any thread.
 *
 * Source: elf(5); read_build_id() in tools/perf/util/symbol-elf.c of Linux 6.12 for the places to search.
 */
#include "format/build_id.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/read_whole.h"
#include "format/elf_file.h"

#define NOTES_BYTES_MAX (64u * 1024) /* of one segment: build ids stand at the front of far less */
#define NOTES_BYTES_ALL (4u << 20)   /* of a file, which may have as many segments as it likes */
#define SYS_ROOT        "/sys"

/* ---- notes ---- */

bool weir_build_id_is_same(const struct weir_build_id *a, const struct weir_build_id *b)
{
    return a->bytes == b->bytes && memcmp(a->data, b->data, a->bytes) == 0;
}

int weir_build_id_of_notes(const void *notes, size_t bytes, size_t align, struct weir_build_id *id)
{
    const uint8_t *at = notes;
    while (bytes >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr note; /* the same in 32-bit files */
        memcpy(&note, at, sizeof(note));
        uint64_t name_end = sizeof(note) + (uint64_t)note.n_namesz;
        uint64_t data_begin = weir_align_up(name_end, align);
        uint64_t data_end = data_begin + note.n_descsz;
        if (data_end > bytes)
            return -ENODATA;
        bool is_gnu = note.n_namesz == sizeof(ELF_NOTE_GNU) && memcmp(at + sizeof(note), ELF_NOTE_GNU, 4) == 0;
        if (is_gnu && note.n_type == NT_GNU_BUILD_ID && note.n_descsz > 0) {
            *id = (struct weir_build_id){.bytes = (uint8_t)weir_min_u64(note.n_descsz, WEIR_BUILD_ID_MAX_BYTES)};
            memcpy(id->data, at + data_begin, id->bytes);
            return 0;
        }
        uint64_t next = weir_align_up(data_end, align);
        if (next >= bytes)
            return -ENODATA;
        at += next;
        bytes -= next;
    }
    return -ENODATA;
}

/* ---- ELF files ---- */

struct notes_of_file {
    struct weir_elf_head head;
    uint64_t left; /* bytes that may still be looked through */
};

static int read_notes(struct notes_of_file *file, const struct weir_elf_entry *entry, struct weir_build_id *id)
{
    uint8_t notes[NOTES_BYTES_MAX];
    if (entry->bytes == 0 || entry->bytes > sizeof(notes) || entry->bytes > file->left)
        return -ENODATA;
    file->left -= entry->bytes;
    if (!weir_read_exactly_at(file->head.fd, notes, entry->bytes, entry->offset))
        return -ENODATA;
    return weir_build_id_of_notes(notes, entry->bytes, entry->align == 8 ? 8 : 4, id);
}

/* Files that are not linked yet, such as modules, have sections only. */
int weir_build_id_of_file(int fd, struct weir_build_id *id)
{
    struct notes_of_file file = {.left = NOTES_BYTES_ALL};
    struct weir_elf_entry entry;
    int result = weir_elf_head_read(&file.head, fd);
    if (result < 0)
        return result;
    for (uint64_t i = 0; weir_elf_segment(&file.head, i, &entry); i++) {
        if (entry.type == PT_NOTE && read_notes(&file, &entry, id) == 0)
            return 0;
    }
    for (uint64_t i = 0; weir_elf_section(&file.head, i, &entry); i++) {
        if (entry.type == SHT_NOTE && read_notes(&file, &entry, id) == 0)
            return 0;
    }
    return -ENODATA;
}

/* ---- the kernel's ---- */

static int read_notes_file(int dir_fd, const char *path, struct weir_build_id *id)
{
    int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -errno;
    uint8_t notes[4096];
    ssize_t got = weir_read_whole(fd, notes, sizeof(notes));
    close(fd);
    return got < 0 ? (int)got : weir_build_id_of_notes(notes, (size_t)got, 4, id);
}

int weir_build_id_of_kernel(const char *sys_root, struct weir_build_id *id)
{
    char path[4096];
    if ((size_t)snprintf(path, sizeof(path), "%s/kernel/notes", sys_root ? sys_root : SYS_ROOT) >= sizeof(path))
        return -ENAMETOOLONG;
    return read_notes_file(AT_FDCWD, path, id);
}

int weir_build_id_of_module(const char *sys_root, const char *name, struct weir_build_id *id)
{
    char path[4096];
    int length = snprintf(path, sizeof(path), "%s/module/%s/notes", sys_root ? sys_root : SYS_ROOT, name);
    if ((size_t)length >= sizeof(path) || strchr(name, '/'))
        return -ENAMETOOLONG;
    DIR *dir = opendir(path);
    if (!dir)
        return -errno;
    /* One file per section of notes; which one has it depends on the linker. */
    int result = -ENODATA;
    const struct dirent *entry;
    while (result < 0 && (entry = readdir(dir))) {
        if (entry->d_name[0] != '.' || strncmp(entry->d_name, ".note", 5) == 0)
            result = read_notes_file(dirfd(dir), entry->d_name, id) == 0 ? 0 : -ENODATA;
    }
    closedir(dir);
    return result;
}

int weir_build_id_of_vdso(struct weir_build_id *id)
{
    const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR); // NOLINT(performance-no-int-to-ptr)
    Elf64_Ehdr header;
    if (!image)
        return -ENODATA;
    memcpy(&header, image, sizeof(header));
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(Elf64_Phdr))
        return -ENODATA;
    for (unsigned i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment;
        memcpy(&segment, image + header.e_phoff + i * sizeof(segment), sizeof(segment));
        size_t align = segment.p_align == 8 ? 8 : 4;
        if (segment.p_type == PT_NOTE &&
            weir_build_id_of_notes(image + segment.p_offset, segment.p_filesz, align, id) == 0)
            return 0;
    }
    return -ENODATA;
}
