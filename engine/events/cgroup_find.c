#include "engine/events/cgroup_find.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bits.h"
#include "base/directory.h"
#include "format/cgroup_mount.h"

#define DEPTH_MAX   32u /* of folders; cgroup.max.depth has no limit */
#define ID_DIGITS   64u
#define SHORT_ID    12u /* digits of an id that messages show, as docker does */
#define UNIT_BYTES  (NAME_MAX + 1)
#define DIGITS      "0123456789abcdef"
#define USER_FOLDER "user@*.service"

/* ---- paths ---- */

void weir_cgroup_paths_fini(struct weir_cgroup_paths *paths)
{
    if (!paths)
        return;
    for (size_t i = 0; i < paths->count; i++)
        free(paths->at[i]);
    free(paths->at);
    *paths = (struct weir_cgroup_paths){0};
}

static int add(struct weir_cgroup_paths *paths, const char *path)
{
    for (size_t i = 0; i < paths->count; i++) {
        if (strcmp(paths->at[i], path) == 0)
            return 0;
    }
    if (paths->count == WEIR_CGROUP_FIND_MAX)
        return -E2BIG;
    char **at = weir_array_grow(paths->at, sizeof(*at), paths->count, 1, &paths->capacity);
    char *copy = at ? strdup(path) : NULL;
    paths->at = at ? at : paths->at;
    if (!copy)
        return -ENOMEM;
    paths->at[paths->count++] = copy;
    return 0;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* ---- names of folders ---- */

bool weir_cgroup_is_pattern(const char *name)
{
    return name[strcspn(name, "*?[")] != '\0';
}

bool weir_cgroup_is_container_id(const char *text)
{
    size_t digits = strspn(text, DIGITS);
    return digits > 0 && digits <= ID_DIGITS && text[digits] == '\0';
}

/* The id in a folder's name, or NULL. The monitor of a container (conmon) has its id, too. */
static const char *container_id(const char *folder)
{
    static const char scope[] = ".scope";
    size_t length = strlen(folder);
    if (length > strlen(scope) && strcmp(folder + length - strlen(scope), scope) == 0)
        length -= strlen(scope);
    if (length < ID_DIGITS || strstr(folder, "conmon"))
        return NULL;
    const char *id = folder + length - ID_DIGITS;
    bool is_alone = id == folder || id[-1] == '-';
    return is_alone && strspn(id, DIGITS) == ID_DIGITS ? id : NULL;
}

struct search {
    enum weir_cgroup_kind kind;
    const char *name;
    char unit[UNIT_BYTES];
    bool in_user_managers;
    struct weir_cgroup_paths *found;
};

/* Completes the name of a unit: its type, and the instances of a template. */
static int complete_unit(struct search *search)
{
    static const char *const types[] = {".service", ".slice", ".scope", ".mount", ".socket", ".swap"};
    const char *dot = strrchr(search->name, '.'), *type = NULL;
    for (size_t i = 0; dot && i < WEIR_ARRAY_COUNT(types); i++)
        type = strcmp(dot, types[i]) == 0 ? types[i] : type;
    size_t length = strlen(search->name) - (type ? strlen(type) : 0);
    bool is_template = length > 0 && search->name[length - 1] == '@';
    int used = snprintf(search->unit, sizeof(search->unit), "%.*s%s%s", (int)length, search->name,
                        is_template ? "*" : "", type ? type : types[0]);
    return used < (int)sizeof(search->unit) ? 0 : -ENAMETOOLONG;
}

static bool is_wanted(const struct search *search, const char *folder)
{
    if (search->kind == WEIR_CGROUP_UNIT)
        return fnmatch(search->unit, folder, 0) == 0;
    const char *id = container_id(folder);
    if (id && weir_cgroup_is_container_id(search->name))
        return strncmp(id, search->name, strlen(search->name)) == 0;
    char machine[UNIT_BYTES];
    int used = snprintf(machine, sizeof(machine), "machine-%s.scope", search->name);
    return used < (int)sizeof(machine) && strcmp(folder, machine) == 0;
}

static bool is_passed_over(const struct search *search, const char *folder)
{
    return search->kind == WEIR_CGROUP_UNIT && !search->in_user_managers && fnmatch(USER_FOLDER, folder, 0) == 0;
}

/* ---- the walk ---- */

static int open_folder(int at_fd, const char *name)
{
    int fd = openat(at_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static int walk(const struct search *search, int fd, char path[PATH_MAX], unsigned depth);

/* A folder of the directory fd. path: of that directory, to which the name is added for the time of the call. */
static int visit(const struct search *search, int fd, const char *name, char path[PATH_MAX], unsigned depth)
{
    size_t length = strlen(path);
    int added = snprintf(path + length, PATH_MAX - length, "%s%s", length ? "/" : "", name);
    int result = 0;
    if (added < (int)(PATH_MAX - length) && is_wanted(search, name)) {
        result = add(search->found, path);
    } else if (added < (int)(PATH_MAX - length) && depth < DEPTH_MAX && !is_passed_over(search, name)) {
        int folder_fd = open_folder(fd, name); /* a cgroup that has just been removed is none */
        result = folder_fd < 0 ? 0 : walk(search, folder_fd, path, depth + 1);
    }
    path[length] = '\0';
    return result;
}

/* Takes ownership of fd. */
static int walk(const struct search *search, int fd, char path[PATH_MAX], unsigned depth)
{
    DIR *folder = fdopendir(fd);
    int result = 0;
    if (!folder) {
        close(fd);
        return -ENOMEM;
    }
    for (const struct dirent *entry; result == 0 && (entry = readdir(folder));) {
        bool may_be_folder = entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;
        if (may_be_folder && strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            result = visit(search, dirfd(folder), entry->d_name, path, depth);
    }
    closedir(folder);
    return result;
}

static int walk_hierarchy(const struct search *search, const char *hierarchy)
{
    char path[PATH_MAX] = "";
    int fd = open(hierarchy, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -ENODEV : walk(search, fd, path, 0);
}

/* ---- patterns ---- */

static int find_pattern(const char *pattern, const char *hierarchy, struct weir_cgroup_paths *found)
{
    char path[PATH_MAX];
    size_t length = strlen(hierarchy);
    bool is_absolute = strncmp(pattern, hierarchy, length) == 0 && pattern[length] == '/';
    const char *below = is_absolute ? pattern + length : pattern;
    if (snprintf(path, sizeof(path), "%s/%s", hierarchy, below + strspn(below, "/")) >= (int)sizeof(path))
        return -ENAMETOOLONG;
    glob_t matches = {0};
    int result = glob(path, GLOB_ONLYDIR, NULL, &matches) == GLOB_NOSPACE ? -ENOMEM : 0;
    for (size_t i = 0; result == 0 && i < matches.gl_pathc; i++) {
        int fd = open_folder(AT_FDCWD, matches.gl_pathv[i]); /* GLOB_ONLYDIR is a hint */
        if (fd < 0)
            continue;
        close(fd);
        result = add(found, matches.gl_pathv[i] + length + 1);
    }
    globfree(&matches);
    return result;
}

/* ---- messages ---- */

static int not_found(enum weir_cgroup_kind kind, const char *name, const char *hierarchy, const char *unit,
                     struct weir_error *err)
{
    switch (kind) {
    case WEIR_CGROUP_PATTERN:
        weir_error_set(err, -ENOENT, "no cgroup matches '%s' in %s", name, hierarchy);
        weir_error_hint(err, "cgroups are the folders there: find %s -type d", hierarchy);
        break;
    case WEIR_CGROUP_UNIT:
        weir_error_set(err, -ENOENT, "unit '%s' is not running: it has no cgroup in %s", unit, hierarchy);
        weir_error_hint(err, "systemctl status '%s'; systemd-cgls shows the units that run", unit);
        break;
    case WEIR_CGROUP_CONTAINER:
        weir_error_set(err, -ENOENT, "container '%s' is not running: it has no cgroup in %s", name, hierarchy);
        weir_error_hint(err, "docker ps, podman ps, crictl ps and machinectl list show containers that run");
        break;
    }
    return -ENOENT;
}

static int too_many(const char *name, struct weir_error *err)
{
    weir_error_set(err, -E2BIG, "'%s' stands for more than %d cgroups", name, WEIR_CGROUP_FIND_MAX);
    weir_error_hint(err, "record the cgroup above them, or all tasks with --all-cgroups");
    return -E2BIG;
}

/* The id in the last component of a path; the component itself where it has none. */
static const char *id_in(const char *path)
{
    const char *folder = weir_path_name(path), *id = container_id(folder);
    return id ? id : folder;
}

/* One container only; its folder may be there in several places (runtimes below one another): all belong to it. */
static int expect_one_container(const struct weir_cgroup_paths *found, const char *name, struct weir_error *err)
{
    for (size_t i = 1; i < found->count; i++) {
        const char *one = id_in(found->at[0]), *other = id_in(found->at[i]);
        if (strncmp(one, other, ID_DIGITS) == 0)
            continue;
        weir_error_set(err, -ENOTUNIQ, "several containers have ids that begin with '%s': %.*s, %.*s", name,
                       (int)SHORT_ID, one, (int)SHORT_ID, other);
        weir_error_hint(err, "give more digits");
        return -ENOTUNIQ;
    }
    return 0;
}

/* ---- all of it ---- */

static int search_hierarchy(struct search *search, const char *hierarchy, struct weir_error *err)
{
    int result = 0;
    if (search->kind == WEIR_CGROUP_PATTERN)
        return find_pattern(search->name, hierarchy, search->found);
    if (search->kind == WEIR_CGROUP_UNIT)
        result = complete_unit(search);
    if (result == 0)
        result = walk_hierarchy(search, hierarchy);
    if (result == 0 && search->kind == WEIR_CGROUP_UNIT && search->found->count == 0) {
        search->in_user_managers = true;
        result = walk_hierarchy(search, hierarchy);
    }
    if (result == 0 && search->kind == WEIR_CGROUP_CONTAINER)
        result = expect_one_container(search->found, search->name, err);
    return result;
}

static int append_found(struct weir_cgroup_paths *paths, const struct weir_cgroup_paths *found)
{
    int result = 0;
    if (found->count > 1)
        qsort(found->at, found->count, sizeof(*found->at), compare);
    for (size_t i = 0; result == 0 && i < found->count; i++)
        result = add(paths, found->at[i]);
    return result;
}

int weir_cgroup_find(enum weir_cgroup_kind kind, const char *name, const char *mounts, struct weir_cgroup_paths *paths,
                     struct weir_error *err)
{
    char hierarchy[PATH_MAX];
    struct weir_cgroup_paths found = {0};
    struct search search = {.kind = kind, .name = name, .found = &found};
    if (!weir_cgroup_mount_find(mounts ? mounts : "/proc/self/mounts", hierarchy)) {
        weir_error_set(err, -ENODEV, "no cgroup hierarchy is mounted that knows perf events ('%s')", name);
        weir_error_hint(err, "mount -t cgroup2 none /sys/fs/cgroup");
        return -ENODEV;
    }
    int result = search_hierarchy(&search, hierarchy, err);
    if (result == 0 && found.count == 0)
        result = not_found(kind, name, hierarchy, search.unit, err);
    else if (result == 0)
        result = append_found(paths, &found);
    weir_cgroup_paths_fini(&found);
    if (result == -E2BIG)
        return too_many(name, err);
    bool is_told = result == 0 || result == -ENOENT || result == -ENOTUNIQ;
    return is_told ? result : weir_error_set_errno(err, result, "cannot look for '%s' in %s", name, hierarchy);
}
