/* Helpers for reading /proc, used by all of synthesis. Any thread. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/regular_file.h"
#include "format/line_source.h"
#include "format/synth_internal.h"

bool weir_synth_is_gone(int code)
{
    return code == -ENOENT || code == -ESRCH || code == -ENOTDIR || code == -EACCES || code == -EPERM;
}

pid_t weir_synth_entry_pid(const char *name)
{
    uint32_t pid = 0;
    for (; *name >= '0' && *name <= '9' && pid <= (INT32_MAX - 9) / 10; name++)
        pid = pid * 10 + (uint32_t)(*name - '0');
    return *name == '\0' ? (pid_t)pid : 0;
}

bool weir_synth_knob_read(int proc_fd, const char *path, char *value, size_t bytes)
{
    struct stat status;
    int fd = weir_regular_file_open(proc_fd, path, &status);
    if (fd < 0)
        return false;
    struct weir_line_source lines;
    weir_line_source_init(&lines, fd, value, bytes);
    const char *line = weir_line_source_next(&lines);
    close(fd);
    return line && line[0] != '\0';
}
