#include "format/unwound_sum.h"

#include <inttypes.h>

#define OUTERMOST 0u

static const struct {
    const char *name, *text;
} ends[WEIR_UNWOUND_ENDS] = {
    {"outermost", "reach the outermost frame"},
    {"stack_cut", "end where the copied stack ends"},
    {"no_mapping", "end at an address that nothing known was mapped to"},
    {"no_table", "end in a file that is missing, has changed, or has no unwind tables"},
    {"no_rule", "end in code without unwind tables and frame pointers"},
    {"limit", "have more frames than the limit"},
    {"loop", "end at a frame that calls itself"},
    {"no_regs", "are of a program of 32 bits, or have no registers"},
};

const char *weir_unwound_end_text(unsigned end)
{
    return ends[end].text;
}

void weir_unwound_append_text(const struct weir_unwound_sum *sum, struct weir_buf *out)
{
    weir_buf_printf(out, "%" PRIu64 " stacks to %" PRIu64 " frames", sum->unwound, sum->frames);
    const char *between = "; ";
    for (unsigned i = OUTERMOST + 1; i < WEIR_UNWOUND_ENDS; i++) {
        if (sum->ends[i] > 0)
            weir_buf_printf(out, "%s%" PRIu64 " %s", between, sum->ends[i], ends[i].text);
        between = sum->ends[i] > 0 ? ", " : between;
    }
    if (sum->hurried > 0)
        weir_buf_printf(out, "; %" PRIu64 " have their innermost frames only, because weir was behind", sum->hurried);
    if (sum->clipped > 0)
        weir_buf_printf(out, "; %" PRIu64 " had no room for all frames", sum->clipped);
    if (sum->malformed > 0)
        weir_buf_printf(out, "; %" PRIu64 " malformed samples stay as they are", sum->malformed);
}

void weir_unwound_append_json(const struct weir_unwound_sum *sum, struct weir_buf *out)
{
    weir_buf_printf(
        out,
        "{\"samples\":%" PRIu64 ",\"unwound\":%" PRIu64 ",\"frames\":%" PRIu64 ",\"clipped\":%" PRIu64
        ",\"hurried\":%" PRIu64 ",\"waits\":%" PRIu64 ",\"late\":%" PRIu64 ",\"malformed\":%" PRIu64 ",\"ends\":{",
        sum->samples, sum->unwound, sum->frames, sum->clipped, sum->hurried, sum->waits, sum->late, sum->malformed);
    for (unsigned i = 0; i < WEIR_UNWOUND_ENDS; i++)
        weir_buf_printf(out, "%s\"%s\":%" PRIu64, i > 0 ? "," : "", ends[i].name, sum->ends[i]);
    weir_buf_printf(out, "}}");
}
