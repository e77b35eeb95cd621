/*
 * A recording with what no recorder of this machine writes: the record types, features, attr words and bits of Linux
 * 6.13 to 7.1, byte by byte after perf's headers (format/perf_file.h names them). It shares no code with format/.
 *
 * One event, of an attr of 152 bytes: one word more than the newest that is known, and flag 63. Its two samples have
 * the chain {KERNEL, 0x81000010, USER_DEFERRED, cookie 0x77}; a CALLCHAIN_DEFERRED record has the user's frames of that
 * cookie. One of the two samples stands in a COMPRESSED2 record of 5 padding bytes. A record of type 200 is unknown, as
 * is feature 40.
 */
#ifndef WEIR_TESTS_FORMAT_NEWEST_RECORDING_H
#define WEIR_TESTS_FORMAT_NEWEST_RECORDING_H

#include <stdbool.h>

#include "base/buf.h"

struct newest_recording_options {
    bool stream;         /* else a file */
    bool has_no_size;    /* data.size is 0 and there are no features, as after a kill */
    bool is_known_only;  /* neither flag 63, the word behind config4, type 200 nor feature 40 */
    bool has_new_events; /* EVENT_DESC too */
};

/* Records of the data: two SAMPLE, one of them inside of COMPRESSED2, CALLCHAIN_DEFERRED, BPF_METADATA, SCHEDSTAT_CPU,
 * SCHEDSTAT_DOMAIN of versions 15 and 17, and the last one of type 200. */
#define NEWEST_RECORDS 9u

#define NEWEST_DATA_OFFSET 4096u

void newest_recording_build(struct weir_buf *out, const struct newest_recording_options *options);

#endif
