/* Build ids: notes by hand from elf(5), files that are none, and the running program's own. */
#include "format/build_id.h"

#include "tests/format/temp_tree.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const uint8_t id_bytes[20] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};

/* One note; returns its padded size. */
static size_t put_note(uint8_t *to, const char *name, uint32_t type, const void *data, uint32_t bytes)
{
    Elf64_Nhdr header = {.n_namesz = (Elf64_Word)strlen(name) + 1, .n_descsz = bytes, .n_type = type};
    size_t name_room = (header.n_namesz + 3) & ~3u;
    memcpy(to, &header, sizeof(header));
    memset(to + sizeof(header), 0, name_room);
    memcpy(to + sizeof(header), name, header.n_namesz);
    memcpy(to + sizeof(header) + name_room, data, bytes);
    return sizeof(header) + name_room + ((bytes + 3) & ~3u);
}

static struct weir_build_id untouched(void)
{
    struct weir_build_id id = {.bytes = 7};
    return id;
}

Test(build_id, no_notes_are_no_id)
{
    struct weir_build_id id = untouched();
    cr_assert_eq(weir_build_id_of_notes("", 0, 4, &id), -ENODATA);
    cr_assert_eq(id.bytes, 7, "written on failure");
}

Test(build_id, note_that_is_cut_anywhere_is_no_id)
{
    uint8_t notes[64] = {0};
    size_t bytes = put_note(notes, "GNU", NT_GNU_BUILD_ID, id_bytes, 20);
    cr_assert_eq(bytes, 36);
    for (size_t cut = 0; cut < bytes; cut++) {
        struct weir_build_id id = untouched();
        cr_expect_eq(weir_build_id_of_notes(notes, cut, 4, &id), -ENODATA, "cut at %zu", cut);
    }
}

Test(build_id, sizes_that_overflow_are_no_id)
{
    uint8_t notes[64] = {0};
    put_note(notes, "GNU", NT_GNU_BUILD_ID, id_bytes, 20);
    const uint32_t huge = UINT32_MAX;
    struct weir_build_id id = untouched();
    memcpy(notes, &huge, sizeof(huge));
    cr_assert_eq(weir_build_id_of_notes(notes, sizeof(notes), 4, &id), -ENODATA);
    memcpy(notes + 4, &huge, sizeof(huge));
    cr_assert_eq(weir_build_id_of_notes(notes, sizeof(notes), 8, &id), -ENODATA);
}

Test(build_id, notes_of_others_are_passed_over)
{
    uint8_t notes[128] = {0};
    struct weir_build_id id = untouched();
    size_t used = put_note(notes, "GNU", NT_GNU_ABI_TAG, id_bytes, 16);
    used += put_note(notes + used, "XYZ", NT_GNU_BUILD_ID, id_bytes, 20);
    used += put_note(notes + used, "GNU", NT_GNU_BUILD_ID, id_bytes, 0);
    cr_assert_eq(weir_build_id_of_notes(notes, used, 4, &id), -ENODATA);
    used += put_note(notes + used, "GNU", NT_GNU_BUILD_ID, id_bytes + 4, 16);
    cr_assert_eq(weir_build_id_of_notes(notes, used, 4, &id), 0);
    cr_assert_eq(id.bytes, 16);
    cr_assert_arr_eq(id.data, id_bytes + 4, 16);
}

Test(build_id, longer_one_is_cut_to_what_the_file_holds)
{
    uint8_t notes[128] = {0}, longer[32] = {0};
    memcpy(longer, id_bytes, sizeof(id_bytes));
    struct weir_build_id id = untouched();
    size_t used = put_note(notes, "GNU", NT_GNU_BUILD_ID, longer, sizeof(longer));
    cr_assert_eq(weir_build_id_of_notes(notes, used, 4, &id), 0);
    cr_assert_eq(id.bytes, 20);
    cr_assert_arr_eq(id.data, id_bytes, 20);
}

