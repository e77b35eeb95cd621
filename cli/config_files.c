/* From places to entries. Main thread. */
#include "cli/config_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"

#define FILE_BYTES_MAX (1 << 20) /* nobody writes more by hand */

/* One that is empty is as one that is not set. */
static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] ? value : NULL;
}

void weir_config_places_init(struct weir_config_places *places)
{
    *places = (struct weir_config_places){
        .weir_config = variable("WEIR_CONFIG"),
        .perf_config = variable("PERF_CONFIG"),
        .xdg_config_home = variable("XDG_CONFIG_HOME"),
        .home = variable("HOME"),
        .system_file = WEIR_SYSCONFDIR "/weir/config",
        .perf_system_file = "/etc/perfconfig",
    };
}

void weir_config_set_fini(struct weir_config_set *set)
{
    if (!set)
        return;
    weir_config_fini(&set->perf);
    weir_config_fini(&set->weir);
}

/* One file, and what to do about it. */
struct reading {
    struct weir_config *config;
    const char *path;
    bool must_exist;
    bool is_ours; /* mistakes in it are errors */
    const struct weir_notice_sink *notices;
    struct weir_error *err;
};

/* Whether an open file is to be read; a warning says why not. */
static bool is_trusted(const struct reading *reading, const struct stat *st)
{
    if (st->st_uid == 0 || st->st_uid == geteuid())
        return true;
    weir_notice(reading->notices, WEIR_NOTICE_WARNING, "file %s not owned by current user or root, ignoring it",
                reading->path);
    return false;
}

/* Appends the contents. 0 or -errno. */
static int read_text(int fd, struct weir_buf *text)
{
    for (;;) {
        char part[4096];
        ssize_t bytes = read(fd, part, sizeof(part));
        if (bytes == 0)
            return weir_buf_error(text);
        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes < 0)
            return -errno;
        weir_buf_append(text, part, (size_t)bytes);
        if (text->used > FILE_BYTES_MAX)
            return -EFBIG;
    }
}

static int parse(const struct reading *reading, const struct weir_buf *text)
{
    struct weir_error below = {0};
    int result = weir_config_parse(reading->config, (const char *)text->data, text->used, reading->path, &below);
    if (result == -EINVAL && !reading->is_ours) {
        weir_notice(reading->notices, WEIR_NOTICE_WARNING, "%s; ignoring the file", below.what);
        return 0;
    }
    if (result < 0 && reading->err)
        *reading->err = below;
    return result;
}

/* Reads one file that is open. 0 or -errno with err. */
static int read_open_file(const struct reading *reading, int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return weir_error_set_errno(reading->err, -errno, "cannot read %s", reading->path);
    if (reading->must_exist && S_ISDIR(st.st_mode))
        return weir_error_set_errno(reading->err, -EISDIR, "cannot read %s", reading->path);
    if (!S_ISREG(st.st_mode) || !is_trusted(reading, &st))
        return 0; /* /dev/null is how one says: none */
    struct weir_buf text = WEIR_BUF_INIT;
    int result = read_text(fd, &text);
    if (result < 0)
        weir_error_set_errno(reading->err, result, "cannot read %s", reading->path);
    else
        result = parse(reading, &text);
    weir_buf_fini(&text);
    return result;
}

static int read_file(const struct reading *reading)
{
    int fd = open(reading->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    int result = fd < 0 ? -errno : 0;
    if (fd >= 0) {
        result = read_open_file(reading, fd);
        close(fd);
        return result;
    }
    if (!reading->must_exist)
        return 0; /* as perf: what cannot be opened is not there */
    weir_error_set_errno(reading->err, result, "cannot read %s", reading->path);
    weir_error_hint(reading->err, "WEIR_CONFIG names this file; WEIR_CONFIG=/dev/null means no file");
    return result;
}

/* Not one of the current directory, wherever that is. */
static bool is_folder(const char *path)
{
    return path && path[0] == '/';
}

/* Reads folder/name, if folder is one. */
static int read_in(struct reading reading, const char *folder, const char *name)
{
    if (!is_folder(folder))
        return 0;
    char *path = NULL;
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return weir_error_set_errno(reading.err, -ENOMEM, "cannot read %s", name);
    reading.path = path;
    int result = read_file(&reading);
    free(path);
    return result;
}

static int load_perf(const struct weir_config_places *places, struct reading reading)
{
    const char *file = places->perf_config ? places->perf_config : places->perf_system_file;
    int result = 0;
    if (file) {
        reading.path = file;
        result = read_file(&reading);
    }
    if (result == 0 && !places->perf_config)
        result = read_in(reading, places->home, ".perfconfig");
    return result;
}

static int load_weir(const struct weir_config_places *places, struct reading reading)
{
    int result = 0;
    reading.is_ours = true;
    if (places->weir_config) {
        reading.path = places->weir_config;
        reading.must_exist = true;
        return read_file(&reading);
    }
    if (places->system_file) {
        reading.path = places->system_file;
        result = read_file(&reading);
    }
    if (result < 0)
        return result;
    if (is_folder(places->xdg_config_home)) /* one that is relative is to be ignored, says the specification */
        return read_in(reading, places->xdg_config_home, "weir/config");
    return read_in(reading, places->home, ".config/weir/config");
}

int weir_config_set_load(struct weir_config_set *set, const struct weir_config_places *places,
                         const struct weir_notice_sink *notices, struct weir_error *err)
{
    struct reading reading = {.config = &set->perf, .notices = notices, .err = err};
    int result = places->weir_config ? 0 : load_perf(places, reading);
    reading.config = &set->weir;
    return result < 0 ? result : load_weir(places, reading);
}
