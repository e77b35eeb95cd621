/*
 * Finds the id of a container by its name, in the files in which runtimes keep their containers. docker has a file for
 * each container. podman has one list of root and one of the user. containerd and CRI-O keep names in databases that
 * only they can read. Main thread; reads files.
 *
 * The files belong to root, or to the user who asks. Whatever is missing or of another form counts as absent.
 */
#ifndef WEIR_CLI_CONTAINER_NAMES_H
#define WEIR_CLI_CONTAINER_NAMES_H

#include <stdbool.h>

#define WEIR_CONTAINER_ID_BYTES 65 /* 64 digits and a zero byte */

/* Finds the id. root: "" for this machine, or a folder that stands for it. False: no file has the name, or weir was
 * built without jansson. Allocates. */
bool weir_container_names_find(const char *name, const char *root, char id[static WEIR_CONTAINER_ID_BYTES]);

#endif
