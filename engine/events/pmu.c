/* Reads the directories of sysfs, each file with one read(2). Main thread, set-up. */
#include "engine/events/pmu.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/bits.h"

#define DEVICES    "bus/event_source/devices"
#define ROOT       "../../.." /* of sysfs, from `devices`, which is a folder, while its entries are symbolic links */
#define TEXT_BYTES 4096       /* sysfs files are at most a page */
#define WORD_BITS  64u
#define UNCORE     "uncore_"

/* ---- files ---- */

static bool is_one_line(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (iscntrl((unsigned char)text[i]))
            return false;
    }
    return true;
}

/* Reads DEVICES/PMU/FILE, one line, without the white space at its end. False: there is none, or it is empty. */
static bool read_text(const struct weir_pmu_list *list, const char *pmu, const char *file, char *text, size_t bytes)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof(path), "%s/%s/%s", list->devices, pmu, file) >= sizeof(path))
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t got = read(fd, text, bytes - 1);
    close(fd);
    while (got > 0 && isspace((unsigned char)text[got - 1]))
        got--;
    if (got <= 0)
        return false;
    text[got] = '\0';
    return is_one_line(text, (size_t)got);
}

static bool read_number(const struct weir_pmu_list *list, const char *pmu, const char *file, int base, uint64_t *value)
{
    char text[64], *end;
    if (!read_text(list, pmu, file, text, sizeof(text)) || !isxdigit((unsigned char)text[0]))
        return false;
    errno = 0;
    uint64_t number = strtoull(text, &end, base);
    if (errno || *end)
        return false;
    *value = number;
    return true;
}

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* What scan() calls for each name; 0 or -errno, which ends it. */
typedef int scan_visit(struct weir_pmu_list *list, struct weir_pmu *pmu, const char *name);

/* Visits the entries of a directory in the order of their names. A directory that cannot be read has none. */
static int scan(struct weir_pmu_list *list, struct weir_pmu *pmu, const char *directory, scan_visit *visit)
{
    char path[PATH_MAX];
    int length = pmu ? snprintf(path, sizeof(path), "%s/%s/%s", list->devices, pmu->name, directory)
                     : snprintf(path, sizeof(path), "%s", list->devices);
    if ((size_t)length >= sizeof(path))
        return 0;
    struct dirent **entries;
    int count = scandir(path, &entries, is_shown, versionsort);
    if (count < 0)
        return errno == ENOMEM ? -ENOMEM : 0;
    int result = 0;
    for (int i = 0; i < count; i++) {
        if (result == 0)
            result = visit(list, pmu, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return result;
}

/* Makes room for one more element. NULL: out of memory, and then the array is as it was. */
static void *grow(void *array, size_t count, size_t element_bytes)
{
    if (count != 0 && !weir_is_power_of_two(count))
        return array;
    return reallocarray(array, count == 0 ? 1 : 2 * count, element_bytes);
}

/* ---- the list ---- */

static int add_pmu(struct weir_pmu_list *list, struct weir_pmu *none, const char *name)
{
    (void)none;
    uint64_t type;
    if (!read_number(list, name, "type", 10, &type) || type > UINT32_MAX)
        return 0;
    struct weir_pmu *pmus = grow(list->pmus, list->count, sizeof(*pmus));
    if (!pmus)
        return -ENOMEM;
    list->pmus = pmus;
    char *copy = strdup(name);
    if (!copy)
        return -ENOMEM;
    pmus[list->count++] = (struct weir_pmu){.name = copy, .type = (uint32_t)type, .cpus = WEIR_CPUSET_INIT};
    return 0;
}

int weir_pmu_list_read(struct weir_pmu_list *list, const char *sysfs_root)
{
    struct weir_pmu_list fresh = WEIR_PMU_LIST_INIT;
    int result = 0;
    if (asprintf(&fresh.devices, "%s/" DEVICES, sysfs_root ? sysfs_root : "/sys") < 0) {
        fresh.devices = NULL;
        result = -ENOMEM;
    }
    if (result == 0)
        result = scan(&fresh, NULL, NULL, add_pmu);
    if (result < 0)
        weir_pmu_list_fini(&fresh);
    else
        *list = fresh;
    return result;
}

static void forget_description(struct weir_pmu *pmu)
{
    for (size_t i = 0; i < pmu->format_count; i++)
        free(pmu->formats[i].name);
    for (size_t i = 0; i < pmu->alias_count; i++) {
        free(pmu->aliases[i].name);
        free(pmu->aliases[i].terms);
        free(pmu->aliases[i].unit);
    }
    free(pmu->formats);
    free(pmu->aliases);
    weir_cpuset_fini(&pmu->cpus);
    *pmu = (struct weir_pmu){.name = pmu->name, .type = pmu->type, .cpus = WEIR_CPUSET_INIT};
}

void weir_pmu_list_fini(struct weir_pmu_list *list)
{
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++) {
        forget_description(&list->pmus[i]);
        free(list->pmus[i].name);
    }
    free(list->pmus);
    free(list->devices);
    *list = (struct weir_pmu_list)WEIR_PMU_LIST_INIT;
}

/* ---- what a PMU offers ---- */

/* "0-7" or "18": adds the bits to mask and returns what follows; NULL: not understood. */
static const char *parse_bits(const char *text, uint64_t *mask)
{
    char *end;
    if (!isdigit((unsigned char)*text))
        return NULL;
    unsigned long first = strtoul(text, &end, 10), last = first;
    if (*end == '-') {
        text = end + 1;
        if (!isdigit((unsigned char)*text))
            return NULL;
        last = strtoul(text, &end, 10);
    }
    if (first > last || last >= WORD_BITS)
        return NULL;
    for (unsigned long bit = first; bit <= last; bit++)
        *mask |= UINT64_C(1) << bit;
    return end;
}

/* "config1:0-7,32-35" */
static bool parse_format(const char *text, unsigned *word, uint64_t *mask)
{
    static const char prefix[] = "config";
    if (strncmp(text, prefix, sizeof(prefix) - 1) != 0)
        return false;
    text += sizeof(prefix) - 1;
    *word = 0;
    if (*text >= '1' && *text < '0' + WEIR_PMU_CONFIG_WORDS)
        *word = (unsigned)(*text++ - '0');
    if (*text != ':')
        return false;
    *mask = 0;
    do {
        text = parse_bits(text + 1, mask);
    } while (text && *text == ',');
    return text && *text == '\0';
}

static int add_format(struct weir_pmu_list *list, struct weir_pmu *pmu, const char *name)
{
    char file[NAME_MAX + sizeof("format/")], text[TEXT_BYTES];
    snprintf(file, sizeof(file), "format/%s", name);
    struct weir_pmu_format format = {0};
    if (!read_text(list, pmu->name, file, text, sizeof(text)) || !parse_format(text, &format.word, &format.mask))
        return 0;
    struct weir_pmu_format *formats = grow(pmu->formats, pmu->format_count, sizeof(*formats));
    if (!formats)
        return -ENOMEM;
    pmu->formats = formats;
    format.name = strdup(name);
    if (!format.name)
        return -ENOMEM;
    formats[pmu->format_count++] = format;
    return 0;
}

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), end_length = strlen(end);
    return length > end_length && strcmp(name + length - end_length, end) == 0;
}

