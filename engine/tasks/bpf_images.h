/*
 * The BPF programs that a recording has seen, with their code and types as they were read while they were loaded: what
 * the features BPF_PROG_INFO and BPF_BTF are made from.
 *
 *     note()   a BPF_EVENT record says that a program is there; its id waits to be read
 *     next()   the id to read now, without whatever lock guards the table
 *     add()    what was read; a program that was unloaded meanwhile has left none
 *
 * A recording that switches its output may go on for weeks, in which programs come and go with containers and services:
 * each image knows the last output in which it was loaded, and is forgotten when all outputs that list it are finished
 * (mapped_files.h). Until then it does not change, so that lists of images may be used without a lock.
 *
 * Bounds: 32 MiB of images, 65536 programs; beyond that they are left out and counted. Not thread-safe: the sideband's
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
    uint32_t last_output;         /* in which it was loaded */
};

struct weir_bpf_image_set {
    struct weir_bpf_image_entry *all; /* owned; ascending by id */
    size_t count, capacity;
};

struct weir_bpf_images { /* all zeros: empty */
    struct weir_bpf_image_set programs, btfs;
    uint32_t *waiting; /* owned; ids of programs, the oldest first */
    size_t waiting_count, waiting_capacity;
    uint32_t output; /* the present one, from 0 */
    uint64_t bytes;
    uint64_t read;     /* programs, also those that were forgotten */
    uint64_t left_out; /* beyond the bounds, or out of memory */
};

/* A program has been loaded, or was there. One that is known, or waits already, is passed over. */
void weir_bpf_images_note(struct weir_bpf_images *images, uint32_t id);

/* Takes the next one to read; 0: none waits. */
uint32_t weir_bpf_images_next(struct weir_bpf_images *images);

bool weir_bpf_images_has_btf(const struct weir_bpf_images *images, uint32_t id);

/* Takes the two, which may be NULL. */
void weir_bpf_images_add(struct weir_bpf_images *images, struct weir_bpf_image *program, struct weir_bpf_image *btf);

/* What comes from here on is in the next output. */
void weir_bpf_images_begin_output(struct weir_bpf_images *images);

/* A program is loaded, as the present output begins: so are its types. One that is not known is passed over. */
void weir_bpf_images_touch(struct weir_bpf_images *images, uint32_t id);

/* The same of all that are known, where nobody says which are loaded. */
void weir_bpf_images_touch_all(struct weir_bpf_images *images);

/* Frees what was loaded in none of the last WEIR_MAPPED_OUTPUTS_KEPT outputs nor in the present one. */
void weir_bpf_images_forget(struct weir_bpf_images *images);

struct weir_bpf_list {                      /* all zeros: empty */
    const struct weir_bpf_image **programs; /* owned; the images are borrowed: until forget(), or images' fini() */
    size_t program_count;
    const struct weir_bpf_image **btfs;
    size_t btf_count;
};

/* What was read by now and was loaded in this output, in the one before, or later. 0 or -ENOMEM: then the list is
 * empty. */
int weir_bpf_images_list(const struct weir_bpf_images *images, uint32_t output, struct weir_bpf_list *list);
void weir_bpf_list_fini(struct weir_bpf_list *list);

void weir_bpf_images_fini(struct weir_bpf_images *images);

#endif
