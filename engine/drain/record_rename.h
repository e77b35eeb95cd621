/*
 * One id for an event on a CPU, however often the CPU comes.
 *
 * The kernel's event of a CPU that goes offline is dead, and the event that weir opens when the CPU comes back has
 * another id. A file could list the new id at its end, a stream never, and consumers would take the id for another
 * event. So the recording gives each event on each CPU one id at the start, also on CPUs that are offline then. The
 * reader copies a record with a later id out of the ring and then replaces that id:
 *
 *     sample            IDENTIFIER, which stands first; with READ the ids between the values
 *     any other record  the end of its trailer
 *     READ              also the ids between the values
 *     LOST, THROTTLE, UNTHROTTLE   also the ids in their body
 *
 * The kernel may write a sample with the id of another recorder's event, or of one of weir's side events. The reader
 * gives such a sample the id of its own event.
 *
 * Where samples and trailers have no ids (weir_event_set.by_cpu), the reader replaces only the ids in bodies.
 *
 * Pure but for the bytes; any thread. Source: perf_event_open(2), "MMAP layout"; perf_output_read() in
 * kernel/events/core.c of Linux 6.18. PERF_SAMPLE_ID and STREAM_ID are never asked for.
 */
#ifndef WEIR_ENGINE_DRAIN_RECORD_RENAME_H
#define WEIR_ENGINE_DRAIN_RECORD_RENAME_H

#include <stdint.h>

#include "engine/events/event_set.h"

/*
 * Replaces the ids of the records in [data, data + bytes), which are whole and have been walked, by the ids of the file
 * (weir_event_set_file_id()). Ids of no event of the set stay. Reads the id map and constant parts of the set.
 */
void weir_record_rename(const struct weir_event_set *set, uint8_t *data, uint64_t bytes);

/*
 * Finds the samples in [data, data + bytes) whose id belongs to no event of the set. Gives each the id of its event at
 * that place, and counts it in samples[event]. The records are whole and have been walked.
 * weir_event_list_find_misnamed() tells the event of such a sample. Returns the number of samples.
 */
uint64_t weir_record_adopt(const struct weir_event_set *set, unsigned place, uint8_t *data, uint64_t bytes,
                           uint64_t *samples);

#endif
