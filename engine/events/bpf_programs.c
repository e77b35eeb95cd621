#include "engine/events/bpf_programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "engine/bpf/libbpf_listener.h"
#include "engine/events/bpf_compile.h"

#define HINT_OBJECT "clang -O2 -g -target bpf -c FILE.c -o FILE.o makes one, and so does -e FILE.c"
#define HINT_KERNEL "-v shows what libbpf and the kernel say"

struct program {
    struct bpf_program *program;        /* of the object */
    const struct weir_bpf_event *event; /* NULL: attached to a kprobe or the like, which is no event */
    struct bpf_link *link;              /* owned; NULL: not attached */
};

struct source {
    struct weir_bpf_event event;
    char *owned[2];      /* the texts that `event` points to */
    struct bpf_map *map; /* borrowed from the object; NULL: not an output */
};

struct weir_bpf_programs {
    char *path;                /* owned; as the user wrote it */
    struct bpf_object *object; /* owned */
    struct program *programs;  /* owned */
    size_t program_count;
    struct source *sources; /* owned */
    size_t source_count;
};

static int refuse(const struct weir_bpf_programs *programs, int code, const char *what,
                  const struct weir_libbpf_listener *heard, const char *hint, struct weir_error *err)
{
    char text[WEIR_LIBBPF_LINE_BYTES];
    const char *cause = weir_libbpf_listener_cause(heard, code, text);
    code = weir_libbpf_errno(code);
    weir_error_set(err, code, "cannot %s '%s': %s", what, programs->path, cause);
    weir_error_hint(err, "%s", hint);
    return code;
}

/* ---- open ---- */

static bool is_source(const char *path)
{
    size_t length = strlen(path);
    return length > 2 && strcmp(path + length - 2, ".c") == 0;
}

static int check_file(const char *path, struct weir_error *err)
{
    struct stat status;
    int code = stat(path, &status) < 0 ? -errno : S_ISREG(status.st_mode) ? 0 : -EINVAL;
    if (code == 0)
        return 0;
    weir_error_set_errno(err, code, "cannot read the BPF object file '%s'", path);
    weir_error_hint(err, HINT_OBJECT);
    return code;
}

static int open_object(struct weir_bpf_programs *programs, const struct weir_bpf_build *build, struct weir_error *err)
{
    char compiled[32];
    const char *path = programs->path;
    int fd = is_source(path) ? weir_bpf_compile(path, build, err) : check_file(path, err);
    if (fd < 0)
        return fd;
    if (is_source(path)) {
        snprintf(compiled, sizeof(compiled), "/proc/self/fd/%d", fd);
        path = compiled;
    }
    const struct bpf_object_open_opts options = {.sz = sizeof(options), .btf_custom_path = build->vmlinux};
    struct weir_libbpf_listener heard;
    weir_libbpf_listener_start(&heard, NULL);
    programs->object = bpf_object__open_file(path, &options);
    int code = programs->object ? 0 : -errno;
    weir_libbpf_listener_stop();
    if (path == compiled)
        close(fd);
    return code < 0 ? refuse(programs, code, "read BPF programs from", &heard, HINT_OBJECT, err) : 0;
}

/* ---- events of the file ---- */

static struct source *add_source(struct weir_bpf_programs *programs, const char *first, const char *second)
{
    struct source *source = &programs->sources[programs->source_count];
    source->owned[0] = strdup(first);
    source->owned[1] = second ? strdup(second) : NULL;
    programs->source_count++; /* counted first: free() has to see a half-filled one */
    return source->owned[0] && (!second || source->owned[1]) ? source : NULL;
}

/* Finds or adds the event of a tracepoint, which several programs may share. 0 or -ENOMEM. */
static int note_tracepoint(struct weir_bpf_programs *programs, struct program *program, const char *system,
                           const char *name)
{
    for (size_t i = 0; i < programs->source_count; i++) {
        const struct weir_bpf_event *event = &programs->sources[i].event;
        if (event->tracepoint_system && strcmp(event->tracepoint_system, system) == 0 &&
            strcmp(event->tracepoint_name, name) == 0) {
            program->event = event;
            return 0;
        }
    }
    struct source *source = add_source(programs, system, name);
    if (!source)
        return -ENOMEM;
    source->event = (struct weir_bpf_event){.tracepoint_system = source->owned[0], .tracepoint_name = source->owned[1]};
    program->event = &source->event;
    return 0;
}

