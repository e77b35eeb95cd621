/* Chains by cookie and thread: the words of all records behind one another, and a table of places. */
#include "report/deferred_chains.h"

#include <errno.h>

#include "format/bytes.h"

#define WORDS_AT 24u /* of a record: header, u64 cookie, u64 count, words */

void weir_deferred_chains_init(struct weir_deferred_chains *chains, uint64_t seed)
{
    *chains = (struct weir_deferred_chains){.words = WEIR_BUF_INIT};
    weir_row_table_init(&chains->places, 2, 4, seed);
}

void weir_deferred_chains_fini(struct weir_deferred_chains *chains)
{
    weir_row_table_fini(&chains->places);
    weir_buf_fini(&chains->words);
}

int weir_deferred_chains_note(struct weir_deferred_chains *chains, const uint8_t *record, size_t body_bytes,
                              uint32_t tid)
{
    uint64_t count = body_bytes >= WORDS_AT ? weir_load_u64(record + 16) : UINT64_MAX;
    if (count > (body_bytes - WORDS_AT) / sizeof(uint64_t) ||
        chains->words.used + count * sizeof(uint64_t) > WEIR_DEFERRED_MAX_BYTES) {
        chains->left_out++;
        return 0;
    }
    const uint64_t key[] = {weir_load_u64(record + 8), tid};
    uint32_t number = weir_row_table_add(&chains->places, key);
    if (number == WEIR_ROW_NONE)
        return -ENOMEM;
    uint64_t *row = weir_row(&chains->places, number);
    row[2] = chains->words.used / sizeof(uint64_t);
    row[3] = count;
    weir_buf_append(&chains->words, record + WORDS_AT, count * sizeof(uint64_t));
    return weir_buf_error(&chains->words);
}

const uint8_t *weir_deferred_chains_find(const struct weir_deferred_chains *chains, uint64_t cookie, uint32_t tid,
                                         uint64_t *count)
{
    const uint64_t key[] = {cookie, tid};
    uint32_t number = weir_row_table_find(&chains->places, key);
    if (number == WEIR_ROW_NONE)
        return NULL;
    const uint64_t *row = weir_row(&chains->places, number);
    *count = row[3];
    return chains->words.data + row[2] * sizeof(uint64_t);
}
