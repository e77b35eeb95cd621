/* A cache in front of the demangler. */
#include "report/symbol_names.h"

#include "report/demangle.h"

int weir_symbol_names_init(struct weir_symbol_names *names)
{
    int result = weir_string_table_init(&names->strings);
    weir_row_table_init(&names->shown, 1, 2, names->strings.key.words[1]);
    return result;
}

void weir_symbol_names_fini(struct weir_symbol_names *names)
{
    weir_row_table_fini(&names->shown);
    weir_string_table_fini(&names->strings);
}

const char *weir_symbol_names_get(struct weir_symbol_names *names, uint64_t key, const char *name)
{
    size_t count = names->shown.count;
    uint32_t number = weir_row_table_add(&names->shown, &key);
    if (number == WEIR_ROW_NONE)
        return name;
    if (number == count) {
        struct weir_buf text = WEIR_BUF_INIT;
        const char *shown = weir_demangle(&text, name) ? weir_buf_str(&text) : NULL;
        uint32_t string = shown ? weir_string_table_add(&names->strings, shown) : 0;
        weir_row(&names->shown, number)[1] = string == WEIR_ROW_NONE ? 0 : string;
        weir_buf_fini(&text);
    }
    uint32_t string = (uint32_t)weir_row(&names->shown, number)[1];
    return string == 0 ? name : weir_string(&names->strings, string);
}
