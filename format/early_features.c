/* The copy of the features in the head: encoding and checksum. Any thread. Source of the checksum: RFC 9923 (FNV). */
#include "format/early_features.h"

#include <string.h>

#include "base/bits.h"

#define FNV_OFFSET_BASIS 0xcbf29ce484222325ull
#define FNV_PRIME        0x100000001b3ull
#define PLACE_ALIGN      8u

static uint64_t checksum_of(const uint8_t *data, size_t bytes)
{
    uint64_t hash = FNV_OFFSET_BASIS;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ data[i]) * FNV_PRIME;
    return hash;
}

int weir_early_features_append(struct weir_buf *out, uint64_t offset, const struct weir_features_input *input)
{
    struct weir_early_header header = {.magic = WEIR_EARLY_MAGIC};
    struct weir_buf sections = WEIR_BUF_INIT;
    int result = weir_features_build(&sections, offset + sizeof(header), input, header.features);
    if (result == 0) {
        header.bytes = sections.used;
        header.checksum = checksum_of(sections.data, sections.used);
        weir_buf_append(out, &header, sizeof(header));
        weir_buf_append(out, sections.data, sections.used);
        result = weir_buf_error(out);
    }
    weir_buf_fini(&sections);
    return result;
}

int weir_early_features_append_table(struct weir_buf *out, const void *written, uint64_t features[4])
{
    struct weir_early_header header;
    memcpy(&header, written, sizeof(header));
    memcpy(features, header.features, sizeof(header.features));
    weir_buf_append(out, (const uint8_t *)written + sizeof(header),
                    weir_features_count(features) * sizeof(struct weir_perf_section));
    return weir_buf_error(out);
}

uint64_t weir_early_features_offset(uint64_t attrs_end)
{
    return weir_align_up(attrs_end, PLACE_ALIGN);
}

bool weir_early_header_is_sane(const struct weir_early_header *header, uint64_t room)
{
    return header->magic == WEIR_EARLY_MAGIC && room >= sizeof(*header) && header->bytes <= room - sizeof(*header);
}

bool weir_early_features_are_whole(const struct weir_early_header *header, const uint8_t *data)
{
    return checksum_of(data, header->bytes) == header->checksum;
}
