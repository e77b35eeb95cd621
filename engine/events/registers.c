/* Names of registers to bits and back. Any thread. The probes are those of arch__intr_reg_mask(),
 * tools/perf/arch/x86/util/perf_regs.c, and arch__user_reg_mask(), tools/perf/arch/arm64/util/perf_regs.c, Linux 6.1.
 */
#include "engine/events/registers.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/bits.h"

const struct weir_register_set *weir_registers_here(void)
{
#if defined(__x86_64__)
    return &weir_registers_x86_64;
#elif defined(__aarch64__)
    return &weir_registers_arm64;
#else
    static const struct weir_register_set none;
    return &none;
#endif
}

static const struct weir_register *find(const struct weir_register_set *set, uint64_t allowed, const char *text,
                                        size_t length)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct weir_register *candidate = &set->registers[i];
        if ((candidate->bits & allowed) == candidate->bits && strlen(candidate->name) == length &&
            strncasecmp(candidate->name, text, length) == 0)
            return candidate;
    }
    return NULL;
}

static int fail_unknown(const struct weir_register_set *set, uint64_t allowed, const char *text, size_t length,
                        struct weir_error *err)
{
    struct weir_buf names = WEIR_BUF_INIT;
    weir_registers_format(set, allowed, &names);
    weir_error_set(err, -EINVAL, "unknown register '%.*s'", (int)weir_min_u64(length, 32), text);
    weir_error_hint(err, "registers of this machine: %s", names.used ? weir_buf_str(&names) : "none");
    weir_buf_fini(&names);
    return -EINVAL;
}

int weir_registers_parse(const struct weir_register_set *set, uint64_t allowed, const char *text, uint64_t *bits,
                         struct weir_error *err)
{
    uint64_t parsed = 0;
    for (;;) {
        size_t length = strcspn(text, ",");
        const struct weir_register *found = find(set, allowed, text, length);
        if (!found)
            return fail_unknown(set, allowed, text, length, err);
        parsed |= found->bits;
        if (text[length] == '\0')
            break;
        text += length + 1;
    }
    *bits = parsed;
    return 0;
}

void weir_registers_format(const struct weir_register_set *set, uint64_t bits, struct weir_buf *text)
{
    const char *separator = "";
    for (size_t i = 0; i < set->count; i++) {
        if ((set->registers[i].bits & bits) != set->registers[i].bits)
            continue;
        weir_buf_printf(text, "%s%s", separator, set->registers[i].name);
        separator = " ";
    }
}

/* Returns bits when an event with this attr can be opened, else 0. */
static uint64_t probe(const struct weir_kernel *kernel, struct perf_event_attr *attr, uint64_t bits)
{
    if (!bits)
        return 0;
    int fd = kernel->ops->event_open(kernel->ctx, attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return 0;
    kernel->ops->event_close(kernel->ctx, fd);
    return bits;
}

uint64_t weir_registers_probe_extended(const struct weir_register_set *set, const struct weir_kernel *kernel)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_HARDWARE,
        .size = sizeof(attr),
        .config = PERF_COUNT_HW_CPU_CYCLES,
        .sample_type = PERF_SAMPLE_REGS_INTR,
        .sample_regs_intr = set->extended,
        .sample_period = 1,
        .precise_ip = 1,
        .disabled = 1,
        .exclude_kernel = 1,
    };
    return probe(kernel, &attr, set->extended);
}

uint64_t weir_registers_probe_user_extended(const struct weir_register_set *set, const struct weir_kernel *kernel)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_HARDWARE,
        .size = sizeof(attr),
        .config = PERF_COUNT_HW_CPU_CYCLES,
        .sample_type = PERF_SAMPLE_REGS_USER,
        .sample_regs_user = set->usual | set->user_extended,
        .sample_period = 1,
        .disabled = 1,
        .exclude_kernel = 1,
    };
    return probe(kernel, &attr, set->user_extended);
}
