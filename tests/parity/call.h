/*
 * perf_event_open(2) calls as strace(1) prints them (`strace -f -v -e trace=perf_event_open,ioctl`, strace 6.1), each
 * as a list of named texts: the fields of perf_event_attr, then pid, cpu, group_fd, flags and result. A filter that was
 * set on an event is its field "filter". One thread; running out of memory or a line that cannot be read ends the
 * program.
 */
#ifndef WEIR_TESTS_PARITY_CALL_H
#define WEIR_TESTS_PARITY_CALL_H

#include <stdbool.h>
#include <stddef.h>

#define CALL_FIELDS_MAX 96

struct call_field {
    char *name;  /* owned */
    char *value; /* owned */
};

struct call {
    struct call_field fields[CALL_FIELDS_MAX];
    size_t count;
};

struct calls {
    struct call *items; /* owned */
    size_t count;
};

/* Reads all calls of a trace, in their order; an event's filter is put to the call that opened it. */
void calls_read(struct calls *calls, const char *path);
void calls_fini(struct calls *calls);

/* Takes a call out of the list. */
void calls_drop(struct calls *calls, size_t index);

/* The value of a field; "" when the call does not have it. Borrowed until it is set. */
const char *call_get(const struct call *call, const char *name);
bool call_is(const struct call *call, const char *name, const char *value);

/* Whether two calls are for the same event on the same CPU and task. */
bool call_is_twin(const struct call *a, const struct call *b);

/* Sets a field, which is added when the call does not have it. */
void call_set(struct call *call, const char *name, const char *value);

/* Whether value, a list of words between '|', has the word. */
bool call_has_word(const struct call *call, const char *name, const char *word);
void call_remove_word(struct call *call, const char *name, const char *word);

#endif
