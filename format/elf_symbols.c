/*
 * Symbols of ELF files. libelf finds the tables and checks their bounds against the file; this module bounds the bytes
 * that libelf would read into memory. Any thread.
 *
 * A debug file has the symbols and the addresses of its program, but not its offsets: segments are of the program.
 */
#include "format/elf_symbols.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/write_whole.h"
#include "format/debug_file.h"
#include "format/elf_file.h"

#define PLT_NAME_BYTES 1024
#define VDSO_BYTES_MAX (1u << 20)

/* The files of one program: which one has the symbols, and which one has the offsets. */
struct elf_pair {
    Elf *symbols, *program;
};

static bool is_loadable(const GElf_Shdr *header)
{
    return header->sh_entsize != 0 && header->sh_size <= WEIR_SYMBOLS_MAX_BYTES && header->sh_type != SHT_NOBITS;
}

static Elf_Scn *find_type(Elf *elf, GElf_Word type, GElf_Shdr *header)
{
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(elf, section))) {
        if (gelf_getshdr(section, header) && header->sh_type == type && is_loadable(header))
            return section;
    }
    return NULL;
}

static const char *section_name(Elf *elf, const GElf_Shdr *header)
{
    size_t names;
    const char *name = elf_getshdrstrndx(elf, &names) == 0 ? elf_strptr(elf, names, header->sh_name) : NULL;
    return name ? name : "";
}

static Elf_Scn *find_name(Elf *elf, const char *wanted, GElf_Shdr *header)
{
    Elf_Scn *section = NULL;
    while ((section = elf_nextscn(elf, section))) {
        if (gelf_getshdr(section, header) && strcmp(section_name(elf, header), wanted) == 0)
            return section;
    }
    return NULL;
}

/* Whether libelf may read the strings of a table: elf_strptr(3) reads the whole section. */
static bool has_small_strings(Elf *elf, size_t number)
{
    GElf_Shdr header;
    Elf_Scn *section = elf_getscn(elf, number);
    return section && gelf_getshdr(section, &header) && header.sh_size <= WEIR_SYMBOLS_MAX_BYTES;
}

/* ---- one symbol ---- */

static bool is_label(const GElf_Sym *symbol)
{
    unsigned visibility = GELF_ST_VISIBILITY(symbol->st_other);
    return GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE && visibility != STV_HIDDEN && visibility != STV_INTERNAL;
}

static bool is_named_place(const GElf_Sym *symbol)
{
    unsigned type = GELF_ST_TYPE(symbol->st_info);
    bool is_wanted = type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_OBJECT || is_label(symbol);
    return is_wanted && symbol->st_name != 0 && symbol->st_shndx != SHN_UNDEF && symbol->st_shndx < SHN_LORESERVE;
}

/* Marks between code and data of ARM, such as $x. */
static bool is_mapping_mark(GElf_Half machine, const char *name)
{
    return (machine == EM_ARM || machine == EM_AARCH64) && name[0] == '$' && name[1] && strchr("adtx", name[1]) &&
           (name[2] == '\0' || name[2] == '.');
}

static enum weir_symbol_binding binding_of(const GElf_Sym *symbol)
{
    unsigned binding = GELF_ST_BIND(symbol->st_info);
    return binding == STB_GLOBAL ? WEIR_SYMBOL_GLOBAL : binding == STB_WEAK ? WEIR_SYMBOL_WEAK : WEIR_SYMBOL_LOCAL;
}

/* Turns an address into an offset in the program. */
static uint64_t offset_of(Elf *program, uint64_t address, const GElf_Shdr *home)
{
    size_t count = 0;
    GElf_Phdr segment;
    elf_getphdrnum(program, &count);
    for (size_t i = 0; i < count; i++) {
        if (gelf_getphdr(program, (int)i, &segment) && segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
            address - segment.p_vaddr < segment.p_memsz)
            return address - segment.p_vaddr + segment.p_offset;
    }
    return address - home->sh_addr + home->sh_offset;
}

