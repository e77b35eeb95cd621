/* The table of mapped files: what is one file and what two, what is read, in which order the feature lists it. */
#include "engine/tasks/mapped_files.h"

#include "base/bits.h"
#include "tests/base/failing_alloc.h"
#include "tests/engine/side_records.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t add(struct weir_mapped_files *files, uint64_t inode, uint64_t generation, const char *name)
{
    struct weir_buf out = WEIR_BUF_INIT;
    struct weir_side_record record;
    side_map(&out, 1, 7, 0x1000, 0x2000, inode, name);
    side_parse(&out, 0, &record);
    record.map.inode_generation = generation;
    int64_t index = weir_mapped_files_add(files, &record);
    weir_buf_fini(&out);
    return index;
}

static int64_t add_kernel(struct weir_mapped_files *files, const char *name)
{
    struct weir_buf out = WEIR_BUF_INIT;
    struct weir_side_record record;
    side_kernel_map(&out, name);
    side_parse(&out, 0, &record);
    int64_t index = weir_mapped_files_add(files, &record);
    weir_buf_fini(&out);
    return index;
}

static void know(struct weir_mapped_files *files, int64_t index, uint8_t id)
{
    files->all[index].build_id = (struct weir_build_id){.bytes = 1, .data = {id}};
}

Test(mapped_files, without_memory_the_record_is_counted_as_left_out)
{
    struct weir_mapped_files files;
    struct weir_buf out = WEIR_BUF_INIT;
    struct weir_side_record record;
    side_map(&out, 1, 7, 0x1000, 0x2000, 1, "/bin/a");
    side_parse(&out, 0, &record);
    for (unsigned successes = 0; successes < 4; successes++) {
        weir_mapped_files_init(&files);
        failing_alloc_after(successes);
        int64_t index = weir_mapped_files_add(&files, &record);
        failing_alloc_never();
        cr_expect_eq(index, -ENOMEM, "allocation %u", successes);
        cr_expect(files.left_out == 1 && files.without_memory == 1);
        cr_expect_eq(add(&files, 1, 0, "/bin/a"), 0, "tried anew after allocation %u failed", successes);
        weir_mapped_files_fini(&files);
    }
    weir_buf_fini(&out);
}

/* Or whoever is recorded could choose names and files that all fall into one bucket. */
Test(mapped_files, no_two_tables_put_a_file_into_the_same_place)
{
    struct weir_mapped_files one, other;
    weir_mapped_files_init(&one);
    weir_mapped_files_init(&other);
    cr_assert(add(&one, 1, 0, "/bin/a") == 0 && add(&other, 1, 0, "/bin/a") == 0);
    cr_expect_neq(one.all[0].name_hash, other.all[0].name_hash);
    cr_expect_neq(one.all[0].file_hash, other.all[0].file_hash);
    weir_mapped_files_fini(&one);
    weir_mapped_files_fini(&other);
}

Test(mapped_files, beyond_its_bound_files_are_left_out)
{
    struct weir_mapped_files files;
    weir_mapped_files_init(&files);
    for (unsigned i = 0; i < WEIR_MAPPED_FILES_MAX; i++)
        cr_assert_eq(add(&files, i + 1, 0, "/bin/same"), i);
    cr_assert_eq(add(&files, WEIR_MAPPED_FILES_MAX + 1, 0, "/bin/same"), -ENOSPC);
    cr_assert(files.left_out == 1 && files.without_memory == 0);
    cr_assert_eq(add(&files, 1, 0, "/bin/same"), 0, "what is known is still found");
    weir_mapped_files_fini(&files);
}

Test(mapped_files, what_has_no_file_is_not_read)
{
    static const char *const names[] = {"//anon", "[heap]", "[vsyscall]", "/SYSV00000000", ""};
    struct weir_mapped_files files;
    weir_mapped_files_init(&files);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        cr_assert_eq(add(&files, 5, 0, names[i]), (int64_t)i);
    add(&files, 0, 0, "/no/inode");
    cr_assert_eq(weir_mapped_files_next_new(&files), WEIR_MAPPED_NONE);
    weir_mapped_files_fini(&files);
}

Test(mapped_files, each_file_is_given_out_once_in_order)
{
    struct weir_mapped_files files;
    weir_mapped_files_init(&files);
    cr_assert_eq(add(&files, 1, 0, "/bin/a"), 0);
    cr_assert_eq(add(&files, 2, 0, "/bin/b"), 1);
    cr_assert_eq(add(&files, 1, 0, "/bin/a"), 0);
    cr_assert_eq(weir_mapped_files_next_new(&files), 0);
    cr_assert_eq(weir_mapped_files_next_new(&files), 1);
    cr_assert_eq(weir_mapped_files_next_new(&files), WEIR_MAPPED_NONE);
    cr_assert_eq(add(&files, 3, 0, "/bin/c"), 2);
    cr_assert_eq(weir_mapped_files_next_new(&files), 2);
    weir_mapped_files_fini(&files);
}

