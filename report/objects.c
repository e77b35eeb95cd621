/*
 * Objects and the loading of their symbols.
 *
 * The kernel and its modules share the kernel's symbols, which lie at addresses. A kernel that was started again with
 * the same code may lie elsewhere: its symbols move by the distance between the two _text.
 */
#include "report/objects.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/directory.h"
#include "base/regular_file.h"
#include "format/elf_symbols.h"
#include "format/text_symbols.h"
#include "report/task_history.h"

#define KERNEL_NAME "[kernel.kallsyms]"

/* ---- adding ---- */

/* Where the object of a key is; adds it if it is new. */
static uint32_t add_identified(struct weir_objects *objects, enum weir_object_kind kind, const char *path, uint32_t pid,
                               const struct weir_build_id *id, uint64_t identity)
{
    uint32_t name = weir_string_table_add(objects->strings, path);
    const uint64_t key[] = {(uint64_t)kind << 32 | name, (uint64_t)pid, identity};
    size_t count = objects->count;
    struct weir_object **list =
        weir_array_grow(objects->list, sizeof(struct weir_object *), count, 1, &objects->capacity);
    if (name == WEIR_ROW_NONE || !list)
        return WEIR_ROW_NONE;
    objects->list = list;
    uint32_t number = weir_row_table_add(&objects->numbers, key);
    if (number != count)
        return number;
    struct weir_object *object = calloc(1, sizeof(*object));
    list[count] = object; /* NULL: the caller gives up */
    objects->count++;
    if (!object)
        return WEIR_ROW_NONE;
    object->kind = kind;
    object->path = name;
    object->pid = pid;
    object->same = number;
    if (id)
        object->id = *id;
    pthread_mutex_init(&object->lock, NULL);
    return number;
}

static uint64_t hash_id(const struct weir_objects *objects, const struct weir_build_id *id)
{
    return id && id->bytes ? weir_hash(&objects->strings->key, id->data, id->bytes) : 0;
}

static uint32_t add_object(struct weir_objects *objects, enum weir_object_kind kind, const char *path, uint32_t pid,
                           const struct weir_build_id *id)
{
    return add_identified(objects, kind, path, pid, id, hash_id(objects, id));
}

/* A file is known by its build id, else by device and inode. */
static uint32_t add_file(struct weir_objects *objects, const struct weir_object_name *name)
{
    const uint64_t words[] = {name->inode, name->major, name->minor};
    uint64_t identity = hash_id(objects, name->id);
    if (identity == 0 && name->inode != 0)
        identity = weir_hash(&objects->strings->key, words, sizeof(words));
    return add_identified(objects, WEIR_OBJECT_FILE, name->path, 0, name->id, identity);
}

int weir_objects_init(struct weir_objects *objects, struct weir_string_table *strings, uint64_t seed)
{
    *objects = (struct weir_objects){.strings = strings};
    pthread_mutex_init(&objects->fetching, NULL);
    weir_row_table_init(&objects->numbers, 3, 3, seed);
    bool is_good = add_object(objects, WEIR_OBJECT_UNKNOWN, "[unknown]", 0, NULL) == WEIR_OBJECT_NUMBER_UNKNOWN &&
                   add_object(objects, WEIR_OBJECT_KERNEL, KERNEL_NAME, 0, NULL) == WEIR_OBJECT_NUMBER_KERNEL;
    return is_good ? 0 : -ENOMEM;
}

void weir_objects_fini(struct weir_objects *objects)
{
    for (size_t i = 0; i < objects->count; i++) {
        if (objects->list[i]) {
            weir_symbols_fini(&objects->list[i]->symbols);
            pthread_mutex_destroy(&objects->list[i]->lock);
        }
        free(objects->list[i]);
    }
    free(objects->list);
    pthread_mutex_destroy(&objects->fetching);
    weir_row_table_fini(&objects->numbers);
    *objects = (struct weir_objects){0};
}

static bool begins(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* "/lib/modules/6.1/kernel/fs/ext4/ext4.ko.xz" is the module [ext4]; names of modules have no '-'. */
static void name_module(const char *path, char *name, size_t bytes)
{
    const char *base = weir_path_name(path);
    const char *end = strstr(base, ".ko");
    int length = end ? (int)(end - base) : (int)strnlen(base, NAME_MAX);
    if (base[0] == '[')
        snprintf(name, bytes, "%s", base);
    else
        snprintf(name, bytes, "[%.*s]", length, base);
    for (char *at = name; *at; at++)
        *at = *at == '-' ? '_' : *at;
}

static uint32_t add_of_kernel(struct weir_objects *objects, const struct weir_object_name *name)
{
    char module[NAME_MAX + 3];
    if (begins(name->path, KERNEL_NAME) || begins(name->path, "[guest.kernel"))
        return WEIR_OBJECT_NUMBER_KERNEL;
    name_module(name->path, module, sizeof(module));
    return add_object(objects, WEIR_OBJECT_MODULE, module, 0, NULL);
}

static uint32_t add_perf_map(struct weir_objects *objects, uint32_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "[JIT] tid %u", pid); /* as perf calls it */
    return add_object(objects, WEIR_OBJECT_PERF_MAP, path, pid, NULL);
}

