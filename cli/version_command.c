/* `weir version`. The build writes cli/build_facts.h: the commit, and a row for each optional part. */
#include "cli/version_command.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/bits.h"
#include "cli/answer.h"
#include "cli/build_facts.h"
#include "cli/version_options.h"

static const struct {
    const char *name;
    bool built;
    const char *what;
} parts[] = {WEIR_BUILD_PARTS};

void weir_version_append(struct weir_buf *text)
{
    weir_buf_printf(text, "weir %s", WEIR_VERSION);
    if (WEIR_BUILD_COMMIT[0] != '\0')
        weir_buf_printf(text, " (%s)", WEIR_BUILD_COMMIT);
    weir_buf_printf(text, "\n");
}

/* In the form of `perf version --build-options`. */
static void append_parts(struct weir_buf *text)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(parts); i++)
        weir_buf_printf(text, "%22s: [ %-3s ]  # %s\n", parts[i].name, parts[i].built ? "on" : "OFF", parts[i].what);
}

static void append_json(struct weir_buf *text)
{
    weir_buf_printf(text, "{\"version\":\"%s\",\"commit\":\"%s\",\"parts\":{", WEIR_VERSION, WEIR_BUILD_COMMIT);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(parts); i++)
        weir_buf_printf(text, "%s\"%s\":%s", i > 0 ? "," : "", parts[i].name, parts[i].built ? "true" : "false");
    weir_buf_printf(text, "}}\n");
}

int weir_version_main(const struct weir_invocation *invocation)
{
    struct weir_print print = {.stream = stderr};
    struct weir_error err = {0};
    struct weir_version_arguments arguments = {0};
    size_t used;
    int result = weir_options_parse(&weir_version_command.options, &arguments, invocation->arguments, &used, &err);
    if (result == WEIR_OPTIONS_HELP)
        return weir_answer_help(&print, &weir_version_command, invocation->arguments);
    if (result == 0 && invocation->arguments[used])
        result = weir_error_set(&err, -EINVAL, "unexpected argument '%s'", invocation->arguments[used]);
    if (result < 0)
        return weir_answer_refusal(&print, result, &err);

    struct weir_buf text = WEIR_BUF_INIT;
    if (arguments.json) {
        append_json(&text);
    } else {
        weir_version_append(&text);
        if (arguments.build_options)
            append_parts(&text);
    }
    return weir_answer_text(&print, &text);
}
