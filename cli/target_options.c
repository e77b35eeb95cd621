/*
 * Targets of `weir record`. The rules are those of target__validate(), tools/perf/util/target.c, and cmd_record(),
 * tools/perf/builtin-record.c, Linux 6.1; of several warnings perf gives the first. Main thread.
 */
#include "cli/target_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/container_names.h"
#include "engine/events/cgroup.h"
#include "engine/events/cgroup_find.h"
#include "engine/events/user_filter.h"
#include "engine/kernel/kernel_limits.h"

static int parse_ids(const char *option, const char *text, const char *hint, pid_t **ids, size_t *count,
                     struct weir_error *err)
{
    pid_t *parsed;
    size_t parsed_count;
    struct weir_error below = {0};
    int result = weir_targets_parse_pids(text, &parsed, &parsed_count, &below);
    if (result < 0) {
        weir_error_set(err, result, "option '%s': %s", option, below.what);
        weir_error_hint(err, "%s", hint);
        return result;
    }
    free(*ids);
    *ids = parsed;
    *count = parsed_count;
    return 0;
}

int weir_target_options_apply_pids(void *arguments, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *record = arguments;
    return parse_ids("--pid", text, "process ids are positive numbers, such as 4242 or 4242,4243", &record->pids,
                     &record->pid_count, err);
}

int weir_target_options_apply_tids(void *arguments, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *record = arguments;
    return parse_ids("--tid", text, "thread ids are positive numbers, such as 4242 or 4242,4243", &record->tids,
                     &record->tid_count, err);
}

int weir_target_options_apply_no_inherit(void *arguments, const char *text, struct weir_error *err)
{
    (void)text, (void)err;
    struct weir_record_arguments *record = arguments;
    record->options.targets.no_inherit = record->inherit_given = true;
    record->options.targets.inherit_reads = false;
    return 0;
}

void weir_target_options_clear_no_inherit(void *arguments)
{
    struct weir_record_arguments *record = arguments;
    record->options.targets.no_inherit = false;
    record->options.targets.inherit_reads = record->inherit_given = true;
}

/* ---- cgroups ---- */

static int add_scope(struct weir_record_arguments *record, enum weir_cgroup_kind kind, const char *option,
                     const char *text, struct weir_error *err)
{
    size_t length = strlen(text);
    if (text[0] == '\0' || text[0] == ',' || text[length - 1] == ',' || strstr(text, ",,")) {
        weir_error_set(err, -EINVAL, "option '%s': '%s' has an empty name", option, text);
        weir_error_hint(err, "names with commas between them: %s A,B", option);
        return -EINVAL;
    }
    struct weir_record_scope *scopes = reallocarray(record->scopes, record->scope_count + 1, sizeof(*scopes));
    if (!scopes)
        return weir_error_set_errno(err, -ENOMEM, "cannot keep option '%s'", option);
    record->scopes = scopes;
    scopes[record->scope_count++] = (struct weir_record_scope){kind, text};
    return 0;
}

int weir_target_options_apply_units(void *arguments, const char *text, struct weir_error *err)
{
    return add_scope(arguments, WEIR_CGROUP_UNIT, "--unit", text, err);
}

int weir_target_options_apply_containers(void *arguments, const char *text, struct weir_error *err)
{
    return add_scope(arguments, WEIR_CGROUP_CONTAINER, "--container", text, err);
}

/* A container that no id belongs to may be known by its name. */
static int find_container(const char *name, struct weir_cgroup_paths *paths, struct weir_error *err)
{
    char id[WEIR_CONTAINER_ID_BYTES];
    int result = weir_cgroup_find(WEIR_CGROUP_CONTAINER, name, NULL, paths, err);
    if (result != -ENOENT || !weir_container_names_find(name, "", id))
        return result;
    return weir_cgroup_find(WEIR_CGROUP_CONTAINER, id, NULL, paths, err);
}

