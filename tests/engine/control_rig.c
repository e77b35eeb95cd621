/* See control_rig.h. */
#include "tests/engine/control_rig.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void keep(void *ctx, enum weir_notice_level level, const char *line)
{
    struct control_rig *rig = ctx;
    rig->infos += level == WEIR_NOTICE_INFO;
    if (level != WEIR_NOTICE_WARNING)
        return;
    rig->warnings++;
    snprintf(rig->warning, sizeof(rig->warning), "%s", line);
}

static int stop(void *ctx, struct weir_error *err)
{
    struct control_rig *rig = ctx;
    (void)err;
    rig->stops++;
    return 0;
}

static int snapshot(void *ctx, struct weir_error *err)
{
    struct control_rig *rig = ctx;
    (void)err;
    rig->snapshots++;
    return rig->slow ? WEIR_TRIGGER_BEGUN : 0;
}

static int toggle_event(void *ctx, const char *name, bool on, struct weir_error *err)
{
    struct control_rig *rig = ctx;
    if (strcmp(name, "none") == 0)
        return weir_error_set(err, -ENOENT, "there is no event 'none'");
    snprintf(rig->switched, sizeof(rig->switched), "%c%s", on ? '+' : '-', name);
    return 0;
}

static int renew_lease(void *ctx, struct weir_error *err)
{
    (void)ctx;
    return weir_error_set(err, -EOPNOTSUPP, "the recording has no lease");
}

static void list_events(void *ctx, enum weir_control_detail detail, struct weir_buf *out)
{
    (void)ctx;
    weir_buf_printf(out, "first %d\nsecond\n", detail);
}

static void tell_status(void *ctx, enum weir_control_detail detail, struct weir_buf *out)
{
    (void)ctx;
    weir_buf_printf(out, detail == WEIR_CONTROL_VERBOSE ? "{\"places\":{}}\n" : "{}\n");
}

void control_rig_init(struct control_rig *rig)
{
    signal(SIGPIPE, SIG_IGN);
    *rig = (struct control_rig){.sources = WEIR_POLL_SET_INIT};
    rig->sink = (struct weir_notice_sink){.emit = keep, .ctx = rig};
    weir_triggers_init(&rig->triggers, &rig->sink);
    weir_triggers_register(&rig->triggers, WEIR_TRIGGER_STOP,
                           &(struct weir_trigger_action){.run = stop, .ctx = rig, .immediate = true});
    weir_triggers_register(&rig->triggers, WEIR_TRIGGER_SNAPSHOT,
                           &(struct weir_trigger_action){.run = snapshot, .ctx = rig, .busy = "busy"});
    rig->host = (struct weir_control_host){
        .sources = &rig->sources,
        .budget = &rig->budget,
        .triggers = &rig->triggers,
        .notices = &rig->sink,
        .toggle_event = toggle_event,
        .renew_lease = renew_lease,
        .list_events = list_events,
        .tell_status = tell_status,
        .ctx = rig,
    };
}

void control_rig_fini(struct control_rig *rig)
{
    weir_poll_set_fini(&rig->sources);
}

void control_rig_turn(struct control_rig *rig)
{
    while (weir_poll_set_wait(&rig->sources, 0) > 0)
        ;
}

const char *control_rig_read(int fd)
{
    static char text[65536];
    ssize_t got = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);
    if (got < 0 && errno == ENOTSOCK)
        got = read(fd, text, sizeof(text) - 1);
    text[got > 0 ? got : 0] = '\0';
    for (ssize_t i = 0; i < got; i++) {
        if (text[i] == '\0')
            text[i] = '$';
    }
    return text;
}
