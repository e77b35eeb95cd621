/* The table of modifiers: u k h I G H p P S D W e b R X, as perf-list(1) has them. */
#include "engine/events/event_modifiers.h"

#include <limits.h>
#include <string.h>

#define LETTERS "ukhIGHpPSDWebRX"

_Static_assert(sizeof(LETTERS) - 1 <= CHAR_BIT * sizeof(((struct weir_event_modifiers *)0)->letters),
               "a bit for each letter");

uint16_t weir_event_modifier_bit(char letter)
{
    const char *at = letter ? strchr(LETTERS, letter) : NULL;
    return at ? (uint16_t)(1u << (at - LETTERS)) : 0;
}

bool weir_event_modifiers_have(const struct weir_event_modifiers *modifiers, char letter)
{
    return modifiers->letters & weir_event_modifier_bit(letter);
}

bool weir_event_is_modifiers(const char *text)
{
    return text[strspn(text, LETTERS " \f\n\r\t\v")] == '\0';
}
