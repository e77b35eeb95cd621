/*
 * Two chained hash tables over one array of objects: by name and file, and by file alone. Used by the sideband thread,
 * and at the end of a recording by the coordinator.
 */
#include "engine/tasks/mapped_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

#define FIRST_ROOM  256u
#define KERNEL_NAME "[kernel."

/* Names of memory without a file: is_anon_memory() and is_no_dso_memory(), tools/perf/util/map.c. */
static const char *const no_files[] = {
    "//anon", "/dev/zero", "/anon_hugepage", "/SYSV", "//toolong", "anon_inode:", "[",
};

void weir_mapped_files_init(struct weir_mapped_files *files)
{
    *files = (struct weir_mapped_files){
        .first_new = WEIR_MAPPED_NONE,
        .last_new = WEIR_MAPPED_NONE,
        .first_free = WEIR_MAPPED_NONE,
        .key = weir_hash_key_random(),
    };
}

void weir_mapped_files_fini(struct weir_mapped_files *files)
{
    if (!files)
        return;
    free(files->all);
    free(files->by_name);
    free(files->by_file);
    weir_buf_fini(&files->names);
    weir_mapped_files_init(files);
}

/* ---- the object of a record ---- */

struct wanted {
    const char *name;
    size_t name_bytes;
    const struct weir_side_record *record;
    enum weir_mapped_kind kind;
    uint32_t name_hash, file_hash;
};

static enum weir_mapped_kind kind_of(const struct weir_record_map *map)
{
    const char *name = map->filename;
    if (map->cpumode == PERF_RECORD_MISC_KERNEL)
        return strncmp(name, KERNEL_NAME, strlen(KERNEL_NAME)) == 0 ? WEIR_MAPPED_KERNEL : WEIR_MAPPED_MODULE;
    if (map->cpumode != PERF_RECORD_MISC_USER)
        return WEIR_MAPPED_NOTHING;
    if (strcmp(name, "[vdso]") == 0)
        return WEIR_MAPPED_VDSO;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(no_files); i++) {
        if (strncmp(name, no_files[i], strlen(no_files[i])) == 0)
            return WEIR_MAPPED_NOTHING;
    }
    return name[0] == '/' ? WEIR_MAPPED_FILE : WEIR_MAPPED_NOTHING;
}

static void hash_wanted(struct wanted *wanted, const struct weir_hash_key *key)
{
    const struct weir_record_map *map = &wanted->record->map;
    const struct weir_build_id *id = &wanted->record->build_id;
    const uint64_t of_file[] = {map->inode, map->major, map->minor};
    uint64_t file = weir_hash(key, of_file, sizeof(of_file));
    const uint64_t all[] = {file, weir_hash(key, id->data, id->bytes),
                            weir_hash(key, wanted->name, wanted->name_bytes)};
    wanted->file_hash = (uint32_t)file;
    wanted->name_hash = (uint32_t)weir_hash(key, all, sizeof(all));
}

static struct wanted wanted_of(const struct weir_mapped_files *files, const struct weir_side_record *record)
{
    const struct weir_record_map *map = &record->map;
    struct wanted wanted = {.name = map->filename, .record = record, .kind = kind_of(map)};
    wanted.name_bytes = strlen(wanted.name);
    const char *bracket = wanted.kind == WEIR_MAPPED_KERNEL ? strchr(wanted.name, ']') : NULL;
    if (bracket)
        wanted.name_bytes = (size_t)(bracket - wanted.name) + 1;
    hash_wanted(&wanted, &files->key);
    return wanted;
}

static bool is_same_file(const struct weir_mapped_file *file, const struct weir_record_map *map)
{
    return file->inode == map->inode && file->major == map->major && file->minor == map->minor &&
           (file->generation == map->inode_generation || file->generation == 0 || map->inode_generation == 0);
}

