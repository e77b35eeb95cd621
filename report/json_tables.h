/*
 * The tables of a report's JSON: strings, files, frames, tasks and CPUs with the numbers under which its columns name
 * them. A number is given at the first use. One thread; allocates.
 */
#ifndef WEIR_REPORT_JSON_TABLES_H
#define WEIR_REPORT_JSON_TABLES_H

#include "base/buf.h"
#include "report/digest.h"

struct weir_json_tables {
    const struct weir_digest *digest; /* borrowed */
    struct weir_string_table strings;
    struct weir_row_table files;  /* number of an object */
    struct weir_row_table frames; /* frame */
    struct weir_row_table tasks;  /* number of a task */
    struct weir_row_table cpus;   /* number of a CPU */
    int error;                    /* -ENOMEM: the numbers mean nothing */
};

void weir_json_tables_init(struct weir_json_tables *tables, const struct weir_digest *digest);
void weir_json_tables_fini(struct weir_json_tables *tables);

/* Return the number of a thing. */
uint32_t weir_json_string(struct weir_json_tables *tables, const char *text);
uint32_t weir_json_file(struct weir_json_tables *tables, uint32_t object);
uint32_t weir_json_frame(struct weir_json_tables *tables, weir_frame frame);
uint32_t weir_json_task(struct weir_json_tables *tables, uint32_t task);
int64_t weir_json_cpu(struct weir_json_tables *tables, uint32_t cpu); /* -1 for WEIR_CPU_UNKNOWN and above */

/* Appends the members "cpus", "tasks", "files", "frames" and "strings", in this order, as each names those behind it.
 */
void weir_json_tables_append(struct weir_buf *out, struct weir_json_tables *tables);

/* Starts a column: `"name":[`, with a comma in front unless it is the first of its object. */
void weir_json_column(struct weir_buf *out, const char *name, bool is_first);

/* Appends a number of a column; is_first: the first of it. */
void weir_json_number(struct weir_buf *out, int64_t number, bool is_first);

#endif
