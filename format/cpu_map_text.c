/*
 * The body of CPU_MAP: a u16 type, then a list of u16, a mask of u32 or u64 words, or a range. In front of a range
 * stands a u8, which means any CPU. One thread.
 *
 * Source: struct perf_record_cpu_map_data in tools/lib/perf/include/perf/event.h of Linux 6.1.
 */
#include "format/cpu_map_text.h"

#include <stdbool.h>

#include "format/bytes.h"

#define WORD_BITS 64u
#define ANY_CPU   UINT16_MAX

enum cpu_map_type {
    MAP_LIST = 0,
    MAP_MASK = 1,
    MAP_RANGE = 2
};

struct cpu_list {
    struct weir_buf *out;
    bool is_open; /* first to last are not written yet */
    bool any;     /* a CPU has been written */
    unsigned first, last;
};

static void close_range(struct cpu_list *list)
{
    if (!list->is_open)
        return;
    weir_buf_printf(list->out, list->first == list->last ? "%s%u" : "%s%u-%u", list->any ? "," : "", list->first,
                    list->last);
    list->any = true;
    list->is_open = false;
}

/* The map of a task that any CPU may run. */
static void add_any_cpu(struct cpu_list *list)
{
    close_range(list);
    weir_buf_printf(list->out, list->any ? ",-1" : "-1");
    list->any = true;
}

static void add_cpu(struct cpu_list *list, unsigned cpu)
{
    if (list->is_open && cpu == list->last + 1) {
        list->last = cpu;
        return;
    }
    close_range(list);
    list->first = list->last = cpu;
    list->is_open = true;
}

static void add_mask(struct cpu_list *list, struct weir_cursor *cursor)
{
    const uint8_t *head = weir_cursor_take(cursor, 2 * sizeof(uint16_t));
    unsigned words = head ? weir_load_u16(head) : 0, word_bytes = head ? weir_load_u16(head + 2) : 0;
    if (word_bytes == sizeof(uint64_t))
        weir_cursor_take(cursor, sizeof(uint16_t)); /* padding up to 8 */
    for (unsigned word = 0; word < words && !cursor->failed; word++) {
        uint64_t bits = word_bytes == sizeof(uint64_t) ? weir_cursor_u64(cursor) : weir_cursor_u32(cursor);
        unsigned word_bits = word_bytes == sizeof(uint64_t) ? WORD_BITS : WORD_BITS / 2;
        for (unsigned bit = 0; bit < word_bits; bit++) {
            if (bits >> bit & 1)
                add_cpu(list, word * word_bits + bit);
        }
    }
}

void weir_cpu_map_append(const uint8_t *map, size_t bytes, struct weir_buf *out)
{
    struct cpu_list list = {.out = out};
    uint16_t type = weir_load_u16(map);
    struct weir_cursor cursor = {.data = map + sizeof(type), .bytes = bytes - sizeof(type)};
    if (type == MAP_LIST) {
        const uint8_t *head = weir_cursor_take(&cursor, sizeof(uint16_t));
        unsigned count = head ? weir_load_u16(head) : 0;
        for (unsigned i = 0; i < count; i++) {
            const uint8_t *cpu = weir_cursor_take(&cursor, sizeof(uint16_t));
            if (cpu && weir_load_u16(cpu) == ANY_CPU)
                add_any_cpu(&list);
            else if (cpu)
                add_cpu(&list, weir_load_u16(cpu));
        }
    } else if (type == MAP_MASK) {
        add_mask(&list, &cursor);
    } else if (type == MAP_RANGE) {
        const uint8_t *range = weir_cursor_take(&cursor, 6);
        if (range && range[0])
            add_any_cpu(&list);
        list.is_open = range != NULL;
        list.first = range ? weir_load_u16(range + 2) : 0;
        list.last = range ? weir_load_u16(range + 4) : 0;
    }
    close_range(&list);
    if (!list.any)
        weir_buf_append_u8(out, '?');
}
