/* Lines as those of perf list, so that programs that read perf's lines read these, too. */
#include "cli/list_report.h"

#include <stdio.h>

#include "format/text_out.h"

#define NAME_COLUMNS 50 /* of perf list */
#define NAME_BYTES   512

static const char *section_text(enum weir_catalog_section section)
{
    switch (section) {
    case WEIR_CATALOG_HARDWARE:
        return "Hardware event";
    case WEIR_CATALOG_SOFTWARE:
        return "Software event";
    case WEIR_CATALOG_CACHE:
        return "Hardware cache event";
    case WEIR_CATALOG_PMU:
        return "Kernel PMU event";
    case WEIR_CATALOG_RAW:
        return "Raw hardware event descriptor";
    case WEIR_CATALOG_BREAKPOINT:
        return "Hardware breakpoint";
    case WEIR_CATALOG_PFM:
        return "PFM event";
    case WEIR_CATALOG_TRACEPOINT:
        break;
    }
    return "Tracepoint event";
}

static void add_line(struct weir_list_report *report, const struct weir_catalog_entry *entry)
{
    char name[NAME_BYTES];
    snprintf(name, sizeof(name), "%s%s%s", entry->name, entry->other ? " OR " : "", entry->other ? entry->other : "");
    weir_buf_printf(report->text, "  %-*s [%s%s%s]\n", NAME_COLUMNS, name, section_text(entry->section),
                    entry->dynamic ? ", " : "", entry->dynamic ? entry->dynamic : "");
    if (report->details && entry->description)
        weir_buf_printf(report->text, "       %s\n", entry->description);
    if (!report->details || !entry->terms)
        return;
    weir_buf_printf(report->text, "       %s/%s/", entry->pmu, entry->terms);
    if (entry->scale != 1)
        weir_buf_printf(report->text, " x %.17g", entry->scale);
    weir_buf_printf(report->text, "%s%s\n", entry->unit ? " " : "", entry->unit ? entry->unit : "");
}

static void add_member(struct weir_buf *text, const char *name, const char *value)
{
    if (!value)
        return;
    weir_buf_printf(text, ", \"%s\": ", name);
    weir_text_append_json_string(text, value);
}

static void add_object(struct weir_list_report *report, const struct weir_catalog_entry *entry)
{
    struct weir_buf *text = report->text;
    weir_buf_printf(text, report->count == 0 ? "[\n  {\"type\": " : ",\n  {\"type\": ");
    weir_text_append_json_string(text, section_text(entry->section));
    add_member(text, entry->is_form ? "form" : "name", entry->name);
    add_member(text, "alias", entry->other);
    add_member(text, "pmu", entry->pmu);
    add_member(text, "terms", entry->terms);
    add_member(text, "unit", entry->unit);
    if (entry->scale != 1)
        weir_buf_printf(text, ", \"scale\": %.17g", entry->scale);
    add_member(text, "dynamic", entry->dynamic);
    add_member(text, "description", entry->description);
    weir_buf_printf(text, "}");
}

static void add_names(struct weir_list_report *report, const struct weir_catalog_entry *entry)
{
    if (entry->is_form)
        return;
    weir_buf_printf(report->text, "%s\n", entry->name);
    if (entry->other && entry->section != WEIR_CATALOG_PFM) /* which -e does not take */
        weir_buf_printf(report->text, "%s\n", entry->other);
}

void weir_list_report_add(struct weir_list_report *report, const struct weir_catalog_entry *entry)
{
    if (report->json)
        add_object(report, entry);
    else if (report->names)
        add_names(report, entry);
    else
        add_line(report, entry);
    report->count++;
}

void weir_list_report_end(struct weir_list_report *report)
{
    if (report->json)
        weir_buf_printf(report->text, report->count == 0 ? "[]\n" : "\n]\n");
}