static uint32_t find(const struct weir_mapped_files *files, const struct wanted *wanted)
{
    if (files->bucket_count == 0)
        return WEIR_MAPPED_NONE;
    uint32_t i = files->by_name[wanted->name_hash & (files->bucket_count - 1)];
    for (; i != WEIR_MAPPED_NONE; i = files->all[i].next) {
        const struct weir_mapped_file *file = &files->all[i];
        if (file->name_hash != wanted->name_hash || file->cpumode != wanted->record->map.cpumode ||
            !is_same_file(file, &wanted->record->map))
            continue;
        const char *name = weir_mapped_files_name(files, i);
        if (strncmp(name, wanted->name, wanted->name_bytes) != 0 || name[wanted->name_bytes] != '\0')
            continue;
        /* A record with a build id has no inode: the build id tells files of one name apart. */
        if (wanted->record->build_id.bytes == 0 || weir_build_id_is_same(&file->build_id, &wanted->record->build_id))
            return i;
    }
    return WEIR_MAPPED_NONE;
}

static uint32_t find_same_file(const struct weir_mapped_files *files, const struct wanted *wanted)
{
    if (wanted->kind != WEIR_MAPPED_FILE || wanted->record->map.inode == 0)
        return WEIR_MAPPED_NONE;
    uint32_t i = files->by_file[wanted->file_hash & (files->bucket_count - 1)];
    while (i != WEIR_MAPPED_NONE && (files->all[i].unreadable || !is_same_file(&files->all[i], &wanted->record->map)))
        i = files->all[i].next_same;
    return i;
}

/* ---- room ---- */

static void link_in(struct weir_mapped_files *files, uint32_t index)
{
    struct weir_mapped_file *file = &files->all[index];
    uint32_t mask = files->bucket_count - 1;
    file->next = files->by_name[file->name_hash & mask];
    files->by_name[file->name_hash & mask] = index;
    file->next_same = WEIR_MAPPED_NONE;
    if (file->kind == WEIR_MAPPED_FILE && file->inode != 0 && file->same_file == WEIR_MAPPED_NONE) {
        file->next_same = files->by_file[file->file_hash & mask];
        files->by_file[file->file_hash & mask] = index;
    }
}

/* Rebuilds both tables. */
static void relink(struct weir_mapped_files *files)
{
    memset(files->by_name, 0xff, files->bucket_count * sizeof(*files->by_name)); /* WEIR_MAPPED_NONE */
    memset(files->by_file, 0xff, files->bucket_count * sizeof(*files->by_file));
    for (uint32_t i = 0; i < files->count; i++) {
        if (files->all[i].kind != WEIR_MAPPED_FREE)
            link_in(files, i);
    }
}

/* Doubles the room for objects, and makes as many buckets. */
static int grow(struct weir_mapped_files *files)
{
    uint32_t room = files->room ? files->room * 2 : FIRST_ROOM;
    if (room > WEIR_MAPPED_FILES_MAX)
        return -ENOSPC;
    struct weir_mapped_file *all = reallocarray(files->all, room, sizeof(*all));
    if (!all)
        return -ENOMEM;
    files->all = all;
    uint32_t *by_name = malloc(room * sizeof(*by_name)), *by_file = malloc(room * sizeof(*by_file));
    if (!by_name || !by_file) {
        free(by_name);
        free(by_file);
        return -ENOMEM;
    }
    free(files->by_name);
    free(files->by_file);
    files->by_name = by_name;
    files->by_file = by_file;
    files->bucket_count = files->room = room;
    relink(files);
    return 0;
}

/* Makes sure of a place for one more object. 0 or -errno. */
static int find_place(struct weir_mapped_files *files)
{
    return files->first_free == WEIR_MAPPED_NONE && files->count == files->room ? grow(files) : 0;
}

/* Takes that place. */
static uint32_t take_place(struct weir_mapped_files *files)
{
    uint32_t index = files->first_free;
    if (index == WEIR_MAPPED_NONE)
        return files->count++;
    files->first_free = files->all[index].next;
    return index;
}

static int64_t append_name(struct weir_mapped_files *files, const struct wanted *wanted)
{
    size_t offset = files->names.used;
    if (wanted->name_bytes + 1 > WEIR_MAPPED_NAMES_BYTES_MAX - offset)
        return -ENOSPC;
    char *to = weir_buf_extend(&files->names, wanted->name_bytes + 1);
    if (!to) {
        files->names.error = 0; /* the next object may have memory again */
        return -ENOMEM;
    }
    memcpy(to, wanted->name, wanted->name_bytes);
    to[wanted->name_bytes] = '\0';
    return (int64_t)offset;
}

