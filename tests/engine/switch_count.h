/* What switch_count.bpf.c and test_skeleton.c share. */
#ifndef WEIR_TESTS_ENGINE_SWITCH_COUNT_H
#define WEIR_TESTS_ENGINE_SWITCH_COUNT_H

struct switch_count_config {
    int pid; /* of the thread whose switches count */
};

struct switch_count_state {
    unsigned long long switches;
};

#endif
