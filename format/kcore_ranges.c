/* Turns symbols into ranges, and ranges into segments. Pure. */
#include "format/kcore_ranges.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

static void widen(uint64_t address, uint64_t *first, uint64_t *last)
{
    if (*first == 0 || address < *first)
        *first = address;
    if (address > *last)
        *last = address;
}

void weir_kcore_note_symbol(struct weir_kcore_symbols *symbols, const char *line)
{
    char *rest;
    uint64_t address = strtoull(line, &rest, 16);
    if (rest == line || rest[0] != ' ' || rest[1] == '\0' || rest[2] != ' ' || address == 0)
        return;
    char type = (char)toupper((unsigned char)rest[1]);
    const char *name = rest + 3;
    if (type != 'T' && type != 'W')
        return;
    if (strchr(name, '[')) {
        widen(address, &symbols->first_module, &symbols->last_module);
        return;
    }
    widen(address, &symbols->first, &symbols->last);
    if (strcmp(name, "_stext") == 0)
        symbols->stext = address;
    else if (strcmp(name, "_etext") == 0)
        symbols->etext = address;
}

void weir_kcore_note_module(struct weir_kcore_symbols *symbols, const char *line)
{
    const char *field = strstr(line, " 0x");
    uint64_t start = field ? strtoull(field, NULL, 16) : 0;
    if (start > 0 && (symbols->first_module_start == 0 || start < symbols->first_module_start))
        symbols->first_module_start = start;
}

/* Up to the end of the page behind the one that the last function begins in. */
static uint64_t end_behind(uint64_t last, uint64_t page_bytes)
{
    uint64_t page = weir_align_down(last, page_bytes);
    return page > UINT64_MAX - 2 * page_bytes ? weir_align_down(UINT64_MAX, page_bytes) : page + 2 * page_bytes;
}

static unsigned add_range(struct weir_kcore_range *ranges, unsigned count, uint64_t start, uint64_t end)
{
    if (start == 0 || start >= end)
        return count;
    ranges[count] = (struct weir_kcore_range){.start = start, .end = end};
    return count + 1;
}

unsigned weir_kcore_ranges(const struct weir_kcore_symbols *symbols, uint64_t page_bytes,
                           struct weir_kcore_range ranges[WEIR_KCORE_RANGES_MAX])
{
    uint64_t start = weir_align_down(symbols->stext ? symbols->stext : symbols->first, page_bytes);
    uint64_t end = end_behind(symbols->last, page_bytes);
    if (symbols->etext && symbols->etext <= UINT64_MAX - page_bytes)
        end = weir_align_up(symbols->etext, page_bytes);
    unsigned count = add_range(ranges, 0, start, end);
    if (count == 0 || symbols->last_module == 0)
        return count;
    uint64_t first = symbols->first_module;
    if (symbols->first_module_start > 0)
        first = weir_min_u64(first, symbols->first_module_start);
    return add_range(ranges, count, weir_align_down(first, page_bytes), end_behind(symbols->last_module, page_bytes));
}

bool weir_kcore_segment_of(const GElf_Phdr *header, const struct weir_kcore_range *range,
                           struct weir_kcore_segment *segment)
{
    if (header->p_type != PT_LOAD || !(header->p_flags & PF_X) || range->start < header->p_vaddr ||
        range->start - header->p_vaddr >= header->p_filesz)
        return false;
    uint64_t before = range->start - header->p_vaddr;
    *segment = (struct weir_kcore_segment){
        .address = range->start,
        .bytes = weir_min_u64(range->end - range->start, header->p_filesz - before),
        .offset = header->p_offset + before,
    };
    return segment->offset >= before;
}
