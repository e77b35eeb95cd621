/* What the commands that size and drain rings have in common. Main thread. */
#include "cli/ring_options.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "topology/plan.h"

int weir_ring_size_resolve(const struct weir_ring_size *size, uint64_t max_bytes, uint64_t page_bytes,
                           const struct weir_notice_sink *notices, uint64_t *ring_bytes, struct weir_error *err)
{
    if (!size->given) {
        *ring_bytes = 0;
        return 0;
    }
    bool rounded;
    char text[WEIR_VALUE_SIZE_TEXT_BYTES];
    if (weir_value_resolve_ring_size(size, page_bytes, max_bytes, ring_bytes, &rounded) < 0) {
        weir_value_format_size(max_bytes, text);
        weir_error_set(err, -EINVAL, "option '--mmap-pages': a ring cannot be larger than %s", text);
        weir_error_hint(err, "a number without suffix counts pages of %" PRIu64 " bytes", page_bytes);
        return -EINVAL;
    }
    if (rounded) {
        weir_value_format_size(*ring_bytes, text);
        weir_notice(notices, WEIR_NOTICE_INFO, "rounding mmap pages size to %s (%" PRIu64 " pages)", text,
                    *ring_bytes / page_bytes);
    }
    return 0;
}

int weir_threads_spec_apply(const char **spec, const char *text, struct weir_error *err)
{
    const char *wanted = text ? text : WEIR_THREADS_SPEC_ABSENT;
    int result = weir_plan_check_spec(wanted, err);
    if (result == 0)
        *spec = wanted;
    return result;
}

int weir_shed_apply(enum weir_shed *shed, const char *text, struct weir_error *err)
{
    for (unsigned i = 0; i < WEIR_SHED_COUNT; i++) {
        if (strcmp(text, weir_shed_word((enum weir_shed)i)) == 0) {
            *shed = (enum weir_shed)i;
            return 0;
        }
    }
    weir_error_set(err, -EINVAL, "option '--shed': '%s' is not none, batches, stacks or cpus", text);
    weir_error_hint(err, "--shed=stacks cuts stack dumps while the disk is behind, so that fewer samples are lost");
    return -EINVAL;
}