static int find_scope(const struct weir_record_scope *scope, struct weir_cgroup_paths *paths, struct weir_error *err)
{
    int result = 0;
    for (const char *name = scope->names; result == 0 && *name;) {
        size_t length = strcspn(name, ",");
        char *one = strndup(name, length);
        if (!one)
            return weir_error_set_errno(err, -ENOMEM, "cannot look for '%s'", scope->names);
        result = scope->kind == WEIR_CGROUP_CONTAINER ? find_container(one, paths, err)
                                                      : weir_cgroup_find(scope->kind, one, NULL, paths, err);
        free(one);
        name += length + (name[length] == ',');
    }
    return result;
}

int weir_target_options_find_cgroups(const struct weir_record_arguments *arguments, struct weir_cgroup_paths *paths,
                                     struct weir_error *err)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < arguments->scope_count; i++)
        result = find_scope(&arguments->scopes[i], paths, err);
    return result;
}

int weir_target_options_apply_cgroups(void *arguments, const char *text, struct weir_error *err)
{
    struct weir_record_arguments *record = arguments;
    if (text[0] == '\0') {
        weir_error_set(err, -EINVAL, "option '--cgroup': the argument is empty");
        weir_error_hint(err, "the names of cgroups, which are paths such as user.slice/a,user.slice/b");
        return -EINVAL;
    }
    if (weir_cgroup_is_pattern(text))
        return add_scope(record, WEIR_CGROUP_PATTERN, "--cgroup", text, err);
    struct weir_record_cgroups *cgroups = reallocarray(record->cgroups, record->cgroups_count + 1, sizeof(*cgroups));
    if (!cgroups)
        return weir_error_set_errno(err, -ENOMEM, "cannot keep option '--cgroup'");
    record->cgroups = cgroups;
    cgroups[record->cgroups_count++] = (struct weir_record_cgroups){text, record->events.count};
    return 0;
}

int weir_target_options_assign_cgroups(const struct weir_record_arguments *arguments, size_t texts,
                                       struct weir_event_list *events, size_t *given, struct weir_error *err)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < arguments->cgroups_count; i++) {
        if (arguments->cgroups[i].events_before == texts)
            result = weir_cgroup_assign(events, arguments->cgroups[i].names, given, err);
    }
    return result;
}

/* Gives the first warning only. */
static void override(const struct weir_notice_sink *notices, bool *told, const char *text)
{
    if (!*told)
        weir_notice(notices, WEIR_NOTICE_WARNING, "%s", text);
    *told = true;
}

int weir_target_options_resolve(struct weir_record_arguments *arguments, const struct weir_notice_sink *notices,
                                struct weir_error *err)
{
    bool has_ids = arguments->pid_count > 0 || arguments->tid_count > 0;
    bool has_cpus = !weir_cpuset_is_empty(&arguments->cpus);
    bool told = false;
    if (!has_ids && !arguments->user && !has_cpus && !arguments->options.targets.command)
        arguments->options.targets.system_wide = true;
    if (arguments->tid_count > 0 && !arguments->inherit_given)
        arguments->options.targets.no_inherit = true;

    if (has_ids && has_cpus)
        override(notices, &told, "PID/TID switch overriding CPU");
    if (has_ids && arguments->user) {
        override(notices, &told, "PID/TID switch overriding UID");
        arguments->user = NULL;
    }
    if (arguments->user && has_cpus)
        override(notices, &told, "UID switch overriding CPU");
    if (has_ids && arguments->options.targets.system_wide)
        override(notices, &told, "PID/TID switch overriding SYSTEM");
    if (arguments->user && arguments->options.targets.system_wide)
        override(notices, &told, "UID switch overriding SYSTEM");

