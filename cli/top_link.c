/* A connection of `weir top`. Main thread. */
#include "cli/top_link.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/recordings.h"

void weir_top_link_open(struct weir_top_link *link, int fd)
{
    *link = (struct weir_top_link){.fd = fd, .answer = WEIR_BUF_INIT};
}

void weir_top_link_close(struct weir_top_link *link)
{
    if (link->fd >= 0)
        close(link->fd);
    weir_buf_fini(&link->answer);
    *link = (struct weir_top_link)WEIR_TOP_LINK_INIT;
}

int weir_top_link_ask(struct weir_top_link *link, const char *command, struct weir_error *err)
{
    char line[64];
    if (link->awaiting)
        return -EALREADY;
    int length = snprintf(line, sizeof(line), "%s\n", command);
    if (send(link->fd, line, (size_t)length, MSG_NOSIGNAL | MSG_DONTWAIT) != length)
        return weir_error_set(err, -EPIPE, "the recording has ended");
    weir_buf_reset(&link->answer);
    link->awaiting = true;
    return 0;
}

int weir_top_link_take(struct weir_top_link *link, struct weir_error *err)
{
    char part[16384];
    ssize_t got = recv(link->fd, part, sizeof(part), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (got <= 0)
        return weir_error_set(err, -EPIPE, "the recording has ended");
    const char *end = memchr(part, '\0', (size_t)got);
    weir_buf_append(&link->answer, part, end ? (size_t)(end - part) : (size_t)got);
    if (link->answer.used > WEIR_ANSWER_BYTES_MAX)
        return weir_error_set(err, -EMSGSIZE, "the answer is too long");
    if (!end)
        return 0;
    link->awaiting = false;
    int result = weir_recordings_conclude(&link->answer, err);
    return result == 0 ? 1 : result;
}
