/*
 * What a program that asks makes of weir's answers (weir_ask(), libweir/snapshot.c). Input: how much room the program
 * has for the answer, how much of it comes at a time, and the bytes that come until the connection is closed.
 *
 * What the program is told follows from the bytes before the first zero alone, by a second reading, however they are
 * parted; nothing is written behind its room, and errno stays. Without that zero the peer has gone.
 */
#include <weir/snapshot.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "tests/fuzz/fuzz.h"

#define PIECES_MAX 128u /* that fit a socket's buffer whatever their size: weir_ask() is called when all have come */
#define UNTOUCHED  '#'

static const char ack[] = "ack\n", refused[] = "error: ";

struct expected {
    int result;
    const char *text; /* without what only says how it went */
    size_t bytes;
};

static bool has(const char *text, size_t bytes, const char *part, size_t at)
{
    return at <= bytes && strlen(part) <= bytes - at && memcmp(text + at, part, strlen(part)) == 0;
}

static struct expected expect(const char *text, size_t bytes)
{
    const char *zero = bytes > 0 ? memchr(text, '\0', bytes) : NULL;
    if (!zero)
        return (struct expected){.result = -EPIPE};
    bytes = (size_t)(zero - text);
    if (bytes == 0)
        return (struct expected){.result = -EPROTO};
    size_t last = bytes - 1; /* where the last line begins */
    while (last > 0 && text[last - 1] != '\n')
        last--;
    if (bytes - last == strlen(ack) && has(text, bytes, ack, last))
        return (struct expected){.text = text, .bytes = last};
    bytes -= text[bytes - 1] == '\n';
    size_t skipped = has(text, bytes, refused, 0) ? strlen(refused) : 0;
    return (struct expected){.result = -EREMOTEIO, .text = text + skipped, .bytes = bytes - skipped};
}

/* Sends the bytes as that many pieces at most, each of which is received by itself. How many bytes went. */
static size_t send_pieces(int fd, const char *text, size_t bytes, size_t piece_bytes)
{
    size_t sent = 0;
    for (unsigned i = 0; i < PIECES_MAX && sent < bytes; i++) {
        size_t piece = piece_bytes < bytes - sent ? piece_bytes : bytes - sent;
        weir_assert(send(fd, text + sent, piece, MSG_DONTWAIT) == (ssize_t)piece);
        sent += piece;
    }
    return sent;
}

static void check_text(const struct expected *expected, const char *answer, size_t room)
{
    size_t bytes = expected->bytes < room ? expected->bytes : room - 1;
    weir_assert(strlen(answer) == bytes && (bytes == 0 || memcmp(answer, expected->text, bytes) == 0));
}

static void run(void *fixture, const uint8_t *data, size_t bytes)
{
    (void)fixture;
    if (bytes < 2)
        return;
    size_t room = data[0], piece_bytes = (size_t)data[1] + 1;
    int ends[2];
    weir_assert(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    const char *text = (const char *)data + 2;
    struct expected expected = expect(text, send_pieces(ends[1], text, bytes - 2, piece_bytes));
    weir_assert(shutdown(ends[1], SHUT_WR) == 0);

    char *answer = malloc(room + 1);
    weir_assert(answer);
    memset(answer, UNTOUCHED, room + 1);
    errno = ENOTTY;
    int result = weir_ask(ends[0], "status", room > 0 ? answer : NULL, room);
    weir_assert(errno == ENOTTY && answer[room] == UNTOUCHED);
    weir_assert(result == expected.result);
    if (room > 0 && (result == 0 || result == -EREMOTEIO))
        check_text(&expected, answer, room);
    free(answer);
    close(ends[0]);
    close(ends[1]);
}

const struct fuzz_target fuzz_target = {.run = run};
