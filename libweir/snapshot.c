/*
 * The client's side of weir's control protocol (docs/control.md). No state, no allocation. Any thread; functions that
 * do not wait are safe in signal handlers (signal-safety(7)).
 */
#include <weir/snapshot.h>

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define COMMAND_BYTES_MAX 1024 /* limit of the protocol, without the newline */

/* ---- connections ---- */

/* Parses an address. *bytes: its length. 0, or -EINVAL. */
static int parse_address(const char *text, struct sockaddr_un *address, socklen_t *bytes)
{
    static const char prefix[] = "unix:";
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strncmp(text, prefix, sizeof(prefix) - 1) != 0)
        return -EINVAL;
    text += sizeof(prefix) - 1;
    size_t length = strlen(text);
    if (length < 2 || length >= sizeof(address->sun_path) || (text[0] != '@' && text[0] != '/'))
        return -EINVAL;
    memcpy(address->sun_path, text, length);
    bool is_abstract = text[0] == '@';
    if (is_abstract)
        address->sun_path[0] = '\0';
    *bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + !is_abstract);
    return 0;
}

static int connect_to(const char *address_text)
{
    struct sockaddr_un address;
    socklen_t bytes;
    int result = parse_address(address_text, &address, &bytes);
    if (result < 0)
        return result;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (connect(fd, (const struct sockaddr *)&address, bytes) == 0)
        return fd;
    result = -errno;
    close(fd);
    return result;
}

int weir_connect_to(const char *address)
{
    int before = errno;
    int result = connect_to(address);
    errno = before;
    return result;
}

int weir_connect(void)
{
    const char *address = getenv("WEIR_CONTROL");
    return address ? weir_connect_to(address) : -ENOENT;
}

/* ---- without waiting ---- */

/* Converts an errno. A peer that has gone is -EPIPE, whether or not it had read everything. */
static int failure_of(int code)
{
    return code == ECONNRESET ? -EPIPE : -code;
}

/* Sends one command as a whole. errno is unchanged. */
static int tell(int weir, const char *line, size_t bytes, int flags)
{
    if (weir < 0)
        return -EBADF;
    int before = errno;
    ssize_t sent;
    do
        sent = send(weir, line, bytes, MSG_NOSIGNAL | flags);
    while (sent < 0 && errno == EINTR);
    int result = sent < 0 ? failure_of(errno) : sent == (ssize_t)bytes ? 0 : -EAGAIN;
    errno = before;
    return result;
}

/* The minus sign suppresses the answer, because no thread would read it. */
#define TELL(weir, command) tell(weir, "-" command "\n", sizeof("-" command "\n") - 1, MSG_DONTWAIT)

int weir_snapshot(int weir)
{
    return TELL(weir, "snapshot");
}

int weir_enable(int weir)
{
    return TELL(weir, "enable");
}

int weir_disable(int weir)
{
    return TELL(weir, "disable");
}

int weir_switch_output(int weir)
{
    return TELL(weir, "switch");
}

/* ---- with an answer ---- */

static const char refused[] = "error: ", ack[] = "ack\n";
#define REFUSED_BYTES (sizeof(refused) - 1)
#define ACK_BYTES     (sizeof(ack) - 1)

/* The state of reading an answer. An answer ends in a zero byte. Its last line is "ack", or its only line is "error: "
 * and the reason. */
struct reading {
    char *answer; /* the caller's buffer; text is cut to its size; a leading "error: " is left out */
    size_t room, used;
    char first[REFUSED_BYTES], last[ACK_BYTES + 1]; /* the first and the last bytes of the whole answer */
    uint64_t bytes;
};

static bool begins_as_refusal(const struct reading *reading)
{
    return reading->bytes >= REFUSED_BYTES && memcmp(reading->first, refused, REFUSED_BYTES) == 0;
}

/* Takes a part of the answer. Returns true when the answer is complete. */
static bool take(struct reading *reading, const char *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (data[i] == '\0')
            return true;
        if (reading->used + 1 < reading->room)
            reading->answer[reading->used++] = data[i];
        if (reading->bytes < REFUSED_BYTES)
            reading->first[reading->bytes] = data[i];
        memmove(reading->last, reading->last + 1, sizeof(reading->last) - 1);
        reading->last[sizeof(reading->last) - 1] = data[i];
        if (++reading->bytes == REFUSED_BYTES && begins_as_refusal(reading))
            reading->used = 0;
    }
    return false;
}

/* The answer is no refusal: puts back the "error: " that take() has left out. */
static void restore_beginning(struct reading *reading)
{
    size_t room = reading->room > 0 ? reading->room - 1 : 0;
    size_t bytes = room < REFUSED_BYTES ? room : REFUSED_BYTES;
    if (reading->used > room - bytes)
        reading->used = room - bytes;
    if (bytes > 0) {
        memmove(reading->answer + bytes, reading->answer, reading->used);
        memcpy(reading->answer, refused, bytes);
    }
    reading->used += bytes;
}

/* Removes "ack" or "error: " from the answer, which has at least one byte. */
static int conclude(struct reading *reading)
{
    const char *end = reading->last + sizeof(reading->last);
    bool done = memcmp(end - ACK_BYTES, ack, ACK_BYTES) == 0 && /* "ack" is a whole line */
                (reading->bytes == ACK_BYTES || reading->last[0] == '\n');
    uint64_t left_bytes = reading->bytes - (done ? ACK_BYTES : end[-1] == '\n');
    if (begins_as_refusal(reading) && done)
        restore_beginning(reading);
    else if (begins_as_refusal(reading))
        left_bytes -= REFUSED_BYTES;
    if (left_bytes < reading->used)
        reading->used = (size_t)left_bytes;
    if (reading->room > 0)
        reading->answer[reading->used] = '\0';
    return done ? 0 : -EREMOTEIO;
}

static int read_answer(int weir, struct reading *reading)
{
    char part[512];
    for (;;) {
        ssize_t got = recv(weir, part, sizeof(part), 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? failure_of(errno) : -EPIPE;
        if (take(reading, part, (size_t)got))
            return reading->bytes > 0 ? conclude(reading) : -EPROTO;
    }
}

int weir_ask(int weir, const char *command, char *answer, size_t answer_bytes)
{
    char line[COMMAND_BYTES_MAX + 2];
    size_t length = strlen(command);
    if (answer_bytes > 0)
        answer[0] = '\0';
    if (length == 0 || command[0] == '-' || strchr(command, '\n')) /* weir would not answer */
        return -EINVAL;
    if (length > COMMAND_BYTES_MAX)
        return -EMSGSIZE;
    snprintf(line, sizeof(line), "%s\n", command);
    int result = tell(weir, line, length + 1, 0);
    if (result < 0 && result != -EPIPE) /* a rejected program gets the reason, and then finds the connection closed */
        return result;
    int before = errno;
    struct reading reading = {.answer = answer, .room = answer_bytes};
    result = read_answer(weir, &reading);
    errno = before;
    return result;
}

int weir_snapshot_alloc(int weir)
{
    return weir_ask(weir, "snapshot-alloc", NULL, 0);
}
