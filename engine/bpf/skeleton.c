#include "engine/bpf/skeleton.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"
#include "engine/bpf/libbpf_listener.h"

#define PROGRAMS_MAX 16

#define KERNEL_TYPES "/sys/kernel/btf/vmlinux"
#define HINT_KERNEL  "-v shows what libbpf and the kernel say"

struct weir_skeleton {
    struct weir_skeleton_setup setup;
    struct bpf_object *object;            /* owned */
    struct bpf_link *links[PROGRAMS_MAX]; /* owned; of the programs that are attached */
    size_t link_count;
};

static int refuse(const struct weir_skeleton *skeleton, int code, const char *what,
                  const struct weir_libbpf_listener *heard, struct weir_error *err)
{
    char text[WEIR_LIBBPF_LINE_BYTES];
    const char *cause = weir_libbpf_listener_cause(heard, code, text);
    code = weir_libbpf_errno(code);
    if (code == -EPERM) {
        weir_error_set_errno(err, code, "cannot %s the BPF programs of %s", what, skeleton->setup.user);
        weir_error_hint(err, "run weir as root, or with CAP_BPF and CAP_PERFMON; " HINT_KERNEL);
        return code;
    }
    weir_error_set(err, code, "cannot %s the BPF programs of %s: %s", what, skeleton->setup.user, cause);
    weir_error_hint(err, HINT_KERNEL);
    return code;
}

static int check_prerequisites(const struct weir_skeleton_setup *setup, struct weir_error *err)
{
    if (setup->image_bytes == 0) {
        weir_error_set(err, -EOPNOTSUPP, "%s needs BPF programs, and this weir was built without them", setup->user);
        weir_error_hint(err, "build weir where clang and bpftool are installed; 'weir version --build-options' lists "
                             "the parts of this one");
        return -EOPNOTSUPP;
    }
    const char *btf = setup->btf ? setup->btf : KERNEL_TYPES;
    if (access(btf, R_OK) == 0)
        return 0;
    weir_error_set(err, -EOPNOTSUPP, "%s needs BPF programs, and the kernel does not describe its types to them (%s)",
                   setup->user, btf);
    weir_error_hint(err, "record under a kernel with CONFIG_DEBUG_INFO_BTF=y");
    return -EOPNOTSUPP;
}

int weir_skeleton_open(struct weir_skeleton **made, const struct weir_skeleton_setup *setup, struct weir_error *err)
{
    int result = check_prerequisites(setup, err);
    if (result < 0)
        return result;
    struct weir_skeleton *skeleton = calloc(1, sizeof(*skeleton));
    if (!skeleton)
        return weir_error_set_errno(err, -ENOMEM, "cannot read the BPF programs of %s", setup->user);
    skeleton->setup = *setup;
    const struct bpf_object_open_opts options = {.sz = sizeof(options), .object_name = "weir"};
    struct weir_libbpf_listener heard;
    weir_libbpf_listener_start(&heard, setup->notices);
    skeleton->object = bpf_object__open_mem(setup->image, setup->image_bytes, &options);
    int code = skeleton->object ? 0 : -errno;
    weir_libbpf_listener_stop();
    if (code < 0) {
        result = refuse(skeleton, code, "read", &heard, err);
        weir_skeleton_free(skeleton);
        return result;
    }
    *made = skeleton;
    return 0;
}

void weir_skeleton_free(struct weir_skeleton *skeleton)
{
    if (!skeleton)
        return;
    weir_skeleton_detach(skeleton);
    bpf_object__close(skeleton->object);
    free(skeleton);
}

static struct bpf_map *find_map(const struct weir_skeleton *skeleton, const char *name)
{
    struct bpf_map *map = bpf_object__find_map_by_name(skeleton->object, name);
    weir_assert(map);
    return map;
}

static struct bpf_program *find_program(const struct weir_skeleton *skeleton, const char *name)
{
    struct bpf_program *program = bpf_object__find_program_by_name(skeleton->object, name);
    weir_assert(program);
    return program;
}

void *weir_skeleton_variables(const struct weir_skeleton *skeleton, const char *section, size_t bytes)
{
    size_t found = 0;
    /* The skeletons of bpftool write there, too; later versions of libbpf return no const. */
    void *variables = (void *)bpf_map__initial_value(find_map(skeleton, section), &found);
    weir_assert(variables && found == bytes);
    return variables;
}

void weir_skeleton_size_map(const struct weir_skeleton *skeleton, const char *map, uint32_t entries)
{
    int result = bpf_map__set_max_entries(find_map(skeleton, map), entries);
    weir_assert(result == 0);
}

void weir_skeleton_omit(const struct weir_skeleton *skeleton, const char *program)
{
    int result = bpf_program__set_autoload(find_program(skeleton, program), false);
    weir_assert(result == 0);
}

/* Puts the map behind the memory of its variables, at the same address, as the skeletons of bpftool do. */
static int share_variables(const struct weir_skeleton *skeleton)
{
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    struct bpf_map *map;
    bpf_object__for_each_map(map, skeleton->object)
    {
        size_t bytes;
        if (!bpf_map__is_internal(map) || !(bpf_map__map_flags(map) & BPF_F_MMAPABLE))
            continue;
        void *variables = (void *)bpf_map__initial_value(map, &bytes);
        int allowed = bpf_map__map_flags(map) & BPF_F_RDONLY_PROG ? PROT_READ : PROT_READ | PROT_WRITE;
        bytes = (bytes + page_bytes - 1) / page_bytes * page_bytes;
        if (variables && mmap(variables, bytes, allowed, MAP_SHARED | MAP_FIXED, bpf_map__fd(map), 0) == MAP_FAILED)
            return -errno;
    }
    return 0;
}

int weir_skeleton_load(struct weir_skeleton *skeleton, struct weir_error *err)
{
    struct weir_libbpf_listener heard;
    weir_libbpf_listener_start(&heard, skeleton->setup.notices);
    int code = bpf_object__load(skeleton->object);
    if (code == 0)
        code = share_variables(skeleton);
    weir_libbpf_listener_stop();
    return code < 0 ? refuse(skeleton, code, "load", &heard, err) : 0;
}

int weir_skeleton_map(const struct weir_skeleton *skeleton, const char *map)
{
    return bpf_map__fd(find_map(skeleton, map));
}

int weir_skeleton_program(const struct weir_skeleton *skeleton, const char *program)
{
    return bpf_program__fd(find_program(skeleton, program));
}

int weir_skeleton_attach(struct weir_skeleton *skeleton, struct weir_error *err)
{
    struct bpf_program *program;
    bpf_object__for_each_program(program, skeleton->object)
    {
        if (!bpf_program__autoload(program))
            continue;
        weir_assert(skeleton->link_count < PROGRAMS_MAX);
        struct weir_libbpf_listener heard;
        weir_libbpf_listener_start(&heard, skeleton->setup.notices);
        struct bpf_link *link = bpf_program__attach(program);
        int code = link ? 0 : -errno;
        weir_libbpf_listener_stop();
        if (code < 0) {
            weir_skeleton_detach(skeleton);
            return refuse(skeleton, code, "attach", &heard, err);
        }
        skeleton->links[skeleton->link_count++] = link;
    }
    return 0;
}

void weir_skeleton_detach(struct weir_skeleton *skeleton)
{
    while (skeleton && skeleton->link_count > 0)
        bpf_link__destroy(skeleton->links[--skeleton->link_count]);
}
