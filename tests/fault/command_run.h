/*
 * Commands of weir in children of a test program, in its working folder, with something that goes wrong in them; and
 * what is looked at afterwards. Their messages go to the file `err`, their output to `out`.
 */
#ifndef WEIR_TESTS_FAULT_COMMAND_RUN_H
#define WEIR_TESTS_FAULT_COMMAND_RUN_H

#include <stdbool.h>

/* What the child calls: begin() just before the command, end() just behind it. */
struct command_run_hook {
    void (*begin)(void *ctx);
    unsigned (*end)(void *ctx); /* how many chances to go wrong there were */
    void *ctx;
};

/* Whether recordings can be made here: if not, there is nothing to test, and if they fail all the same, that is one. */
bool command_run_may_record(void);

/* Runs a command, the words of which end with NULL; a child that takes a minute is ended by SIGALRM, and one that
 * leaves descriptors or threads behind has no status of weir's. seen: what end() said, 0 when the child did not get
 * there. Returns the wait status. */
int command_run(const char *const *words, const struct command_run_hook *hook, unsigned *seen);

/* Lines of its messages that begin with that. */
unsigned command_run_lines(const char *prefix);

/* Copies the beginning of its messages. */
void command_run_messages(char *text, unsigned bytes);

/* Whether the recording at path is what `weir verify` lets pass. */
bool command_run_passes(const char *path);

/* Removes all files in the folder. False: there was one whose name is not in the list, which ends with NULL, nor that
 * of the messages. */
bool command_run_clean(const char *const *expected);

#endif
