#include "cli/report_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/elf_symbols.h"
#include "report/report_file.h"

int weir_report_input_spool(const char **path, char copy[PATH_MAX], int *fd, struct weir_error *err)
{
    struct stat status;
    bool is_standard = strcmp(*path, "-") == 0;
    *fd = -1;
    if (is_standard ? fstat(STDIN_FILENO, &status) < 0 : stat(*path, &status) < 0)
        return 0; /* opening says why */
    if ((S_ISREG(status.st_mode) && !is_standard) || S_ISDIR(status.st_mode))
        return 0;
    int from = is_standard ? STDIN_FILENO : open(*path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (from < 0)
        return weir_error_set_errno(err, -errno, "cannot open %s", *path);
    *fd = weir_report_spool(from, err);
    if (!is_standard)
        close(from);
    if (*fd < 0)
        return *fd;
    snprintf(copy, PATH_MAX, "/proc/self/fd/%d", *fd);
    *path = copy;
    return 0;
}

void weir_report_input_find_cache(char path[PATH_MAX], struct weir_object_places *places)
{
    const char *home = getenv("HOME");
    if (home && home[0] == '/' && snprintf(path, PATH_MAX, "%s/.debug", home) < PATH_MAX)
        places->build_id_cache = path;
}

int weir_report_input_open_vdso(char path[WEIR_VDSO_PATH_BYTES], struct weir_object_places *places)
{
    int fd = weir_vdso_open();
    if (fd < 0)
        return -1;
    snprintf(path, WEIR_VDSO_PATH_BYTES, "/proc/self/fd/%d", fd);
    places->vdso = path;
    return fd;
}