uint32_t weir_objects_add(struct weir_objects *objects, const struct weir_object_name *name)
{
    const char *path = name->path;
    if (name->pid == WEIR_TASK_KERNEL)
        return add_of_kernel(objects, name);
    if (strcmp(path, "[vdso]") == 0 || strcmp(path, "[vdso32]") == 0 || strcmp(path, "[vdsox32]") == 0)
        return add_object(objects, WEIR_OBJECT_VDSO, path, 0, name->id);
    if (begins(path, "//anon") || begins(path, "/dev/zero") || begins(path, "/anon_hugepage") || begins(path, "[anon:"))
        return add_perf_map(objects, name->pid);
    if (begins(path, "[stack") || begins(path, "/SYSV") || begins(path, "[") || path[0] != '/')
        return add_object(objects, WEIR_OBJECT_NAMELESS, path, 0, NULL);
    return add_file(objects, name);
}

uint32_t weir_objects_add_ksymbol(struct weir_objects *objects, const char *name, uint64_t bytes)
{
    uint32_t number = add_object(objects, WEIR_OBJECT_KSYMBOL, name, 0, NULL);
    if (number != WEIR_ROW_NONE)
        objects->list[number]->bytes = bytes;
    return number;
}

int weir_objects_set_jitdump(struct weir_objects *objects, uint32_t pid, uint32_t path)
{
    uint32_t number = add_perf_map(objects, pid);
    if (number == WEIR_ROW_NONE)
        return -ENOMEM;
    objects->list[number]->jitdump = path;
    return 0;
}

/* The first object of that path without a build id; NULL: none. */
static struct weir_object *next_nameless(const struct weir_objects *objects, uint32_t path)
{
    for (size_t i = 0; i < objects->count; i++) {
        if (objects->list[i]->path == path && objects->list[i]->id.bytes == 0)
            return objects->list[i];
    }
    return NULL;
}

/* Mappings synthesized from /proc may have another device than the kernel's records of the same file. */
static int join_same(struct weir_objects *objects)
{
    struct weir_row_table firsts;
    weir_row_table_init(&firsts, 3, 4, objects->numbers.seed);
    int result = 0;
    for (uint32_t i = 0; i < objects->count && result == 0; i++) {
        struct weir_object *object = objects->list[i];
        const uint64_t key[] = {(uint64_t)object->kind << 32 | object->path, (uint64_t)object->pid,
                                hash_id(objects, &object->id)};
        if (object->kind != WEIR_OBJECT_FILE || object->id.bytes == 0)
            continue;
        uint32_t row = weir_row_table_add(&firsts, key);
        if (row == WEIR_ROW_NONE) {
            result = -ENOMEM;
        } else {
            uint64_t *first = &weir_row(&firsts, row)[3];
            *first = *first ? *first : i;
            object->same = (uint32_t)*first;
        }
    }
    weir_row_table_fini(&firsts);
    return result;
}

int weir_objects_identify(struct weir_objects *objects, const struct weir_object_id *ids, size_t count)
{
    struct weir_object *object;
    for (size_t i = count; i-- > 0;) {
        object = next_nameless(objects, ids[i].path);
        if (object)
            object->id = ids[i].id;
    }
    for (size_t i = 0; i < count; i++) {
        while ((object = next_nameless(objects, ids[i].path)))
            object->id = ids[i].id;
    }
    return join_same(objects);
}

/* ---- loading ---- */

static bool is_same_id(const struct weir_build_id *a, const struct weir_build_id *b)
{
    size_t bytes = a->bytes < b->bytes ? a->bytes : b->bytes; /* perf pads short ids with zeros */
    return bytes > 0 && memcmp(a->data, b->data, bytes) == 0;
}

static bool is_file_of(const struct weir_object *object, int fd)
{
    struct weir_build_id id;
    return object->id.bytes == 0 || (weir_build_id_of_file(fd, &id) == 0 && is_same_id(&object->id, &id));
}

/* Opens a file of the cache of build ids: CACHE/.build-id/NN/NNNN/NAME. */
static int open_cached(const struct weir_objects *objects, const struct weir_build_id *id, const char *name)
{
    char path[PATH_MAX], hex[2 * WEIR_BUILD_ID_MAX_BYTES + 1] = "";
    struct stat status;
    if (!objects->places.build_id_cache || id->bytes < 2)
        return -ENOENT;
    for (unsigned i = 0; i < id->bytes; i++)
        snprintf(hex + 2 * i, 3, "%02x", id->data[i]);
    int length =
        snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s/%s", objects->places.build_id_cache, hex, hex + 2, name);
    return length < (int)sizeof(path) ? weir_regular_file_open(AT_FDCWD, path, &status) : -ENAMETOOLONG;
}

