/* The records of a simulated kernel, put together field by field. Layouts: perf_event_open(2). Any thread. */
#include "engine/sim/sim_record.h"

#include <string.h>

#include "base/assert.h"
#include "base/bits.h"
#include "format/perf_file.h"

#define COMM_BYTES      16   /* TASK_COMM_LEN, padded */
#define FIXED_MAX_BYTES 2048 /* a sample without raw data and stack: fields, longest chain, all registers */

static void put_u64(uint8_t *record, size_t *at, uint64_t v)
{
    memcpy(record + *at, &v, sizeof(v));
    *at += sizeof(v);
}

static void put_u32_pair(uint8_t *record, size_t *at, uint32_t a, uint32_t b)
{
    put_u64(record, at, (uint64_t)b << 32 | a);
}

static void finish_header(uint8_t *record, uint32_t type, size_t bytes)
{
    struct perf_event_header header = {.type = type, .misc = PERF_RECORD_MISC_USER, .size = (uint16_t)bytes};
    memcpy(record, &header, sizeof(header));
}

/* The sample_id trailer of perf_event_open(2). */
static void put_trailer(const struct weir_sim_origin *origin, uint8_t *record, size_t *at, uint32_t pid,
                        uint64_t time_ns)
{
    uint64_t type = origin->attr.sample_id_all ? origin->attr.sample_type : 0;
    if (type & PERF_SAMPLE_TID)
        put_u32_pair(record, at, pid, pid);
    if (type & PERF_SAMPLE_TIME)
        put_u64(record, at, time_ns);
    if (type & PERF_SAMPLE_ID)
        put_u64(record, at, origin->id);
    if (type & PERF_SAMPLE_CPU)
        put_u32_pair(record, at, (uint32_t)origin->cpu, 0);
    if (type & PERF_SAMPLE_IDENTIFIER)
        put_u64(record, at, origin->id);
}

/* The size field counts the padding but not itself, so that the record ends on a multiple of 8. */
static void put_raw(uint8_t *record, size_t *at, const struct weir_sim_sample *sample)
{
    uint32_t size = (uint32_t)weir_align_up(sample->raw_bytes + sizeof(uint32_t), 8) - (uint32_t)sizeof(uint32_t);
    memcpy(record + *at, &size, sizeof(size));
    memcpy(record + *at + sizeof(size), sample->raw, sample->raw_bytes);
    memset(record + *at + sizeof(size) + sample->raw_bytes, 0, size - sample->raw_bytes);
    *at += sizeof(size) + size;
}

static void put_chain(uint8_t *record, size_t *at, const struct weir_sim_sample *sample)
{
    put_u64(record, at, sample->chain_count);
    memcpy(record + *at, sample->chain, sample->chain_count * sizeof(uint64_t));
    *at += sample->chain_count * sizeof(uint64_t);
}

static void put_registers(uint8_t *record, size_t *at, uint64_t mask, const uint64_t *regs)
{
    put_u64(record, at, PERF_SAMPLE_REGS_ABI_64);
    for (; mask != 0; mask &= mask - 1) {
        unsigned number = (unsigned)__builtin_ctzll(mask);
        put_u64(record, at, regs ? regs[number] : number);
    }
}

/* Appends the size, the bytes, and the number of bytes that the task had in use: all. */
static void put_stack(uint8_t *record, size_t *at, const void *stack, uint32_t bytes)
{
    put_u64(record, at, bytes);
    memcpy(record + *at, stack, bytes);
    *at += bytes;
    put_u64(record, at, bytes);
}

/* Appends the fields in the order of perf_event_open(2), "PERF_RECORD_SAMPLE". */
size_t weir_sim_record_sample(const struct weir_sim_origin *origin, const struct weir_sim_sample *sample,
                              uint8_t *record)
{
    weir_assert((uint64_t)sample->raw_bytes + origin->attr.sample_stack_user <=
                    WEIR_SIM_RECORD_MAX_BYTES - FIXED_MAX_BYTES &&
                sample->chain_count <= WEIR_SIM_CHAIN_MAX);
    uint64_t type = origin->attr.sample_type;
    size_t at = sizeof(struct perf_event_header);
    if (type & PERF_SAMPLE_IDENTIFIER)
        put_u64(record, &at, origin->id);
    if (type & PERF_SAMPLE_IP)
        put_u64(record, &at, sample->ip);
    if (type & PERF_SAMPLE_TID)
        put_u32_pair(record, &at, sample->pid, sample->tid);
    if (type & PERF_SAMPLE_TIME)
        put_u64(record, &at, sample->time_ns);
    if (type & PERF_SAMPLE_ADDR)
        put_u64(record, &at, 0);
    if (type & PERF_SAMPLE_ID)
        put_u64(record, &at, origin->id);
    if (type & PERF_SAMPLE_CPU)
        put_u32_pair(record, &at, (uint32_t)origin->cpu, 0);
    if (type & PERF_SAMPLE_PERIOD)
        put_u64(record, &at, 1);
    if (type & PERF_SAMPLE_CALLCHAIN)
        put_chain(record, &at, sample);
    if (type & PERF_SAMPLE_RAW)
        put_raw(record, &at, sample);
    if (type & PERF_SAMPLE_REGS_USER)
        put_registers(record, &at, origin->attr.sample_regs_user, sample->regs);
    if (type & PERF_SAMPLE_STACK_USER)
        put_stack(record, &at, sample->stack, origin->attr.sample_stack_user);
    if (type & PERF_SAMPLE_WEIGHT)
        put_u64(record, &at, 0);
    if (type & PERF_SAMPLE_DATA_SRC)
        put_u64(record, &at, 0);
    finish_header(record, PERF_RECORD_SAMPLE, at);
    return at;
}

size_t weir_sim_record_user_part(const struct weir_sim_origin *origin, const struct weir_sim_user_part *part,
                                 uint8_t *record)
{
    size_t at = sizeof(struct perf_event_header), bytes = part->frame_count * sizeof(*part->frames);
    weir_assert(part->frame_count <= WEIR_SIM_CHAIN_MAX);
    put_u64(record, &at, part->cookie);
    put_u64(record, &at, part->frame_count);
    memcpy(record + at, part->frames, bytes);
    at += bytes;
    put_trailer(origin, record, &at, part->tid, part->time_ns);
    finish_header(record, WEIR_RECORD_CALLCHAIN_DEFERRED, at);
    return at;
}

size_t weir_sim_record_comm(const struct weir_sim_origin *origin, uint32_t pid, const char *comm, uint64_t time_ns,
                            uint8_t *record)
{
    size_t at = sizeof(struct perf_event_header);
    put_u32_pair(record, &at, pid, pid);
    memset(record + at, 0, COMM_BYTES);
    memcpy(record + at, comm, strnlen(comm, COMM_BYTES - 1)); /* NOLINT(bugprone-not-null-terminated-result): zeroed */
    at += COMM_BYTES;
    put_trailer(origin, record, &at, pid, time_ns);
    finish_header(record, PERF_RECORD_COMM, at);
    return at;
}

size_t weir_sim_record_lost(const struct weir_sim_origin *origin, uint64_t lost, uint64_t time_ns, uint8_t *record)
{
    size_t at = sizeof(struct perf_event_header);
    put_u64(record, &at, origin->id);
    put_u64(record, &at, lost);
    put_trailer(origin, record, &at, 0, time_ns);
    finish_header(record, PERF_RECORD_LOST, at);
    return at;
}