/* ---- adding ---- */

static void queue_new(struct weir_mapped_files *files, uint32_t index)
{
    files->all[index].next_new = WEIR_MAPPED_NONE;
    files->all[index].awaits_id = true;
    if (files->first_new == WEIR_MAPPED_NONE)
        files->first_new = index;
    else
        files->all[files->last_new].next_new = index;
    files->last_new = index;
}

static bool wants_reading(const struct weir_mapped_file *file)
{
    if (file->build_id.bytes > 0 || file->same_file != WEIR_MAPPED_NONE || file->kind == WEIR_MAPPED_NOTHING)
        return false;
    return file->kind != WEIR_MAPPED_FILE || file->inode != 0;
}

static int64_t add(struct weir_mapped_files *files, const struct wanted *wanted)
{
    int result = find_place(files);
    int64_t name = result < 0 ? result : append_name(files, wanted);
    if (name < 0) {
        files->left_out++;
        files->without_memory += name == -ENOMEM;
        return name;
    }
    const struct weir_side_record *record = wanted->record;
    uint32_t index = take_place(files);
    files->all[index] = (struct weir_mapped_file){
        .major = record->map.major,
        .minor = record->map.minor,
        .inode = record->map.inode,
        .generation = record->map.inode_generation,
        .name = (uint32_t)name,
        .same_file = find_same_file(files, wanted),
        .kind = wanted->kind,
        .cpumode = record->map.cpumode,
        .build_id = record->build_id,
        .name_hash = wanted->name_hash,
        .file_hash = wanted->file_hash,
        .first_output = files->output,
        .first_ns = record->time_ns,
        .number = files->seen,
    };
    files->seen++;
    link_in(files, index);
    if (wants_reading(&files->all[index]))
        queue_new(files, index);
    return index;
}

int64_t weir_mapped_files_add(struct weir_mapped_files *files, const struct weir_side_record *record)
{
    struct wanted wanted = wanted_of(files, record);
    uint32_t found = find(files, &wanted);
    int64_t index = found != WEIR_MAPPED_NONE ? found : add(files, &wanted);
    if (index < 0)
        return index;
    struct weir_mapped_file *file = &files->all[index];
    if (file->generation == 0)
        file->generation = record->map.inode_generation;
    /* The newest mapping is the one most likely to be there still. */
    file->pid = record->map.pid;
    file->start = record->map.start;
    file->end = record->map.start + record->map.bytes;
    weir_mapped_files_touch(files, (uint32_t)index);
    return index;
}

/* ---- freeing ---- */

void weir_mapped_files_begin_output(struct weir_mapped_files *files)
{
    files->output++;
}

void weir_mapped_files_touch(struct weir_mapped_files *files, uint32_t index)
{
    struct weir_mapped_file *file = &files->all[index];
    file->last_output = files->output;
    if (file->same_file != WEIR_MAPPED_NONE) /* the other object has the id */
        files->all[file->same_file].last_output = files->output;
}

static bool is_forgettable(const struct weir_mapped_files *files, const struct weir_mapped_file *file)
{
    bool is_file = file->kind == WEIR_MAPPED_FILE || file->kind == WEIR_MAPPED_NOTHING;
    return is_file && !file->awaits_id && files->output - file->last_output > WEIR_MAPPED_OUTPUTS_KEPT;
}

/* Moves the remaining names together. Without memory for that they stay where they are. */
static void gather_names(struct weir_mapped_files *files, size_t bytes)
{
    struct weir_buf names = WEIR_BUF_INIT;
    char *to = weir_buf_extend(&names, bytes);
    for (uint32_t i = 0; to && i < files->count; i++) {
        struct weir_mapped_file *file = &files->all[i];
        if (file->kind == WEIR_MAPPED_FREE)
            continue;
        const char *name = weir_mapped_files_name(files, i);
        size_t length = strlen(name) + 1;
        memcpy(to, name, length);
        file->name = (uint32_t)(to - (char *)names.data);
        to += length;
    }
    if (!to)
        return;
    weir_buf_fini(&files->names);
    files->names = names;
}

