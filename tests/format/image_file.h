/*
 * An image of a recording as a file without a name: written, cut and changed in memory, opened again by its path. One
 * thread; failures are Criterion assertions.
 */
#ifndef WEIR_TESTS_FORMAT_IMAGE_FILE_H
#define WEIR_TESTS_FORMAT_IMAGE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct image_file {
    int fd;
    char path[64];
};

void image_file_init(struct image_file *file, const void *data, size_t bytes);
void image_file_fini(struct image_file *file);
void image_file_resize(const struct image_file *file, size_t bytes);
void image_file_write(const struct image_file *file, size_t offset, const void *data, size_t bytes);

struct image_reading {
    int result;       /* of weir_dump_run() */
    uint64_t records; /* that it wrote */
    struct weir_error err;
};

/* Reads all of path, once as text and once as JSON, and expects both to say the same and an error to be one line. */
struct image_reading image_read(const char *path);

#endif
