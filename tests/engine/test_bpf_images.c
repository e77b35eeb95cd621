/* The table of BPF programs: each is read once, lists are by id, and what finds no room is counted. */
#include "engine/tasks/bpf_images.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/tasks/mapped_files.h"

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
    cr_assert_eq(weir_bpf_images_list(&images, 0, &list), 0);
    cr_assert_eq(list.program_count, 3);
    cr_assert_eq(list.btf_count, 2, "two of them share a BTF");
    cr_expect_eq(list.programs[0]->id, 3);
    cr_expect_eq(list.programs[1]->id, 5);
    cr_expect_eq(list.programs[2]->id, 9);
    cr_expect(weir_bpf_images_has_btf(&images, 100) && !weir_bpf_images_has_btf(&images, 102));
    weir_bpf_list_fini(&list);
}

static void add_program(uint32_t id, uint32_t btf_id, uint32_t bytes)
{
    struct weir_bpf_image *program = make_image(id, bytes);
    program->btf_id = btf_id;
    weir_bpf_images_add(&images, program, weir_bpf_images_has_btf(&images, btf_id) ? NULL : make_image(btf_id, bytes));
}

/* The ids of the programs and, behind a colon, of the types that an output lists. */
static void expect_listed(uint32_t output, const char *expected)
{
    char text[128] = "";
    struct weir_bpf_list list;
    cr_assert_eq(weir_bpf_images_list(&images, output, &list), 0);
    for (size_t i = 0; i < list.program_count + list.btf_count; i++) {
        const struct weir_bpf_image *image =
            i < list.program_count ? list.programs[i] : list.btfs[i - list.program_count];
        size_t used = strlen(text);
        snprintf(text + used, sizeof(text) - used, "%s%u", i == list.program_count ? ":" : i ? " " : "", image->id);
    }
    cr_expect_str_eq(text, expected, "output %u: %s", output, text);
    weir_bpf_list_fini(&list);
}

/* Two of three programs, which share their types, are unloaded. */
Test(bpf_images, outputs_list_what_was_loaded_in_their_time)
{
    add_program(1, 100, 8);
    add_program(2, 100, 8);
    add_program(3, 103, 8);
    for (unsigned output = 1; output <= 3; output++) {
        weir_bpf_images_begin_output(&images);
        weir_bpf_images_touch(&images, 2);
        weir_bpf_images_touch(&images, 99);
    }
    add_program(4, 103, 8);
    expect_listed(0, "1 2 3 4:100 103");
    expect_listed(1, "1 2 3 4:100 103");
    expect_listed(2, "2 4:100 103");
    expect_listed(3, "2 4:100 103");
    weir_bpf_images_begin_output(&images);
    weir_bpf_images_touch_all(&images);
    expect_listed(5, "1 2 3 4:100 103");
}

/* Else the room would be used up by what was there weeks ago. */
Test(bpf_images, what_no_output_lists_any_more_is_forgotten_and_gives_its_room_back)
{
    add_program(1, 100, 8);
    add_program(2, 102, WEIR_BPF_IMAGES_MAX_BYTES / 2 - 8);
    for (unsigned output = 1; output <= WEIR_MAPPED_OUTPUTS_KEPT + 1; output++) {
        weir_bpf_images_free_unloaded(&images);
        cr_assert_eq(images.programs.count, 2, "output %u", output);
        weir_bpf_images_begin_output(&images);
        weir_bpf_images_touch(&images, 1);
    }
    weir_bpf_images_free_unloaded(&images);
    cr_expect_eq(images.programs.count, 1);
    cr_expect_eq(images.btfs.count, 1);
    cr_expect_eq(images.bytes, 16);
    add_program(3, 103, WEIR_BPF_IMAGES_MAX_BYTES / 2 - 8);
    cr_expect_eq(images.left_out, 0);
    cr_expect_eq(images.read, 3);
    expect_listed(images.output, "1 3:100 103");
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
