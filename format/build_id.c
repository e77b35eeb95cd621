/*
 * Finding build ids. libelf walks the tables of the file; the notes themselves are walked here, because those of the
 * kernel and its modules come without a file around them.
 *
 * Source: elf(5); which places are looked at: read_build_id() in tools/perf/util/symbol-elf.c of Linux 6.12. Any
 * thread.
 */
#include "format/build_id.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/bits.h"

#define NOTES_BYTES_MAX (64u * 1024) /* of one segment or file: build ids stand at the front of far less */
#define SECTIONS_MAX    65536u
#define SYS_ROOT        "/sys"

/* ---- notes ---- */

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

static int read_chunk(Elf *elf, uint64_t offset, uint64_t bytes, uint64_t align, struct weir_build_id *id)
{
    if (bytes == 0 || bytes > NOTES_BYTES_MAX || offset > INT64_MAX)
        return -ENODATA;
    /* libelf checks the range against the file's size, and keeps what it gives until elf_end(). */
    const Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)offset, bytes, ELF_T_BYTE);
    return data && data->d_buf ? weir_build_id_of_notes(data->d_buf, data->d_size, align == 8 ? 8 : 4, id) : -ENODATA;
}

static int read_segments(Elf *elf, struct weir_build_id *id)
{
    size_t count;
    if (elf_getphdrnum(elf, &count) < 0)
        return -ENODATA;
    for (size_t i = 0; i < count && i <= UINT16_MAX; i++) {
        GElf_Phdr header;
        if (!gelf_getphdr(elf, (int)i, &header))
            return -ENODATA;
        if (header.p_type == PT_NOTE && read_chunk(elf, header.p_offset, header.p_filesz, header.p_align, id) == 0)
            return 0;
    }
    return -ENODATA;
}

/* Files that are not linked yet, such as modules, have no segments. */
static int read_sections(Elf *elf, struct weir_build_id *id)
{
    Elf_Scn *section = NULL;
    for (unsigned i = 0; i < SECTIONS_MAX && (section = elf_nextscn(elf, section)); i++) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header))
            return -ENODATA;
        if (header.sh_type == SHT_NOTE &&
            read_chunk(elf, header.sh_offset, header.sh_size, header.sh_addralign, id) == 0)
            return 0;
    }
    return -ENODATA;
}

static int read_elf(Elf *elf, struct weir_build_id *id)
{
    if (!elf || elf_kind(elf) != ELF_K_ELF)
        return -ENODATA;
    return read_segments(elf, id) == 0 ? 0 : read_sections(elf, id);
}

int weir_build_id_of_file(int fd, struct weir_build_id *id)
{
    char magic[SELFMAG];
    ssize_t got = pread(fd, magic, sizeof(magic), 0);
    if (got < 0)
        return -errno;
    if (got < SELFMAG || memcmp(magic, ELFMAG, SELFMAG) != 0)
        return -ENODATA;
    if (elf_version(EV_CURRENT) == EV_NONE)
        return -ENODATA;
    /* Not mapped: a file that shrinks meanwhile would be a SIGBUS. */
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    int result = read_elf(elf, id);
    elf_end(elf);
    return result;
}

/* ---- the kernel's ---- */

static int read_notes_file(int dir_fd, const char *path, struct weir_build_id *id)
{
    int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -errno;
    uint8_t notes[4096];
    size_t used = 0;
    ssize_t got;
    while (used < sizeof(notes) && (got = read(fd, notes + used, sizeof(notes) - used)) > 0)
        used += (size_t)got;
    close(fd);
    return weir_build_id_of_notes(notes, used, 4, id);
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
