/*
 * `weir list`: which sections, which of their entries, in which form. Main thread.
 *
 * What is there is listed also when tracefs may not be read; that is an error only when nothing but tracepoints was
 * asked for.
 */
#include "cli/list_command.h"

#include <errno.h>
#include <string.h>

#include "cli/answer.h"
#include "cli/exit_status.h"
#include "cli/list_options.h"
#include "cli/list_report.h"
#include "cli/preset_text.h"
#include "engine/events/event_catalog.h"
#include "engine/events/pfm.h"

struct selection {
    const struct weir_list_arguments *arguments;
    struct weir_list_report *report;
    unsigned sections; /* that were named */
};

/* The sections to look through: those that were named, all for patterns, only tracepoints for those with a colon. */
static unsigned sections_to_visit(const struct selection *selection)
{
    unsigned sections = selection->sections;
    if (!selection->arguments->words[0])
        return WEIR_CATALOG_ALL;
    for (char *const *word = selection->arguments->words; *word; word++) {
        if (!weir_catalog_section(*word))
            sections |= weir_catalog_sections_of_pattern(*word);
    }
    return sections;
}

static int add_selected(void *ctx, const struct weir_catalog_entry *entry)
{
    struct selection *selection = ctx;
    char *const *word = selection->arguments->words;
    bool selected = !word[0] || (selection->sections & entry->section);
    for (; !selected && *word; word++)
        selected = !weir_catalog_section(*word) && !entry->is_form && weir_catalog_matches(entry, *word);
    if (selected)
        weir_list_report_add(selection->report, entry);
    return 0;
}

/* A section may be empty: a machine without a PMU has no hardware events. A pattern is to match something. */
static bool has_pattern(const struct weir_list_arguments *arguments)
{
    for (char *const *word = arguments->words; *word; word++) {
        if (!weir_catalog_section(*word))
            return true;
    }
    return false;
}

static int fail_no_match(const struct weir_print *print)
{
    struct weir_error err = {0};
    weir_error_set(&err, -ENOENT, "no event of this machine matches");
    weir_error_hint(&err, "'weir list' shows all; a pattern without a colon matches any part of a name");
    weir_print_error(print, &err);
    return WEIR_EXIT_FAILURE;
}

static void tell_of_no_hardware(const struct weir_print *print)
{
    struct weir_error err = {0};
    weir_error_set(&err, -ENOENT, "this machine has no hardware events");
    weir_error_hint(&err, "it has no PMU, or its hypervisor hides the PMU; 'weir list sw' shows software events");
    weir_print_error(print, &err);
}

static void tell_of_no_pfm(const struct weir_print *print)
{
    struct weir_error err = {0};
    weir_error_set(&err, -ENOENT, "no events by libpfm4's names");
    weir_error_hint(&err, "%s", weir_pfm_hint());
    weir_print_error(print, &err);
}

static int list(const struct weir_list_arguments *arguments, const struct weir_print *print)
{
    struct weir_buf text = WEIR_BUF_INIT;
    struct weir_list_report report = {
        .text = &text, .json = arguments->json, .names = arguments->raw_dump, .details = arguments->details};
    struct selection selection = {.arguments = arguments, .report = &report};
    for (char *const *word = arguments->words; *word; word++)
        selection.sections |= weir_catalog_section(*word);

    struct weir_error err = {0};
    const struct weir_catalog_setup setup = {.kernel = &weir_kernel_linux, .sections = sections_to_visit(&selection)};
    int result = weir_catalog_visit(&setup, add_selected, &selection, &err);
    if (result < 0)
        weir_print_error(print, &err);
    bool tracepoints_only = setup.sections == WEIR_CATALOG_TRACEPOINT;
    if (result == -ENOMEM || (result < 0 && tracepoints_only)) {
        weir_buf_fini(&text);
        return WEIR_EXIT_FAILURE;
    }
    weir_list_report_end(&report);
    if (report.count == 0 && !arguments->json && selection.sections & WEIR_CATALOG_HARDWARE)
        tell_of_no_hardware(print);
    if (report.count == 0 && !arguments->json && selection.sections & WEIR_CATALOG_PFM)
        tell_of_no_pfm(print);
    int status = weir_answer_text(print, &text);
    return status == WEIR_EXIT_OK && report.count == 0 && has_pattern(arguments) ? fail_no_match(print) : status;
}

static int fail_no_preset(const struct weir_print *print, const char *name)
{
    struct weir_error err = {0};
    weir_error_set(&err, -ENOENT, "no preset '%s'", name);
    weir_error_hint(&err, "'weir list presets' shows all presets");
    weir_print_error(print, &err);
    return WEIR_EXIT_FAILURE;
}

/* The preset with that number; of those that words name, where there are any. NULL: behind the last one. */
static const struct weir_preset *selected_preset(char *const *words, size_t index, const char **unknown)
{
    const struct weir_preset *preset;
    if (!words[0])
        return weir_preset_at(index);
    for (size_t i = 0; words[index] && (preset = weir_preset_at(i)); i++) {
        if (strcmp(preset->name, words[index]) == 0)
            return preset;
    }
    *unknown = words[index]; /* NULL behind the last word */
    return NULL;
}

/* words: behind "presets", the names of presets; none: all presets. */
static int list_presets(const struct weir_list_arguments *arguments, char *const *words, const struct weir_print *print)
{
    struct weir_buf text = WEIR_BUF_INIT;
    const struct weir_preset *preset;
    const char *unknown = NULL;
    for (size_t i = 0; (preset = selected_preset(words, i, &unknown)); i++) {
        if (arguments->json) {
            weir_buf_printf(&text, i == 0 ? "[\n  " : ",\n  ");
            weir_preset_append_json(&text, preset);
        } else if (arguments->raw_dump) {
            weir_buf_printf(&text, "%s\n", preset->name);
        } else {
            weir_buf_printf(&text, i == 0 ? "" : "\n");
            weir_preset_append_text(&text, preset);
        }
    }
    if (unknown) {
        weir_buf_fini(&text);
        return fail_no_preset(print, unknown);
    }
    if (arguments->json)
        weir_buf_printf(&text, "\n]\n");
    return weir_answer_text(print, &text);
}

int weir_list_main(const struct weir_invocation *invocation)
{
    struct weir_print print = {.stream = stderr};
    struct weir_error err = {0};
    struct weir_list_arguments arguments = {0};
    int result = weir_list_arguments_parse(&arguments, invocation->arguments, &err);
    if (result == WEIR_OPTIONS_HELP)
        return weir_answer_help(&print, &weir_list_command, invocation->arguments);
    if (result < 0)
        return weir_answer_refusal(&print, result, &err);
    if (arguments.words[0] && strcmp(arguments.words[0], "presets") == 0)
        return list_presets(&arguments, arguments.words + 1, &print);
    return list(&arguments, &print);
}
