#include "tests/engine/unwind_rig.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#include "base/bits.h"
#include "format/bytes.h"
#include "tests/engine/chunk_append.h"
#include "tests/unwind/tables.h"
#include "unwind/unwound_sample.h"

#define SAMPLE_TYPE (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)
#define CALLER      (UNWIND_RIG_BASE + 0x1210)
#define OUTERMOST   (UNWIND_RIG_BASE + 0x1308)
#define REGS        0x1c0u /* of the kernel's x86: rbp 6, rsp 7, ip 8 */
#define WORD        sizeof(uint64_t)

struct fixed {
    struct perf_event_header header;
    uint64_t ip;
    uint32_t pid, tid;
    uint64_t time_ns;
    uint32_t cpu, reserved;
    uint64_t period;
};

/* ---- the source ---- */

static bool find(void *ctx, pid_t pid, uint64_t time_ns, uint64_t address, struct weir_unwind_mapping *mapping)
{
    struct unwind_rig *rig = ctx;
    atomic_fetch_add(&rig->finds, 1);
    *mapping = (struct weir_unwind_mapping){
        .start = UNWIND_RIG_BASE, .has_file = true, .key = rig->keys_from + (address >= UNWIND_RIG_BASE + 0x1200)};
    return pid == UNWIND_RIG_PID && time_ns >= rig->known_from_ns && address - UNWIND_RIG_BASE < 1 << 20 &&
           (!rig->knows_after_a_wait || atomic_load(&rig->waits) > 0);
}

static bool catch_up(void *ctx)
{
    struct unwind_rig *rig = ctx;
    atomic_fetch_add(&rig->waits, 1);
    return true;
}

static int open_table(void *ctx, uint64_t key)
{
    struct unwind_rig *rig = ctx;
    (void)key;
    atomic_fetch_add(&rig->opens, 1);
    rig->now_ns += rig->open_ns;
    return rig->open_error < 0 ? rig->open_error : table_elf(&rig->table);
}

static uint64_t now(void *ctx)
{
    return ((const struct unwind_rig *)ctx)->now_ns;
}

/* ---- set-up ---- */

static void make_table(struct weir_buf *table)
{
    static const uint8_t with_rbp[] = {0x0c, 6, 16, 0x86, 2}, outermost[] = {0x07, 16};
    table_add_cie(table, "zR");
    table_add_fde(table, 0, 0x1100, 0x100, "", 0); /* leaf: CFA = rsp + 8 */
    table_add_fde(table, 0, 0x1200, 0x100, with_rbp, sizeof(with_rbp));
    table_add_fde(table, 0, 0x1300, 0x100, outermost, sizeof(outermost));
}

bool unwind_rig_init(struct unwind_rig *rig, unsigned workers)
{
    static const uint64_t stacks = PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    memset(rig, 0, sizeof(*rig));
    rig->now_ns = 1;
    for (unsigned i = 0; i < UNWIND_RIG_EVENTS; i++)
        rig->events[i].attr = (struct perf_event_attr){.sample_id_all = 1, .sample_type = SAMPLE_TYPE};
    rig->events[0].attr.sample_type |= stacks | PERF_SAMPLE_WEIGHT;
    rig->events[0].attr.sample_regs_user = REGS;
    rig->events[2].sideband = true;
    rig->list = (struct weir_event_list){.events = rig->events, .count = UNWIND_RIG_EVENTS};
    for (unsigned cpu = 0; cpu < WEIR_ARRAY_COUNT(rig->by_cpu); cpu++)
        rig->by_cpu[cpu] = (struct weir_id_entry){.id = 1 + cpu, .event = cpu, .place = 0};
    make_table(&rig->table);
    const struct weir_clock *clock = &rig->clock;
    rig->clock = (struct weir_clock){.now_ns = now, .ctx = rig};
    const struct weir_unwind_step_setup setup = {
        .layout = {.by_cpu = rig->by_cpu,
                   .by_cpu_count = WEIR_ARRAY_COUNT(rig->by_cpu),
                   .id_offset = offsetof(struct fixed, cpu),
                   .time_offset = offsetof(struct fixed, time_ns),
                   .place_stride = UNWIND_RIG_EVENTS,
                   .sideband_event = 2},
        .list = &rig->list,
        .source = {.find = find, .catch_up = catch_up, .open = open_table, .ctx = rig},
        .machine = weir_unwind_machine_find("x86_64"),
        .clock = clock,
        .workers = workers,
        .tables_bytes = 4 << 20,
    };
    return weir_buf_error(&rig->table) == 0 && weir_unwind_step_init(&rig->step, &setup) == 0;
}

