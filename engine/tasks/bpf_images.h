/*
 * Images of the BPF programs that a recording has seen: their code and types, read while they are loaded, for the
 * features BPF_PROG_INFO and BPF_BTF.
 *
 *     note()   queues the id of a program, after a BPF_EVENT record of its load
 *     next()   takes the next id; the caller reads the program without the lock
 *     add()    takes the image; without one the program was unloaded before it could be read
 *
 * A recording with rotation may go on for weeks, while containers and services load and unload programs. So each image
 * knows the last output in which it was loaded, and is freed when all outputs that list it are finished
 * (mapped_files.h). Until then it does not change, so a list of images may be used without the lock.
 *
 * Bounds: 32 MiB of images, 65536 programs; further programs are left out and counted. Not thread-safe: the sideband's
 * lock guards it.
 */
#ifndef WEIR_ENGINE_TASKS_BPF_IMAGES_H
#define WEIR_ENGINE_TASKS_BPF_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/bpf_object.h"

#define WEIR_BPF_IMAGES_MAX_BYTES (32u << 20)
#define WEIR_BPF_IMAGES_MAX       65536u

struct weir_bpf_image_entry {
    struct weir_bpf_image *image; /* owned */
    uint32_t last_output;         /* the last one in which it was loaded */
};

struct weir_bpf_image_set {
    struct weir_bpf_image_entry *all; /* owned; ascending by id */
    size_t count, capacity;
};

struct weir_bpf_images { /* zeros: empty */
    struct weir_bpf_image_set programs, btfs;
    uint32_t *waiting; /* owned; ids of programs, the oldest first */
    size_t waiting_count, waiting_capacity;
    uint32_t output; /* the present one, from 0 */
    uint64_t bytes;
    uint64_t read;     /* programs read, also those that were freed since */
    uint64_t left_out; /* beyond the bounds, or out of memory */
};

/* Queues a program that is loaded, unless it is known or queued. */
void weir_bpf_images_note(struct weir_bpf_images *images, uint32_t id);

/* Takes the id of the next program to read; 0: none waits. */
uint32_t weir_bpf_images_next(struct weir_bpf_images *images);

bool weir_bpf_images_has_btf(const struct weir_bpf_images *images, uint32_t id);

/* Adds the images of a program and of its types, and owns them. Either may be NULL. */
void weir_bpf_images_add(struct weir_bpf_images *images, struct weir_bpf_image *program, struct weir_bpf_image *btf);

/* Begins the next output: programs that are noted or touched from here on are in it. */
void weir_bpf_images_begin_output(struct weir_bpf_images *images);

/* Counts a program and its types as loaded in the present output. Ignores an unknown program. */
void weir_bpf_images_touch(struct weir_bpf_images *images, uint32_t id);

/* Counts all known programs as loaded in the present output: for when bpf(2) cannot say which are. */
void weir_bpf_images_touch_all(struct weir_bpf_images *images);

/* Frees the images that were loaded neither in the present output nor in the WEIR_MAPPED_OUTPUTS_KEPT before. */
void weir_bpf_images_free_unloaded(struct weir_bpf_images *images);

struct weir_bpf_list {                      /* zeros: empty */
    const struct weir_bpf_image **programs; /* owned; the images are borrowed until free_unloaded() or fini() */
    size_t program_count;
    const struct weir_bpf_image **btfs;
    size_t btf_count;
};

/* Lists the images read by now that were loaded in that output, in the one before, or later. 0; or -ENOMEM, and the
 * list is empty. */
int weir_bpf_images_list(const struct weir_bpf_images *images, uint32_t output, struct weir_bpf_list *list);
void weir_bpf_list_fini(struct weir_bpf_list *list);

void weir_bpf_images_fini(struct weir_bpf_images *images);

#endif
