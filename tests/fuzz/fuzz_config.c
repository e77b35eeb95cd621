/*
 * Configuration files (cli/config.h). Input: the text.
 *
 * What is understood, written out again with every value in quotes, is understood the same, line by line; names have no
 * capitals and no blanks at their ends. What is refused is said with a line that the text has, and leaves nothing.
 */
#include "cli/config.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/buf.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input.h"

static void write_quoted(struct weir_buf *text, const char *value)
{
    static const char specials[] = "\n\t\b\"\\", letters[] = "ntb\"\\";
    weir_buf_append_u8(text, '"');
    for (; *value; value++) {
        const char *special = strchr(specials, *value);
        if (special)
            weir_buf_append_u8(text, '\\');
        weir_buf_append_u8(text, (uint8_t)(special ? letters[special - specials] : *value));
    }
    weir_buf_append_u8(text, '"');
}

/* "record" or "record sub" as [record] or [record "sub"]. */
static void write_section(struct weir_buf *text, const char *section)
{
    size_t length = strcspn(section, " ");
    weir_buf_printf(text, "[%.*s", (int)length, section);
    if (section[length]) {
        weir_buf_printf(text, " \"");
        for (const char *at = section + length + 1; *at; at++) {
            if (*at == '"' || *at == '\\')
                weir_buf_append_u8(text, '\\');
            weir_buf_append_u8(text, (uint8_t)*at);
        }
        weir_buf_printf(text, "\"");
    }
    weir_buf_printf(text, "]\n");
}

static void check_name(const char *name)
{
    weir_assert(isalpha((unsigned char)name[0]) && strlen(name) < WEIR_CONFIG_NAME_BYTES);
    for (; *name; name++)
        weir_assert(!isupper((unsigned char)*name) && !isspace((unsigned char)*name));
}

static void check_round_trip(const struct weir_config *config)
{
    struct weir_buf text = WEIR_BUF_INIT;
    for (size_t i = 0; i < config->count; i++) {
        const struct weir_config_entry *entry = &config->entries[i];
        check_name(entry->key);
        write_section(&text, entry->section);
        weir_buf_printf(&text, "%s", entry->key);
        if (entry->value) {
            weir_assert(strlen(entry->value) < WEIR_CONFIG_VALUE_BYTES);
            weir_buf_printf(&text, "=");
            write_quoted(&text, entry->value);
        }
        weir_buf_printf(&text, "\n");
    }
    struct weir_config again = {0};
    const char *written = weir_buf_str(&text);
    weir_assert(weir_config_parse(&again, written, strlen(written), "again", NULL) == 0);
    weir_assert(again.count == config->count);
    for (size_t i = 0; i < config->count; i++) {
        const struct weir_config_entry *a = &config->entries[i], *b = &again.entries[i];
        weir_assert(strcmp(a->section, b->section) == 0 && strcmp(a->key, b->key) == 0);
        weir_assert((a->value == NULL) == (b->value == NULL));
        weir_assert(!a->value || strcmp(a->value, b->value) == 0);
        weir_assert(b->line == 2 * i + 2);
    }
    weir_config_fini(&again);
    weir_buf_fini(&text);
}

static void run(void *fixture, const uint8_t *data, size_t bytes)
{
    (void)fixture;
    unsigned lines = 1;
    for (size_t i = 0; i < bytes; i++)
        lines += data[i] == '\n';
    struct weir_config config = {0};
    struct weir_error err = {0};
    int result = weir_config_parse(&config, (const char *)data, bytes, "it", &err);
    if (result < 0) {
        unsigned line;
        weir_assert(result == -EINVAL && config.count == 0);
        fuzz_check_error(&err, result);
        weir_assert(sscanf(err.what, "it:%u: ", &line) == 1 && line >= 1 && line <= lines);
    } else {
        for (size_t i = 0; i < config.count; i++)
            weir_assert(config.entries[i].line >= 1 && config.entries[i].line <= lines);
        check_round_trip(&config);
    }
    weir_config_fini(&config);
}

const struct fuzz_target fuzz_target = {.run = run};
