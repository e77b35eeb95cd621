/*
 * How long a record waits: the coordinator's rounds and real readers on a fake clock, by seed. CPUs write at rates of
 * their own, from thousands of records a second to one in minutes; readers sleep until their ring is at its watermark
 * or they are woken, and then take a while to get up; most readers of the machine have nothing to do. Whatever the
 * order in which all that happens, no record stays in a ring or a reader's chunk for longer than rounds.h says.
 */
#include "engine/drain/rounds.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/clock.h"
#include "tests/base/random.h"
#include "tests/engine/fake_clock.h"
#include "tests/engine/reader_rig.h"

#define SEEDS        400
#define EVENTS       3000
#define BUSY_READERS 3u /* the fourth one is idle, and stands for all others */
#define CROWD_MAX    640u
#define RECORD_BYTES 64u
#define RING_BYTES   16384u
#define WATERMARK    (RING_BYTES / WEIR_RING_WATERMARK_SHARE)
#define RECORDS_MAX  65536u /* of a reader in a run */
#define WAKE_UP_NS   (3 * WEIR_NS_PER_MS)
#define START_NS     (50 * WEIR_NS_PER_S)
#define NEVER_NS     UINT64_MAX

struct model_cpu {
    uint64_t interval_ns;   /* mean, from one record to the next */
    uint64_t next_ns;       /* when the next one is written */
    uint64_t up_ns;         /* when its reader will have got up; NEVER_NS: it sleeps on */
    uint64_t *times;        /* of all records so far; owned */
    uint64_t count, handed; /* records; handed over */
};

struct model {
    struct reader_rig rig;
    struct weir_rounds rounds;
    struct weir_reader *readers[CROWD_MAX];
    struct fake_clock fake;
    struct weir_clock clock;
    struct model_cpu cpus[BUSY_READERS];
    uint64_t advance_ns, bound_ns;
    uint64_t random;
};

/* A number in [0, bound). */
static uint64_t chance(struct model *m, uint64_t bound)
{
    return test_random(&m->random) % bound;
}

static uint64_t until_next(struct model *m, const struct model_cpu *cpu)
{
    return 1 + chance(m, 2 * cpu->interval_ns);
}

static void model_init(struct model *m, uint64_t seed)
{
    *m = (struct model){.random = seed, .fake.now_ns = START_NS, .advance_ns = START_NS};
    m->clock = fake_clock_interface(&m->fake);
    unsigned count = (unsigned)(BUSY_READERS + 1 + (chance(m, 2) ? chance(m, CROWD_MAX - BUSY_READERS) : chance(m, 8)));
    rig_init(&m->rig, &(struct rig_options){.readers = BUSY_READERS + 1, .ring_bytes = RING_BYTES, .chunks = 12});
    for (unsigned i = 0; i < count; i++)
        m->readers[i] = &m->rig.readers[BUSY_READERS];
    for (unsigned i = 0; i < BUSY_READERS; i++) { /* in order, wherever the idle ones are between them */
        struct model_cpu *cpu = &m->cpus[i];
        m->readers[i * (count - 1) / BUSY_READERS] = &m->rig.readers[i];
        m->rig.readers[i].setup.sink.clock = &m->clock;
        cpu->interval_ns = WEIR_NS_PER_MS << chance(m, 18);
        cpu->next_ns = START_NS + until_next(m, cpu);
        cpu->up_ns = NEVER_NS;
        cpu->times = calloc(RECORDS_MAX, sizeof(*cpu->times));
        cr_assert_not_null(cpu->times);
    }
    weir_rounds_init(&m->rounds, &m->rig.control, m->readers, count, &m->rig.queue, START_NS);
    uint64_t patience_ns = weir_min_u64(count * WEIR_ROUND_PATIENCE_NS, WEIR_ROUND_PATIENCE_MAX_NS);
    m->bound_ns = weir_max_u64(WEIR_ROUND_PERIOD_NS, 2 * patience_ns + patience_ns / 8) + 4 * WAKE_UP_NS;
}

static void model_fini(struct model *m)
{
    for (unsigned i = 0; i < BUSY_READERS; i++)
        free(m->cpus[i].times);
    rig_fini(&m->rig);
}

