/*
 * Golden files: what weir says, kept whole in tests/cli/golden/ and docs/man/.
 *
 * Made and renewed by the tests themselves; read the difference before committing it:
 *
 *     WEIR_GOLDEN_UPDATE=1 ctest --preset debug -R test_cli && git diff tests/cli/golden docs/man
 *
 * The folders come from the environment (tests/cli/CMakeLists.txt), so that the tests do not know where they are.
 */
#ifndef WEIR_TESTS_CLI_GOLDEN_H
#define WEIR_TESTS_CLI_GOLDEN_H

#include "base/buf.h"

#define GOLDEN_TEXTS "WEIR_GOLDEN_DIR" /* tests/cli/golden */
#define GOLDEN_MAN   "WEIR_MAN_DIR"    /* docs/man */

/* Fails the running test unless the file `name` in the folder that the environment variable names holds just text. */
void golden_expect(const char *folder_variable, const char *name, struct weir_buf *text);

#endif
