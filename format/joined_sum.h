/*
 * What became of the call chains that the kernel wrote in two records (--call-graph fp,defer): counts, as users and
 * programs read them. Pure; any thread.
 */
#ifndef WEIR_FORMAT_JOINED_SUM_H
#define WEIR_FORMAT_JOINED_SUM_H

#include <stdint.h>

#include "base/buf.h"

/* Each sample of `samples` is in one of the four numbers behind it. The order stands in files. */
struct weir_joined_sum {
    uint64_t samples;    /* whose user part was announced */
    uint64_t joined;     /* have their user part */
    uint64_t apart;      /* have none: its record is in another chunk, or was lost */
    uint64_t unreadable; /* have none: the kernel found no user frames */
    uint64_t no_room;    /* have none: the chunk or the record would be too large */
    uint64_t records;    /* of user parts */
    uint64_t unused;     /* of these, without a sample in their chunk */
};

/* Returns the samples that have no user part. */
static inline uint64_t weir_joined_without(const struct weir_joined_sum *sum)
{
    return sum->apart + sum->unreadable + sum->no_room;
}

/* Appends "NUMBER of NUMBER call chains have their user part", and why others have none, on one line without a newline.
 */
void weir_joined_append_text(const struct weir_joined_sum *sum, struct weir_buf *out);

/* Appends a JSON object. */
void weir_joined_append_json(const struct weir_joined_sum *sum, struct weir_buf *out);

#endif
