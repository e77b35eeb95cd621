/* The output of `weir doctor`. Pure; any thread. */
#ifndef WEIR_CLI_DOCTOR_REPORT_H
#define WEIR_CLI_DOCTOR_REPORT_H

#include <stdbool.h>

#include "base/buf.h"
#include "engine/upkeep/doctor.h"

/* Appends a line for each finding that is not ok, or for all, each with its command. */
void weir_doctor_report_lines(struct weir_buf *text, const struct weir_finding *findings, size_t count, bool all);

/* Appends a JSON array of all findings: name, verdict, state, and fix (null without one). */
void weir_doctor_report_json(struct weir_buf *text, const struct weir_finding *findings, size_t count);

/* Returns the worst verdict. */
enum weir_verdict weir_doctor_worst(const struct weir_finding *findings, size_t count);

#endif
