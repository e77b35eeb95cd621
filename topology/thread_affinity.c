/*
 * The CPUs that threads may run on: sched_setaffinity(2) and sched_getaffinity(2). Any thread, before data flows.
 */
#include "topology/thread_affinity.h"

#include <errno.h>
#include <sched.h>

/*
 * The words of a struct weir_cpuset have the form of the kernel's CPU mask: bit n of a little-endian array of words.
 * The array may have any length, unlike cpu_set_t. The kernel ignores bits beyond its own CPUs.
 */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "64-bit words must read as an array of long");

int weir_thread_pin_other(pid_t tid, const struct weir_cpuset *set)
{
    if (weir_cpuset_is_empty(set))
        return 0;
    size_t bytes = set->word_count * sizeof(set->words[0]);
    return sched_setaffinity(tid, bytes, (const cpu_set_t *)set->words) < 0 ? -errno : 0;
}

int weir_thread_pin(const struct weir_cpuset *set)
{
    return weir_thread_pin_other(0, set);
}

/* EINVAL means that the mask is shorter than the kernel's. The kernel offers no other way to learn that length. */
int weir_thread_affinity(struct weir_cpuset *set)
{
    int result = -EINVAL;
    for (unsigned limit = CPU_SETSIZE; result == -EINVAL && limit <= WEIR_CPU_LIMIT; limit *= 2) {
        struct weir_cpuset found = WEIR_CPUSET_INIT;
        result = weir_cpuset_add(&found, limit - 1); /* allocates the words for all lower CPUs */
        if (result < 0)
            return result;
        size_t bytes = found.word_count * sizeof(found.words[0]);
        result = sched_getaffinity(0, bytes, (cpu_set_t *)found.words) < 0 ? -errno : 0;
        if (result == 0) {
            weir_cpuset_fini(set);
            *set = found;
        } else {
            weir_cpuset_fini(&found);
        }
    }
    return result;
}
