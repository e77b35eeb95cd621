/*
 * The options of `weir record` about the contents of samples and about synthesized records: the apply functions of
 * table rows that need code. They get a struct weir_record_arguments. Main thread; nothing is allocated. Results as
 * weir_option.apply: 0 or -EINVAL with err.
 */
#ifndef WEIR_CLI_SAMPLE_ARGUMENTS_H
#define WEIR_CLI_SAMPLE_ARGUMENTS_H

#include "base/buf.h"
#include "base/error.h"

int weir_apply_call_graph(void *arguments, const char *text, struct weir_error *err);
void weir_clear_call_graph(void *arguments);
/* Applies -g: frame pointers, unless another mode was chosen before. */
int weir_apply_call_graph_default(void *arguments, const char *text, struct weir_error *err);
int weir_apply_aggregate(void *arguments, const char *text, struct weir_error *err);
void weir_clear_aggregate(void *arguments);
int weir_apply_period_choice(void *arguments, const char *text, struct weir_error *err);
void weir_clear_period_choice(void *arguments);
int weir_apply_switch_events(void *arguments, const char *text, struct weir_error *err);
void weir_clear_switch_events(void *arguments);
int weir_apply_data_maps(void *arguments, const char *text, struct weir_error *err);
void weir_clear_data_maps(void *arguments);
int weir_apply_branch_any(void *arguments, const char *text, struct weir_error *err);
int weir_apply_branch_filter(void *arguments, const char *text, struct weir_error *err);
/* Both accept "?": the caller then shows the registers, see weir_registers_describe(). */
int weir_apply_intr_regs(void *arguments, const char *text, struct weir_error *err);
int weir_apply_user_regs(void *arguments, const char *text, struct weir_error *err);
int weir_apply_clock(void *arguments, const char *text, struct weir_error *err);
int weir_apply_synth(void *arguments, const char *text, struct weir_error *err);

/* Appends "available registers: AX BX ..." for -I? and --user-regs=?. */
void weir_registers_describe(struct weir_buf *text);

#endif
