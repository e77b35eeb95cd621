/* What weir doctor prints. Pure; any thread. */
#ifndef WEIR_CLI_DOCTOR_REPORT_H
#define WEIR_CLI_DOCTOR_REPORT_H

#include <stdbool.h>

#include "base/buf.h"
#include "engine/upkeep/doctor.h"

/* Lines: findings that are not well, or all; each with its command. */
void weir_doctor_report_lines(struct weir_buf *text, const struct weir_finding *findings, size_t count, bool all);

/* An array of all findings: name, verdict, state, and fix where there is one (else null). */
void weir_doctor_report_json(struct weir_buf *text, const struct weir_finding *findings, size_t count);

/* The worst verdict. */
enum weir_verdict weir_doctor_worst(const struct weir_finding *findings, size_t count);

#endif