Test(mapped_files, replaced_file_is_another_one)
{
    struct weir_mapped_files files;
    weir_mapped_files_init(&files);
    cr_assert_eq(add(&files, 1, 4, "/bin/a"), 0);
    cr_assert_eq(add(&files, 2, 4, "/bin/a"), 1, "another inode");
    cr_assert_eq(add(&files, 1, 5, "/bin/a"), 2, "an inode that was used again");
    weir_mapped_files_fini(&files);
}

/* Synthesized records do not tell it. */
Test(mapped_files, unknown_generation_agrees_with_any)
{
    struct weir_mapped_files files;
    weir_mapped_files_init(&files);
    cr_assert_eq(add(&files, 1, 0, "/bin/a"), 0);
    cr_assert_eq(add(&files, 1, 9, "/bin/a"), 0);
    cr_assert_eq(add(&files, 1, 0, "/bin/a"), 0);
    cr_assert_eq(add(&files, 1, 8, "/bin/a"), 1);
    weir_mapped_files_fini(&files);
}

Test(mapped_files, second_name_of_a_file_is_not_read_again)
{
    struct weir_mapped_files files;
    weir_mapped_files_init(&files);
    cr_assert_eq(add(&files, 1, 0, "/bin/a"), 0);
    cr_assert_eq(add(&files, 1, 0, "/bin/b"), 1);
    cr_assert_eq(weir_mapped_files_next_new(&files), 0);
    cr_assert_eq(weir_mapped_files_next_new(&files), WEIR_MAPPED_NONE);
    know(&files, 0, 0x77);
    cr_assert_eq(weir_mapped_files_build_id(&files, 1).data[0], 0x77);

    /* Unless the first name did not lead to it. */
    files.all[0].unreadable = true;
    cr_assert_eq(add(&files, 1, 0, "/bin/c"), 2);
    cr_assert_eq(weir_mapped_files_next_new(&files), 2);
    weir_mapped_files_fini(&files);
}

Test(mapped_files, build_id_of_a_record_is_taken_over)
{
    struct weir_mapped_files files;
    struct weir_buf out = WEIR_BUF_INIT;
    struct weir_side_record record;
    weir_mapped_files_init(&files);
    side_map(&out, 1, 7, 0x1000, 0x2000, 0, "/bin/a");
    side_parse(&out, 0, &record);
    record.build_id = (struct weir_build_id){.bytes = 20, .data = {1}};
    cr_assert_eq(weir_mapped_files_add(&files, &record), 0);
    cr_assert_eq(weir_mapped_files_add(&files, &record), 0);
    record.build_id.data[0] = 2;
    cr_assert_eq(weir_mapped_files_add(&files, &record), 1, "the file was replaced");
    cr_assert_eq(weir_mapped_files_next_new(&files), WEIR_MAPPED_NONE);
    weir_mapped_files_fini(&files);
    weir_buf_fini(&out);
}

Test(mapped_files, kernel_stands_first_in_the_list)
{
    struct weir_mapped_files files;
    struct weir_build_id_entry *entries;
    size_t count;
    weir_mapped_files_init(&files);
    add(&files, 1, 0, "/bin/unknown");
    know(&files, add(&files, 2, 0, "/bin/b"), 2);
    know(&files, add_kernel(&files, "[ext4]"), 3);
    int64_t kernel = add_kernel(&files, "[kernel.kallsyms]_stext");
    cr_assert_str_eq(weir_mapped_files_name(&files, (uint32_t)kernel), "[kernel.kallsyms]");
    know(&files, kernel, 4);

    failing_alloc_after(0);
    cr_assert_eq(weir_mapped_files_list(&files, 0, &entries, &count), -ENOMEM);
    failing_alloc_never();
    cr_assert_eq(weir_mapped_files_list(&files, 0, &entries, &count), 0);
    cr_assert_eq(count, 3);
    cr_assert_str_eq(entries[0].name, "[kernel.kallsyms]");
    cr_assert_eq(entries[0].cpumode, PERF_RECORD_MISC_KERNEL);
    cr_assert_str_eq(entries[1].name, "/bin/b");
    cr_assert_eq(entries[1].cpumode, PERF_RECORD_MISC_USER);
    cr_assert_eq(entries[1].id.data[0], 2);
    cr_assert_str_eq(entries[2].name, "[ext4]"); /* synthesized, at no time */
    free(entries);
    weir_mapped_files_fini(&files);
}