/* Endings of the files that hold the unit and scale of an alias. */
static bool is_attribute(const char *name)
{
    static const char *const ends[] = {".unit", ".scale", ".per-pkg", ".snapshot"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(ends); i++) {
        if (ends_with(name, ends[i]))
            return true;
    }
    return false;
}

static double read_scale(const struct weir_pmu_list *list, const struct weir_pmu *pmu, const char *alias)
{
    char file[NAME_MAX + sizeof("events/.scale")], text[TEXT_BYTES], *end;
    snprintf(file, sizeof(file), "events/%s.scale", alias);
    if (!read_text(list, pmu->name, file, text, sizeof(text)))
        return 1;
    double scale = strtod(text, &end);
    return *end == '\0' && scale > 0 && isfinite(scale) ? scale : 1;
}

static int add_alias(struct weir_pmu_list *list, struct weir_pmu *pmu, const char *name)
{
    char file[NAME_MAX + sizeof("events/.scale")], text[TEXT_BYTES], unit[TEXT_BYTES];
    snprintf(file, sizeof(file), "events/%s", name);
    if (is_attribute(name) || !read_text(list, pmu->name, file, text, sizeof(text)))
        return 0;
    struct weir_pmu_alias *aliases = grow(pmu->aliases, pmu->alias_count, sizeof(*aliases));
    if (!aliases)
        return -ENOMEM;
    pmu->aliases = aliases;

    snprintf(file, sizeof(file), "events/%s.unit", name);
    bool has_unit = read_text(list, pmu->name, file, unit, sizeof(unit));
    struct weir_pmu_alias *alias = &aliases[pmu->alias_count];
    *alias = (struct weir_pmu_alias){
        .name = strdup(name),
        .terms = strdup(text),
        .unit = has_unit ? strdup(unit) : NULL,
        .scale = read_scale(list, pmu, name),
    };
    pmu->alias_count++; /* counted although half-filled: forget_description() frees its parts */
    return alias->name && alias->terms && (alias->unit || !has_unit) ? 0 : -ENOMEM;
}

static int read_cpus(const struct weir_pmu_list *list, struct weir_pmu *pmu)
{
    char text[TEXT_BYTES];
    if (!read_text(list, pmu->name, "cpumask", text, sizeof(text)) &&
        !read_text(list, pmu->name, "cpus", text, sizeof(text)))
        return 0;
    return weir_cpuset_parse(&pmu->cpus, text, NULL) == -ENOMEM ? -ENOMEM : 0;
}

