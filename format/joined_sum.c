#include "format/joined_sum.h"

#include <inttypes.h>

void weir_joined_append_text(const struct weir_joined_sum *sum, struct weir_buf *out)
{
    const struct {
        uint64_t samples;
        const char *why;
    } causes[] = {
        {sum->apart, "came too late or were lost"},
        {sum->unreadable, "could not be read by the kernel"},
        {sum->no_room, "had no room"},
    };
    weir_buf_printf(out, "%" PRIu64 " of %" PRIu64 " deferred call chains have their user part", sum->joined,
                    sum->samples);
    const char *between = "; of the others, ";
    for (unsigned i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
        if (causes[i].samples == 0)
            continue;
        weir_buf_printf(out, "%s%" PRIu64 " %s", between, causes[i].samples, causes[i].why);
        between = ", ";
    }
}

void weir_joined_append_json(const struct weir_joined_sum *sum, struct weir_buf *out)
{
    weir_buf_printf(out,
                    "{\"samples\":%" PRIu64 ",\"joined\":%" PRIu64 ",\"apart\":%" PRIu64 ",\"unreadable\":%" PRIu64
                    ",\"no_room\":%" PRIu64 ",\"records\":%" PRIu64 ",\"unused\":%" PRIu64 "}",
                    sum->samples, sum->joined, sum->apart, sum->unreadable, sum->no_room, sum->records, sum->unused);
}