void weir_mapped_files_free_unmapped(struct weir_mapped_files *files)
{
    size_t name_bytes = 0;
    bool any = false;
    for (uint32_t i = 0; i < files->count; i++) {
        struct weir_mapped_file *file = &files->all[i];
        if (is_forgettable(files, file)) {
            *file = (struct weir_mapped_file){
                .kind = WEIR_MAPPED_FREE, .next = files->first_free, .same_file = WEIR_MAPPED_NONE};
            files->first_free = i;
            any = true;
        }
        if (file->kind != WEIR_MAPPED_FREE)
            name_bytes += strlen(weir_mapped_files_name(files, i)) + 1;
    }
    if (any)
        relink(files);
    if (name_bytes > 0 && files->names.used > 2 * name_bytes)
        gather_names(files, name_bytes);
}

/* ---- lists ---- */

uint32_t weir_mapped_files_next_new(struct weir_mapped_files *files)
{
    uint32_t index = files->first_new;
    if (index != WEIR_MAPPED_NONE)
        files->first_new = files->all[index].next_new;
    return index;
}

void weir_mapped_files_note_id(struct weir_mapped_files *files, uint32_t index, const struct weir_build_id *id,
                               bool unreadable)
{
    struct weir_mapped_file *file = &files->all[index];
    file->build_id = *id;
    file->unreadable = unreadable;
    file->awaits_id = false;
}

const char *weir_mapped_files_name(const struct weir_mapped_files *files, uint32_t index)
{
    return (const char *)files->names.data + files->all[index].name;
}

struct weir_build_id weir_mapped_files_build_id(const struct weir_mapped_files *files, uint32_t index)
{
    const struct weir_mapped_file *file = &files->all[index];
    if (file->same_file != WEIR_MAPPED_NONE)
        file = &files->all[file->same_file];
    return file->build_id;
}

static bool is_of_output(const struct weir_mapped_file *file, uint32_t output)
{
    bool is_kernels = file->kind == WEIR_MAPPED_KERNEL || file->kind == WEIR_MAPPED_MODULE;
    return file->first_output <= output && (is_kernels || file->last_output + 1 >= output);
}

/* The kernel first; then the newest object first, also where records of two CPUs were used in another order. */
static int compare(const void *a, const void *b, void *all)
{
    const struct weir_mapped_file *first = (const struct weir_mapped_file *)all + *(const uint32_t *)a;
    const struct weir_mapped_file *second = (const struct weir_mapped_file *)all + *(const uint32_t *)b;
    bool first_is_kernel = first->kind == WEIR_MAPPED_KERNEL, second_is_kernel = second->kind == WEIR_MAPPED_KERNEL;
    if (first_is_kernel != second_is_kernel)
        return first_is_kernel ? -1 : 1;
    if (first->first_ns != second->first_ns)
        return first->first_ns > second->first_ns ? -1 : 1;
    return first->number > second->number ? -1 : first->number < second->number;
}

int weir_mapped_files_list(const struct weir_mapped_files *files, uint32_t output, struct weir_build_id_entry **entries,
                           size_t *count)
{
    size_t room = weir_max_u64(files->count, 1), used = 0;
    struct weir_build_id_entry *list = calloc(room, sizeof(*list));
    uint32_t *order = list ? malloc(room * sizeof(*order)) : NULL;
    if (!order) {
        free(list);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < files->count; i++) {
        if (weir_mapped_files_build_id(files, i).bytes > 0 && is_of_output(&files->all[i], output))
            order[used++] = i;
    }
    qsort_r(order, used, sizeof(*order), compare, files->all);
    for (size_t i = 0; i < used; i++)
        list[i] = (struct weir_build_id_entry){
            .name = weir_mapped_files_name(files, order[i]),
            .id = weir_mapped_files_build_id(files, order[i]),
            .cpumode = files->all[order[i]].cpumode,
        };
    free(order);
    *entries = list;
    *count = used;
    return 0;
}
