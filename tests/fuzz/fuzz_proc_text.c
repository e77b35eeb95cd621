/*
 * The texts of /proc/PID (format/proc_text.h). Input: one text, which every parser is given.
 *
 * A line of maps is taken exactly when a regular expression and the ranges of its numbers say so, and a stat or status
 * text exactly when a reading from its end, or line by line, does; with the same values.
 */
#include "format/proc_text.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/assert.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input.h"

/* Groups: 1 start, 2 end, 3 to 6 permissions, 7 offset, 8 major, 9 minor, 10 inode, 11 blanks and name. */
#define HEX        "([0-9a-f]+)"
#define MAP_LINE   "^" HEX "-" HEX " ([r-])([w-])([x-])([sp]) " HEX " " HEX ":" HEX " ([0-9]+)( .*)?$"
#define MAP_GROUPS 12

#define STAT_STATE    3 /* the fields of proc_pid_stat(5), from the first behind the name */
#define STAT_PPID     4
#define STAT_THREADS  20
#define STAT_START    22
#define STAT_VM_BYTES 23

struct fixture {
    regex_t map_line;
};

static void *init(void)
{
    struct fixture *fixture = malloc(sizeof(*fixture));
    weir_assert(fixture && regcomp(&fixture->map_line, MAP_LINE, REG_EXTENDED) == 0);
    return fixture;
}

static void fini(void *object)
{
    struct fixture *fixture = object;
    regfree(&fixture->map_line);
    free(fixture);
}

/* The number at text, which begins with a digit. False when it is greater than max. */
static bool read_number(const char *text, int base, uint64_t max, uint64_t *number)
{
    errno = 0;
    *number = strtoull(text, NULL, base);
    return errno == 0 && *number <= max;
}

/* ---- maps ---- */

/* Reads the groups of a line that matches. False: some number is too large, or the map would be empty. */
static bool read_map(const char *line, const regmatch_t *groups, struct weir_proc_map *map)
{
    uint64_t major, minor;
    if (!read_number(line + groups[1].rm_so, 16, UINT64_MAX, &map->start) ||
        !read_number(line + groups[2].rm_so, 16, UINT64_MAX, &map->end) ||
        !read_number(line + groups[7].rm_so, 16, UINT64_MAX, &map->page_offset) ||
        !read_number(line + groups[8].rm_so, 16, UINT32_MAX, &major) ||
        !read_number(line + groups[9].rm_so, 16, UINT32_MAX, &minor) ||
        !read_number(line + groups[10].rm_so, 10, UINT64_MAX, &map->inode))
        return false;
    map->major = (uint32_t)major;
    map->minor = (uint32_t)minor;
    map->protection = (line[groups[3].rm_so] == 'r' ? PROT_READ : 0) | (line[groups[4].rm_so] == 'w' ? PROT_WRITE : 0) |
                      (line[groups[5].rm_so] == 'x' ? PROT_EXEC : 0);
    map->flags = line[groups[6].rm_so] == 's' ? MAP_SHARED : MAP_PRIVATE;
    map->name = line + groups[10].rm_eo;
    while (*map->name == ' ')
        map->name++;
    return map->start < map->end;
}

static void check_map(const struct fixture *fixture, const char *line)
{
    regmatch_t groups[MAP_GROUPS];
    struct weir_proc_map map, expected;
    bool taken = weir_proc_map_parse(line, &map);
    bool matches = regexec(&fixture->map_line, line, MAP_GROUPS, groups, 0) == 0;
    weir_assert(taken == (matches && read_map(line, groups, &expected)));
    if (!taken)
        return;
    weir_assert(map.start == expected.start && map.end == expected.end && map.page_offset == expected.page_offset);
    weir_assert(map.major == expected.major && map.minor == expected.minor && map.inode == expected.inode);
    weir_assert(map.protection == expected.protection && map.flags == expected.flags && map.name == expected.name);
}

/* ---- stat and status ---- */

/* The field of that number behind the name; NULL when the text has not so many. */
static const char *stat_field(const char *behind_name, int number)
{
    const char *field = behind_name;
    for (int i = STAT_STATE; i <= number && field; i++) {
        field = strchr(field, ' ');
        field = field ? field + 1 : NULL;
    }
    return field;
}

static bool read_field(const char *behind_name, int number, uint64_t max, uint64_t *value)
{
    const char *field = stat_field(behind_name, number);
    return field && field[0] >= '0' && field[0] <= '9' && read_number(field, 10, max, value);
}

static void check_comm(const char *comm, const char *text, size_t bytes)
{
    size_t kept = bytes < WEIR_PROC_COMM_BYTES - 1 ? bytes : WEIR_PROC_COMM_BYTES - 1;
    weir_assert(memcmp(comm, text, kept) == 0 && comm[kept] == '\0');
}

static void check_stat(const char *text)
{
    struct weir_proc_stat stat;
    const char *open = strchr(text, '('), *close = strrchr(text, ')');
    uint64_t ppid, threads, start_ticks, vm_bytes;
    bool is_stat = open && close && open < close && close[1] == ' ' &&
                   read_field(close + 1, STAT_PPID, INT32_MAX, &ppid) &&
                   read_field(close + 1, STAT_THREADS, INT32_MAX, &threads) &&
                   read_field(close + 1, STAT_START, UINT64_MAX, &start_ticks) &&
                   read_field(close + 1, STAT_VM_BYTES, UINT64_MAX, &vm_bytes);
    weir_assert(weir_proc_stat_parse(text, &stat) == is_stat);
    if (!is_stat)
        return;
    weir_assert(stat.ppid == (pid_t)ppid && stat.threads == threads);
    weir_assert(stat.start_ticks == start_ticks && stat.vm_bytes == vm_bytes);
    check_comm(stat.comm, open + 1, (size_t)(close - open - 1));
}

static void check_status(const char *text)
{
    pid_t expected = -1;
    const char *line = strchr(text, '\n'); /* the first line is the name's */
    while (line && strncmp(line + 1, "Tgid:\t", strlen("Tgid:\t")) != 0)
        line = strchr(line + 1, '\n');
    uint64_t tgid;
    const char *value = line ? line + 1 + strlen("Tgid:\t") : "";
    if (value[0] >= '0' && value[0] <= '9' && read_number(value, 10, INT32_MAX, &tgid))
        expected = (pid_t)tgid;
    weir_assert(weir_proc_status_tgid(text) == expected);
}

/* ---- comm ---- */

static void check_comm_file(const char *text, size_t bytes)
{
    char comm[WEIR_PROC_COMM_BYTES];
    memset(comm, 'x', sizeof(comm));
    weir_proc_comm_copy(comm, text, bytes);
    check_comm(comm, text, bytes > 0 && text[bytes - 1] == '\n' ? bytes - 1 : bytes);
}

static void run(void *object, const uint8_t *data, size_t bytes)
{
    const struct fixture *fixture = object;
    check_comm_file((const char *)data, bytes);
    char *text = fuzz_text(data, bytes);
    check_stat(text);
    check_status(text);
    text[strcspn(text, "\n")] = '\0'; /* a line has none */
    check_map(fixture, text);
    free(text);
}

const struct fuzz_target fuzz_target = {.init = init, .run = run, .fini = fini};
