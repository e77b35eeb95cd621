/* The options of `weir record` about AUX areas. Main thread; nothing is allocated. */
#ifndef WEIR_CLI_AUX_ARGUMENTS_H
#define WEIR_CLI_AUX_ARGUMENTS_H

#include "base/error.h"

/* For rows of the option table: as weir_option.apply; arguments are a struct weir_record_arguments. */
int weir_apply_aux_snapshot(void *arguments, const char *text, struct weir_error *err);
int weir_apply_aux_sample(void *arguments, const char *text, struct weir_error *err);

#endif
