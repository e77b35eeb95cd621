/* Symbols of text files, kallsyms and perf-PID.map, and of jitdump files. Any thread. */
#include "format/text_symbols.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/read_whole.h"
#include "format/bytes.h"
#include "format/line_source.h"

#define LINE_BYTES (4 * PATH_MAX)

/* ---- kallsyms ---- */

static bool is_symbol_line(char *line, uint64_t *address, char *type, char **name)
{
    char *end;
    *address = strtoull(line, &end, 16);
    if (end == line || end[0] != ' ' || end[1] == '\0' || end[2] != ' ' || end[3] == '\0')
        return false;
    *type = end[1];
    *name = end + 3;
    return true;
}

/* "ffffffff81000000 T _text", and "\t[MODULE]" behind those of modules. */
static int add_kernel_symbol(struct weir_symbols *symbols, char *line, bool *any_shown)
{
    char type, *name;
    struct weir_symbol_text text = {.bytes = 0};
    if (!is_symbol_line(line, &text.start, &type, &name))
        return 0;
    *any_shown |= text.start != 0;
    if (!strchr("TWDB", toupper((unsigned char)type)))
        return 0;
    bool is_module = strchr(name, '[') != NULL;
    name[strcspn(name, " \t")] = '\0';
    if (!is_module && (strcmp(name, "_text") == 0 || (symbols->text_start == 0 && strcmp(name, "_stext") == 0)))
        symbols->text_start = text.start;
    text.name = name;
    text.binding = type == 'W'                    ? WEIR_SYMBOL_WEAK
                   : islower((unsigned char)type) ? WEIR_SYMBOL_LOCAL
                                                  : WEIR_SYMBOL_GLOBAL;
    int result = weir_symbols_add(symbols, &text);
    if (result == 0)
        symbols->items[symbols->count - 1].is_module = is_module;
    return result;
}

int weir_symbols_of_kallsyms(struct weir_symbols *symbols, int fd)
{
    char text[LINE_BYTES];
    struct weir_line_source lines;
    bool any_shown = false;
    int result = 0;
    weir_line_source_init(&lines, fd, text, sizeof(text));
    for (char *line; result == 0 && (line = weir_line_source_next(&lines));)
        result = add_kernel_symbol(symbols, line, &any_shown);
    if (result == 0)
        result = lines.error;
    if (result == 0 && symbols->count > 0 && !any_shown)
        result = -EACCES;
    weir_symbols_finish(symbols);
    if (result < 0)
        return result;
    return symbols->count > 0 ? 0 : -ENODATA;
}

/* ---- perf-PID.map ---- */

/* "START LENGTH NAME": numbers in hex, the name up to the end of the line. */
static int add_map_line(struct weir_symbols *symbols, char *line)
{
    char *at;
    struct weir_symbol_text text = {.binding = WEIR_SYMBOL_GLOBAL};
    text.start = strtoull(line, &at, 16);
    if (at == line || *at != ' ')
        return 0;
    char *second = at + 1;
    text.bytes = strtoull(second, &at, 16);
    if (at == second || *at != ' ' || at[1] == '\0')
        return 0;
    text.name = at + 1;
    return weir_symbols_add(symbols, &text);
}

int weir_symbols_of_perf_map(struct weir_symbols *symbols, int fd)
{
    char text[LINE_BYTES];
    struct weir_line_source lines;
    int result = 0;
    weir_line_source_init(&lines, fd, text, sizeof(text));
    for (char *line; result == 0 && (line = weir_line_source_next(&lines));)
        result = add_map_line(symbols, line);
    if (result == 0)
        result = lines.error;
    weir_symbols_finish(symbols);
    if (result < 0)
        return result;
    return symbols->count > 0 ? 0 : -ENODATA;
}

/* ---- jitdump ---- */

#define JIT_MAGIC        0x4a695444u
#define JIT_HEAD_BYTES   40u
#define JIT_RECORD_BYTES 16u /* u32 id, u32 total_size, u64 timestamp */
#define JIT_CODE_LOAD    0u
#define JIT_LOAD_BYTES                                                                            \
    40u /* u32 pid, u32 tid, u64 vma, u64 code_addr, u64 code_size, u64 code_index; then the name \
         */
#define JIT_NAME_BYTES 512u

/* One CODE_LOAD record, whose code is not read. */
static int add_jit_load(struct weir_symbols *symbols, int fd, uint64_t offset, uint64_t bytes)
{
    uint8_t fixed[JIT_LOAD_BYTES];
    char name[JIT_NAME_BYTES];
    if (bytes <= sizeof(fixed) || !weir_read_exactly_at(fd, fixed, sizeof(fixed), offset))
        return 0;
    size_t room = bytes - sizeof(fixed) < sizeof(name) - 1 ? (size_t)(bytes - sizeof(fixed)) : sizeof(name) - 1;
    if (!weir_read_exactly_at(fd, name, room, offset + sizeof(fixed)))
        return 0;
    name[room] = '\0';
    if (name[0] == '\0')
        return 0;
    const struct weir_symbol_text text = {
        .name = name,
        .start = weir_load_u64(fixed + 16),
        .bytes = weir_load_u64(fixed + 24),
        .binding = WEIR_SYMBOL_GLOBAL,
    };
    return weir_symbols_add(symbols, &text);
}

int weir_symbols_of_jitdump(struct weir_symbols *symbols, int fd)
{
    uint8_t head[JIT_HEAD_BYTES], record[JIT_RECORD_BYTES];
    if (!weir_read_exactly_at(fd, head, sizeof(head), 0) || weir_load_u32(head) != JIT_MAGIC)
        return -ENODATA;
    uint64_t offset = weir_load_u32(head + 8);
    int result = 0;
    while (result == 0 && weir_read_exactly_at(fd, record, sizeof(record), offset)) {
        uint32_t bytes = weir_load_u32(record + 4);
        if (bytes < sizeof(record))
            break;
        if (weir_load_u32(record) == JIT_CODE_LOAD)
            result = add_jit_load(symbols, fd, offset + sizeof(record), bytes - sizeof(record));
        offset += bytes;
    }
    weir_symbols_keep_newest(symbols);
    weir_symbols_finish(symbols);
    if (result < 0)
        return result;
    return symbols->count > 0 ? 0 : -ENODATA;
}
