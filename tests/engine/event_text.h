/* Event texts as tests parse them: tracepoints come from a tracefs of their own making, and there are no PMUs. */
#ifndef WEIR_TESTS_ENGINE_EVENT_TEXT_H
#define WEIR_TESTS_ENGINE_EVENT_TEXT_H

#include "base/error.h"
#include "engine/events/event_list.h"

/* Parses into an empty list, to be given to weir_event_list_fini() in any case. As weir_event_list_parse(). */
int event_text_parse(struct weir_event_list *list, const char *text, struct weir_error *err);

/* Parses one event; the test fails when it is not one, or refused. */
struct weir_event_list event_text_parse_one(const char *text);

#endif
