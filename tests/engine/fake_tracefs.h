/* A folder with the files of tracefs that event parsing reads: the tracepoints below and no others. */
#ifndef WEIR_TESTS_ENGINE_FAKE_TRACEFS_H
#define WEIR_TESTS_ENGINE_FAKE_TRACEFS_H

#define FAKE_SCHED_SWITCH_ID    316 /* sched:sched_switch */
#define FAKE_FTRACE_FUNCTION_ID 1   /* ftrace:function */
#define FAKE_U_K_ID             77  /* u:k, whose names are modifiers */

struct fake_tracefs {
    char root[128];
};

/* Makes the folder in $TMPDIR or /tmp; the test fails when it cannot. */
void fake_tracefs_init(struct fake_tracefs *fake);

/* Removes it. */
void fake_tracefs_fini(struct fake_tracefs *fake);

#endif