/* The place of a symbol; false: it does not occupy memory that a sample could be in. */
static bool place_of(const struct elf_pair *pair, const GElf_Sym *symbol, GElf_Half type, uint64_t *start)
{
    GElf_Shdr home;
    Elf_Scn *section = elf_getscn(pair->symbols, symbol->st_shndx);
    if (!section || !gelf_getshdr(section, &home) || !(home.sh_flags & SHF_ALLOC))
        return false;
    const char *name = is_label(symbol) ? section_name(pair->symbols, &home) : "";
    if (is_label(symbol) && !strstr(name, ".text") && !strstr(name, ".data"))
        return false;
    if (home.sh_type == SHT_NOBITS) {
        section = elf_getscn(pair->program, symbol->st_shndx);
        if (!section || !gelf_getshdr(section, &home))
            return false;
    }
    *start = type == ET_REL ? symbol->st_value + home.sh_offset : offset_of(pair->program, symbol->st_value, &home);
    return true;
}

/* ---- tables ---- */

static int add_table(struct weir_symbols *symbols, const struct elf_pair *pair, GElf_Word type)
{
    GElf_Shdr header;
    GElf_Ehdr file;
    GElf_Sym symbol;
    Elf_Scn *section = find_type(pair->symbols, type, &header);
    if (!section || !gelf_getehdr(pair->symbols, &file) || !has_small_strings(pair->symbols, header.sh_link))
        return 0;
    Elf_Data *data = elf_getdata(section, NULL);
    for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
        if (!is_named_place(&symbol))
            continue;
        const char *name = elf_strptr(pair->symbols, header.sh_link, symbol.st_name);
        struct weir_symbol_text text = {.name = name, .bytes = symbol.st_size, .binding = binding_of(&symbol)};
        if (!name || is_mapping_mark(file.e_machine, name) || !place_of(pair, &symbol, file.e_type, &text.start))
            continue;
        int result = weir_symbols_add(symbols, &text);
        if (result < 0)
            return result;
    }
    return 0;
}

/* The relocations of .plt: their section and its data; of one of the two kinds. NULL: none. */
static Elf_Data *find_plt_relocations(Elf *elf, GElf_Shdr *header)
{
    Elf_Scn *section = find_name(elf, ".rela.plt", header);
    if (!section)
        section = find_name(elf, ".rel.plt", header);
    bool is_known = section && (header->sh_type == SHT_RELA || header->sh_type == SHT_REL) && is_loadable(header);
    return is_known ? elf_getdata(section, NULL) : NULL;
}

static bool symbol_of_relocation(Elf_Data *data, GElf_Word type, int number, size_t *symbol)
{
    GElf_Rela with;
    GElf_Rel without;
    bool is_there =
        type == SHT_RELA ? gelf_getrela(data, number, &with) != NULL : gelf_getrel(data, number, &without) != NULL;
    *symbol = !is_there ? 0 : type == SHT_RELA ? GELF_R_SYM(with.r_info) : GELF_R_SYM(without.r_info);
    return is_there;
}

/* Entries of the procedure linkage table, named after the function that each jumps to: "read@plt". */
static int add_plt(struct weir_symbols *symbols, Elf *elf)
{
    GElf_Shdr plt, relocations, dynamic;
    GElf_Sym symbol;
    GElf_Ehdr file;
    char text[PLT_NAME_BYTES];
    if (!find_name(elf, ".plt", &plt) || plt.sh_entsize == 0 || !gelf_getehdr(elf, &file))
        return 0;
    Elf_Data *data = find_plt_relocations(elf, &relocations);
    Elf_Scn *section = find_type(elf, SHT_DYNSYM, &dynamic);
    Elf_Data *names = section && has_small_strings(elf, dynamic.sh_link) ? elf_getdata(section, NULL) : NULL;
    if (!data || !names)
        return 0;
    uint64_t head_bytes = file.e_machine == EM_AARCH64 ? 32 : plt.sh_entsize;
    uint64_t entry_bytes = file.e_machine == EM_AARCH64 ? 16 : plt.sh_entsize;
    uint64_t at = plt.sh_offset + head_bytes;
    size_t number;
    for (int i = 0; symbol_of_relocation(data, relocations.sh_type, i, &number); i++, at += entry_bytes) {
        const char *name = number <= INT32_MAX && gelf_getsym(names, (int)number, &symbol)
                               ? elf_strptr(elf, dynamic.sh_link, symbol.st_name)
                               : NULL;
        snprintf(text, sizeof(text), "%.1000s@plt", name ? name : "");
        int result = weir_symbols_add(symbols, &(struct weir_symbol_text){text, at, entry_bytes, WEIR_SYMBOL_GLOBAL});
        if (result < 0)
            return result;
    }
    return 0;
}

