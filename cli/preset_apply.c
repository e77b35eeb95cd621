/*
 * From the names of presets to options and events. An option is applied by its row, as if it were typed. Main thread.
 */
#include "cli/preset_apply.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/suggest.h"
#include "cli/config_options.h"
#include "cli/presets.h"

/* Applies an option of the preset and notes it. 0 or -errno with err. */
static int apply_option(const struct weir_preset_target *target, const struct weir_preset *preset,
                        const struct weir_preset_option *chosen, struct weir_error *err)
{
    bool negated;
    const struct weir_setting setting = {.option = weir_option_find(target->table, chosen->name, &negated),
                                         .value = chosen->value,
                                         .preset = preset->name};
    if (!setting.option)
        return weir_error_set(err, -EINVAL, "preset '%s': no option --%s", preset->name, chosen->name);
    if (weir_settings_add(target->settings, &setting) < 0)
        return weir_error_set_errno(err, -ENOMEM, "cannot keep the options of preset '%s'", preset->name);
    return weir_option_apply(target->table, target->arguments, setting.option, false, chosen->value, err);
}

/* Those that the command line leaves in force. options: NULL for none. */
static int apply_options(const struct weir_preset_target *target, const struct weir_preset *preset,
                         const struct weir_preset_option *options, struct weir_error *err)
{
    int result = 0;
    for (; result == 0 && options && options->name; options++) {
        bool negated;
        const struct weir_option *option = weir_option_find(target->table, options->name, &negated);
        if (!option || !weir_config_is_overruled(target->given, option))
            result = apply_option(target, preset, options, err);
    }
    return result;
}

/* 0 when the machine knows the event; else the event parser's error. */
static int look_up(const struct weir_preset_target *target, const char *event, struct weir_error *err)
{
    struct weir_event_list scratch = WEIR_EVENT_LIST_INIT;
    int result = weir_event_list_parse(&scratch, event, target->sources, err);
    weir_event_list_fini(&scratch);
    return result;
}

static int look_up_all(const struct weir_preset_target *target, const char *const *events, struct weir_error *err)
{
    int result = 0;
    for (; result == 0 && *events; events++)
        result = look_up(target, *events, err);
    return result;
}

/* Adds an event unless an earlier preset has. 0 or -errno with err. */
static int add_event(const struct weir_preset_target *target, const struct weir_preset *preset, const char *event,
                     struct weir_error *err)
{
    const struct weir_text_list *there = &target->arguments->events;
    for (size_t i = 0; i < there->count; i++) {
        if (strcmp(there->items[i], event) == 0)
            return 0;
    }
    const struct weir_preset_option option = {"event", event};
    return apply_option(target, preset, &option, err);
}

static int apply_choice(const struct weir_preset_target *target, const struct weir_preset *preset,
                        const struct weir_preset_choice *choice, struct weir_error *err)
{
    if (choice->notice)
        weir_notice(target->notices, WEIR_NOTICE_INFO, "preset '%s': %s", preset->name, choice->notice);
    int result = apply_options(target, preset, choice->options, err);
    for (const char *const *event = choice->events; result == 0 && *event; event++)
        result = add_event(target, preset, *event, err);
    return result;
}

/* first: what the parser says of the first choice. */
static int fail_unknown_events(const struct weir_preset *preset, const struct weir_error *first, struct weir_error *err)
{
    bool is_lack = first->code == -ENOENT || first->code == -EINVAL;
    if (is_lack && preset->needs)
        weir_error_set(err, first->code, "preset '%s' needs %s", preset->name, preset->needs);
    else
        weir_error_set(err, first->code, "preset '%s': %s", preset->name, first->what);
    weir_error_hint(err, "%s", first->hint[0] ? first->hint : "'weir list presets' shows the events of each preset");
    return first->code;
}

/* Each event that the machine knows; one at least. */
static int apply_each(const struct weir_preset_target *target, const struct weir_preset *preset,
                      const struct weir_preset_step *step, struct weir_error *err)
{
    struct weir_error first = {0};
    const char *missing = NULL;
    size_t missing_count = 0, count = 0;
    for (const char *const *event = step->choices[0].events; *event; event++) {
        struct weir_error reason = {0};
        int result = look_up(target, *event, &reason);
        if (result == 0) {
            result = add_event(target, preset, *event, err);
            count++;
        } else if (result != -ENOMEM) {
            first = missing ? first : reason;
            missing = missing ? missing : *event;
            missing_count++;
            continue;
        }
        if (result < 0)
            return result;
    }
    if (count == 0)
        return fail_unknown_events(preset, &first, err);
    if (missing)
        weir_notice(target->notices, WEIR_NOTICE_INFO,
                    "preset '%s': recorded without %zu events that this machine "
                    "lacks, such as %s",
                    preset->name, missing_count, missing);
    return 0;
}

static int apply_step(const struct weir_preset_target *target, const struct weir_preset *preset,
                      const struct weir_preset_step *step, struct weir_error *err)
{
    struct weir_error first = {0};
    if (step->each)
        return apply_each(target, preset, step, err);
    for (size_t i = 0; i < WEIR_PRESET_CHOICES && step->choices[i].events; i++) {
        struct weir_error reason = {0};
        int result = look_up_all(target, step->choices[i].events, &reason);
        if (result == 0)
            return apply_choice(target, preset, &step->choices[i], err);
        if (i == 0)
            first = reason;
    }
    return fail_unknown_events(preset, &first, err);
}

static int apply_preset(const struct weir_preset_target *target, const struct weir_preset *preset,
                        struct weir_error *err)
{
    int result = apply_options(target, preset, preset->options, err);
    for (size_t i = 0; result == 0 && i < WEIR_PRESET_STEPS && preset->steps[i].choices[0].events; i++)
        result = apply_step(target, preset, &preset->steps[i], err);
    return result;
}

static const struct weir_preset *find(const char *name)
{
    const struct weir_preset *preset;
    size_t i = 0;
    while ((preset = weir_preset_at(i)) && strcmp(preset->name, name) != 0)
        i++;
    return preset;
}

int weir_preset_apply_name(void *object, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *arguments = object;
    if (find(text))
        return weir_text_list_add(&arguments->presets, text) < 0
                   ? weir_error_set_errno(err, -ENOMEM, "option '--preset'")
                   : 0;
    struct weir_suggest suggest;
    weir_suggest_init(&suggest, text);
    for (size_t i = 0; weir_preset_at(i); i++)
        weir_suggest_offer(&suggest, weir_preset_at(i)->name);
    weir_error_set(err, -EINVAL, "option '--preset': unknown preset '%s'", text);
    if (weir_suggest_best(&suggest))
        weir_error_hint(err, "did you mean '%s'?", weir_suggest_best(&suggest));
    else
        weir_error_hint(err, "'weir list presets' shows all presets");
    return -EINVAL;
}

int weir_presets_apply(const struct weir_preset_target *target, const struct weir_text_list *names,
                       struct weir_error *err)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < names->count; i++)
        result = apply_preset(target, find(names->items[i]), err);
    return result;
}
