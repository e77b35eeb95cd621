/*
 * Runs a target over files, without libFuzzer: replay_NAME PATH...
 *
 * A folder stands for all files in it, in the order of their names. Each name is printed before its run, so that the
 * last one printed is the one that failed. No file at all is an error: such a test would prove nothing. One thread.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "tests/fuzz/fuzz.h"

struct replay {
    void *fixture;
    unsigned files;
};

/* 0, or the -errno of reading. */
static int replay_file(struct replay *replay, const char *path)
{
    struct weir_buf contents = WEIR_BUF_INIT;
    int result = weir_buf_append_file(&contents, path);
    size_t bytes = contents.used;
    uint8_t *data = result == 0 ? malloc(bytes ? bytes : 1) : NULL; /* exact, unlike the buffer */
    if (result == 0 && !data)
        result = -ENOMEM;
    if (result == 0) {
        printf("%s\n", path);
        fflush(stdout);
        if (bytes > 0)
            memcpy(data, contents.data, bytes);
        fuzz_target.run(replay->fixture, data, bytes);
        replay->files++;
    }
    free(data);
    weir_buf_fini(&contents);
    return result;
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int replay_folder(struct replay *replay, const char *folder)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, is_visible, alphasort);
    if (count < 0)
        return -errno;
    int result = 0;
    for (int i = 0; i < count; i++) {
        char path[PATH_MAX];
        if (snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name) >= (int)sizeof(path))
            result = -ENAMETOOLONG;
        if (result == 0)
            result = replay_file(replay, path);
        free(entries[i]);
    }
    free(entries);
    return result;
}

int main(int argc, char **argv)
{
    struct replay replay = {.fixture = fuzz_target.init ? fuzz_target.init() : NULL};
    int status = EXIT_SUCCESS;
    for (int i = 1; i < argc && status == EXIT_SUCCESS; i++) {
        int result = replay_folder(&replay, argv[i]);
        if (result == -ENOTDIR)
            result = replay_file(&replay, argv[i]);
        if (result < 0) {
            fprintf(stderr, "replay: cannot read %s: %s\n", argv[i], strerror(-result));
            status = EXIT_FAILURE;
        }
    }
    if (fuzz_target.fini)
        fuzz_target.fini(replay.fixture);
    printf("replay: %u inputs\n", replay.files);
    return replay.files > 0 ? status : EXIT_FAILURE;
}
