/*
 * Modules. A module is x.h and x.c, with every x_*.c that has no header of its own where x_internal.h stands beside
 * them. Two rules hold in each room (a folder of the layers):
 * - module-circle: modules form no circle. Module a depends on b if a file of a includes a header of b or names a
 *   function that a header of b declares or a file of b defines.
 * - foreign-declaration: a header declares functions of its own module only.
 * exceptions.c lists by name what is excepted. Both rules need the whole tree: all files are collected before the
 * check. One thread.
 */
#ifndef WEIR_TESTS_TIDY_MODULES_H
#define WEIR_TESTS_TIDY_MODULES_H

#include <stddef.h>
#include <stdio.h>

#include "tests/tidy/rules.h"

struct modules {
    struct module_file *files; /* owned */
    size_t file_count, file_capacity;
    struct module *all; /* owned; by module_file.module */
    size_t count, capacity;
    struct module_name *names; /* owned; sorted by name */
    size_t name_count, name_capacity;
    struct module_edge *edges; /* owned; each (from, to, why) once */
    size_t edge_count, edge_capacity;
    bool *reaches; /* owned; [from * count + to]: along edges */
};

#define MODULES_INIT \
    {                \
        0            \
    }

struct module_exception {
    const char *place;   /* of a circle the room, "engine/drain/"; of a declaration the header's path */
    const char *modules; /* names with one space between: those of the circle; those that define the functions */
    const char *reason;
};

/* Each array ends with a place of NULL. */
struct module_exceptions {
    const struct module_exception *circles;
    const struct module_exception *declarations;
};

/* Those of this tree, exceptions.c. */
extern const struct module_exceptions tree_exceptions;

void modules_fini(struct modules *modules);

/* Copies a C file of a room; other files have no part in this. 0 or -ENOMEM. */
int modules_collect(struct modules *modules, const struct source *source);

/* Finds out which file belongs to which module and which module depends on which. Once, after all files were
 * collected. 0 or -ENOMEM. */
int modules_link(struct modules *modules);

/* Reports each circle and each declaration that is not excepted, and each excepted module that needs no exception.
 * After modules_link. */
void modules_check(const struct modules *modules, const struct module_exceptions *exceptions,
                   const struct finding_sink *sink);

/* Prints the circles with their edges, and the foreign declarations, excepted ones included. After modules_link. */
void modules_print(const struct modules *modules, FILE *out);

#endif
