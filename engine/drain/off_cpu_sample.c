#include "engine/drain/off_cpu_sample.h"

#include <linux/perf_event.h>
#include <string.h>

#include "base/bits.h"
#include "format/bytes.h"

#define WORD_BYTES 8u

enum word { /* of a record of the file */
    WORD_HEADER,
    WORD_IDENTIFIER,
    WORD_IP,
    WORD_TASK,
    WORD_TIME,
    WORD_CPU,
    WORD_PERIOD,
    WORD_CHAIN_LENGTH,
    WORD_CHAIN,
};

/* Of the kernel's record. */
#define WORD_RAW      WORD_PERIOD
#define WORD_DURATION WORD_CHAIN_LENGTH

static uint64_t get(const uint8_t *record, size_t word)
{
    return weir_load_u64(record + word * WORD_BYTES);
}

static void set_word(uint8_t *record, size_t word, uint64_t value)
{
    memcpy(record + word * WORD_BYTES, &value, sizeof(value));
}

/* Sets address and CPU mode by the chain. */
static void set_ip(uint8_t *record, size_t words)
{
    uint64_t ip = 0;
    uint16_t misc = PERF_RECORD_MISC_CPUMODE_UNKNOWN;
    for (size_t i = 0; i + 1 < words && misc != PERF_RECORD_MISC_USER; i++) {
        uint64_t context = get(record, WORD_CHAIN + i);
        if (context != PERF_CONTEXT_USER && context != PERF_CONTEXT_KERNEL)
            continue;
        ip = get(record, WORD_CHAIN + i + 1);
        misc = context == PERF_CONTEXT_USER ? PERF_RECORD_MISC_USER : PERF_RECORD_MISC_KERNEL;
    }
    set_word(record, WORD_IP, ip);
    struct perf_event_header header;
    memcpy(&header, record, sizeof(header));
    header.misc = (uint16_t)((header.misc & ~PERF_RECORD_MISC_CPUMODE_MASK) | misc);
    memcpy(record, &header, sizeof(header));
}

static void mend(uint8_t *record, uint32_t size, bool cgroup_ids)
{
    size_t tail = 1 + cgroup_ids, all = size / WORD_BYTES;
    if (all < WORD_CHAIN + tail)
        return;
    size_t words = all - WORD_CHAIN - tail; /* of the chain */
    uint64_t head = get(record, WORD_RAW) >> 32, task = get(record, WORD_CHAIN + words);
    set_word(record, WORD_PERIOD, get(record, WORD_DURATION));
    set_word(record, WORD_CHAIN_LENGTH, words);
    set_word(record, WORD_TASK, task);
    set_word(record, WORD_CHAIN + words, head >> 16);
    set_ip(record, words);
}

void weir_off_cpu_samples_mend(const struct weir_event_set *set, unsigned event, uint8_t *data, uint64_t bytes)
{
    bool cgroup_ids = set->list->events[event].attr.sample_type & PERF_SAMPLE_CGROUP;
    for (uint64_t at = 0; at < bytes;) {
        struct perf_event_header header;
        memcpy(&header, data + at, sizeof(header));
        if (header.type == PERF_RECORD_SAMPLE && header.size >= (WORD_IDENTIFIER + 1) * WORD_BYTES) {
            const struct weir_id_entry *entry = weir_id_map_find(&set->id_map, get(data + at, WORD_IDENTIFIER));
            if (entry && entry->event == event)
                mend(data + at, header.size, cgroup_ids);
        }
        at += header.size;
    }
}

void weir_off_cpu_sample_append(const struct weir_off_cpu_sum_key *key, const struct weir_off_cpu_sum *sum,
                                const struct weir_off_cpu_stack *stack, const struct weir_off_cpu_moment *moment,
                                struct weir_buf *out)
{
    uint64_t record[WORD_CHAIN + WEIR_OFF_CPU_CHAIN_MAX + 2] = {0};
    size_t words = weir_min_u64(stack->words, WEIR_OFF_CPU_CHAIN_MAX), all = WORD_CHAIN + words;
    record[WORD_IDENTIFIER] = moment->id;
    record[WORD_TASK] = key->task;
    record[WORD_TIME] = moment->time_ns;
    record[WORD_CPU] = moment->cpu;
    record[WORD_PERIOD] = sum->ns;
    record[WORD_CHAIN_LENGTH] = words;
    memcpy(&record[WORD_CHAIN], stack->chain, words * WORD_BYTES);
    record[all++] = key->state;
    if (moment->cgroup_ids)
        record[all++] = key->cgroup;
    const struct perf_event_header header = {.type = PERF_RECORD_SAMPLE, .size = (uint16_t)(all * WORD_BYTES)};
    memcpy(&record[WORD_HEADER], &header, sizeof(header));
    set_ip((uint8_t *)record, words);
    weir_buf_append(out, record, all * WORD_BYTES);
}
