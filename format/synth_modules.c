/*
 * The kernel's modules: their addresses and files. Runs on one thread.
 *
 * Addresses and sizes come from /proc/modules. modules.dep names each module's file, so weir need not walk
 * /lib/modules/RELEASE as perf does. In file names '-' and '_' are equal for modprobe(8); the kernel uses underscores
 * only.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/directory.h"
#include "base/regular_file.h"
#include "format/line_source.h"
#include "format/synth_internal.h"

#define RELEASE_BYTES     128u /* uname(2) gives 64 */
#define VERSION_WORDS     "Linux version "
#define MODULE_LINE_BYTES 65536u /* a line of modules.dep begins with the path; the rest may be cut */

/* "NAME BYTES USERS DEPENDENTS STATE 0xADDRESS [TAINTS]"; false for a line that is not that. */
static bool parse_module(char *line, struct weir_synth_module *module)
{
    enum {
        NAME,
        BYTES,
        USERS,
        DEPENDENTS,
        STATE,
        ADDRESS,
        FIELD_COUNT
    };
    char *fields[FIELD_COUNT];
    char *at = NULL;
    for (int i = 0; i < FIELD_COUNT; i++) {
        fields[i] = strtok_r(i == 0 ? line : NULL, " ", &at);
        if (!fields[i])
            return false;
    }
    if (strlen(fields[NAME]) >= sizeof(module->name) || strncmp(fields[ADDRESS], "0x", 2) != 0)
        return false;
    char *end;
    *module = (struct weir_synth_module){.start = strtoull(fields[ADDRESS], NULL, 16),
                                         .bytes = strtoull(fields[BYTES], &end, 10)};
    snprintf(module->name, sizeof(module->name), "%s", fields[NAME]);
    return *end == '\0' && module->start != 0 && module->bytes != 0 && module->bytes <= UINT64_MAX - module->start;
}

static int add_module(struct weir_synth_modules *modules, const struct weir_synth_module *module)
{
    struct weir_synth_module *all = weir_array_grow(modules->all, sizeof(*all), modules->count, 1, &modules->room);
    if (!all)
        return -ENOMEM;
    modules->all = all;
    modules->all[modules->count++] = *module;
    return 0;
}

/* 0 or -ENOMEM. */
static int read_lines(struct weir_synth_modules *modules, int fd, char *text)
{
    struct weir_line_source lines;
    weir_line_source_init(&lines, fd, text, MODULE_LINE_BYTES);
    int result = 0;
    char *line;
    while (result == 0 && (line = weir_line_source_next(&lines))) {
        struct weir_synth_module module;
        if (parse_module(line, &module))
            result = add_module(modules, &module);
    }
    return result;
}

/* A kernel without modules has no such file: that is no error, nor is one that cannot be read. 0 or -ENOMEM. */
static int read_modules(struct weir_synth_modules *modules, int proc_fd, char *text)
{
    struct stat status;
    int fd = weir_regular_file_open(proc_fd, "modules", &status);
    int result = fd < 0 ? 0 : read_lines(modules, fd, text);
    if (fd >= 0)
        close(fd);
    return result;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct weir_synth_module *)a)->name, ((const struct weir_synth_module *)b)->name);
}

static int compare_starts(const void *a, const void *b)
{
    uint64_t x = ((const struct weir_synth_module *)a)->start, y = ((const struct weir_synth_module *)b)->start;
    return x < y ? -1 : x > y;
}

/* The module name of "dir/snd-pcm.ko.xz": snd_pcm. false when the file is no module. */
static bool module_of_path(const char *path, char name[WEIR_SYNTH_MODULE_NAME_BYTES])
{
    const char *base = weir_path_name(path);
    const char *suffix = strstr(base, ".ko");
    if (!suffix || (size_t)(suffix - base) >= WEIR_SYNTH_MODULE_NAME_BYTES)
        return false;
    size_t bytes = (size_t)(suffix - base);
    for (size_t i = 0; i < bytes; i++)
        name[i] = base[i] == '-' ? '_' : base[i];
    name[bytes] = '\0';
    return true;
}

