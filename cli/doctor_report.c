/* Findings as lines and as JSON. Pure; any thread. */
#include "cli/doctor_report.h"

#include <string.h>

#include "format/text_out.h"

enum weir_verdict weir_doctor_worst(const struct weir_finding *findings, size_t count)
{
    enum weir_verdict worst = WEIR_VERDICT_OK;
    for (size_t i = 0; i < count; i++) {
        if (findings[i].verdict > worst)
            worst = findings[i].verdict;
    }
    return worst;
}

/* They name the user's path. */
static void append_line(struct weir_buf *text, const char *line)
{
    weir_text_append(text, line, strlen(line));
    weir_buf_append_u8(text, '\n');
}

/* "ready for: own commands, -a"; nothing without such goals. */
static void append_goals(struct weir_buf *text, const struct weir_finding *findings, size_t count, bool ready)
{
    size_t named = 0;
    for (size_t i = 0; i < count; i++) {
        if (!findings[i].goal || (findings[i].verdict <= WEIR_VERDICT_NOTE) != ready)
            continue;
        weir_buf_printf(text, "%s%s", named++ > 0 ? "; " : ready ? "ready for: " : "not ready for: ", findings[i].goal);
    }
    if (named > 0)
        weir_buf_append_u8(text, '\n');
}

void weir_doctor_report_lines(struct weir_buf *text, const struct weir_finding *findings, size_t count, bool all)
{
    size_t shown = 0;
    for (size_t i = 0; i < count; i++) {
        const struct weir_finding *finding = &findings[i];
        if (finding->verdict == WEIR_VERDICT_OK && !all)
            continue;
        shown++;
        weir_buf_printf(text, "%-8s %-13s ", weir_verdict_word(finding->verdict), finding->name);
        append_line(text, finding->state);
        if (finding->fix[0]) {
            weir_buf_printf(text, "%-22s fix: ", "");
            append_line(text, finding->fix);
        }
    }
    if (shown == 0)
        weir_buf_printf(text, "all %zu checks passed\n", count);
    append_goals(text, findings, count, true);
    append_goals(text, findings, count, false);
}

void weir_doctor_report_json(struct weir_buf *text, const struct weir_finding *findings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct weir_finding *finding = &findings[i];
        weir_buf_printf(text, "%s{\"name\":", i ? ",\n " : "[");
        weir_text_append_json_string(text, finding->name);
        weir_buf_printf(text, ",\"verdict\":\"%s\",\"state\":", weir_verdict_word(finding->verdict));
        weir_text_append_json_string(text, finding->state);
        if (finding->goal)
            weir_buf_printf(text, ",\"goal\":\"%s\"", finding->goal);
        else
            weir_buf_printf(text, ",\"goal\":null");
        weir_buf_printf(text, ",\"fix\":");
        if (finding->fix[0])
            weir_text_append_json_string(text, finding->fix);
        else
            weir_buf_printf(text, "null");
        weir_buf_printf(text, "}");
    }
    weir_buf_printf(text, "]\n");
}
