/* Which end gives which exit status. */
#include "cli/exit_status.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>

/* As the kernel encodes them for waitpid(2). */
#define EXITED(status) ((status) << 8)
#define KILLED(signal) (signal)
#define DUMPED(signal) ((signal) | 0x80)

Test(exit_status, refused_arguments_are_usage_unless_the_machine_failed)
{
    cr_expect_eq(weir_exit_status_of_refusal(-EINVAL), 129);
    cr_expect_eq(weir_exit_status_of_refusal(-ENOENT), 129, "an event that does not exist");
    cr_expect_eq(weir_exit_status_of_refusal(-ENOMEM), 125);
    cr_expect_eq(weir_exit_status_of_refusal(-EACCES), 125);
}

Test(exit_status, recording_that_is_damaged_or_holds_nothing_is_1)
{
    static const int of_the_recording[] = {-EBADMSG, -E2BIG, -EFBIG, -ENODATA};
    for (size_t i = 0; i < sizeof(of_the_recording) / sizeof(of_the_recording[0]); i++)
        cr_expect_eq(weir_exit_status_of_reading(of_the_recording[i]), 1, "%d", of_the_recording[i]);
    cr_expect_eq(weir_exit_status_of_reading(0), 0);
    cr_expect_eq(weir_exit_status_of_reading(-ENOENT), 125);
    cr_expect_eq(weir_exit_status_of_reading(-ENOMEM), 125);
}

Test(exit_status, failure_is_125_and_the_workloads_126_or_127)
{
    cr_expect_eq(weir_exit_status_of_failure(-ENOENT, false), 125, "weir's own missing file");
    cr_expect_eq(weir_exit_status_of_failure(-EPERM, false), 125);
    cr_expect_eq(weir_exit_status_of_failure(-ENOENT, true), 127);
    cr_expect_eq(weir_exit_status_of_failure(-EACCES, true), 126);
    cr_expect_eq(weir_exit_status_of_failure(-ENOEXEC, true), 126);
}

Test(exit_status, workloads_status_is_ours)
{
    for (int status = 0; status < 256; status++)
        cr_expect_eq(weir_exit_status_of_wait(EXITED(status)), status);
    cr_expect_eq(weir_exit_status_of_wait(KILLED(SIGKILL)), 137);
    cr_expect_eq(weir_exit_status_of_wait(DUMPED(SIGSEGV)), 139);
}

Test(exit_status, every_end_has_its_status)
{
    struct weir_record_result result = {.end = WEIR_RECORD_END_OUTPUT};
    cr_expect_eq(weir_exit_status_of_result(&result), 125);
    const struct weir_record_result lossy = {.samples = 990, .lost_samples = 10};
    cr_expect_not(weir_exit_status_is_loss(&lossy, 10000), "as much as is allowed is not too much");
    cr_expect(weir_exit_status_is_loss(&lossy, 9999));
    cr_expect(weir_exit_status_is_loss(&lossy, 0));
    cr_expect_not(weir_exit_status_is_loss(&(struct weir_record_result){.samples = 5}, 0));
    cr_expect_not(weir_exit_status_is_loss(&(struct weir_record_result){0}, 0));
    result = (struct weir_record_result){.end = WEIR_RECORD_END_WORKLOAD, .workload_status = EXITED(3)};
    cr_expect_eq(weir_exit_status_of_result(&result), 3);
    result = (struct weir_record_result){.end = WEIR_RECORD_END_SIGNAL, .signal = SIGINT};
    cr_expect_eq(weir_exit_status_of_result(&result), 130);
    result = (struct weir_record_result){.end = WEIR_RECORD_END_SCHEDULE};
    cr_expect_eq(weir_exit_status_of_result(&result), WEIR_EXIT_OK);
    result.has_workload_status = true;
    result.workload_status = SIGTERM; /* wait(2): as it was terminated */
    cr_expect_eq(weir_exit_status_of_result(&result), 128 + SIGTERM);
    result.end = WEIR_RECORD_END_CONSUMER;
    cr_expect_eq(weir_exit_status_of_result(&result), 128 + SIGTERM);
    result.end = WEIR_RECORD_END_ASKED;
    cr_expect_eq(weir_exit_status_of_result(&result), 128 + SIGTERM);
    result.end = WEIR_RECORD_END_LEASE;
    cr_expect_eq(weir_exit_status_of_result(&result), 128 + SIGTERM);
    result.end = WEIR_RECORD_END_SPACE;
    cr_expect_eq(weir_exit_status_of_result(&result), 128 + SIGTERM);
    result.end = WEIR_RECORD_END_SIZE;
    cr_expect_eq(weir_exit_status_of_result(&result), 128 + SIGTERM);

    result = (struct weir_record_result){.end = WEIR_RECORD_END_TARGETS};
    cr_expect_eq(weir_exit_status_of_result(&result), 0);
    result = (struct weir_record_result){.end = WEIR_RECORD_END_DRY_RUN};
    cr_expect_eq(weir_exit_status_of_result(&result), 0);
}
