/* Opens the descriptors or fifos of --control. Coordinator thread. */
#include "engine/control/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/control/control_internal.h"

static int open_fifo(const char *path, struct weir_error *err)
{
    /* Open for both directions, the fifo never hangs up, and open(2) does not wait for the other end. */
    int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0) {
        int code = weir_error_set_errno(err, -errno, "cannot open '%s' of --control", path);
        if (code == -ENOENT)
            weir_error_hint(err, "mkfifo %s", path);
        return code;
    }
    if (S_ISFIFO(status.st_mode))
        return fd;
    close(fd);
    weir_error_set(err, -EINVAL, "'%s' of --control is not a fifo", path);
    weir_error_hint(err, "mkfifo makes one");
    return -EINVAL;
}

/*
 * Opens a descriptor of weir's own for the same file, if possible with O_NONBLOCK. O_NONBLOCK belongs to the open file
 * description, which weir shares with the process that passed the descriptor. So weir opens a pipe anew by its name in
 * proc(5). A socket has no such name: weir duplicates its descriptor, and calls on it pass MSG_DONTWAIT.
 */
static int open_anew(int given, int direction, struct weir_error *err)
{
    char path[64];
    struct stat status;
    if (fstat(given, &status) < 0) {
        int code = weir_error_set_errno(err, -errno, "descriptor %d of --control cannot be used", given);
        weir_error_hint(err, "the shell opens it, as in: exec %d<>ctl.fifo", given);
        return code;
    }
    snprintf(path, sizeof(path), "/proc/self/fd/%d", given);
    int fd = S_ISSOCK(status.st_mode) ? -1 : open(path, direction | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        fd = fcntl(given, F_DUPFD_CLOEXEC, 0);
    return fd < 0 ? weir_error_set_errno(err, -errno, "cannot use descriptor %d of --control", given) : fd;
}

static int open_ctl(const struct weir_control_spec *spec, struct weir_error *err)
{
    return spec->ctl_path ? open_fifo(spec->ctl_path, err) : open_anew(spec->ctl_fd, O_RDONLY, err);
}

static int open_ack(const struct weir_control_spec *spec, struct weir_error *err)
{
    return spec->ack_path ? open_fifo(spec->ack_path, err) : open_anew(spec->ack_fd, O_WRONLY, err);
}

void weir_control_init(struct weir_control *control, const struct weir_control_host *host)
{
    *control = (struct weir_control){.host = *host};
    control->host.budget = &control->budget;
}

int weir_control_open(struct weir_control *control, const struct weir_control_spec *spec, struct weir_error *err)
{
    if (!spec->given)
        return 0;
    int in_fd = open_ctl(spec, err);
    if (in_fd < 0)
        return in_fd;
    int out_fd = -1;
    if (spec->ack_path || spec->ack_fd >= 0) {
        out_fd = open_ack(spec, err);
        if (out_fd < 0) {
            close(in_fd);
            return out_fd;
        }
    }
    int result = weir_control_channel_init(&control->channel, &(struct weir_control_channel){
                                                                  .host = &control->host,
                                                                  .source = WEIR_TRIGGER_BY_CONTROL,
                                                                  .in_fd = in_fd,
                                                                  .out_fd = out_fd,
                                                                  .lists_to_user = true,
                                                              });
    control->has_channel = result == 0;
    return result < 0 ? weir_error_set_errno(err, result, "cannot listen to --control") : 0;
}

void weir_control_end(struct weir_control *control, struct weir_poll_set *sources)
{
    weir_control_close_doors(control);
    if (control->has_channel)
        weir_control_channel_end(&control->channel, sources);
}

void weir_control_fini(struct weir_control *control)
{
    if (!control)
        return;
    if (control->has_channel)
        weir_control_channel_fini(&control->channel);
    control->has_channel = false;
    weir_control_close_doors(control);
}
