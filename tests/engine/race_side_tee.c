/*
 * A reader fills its tee while the sideband thread drains it: numbers come out ascending, and those that do not are as
 * many as were counted as missed. A plain program, so that it also runs under ThreadSanitizer.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "engine/drain/side_tee.h"
#include "tests/engine/parking.h"

#define NUMBERS   300000u
#define TEE_BYTES 1024u

static void *produce(void *argument)
{
    struct weir_side_tee *tee = argument;
    for (uint64_t n = 1; n <= NUMBERS; n++) {
        weir_side_tee_push(tee, &n, sizeof(n));
        if (n % 100 == 0)
            sched_yield(); /* lets the consumer follow now and then */
    }
    return NULL;
}

/* True when the numbers in out ascend from *last on. */
static bool check(const struct weir_buf *out, uint64_t *last, uint64_t *seen)
{
    for (size_t at = 0; at < out->used; at += sizeof(uint64_t)) {
        uint64_t n;
        memcpy(&n, out->data + at, sizeof(n));
        if (n <= *last || n > NUMBERS)
            return false;
        *last = n;
        (*seen)++;
    }
    return true;
}

static int race(void *ctx)
{
    (void)ctx;
    static struct weir_side_tee tee;
    struct weir_buf out = WEIR_BUF_INIT;
    pthread_t producer;
    if (weir_side_tee_init(&tee, TEE_BYTES) < 0 || pthread_create(&producer, NULL, produce, &tee) != 0)
        return 1;
    uint64_t last = 0, seen = 0;
    bool good = true;
    while (good && seen + weir_side_tee_missed(&tee) < NUMBERS) {
        weir_buf_reset(&out);
        weir_side_tee_drain(&tee, &out);
        good = check(&out, &last, &seen);
    }
    pthread_join(producer, NULL);
    if (!good || seen + weir_side_tee_missed(&tee) != NUMBERS) {
        fprintf(stderr, "saw %llu of %u, missed %llu, last %llu\n", (unsigned long long)seen, NUMBERS,
                (unsigned long long)weir_side_tee_missed(&tee), (unsigned long long)last);
        return 1;
    }
    weir_side_tee_fini(&tee);
    weir_buf_fini(&out);
    return 0;
}

int main(void)
{
    static const enum weir_test_point points[] = {WEIR_AT_TEE_PUSH, WEIR_AT_TEE_DRAIN};
    return parking_run(points, WEIR_ARRAY_COUNT(points), race, NULL) ? 1 : 0;
}
