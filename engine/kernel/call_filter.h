/*
 * Rules for filters of system calls, by libseccomp. A rule is a call, or a call with one argument masked and compared;
 * several rules of one call are alternatives. libseccomp leaves out a rule whose call an architecture does not have.
 *
 * Included only in builds with libseccomp. Source: seccomp(2), seccomp_rule_add(3) of libseccomp 2.5.
 */
#ifndef WEIR_ENGINE_KERNEL_CALL_FILTER_H
#define WEIR_ENGINE_KERNEL_CALL_FILTER_H

#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>

struct weir_call_rule {
    int call;
    uint32_t argument; /* WEIR_CALL_ANY: all arguments match */
    uint64_t mask, value;
};
#define WEIR_CALL_ANY UINT32_MAX /* in place of an argument's number */

struct weir_call_list {
    const struct weir_call_rule *rules;
    size_t count;
    uint32_t action; /* SCMP_ACT_*; must differ from the action of calls without a rule */
};

/* Input and output on open descriptors, messages, memory that is not executable, locks, clocks, abort(3), exit. */
extern const struct weir_call_list weir_calls_of_any_thread;
/* Opening for reading, access and reading of names. */
extern const struct weir_call_list weir_calls_of_opening;

/* Makes a filter from lists; a call that a list before has allowed may stand in another. *made is released by
 * seccomp_release(3). Allocates; any thread. 0, or the kernel's -errno. */
int weir_call_filter_make(scmp_filter_ctx *made, uint32_t otherwise, const struct weir_call_list *lists, size_t count);

#endif
