/*
 * libelf finds the tables of a file; kallsyms is read line by line. Any thread.
 *
 * A function's start in a file is the offset of its bytes. st_value is an address or, in a file that is not linked yet,
 * an offset in the symbol's section. The section maps addresses to offsets.
 */
#include "format/functions.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "format/debug_file.h"
#include "format/elf_file.h"
#include "format/line_source.h"

#define PROC_ROOT  "/proc"
#define LINE_BYTES (4 * PATH_MAX) /* symbols have at most 512 bytes */

static int add(struct weir_functions *functions, const char *name, struct weir_function function)
{
    struct weir_function *items =
        weir_array_grow(functions->items, sizeof(*items), functions->count, 1, &functions->capacity);
    if (!items)
        return -ENOMEM;
    functions->items = items;
    function.name = functions->names.used;
    weir_buf_append(&functions->names, name, strlen(name) + 1);
    if (weir_buf_error(&functions->names) < 0)
        return -ENOMEM;
    items[functions->count++] = function;
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct weir_function *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name;
}

static void sort(struct weir_functions *functions)
{
    if (functions->count > 0)
        qsort(functions->items, functions->count, sizeof(*functions->items), compare);
}

void weir_functions_fini(struct weir_functions *functions)
{
    if (!functions)
        return;
    free(functions->items);
    weir_buf_fini(&functions->names);
    *functions = (struct weir_functions)WEIR_FUNCTIONS_INIT;
}

const char *weir_function_name(const struct weir_functions *functions, size_t index)
{
    return (const char *)functions->names.data + functions->items[index].name;
}

/* ---- ELF files ---- */

static Elf_Scn *find_section(Elf *elf, GElf_Word type, GElf_Shdr *header)
{
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(elf, section))) {
        if (gelf_getshdr(section, header) && header->sh_type == type)
            return section;
    }
    return NULL;
}

static bool is_function(const GElf_Sym *symbol)
{
    unsigned type = GELF_ST_TYPE(symbol->st_info);
    return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_name != 0 && symbol->st_shndx != SHN_UNDEF &&
           symbol->st_shndx < SHN_LORESERVE;
}

static char binding_of(const GElf_Sym *symbol)
{
    switch (GELF_ST_BIND(symbol->st_info)) {
    case STB_GLOBAL:
        return 'g';
    case STB_WEAK:
        return 'w';
    default:
        return 'l';
    }
}

/* Where the byte at an address of a linked file is in it. */
static bool offset_of(Elf *elf, uint64_t address, uint64_t *offset)
{
    size_t count;
    GElf_Phdr segment;
    if (elf_getphdrnum(elf, &count) < 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!gelf_getphdr(elf, (int)i, &segment) || segment.p_type != PT_LOAD || address < segment.p_vaddr ||
            address - segment.p_vaddr >= segment.p_filesz)
            continue;
        *offset = address - segment.p_vaddr + segment.p_offset;
        return true;
    }
    return false;
}

/* Where a function begins in the program. The sections of a debug file have their addresses, but not their offsets:
 * program is the file that they were taken from, NULL for elf itself. */
static bool start_of(Elf *elf, Elf *program, const GElf_Sym *symbol, uint64_t *start)
{
    GElf_Shdr home;
    GElf_Ehdr file;
    if (program)
        return offset_of(program, symbol->st_value, start);
    Elf_Scn *section = elf_getscn(elf, symbol->st_shndx);
    if (!section || !gelf_getshdr(section, &home) || !gelf_getehdr(elf, &file))
        return false;
    *start = symbol->st_value - (file.e_type == ET_REL ? 0 : home.sh_addr) + home.sh_offset;
    return true;
}

static int add_symbols(struct weir_functions *functions, Elf *elf, Elf *program, GElf_Word type)
{
    GElf_Shdr header;
    Elf_Scn *table = find_section(elf, type, &header);
    Elf_Data *data = table && header.sh_entsize != 0 ? elf_getdata(table, NULL) : NULL;
    GElf_Sym symbol;
    for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
        struct weir_function function = {.bytes = symbol.st_size, .binding = binding_of(&symbol)};
        const char *name = is_function(&symbol) ? elf_strptr(elf, header.sh_link, symbol.st_name) : NULL;
        if (!name || !start_of(elf, program, &symbol, &function.start))
            continue;
        int result = add(functions, name, function);
        if (result < 0)
            return result;
    }
    return 0;
}