static int id_of_bytes(const void *data, size_t bytes, struct weir_build_id *id)
{
    struct temp_tree tree;
    char path[PATH_MAX];
    temp_tree_init(&tree);
    temp_tree_write(&tree, "file", data, bytes);
    temp_tree_path(&tree, "file", path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    cr_assert_geq(fd, 0);
    int result = weir_build_id_of_file(fd, id);
    close(fd);
    temp_tree_fini(&tree);
    return result;
}

Test(build_id, file_that_is_not_elf_has_none)
{
    struct weir_build_id id = untouched();
    cr_assert_eq(id_of_bytes("", 0, &id), -ENODATA);
    cr_assert_eq(id_of_bytes("#!/bin/sh\n", 10, &id), -ENODATA);
    cr_assert_eq(id_of_bytes(ELFMAG, SELFMAG, &id), -ENODATA);
}

Test(build_id, segments_beyond_the_file_have_none)
{
    struct {
        Elf64_Ehdr header;
        Elf64_Phdr segment;
    } file = {
        .header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                   .e_type = ET_DYN,
                   .e_machine = EM_X86_64,
                   .e_version = EV_CURRENT,
                   .e_phoff = sizeof(Elf64_Ehdr),
                   .e_ehsize = sizeof(Elf64_Ehdr),
                   .e_phentsize = sizeof(Elf64_Phdr),
                   .e_phnum = 1},
        .segment = {.p_type = PT_NOTE, .p_offset = INT64_MAX, .p_filesz = 64},
    };
    struct weir_build_id id = untouched();
    cr_assert_eq(id_of_bytes(&file, sizeof(file), &id), -ENODATA);
    file.segment.p_offset = UINT64_MAX;
    cr_assert_eq(id_of_bytes(&file, sizeof(file), &id), -ENODATA);
    file.segment.p_offset = sizeof(file) - 8;
    cr_assert_eq(id_of_bytes(&file, sizeof(file), &id), -ENODATA);
    cr_assert_eq(id.bytes, 7, "written on failure");
}

#define NOTES_AT 4096u /* of the file with many segments */

/* The id of an ELF file whose header says `said` segments, the last of `count` of which has it, behind others of
 * 64 KiB without any. */
static int id_behind_segments(uint16_t said, uint32_t really, size_t count)
{
    struct {
        Elf64_Ehdr header;
        Elf64_Shdr first; /* its sh_info is the number of segments when the header says PN_XNUM */
    } head = {
        .header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                   .e_type = ET_DYN,
                   .e_machine = EM_X86_64,
                   .e_version = EV_CURRENT,
                   .e_phoff = 4 * NOTES_AT,
                   .e_shoff = sizeof(Elf64_Ehdr),
                   .e_ehsize = sizeof(Elf64_Ehdr),
                   .e_phentsize = sizeof(Elf64_Phdr),
                   .e_shentsize = sizeof(Elf64_Shdr),
                   .e_phnum = said},
        .first = {.sh_info = really, .sh_size = INT64_MAX}, /* this many sections, as the header says none */
    };
    uint8_t notes[36];
    struct weir_build_id id = untouched();
    int fd = memfd_create("elf", MFD_CLOEXEC);
    put_note(notes, "GNU", NT_GNU_BUILD_ID, id_bytes, 20);
    cr_assert_eq(ftruncate(fd, 4 * NOTES_AT + 70000 * (off_t)sizeof(Elf64_Phdr)), 0);
    cr_assert_eq(pwrite(fd, &head, sizeof(head), 0), (ssize_t)sizeof(head));
    cr_assert_eq(pwrite(fd, notes, sizeof(notes), NOTES_AT), (ssize_t)sizeof(notes));
    for (size_t i = 0; i < count; i++) {
        const Elf64_Phdr segment = {.p_type = PT_NOTE,
                                    .p_offset = i + 1 < count ? 70000 * sizeof(segment) - 64 * 1024 : NOTES_AT,
                                    .p_filesz = i + 1 < count ? 64 * 1024 : sizeof(notes)};
        off_t at = 4 * NOTES_AT + (off_t)(i * sizeof(segment));
        cr_assert_eq(pwrite(fd, &segment, sizeof(segment), at), (ssize_t)sizeof(segment));
    }
    int result = weir_build_id_of_file(fd, &id);
    cr_expect_eq(id.bytes, result == 0 ? 20 : 7);
    close(fd);
    return result;
}