    if (has_ids || arguments->user) {
        weir_cpuset_fini(&arguments->cpus);
        arguments->options.targets.system_wide = false;
    } else if (has_cpus) {
        arguments->options.targets.system_wide = true;
    }
    if (arguments->scope_count > 0 && (has_ids || arguments->user || arguments->cgroups_count > 0)) {
        weir_error_set(err, -EINVAL, "options '--unit', '--container' and patterns of -G name all that is recorded");
        weir_error_hint(err, "leave out -p, -t, -u, and -G without a pattern");
        return -EINVAL;
    }
    if (arguments->scope_count > 0)
        arguments->options.targets.system_wide = true;
    if (arguments->latency && arguments->options.targets.system_wide && !has_cpus) {
        weir_error_set(err, -EINVAL,
                       "option '--latency' needs tasks: what a whole machine waits for has no meaning yet");
        weir_error_hint(err, "name a command, or tasks with -p, -t or -u");
        return -EINVAL;
    }
    if (arguments->options.targets.per_thread && arguments->options.targets.system_wide) {
        override(notices, &told, "SYSTEM/CPU switch overriding PER-THREAD");
        arguments->options.targets.per_thread = false;
    }
    if (arguments->cgroups_count > 0 && !arguments->options.targets.system_wide) {
        weir_error_set(err, -EINVAL, "cgroup monitoring only available in system-wide mode");
        weir_error_hint(err, "add -a, or -C with a list of CPUs, and leave out -p, -t and -u");
        return -EINVAL;
    }
    return 0;
}

int weir_target_options_fill(struct weir_record_arguments *arguments, struct weir_error *err)
{
    struct weir_target_spec target = {.kind = WEIR_TARGET_ALL};
    if (arguments->pid_count > 0) { /* before -t, as in perf */
        target = (struct weir_target_spec){
            .kind = WEIR_TARGET_PROCESSES, .ids = arguments->pids, .id_count = arguments->pid_count};
    } else if (arguments->tid_count > 0) {
        target = (struct weir_target_spec){
            .kind = WEIR_TARGET_THREADS, .ids = arguments->tids, .id_count = arguments->tid_count};
    } else if (arguments->user) {
        target.kind = WEIR_TARGET_USER;
        int result = weir_targets_parse_user(arguments->user, &target.uid, err);
        if (result < 0)
            return result;
    }
    arguments->options.targets.cpus = weir_cpuset_is_empty(&arguments->cpus) ? NULL : &arguments->cpus;
    arguments->options.targets.spec = target;
    return 0;
}

/* An option that needs named tasks; NULL: none is given. */
static const char *needs_tasks(const struct weir_record_arguments *arguments)
{
    const struct weir_record_options *options = &arguments->options;
    return options->targets.per_thread     ? "--per-thread records single tasks"
           : options->targets.no_inherit   ? "-i leaves out new tasks"
           : options->targets.inherit_stat ? "-s reads the counts of single tasks"
           : arguments->latency            ? "--latency is for tasks"
                                           : NULL;
}

int weir_target_options_filter_user(struct weir_record_arguments *arguments, struct weir_event_list *events,
                                    const struct weir_notice_sink *notices, struct weir_error *err)
{
    struct weir_record_options *options = &arguments->options;
    if (options->targets.spec.kind != WEIR_TARGET_USER)
        return 0;
    struct weir_kernel_limits limits;
    weir_kernel_limits_read(&limits, NULL);
    struct weir_error obstacle = {0};
    const char *why = needs_tasks(arguments);
    if (!why && !weir_user_filter_is_possible(events, &limits, NULL, &obstacle))
        why = obstacle.what;
    if (why) {
        weir_notice(notices, WEIR_NOTICE_VERBOSE, "-u: the user's tasks of now and their children, by /proc: %s", why);
        return 0;
    }
    weir_notice(notices, WEIR_NOTICE_VERBOSE, "-u: all tasks, of which a sample filter keeps those of user %u",
                (unsigned)options->targets.spec.uid);
    int result = weir_user_filter_add(events, options->targets.spec.uid, err);
    options->off_cpu.of_user = true;
    options->off_cpu.uid = options->targets.spec.uid;
    options->targets.spec = (struct weir_target_spec){.kind = WEIR_TARGET_ALL};
    options->targets.system_wide = true;
    return result;
}
