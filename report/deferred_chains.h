/*
 * Deferred call chains (--call-graph fp,defer of perf 6.19): the kernel writes the user's part of a chain later than
 * the sample, when the task returns to user space. The sample's chain ends with PERF_CONTEXT_USER_DEFERRED and a
 * cookie. A CALLCHAIN_DEFERRED record of the same task has the words for that cookie, for all samples of one stay in
 * the kernel.
 *
 * The survey notes the records, and the threads that fold find them by cookie: so it does not matter how much later
 * they come. One thread notes; any number of threads find once no thread notes any more.
 *
 * Source: include/uapi/linux/perf_event.h and get_perf_callchain() in kernel/events/callchain.c of Linux 6.19.
 */
#ifndef WEIR_REPORT_DEFERRED_CHAINS_H
#define WEIR_REPORT_DEFERRED_CHAINS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "report/row_table.h"

#define WEIR_DEFERRED_MAX_BYTES (256u << 20) /* of words; records beyond are left out */

struct weir_deferred_chains {
    struct weir_row_table places; /* cookie, thread; words before the chain's, words */
    struct weir_buf words;        /* owned: u64, as in the records */
    uint64_t left_out;            /* records without room */
};

void weir_deferred_chains_init(struct weir_deferred_chains *chains, uint64_t seed);
void weir_deferred_chains_fini(struct weir_deferred_chains *chains);

/* Notes a record. body_bytes: without the trailer, of which tid is. A malformed record counts as left out. 0 or
 * -ENOMEM.
 */
int weir_deferred_chains_note(struct weir_deferred_chains *chains, const uint8_t *record, size_t body_bytes,
                              uint32_t tid);

/* Returns the words of a cookie, and how many they are; NULL: no record has it. Borrowed until the next note. */
const uint8_t *weir_deferred_chains_find(const struct weir_deferred_chains *chains, uint64_t cookie, uint32_t tid,
                                         uint64_t *count);

#endif