/* ---- files ---- */

static int add_of_debug_file(struct weir_symbols *symbols, Elf *program, int fd, const char *path,
                             const char *debug_root)
{
    int debug_fd = path ? weir_debug_file_open(fd, path, debug_root) : -ENOENT;
    if (debug_fd < 0)
        return 0;
    struct elf_pair pair = {.symbols = weir_elf_begin(debug_fd), .program = program};
    int result = pair.symbols ? add_table(symbols, &pair, SHT_SYMTAB) : 0;
    elf_end(pair.symbols);
    close(debug_fd);
    return result;
}

static int add_elf(struct weir_symbols *symbols, Elf *elf, int fd, const char *path, const char *debug_root)
{
    const struct elf_pair pair = {.symbols = elf, .program = elf};
    int result = add_table(symbols, &pair, SHT_SYMTAB);
    if (result == 0 && symbols->count == 0 && fd >= 0)
        result = add_of_debug_file(symbols, elf, fd, path, debug_root);
    symbols->is_full = symbols->count > 0;
    if (result == 0 && symbols->count == 0)
        result = add_table(symbols, &pair, SHT_DYNSYM);
    if (result == 0 && symbols->count > 0) /* as perf, which has no entries of files without symbols */
        result = add_plt(symbols, elf);
    weir_symbols_finish(symbols);
    if (result < 0)
        return result;
    return symbols->count > 0 ? 0 : -ENODATA;
}

int weir_symbols_of_elf(struct weir_symbols *symbols, int fd, const char *path, const char *debug_root)
{
    Elf *elf = weir_elf_begin(fd);
    int result = elf ? add_elf(symbols, elf, fd, path, debug_root) : -ENODATA;
    elf_end(elf);
    return result;
}

int weir_symbols_of_debug_file(struct weir_symbols *symbols, int fd, int debug_fd)
{
    Elf *program = fd >= 0 ? weir_elf_begin(fd) : NULL;
    struct elf_pair pair = {.symbols = weir_elf_begin(debug_fd)};
    pair.program = program ? program : pair.symbols;
    int result = pair.symbols ? add_table(symbols, &pair, SHT_SYMTAB) : -ENODATA;
    if (result == 0 && program && symbols->count > 0)
        result = add_plt(symbols, program);
    weir_symbols_finish(symbols);
    elf_end(program);
    elf_end(pair.symbols);
    if (result < 0)
        return result;
    return symbols->count > 0 ? 0 : -ENODATA;
}

/* The length of this process' vDSO: up to the end of its section headers, which the kernel maps as a whole. */
static size_t vdso_bytes(const uint8_t *image)
{
    Elf64_Ehdr head;
    memcpy(&head, image, sizeof(head));
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64)
        return 0;
    uint64_t end = head.e_shoff + (uint64_t)head.e_shnum * head.e_shentsize;
    return end <= VDSO_BYTES_MAX ? (size_t)end : 0;
}

/* The vDSO of this process and its length; NULL: there is none, or it is not of 64 bits. */
static const void *vdso_image(size_t *bytes)
{
    const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR); /* the kernel's own file: it is trusted */
    *bytes = image ? vdso_bytes(image) : 0;
    return *bytes > 0 ? image : NULL;
}

int weir_vdso_open(void)
{
    size_t bytes;
    const void *image = vdso_image(&bytes);
    int fd = image ? memfd_create("weir-vdso", MFD_CLOEXEC) : -1;
    if (fd < 0)
        return image ? -errno : -ENODATA;
    int result = weir_write_whole(fd, image, bytes);
    if (result == 0)
        return fd;
    close(fd);
    return result;
}

int weir_symbols_of_vdso(struct weir_symbols *symbols)
{
    size_t bytes;
    const void *image = vdso_image(&bytes);
    if (!image || elf_version(EV_CURRENT) == EV_NONE)
        return -ENODATA;
    struct weir_buf copy = WEIR_BUF_INIT; /* libelf converts headers in place */
    weir_buf_append(&copy, image, bytes);
    Elf *elf = weir_buf_error(&copy) == 0 ? elf_memory((char *)copy.data, copy.used) : NULL;
    int result = elf ? add_elf(symbols, elf, -1, NULL, NULL) : -ENODATA;
    elf_end(elf);
    weir_buf_fini(&copy);
    return result;
}
