/*
 * What AUX areas add to a reader: callbacks of engine/aux/, which stands above this room. A recording without AUX areas
 * has no hooks (NULL) and enters none of that code. All callbacks but init(), drop_ring() and fini() run on the
 * reader's thread.
 */
#ifndef WEIR_ENGINE_DRAIN_AUX_HOOKS_H
#define WEIR_ENGINE_DRAIN_AUX_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

struct weir_chunk_sink;
struct weir_reader_ring;
struct weir_reader_rings;

struct weir_aux_hooks {
    /* Gives each ring room for an AUX area. *ctx: for the other callbacks, owned by the reader until fini(). fd: a
     * borrowed eventfd, written to when the coordinator may have to enable an AUX event. 0 or -ENOMEM; then *ctx is
     * NULL or for fini(). */
    int (*init)(void **ctx, struct weir_chunk_sink *sink, struct weir_reader_rings *rings, int fd);

    /* Frees the unmapped area of a ring that is taken out. */
    void (*drop_ring)(void *ctx, struct weir_reader_ring *r);

    /* Unmaps all areas. Before the rings are unmapped. */
    void (*fini)(void *ctx);

    /* Before a ring is drained: the position that the kernel has published of its area, for drain(). */
    uint64_t (*published)(void *ctx, const struct weir_reader_ring *r);

    /* After the ring was drained: drains the area up to the end of the AUX records seen, and at least to `published`.
     * stopping: no later step comes. False: come again. */
    bool (*drain)(void *ctx, struct weir_reader_ring *r, uint64_t published, bool stopping);

    /* Copies the snapshot of a ring's area, once until end_newest(). The kernel does not write to the area meanwhile.
     * False: come again, the pool is empty. */
    bool (*read_newest)(void *ctx, struct weir_reader_ring *r);

    /* All areas of the reader have been read: the next read_newest() is for another snapshot. */
    void (*end_newest)(void *ctx);

    /* Whether the sink has taken AUX records that describe more bytes than were copied of their areas. */
    bool (*owes)(void *ctx);

    /* Pushes the sink's chunk, which is not empty, together with the bytes that its AUX records describe. False: there
     * are none, or they cannot be had now; the sink still has the chunk. */
    bool (*push_chunk)(void *ctx);
};

#endif