/* The two words of PREFIX/SYSTEM/NAME or SYSTEM:NAME, cut out of a copy of the section's name. False: it is neither. */
static bool split_tracepoint(char *section, char **system, char **name)
{
    static const char *const prefixes[] = {"tracepoint/", "tp/"};
    char sign = ':';
    *system = section;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(prefixes); i++) {
        if (strncmp(section, prefixes[i], strlen(prefixes[i])) == 0) {
            *system = section + strlen(prefixes[i]);
            sign = '/';
        }
    }
    *name = strchr(*system, sign);
    if (!*name)
        return false;
    *(*name)++ = '\0';
    return **system && **name && !strpbrk(*system, "/=") && !strpbrk(*name, "/=:");
}

static int set_no_section(const struct weir_bpf_programs *programs, const char *section, struct weir_error *err)
{
    weir_error_set(err, -EINVAL, "section '%s' of '%s' does not say where to attach its program", section,
                   programs->path);
    weir_error_hint(
        err,
        "SEC(\"tracepoint/SYSTEM/NAME\"), SEC(\"kprobe/FUNCTION\") and other sections of libbpf do, and SYSTEM:NAME");
    return -EINVAL;
}

static int note_program(struct weir_bpf_programs *programs, struct bpf_program *found, struct weir_error *err)
{
    const char *section = bpf_program__section_name(found);
    struct program *program = &programs->programs[programs->program_count++];
    *program = (struct program){.program = found};
    char *copy = strdup(section), *system, *name;
    int result = copy ? 0 : -ENOMEM;
    if (copy && split_tracepoint(copy, &system, &name)) {
        bpf_program__set_type(found, BPF_PROG_TYPE_TRACEPOINT); /* libbpf does not know perf's form */
        result = note_tracepoint(programs, program, system, name);
    } else if (copy && bpf_program__type(found) == BPF_PROG_TYPE_UNSPEC) {
        result = set_no_section(programs, section, err);
    }
    free(copy);
    return result == -ENOMEM ? weir_error_set_errno(err, result, "cannot read '%s'", programs->path) : result;
}

static int note_output(struct weir_bpf_programs *programs, struct bpf_map *map, struct weir_error *err)
{
    if (bpf_map__type(map) != BPF_MAP_TYPE_PERF_EVENT_ARRAY)
        return 0;
    struct source *source = add_source(programs, bpf_map__name(map), NULL);
    if (!source)
        return weir_error_set_errno(err, -ENOMEM, "cannot read '%s'", programs->path);
    source->map = map;
    source->event = (struct weir_bpf_event){.output = source->owned[0]};
    return 0;
}

static int allocate(struct weir_bpf_programs *programs)
{
    size_t program_count = 0, map_count = 0;
    struct bpf_program *program;
    struct bpf_map *map;
    bpf_object__for_each_program(program, programs->object) program_count++;
    bpf_object__for_each_map(map, programs->object) map_count++;
    programs->programs = calloc(program_count + 1, sizeof(*programs->programs));
    programs->sources = calloc(program_count + map_count + 1, sizeof(*programs->sources));
    return programs->programs && programs->sources ? 0 : -ENOMEM;
}

static int find_sources(struct weir_bpf_programs *programs, struct weir_error *err)
{
    int result = allocate(programs);
    if (result < 0)
        return weir_error_set_errno(err, result, "cannot read '%s'", programs->path);
    struct bpf_program *program;
    struct bpf_map *map;
    bpf_object__for_each_program(program, programs->object)
    {
        if (result == 0)
            result = note_program(programs, program, err);
    }
    bpf_object__for_each_map(map, programs->object)
    {
        if (result == 0)
            result = note_output(programs, map, err);
    }
    if (result < 0)
        return result;
    if (programs->source_count > 0)
        return 0;
    weir_error_set(err, -EINVAL, "'%s' has nothing to record: no program of a tracepoint, and no output",
                   programs->path);
    weir_error_hint(err, "a map of type BPF_MAP_TYPE_PERF_EVENT_ARRAY is an output: bpf_perf_event_output() makes "
                         "samples of it");
    return -EINVAL;
}

