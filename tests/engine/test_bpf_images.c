/* The table of BPF programs: each is read once, lists are by id, and what finds no room is counted. */
#include "engine/tasks/bpf_images.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static struct weir_bpf_images images;

static void empty(void)
{
    weir_bpf_images_fini(&images);
}

TestSuite(bpf_images, .fini = empty);

static struct weir_bpf_image *make_image(uint32_t id, uint32_t bytes)
{
    struct weir_bpf_image *image = calloc(1, sizeof(*image));
    cr_assert_not_null(image);
    image->id = id;
    image->bytes = bytes;
    return image;
}

Test(bpf_images, unloaded_and_repeated_programs_are_not_read)
{
    weir_bpf_images_note(&images, 0);
    weir_bpf_images_note(&images, 7);
    weir_bpf_images_note(&images, 7);
    cr_expect_eq(weir_bpf_images_next(&images), 7);
    cr_expect_eq(weir_bpf_images_next(&images), 0);
    weir_bpf_images_add(&images, make_image(7, 8), NULL);
    weir_bpf_images_note(&images, 7);
    cr_expect_eq(weir_bpf_images_next(&images), 0);
}

Test(bpf_images, program_that_could_not_be_read_may_be_noted_again)
{
    weir_bpf_images_note(&images, 7);
    cr_expect_eq(weir_bpf_images_next(&images), 7);
    weir_bpf_images_add(&images, NULL, NULL);
    weir_bpf_images_note(&images, 7);
    cr_expect_eq(weir_bpf_images_next(&images), 7);
}

Test(bpf_images, they_are_read_in_their_order_and_listed_by_id)
{
    const uint32_t ids[] = {9, 3, 5};
    for (unsigned i = 0; i < 3; i++)
        weir_bpf_images_note(&images, ids[i]);
    for (unsigned i = 0; i < 3; i++) {
        cr_assert_eq(weir_bpf_images_next(&images), ids[i]);
        weir_bpf_images_add(&images, make_image(ids[i], 8), i < 2 ? make_image(100 + i, 8) : make_image(101, 8));
    }
    struct weir_bpf_list list;
    cr_assert_eq(weir_bpf_images_list(&images, &list), 0);
    cr_assert_eq(list.program_count, 3);
    cr_assert_eq(list.btf_count, 2, "two of them share a BTF");
    cr_expect_eq(list.programs[0]->id, 3);
    cr_expect_eq(list.programs[1]->id, 5);
    cr_expect_eq(list.programs[2]->id, 9);
    cr_expect(weir_bpf_images_has_btf(&images, 100) && !weir_bpf_images_has_btf(&images, 102));
    weir_bpf_list_fini(&list);
}

Test(bpf_images, what_finds_no_room_is_counted)
{
    weir_bpf_images_add(&images, make_image(1, WEIR_BPF_IMAGES_MAX_BYTES - 8), NULL);
    weir_bpf_images_add(&images, make_image(2, 16), make_image(3, 16));
    weir_bpf_images_add(&images, make_image(4, 8), NULL);
    cr_expect_eq(images.left_out, 1, "by program, whatever of it");
    cr_expect_eq(images.programs.count, 2);
    cr_expect_eq(images.btfs.count, 0);
}
