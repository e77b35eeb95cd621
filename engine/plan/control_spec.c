#include "engine/plan/control_spec.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define SHAPES "fd:CTL[,ACK] or fifo:CTL[,ACK]"

/* Parses the number of a descriptor, up to a comma or the end. Returns the length of the number, or -EINVAL. */
static int parse_fd(const char *text, int *fd)
{
    char *end;
    errno = 0;
    unsigned long value = text[0] >= '0' && text[0] <= '9' ? strtoul(text, &end, 0) : ULONG_MAX;
    if (value > INT_MAX || errno != 0 || (*end != '\0' && *end != ','))
        return -EINVAL;
    *fd = (int)value;
    return (int)(end - text);
}

static int parse_fds(struct weir_control_spec *spec, const char *text, struct weir_error *err)
{
    int length = parse_fd(text, &spec->ctl_fd);
    if (length >= 0 && text[length] == ',') {
        text += length + 1;
        length = parse_fd(text, &spec->ack_fd);
    }
    if (length >= 0 && text[length] == '\0')
        return 0;
    weir_error_set(err, -EINVAL, "'%s' in --control is not the number of a descriptor", text);
    weir_error_hint(err, "as in --control fd:3,4");
    return -EINVAL;
}

static int parse_fifos(struct weir_control_spec *spec, const char *text, struct weir_error *err)
{
    size_t length = strcspn(text, ",");
    if (length == 0) {
        weir_error_set(err, -EINVAL, "--control fifo: names no fifo");
        weir_error_hint(err, "as in --control fifo:ctl.fifo,ack.fifo");
        return -EINVAL;
    }
    spec->ctl_path = strndup(text, length);
    bool has_ack = text[length] == ',' && text[length + 1] != '\0'; /* empty means none, as in perf */
    if (has_ack)
        spec->ack_path = strdup(text + length + 1);
    return spec->ctl_path && (!has_ack || spec->ack_path) ? 0
                                                          : weir_error_set_errno(err, -ENOMEM, "cannot take --control");
}

int weir_control_spec_parse(struct weir_control_spec *spec, const char *text, struct weir_error *err)
{
    struct weir_control_spec parsed = WEIR_CONTROL_SPEC_INIT;
    int result;
    parsed.given = true;
    if (strncmp(text, "fd:", 3) == 0) {
        result = parse_fds(&parsed, text + 3, err);
    } else if (strncmp(text, "fifo:", 5) == 0) {
        result = parse_fifos(&parsed, text + 5, err);
    } else {
        result = weir_error_set(err, -EINVAL, "it takes " SHAPES ", not '%s'", text);
    }
    if (result < 0) {
        weir_control_spec_fini(&parsed);
        return result;
    }
    weir_control_spec_fini(spec);
    *spec = parsed;
    return 0;
}

void weir_control_spec_fini(struct weir_control_spec *spec)
{
    if (!spec)
        return;
    free(spec->ctl_path);
    free(spec->ack_path);
    *spec = (struct weir_control_spec)WEIR_CONTROL_SPEC_INIT;
}
