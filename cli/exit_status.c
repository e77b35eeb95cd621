/* From the end of a recording to the exit status of weir. Pure; any thread. */
#include "cli/exit_status.h"

#include <errno.h>
#include <sys/wait.h>

#define MEANING_OF_FAILURE                                              \
    {                                                                   \
        "125", "weir itself failed; a line on standard error says why." \
    }
#define MEANING_OF_USAGE                                                 \
    {                                                                    \
        "129", "An option or an argument is wrong; nothing was touched." \
    }
#define MEANINGS_END \
    {                \
        NULL, NULL   \
    }

const struct weir_exit_meaning weir_exit_meanings[] = {
    {"0", "All went well."},
    MEANING_OF_FAILURE,
    MEANING_OF_USAGE,
    MEANINGS_END,
};

const struct weir_exit_meaning weir_exit_meanings_of_bench[] = {
    {"0", "All went well."},
    {"3", "A figure is below --fail-below."},
    MEANING_OF_FAILURE,
    MEANING_OF_USAGE,
    {"signal", "A signal that ended the run (SIGINT, SIGTERM, SIGHUP, SIGQUIT) ends weir too, after the figures "
               "up to then; a search has none."},
    MEANINGS_END,
};

const struct weir_exit_meaning weir_exit_meanings_of_recording[] = {
    {"0", "The recording ended well; with a workload: the workload exited with 0."},
    {"N", "The workload exited with N."},
    {"3", "More samples were lost than --max-loss allows; the file is finished."},
    MEANING_OF_FAILURE,
    {"126", "The workload was found but could not be executed."},
    {"127", "The workload was not found."},
    {"128+N", "The workload was killed by signal N."},
    MEANING_OF_USAGE,
    {"signal", "A signal that ended the recording (SIGINT, SIGTERM, SIGHUP, SIGQUIT) ends weir too, after the file was "
               "finished."},
    MEANINGS_END,
};

const struct weir_exit_meaning weir_exit_meanings_of_reading[] = {
    {"0", "All went well."},
    {"1", "The file is damaged, or is no recording; a line on standard error says how and at which offset. "
          "The readable part was shown."},
    MEANING_OF_FAILURE,
    MEANING_OF_USAGE,
    MEANINGS_END,
};

int weir_exit_status_of_reading(int code)
{
    if (code == 0)
        return WEIR_EXIT_OK;
    bool is_input = code == -EBADMSG || code == -E2BIG || code == -EFBIG || code == -ENODATA;
    return is_input ? WEIR_EXIT_BAD_INPUT : WEIR_EXIT_FAILURE;
}

int weir_exit_status_of_wait(int wait_status)
{
    if (WIFSIGNALED(wait_status))
        return WEIR_EXIT_SIGNAL_BASE + WTERMSIG(wait_status);
    return WEXITSTATUS(wait_status);
}

int weir_exit_status_of_refusal(int code)
{
    return code == -EINVAL || code == -ENOENT ? WEIR_EXIT_USAGE : WEIR_EXIT_FAILURE;
}

int weir_exit_status_of_failure(int code, bool workload_failed)
{
    if (!workload_failed)
        return WEIR_EXIT_FAILURE;
    return code == -ENOENT ? WEIR_EXIT_NOT_FOUND : WEIR_EXIT_NOT_EXECUTABLE;
}

bool weir_exit_status_is_loss(const struct weir_record_result *result, uint64_t max_ppm)
{
    double all = (double)result->samples + (double)result->evicted_samples + (double)result->lost_samples;
    return (double)result->lost_samples * 1e6 > all * (double)max_ppm;
}

int weir_exit_status_of_result(const struct weir_record_result *result)
{
    switch (result->end) {
    case WEIR_RECORD_END_WORKLOAD:
        return weir_exit_status_of_wait(result->workload_status);
    case WEIR_RECORD_END_SIGNAL:
        return WEIR_EXIT_SIGNAL_BASE + result->signal;
    case WEIR_RECORD_END_OUTPUT:
        return WEIR_EXIT_FAILURE;
    case WEIR_RECORD_END_SCHEDULE: /* the workload was terminated: as perf, its end is told */
    case WEIR_RECORD_END_ASKED:
    case WEIR_RECORD_END_LEASE:
    case WEIR_RECORD_END_CONSUMER:
    case WEIR_RECORD_END_SIZE:
    case WEIR_RECORD_END_SPACE:
        return result->has_workload_status ? weir_exit_status_of_wait(result->workload_status) : WEIR_EXIT_OK;
    case WEIR_RECORD_END_TARGETS:
    case WEIR_RECORD_END_DRY_RUN:
        break;
    }
    return WEIR_EXIT_OK;
}
