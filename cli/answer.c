/* How a command answers. Main thread of the process. */
#include "cli/answer.h"

#include <signal.h>
#include <sys/resource.h>

#include "cli/exit_status.h"
#include "cli/help.h"
#include "cli/pager.h"

int weir_answer_refusal(const struct weir_print *print, int code, const struct weir_error *err)
{
    weir_print_error(print, err);
    return weir_exit_status_of_refusal(code);
}

int weir_answer_text(const struct weir_print *print, struct weir_buf *text)
{
    struct weir_error err = {0};
    const char *string = weir_buf_str(text);
    int result = weir_buf_error(text);
    if (result < 0)
        weir_error_set_errno(&err, result, "cannot build the text");
    else
        result = weir_print_output(string, &err);
    weir_buf_fini(text);
    if (result < 0)
        weir_print_error(print, &err);
    return result < 0 ? WEIR_EXIT_FAILURE : WEIR_EXIT_OK;
}

int weir_answer_help(const struct weir_print *print, const struct weir_command *command, char *const *arguments)
{
    static const char *const none[] = {NULL};
    struct weir_buf text = WEIR_BUF_INIT;
    weir_help_text(&text, command, arguments ? weir_options_help_words(&command->options, arguments) : none);
    if (weir_buf_error(&text) == 0 && weir_pager_show(weir_buf_str(&text))) {
        weir_buf_fini(&text);
        return WEIR_EXIT_OK;
    }
    return weir_answer_text(print, &text);
}

void weir_answer_by_signal(int number)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){0});
    signal(number, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(number);
}