static int open_path(const struct weir_objects *objects, const char *name)
{
    char path[PATH_MAX];
    struct stat status;
    const char *root = objects->places.root ? objects->places.root : "";
    int length = snprintf(path, sizeof(path), "%s%s", root, name);
    return length < (int)sizeof(path) ? weir_regular_file_open(AT_FDCWD, path, &status) : -ENAMETOOLONG;
}

static enum weir_object_failure failure_of(int result)
{
    return result == 0 ? WEIR_OBJECT_LOADED : result == -ENODATA ? WEIR_OBJECT_STRIPPED : WEIR_OBJECT_MISSING;
}

/* Symbols from elsewhere, for a program that is not here (fd -1) or has none. */
static int fetch_symbols(struct weir_objects *objects, struct weir_object *object, int fd)
{
    const struct weir_object_places *places = &objects->places;
    if (!places->fetch || object->id.bytes == 0)
        return -ENODATA;
    pthread_mutex_lock(&objects->fetching);
    int debug_fd = places->fetch(places->fetch_ctx, &object->id);
    pthread_mutex_unlock(&objects->fetching);
    if (debug_fd < 0)
        return debug_fd;
    int result = is_file_of(object, debug_fd) ? weir_symbols_of_debug_file(&object->symbols, fd, debug_fd) : -ENODATA;
    close(debug_fd);
    return result;
}

/* Opens the file of an object, or perf's copy of it. *failure: why the file of that name is not it. */
static int open_file(const struct weir_objects *objects, const struct weir_object *object,
                     enum weir_object_failure *failure)
{
    int fd = open_path(objects, weir_string(objects->strings, object->path));
    *failure = WEIR_OBJECT_MISSING;
    if (fd >= 0 && !is_file_of(object, fd)) {
        *failure = WEIR_OBJECT_MISMATCH;
        close(fd);
        fd = -ENOENT;
    }
    return fd < 0 ? open_cached(objects, &object->id, "elf") : fd;
}

static enum weir_object_failure load_file(struct weir_objects *objects, struct weir_object *object)
{
    const char *path = weir_string(objects->strings, object->path);
    enum weir_object_failure failure;
    int fd = open_file(objects, object, &failure);
    if (fd < 0)
        return fetch_symbols(objects, object, -1) == 0 ? WEIR_OBJECT_LOADED : failure;
    int result = weir_symbols_of_elf(&object->symbols, fd, path, objects->places.debug_root);
    if (objects->places.fetch && !object->symbols.is_full) {
        struct weir_symbols few = object->symbols;
        object->symbols = (struct weir_symbols){0};
        int fetched = fetch_symbols(objects, object, fd);
        if (fetched < 0) {
            weir_symbols_fini(&object->symbols);
            object->symbols = few;
        } else {
            weir_symbols_fini(&few);
            result = fetched;
        }
    }
    close(fd);
    return failure_of(result);
}

/* Whether an object of that kind is the vDSO of this process, or may be. */
static bool is_own_vdso(const struct weir_objects *objects, const struct weir_object *object)
{
    struct weir_build_id id;
    return object->kind == WEIR_OBJECT_VDSO && strcmp(weir_string(objects->strings, object->path), "[vdso]") == 0 &&
           (object->id.bytes == 0 || (weir_build_id_of_vdso(&id) == 0 && is_same_id(&object->id, &id)));
}

static enum weir_object_failure load_vdso(struct weir_objects *objects, struct weir_object *object)
{
    struct weir_build_id id;
    bool is_ours = object->id.bytes == 0 || (weir_build_id_of_vdso(&id) == 0 && is_same_id(&object->id, &id));
    if (is_own_vdso(objects, object))
        return failure_of(weir_symbols_of_vdso(&object->symbols));
    int fd = open_cached(objects, &object->id, "vdso");
    if (fd < 0)
        return is_ours ? WEIR_OBJECT_MISSING : WEIR_OBJECT_MISMATCH;
    int result = weir_symbols_of_elf(&object->symbols, fd, NULL, objects->places.debug_root);
    close(fd);
    return failure_of(result);
}

