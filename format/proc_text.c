/*
 * Parsers of the /proc/PID files that synthesis reads. Any thread; no state.
 *
 * Each take_*() function moves the cursor behind the bytes that it takes, or returns false and leaves the cursor. A
 * zero at the end of a text is a character that no function takes.
 */
#include "format/proc_text.h"

#include <string.h>
#include <sys/mman.h>

static bool take(const char **at, char c)
{
    if (**at != c)
        return false;
    (*at)++;
    return true;
}

static bool take_decimal(const char **at, uint64_t *value)
{
    const char *p = *at;
    uint64_t v = 0;
    for (; *p >= '0' && *p <= '9'; p++) {
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
            return false;
    }
    if (p == *at)
        return false;
    *at = p;
    *value = v;
    return true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

static bool take_hex(const char **at, uint64_t *value)
{
    const char *p = *at;
    uint64_t v = 0;
    for (int digit; (digit = hex_digit(*p)) >= 0; p++) {
        if (v >> 60)
            return false;
        v = v << 4 | (unsigned)digit;
    }
    if (p == *at)
        return false;
    *at = p;
    *value = v;
    return true;
}

static bool take_hex_u32(const char **at, uint32_t *value)
{
    uint64_t v;
    const char *p = *at;
    if (!take_hex(&p, &v) || v > UINT32_MAX)
        return false;
    *at = p;
    *value = (uint32_t)v;
    return true;
}

/* ---- stat ---- */

/* Field numbers of proc_pid_stat(5); the text behind comm starts with field 3. */
enum stat_field {
    STAT_STATE = 3,
    STAT_PPID = 4,
    STAT_THREADS = 20,
    STAT_START = 22,
    STAT_VSIZE = 23,
};

/* Moves the cursor from the start of field `from` to that of field `to`; fields are parted by single spaces. */
static bool skip_fields(const char **at, enum stat_field from, enum stat_field to)
{
    const char *p = *at;
    for (int field = (int)from; field < (int)to; field++) {
        p = strchr(p, ' ');
        if (!p)
            return false;
        p++;
    }
    *at = p;
    return true;
}

static void copy_comm(char *comm, const char *text, size_t bytes)
{
    size_t kept = bytes < WEIR_PROC_COMM_BYTES - 1 ? bytes : WEIR_PROC_COMM_BYTES - 1;
    memcpy(comm, text, kept);
    comm[kept] = '\0';
}

void weir_proc_comm_copy(char comm[WEIR_PROC_COMM_BYTES], const char *text, size_t bytes)
{
    if (bytes > 0 && text[bytes - 1] == '\n')
        bytes--;
    copy_comm(comm, text, bytes);
}

bool weir_proc_stat_parse(const char *text, struct weir_proc_stat *stat)
{
    /* A comm may hold anything, also ") S 1": only the last parenthesis closes it. */
    const char *open = strchr(text, '(');
    const char *close = strrchr(text, ')');
    if (!open || !close || close < open)
        return false;
    copy_comm(stat->comm, open + 1, (size_t)(close - open - 1));

    const char *at = close + 1;
    uint64_t ppid, threads;
    if (!take(&at, ' ') || !skip_fields(&at, STAT_STATE, STAT_PPID) || !take_decimal(&at, &ppid) ||
        !skip_fields(&at, STAT_PPID, STAT_THREADS) || !take_decimal(&at, &threads) ||
        !skip_fields(&at, STAT_THREADS, STAT_START) || !take_decimal(&at, &stat->start_ticks) ||
        !skip_fields(&at, STAT_START, STAT_VSIZE) || !take_decimal(&at, &stat->vm_bytes))
        return false;
    if (ppid > INT32_MAX || threads > INT32_MAX)
        return false;
    stat->ppid = (pid_t)ppid;
    stat->threads = (uint32_t)threads;
    return true;
}

pid_t weir_proc_status_tgid(const char *text)
{
    static const char key[] = "\nTgid:\t"; /* a newline in Name is escaped, so that this cannot be part of it */
    const char *at = strstr(text, key);
    if (!at)
        return -1;
    at += sizeof(key) - 1;
    uint64_t tgid;
    return take_decimal(&at, &tgid) && tgid <= INT32_MAX ? (pid_t)tgid : -1;
}

/* ---- maps ---- */

static bool take_permission(const char **at, char letter, uint32_t bit, uint32_t *protection)
{
    if (take(at, letter)) {
        *protection |= bit;
        return true;
    }
    return take(at, '-');
}

static bool take_permissions(const char **at, struct weir_proc_map *map)
{
    map->protection = 0;
    if (!take_permission(at, 'r', PROT_READ, &map->protection) ||
        !take_permission(at, 'w', PROT_WRITE, &map->protection) ||
        !take_permission(at, 'x', PROT_EXEC, &map->protection))
        return false;
    map->flags = **at == 's' ? MAP_SHARED : MAP_PRIVATE;
    return take(at, 's') || take(at, 'p');
}

bool weir_proc_map_parse(const char *line, struct weir_proc_map *map)
{
    const char *at = line;
    if (!take_hex(&at, &map->start) || !take(&at, '-') || !take_hex(&at, &map->end) || !take(&at, ' ') ||
        !take_permissions(&at, map) || !take(&at, ' ') || !take_hex(&at, &map->page_offset) || !take(&at, ' ') ||
        !take_hex_u32(&at, &map->major) || !take(&at, ':') || !take_hex_u32(&at, &map->minor) || !take(&at, ' ') ||
        !take_decimal(&at, &map->inode))
        return false;
    if (*at != ' ' && *at != '\0')
        return false;
    map->name = at + strspn(at, " ");
    return map->start < map->end;
}