void unwind_rig_fini(struct unwind_rig *rig)
{
    weir_unwind_step_fini(&rig->step);
    weir_buf_fini(&rig->table);
}

/* ---- samples ---- */

/* The leaf's return address; then for each caller its saved frame pointer, which is the address of the next pair, and
 * the return address behind it. */
static void append_stack(struct weir_chunk *chunk, const struct unwind_sample *sample)
{
    unsigned words = sample->stack_words > 0 ? sample->stack_words : 2 * sample->depth + 2;
    chunk_append_word(chunk, words * WORD);
    for (unsigned i = 0; i < words; i++) {
        uint64_t word = sample->depth > 1 ? CALLER : OUTERMOST; /* of the leaf */
        if (i % 2 == 1)
            word = UNWIND_RIG_STACK + (sample->is_cycle && i == 3 ? 1 : i + 2) * WORD;
        else if (i > 0)
            word = i / 2 + 1 < sample->depth ? CALLER : OUTERMOST;
        chunk_append_word(chunk, word);
    }
    chunk_append_word(chunk, words * WORD);
}

void unwind_rig_append(struct weir_chunk *chunk, const struct unwind_sample *sample)
{
    uint32_t start = chunk->used;
    struct fixed fixed = {
        .header = {.type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER},
        .ip = sample->ip,
        .pid = sample->pid,
        .tid = sample->pid,
        .time_ns = sample->time_ns,
        .cpu = sample->cpu,
        .period = 7,
    };
    chunk_append(chunk, &fixed, sizeof(fixed));
    if (sample->cpu == 0) {
        chunk_append_word(chunk, sample->kernel > 0 ? sample->kernel + 1 : 0);
        for (unsigned i = 0; sample->kernel > 0 && i <= sample->kernel; i++)
            chunk_append_word(chunk, i == 0 ? (uint64_t)PERF_CONTEXT_KERNEL : UNWIND_RIG_KERNEL + i);
        chunk_append_word(chunk, sample->abi);
        const uint64_t regs[] = {sample->has_no_frame ? 0 : UNWIND_RIG_STACK + WORD, UNWIND_RIG_STACK, sample->ip};
        if (sample->abi != PERF_SAMPLE_REGS_ABI_NONE)
            chunk_append(chunk, regs, sizeof(regs));
        if (sample->abi != PERF_SAMPLE_REGS_ABI_NONE)
            append_stack(chunk, sample);
        else
            chunk_append_word(chunk, 0);
        chunk_append_word(chunk, 3); /* the weight */
    }
    fixed.header.size = (uint16_t)(chunk->used - start);
    memcpy(chunk->data + start, &fixed, sizeof(fixed));
}

int unwind_rig_next(const struct weir_chunk *chunk, uint32_t *at, struct unwound *sample)
{
    if (*at >= chunk->used)
        return -1;
    const uint8_t *record = chunk->data + *at;
    struct fixed fixed;
    memcpy(&fixed.header, record, sizeof(fixed.header));
    *at += fixed.header.size;
    if (fixed.header.type != PERF_RECORD_SAMPLE || fixed.header.size < sizeof(fixed) + 2 * WORD)
        return 0;
    memcpy(&fixed, record, sizeof(fixed));
    *sample = (struct unwound){
        .cpu = fixed.cpu,
        .time_ns = fixed.time_ns,
        .period = fixed.period,
        .weight = weir_load_u64(record + fixed.header.size - WORD),
        .frames = weir_load_u64(record + sizeof(fixed)),
    };
    if (sample->frames > WEIR_ARRAY_COUNT(sample->chain) ||
        sizeof(fixed) + (2 + sample->frames) * WORD != fixed.header.size)
        return 0;
    memcpy(sample->chain, record + sizeof(fixed) + WORD, sample->frames * WORD);
    return 1;
}
