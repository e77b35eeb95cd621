/*
 * Where the unwinding step of the stage (chunk_rewriter.h) gets mappings and files from: the recording's history of
 * mappings, or made-up ones in tests and benches.
 *
 * The workers of the stage call it, several at once. They may not open files, and no reader waits for them. So each
 * wait here has a bound. At the bound the answer is "not known", the call chain ends, and the step counts the chain.
 */
#ifndef WEIR_ENGINE_DRAIN_UNWIND_SOURCE_H
#define WEIR_ENGINE_DRAIN_UNWIND_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "unwind/unwinder.h"

struct weir_unwind_source {
    /* Finds the mapping that covers an address of process pid at a time of the samples' clock. Does not wait. False:
     * none is known. */
    bool (*find)(void *ctx, pid_t pid, uint64_t time_ns, uint64_t address, struct weir_unwind_mapping *mapping);

    /* Waits until find() knows all side records that readers have drained before the call. False: the bound of time was
     * reached first. */
    bool (*catch_up)(void *ctx);

    /* Returns a descriptor for reading the file of a mapping's key, which the caller closes; or -errno: -ETIMEDOUT at
     * the bound of time, -ESTALE for a file that is not the mapped one any more, else that of opening the file. */
    int (*open)(void *ctx, uint64_t key);

    void *ctx; /* borrowed */
};

#endif
