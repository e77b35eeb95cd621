/* Two texts are equal if their keyed hashes of 64 bits are: nobody can choose a collision without the key. */
#include "report/string_table.h"

#include <errno.h>
#include <string.h>

int weir_string_table_init(struct weir_string_table *table)
{
    *table = (struct weir_string_table){.key = weir_hash_key_random(), .bytes = WEIR_BUF_INIT};
    weir_row_table_init(&table->rows, 1, 2, table->key.words[0]);
    return weir_string_table_add(table, "") == WEIR_ROW_NONE ? -ENOMEM : 0;
}

void weir_string_table_fini(struct weir_string_table *table)
{
    weir_row_table_fini(&table->rows);
    weir_buf_fini(&table->bytes);
}

uint32_t weir_string_table_add(struct weir_string_table *table, const char *text)
{
    size_t length = strlen(text), count = table->rows.count;
    uint64_t key = weir_hash(&table->key, text, length);
    uint32_t number = weir_row_table_add(&table->rows, &key);
    if (number != count || number == WEIR_ROW_NONE)
        return number;
    weir_row(&table->rows, number)[1] = table->bytes.used;
    weir_buf_append(&table->bytes, text, length + 1);
    return weir_buf_error(&table->bytes) < 0 ? WEIR_ROW_NONE : number;
}

const char *weir_string(const struct weir_string_table *table, uint32_t number)
{
    return (const char *)table->bytes.data + weir_row(&table->rows, number)[1];
}