/* perf takes the last entry of a name for its first mapping. */
Test(mapped_files, first_file_of_a_name_stands_last_in_the_list)
{
    struct weir_mapped_files files;
    struct weir_build_id_entry *entries;
    size_t count;
    weir_mapped_files_init(&files);
    for (uint64_t inode = 1; inode <= 3; inode++)
        know(&files, add(&files, inode, 0, "/bin/replaced"), (uint8_t)inode);
    cr_assert_eq(weir_mapped_files_list(&files, 0, &entries, &count), 0);
    cr_assert_eq(count, 3);
    for (size_t i = 0; i < count; i++)
        cr_expect_eq(entries[i].id.data[0], 3 - i);
    free(entries);
    weir_mapped_files_fini(&files);
}

/* Rings of two CPUs may be looked at in another order than that of their records. */
Test(mapped_files, list_goes_by_time_not_by_the_order_of_use)
{
    static const uint64_t times[] = {500, 300, 400};
    struct weir_mapped_files files;
    struct weir_build_id_entry *entries;
    size_t count;
    weir_mapped_files_init(&files);
    for (uint8_t i = 0; i < WEIR_ARRAY_COUNT(times); i++) {
        struct weir_buf out = WEIR_BUF_INIT;
        struct weir_side_record record;
        side_map(&out, 1, 7, 0x1000, 0x2000, i + 1u, "/bin/replaced");
        side_parse(&out, 0, &record);
        record.time_ns = times[i];
        know(&files, weir_mapped_files_add(&files, &record), (uint8_t)(times[i] / 100));
        weir_buf_fini(&out);
    }
    cr_assert_eq(weir_mapped_files_list(&files, 0, &entries, &count), 0);
    cr_assert_eq(count, 3);
    for (size_t i = 0; i < count; i++)
        cr_expect_eq(entries[i].id.data[0], 5 - i);
    free(entries);
    weir_mapped_files_fini(&files);
}

/* ---- outputs ---- */

static bool is_listed(const struct weir_mapped_files *files, uint32_t output, const char *name)
{
    struct weir_build_id_entry *entries;
    size_t count;
    cr_assert_eq(weir_mapped_files_list(files, output, &entries, &count), 0);
    bool found = false;
    for (size_t i = 0; i < count; i++)
        found |= strcmp(entries[i].name, name) == 0;
    free(entries);
    return found;
}

static void begin_outputs(struct weir_mapped_files *files, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        weir_mapped_files_begin_output(files);
        weir_mapped_files_free_unmapped(files);
    }
}

/* As the thread of build ids does. */
static void read_all(struct weir_mapped_files *files)
{
    uint32_t index;
    while ((index = weir_mapped_files_next_new(files)) != WEIR_MAPPED_NONE) {
        const struct weir_build_id id = {.bytes = 1, .data = {(uint8_t)files->all[index].inode}};
        weir_mapped_files_note_id(files, index, &id, false);
    }
}

Test(mapped_files, output_lists_what_was_seen_in_it_or_in_the_one_before)
{
    struct weir_mapped_files files;
    weir_mapped_files_init(&files);
    add_kernel(&files, "[kernel.kallsyms]_text");
    add(&files, 1, 0, "/bin/a");
    int64_t b = add(&files, 2, 0, "/bin/b");
    read_all(&files);
    for (unsigned output = 1; output <= 3; output++) {
        weir_mapped_files_begin_output(&files);
        weir_mapped_files_touch(&files, (uint32_t)b);
    }
    add(&files, 3, 0, "/bin/c");
    read_all(&files);
    for (unsigned output = 0; output <= 3; output++) {
        cr_expect(is_listed(&files, output, "[kernel.kallsyms]"));
        cr_expect_eq(is_listed(&files, output, "/bin/a"), output <= 1, "output %u", output);
        cr_expect(is_listed(&files, output, "/bin/b"), "output %u", output);
        cr_expect_eq(is_listed(&files, output, "/bin/c"), output == 3, "output %u", output);
    }
    weir_mapped_files_fini(&files);
}

