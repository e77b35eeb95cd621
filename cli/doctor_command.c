/* `weir doctor`: from its arguments to engine/upkeep/doctor.h. Main thread. */
#include "cli/doctor_command.h"

#include <stdio.h>

#include "cli/answer.h"
#include "cli/doctor_options.h"
#include "cli/doctor_report.h"
#include "cli/exit_status.h"

int weir_doctor_main(const struct weir_invocation *invocation)
{
    const struct weir_print print = {.stream = stderr};
    struct weir_error err = {0};
    struct weir_doctor_arguments arguments;
    int result = weir_doctor_arguments_parse(&arguments, invocation->arguments, &err);
    if (result == WEIR_OPTIONS_HELP)
        return weir_answer_help(&print, &weir_doctor_command, invocation->arguments);
    if (result < 0)
        return weir_answer_refusal(&print, result, &err);

    struct weir_doctor_facts facts;
    const struct weir_doctor_setup setup = {.proc_root = "/proc", .sys_root = "/sys", .folder = arguments.folder};
    if (weir_doctor_gather(&facts, &setup, &err) < 0) {
        weir_print_error(&print, &err);
        return WEIR_EXIT_FAILURE;
    }
    struct weir_finding findings[WEIR_FINDINGS_MAX];
    size_t count = weir_doctor_judge(&facts, findings);
    struct weir_buf text = WEIR_BUF_INIT;
    if (arguments.json)
        weir_doctor_report_json(&text, findings, count);
    else
        weir_doctor_report_lines(&text, findings, count, arguments.all);
    int status = weir_answer_text(&print, &text);
    bool limited = weir_doctor_worst(findings, count) >= WEIR_VERDICT_LIMITED;
    return status == WEIR_EXIT_OK && limited ? WEIR_EXIT_LIMITED : status;
}
