/*
 * -p lists (engine/events/targets.h). Input: the text.
 *
 * A list is taken exactly when it is one by a second reading; written out from its numbers it reads the same; on
 * failure the outputs are untouched.
 */
#include "engine/events/targets.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/buf.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input.h"

/* Reads one word of digits between commas. 0: it is no process id. */
static pid_t read_pid(const char *word, size_t length)
{
    if (length == 0 || strspn(word, "0123456789") < length)
        return 0;
    unsigned long number = strtoul(word, NULL, 10); /* too large a number becomes ULONG_MAX */
    return number <= INT_MAX ? (pid_t)number : 0;
}

/* How many process ids text has, each compared with pids when that is not NULL; 0: it is no list. */
static size_t read_pids(const char *text, const pid_t *pids)
{
    for (size_t count = 0;; text++) {
        size_t length = strcspn(text, ",");
        pid_t pid = read_pid(text, length);
        if (pid == 0)
            return 0;
        weir_assert(!pids || pids[count] == pid);
        count++;
        text += length;
        if (*text == '\0')
            return count;
    }
}

static void check_round_trip(const pid_t *pids, size_t count)
{
    struct weir_buf text = WEIR_BUF_INIT;
    for (size_t i = 0; i < count; i++)
        weir_buf_printf(&text, "%s%d", i > 0 ? "," : "", (int)pids[i]);
    pid_t *again;
    size_t again_count;
    weir_assert(weir_targets_parse_pids(weir_buf_str(&text), &again, &again_count, NULL) == 0);
    weir_assert(again_count == count && memcmp(again, pids, count * sizeof(*pids)) == 0);
    free(again);
    weir_buf_fini(&text);
}

static void run(void *fixture, const uint8_t *data, size_t bytes)
{
    (void)fixture;
    char *text = fuzz_text(data, bytes);
    pid_t untouched = 0, *pids = &untouched;
    size_t count = 4711;
    struct weir_error err = {0};
    int result = weir_targets_parse_pids(text, &pids, &count, &err);
    if (read_pids(text, NULL) > 0) {
        weir_assert(result == 0 && read_pids(text, pids) == count);
        check_round_trip(pids, count);
        free(pids);
    } else {
        weir_assert(result == -EINVAL && pids == &untouched && count == 4711);
        fuzz_check_error(&err, result);
    }
    free(text);
}

const struct fuzz_target fuzz_target = {.run = run};
