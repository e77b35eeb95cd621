/*
 * The letters that may stand behind an event's colon: which there are, and which an event has. Any thread; no
 * allocation.
 */
#ifndef WEIR_ENGINE_EVENTS_EVENT_MODIFIERS_H
#define WEIR_ENGINE_EVENTS_EVENT_MODIFIERS_H

#include <stdbool.h>
#include <stdint.h>

/* The letters behind an event's colon and behind the colon of its group, together. */
struct weir_event_modifiers {
    uint16_t letters; /* set of weir_event_modifier_bit() */
    uint8_t precise;  /* number of p */
};

/* The bit of a letter in weir_event_modifiers.letters; 0: the letter is no modifier. */
uint16_t weir_event_modifier_bit(char letter);

/* Whether the letter, which is a modifier, stood behind the event or its group. */
bool weir_event_modifiers_have(const struct weir_event_modifiers *modifiers, char letter);

/* Whether the text has only letters of modifiers and blanks. True for an empty text. */
bool weir_event_is_modifiers(const char *text);

#endif