int weir_bpf_programs_open(struct weir_bpf_programs **made, const char *path, const struct weir_bpf_build *build,
                           struct weir_error *err)
{
    struct weir_bpf_programs *programs = calloc(1, sizeof(*programs));
    if (programs)
        programs->path = strdup(path);
    if (!programs || !programs->path) {
        free(programs);
        return weir_error_set_errno(err, -ENOMEM, "cannot read '%s'", path);
    }
    int result = open_object(programs, build, err);
    if (result == 0)
        result = find_sources(programs, err);
    if (result == 0)
        *made = programs;
    else
        weir_bpf_programs_free(programs);
    return result;
}

void weir_bpf_programs_free(struct weir_bpf_programs *programs)
{
    if (!programs)
        return;
    weir_bpf_programs_detach(programs);
    bpf_object__close(programs->object);
    for (size_t i = 0; i < programs->source_count; i++) {
        free(programs->sources[i].owned[0]);
        free(programs->sources[i].owned[1]);
    }
    free(programs->programs);
    free(programs->sources);
    free(programs->path);
    free(programs);
}

const struct weir_bpf_event *weir_bpf_programs_event(const struct weir_bpf_programs *programs, size_t number)
{
    return number < programs->source_count ? &programs->sources[number].event : NULL;
}

/* ---- load, attach, detach ---- */

int weir_bpf_programs_load(struct weir_bpf_programs *programs, const struct weir_notice_sink *notices,
                           struct weir_error *err)
{
    struct weir_libbpf_listener heard;
    weir_libbpf_listener_start(&heard, notices);
    int code = bpf_object__load(programs->object);
    weir_libbpf_listener_stop();
    if (code == -EPERM) {
        weir_error_set_errno(err, code, "cannot load the BPF programs of '%s'", programs->path);
        weir_error_hint(err, "loading needs root, or CAP_BPF and CAP_PERFMON; " HINT_KERNEL);
        return code;
    }
    return code < 0 ? refuse(programs, code, "load the BPF programs of", &heard, HINT_KERNEL, err) : 0;
}

int weir_bpf_programs_set_output(const struct weir_bpf_programs *programs, size_t event, unsigned cpu, int fd)
{
    int map = bpf_map__fd(programs->sources[event].map);
    return bpf_map_update_elem(map, &cpu, &fd, BPF_ANY) < 0 ? -errno : 0;
}

static int attach_one(struct weir_bpf_programs *programs, struct program *program,
                      const struct weir_notice_sink *notices, struct weir_error *err)
{
    const struct weir_bpf_event *event = program->event;
    struct weir_libbpf_listener heard;
    weir_libbpf_listener_start(&heard, notices);
    program->link =
        event ? bpf_program__attach_tracepoint(program->program, event->tracepoint_system, event->tracepoint_name)
              : bpf_program__attach(program->program);
    int code = program->link ? 0 : -errno;
    weir_libbpf_listener_stop();
    if (code == 0)
        return 0;
    char what[WEIR_LIBBPF_LINE_BYTES];
    snprintf(what, sizeof(what), "attach '%s' of", bpf_program__section_name(program->program));
    return refuse(programs, code, what, &heard, HINT_KERNEL, err);
}

int weir_bpf_programs_attach(struct weir_bpf_programs *programs, const struct weir_notice_sink *notices,
                             struct weir_error *err)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < programs->program_count; i++)
        result = attach_one(programs, &programs->programs[i], notices, err);
    if (result < 0)
        weir_bpf_programs_detach(programs);
    return result;
}

void weir_bpf_programs_detach(struct weir_bpf_programs *programs)
{
    for (size_t i = 0; i < programs->program_count; i++) {
        bpf_link__destroy(programs->programs[i].link);
        programs->programs[i].link = NULL;
    }
}