static enum weir_object_failure load_perf_map(struct weir_objects *objects, struct weir_object *object)
{
    int result = -ENODATA;
    int fd = object->jitdump ? open_path(objects, weir_string(objects->strings, object->jitdump)) : -ENOENT;
    if (fd >= 0) {
        result = weir_symbols_of_jitdump(&object->symbols, fd);
        close(fd);
    }
    char path[64];
    snprintf(path, sizeof(path), "/tmp/perf-%u.map", object->pid);
    if (result == -ENODATA)
        fd = open_path(objects, path);
    if (result == -ENODATA && fd >= 0) {
        result = weir_symbols_of_perf_map(&object->symbols, fd);
        close(fd);
    }
    return failure_of(fd < 0 ? fd : result);
}

/* Moves the symbols of a kernel to where it was recorded. */
static void move_kernel(const struct weir_objects *objects, struct weir_symbols *symbols)
{
    uint64_t distance = objects->text_start - symbols->text_start;
    if (objects->text_start == 0 || symbols->text_start == 0 || distance == 0)
        return;
    for (size_t i = 0; i < symbols->count; i++) {
        symbols->items[i].start += distance;
        symbols->items[i].end += distance;
    }
}

static enum weir_object_failure load_kernel(struct weir_objects *objects, struct weir_object *object)
{
    const struct weir_object_places *places = &objects->places;
    struct stat status;
    bool is_running = object->id.bytes == 0 || is_same_id(&object->id, &places->running_kernel);
    int fd = places->kallsyms ? weir_regular_file_open(AT_FDCWD, places->kallsyms, &status) : -ENOENT;
    if (fd < 0)
        fd = open_cached(objects, &object->id, "kallsyms");
    if (fd < 0 && is_running)
        fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return is_running ? WEIR_OBJECT_MISSING : WEIR_OBJECT_MISMATCH;
    int result = weir_symbols_of_kallsyms(&object->symbols, fd);
    close(fd);
    if (result == 0)
        move_kernel(objects, &object->symbols);
    else
        weir_symbols_fini(&object->symbols); /* hidden addresses name nothing */
    return failure_of(result);
}

static enum weir_object_failure load_ksymbol(struct weir_objects *objects, struct weir_object *object)
{
    const struct weir_symbol_text text = {
        .name = weir_string(objects->strings, object->path), .bytes = object->bytes, .binding = WEIR_SYMBOL_GLOBAL};
    return failure_of(weir_symbols_add(&object->symbols, &text));
}

static void load(struct weir_objects *objects, struct weir_object *object)
{
    switch (object->kind) {
    case WEIR_OBJECT_KERNEL:
        object->failure = load_kernel(objects, object);
        break;
    case WEIR_OBJECT_KSYMBOL:
        object->failure = load_ksymbol(objects, object);
        break;
    case WEIR_OBJECT_FILE:
        object->failure = load_file(objects, object);
        break;
    case WEIR_OBJECT_VDSO:
        object->failure = load_vdso(objects, object);
        break;
    case WEIR_OBJECT_PERF_MAP:
        object->failure = load_perf_map(objects, object);
        break;
    default:
        break;
    }
}

int weir_objects_open(const struct weir_objects *objects, uint32_t number)
{
    const struct weir_object *object = objects->list[number];
    enum weir_object_failure failure;
    if (object->kind == WEIR_OBJECT_FILE)
        return open_file(objects, object, &failure);
    if (object->kind != WEIR_OBJECT_VDSO)
        return -ENOENT;
    if (!is_own_vdso(objects, object))
        return open_cached(objects, &object->id, "vdso");
    int fd = objects->places.vdso ? open(objects->places.vdso, O_RDONLY | O_CLOEXEC) : -ENOENT;
    return fd == -1 ? -errno : fd;
}

/* ---- resolving ---- */

/* The object whose symbols those of an object are. */
static struct weir_object *symbols_of(const struct weir_objects *objects, uint32_t number)
{
    bool is_module = objects->list[number]->kind == WEIR_OBJECT_MODULE;
    return objects->list[is_module ? WEIR_OBJECT_NUMBER_KERNEL : number];
}

uint32_t weir_objects_resolve(struct weir_objects *objects, uint32_t number, uint64_t address)
{
    struct weir_object *object = symbols_of(objects, number);
    /* Edge "loaded symbols": this acquire pairs with the release below, and makes the table visible. */
    if (!atomic_load_explicit(&object->is_loaded, memory_order_acquire)) {
        pthread_mutex_lock(&object->lock);
        if (!atomic_load_explicit(&object->is_loaded, memory_order_relaxed)) { /* relaxed: the lock orders it */
            load(objects, object);
            atomic_store_explicit(&object->is_loaded, true, memory_order_release);
        }
        pthread_mutex_unlock(&object->lock);
    }
    return weir_symbols_find(&object->symbols, address);
}

const char *weir_objects_symbol(const struct weir_objects *objects, uint32_t number, uint32_t symbol)
{
    return symbol == WEIR_SYMBOL_NONE ? "" : weir_symbol_name(&symbols_of(objects, number)->symbols, symbol);
}
