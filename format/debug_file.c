/*
 * Finds the debug file of a program. The checksum of .gnu_debuglink is the CRC-32 of ITU-T V.42, least significant bit
 * first.
 */
#include "format/debug_file.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/regular_file.h"
#include "format/build_id.h"
#include "format/elf_file.h"

#define DEBUG_ROOT     "/usr/lib/debug"
#define CRC_POLYNOMIAL 0xedb88320u
#define READ_BYTES     65536

struct debug_link {
    char name[NAME_MAX + 1]; /* "": there is none */
    uint32_t crc;
};

struct search {
    struct weir_build_id id; /* of the file; none: bytes is 0 */
    struct debug_link link;
    dev_t device; /* of the file, which is not its own debug file */
    ino_t inode;
};

/* ---- .gnu_debuglink ---- */

static Elf_Data *find_data(Elf *elf, const char *name)
{
    size_t names;
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    if (elf_getshdrstrndx(elf, &names) < 0)
        return NULL;
    while ((section = elf_nextscn(elf, section))) {
        const char *found = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (found && strcmp(found, name) == 0)
            return header.sh_type == SHT_NOBITS ? NULL : elf_rawdata(section, NULL);
    }
    return NULL;
}

static bool is_file_name(const char *name)
{
    return name[0] && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* A name, zeros up to a multiple of four, the checksum. */
static void read_link(int fd, struct debug_link *link)
{
    *link = (struct debug_link){.name = ""};
    Elf *elf = weir_elf_begin(fd);
    const Elf_Data *data = elf ? find_data(elf, ".gnu_debuglink") : NULL;
    size_t length = data && data->d_buf ? strnlen(data->d_buf, data->d_size) : 0;
    size_t crc_at = weir_align_up(length + 1, sizeof(link->crc));
    if (length > 0 && length <= NAME_MAX && crc_at + sizeof(link->crc) <= data->d_size) {
        memcpy(link->name, data->d_buf, length + 1);
        memcpy(&link->crc, (const char *)data->d_buf + crc_at, sizeof(link->crc));
        if (!is_file_name(link->name))
            link->name[0] = '\0';
    }
    elf_end(elf);
}

/* ---- candidates ---- */

static void fill_table(uint32_t table[256])
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t value = byte;
        for (unsigned bit = 0; bit < 8; bit++)
            value = value >> 1 ^ (value & 1 ? CRC_POLYNOMIAL : 0);
        table[byte] = value;
    }
}

static bool has_crc(int fd, uint32_t wanted)
{
    uint32_t table[256], crc = UINT32_MAX;
    uint8_t bytes[READ_BYTES];
    fill_table(table);
    ssize_t got;
    for (off_t at = 0; (got = pread(fd, bytes, sizeof(bytes), at)) > 0; at += got) {
        for (ssize_t i = 0; i < got; i++)
            crc = table[(crc ^ bytes[i]) & 0xff] ^ crc >> 8;
    }
    return got == 0 && ~crc == wanted;
}

static bool is_of(const struct search *search, int fd, const struct stat *status)
{
    struct weir_build_id id;
    if (status->st_dev == search->device && status->st_ino == search->inode)
        return false;
    if (search->id.bytes == 0)
        return search->link.name[0] && has_crc(fd, search->link.crc);
    return weir_build_id_of_file(fd, &id) == 0 && id.bytes == search->id.bytes &&
           memcmp(id.data, search->id.data, id.bytes) == 0;
}

__attribute__((format(printf, 2, 3))) static int try(const struct search *search, const char *format, ...)
{
    char path[2 * PATH_MAX];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(path, sizeof(path), format, args);
    va_end(args);
    struct stat status;
    int fd = length < (int)sizeof(path) ? weir_regular_file_open(AT_FDCWD, path, &status) : -ENAMETOOLONG;
    if (fd >= 0 && !is_of(search, fd, &status)) {
        close(fd);
        fd = -ENOENT;
    }
    return fd;
}

static int try_build_id(const struct search *search, const char *root)
{
    char hex[2 * WEIR_BUILD_ID_MAX_BYTES + 1] = "";
    for (unsigned i = 0; i < search->id.bytes; i++)
        snprintf(hex + 2 * i, 3, "%02x", search->id.data[i]);
    return search->id.bytes > 1 ? try(search, "%s/.build-id/%.2s/%s.debug", root, hex, hex + 2) : -1;
}

static int try_link(const struct search *search, const char *path, const char *root)
{
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) : 0;
    const char *name = search->link.name;
    if (!slash || !name[0])
        return -1;
    int fd = try(search, "%.*s/%s", folder, path, name);
    if (fd < 0)
        fd = try(search, "%.*s/.debug/%s", folder, path, name);
    if (fd < 0)
        fd = try(search, "%s%.*s/%s", root, folder, path, name);
    return fd;
}

int weir_debug_file_open(int fd, const char *path, const char *root)
{
    struct search search = {.id = {0}};
    struct stat status;
    if (fstat(fd, &status) < 0)
        return -errno;
    search.device = status.st_dev;
    search.inode = status.st_ino;
    int result = weir_build_id_of_file(fd, &search.id);
    if (result < 0 && result != -ENODATA)
        return result;
    if (result < 0)
        search.id.bytes = 0;
    read_link(fd, &search.link);
    root = root ? root : DEBUG_ROOT;
    int found = try_build_id(&search, root);
    if (found < 0)
        found = try_link(&search, path, root);
    return found < 0 ? -ENOENT : found;
}
