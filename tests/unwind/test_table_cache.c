/* The cache of tables, and its bounds. */
#include <criterion/criterion.h>
#include <errno.h>
#include <unistd.h>

#include "tests/unwind/tables.h"
#include "unwind/table_cache.h"

static struct weir_buf table;
static unsigned opened;

/* Keys below 1000 have a file; 1000 has one that is no ELF file, and that of UINT64_MAX is late. */
static int open_file(void *ctx, uint64_t key)
{
    (void)ctx;
    opened++;
    if (key == 1000)
        return dup(STDIN_FILENO);
    if (key == UINT64_MAX)
        return -ETIMEDOUT;
    return key < 1000 ? table_elf(&table) : -ENOENT;
}

static void prepare(void)
{
    table_add_cie(&table, "zR");
    table_add_fde(&table, 0, 0x1100, 0x40, "", 0);
    opened = 0;
}

static void release(void)
{
    weir_buf_fini(&table);
}

TestSuite(table_cache, .init = prepare, .fini = release);

static struct weir_table_cache make(size_t max_bytes)
{
    struct weir_table_cache cache;
    const struct weir_table_source source = {.open = open_file};
    cr_assert_eq(weir_table_cache_init(&cache, weir_unwind_machine_find("x86_64"), &source, max_bytes), 0);
    return cache;
}

Test(table_cache, file_that_cannot_be_used_is_asked_for_once)
{
    struct weir_table_cache cache = make(1 << 20);
    for (unsigned i = 0; i < 3; i++)
        cr_assert(!weir_table_cache_find(&cache, 2000, true)->is_usable);
    cr_assert_eq(opened, 1);
    cr_assert_eq(cache.bytes, 0);
    weir_table_cache_fini(&cache);
}

Test(table_cache, file_that_is_late_is_asked_for_again)
{
    struct weir_table_cache cache = make(1 << 20);
    cr_assert(weir_table_cache_find(&cache, 1, true)->is_usable);
    for (unsigned i = 0; i < 3; i++)
        cr_assert_null(weir_table_cache_find(&cache, UINT64_MAX, true));
    cr_assert_eq(opened, 4);
    cr_assert(weir_table_cache_find(&cache, 1, false)->is_usable);
    weir_table_cache_fini(&cache);
}

Test(table_cache, nothing_is_read_without_leave)
{
    struct weir_table_cache cache = make(1 << 20);
    cr_assert_null(weir_table_cache_find(&cache, 1, false));
    cr_assert_eq(opened, 0);
    cr_assert(weir_table_cache_find(&cache, 1, true)->is_usable);
    cr_assert(weir_table_cache_find(&cache, 1, false)->is_usable);
    cr_assert_eq(opened, 1);
    weir_table_cache_fini(&cache);
}

Test(table_cache, table_that_is_too_large_alone_is_not_used)
{
    struct weir_table_cache cache = make(16);
    cr_assert(!weir_table_cache_find(&cache, 1, true)->is_usable);
    cr_assert_eq(cache.bytes, 0);
    weir_table_cache_fini(&cache);
}

Test(table_cache, oldest_goes_beyond_the_bound)
{
    struct weir_table_cache one = make(1 << 20);
    weir_table_cache_find(&one, 1, true);
    size_t bytes = one.bytes;
    weir_table_cache_fini(&one);
    struct weir_table_cache cache = make(3 * bytes);
    for (uint64_t key = 1; key <= 3; key++)
        weir_table_cache_find(&cache, key, true);
    weir_table_cache_find(&cache, 1, true); /* 2 is the oldest now */
    uint32_t serial = weir_table_cache_find(&cache, 4, true)->serial;
    cr_assert_eq(serial, 4);
    cr_assert_eq(cache.bytes, 3 * bytes);
    cr_assert_eq(cache.evictions, 1);
    opened = 0;
    cr_assert(weir_table_cache_find(&cache, 1, true)->is_usable);
    cr_assert_eq(opened, 0);
    cr_assert_eq(weir_table_cache_find(&cache, 2, true)->serial, 5, "a table that comes again has a new number");
    cr_assert_eq(opened, 1);
    weir_table_cache_fini(&cache);
}

Test(table_cache, files_are_bounded_too)
{
    struct weir_table_cache cache = make(1 << 20);
    for (uint64_t key = 2000; key < 2000 + 2 * WEIR_TABLE_CACHE_FILES; key++)
        cr_assert_not_null(weir_table_cache_find(&cache, key, true));
    cr_assert_eq(cache.slot_count, WEIR_TABLE_CACHE_FILES);
    cr_assert_eq(cache.evictions, WEIR_TABLE_CACHE_FILES);
    weir_table_cache_fini(&cache);
}