int weir_pmu_describe(const struct weir_pmu_list *list, struct weir_pmu *pmu)
{
    if (pmu->described)
        return 0;
    struct weir_pmu_list place = {.devices =
                                      list->devices}; /* scan() passes it on to callbacks that may not add PMUs */
    int result = read_cpus(list, pmu);
    if (result == 0)
        result = scan(&place, pmu, "format", add_format);
    if (result == 0)
        result = scan(&place, pmu, "events", add_alias);
    if (result < 0)
        forget_description(pmu);
    pmu->described = result == 0;
    return result;
}

/* ---- questions ---- */

/* name is word, or word, perhaps "_", and a number. */
static bool is_numbered(const char *name, const char *word)
{
    size_t length = strlen(word);
    if (length == 0 || strncmp(name, word, length) != 0)
        return false;
    name += length;
    if (*name == '\0')
        return true;
    if (*name == '_')
        name++;
    return *name && name[strspn(name, "0123456789")] == '\0';
}

bool weir_pmu_matches(const struct weir_pmu *pmu, const char *word)
{
    const char *name = pmu->name;
    const char *bare = strncmp(name, UNCORE, strlen(UNCORE)) == 0 ? name + strlen(UNCORE) : name;
    if (is_numbered(name, word) || is_numbered(bare, word))
        return true;
    return strpbrk(word, "*?[") && fnmatch(word, name, 0) == 0;
}

static bool is_name(const char *name, const char *text, size_t length)
{
    return strlen(name) == length && memcmp(name, text, length) == 0;
}

const struct weir_pmu_format *weir_pmu_find_format(const struct weir_pmu *pmu, const char *name, size_t length)
{
    for (size_t i = 0; i < pmu->format_count; i++) {
        if (is_name(pmu->formats[i].name, name, length))
            return &pmu->formats[i];
    }
    return NULL;
}

const struct weir_pmu_alias *weir_pmu_find_alias(const struct weir_pmu *pmu, const char *name, size_t length)
{
    for (size_t i = 0; i < pmu->alias_count; i++) {
        const char *alias = pmu->aliases[i].name;
        if (strlen(alias) == length && strncasecmp(alias, name, length) == 0)
            return &pmu->aliases[i];
    }
    return NULL;
}

bool weir_pmu_is_hybrid_core(const struct weir_pmu *pmu)
{
    return strncmp(pmu->name, "cpu_", 4) == 0 && !weir_cpuset_is_empty(&pmu->cpus);
}

bool weir_pmu_is_core(const struct weir_pmu *pmu)
{
    return strcmp(pmu->name, "cpu") == 0 || strncmp(pmu->name, "armv", 4) == 0 || weir_pmu_is_hybrid_core(pmu);
}

unsigned weir_pmu_address_filters(const struct weir_pmu_list *list, uint32_t type)
{
    uint64_t filters;
    for (size_t i = 0; i < list->count; i++) {
        if (list->pmus[i].type == type && read_number(list, list->pmus[i].name, "nr_addr_filters", 10, &filters))
            return (unsigned)filters;
    }
    return 0;
}

bool weir_pmu_number(const struct weir_pmu_list *list, const struct weir_pmu *pmu, const char *file, int base,
                     uint64_t *value)
{
    return read_number(list, pmu->name, file, base, value);
}

uint64_t weir_pmu_number_or(const struct weir_pmu_list *list, const struct weir_pmu *pmu, const char *file, int base,
                            uint64_t otherwise)
{
    uint64_t value;
    return weir_pmu_number(list, pmu, file, base, &value) ? value : otherwise;
}

bool weir_pmu_list_number(const struct weir_pmu_list *list, const char *path, int base, uint64_t *value)
{
    return read_number(list, ROOT, path, base, value);
}

uint64_t weir_pmu_format_bits(const struct weir_pmu *pmu, const char *name)
{
    const struct weir_pmu_format *format = weir_pmu_find_format(pmu, name, strlen(name));
    return format ? format->mask : 0;
}

struct weir_pmu *weir_pmu_find_type(const struct weir_pmu_list *list, uint32_t type)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->pmus[i].type == type)
            return &list->pmus[i];
    }
    return NULL;
}

bool weir_pmu_sink(const struct weir_pmu_list *list, const struct weir_pmu *pmu, const char *name, uint64_t *id)
{
    char file[NAME_MAX + sizeof("sinks/")];
    if (strchr(name, '/') || (size_t)snprintf(file, sizeof(file), "sinks/%s", name) >= sizeof(file))
        return false;
    return read_number(list, pmu->name, file, 16, id);
}

uint64_t weir_pmu_format_max(const struct weir_pmu_format *format)
{
    int bits = __builtin_popcountll(format->mask);
    return bits == WORD_BITS ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

uint64_t weir_pmu_format_place(const struct weir_pmu_format *format, uint64_t value)
{
    uint64_t placed = 0;
    for (uint64_t rest = format->mask; rest; rest &= rest - 1) {
        if (value & 1)
            placed |= rest & -rest;
        value >>= 1;
    }
    return placed;
}
