/* Ids of containers by name, from files as docker and podman write them. */
#include "cli/container_names.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ZEROS "00000000000000000000000000000000000000000000000000000000000000" /* 62 */
#define ID_1  "ab" ZEROS
#define ID_2  "ac" ZEROS
#define ID_3  "ad" ZEROS

static char root[64];

static void put(const char *folder, const char *name, const char *text)
{
    char command[256], path[512];
    snprintf(command, sizeof(command), "mkdir -p %s%s", root, folder);
    cr_assert_eq(system(command), 0);
    snprintf(path, sizeof(path), "%s%s/%s", root, folder, name);
    FILE *file = fopen(path, "we");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
}

static void set_up(void)
{
    const char *folder = getenv("TMPDIR");
    snprintf(root, sizeof(root), "%s/weir-names-XXXXXX", folder ? folder : "/tmp");
    cr_assert_not_null(mkdtemp(root));
    setenv("HOME", "/home/one", 1);
    put("/var/lib/docker/containers/" ID_1, "config.v2.json", "{\"ID\":\"" ID_1 "\",\"Name\":\"/web\",\"Config\":{}}");
    put("/var/lib/docker/containers/" ID_2, "config.v2.json", "{\"Name\":[1]}");
    put("/var/lib/docker/containers/short", "config.v2.json", "{\"Name\":\"/short\"}");
    put("/var/lib/containers/storage/overlay-containers", "containers.json",
        "[{\"id\":\"../../etc\",\"names\":[\"bad\"]},{\"names\":7},{\"id\":\"" ID_2 "\",\"names\":[\"x\",\"db\"]}]");
    put("/home/one/.local/share/containers/storage/overlay-containers", "containers.json",
        "[{\"id\":\"" ID_3 "\",\"names\":[\"mine\"]}]");
}

static void tear_down(void)
{
    char command[96];
    snprintf(command, sizeof(command), "rm -r %s", root);
    cr_expect_eq(system(command), 0);
}

Test(container_names, names_without_an_id_are_not_found, .init = set_up, .fini = tear_down)
{
    static const char *const names[] = {"", "we", "/web", "short", "bad", "../web", "nobody"};
    char id[WEIR_CONTAINER_ID_BYTES] = "unchanged";
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        cr_expect_not(weir_container_names_find(names[i], root, id), "%s", names[i]);
    cr_expect_not(weir_container_names_find("web", "/nowhere", id));
    cr_expect_str_eq(id, "unchanged");
}

Test(container_names, names_of_docker_and_podman_are_found, .init = set_up, .fini = tear_down)
{
    char id[WEIR_CONTAINER_ID_BYTES];
    if (!weir_container_names_find("web", root, id))
        cr_skip_test("needs a build with jansson");
    cr_expect_str_eq(id, ID_1);
    cr_expect(weir_container_names_find("db", root, id));
    cr_expect_str_eq(id, ID_2);
    cr_expect(weir_container_names_find("mine", root, id));
    cr_expect_str_eq(id, ID_3);
}
