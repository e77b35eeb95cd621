/*
 * Races of the thread that draws the end of a recording with the coordinator's steps and messages, on a terminal of the
 * test's own. A plain program, for ThreadSanitizer.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "cli/record_status.h"

#define ROUNDS  3u
#define QUIET_S 4u   /* longer than the silence after which a shared terminal is drawn on */
#define BURST   300u /* messages and steps without a pause */

/* What the terminal has got. The reader writes it until it has ended. */
struct screen {
    int fd;
    char text[1 << 20];
    size_t used;
};

static void *read_screen(void *ctx)
{
    struct screen *screen = ctx;
    ssize_t got;
    while ((got = read(screen->fd, screen->text + screen->used, sizeof(screen->text) - 1 - screen->used)) > 0)
        screen->used += (size_t)got;
    return NULL;
}

static void pause_ms(unsigned ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000l};
    nanosleep(&time, NULL);
}

static void end_recording(FILE *terminal)
{
    const struct weir_status_choice choice = {.kind = WEIR_STATUS_ALWAYS};
    struct weir_print print = {.stream = terminal};
    const struct weir_notice_sink notices = weir_print_sink(&print);
    struct weir_record_status status;
    weir_assert(weir_record_status_begin(&status, &choice, &print));
    weir_assert(status.watch.enter_step);
    for (unsigned step = WEIR_ENDING_DRAIN; step <= WEIR_ENDING_SYNC; step++) {
        status.watch.enter_step(status.watch.ctx, (enum weir_ending_step)step);
        pause_ms(QUIET_S * 1000 / (WEIR_ENDING_SYNC + 1));
    }
    for (unsigned i = 0; i < BURST; i++) {
        status.watch.enter_step(status.watch.ctx, i % 2 ? WEIR_ENDING_FILES : WEIR_ENDING_CACHE);
        weir_notice(&notices, WEIR_NOTICE_WARNING, "message %u", i);
        dprintf(fileno(terminal), "another program\n");
    }
    weir_record_status_end(&status);
    weir_assert(!print.line);
}

/* In a session of its own, whose terminal is slave_path. */
static int end_recordings(const char *slave_path)
{
    weir_assert(setsid() > 0);
    int fd = open(slave_path, O_RDWR | O_CLOEXEC);
    weir_assert(fd >= 0 && ioctl(fd, TIOCSCTTY, 0) == 0);
    FILE *terminal = fdopen(fd, "w");
    weir_assert(terminal);
    for (unsigned round = 0; round < ROUNDS; round++)
        end_recording(terminal);
    fclose(terminal);
    return 0;
}

int main(void)
{
    static struct screen screen;
    pthread_t reader;
    int status = 0;
    setenv("TERM", "xterm", 1);
    screen.fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (screen.fd < 0 || grantpt(screen.fd) < 0 || unlockpt(screen.fd) < 0) {
        printf("no terminal can be made: %s\n", strerror(errno));
        return 77;
    }
    const char *slave_path = ptsname(screen.fd);
    int slave = open(slave_path, O_RDWR | O_NOCTTY | O_CLOEXEC); /* the screen ends with its last user */
    pid_t child = fork();
    weir_assert(child >= 0 && slave >= 0);
    if (child == 0)
        exit(end_recordings(slave_path));
    weir_assert(pthread_create(&reader, NULL, read_screen, &screen) == 0);
    weir_assert(waitpid(child, &status, 0) == child);
    close(slave);
    pthread_join(reader, NULL);
    weir_assert(status == 0);
    weir_assert(strstr(screen.text, "finishing"));
    weir_assert(strstr(screen.text, "message 299"));
    return 0;
}