Test(mapped_files, what_no_output_can_list_any_more_is_forgotten)
{
    struct weir_mapped_files files;
    weir_mapped_files_init(&files);
    int64_t kernel = add_kernel(&files, "[kernel.kallsyms]_text");
    int64_t a = add(&files, 1, 0, "/bin/a");
    read_all(&files);
    begin_outputs(&files, WEIR_MAPPED_OUTPUTS_KEPT);
    cr_assert_eq(add(&files, 1, 0, "/bin/a"), a, "it is still known");
    cr_assert_eq(weir_mapped_files_build_id(&files, (uint32_t)a).bytes, 1);
    begin_outputs(&files, WEIR_MAPPED_OUTPUTS_KEPT + 1);
    cr_assert_eq(files.all[a].kind, WEIR_MAPPED_FREE);
    cr_assert_not(is_listed(&files, files.output, "/bin/a"));
    cr_assert(is_listed(&files, files.output, "[kernel.kallsyms]"));
    cr_assert_neq(kernel, a);

    cr_assert_eq(add(&files, 9, 0, "/bin/z"), a, "the place is free");
    cr_assert_eq(weir_mapped_files_next_new(&files), a, "its id is to be read");
    cr_assert_str_eq(weir_mapped_files_name(&files, (uint32_t)a), "/bin/z");
    int64_t again = add(&files, 1, 0, "/bin/a");
    cr_assert_neq(again, a);
    cr_assert_eq(weir_mapped_files_next_new(&files), again, "it is another object, to be read again");
    cr_assert_eq(files.seen, 4);
    weir_mapped_files_fini(&files);
}

Test(mapped_files, one_whose_id_is_not_known_yet_is_not_forgotten)
{
    struct weir_mapped_files files;
    weir_mapped_files_init(&files);
    int64_t queued = add(&files, 1, 0, "/bin/a"), reading = add(&files, 2, 0, "/bin/b");
    cr_assert_eq(weir_mapped_files_next_new(&files), queued);
    begin_outputs(&files, WEIR_MAPPED_OUTPUTS_KEPT + 5);
    cr_assert_eq(add(&files, 3, 0, "/bin/c"), 2, "no place has become free");
    const struct weir_build_id id = {.bytes = 1, .data = {7}};
    weir_mapped_files_note_id(&files, (uint32_t)queued, &id, false);
    begin_outputs(&files, 1);
    cr_assert_eq(files.all[queued].kind, WEIR_MAPPED_FREE);
    cr_assert_eq(files.all[reading].kind, WEIR_MAPPED_FILE);
    cr_assert_eq(weir_mapped_files_next_new(&files), reading);
    weir_mapped_files_fini(&files);
}

Test(mapped_files, one_whose_id_another_has_stays_with_that)
{
    struct weir_mapped_files files;
    weir_mapped_files_init(&files);
    int64_t first = add(&files, 1, 0, "/bin/a"), second = add(&files, 1, 0, "/other/a");
    read_all(&files);
    for (unsigned i = 0; i < 3 * WEIR_MAPPED_OUTPUTS_KEPT; i++) {
        begin_outputs(&files, 1);
        weir_mapped_files_touch(&files, (uint32_t)second);
    }
    cr_assert_eq(files.all[first].kind, WEIR_MAPPED_FILE);
    cr_assert(is_listed(&files, files.output, "/other/a"));
    cr_assert_eq(weir_mapped_files_build_id(&files, (uint32_t)second).data[0], 1);
    weir_mapped_files_fini(&files);
}

/* Weeks of a machine on which programs come and go. */
Test(mapped_files, places_and_names_do_not_grow_with_what_was_forgotten)
{
    struct weir_mapped_files files;
    char name[64];
    weir_mapped_files_init(&files);
    add(&files, 1, 0, "/bin/stays");
    for (uint64_t i = 0; i < 4ull * WEIR_MAPPED_FILES_MAX; i++) {
        snprintf(name, sizeof(name), "/containers/%040llu/program", (unsigned long long)i);
        cr_assert_geq(add(&files, 100 + i, 0, name), 0);
        if (i % 100 == 0) {
            read_all(&files);
            weir_mapped_files_begin_output(&files);
            weir_mapped_files_touch(&files, 0);
            weir_mapped_files_free_unmapped(&files);
        }
    }
    cr_assert_eq(files.left_out, 0);
    cr_assert_leq(files.count, 100 * (WEIR_MAPPED_OUTPUTS_KEPT + 2) + 1);
    cr_assert_leq(files.names.used, 1u << 20);
    cr_assert_eq(files.seen, 4ull * WEIR_MAPPED_FILES_MAX + 1);
    cr_assert_str_eq(weir_mapped_files_name(&files, 0), "/bin/stays");
    cr_assert_eq(add(&files, 1, 0, "/bin/stays"), 0, "it is found where it was");
    weir_mapped_files_fini(&files);
}
