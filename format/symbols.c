/* The table of symbols: its order, lengths and duplicates. Any thread. */
#include "format/symbols.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bits.h"

#define PAGE_BYTES 4096u
#define STEPS_BACK 16u /* symbols that are looked at for one that contains its followers */

int weir_symbols_add(struct weir_symbols *symbols, const struct weir_symbol_text *symbol)
{
    size_t bytes = strlen(symbol->name) + 1;
    if (symbols->count >= INT32_MAX || symbols->names.used > UINT32_MAX - bytes)
        return -ENOMEM;
    struct weir_symbol *items = weir_array_grow(symbols->items, sizeof(*items), symbols->count, 1, &symbols->capacity);
    if (!items)
        return -ENOMEM;
    symbols->items = items;
    uint64_t end;
    if (__builtin_add_overflow(symbol->start, symbol->bytes, &end))
        end = UINT64_MAX;
    items[symbols->count] = (struct weir_symbol){
        .start = symbol->start,
        .end = end,
        .name = (uint32_t)symbols->names.used,
        .order = (uint32_t)symbols->count,
        .binding = (uint8_t)symbol->binding,
    };
    weir_buf_append(&symbols->names, symbol->name, bytes);
    if (weir_buf_error(&symbols->names) < 0)
        return -ENOMEM;
    symbols->count++;
    return 0;
}

const char *weir_symbol_name(const struct weir_symbols *symbols, uint32_t number)
{
    return (const char *)symbols->names.data + symbols->items[number].name;
}

static int compare(const void *a, const void *b)
{
    const struct weir_symbol *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* A symbol without a length ends where the next one starts. The last symbol of the kernel, of the modules and of all
 * has no known end. weir takes the end to be in the next page. */
static void fill_ends(struct weir_symbols *symbols)
{
    struct weir_symbol *items = symbols->items;
    for (size_t i = 0; i < symbols->count; i++) {
        if (items[i].end != items[i].start)
            continue;
        bool is_last = i + 1 == symbols->count;
        if (!is_last && items[i].is_module == items[i + 1].is_module)
            items[i].end = items[i + 1].start;
        else if (items[i].start < UINT64_MAX - 2 * PAGE_BYTES)
            items[i].end =
                weir_align_up(items[i].start + (is_last ? 0 : PAGE_BYTES), PAGE_BYTES) + (is_last ? PAGE_BYTES : 0);
    }
}

static int underscores(const char *name)
{
    return (int)strspn(name, "_");
}

/* Whether the first of two symbols with the same start is the better name for it. */
static bool is_better(const struct weir_symbols *symbols, const struct weir_symbol *a, const struct weir_symbol *b)
{
    const char *name_a = (const char *)symbols->names.data + a->name;
    const char *name_b = (const char *)symbols->names.data + b->name;
    bool a_is_long = a->end > a->start, b_is_long = b->end > b->start;
    if (a_is_long != b_is_long)
        return a_is_long;
    if ((a->binding == WEIR_SYMBOL_WEAK) != (b->binding == WEIR_SYMBOL_WEAK))
        return b->binding == WEIR_SYMBOL_WEAK;
    if ((a->binding == WEIR_SYMBOL_GLOBAL) != (b->binding == WEIR_SYMBOL_GLOBAL))
        return a->binding == WEIR_SYMBOL_GLOBAL;
    if (underscores(name_a) != underscores(name_b))
        return underscores(name_a) < underscores(name_b);
    size_t length_a = strlen(name_a), length_b = strlen(name_b);
    if (length_a != length_b)
        return length_a > length_b;
    return length_a < 3 || strncmp(name_a, "SyS", 3) != 0;
}

static void drop_duplicates(struct weir_symbols *symbols)
{
    size_t kept = 0;
    for (size_t i = 0; i < symbols->count; i++) {
        struct weir_symbol *last = kept > 0 ? &symbols->items[kept - 1] : NULL;
        if (!last || last->start != symbols->items[i].start)
            symbols->items[kept++] = symbols->items[i];
        else if (!is_better(symbols, last, &symbols->items[i]))
            *last = symbols->items[i];
    }
    symbols->count = kept;
}

void weir_symbols_keep_newest(struct weir_symbols *symbols)
{
    size_t kept = 0;
    if (symbols->count > 0)
        qsort(symbols->items, symbols->count, sizeof(*symbols->items), compare);
    for (size_t i = 0; i < symbols->count; i++) {
        kept -= kept > 0 && symbols->items[kept - 1].start == symbols->items[i].start;
        symbols->items[kept++] = symbols->items[i];
    }
    symbols->count = kept;
}

void weir_symbols_finish(struct weir_symbols *symbols)
{
    if (symbols->count == 0)
        return;
    qsort(symbols->items, symbols->count, sizeof(*symbols->items), compare);
    fill_ends(symbols);
    drop_duplicates(symbols);
}

uint32_t weir_symbols_find(const struct weir_symbols *symbols, uint64_t address)
{
    size_t low = weir_array_count_up_to(symbols->items, sizeof(*symbols->items), offsetof(struct weir_symbol, start),
                                        symbols->count, address);
    for (unsigned step = 0; low > 0 && step < STEPS_BACK; step++) {
        const struct weir_symbol *symbol = &symbols->items[--low];
        if (address < symbol->end || address == symbol->start)
            return (uint32_t)low;
    }
    return WEIR_SYMBOL_NONE;
}

void weir_symbols_fini(struct weir_symbols *symbols)
{
    if (!symbols)
        return;
    free(symbols->items);
    weir_buf_fini(&symbols->names);
    *symbols = (struct weir_symbols){0};
}
