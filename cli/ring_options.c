/* The common part of the commands that size and drain rings. Main thread. */
#include "cli/ring_options.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/size_text.h"
#include "topology/plan.h"

/* In bytes, 0 when it was not given; max_bytes: a power of two. */
static int resolve_size(const struct weir_ring_size *size, uint64_t max_bytes, uint64_t page_bytes,
                        const struct weir_notice_sink *notices, uint64_t *ring_bytes, struct weir_error *err)
{
    if (!size->given) {
        *ring_bytes = 0;
        return 0;
    }
    bool rounded;
    char text[WEIR_SIZE_TEXT_BYTES];
    if (weir_value_resolve_ring_size(size, page_bytes, max_bytes, ring_bytes, &rounded) < 0) {
        weir_size_format(max_bytes, text);
        weir_error_set(err, -EINVAL, "option '--mmap-pages': a ring cannot be larger than %s", text);
        weir_error_hint(err, "a number without suffix counts pages of %" PRIu64 " bytes", page_bytes);
        return -EINVAL;
    }
    if (rounded) {
        weir_size_format(*ring_bytes, text);
        weir_notice(notices, WEIR_NOTICE_INFO, "rounding mmap pages size to %s (%" PRIu64 " pages)", text,
                    *ring_bytes / page_bytes);
    }
    return 0;
}

int weir_ring_sizes_resolve(const struct weir_ring_size_pair *sizes, uint64_t page_bytes,
                            const struct weir_notice_sink *notices, struct weir_record_options *options,
                            struct weir_error *err)
{
    int result = resolve_size(&sizes->data, WEIR_RING_BYTES_MAX, page_bytes, notices, &options->memory.ring_bytes, err);
    if (result == 0)
        result = resolve_size(&sizes->aux, WEIR_AUX_RING_BYTES_MAX, page_bytes, notices, &options->aux.area_bytes, err);
    return result;
}

static int apply_threads(void *object, const char *text, struct weir_error *err)
{
    struct weir_ring_arguments *arguments = object;
    const char *spec = text ? text : WEIR_THREADS_SPEC_ABSENT;
    int result = weir_plan_check_spec(spec, err);
    if (result == 0)
        arguments->options.readers.threads_spec = spec;
    return result;
}

static int apply_shed(void *object, const char *text, struct weir_error *err)
{
    struct weir_ring_arguments *arguments = object;
    for (unsigned i = 0; i < WEIR_SHED_COUNT; i++) {
        if (strcmp(text, weir_shed_word((enum weir_shed)i)) == 0) {
            arguments->options.memory.shed = (enum weir_shed)i;
            return 0;
        }
    }
    weir_error_set(err, -EINVAL, "option '--shed': '%s' is not batches, stacks or cpus", text);
    weir_error_hint(err, "--shed=stacks cuts stack dumps while the disk is behind, so that fewer samples are lost");
    return -EINVAL;
}

#define FIELD(name, type) WEIR_OPTION_FIELD(struct weir_ring_arguments, name, type)

static const struct weir_option options[] = {
    {
        WEIR_OPTION_VALUE_OF('m', "mmap-pages", "PAGES|SIZE[,AUX]", WEIR_OPTION_RING_PAIR,
                             FIELD(ring_sizes, struct weir_ring_size_pair)),
        .default_text = "chosen from memory and privileges; 512K for bench drain",
        .help = "size of each kernel ring: a number of pages, or a size with B, K, M or G",
        .details = "Rounded up to a power of two pages. Without CAP_IPC_LOCK the kernel allows "
                   "kernel.perf_event_mlock_kb per CPU and user, beyond RLIMIT_MEMLOCK. AUX is the size of the AUX "
                   "area beside each ring of intel_pt, intel_bts, arm_spe_N and cs_etm: 4M by default, 128K where the "
                   "kernel limits the memory of rings.",
    },
    {
        WEIR_OPTION_VALUE_OF(0, "buffer-size", "SIZE", WEIR_OPTION_SIZE, FIELD(options.memory.buffer_bytes, uint64_t)),
        .min = WEIR_BUFFER_BYTES_MIN,
        .max = WEIR_BUFFER_BYTES_MAX,
        .default_text = "chosen from memory and CPU count",
        .help = "memory for records that are drained and not yet written, in all",
        .details = "The size bounds the longest stall of the disk without loss.",
    },
    {
        WEIR_OPTION_CUSTOM_OF(0, "shed", "batches|stacks|cpus", apply_shed),
        .default_text = "batches",
        .help = "what may be dropped when the disk is too slow; each choice includes those before it",
        .details = "batches, when half of the buffers is in use: rounds are further apart, which changes no record. "
                   "stacks, at three quarters: dumps of user stacks (--call-graph dwarf) are cut to a quarter, from "
                   "the outer end. cpus, at seven eighths: samples of the CPUs that hold most of the buffers are "
                   "dropped once their rings are half full; LOST_SAMPLES records, the ledger and the closing line "
                   "report them, and --max-loss counts them. Side records are never shed, nor are samples that -M or "
                   "--overwrite keep in memory.",
    },
    {
        WEIR_OPTION_CUSTOM_OF(0, "threads", "SPEC", apply_threads),
        .argument_optional = true,
        .default_text = "cpu",
        .help = "which threads drain the rings: one per cpu, core, package or numa node, or masks "
                "CPUS/AFFINITY[:CPUS/AFFINITY...]",
    },
};

const struct weir_option_rows weir_ring_option_rows = WEIR_OPTION_ROWS_OF(WEIR_RING_OPTIONS_SECTION, options);