static void get_up_soon(struct model *m, struct model_cpu *cpu)
{
    if (cpu->up_ns == NEVER_NS)
        cpu->up_ns = m->fake.now_ns + 1 + chance(m, WAKE_UP_NS);
}

static void write_record(struct model *m, unsigned i)
{
    struct model_cpu *cpu = &m->cpus[i];
    cr_assert_lt(cpu->count, RECORDS_MAX);
    rig_put_sample(&m->rig, i, cpu->count, RECORD_BYTES);
    cpu->times[cpu->count++] = m->fake.now_ns;
    cpu->next_ns = m->fake.now_ns + until_next(m, cpu);
    if (raw_ring_head(&m->rig.raw, i) / WATERMARK > (raw_ring_head(&m->rig.raw, i) - RECORD_BYTES) / WATERMARK)
        get_up_soon(m, cpu);
}

/* What the writer does, at once. */
static void empty_queue(struct model *m)
{
    struct weir_chunk *chunk;
    while ((chunk = rig_pop(&m->rig)) != NULL) {
        if (chunk->kind == WEIR_CHUNK_ROUND)
            weir_chunk_advance(chunk, WEIR_CHUNK_IN_FLIGHT, WEIR_CHUNK_FREE);
        else
            rig_return(&m->rig, chunk);
    }
}

static void get_up(struct model *m, unsigned i)
{
    struct model_cpu *cpu = &m->cpus[i];
    struct weir_reader *reader = &m->rig.readers[i];
    cpu->up_ns = NEVER_NS;
    weir_reader_wait(reader, WEIR_READER_DRAINED); /* takes the wake, if there is one */
    cr_assert_eq(weir_reader_step(reader), WEIR_READER_DRAINED);
    cpu->handed = reader->handed_samples;
    empty_queue(m);
}

static void advance(struct model *m)
{
    if (chance(m, 50) == 0)
        weir_rounds_want(&m->rounds, chance(m, 2) == 0);
    m->advance_ns = weir_rounds_advance(&m->rounds, m->fake.now_ns);
    cr_assert_gt(m->advance_ns, m->fake.now_ns);
    for (unsigned i = 0; i < BUSY_READERS; i++) {
        if (m->rig.readers[i].wakes_sent != m->rig.readers[i].wakes_taken)
            get_up_soon(m, &m->cpus[i]);
    }
    empty_queue(m);
    cr_assert_eq(m->rig.readers[BUSY_READERS].wakes_sent, 0);
}

/* The next thing that happens. */
static void pass(struct model *m)
{
    uint64_t next_ns = m->advance_ns;
    for (unsigned i = 0; i < BUSY_READERS; i++)
        next_ns = weir_min_u64(next_ns, weir_min_u64(m->cpus[i].next_ns, m->cpus[i].up_ns));
    m->fake.now_ns = next_ns;
    for (unsigned i = 0; i < BUSY_READERS; i++) {
        if (m->cpus[i].next_ns == next_ns)
            write_record(m, i);
        if (m->cpus[i].up_ns == next_ns)
            get_up(m, i);
    }
    if (m->advance_ns == next_ns)
        advance(m);
}

static void expect_none_waits(struct model *m, uint64_t seed)
{
    for (unsigned i = 0; i < BUSY_READERS; i++) {
        const struct model_cpu *cpu = &m->cpus[i];
        if (cpu->handed == cpu->count)
            continue;
        uint64_t age_ns = m->fake.now_ns - cpu->times[cpu->handed];
        cr_assert_leq(age_ns, m->bound_ns, "seed %llu: a record of CPU %u waits for %llu ms, with %u readers",
                      (unsigned long long)seed, i, (unsigned long long)(age_ns / WEIR_NS_PER_MS),
                      m->rounds.reader_count);
    }
}

Test(round_patience, no_record_waits_for_longer_than_is_said)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct model m;
        model_init(&m, seed);
        for (unsigned n = 0; n < EVENTS; n++) {
            pass(&m);
            expect_none_waits(&m, seed);
        }
        model_fini(&m);
    }
}