/* Up to the next one that begins elsewhere: any number may begin at the same place. */
static void fill_sizes(struct weir_functions *functions)
{
    struct weir_function *items = functions->items;
    uint64_t next_start = 0; /* of the last one there is no next */
    for (size_t i = functions->count; i-- > 0;) {
        if (i + 1 < functions->count && items[i + 1].start != items[i].start)
            next_start = items[i + 1].start;
        if (items[i].bytes == 0 && next_start > items[i].start)
            items[i].bytes = next_start - items[i].start;
    }
}

/* Those of the debug file of the program behind fd, if it has one. */
static int add_debug_symbols(struct weir_functions *functions, Elf *program, int fd, const char *path,
                             const char *debug_root)
{
    int debug_fd = path ? weir_debug_file_open(fd, path, debug_root) : -ENOENT;
    if (debug_fd < 0)
        return 0;
    Elf *elf = weir_elf_begin(debug_fd);
    int result = elf ? add_symbols(functions, elf, program, SHT_SYMTAB) : 0;
    elf_end(elf);
    close(debug_fd);
    return result;
}

static int read_elf(struct weir_functions *functions, Elf *elf, int fd, const char *path, const char *debug_root)
{
    int result = add_symbols(functions, elf, NULL, SHT_SYMTAB);
    if (result == 0 && functions->count == 0)
        result = add_debug_symbols(functions, elf, fd, path, debug_root);
    if (result == 0 && functions->count == 0)
        result = add_symbols(functions, elf, NULL, SHT_DYNSYM);
    if (result < 0)
        return result;
    sort(functions);
    fill_sizes(functions);
    return functions->count > 0 ? 0 : -ENODATA;
}

int weir_functions_of_file(struct weir_functions *functions, int fd, const char *path, const char *debug_root)
{
    char magic[SELFMAG];
    ssize_t got = pread(fd, magic, sizeof(magic), 0);
    if (got < 0)
        return -errno;
    if (got < SELFMAG || memcmp(magic, ELFMAG, SELFMAG) != 0)
        return -ENODATA;
    Elf *elf = weir_elf_begin(fd);
    int result = elf ? read_elf(functions, elf, fd, path, debug_root) : -ENODATA;
    elf_end(elf);
    return result;
}

/* ---- the kernel ---- */

struct kernel_scan {
    struct weir_functions *functions;
    size_t open;         /* functions from here on have no size yet */
    bool any, any_shown; /* symbols; such with an address */
};

/* "ffffffff81000000 T _text", and "\t[MODULE]" behind those of modules. 0 or -ENOMEM. */
static int note_symbol(struct kernel_scan *scan, char *line)
{
    char *end;
    uint64_t address = strtoull(line, &end, 16);
    if (end == line || end[0] != ' ' || end[1] == '\0' || end[2] != ' ' || end[3] == '\0')
        return 0;
    char type = end[1], *name = end + 3;
    name[strcspn(name, " \t")] = '\0';
    scan->any = true;
    scan->any_shown |= address != 0;

    struct weir_functions *functions = scan->functions;
    for (size_t i = scan->open; i < functions->count && address > functions->items[i].start; i++) {
        functions->items[i].bytes = address - functions->items[i].start;
        scan->open = i + 1;
    }
    if (toupper((unsigned char)type) != 'T' && toupper((unsigned char)type) != 'W')
        return 0;
    char binding = type == 'T' ? 'g' : toupper((unsigned char)type) == 'W' ? 'w' : 'l';
    return add(functions, name, (struct weir_function){.start = address, .binding = binding});
}

int weir_functions_of_kernel(struct weir_functions *functions, const char *proc_root)
{
    char path[PATH_MAX], text[LINE_BYTES];
    if ((size_t)snprintf(path, sizeof(path), "%s/kallsyms", proc_root ? proc_root : PROC_ROOT) >= sizeof(path))
        return -ENAMETOOLONG;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    struct kernel_scan scan = {.functions = functions};
    struct weir_line_source lines;
    weir_line_source_init(&lines, fd, text, sizeof(text));
    int result = 0;
    for (char *line; result == 0 && (line = weir_line_source_next(&lines));)
        result = note_symbol(&scan, line);
    close(fd);
    if (result == 0)
        result = lines.error;
    if (result == 0 && scan.any && !scan.any_shown)
        result = -EACCES;
    if (result == 0 && functions->count == 0)
        result = -ENODATA;
    sort(functions);
    return result;
}
