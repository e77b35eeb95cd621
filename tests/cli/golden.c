/* Golden files: compared byte by byte, or written when WEIR_GOLDEN_UPDATE is set. */
#include "tests/cli/golden.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void update(const char *path, const struct weir_buf *text)
{
    FILE *file = fopen(path, "we");
    cr_assert_not_null(file, "cannot write %s", path);
    cr_assert_eq(fwrite(text->data, 1, text->used, file), text->used);
    cr_assert_eq(fclose(file), 0);
}

void golden_expect(const char *folder_variable, const char *name, struct weir_buf *text)
{
    const char *folder = getenv(folder_variable);
    cr_assert_not_null(folder, "%s is not set: run the test with ctest", folder_variable);
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    cr_assert_eq(weir_buf_error(text), 0);
    if (getenv("WEIR_GOLDEN_UPDATE"))
        update(path, text);

    struct weir_buf golden = WEIR_BUF_INIT;
    cr_assert_eq(weir_buf_append_file(&golden, path), 0, "cannot read %s", path);
    cr_expect_str_eq(weir_buf_str(text), weir_buf_str(&golden), "differs from %s", name);
    weir_buf_fini(&golden);
}
