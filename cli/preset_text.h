/* The text of `weir list presets`. Pure, but that it allocates; any thread. */
#ifndef WEIR_CLI_PRESET_TEXT_H
#define WEIR_CLI_PRESET_TEXT_H

#include "base/buf.h"
#include "cli/presets.h"

/* Appends a paragraph of lines: name, use, options, and the events step by step. */
void weir_preset_append_text(struct weir_buf *text, const struct weir_preset *preset);

/* Appends an object. docs/json.md has its members. */
void weir_preset_append_json(struct weir_buf *text, const struct weir_preset *preset);

#endif