/* line: "PATH: PATH..." of modules.dep, relative to directory. The modules are in the order of their names. No file has
 * a path of PATH_MAX and more, nor has a record room for one (weir_synth_block_reserve()). */
static int note_file(struct weir_synth_modules *modules, char *line, const char *directory)
{
    struct weir_synth_module key;
    char *colon = strchr(line, ':');
    if (!colon)
        return 0;
    *colon = '\0';
    if (!module_of_path(line, key.name))
        return 0;
    struct weir_synth_module *module =
        bsearch(&key, modules->all, modules->count, sizeof(*modules->all), compare_names);
    if (!module || module->path)
        return 0;

    bool is_absolute = line[0] == '/';
    if ((is_absolute ? 0 : strlen(directory) + 1) + strlen(line) >= PATH_MAX)
        return 0;
    int bytes = asprintf(&module->path, "%s%s%s", is_absolute ? "" : directory, is_absolute ? "" : "/", line);
    if (bytes < 0) {
        module->path = NULL;
        return -ENOMEM;
    }
    return 0;
}

/* The release of the kernel; a copy of a guest's /proc may have its version only: "Linux version RELEASE (...". */
static bool read_release(char release[RELEASE_BYTES], int proc_fd)
{
    if (weir_synth_knob_read(proc_fd, "sys/kernel/osrelease", release, RELEASE_BYTES))
        return true;
    const size_t words = strlen(VERSION_WORDS);
    if (!weir_synth_knob_read(proc_fd, "version", release, RELEASE_BYTES) ||
        strncmp(release, VERSION_WORDS, words) != 0)
        return false;
    size_t length = strcspn(release + words, " ");
    memmove(release, release + words, length);
    release[length] = '\0';
    return length > 0 && !strchr(release, '/');
}

/* The running kernel's directory below modules_root; false when that cannot be said. */
static bool find_directory(char directory[PATH_MAX], int proc_fd, const char *modules_root)
{
    char release[RELEASE_BYTES];
    return read_release(release, proc_fd) &&
           (size_t)snprintf(directory, PATH_MAX, "%s/%s", modules_root, release) < PATH_MAX;
}

/* Modules of which modules.dep says nothing stay without a path. 0 or -ENOMEM. */
static int find_files(struct weir_synth_modules *modules, int proc_fd, const char *modules_root, char *text)
{
    char directory[PATH_MAX];
    if (modules->count == 0 || !find_directory(directory, proc_fd, modules_root))
        return 0;
    int directory_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct stat status;
    int fd = directory_fd < 0 ? -1 : weir_regular_file_open(directory_fd, "modules.dep", &status);
    if (directory_fd >= 0)
        close(directory_fd);
    if (fd < 0)
        return 0;

    struct weir_line_source lines;
    weir_line_source_init(&lines, fd, text, MODULE_LINE_BYTES);
    int result = 0;
    char *line;
    while (result == 0 && (line = weir_line_source_next(&lines)))
        result = note_file(modules, line, directory);
    close(fd);
    return result;
}

int weir_synth_modules_read(struct weir_synth_modules *modules, int proc_fd, const char *modules_root)
{
    *modules = (struct weir_synth_modules){0};
    char *text = malloc(MODULE_LINE_BYTES);
    int result = text ? read_modules(modules, proc_fd, text) : -ENOMEM;
    if (result == 0 && modules->count) {
        qsort(modules->all, modules->count, sizeof(*modules->all), compare_names);
        result = find_files(modules, proc_fd, modules_root, text);
        qsort(modules->all, modules->count, sizeof(*modules->all), compare_starts);
    }
    free(text);
    return result;
}

int weir_synth_modules_read_file(struct weir_synth_modules *modules, int fd)
{
    *modules = (struct weir_synth_modules){0};
    char *text = malloc(MODULE_LINE_BYTES);
    int result = text ? read_lines(modules, fd, text) : -ENOMEM;
    if (modules->count)
        qsort(modules->all, modules->count, sizeof(*modules->all), compare_starts);
    free(text);
    return result;
}

void weir_synth_modules_fini(struct weir_synth_modules *modules)
{
    for (size_t i = 0; i < modules->count; i++)
        free(modules->all[i].path);
    free(modules->all);
}
