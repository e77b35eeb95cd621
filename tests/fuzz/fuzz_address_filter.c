/*
 * Address filters (engine/events/address_filter.h) over functions of a file and of a kernel (format/functions.h).
 * Input: the text of the filter, kallsyms and the file, parted by FUZZ_SEPARATOR. "@F" in the text becomes the path of
 * the file.
 *
 * What comes out has only numbers and that path in it, and is understood again as it is: it comes out once more. What
 * is refused has an error of one line, and leaves the buffer alone.
 */
#include "engine/events/address_filter.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tree.h"

#define MAX 3

static const char *const files[] = {"kallsyms", "F"};
#define FILE_COUNT WEIR_ARRAY_COUNT(files)

static void *init(void)
{
    return fuzz_tree_new(files, FILE_COUNT);
}

/* Files are looked for below the tree. */
static void append_text(struct weir_buf *text, const struct fuzz_tree *tree, struct fuzz_part part)
{
    for (size_t i = 0; i < part.bytes && part.data[i]; i++) {
        weir_buf_append_u8(text, part.data[i]);
        if (part.data[i] == '@')
            weir_buf_printf(text, "%s/", tree->root);
    }
}

static void run(void *object, const uint8_t *data, size_t bytes)
{
    const struct fuzz_tree *tree = object;
    struct fuzz_part parts[1 + FILE_COUNT];
    fuzz_split(data, bytes, FUZZ_SEPARATOR, parts, 1 + FILE_COUNT);
    struct weir_buf text = WEIR_BUF_INIT, out = WEIR_BUF_INIT, again = WEIR_BUF_INIT;
    append_text(&text, tree, parts[0]);
    for (size_t i = 0; i < FILE_COUNT; i++)
        fuzz_file_write(tree->fds[i], parts[1 + i]);

    struct weir_error err = {0};
    int result = weir_address_filter_resolve(&out, weir_buf_str(&text), MAX, tree->root, &err);
    if (result < 0) {
        weir_assert(out.used == 0);
        fuzz_check_error(&err, result);
    } else {
        weir_assert(weir_address_filter_resolve(&again, weir_buf_str(&out), MAX, "/none", &err) == 0);
        weir_assert(strcmp(weir_buf_str(&again), weir_buf_str(&out)) == 0);
    }
    weir_buf_fini(&text);
    weir_buf_fini(&out);
    weir_buf_fini(&again);
}

const struct fuzz_target fuzz_target = {.init = init, .run = run, .fini = fuzz_tree_free};
