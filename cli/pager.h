/*
 * Shows long text in the user's pager, as perf does: only on a terminal, and with the program that PERF_PAGER or PAGER
 * names, else pager(1) or less(1). An empty name and "cat" mean no pager. Main thread, before it has made others.
 */
#ifndef WEIR_CLI_PAGER_H
#define WEIR_CLI_PAGER_H

#include <stdbool.h>

/* Shows text and waits until the user leaves the pager. False: stdout is no terminal, or there is no pager; the caller
 * prints the text. Blocks; forks. */
bool weir_pager_show(const char *text);

#endif
