/*
 * Configuration files, in the form of perf's (perf-config(1)), which is git's:
 *
 *     # a comment, also behind a value
 *     [record]
 *         freq = 99
 *         output = "a name with # in it"
 *         exclude-perf
 *
 * Section and key consist of letters, digits, '-', '.' and (perf 6.x) '_', in any case; a key begins with a letter. A
 * value ends with its line. White space around it is dropped; quotes keep everything. Backslash: \" \\ \n \t \b; at the
 * end of a line it joins the next line. A key without '=' has no value. Pure, but that it allocates; any thread.
 */
#ifndef WEIR_CLI_CONFIG_H
#define WEIR_CLI_CONFIG_H

#include <stddef.h>

#include "base/error.h"

#define WEIR_CONFIG_NAME_BYTES  128  /* of section and key, with the final zero */
#define WEIR_CONFIG_VALUE_BYTES 4096 /* likewise */

struct weir_config_entry {
    char *section; /* owned; lower case, and behind a space the part in quotes, if any */
    char *key;     /* owned; lower case */
    char *value;   /* owned; NULL: none */
    char *path;    /* owned: the file */
    unsigned line; /* of the key, from 1 */
};

/* Entries in the order in which they were read. */
struct weir_config {
    struct weir_config_entry *entries; /* owned */
    size_t count;
    size_t capacity;
};

void weir_config_fini(struct weir_config *config);

/*
 * Appends the entries of text; path: its name in messages. 0, -EINVAL (err: "PATH:LINE: the fault") or -ENOMEM; on
 * failure nothing is appended.
 */
int weir_config_parse(struct weir_config *config, const char *text, size_t bytes, const char *path,
                      struct weir_error *err);

#endif
