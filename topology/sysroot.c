/* Small files of proc/ and sys/ below a root folder. Runs on the set-up thread, once, off the data path. */
#include "topology/sysroot.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/read_whole.h"

#define PATH_FORMAT(format_index) __attribute__((format(printf, format_index, 0)))

void weir_sysroot_init(struct weir_sysroot *root, const char *path)
{
    *root = (struct weir_sysroot){.path = path, .text = WEIR_BUF_INIT};
}

void weir_sysroot_fini(struct weir_sysroot *root)
{
    weir_buf_fini(&root->text);
}

bool weir_sysroot_is_this_machine(const struct weir_sysroot *root)
{
    return root->path[0] == '\0';
}

/* Builds a path. False when it does not fit: such a file counts as unknown. */
PATH_FORMAT(3)
static bool format_path(char path[PATH_MAX], const struct weir_sysroot *root, const char *format, va_list args)
{
    int used = snprintf(path, PATH_MAX, "%s/", root->path);
    if (used < 0 || used >= PATH_MAX)
        return false;
    int more = vsnprintf(path + used, (size_t)(PATH_MAX - used), format, args);
    return more >= 0 && more < PATH_MAX - used;
}

/* Reads at most `bytes` into data. Bounded, unlike weir_buf_append_file(): /proc/cpuinfo of a big machine has
 * megabytes, of which only the first CPU is needed. Returns the bytes read or -errno. */
static ssize_t read_head(const char *path, char *data, size_t bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t got = weir_read_whole(fd, data, bytes);
    close(fd);
    return got;
}

PATH_FORMAT(2)
static const char *read_text(struct weir_sysroot *root, const char *format, va_list args)
{
    char path[PATH_MAX];
    if (root->error < 0 || !format_path(path, root, format, args))
        return NULL;

    weir_buf_reset(&root->text);
    char *data = weir_buf_extend(&root->text, WEIR_SYSROOT_FILE_BYTES + 1);
    if (!data) {
        root->error = -ENOMEM;
        return NULL;
    }
    ssize_t used = read_head(path, data, WEIR_SYSROOT_FILE_BYTES);
    if (used < 0)
        return NULL;
    while (used > 0 && isspace((unsigned char)data[used - 1]))
        used--;
    data[used] = '\0';
    return data;
}

const char *weir_sysroot_read(struct weir_sysroot *root, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = read_text(root, format, args);
    va_end(args);
    return text;
}

char *weir_sysroot_read_copy(struct weir_sysroot *root, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = read_text(root, format, args);
    va_end(args);
    return text ? weir_sysroot_copy(root, text, strlen(text)) : weir_sysroot_copy(root, "", 0);
}

bool weir_sysroot_read_number(struct weir_sysroot *root, int base, int64_t *value, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = read_text(root, format, args);
    va_end(args);
    if (!text)
        return false;

    char *end;
    errno = 0;
    long long number = strtoll(text, &end, base);
    if (end == text || *end != '\0' || errno == ERANGE)
        return false;
    *value = number;
    return true;
}

bool weir_sysroot_read_list(struct weir_sysroot *root, struct weir_cpuset *set, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = read_text(root, format, args);
    va_end(args);
    if (!text)
        return false;

    int result = weir_cpuset_parse(set, text, NULL);
    if (result == -ENOMEM)
        root->error = result;
    return result == 0;
}

DIR *weir_sysroot_opendir(struct weir_sysroot *root, const char *format, ...)
{
    char path[PATH_MAX];
    va_list args;
    va_start(args, format);
    bool fits = format_path(path, root, format, args);
    va_end(args);
    if (root->error < 0 || !fits)
        return NULL;

    DIR *dir = opendir(path); /* O_CLOEXEC by POSIX */
    if (!dir && errno == ENOMEM)
        root->error = -ENOMEM;
    return dir;
}

char *weir_sysroot_copy(struct weir_sysroot *root, const char *text, size_t length)
{
    char *copy = weir_sysroot_alloc(root, length + 1, 1);
    if (copy)
        memcpy(copy, text, length);
    return copy;
}

void *weir_sysroot_alloc(struct weir_sysroot *root, size_t count, size_t bytes)
{
    if (root->error < 0 || count == 0)
        return NULL;
    void *memory = calloc(count, bytes);
    if (!memory)
        root->error = -ENOMEM;
    return memory;
}