Test(build_id, notes_without_end_are_not_looked_through)
{
    cr_expect_eq(id_behind_segments(60, 0, 60), 0);
    cr_expect_eq(id_behind_segments(66, 0, 66), -ENODATA, "more than 4 MiB");
}

/* Whatever a file says that it has, nothing is made ready for it. */
Test(build_id, numbers_of_segments_and_sections_are_the_files_word_only)
{
    cr_expect_eq(id_behind_segments(PN_XNUM, 70000, 1), 0);
    cr_expect_eq(id_behind_segments(PN_XNUM, UINT32_MAX, 1), 0);
}

/* Without segments: what a linker has not seen yet. */
Test(build_id, relocatable_file_has_it_in_a_section)
{
    struct {
        Elf64_Ehdr header;
        Elf64_Shdr sections[2];
        uint8_t notes[36];
    } file = {
        .header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                   .e_type = ET_REL,
                   .e_machine = EM_X86_64,
                   .e_version = EV_CURRENT,
                   .e_shoff = sizeof(Elf64_Ehdr),
                   .e_ehsize = sizeof(Elf64_Ehdr),
                   .e_shentsize = sizeof(Elf64_Shdr),
                   .e_shnum = 2},
    };
    file.sections[1] = (Elf64_Shdr){.sh_type = SHT_NOTE, .sh_size = 36, .sh_addralign = 4};
    file.sections[1].sh_offset = (uint64_t)((uint8_t *)file.notes - (uint8_t *)&file);
    put_note(file.notes, "GNU", NT_GNU_BUILD_ID, id_bytes, 20);
    struct weir_build_id id = untouched();
    cr_assert_eq(id_of_bytes(&file, sizeof(file), &id), 0);
    cr_assert_eq(id.bytes, 20);
    cr_assert_arr_eq(id.data, id_bytes, 20);
}

static int own_note(struct dl_phdr_info *info, size_t size, void *found)
{
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        const uint8_t *notes = (const uint8_t *)(info->dlpi_addr + segment->p_vaddr);
        if (segment->p_type == PT_NOTE &&
            weir_build_id_of_notes(notes, segment->p_memsz, segment->p_align == 8 ? 8 : 4, found) == 0)
            return 1;
    }
    return 1; /* the program itself comes first */
}

Test(build_id, file_of_the_running_program_has_that_of_its_memory)
{
    struct weir_build_id in_memory = {0}, in_file = {0};
    dl_iterate_phdr(own_note, &in_memory);
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    cr_assert_eq(weir_build_id_of_file(fd, &in_file), in_memory.bytes ? 0 : -ENODATA);
    close(fd);
    cr_assert_eq(in_file.bytes, in_memory.bytes);
    cr_assert_arr_eq(in_file.data, in_memory.data, 20);
}

Test(build_id, kernel_and_modules_come_from_sysfs)
{
    struct temp_tree tree;
    struct weir_build_id id = untouched();
    uint8_t notes[64] = {0};
    temp_tree_init(&tree);
    cr_assert_eq(weir_build_id_of_kernel(tree.root, &id), -ENOENT);
    cr_assert_eq(weir_build_id_of_module(tree.root, "ext4", &id), -ENOENT);
    cr_assert_eq(weir_build_id_of_module(tree.root, "../kernel", &id), -ENAMETOOLONG);

    size_t bytes = put_note(notes, "GNU", NT_GNU_BUILD_ID, id_bytes, 20);
    temp_tree_write(&tree, "kernel/notes", notes, bytes);
    cr_assert_eq(weir_build_id_of_kernel(tree.root, &id), 0);
    cr_assert_eq(id.bytes, 20);

    temp_tree_write(&tree, "module/ext4/notes/.note.Linux", notes, 4);
    cr_assert_eq(weir_build_id_of_module(tree.root, "ext4", &id), -ENODATA);
    bytes = put_note(notes, "GNU", NT_GNU_BUILD_ID, id_bytes + 1, 19);
    temp_tree_write(&tree, "module/ext4/notes/.note.gnu.build-id", notes, bytes);
    cr_assert_eq(weir_build_id_of_module(tree.root, "ext4", &id), 0);
    cr_assert_eq(id.bytes, 19);
    cr_assert_eq(id.data[0], 2);
    temp_tree_fini(&tree);
}
