/*
 * Files with symbols (format/elf_symbols.h, format/text_symbols.h). Input: a letter for the kind of file (e ELF, k
 * kallsyms, m perf-PID.map, j jitdump), a newline, the file.
 *
 * Whatever is in it: symbols ascend, no two start at one place, each has a name that ends, and what is found at an
 * address contains it.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"
#include "format/elf_symbols.h"
#include "format/text_symbols.h"
#include "tests/fuzz/fuzz.h"

static int read_symbols(struct weir_symbols *symbols, char kind, int fd)
{
    switch (kind) {
    case 'k':
        return weir_symbols_of_kallsyms(symbols, fd);
    case 'm':
        return weir_symbols_of_perf_map(symbols, fd);
    case 'j':
        return weir_symbols_of_jitdump(symbols, fd);
    default:
        return weir_symbols_of_elf(symbols, fd, NULL, "/nonexistent");
    }
}

static void check_address(const struct weir_symbols *symbols, uint64_t address)
{
    uint32_t number = weir_symbols_find(symbols, address);
    if (number == WEIR_SYMBOL_NONE)
        return;
    weir_assert(number < symbols->count);
    weir_assert(symbols->items[number].start <= address);
    weir_assert(address < symbols->items[number].end || address == symbols->items[number].start);
}

static void run(void *object, const uint8_t *data, size_t bytes)
{
    struct weir_symbols symbols = {0};
    (void)object;
    if (bytes < 2)
        return;
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    weir_assert(fd >= 0);
    weir_assert(write(fd, data + 2, bytes - 2) == (ssize_t)(bytes - 2));
    weir_assert(lseek(fd, 0, SEEK_SET) == 0);
    int result = read_symbols(&symbols, (char)data[0], fd);
    weir_assert(result <= 0);
    for (size_t i = 0; i < symbols.count; i++) {
        const struct weir_symbol *symbol = &symbols.items[i];
        weir_assert(i == 0 || symbols.items[i - 1].start < symbol->start);
        size_t room = symbols.names.used - symbol->name;
        weir_assert(strnlen(weir_symbol_name(&symbols, (uint32_t)i), room) < room);
        check_address(&symbols, symbol->start);
        check_address(&symbols, symbol->start - 1);
        check_address(&symbols, symbol->end);
        weir_assert(weir_symbols_find(&symbols, symbol->start) == i);
    }
    weir_symbols_fini(&symbols);
    close(fd);
}

const struct fuzz_target fuzz_target = {.run = run};
