/* A step of several choices is one paragraph: "A, or else B". Lines end before column 100, for docs/presets.md. */
#include "cli/preset_text.h"

#include <string.h>

#include "cli/option.h"
#include "cli/record_options.h"
#include "format/text_out.h"

#define INDENT    14
#define COLUMNS   100
#define EVENT_MAX 256

struct lines {
    struct weir_buf *text;
    size_t column;
};

static void start_line(struct lines *lines)
{
    weir_buf_printf(lines->text, "\n%*s", INDENT, "");
    lines->column = INDENT;
}

/* Appends words that stay on one line. */
static void add(struct lines *lines, const char *words)
{
    size_t length = strlen(words);
    if (lines->column > INDENT && lines->column + 1 + length > COLUMNS)
        start_line(lines);
    weir_buf_printf(lines->text, "%s%s", lines->column > INDENT ? " " : "", words);
    lines->column += length + (lines->column > INDENT);
}

/* As it is typed: "-m 1024", "--synth task", "-R". */
static void format_option(const struct weir_preset_option *chosen, char text[EVENT_MAX])
{
    bool negated;
    const struct weir_option *option = weir_option_find(&weir_record_command.options, chosen->name, &negated);
    const char *between = chosen->value ? " " : "", *value = chosen->value ? chosen->value : "";
    if (option && option->short_name && !negated)
        snprintf(text, EVENT_MAX, "-%c%s%s", option->short_name, between, value);
    else
        snprintf(text, EVENT_MAX, "--%s%s%s", chosen->name, between, value);
}

static void add_options(struct lines *lines, const struct weir_preset_option *options)
{
    char text[EVENT_MAX];
    for (; options && options->name; options++) {
        format_option(options, text);
        add(lines, text);
    }
}

static void add_choice(struct lines *lines, const struct weir_preset_choice *choice)
{
    for (const char *const *event = choice->events; *event; event++) {
        bool has_brace = strchr(*event, '{');
        char text[EVENT_MAX];
        snprintf(text, sizeof(text), has_brace ? "-e '%s'" : "-e %s", *event);
        add(lines, text);
    }
    if (!choice->events[0])
        add(lines, "nothing");
    add_options(lines, choice->options);
}

static void add_step(struct lines *lines, const struct weir_preset_step *step)
{
    start_line(lines);
    if (step->each)
        add(lines, "each that the machine has of");
    for (size_t i = 0; i < WEIR_PRESET_CHOICES && step->choices[i].events; i++) {
        if (i > 0) {
            start_line(lines);
            add(lines, "or else");
        }
        add_choice(lines, &step->choices[i]);
    }
}

void weir_preset_append_text(struct weir_buf *text, const struct weir_preset *preset)
{
    struct lines lines = {.text = text};
    weir_buf_printf(text, "%-*s%s", INDENT, preset->name, preset->summary);
    start_line(&lines);
    weir_buf_printf(text, "for %s", preset->readers);
    if (preset->options) {
        start_line(&lines);
        add_options(&lines, preset->options);
    }
    for (size_t i = 0; i < WEIR_PRESET_STEPS && preset->steps[i].choices[0].events; i++)
        add_step(&lines, &preset->steps[i]);
    weir_buf_printf(text, "\n");
}

/* ---- JSON ---- */

static void json_options(struct weir_buf *text, const struct weir_preset_option *options)
{
    char typed[EVENT_MAX];
    weir_buf_printf(text, "\"options\": [");
    for (const char *comma = ""; options && options->name; options++, comma = ", ") {
        format_option(options, typed);
        weir_buf_printf(text, "%s", comma);
        weir_text_append_json_string(text, typed);
    }
    weir_buf_printf(text, "]");
}

static void json_choice(struct weir_buf *text, const struct weir_preset_choice *choice)
{
    weir_buf_printf(text, "{\"events\": [");
    for (const char *const *event = choice->events; *event; event++) {
        weir_buf_printf(text, "%s", event == choice->events ? "" : ", ");
        weir_text_append_json_string(text, *event);
    }
    weir_buf_printf(text, "], ");
    json_options(text, choice->options);
    weir_buf_printf(text, "}");
}

static void json_step(struct weir_buf *text, const struct weir_preset_step *step)
{
    weir_buf_printf(text, "{\"each\": %s, \"choices\": [", step->each ? "true" : "false");
    for (size_t i = 0; i < WEIR_PRESET_CHOICES && step->choices[i].events; i++) {
        weir_buf_printf(text, "%s", i > 0 ? ", " : "");
        json_choice(text, &step->choices[i]);
    }
    weir_buf_printf(text, "]}");
}

void weir_preset_append_json(struct weir_buf *text, const struct weir_preset *preset)
{
    weir_buf_printf(text, "{\"name\": ");
    weir_text_append_json_string(text, preset->name);
    weir_buf_printf(text, ", \"summary\": ");
    weir_text_append_json_string(text, preset->summary);
    weir_buf_printf(text, ", \"readers\": ");
    weir_text_append_json_string(text, preset->readers);
    weir_buf_printf(text, ", ");
    json_options(text, preset->options);
    weir_buf_printf(text, ", \"steps\": [");
    for (size_t i = 0; i < WEIR_PRESET_STEPS && preset->steps[i].choices[0].events; i++) {
        weir_buf_printf(text, "%s", i > 0 ? ", " : "");
        json_step(text, &preset->steps[i]);
    }
    weir_buf_printf(text, "]}");
}
