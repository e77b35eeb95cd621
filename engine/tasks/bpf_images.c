/* Two arrays of images, sorted by id: programs and types. Called under the sideband's lock. */
#include "engine/tasks/bpf_images.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "engine/tasks/mapped_files.h"

/* The index of the image of that id, or the index where it belongs. */
static size_t find(const struct weir_bpf_image_set *set, uint32_t id)
{
    size_t low = 0, high = set->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (set->all[middle].image->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool has(const struct weir_bpf_image_set *set, uint32_t id)
{
    size_t at = find(set, id);
    return at < set->count && set->all[at].image->id == id;
}

bool weir_bpf_images_has_btf(const struct weir_bpf_images *images, uint32_t id)
{
    return has(&images->btfs, id);
}

static bool is_waiting(const struct weir_bpf_images *images, uint32_t id)
{
    for (size_t i = 0; i < images->waiting_count; i++) {
        if (images->waiting[i] == id)
            return true;
    }
    return false;
}

void weir_bpf_images_note(struct weir_bpf_images *images, uint32_t id)
{
    if (id == 0 || has(&images->programs, id) || is_waiting(images, id))
        return;
    uint32_t *waiting =
        images->programs.count + images->waiting_count < WEIR_BPF_IMAGES_MAX
            ? weir_array_grow(images->waiting, sizeof(*waiting), images->waiting_count, 1, &images->waiting_capacity)
            : NULL;
    if (!waiting) {
        images->left_out++;
        return;
    }
    images->waiting = waiting;
    waiting[images->waiting_count++] = id;
}

uint32_t weir_bpf_images_next(struct weir_bpf_images *images)
{
    if (images->waiting_count == 0)
        return 0;
    uint32_t id = images->waiting[0];
    images->waiting_count--;
    memmove(images->waiting, images->waiting + 1, images->waiting_count * sizeof(*images->waiting));
    return id;
}

/* Adds the image. False: no room. */
static bool add(struct weir_bpf_images *images, struct weir_bpf_image_set *set, struct weir_bpf_image *image)
{
    if (has(set, image->id)) {
        free(image);
        return true;
    }
    struct weir_bpf_image_entry *all = image->bytes <= WEIR_BPF_IMAGES_MAX_BYTES - images->bytes
                                           ? weir_array_grow(set->all, sizeof(*all), set->count, 1, &set->capacity)
                                           : NULL;
    if (!all) {
        free(image);
        return false;
    }
    set->all = all;
    size_t at = find(set, image->id);
    memmove(all + at + 1, all + at, (set->count - at) * sizeof(*all));
    all[at] = (struct weir_bpf_image_entry){.image = image, .last_output = images->output};
    set->count++;
    images->bytes += image->bytes;
    return true;
}

static void touch(const struct weir_bpf_images *images, struct weir_bpf_image_set *set, uint32_t id)
{
    if (has(set, id))
        set->all[find(set, id)].last_output = images->output;
}

void weir_bpf_images_add(struct weir_bpf_images *images, struct weir_bpf_image *program, struct weir_bpf_image *btf)
{
    uint32_t btf_id = program ? program->btf_id : 0;
    bool fits = !program || add(images, &images->programs, program);
    images->read += program && fits;
    if (btf)
        fits &= add(images, &images->btfs, btf);
    touch(images, &images->btfs, btf_id); /* another program may have the same types */
    images->left_out += !fits;
}

/* ---- outputs ---- */

void weir_bpf_images_begin_output(struct weir_bpf_images *images)
{
    images->output++;
}

void weir_bpf_images_touch(struct weir_bpf_images *images, uint32_t id)
{
    if (!has(&images->programs, id))
        return;
    touch(images, &images->programs, id);
    touch(images, &images->btfs, images->programs.all[find(&images->programs, id)].image->btf_id);
}

void weir_bpf_images_touch_all(struct weir_bpf_images *images)
{
    for (size_t i = 0; i < images->programs.count; i++)
        weir_bpf_images_touch(images, images->programs.all[i].image->id);
}

static void forget(struct weir_bpf_images *images, struct weir_bpf_image_set *set)
{
    size_t kept = 0;
    for (size_t i = 0; i < set->count; i++) {
        struct weir_bpf_image_entry *entry = &set->all[i];
        if (images->output - entry->last_output > WEIR_MAPPED_OUTPUTS_KEPT) {
            images->bytes -= entry->image->bytes;
            free(entry->image);
        } else {
            set->all[kept++] = *entry;
        }
    }
    set->count = kept;
}

void weir_bpf_images_free_unloaded(struct weir_bpf_images *images)
{
    forget(images, &images->programs);
    forget(images, &images->btfs);
}

static int copy(const struct weir_bpf_image_set *set, uint32_t output, const struct weir_bpf_image ***copies,
                size_t *count)
{
    *count = 0;
    *copies = set->count > 0 ? calloc(set->count, sizeof(const struct weir_bpf_image *)) : NULL;
    if (set->count > 0 && !*copies)
        return -ENOMEM;
    for (size_t i = 0; i < set->count; i++) {
        if (set->all[i].last_output + 1 >= output)
            (*copies)[(*count)++] = set->all[i].image;
    }
    return 0;
}

int weir_bpf_images_list(const struct weir_bpf_images *images, uint32_t output, struct weir_bpf_list *list)
{
    *list = (struct weir_bpf_list){0};
    int result = copy(&images->programs, output, &list->programs, &list->program_count);
    if (result == 0)
        result = copy(&images->btfs, output, &list->btfs, &list->btf_count);
    if (result < 0)
        weir_bpf_list_fini(list);
    return result;
}

void weir_bpf_list_fini(struct weir_bpf_list *list)
{
    free(list->programs);
    free(list->btfs);
    *list = (struct weir_bpf_list){0};
}

static void free_all(struct weir_bpf_image_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        free(set->all[i].image);
    free(set->all);
}

void weir_bpf_images_fini(struct weir_bpf_images *images)
{
    free_all(&images->programs);
    free_all(&images->btfs);
    free(images->waiting);
    *images = (struct weir_bpf_images){0};
}
