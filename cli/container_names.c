#include "cli/container_names.h"

#ifdef WEIR_JANSSON

#include <dirent.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/events/cgroup_find.h"

#define DOCKER_FOLDER "/var/lib/docker/containers"
#define PODMAN_FILE   "/containers/storage/overlay-containers/containers.json"

static bool take_id(const char *text, char id[static WEIR_CONTAINER_ID_BYTES])
{
    if (!text || strlen(text) != WEIR_CONTAINER_ID_BYTES - 1 || !weir_cgroup_is_container_id(text))
        return false;
    memcpy(id, text, WEIR_CONTAINER_ID_BYTES);
    return true;
}

static json_t *load(const char *path)
{
    return json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
}

/* docker writes "/web" for --name web. */
static bool is_name_of_docker(const char *path, const char *name)
{
    json_t *config = load(path);
    const char *has = json_string_value(json_object_get(config, "Name"));
    bool is_it = has && strcmp(has[0] == '/' ? has + 1 : has, name) == 0;
    json_decref(config);
    return is_it;
}

static bool find_in_docker(const char *name, const char *root, char id[static WEIR_CONTAINER_ID_BYTES])
{
    char path[PATH_MAX];
    bool found = false;
    snprintf(path, sizeof(path), "%s%s", root, DOCKER_FOLDER);
    DIR *folder = opendir(path);
    for (const struct dirent *entry; folder && !found && (entry = readdir(folder));) {
        int used = snprintf(path, sizeof(path), "%s%s/%s/config.v2.json", root, DOCKER_FOLDER, entry->d_name);
        found = used < (int)sizeof(path) && is_name_of_docker(path, name) && take_id(entry->d_name, id);
    }
    if (folder)
        closedir(folder);
    return found;
}

static bool has_name(const json_t *container, const char *name)
{
    const json_t *names = json_object_get(container, "names"), *one;
    size_t i;
    json_array_foreach(names, i, one)
    {
        if (json_is_string(one) && strcmp(json_string_value(one), name) == 0)
            return true;
    }
    return false;
}

static bool find_in_podman(const char *name, const char *root, const char *data,
                           char id[static WEIR_CONTAINER_ID_BYTES])
{
    char path[PATH_MAX];
    const json_t *container;
    size_t i;
    bool found = false;
    if (snprintf(path, sizeof(path), "%s%s%s", root, data, PODMAN_FILE) >= (int)sizeof(path))
        return false;
    json_t *containers = load(path);
    json_array_foreach(containers, i, container)
    {
        if (has_name(container, name))
            found = take_id(json_string_value(json_object_get(container, "id")), id);
        if (found)
            break;
    }
    json_decref(containers);
    return found;
}

bool weir_container_names_find(const char *name, const char *root, char id[static WEIR_CONTAINER_ID_BYTES])
{
    char data[PATH_MAX];
    const char *home = getenv("HOME");
    if (find_in_docker(name, root, id) || find_in_podman(name, root, "/var/lib", id))
        return true;
    int used = snprintf(data, sizeof(data), "%s/.local/share", home ? home : "");
    return home && used < (int)sizeof(data) && find_in_podman(name, root, data, id);
}

#else

bool weir_container_names_find(const char *name, const char *root, char id[static WEIR_CONTAINER_ID_BYTES])
{
    (void)name, (void)root, (void)id;
    return false;
}

#endif
