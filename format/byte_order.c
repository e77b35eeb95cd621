/* Walks over the numbers of records, attrs and features, and turns each. */
#include "format/byte_order.h"

#include <string.h>

#include "base/bits.h"
#include "format/bytes.h"
#include "format/feature_text.h"
#include "format/record_schema.h"

#define HEADER_BYTES    sizeof(struct perf_event_header)
#define IDENTITY_AT     40u /* of MMAP2: device and inode, or size and bytes of a build id */
#define IDENTITY_END    64u
#define PROGRAM_HEAD    2u /* u32 of struct bpf_prog_info that weir reads: type and id */
#define NAMED_DOMAINS   17u
#define READ_VALUES_AT  16u
#define THREAD_BYTES    24u
#define ERROR_FORMAT_AT 28u
#define ERROR_GUEST_AT  112u
#define COUNTERS_AT     24u
#define OF_CPU_U32      6u /* counters of SCHEDSTAT_CPU that are a u32; u64 follow */

enum cpu_map_type {
    CPU_MASK = 1,
    CPU_RANGE = 2
};

/* ---- numbers ---- */

/* Bytes that are turned from the first to the last. */
struct turner {
    uint8_t *at; /* borrowed */
    size_t left;
};

static void pass(struct turner *turner, uint64_t bytes)
{
    size_t passed = (size_t)weir_min_u64(bytes, turner->left);
    turner->at += passed;
    turner->left -= passed;
}

/* Turns the next number and returns it; what is not whole stays, ends the walk and is 0. */
static uint64_t turn_u64(struct turner *turner)
{
    uint64_t value = 0;
    if (turner->left >= sizeof(value)) {
        value = __builtin_bswap64(weir_load_u64(turner->at));
        memcpy(turner->at, &value, sizeof(value));
    }
    pass(turner, sizeof(value));
    return value;
}

static uint32_t turn_u32(struct turner *turner)
{
    uint32_t value = 0;
    if (turner->left >= sizeof(value)) {
        value = __builtin_bswap32(weir_load_u32(turner->at));
        memcpy(turner->at, &value, sizeof(value));
    }
    pass(turner, sizeof(value));
    return value;
}

static uint16_t turn_u16(struct turner *turner)
{
    uint16_t value = 0;
    if (turner->left >= sizeof(value)) {
        value = __builtin_bswap16(weir_load_u16(turner->at));
        memcpy(turner->at, &value, sizeof(value));
    }
    pass(turner, sizeof(value));
    return value;
}

static void turn_u64s(struct turner *turner, uint64_t count)
{
    for (uint64_t i = 0; i < count && turner->left > 0; i++)
        turn_u64(turner);
}

static void turn_u32s(struct turner *turner, uint64_t count)
{
    for (uint64_t i = 0; i < count && turner->left > 0; i++)
        turn_u32(turner);
}

static void turn_string(struct turner *turner)
{
    pass(turner, turn_u32(turner));
}

/* A walk over what is in bytes from `from` up to `to`; none where that is not inside. */
static struct turner turner_of(uint8_t *data, size_t from, size_t to)
{
    return (struct turner){.at = data + weir_min_u64(from, to), .left = to - weir_min_u64(from, to)};
}

void weir_byte_order_turn_words(void *data, size_t bytes)
{
    struct turner turner = turner_of(data, 0, bytes);
    turn_u64s(&turner, bytes / sizeof(uint64_t));
}

/*
 * Compilers give bit fields the lowest bits of a word first. With the other byte order they give the highest bits
 * first. value: the word, turned. widths: bits of the fields, in order; single bits follow a zero.
 */
static uint64_t mirror_fields(uint64_t value, const uint8_t *widths)
{
    const unsigned bits = 64;
    uint64_t mirrored = 0;
    for (unsigned at = 0, width; at < bits; at += width) {
        width = *widths ? *widths++ : 1;
        mirrored |= (value >> (bits - at - width) & ((1ull << width) - 1)) << at;
    }
    return mirrored;
}

/* ---- head ---- */

void weir_byte_order_turn_header(struct weir_perf_header *header)
{
    struct turner narrow = turner_of((uint8_t *)header->features, 0, sizeof(header->features));
    uint64_t recorded[WEIR_ARRAY_COUNT(header->features)];
    memcpy(recorded, header->features, sizeof(recorded));
    weir_byte_order_turn_words(header, sizeof(*header));
    if (header->features[0] >> WEIR_FEATURE_HOSTNAME & 1)
        return;
    memcpy(header->features, recorded, sizeof(recorded));
    turn_u32s(&narrow, narrow.left / sizeof(uint32_t));
    if (header->features[0] >> WEIR_FEATURE_HOSTNAME & 1)
        return;
    memcpy(header->features, recorded, sizeof(recorded));
    weir_byte_order_turn_words(header->features, sizeof(header->features));
}

/* A word of bit fields, 4 or 8 bytes. */
static void turn_flags(struct turner *turner, size_t bytes, const uint8_t *widths)
{
    uint8_t *at = turner->at;
    if (turner->left < bytes) {
        pass(turner, turner->left);
    } else if (bytes == sizeof(uint64_t)) {
        uint64_t flags = mirror_fields(turn_u64(turner), widths);
        memcpy(at, &flags, sizeof(flags));
    } else {
        uint32_t flags = (uint32_t)mirror_fields((uint64_t)turn_u32(turner) << 32, widths);
        memcpy(at, &flags, sizeof(flags));
    }
}

void weir_byte_order_turn_attr(uint8_t *attr, size_t bytes)
{
    static const uint8_t single[] = {0};
    /* disabled to watermark, then precise_ip; single bits follow */
    static const uint8_t flags[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 0};
    struct turner turner = turner_of(attr, 0, bytes);
    turn_u32s(&turner, 2); /* type, size */
    turn_u64s(&turner, 4); /* config, sample_period, sample_type, read_format */
    turn_flags(&turner, sizeof(uint64_t), flags);
    turn_u32s(&turner, 2); /* wakeup_events, bp_type */
    turn_u64s(&turner, 4); /* config1, config2, branch_sample_type, sample_regs_user */
    turn_u32s(&turner, 2); /* sample_stack_user, clockid */
    turn_u64(&turner);     /* sample_regs_intr */
    turn_u32(&turner);     /* aux_watermark */
    turn_u16(&turner);     /* sample_max_stack */
    pass(&turner, sizeof(uint16_t));
    turn_u32(&turner);                             /* aux_sample_size */
    turn_flags(&turner, sizeof(uint32_t), single); /* aux_action */
    turn_u64s(&turner, 3);                         /* sig_data, config3, config4 */
}

/* ---- features ---- */

/* By the layout of format/feature_text.h: %u, %U, %s, and {...} as often as the u32 before it says. Returns the place
 * behind the layout or its closing brace. */
static const char *turn_layout(struct turner *turner, const char *layout) // NOLINT(misc-no-recursion)
{
    for (; *layout && *layout != '}'; layout++) {
        if (*layout == '{') {
            uint32_t count = turn_u32(turner);
            const char *group = layout + 1;
            for (uint32_t i = 0; i < count && turner->left > 0; i++)
                turn_layout(turner, group);
            struct turner nothing = {.at = turner->at};
            layout = turn_layout(&nothing, group);
        } else if (*layout == '%') {
            layout++;
            if (*layout == 'u')
                turn_u32(turner);
            else if (*layout == 'U')
                turn_u64(turner);
            else
                turn_string(turner);
        }
    }
    return layout;
}

static void turn_build_ids(struct turner *turner)
{
    while (turner->left >= sizeof(struct weir_perf_build_id)) {
        struct turner entry = *turner;
        turn_u32(&entry); /* type */
        turn_u16(&entry); /* misc */
        uint16_t bytes = turn_u16(&entry);
        turn_u32(&entry); /* pid */
        if (bytes < HEADER_BYTES)
            return;
        pass(turner, bytes);
    }
}

static void turn_event_desc(struct turner *turner)
{
    uint32_t events = turn_u32(turner), attr_bytes = turn_u32(turner);
    for (uint32_t i = 0; i < events && turner->left > 0; i++) {
        weir_byte_order_turn_attr(turner->at, (size_t)weir_min_u64(attr_bytes, turner->left));
        pass(turner, attr_bytes);
        uint32_t ids = turn_u32(turner);
        turn_string(turner);
        turn_u64s(turner, ids);
    }
}

static void turn_bpf_programs(struct turner *turner)
{
    uint32_t programs = turn_u32(turner);
    for (uint32_t i = 0; i < programs && turner->left > 0; i++) {
        uint32_t info_bytes = turn_u32(turner), data_bytes = turn_u32(turner);
        turn_u64(turner); /* which arrays there are */
        struct turner info = turner_of(turner->at, 0, (size_t)weir_min_u64(info_bytes, turner->left));
        turn_u32s(&info, PROGRAM_HEAD);
        pass(turner, (uint64_t)info_bytes + data_bytes);
    }
}

static void turn_domains(struct turner *turner)
{
    uint32_t version = turn_u32(turner);
    turn_u32(turner); /* levels */
    while (turner->left > 0) {
        turn_u32(turner); /* CPU */
        uint32_t domains = turn_u32(turner);
        for (uint32_t i = 0; i < domains && turner->left > 0; i++)
            turn_layout(turner, version >= NAMED_DOMAINS ? "%u %s %s %s" : "%u %s %s");
    }
}

void weir_byte_order_turn_feature(unsigned bit, uint8_t *payload, size_t bytes)
{
    struct turner turner = turner_of(payload, 0, bytes);
    switch (bit) {
    case WEIR_FEATURE_TRACING_DATA:
        break;
    case WEIR_FEATURE_BUILD_ID:
        turn_build_ids(&turner);
        break;
    case WEIR_FEATURE_EVENT_DESC:
        turn_event_desc(&turner);
        break;
    case WEIR_FEATURE_CPU_TOPOLOGY: /* lists of texts, then core and package of each CPU; nothing reads what follows */
        turn_layout(&turner, "{%s}{%s}");
        turn_u32s(&turner, turner.left / sizeof(uint32_t));
        break;
    case WEIR_FEATURE_AUXTRACE:
    case WEIR_FEATURE_MEM_TOPOLOGY:
        turn_u64s(&turner, bytes / sizeof(uint64_t));
        break;
    case WEIR_FEATURE_BPF_PROG_INFO:
        turn_bpf_programs(&turner);
        break;
    case WEIR_FEATURE_BPF_BTF:
        turn_layout(&turner, "{%u%s}");
        break;
    case WEIR_FEATURE_CPU_DOMAIN_INFO:
        turn_domains(&turner);
        break;
    default:
        turn_layout(&turner, weir_feature_layout(bit));
        break;
    }
}

/* ---- samples ---- */

static void turn_read(struct turner *turner, uint64_t read_format)
{
    uint64_t times =
        !!(read_format & PERF_FORMAT_TOTAL_TIME_ENABLED) + !!(read_format & PERF_FORMAT_TOTAL_TIME_RUNNING);
    uint64_t members = read_format & PERF_FORMAT_GROUP ? weir_min_u64(turn_u64(turner), turner->left) : 1;
    turn_u64s(turner, times + members * weir_read_words(read_format));
}

static void turn_branches(struct turner *turner, uint64_t branch_sample_type)
{
    /* mispred, predicted, in_tx, abort, cycles, type, spec, new_type, priv, reserved of struct perf_branch_entry */
    static const uint8_t flags[] = {1, 1, 1, 1, 16, 4, 2, 4, 3, 31};
    uint64_t count = weir_min_u64(turn_u64(turner), turner->left);
    if (branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
        turn_u64(turner);
    for (uint64_t i = 0; i < count; i++) {
        turn_u64s(turner, 2); /* from, to */
        turn_flags(turner, sizeof(uint64_t), flags);
    }
    if (branch_sample_type & PERF_SAMPLE_BRANCH_COUNTERS)
        turn_u64s(turner, count);
}

static void turn_regs(struct turner *turner, uint64_t mask)
{
    if (turn_u64(turner) != PERF_SAMPLE_REGS_ABI_NONE)
        turn_u64s(turner, (uint64_t)__builtin_popcountll(mask));
}

/* A stack is words to who unwinds it. */
static void turn_stack(struct turner *turner)
{
    uint64_t room = turn_u64(turner);
    if (room == 0)
        return;
    turn_u64s(turner, room / sizeof(uint64_t));
    pass(turner, room % sizeof(uint64_t));
    turn_u64(turner); /* used */
}

static void turn_varying(struct turner *turner, const struct weir_sample_layout *layout, uint64_t bit)
{
    switch (bit) {
    case PERF_SAMPLE_READ:
        turn_read(turner, layout->read_format);
        break;
    case PERF_SAMPLE_CALLCHAIN:
        turn_u64s(turner, turn_u64(turner));
        break;
    case PERF_SAMPLE_RAW:
        turn_string(turner);
        break;
    case PERF_SAMPLE_BRANCH_STACK:
        turn_branches(turner, layout->branch_sample_type);
        break;
    case PERF_SAMPLE_REGS_USER:
        turn_regs(turner, layout->regs_user);
        break;
    case PERF_SAMPLE_REGS_INTR:
        turn_regs(turner, layout->regs_intr);
        break;
    case PERF_SAMPLE_STACK_USER:
        turn_stack(turner);
        break;
    case PERF_SAMPLE_AUX:
        pass(turner, turn_u64(turner));
        break;
    default:
        turn_u64(turner);
        break;
    }
}

/* Words at offsets from `from` up to `to` of data; tid and cpu: those that are two u32; done: the one that is turned.
 */
static void turn_fixed(uint8_t *data, int from, int to, int tid, int cpu, int done)
{
    for (int at = from; at < to; at += (int)sizeof(uint64_t)) {
        struct turner word = turner_of(data, (size_t)at, (size_t)at + sizeof(uint64_t));
        if (at == tid || at == cpu)
            turn_u32s(&word, 2);
        else if (at != done)
            turn_u64(&word);
    }
}

/* The id first, which says whose layout the sample has. */
static void turn_sample(struct weir_input_events *events, uint8_t *record, size_t bytes)
{
    const struct weir_sample_layout *layout = events->count > 0 ? &events->list[0].layout : NULL;
    const struct weir_record_view view = {.data = record, .type = PERF_RECORD_SAMPLE, .bytes = (uint16_t)bytes};
    if (!layout)
        return;
    int id = layout->identifier != WEIR_LAYOUT_ABSENT ? layout->identifier : layout->id;
    if (id != WEIR_LAYOUT_ABSENT && (size_t)id + sizeof(uint64_t) <= bytes)
        turn_fixed(record, id, id + (int)sizeof(uint64_t), WEIR_LAYOUT_ABSENT, WEIR_LAYOUT_ABSENT, WEIR_LAYOUT_ABSENT);
    const struct weir_input_event *event = weir_input_event_of(events, &view);
    if (!event || event->layout.variable > bytes)
        return;
    layout = &event->layout;
    turn_fixed(record, (int)HEADER_BYTES, (int)layout->variable, layout->tid, layout->cpu, id);
    struct turner turner = turner_of(record, layout->variable, bytes);
    for (size_t i = 0; weir_sample_varying(i); i++) {
        if (layout->sample_type & weir_sample_varying(i))
            turn_varying(&turner, layout, weir_sample_varying(i));
    }
}

/* Turns the trailer, and returns the offset at which it begins. */
static size_t turn_trailer(const struct weir_input_events *events, uint8_t *record, size_t bytes)
{
    const struct weir_sample_layout *layout = events->count > 0 ? &events->list[0].layout : NULL;
    if (!layout || bytes < HEADER_BYTES + layout->trailer_bytes)
        return bytes;
    size_t at = bytes - layout->trailer_bytes;
    turn_fixed(record + at, 0, (int)layout->trailer_bytes, layout->trailer_tid, layout->trailer_cpu,
               WEIR_LAYOUT_ABSENT);
    return at;
}

/* ---- other records ---- */

static void turn_field(uint8_t *record, size_t bytes, const struct weir_field *field)
{
    struct turner turner = turner_of(record, field->offset, bytes);
    switch (field->kind) {
    case WEIR_FIELD_U16:
        turn_u16(&turner);
        break;
    case WEIR_FIELD_U32:
    case WEIR_FIELD_S32:
        turn_u32(&turner);
        break;
    case WEIR_FIELD_U64:
    case WEIR_FIELD_S64:
    case WEIR_FIELD_ADDRESS:
        turn_u64(&turner);
        break;
    case WEIR_FIELD_TEXT:
        break;
    }
}

static void turn_attr_record(uint8_t *record, size_t bytes)
{
    struct turner turner = turner_of(record, HEADER_BYTES, bytes), said = turner;
    uint8_t *attr = turner.at;
    pass(&said, sizeof(uint32_t));
    uint8_t *at = said.at;
    uint32_t size = said.left >= sizeof(size) ? __builtin_bswap32(weir_load_u32(at)) : 0;
    size_t attr_bytes = (size_t)weir_min_u64(size ? size : PERF_ATTR_SIZE_VER0, turner.left);
    weir_byte_order_turn_attr(attr, attr_bytes);
    pass(&turner, attr_bytes);
    turn_u64s(&turner, turner.left / sizeof(uint64_t));
}

/* The bytes behind the type of a CPU map: a list of u16, a mask of u32 or u64 words, or a range
 * (format/cpu_map_text.h).
 */
static void turn_cpus(struct turner *turner, uint16_t type)
{
    if (type == CPU_RANGE)
        pass(turner, sizeof(uint16_t)); /* a u8 and one that fills up */
    uint16_t count = type == CPU_RANGE ? 2 : turn_u16(turner);
    uint16_t word_bytes = type == CPU_MASK ? turn_u16(turner) : sizeof(uint16_t);
    if (word_bytes == sizeof(uint64_t))
        pass(turner, sizeof(uint16_t)); /* fills up to 8 */
    for (unsigned i = 0; i < count && turner->left > 0; i++) {
        if (type != CPU_MASK)
            turn_u16(turner);
        else if (word_bytes == sizeof(uint64_t))
            turn_u64(turner);
        else
            turn_u32(turner);
    }
}

/* The bytes behind the type and the id of an EVENT_UPDATE. */
static void turn_update(struct turner *turner, uint64_t type)
{
    if (type == WEIR_EVENT_UPDATE_SCALE)
        turn_u64(turner); /* a double */
    else if (type == WEIR_EVENT_UPDATE_CPUS)
        turn_cpus(turner, turn_u16(turner));
}

static void turn_threads(struct turner *turner)
{
    for (; turner->left > 0; pass(turner, THREAD_BYTES - sizeof(uint64_t)))
        turn_u64(turner); /* the id; its name follows */
}

static void turn_counters(uint8_t *record, uint32_t type, size_t end)
{
    struct turner turner = turner_of(record, COUNTERS_AT, end);
    turn_u32s(&turner, type == WEIR_RECORD_SCHEDSTAT_CPU ? OF_CPU_U32 : UINT64_MAX);
    turn_u64s(&turner, UINT64_MAX);
}

static void turn_error(uint8_t *record, size_t end)
{
    struct turner format = turner_of(record, ERROR_FORMAT_AT, end), guest = turner_of(record, ERROR_GUEST_AT, end);
    turn_u32(&format);
    turn_u32s(&guest, 2);
}

/* Device and inode; a build id has no order. */
static void turn_identity(uint8_t *record, uint16_t misc)
{
    struct turner turner = turner_of(record, IDENTITY_AT, IDENTITY_END);
    if (misc & PERF_RECORD_MISC_MMAP_BUILD_ID)
        return;
    turn_u32s(&turner, 2); /* major, minor */
    turn_u64s(&turner, 2); /* inode, its generation */
}

/* What the schema does not have of a record that is as long as it says, up to `end`. */
static void turn_rest(uint8_t *record, uint32_t type, uint16_t misc, size_t end)
{
    const struct weir_record_schema *schema = weir_record_schema(type);
    struct turner rest = turner_of(record, schema->least_bytes, end);
    switch (type) {
    case PERF_RECORD_MMAP2:
        turn_identity(record, misc);
        break;
    case PERF_RECORD_READ:
        rest = turner_of(record, READ_VALUES_AT, end);
        turn_u64s(&rest, UINT64_MAX);
        break;
    case PERF_RECORD_NAMESPACES:
    case WEIR_RECORD_CALLCHAIN_DEFERRED:
    case WEIR_RECORD_ID_INDEX:
    case WEIR_RECORD_AUXTRACE_INFO:
    case WEIR_RECORD_STAT_CONFIG:
        turn_u64s(&rest, UINT64_MAX);
        break;
    case WEIR_RECORD_TIME_CONV:
        turn_u64s(&rest, 2); /* cycles, mask */
        break;
    case WEIR_RECORD_AUXTRACE_ERROR:
        turn_error(record, end);
        break;
    case WEIR_RECORD_THREAD_MAP:
        turn_threads(&rest);
        break;
    case WEIR_RECORD_CPU_MAP:
        turn_cpus(&rest, weir_load_u16(record + HEADER_BYTES));
        break;
    case WEIR_RECORD_EVENT_UPDATE:
        turn_update(&rest, weir_load_u64(record + HEADER_BYTES));
        break;
    case WEIR_RECORD_SCHEDSTAT_CPU:
    case WEIR_RECORD_SCHEDSTAT_DOMAIN:
        turn_counters(record, type, end);
        break;
    default:
        break;
    }
}

void weir_byte_order_turn_record(struct weir_input_events *events, uint8_t *record, size_t bytes)
{
    struct turner turner = turner_of(record, 0, bytes);
    uint32_t type = turn_u32(&turner);
    uint16_t misc = turn_u16(&turner);
    turn_u16(&turner); /* size */
    const struct weir_record_schema *schema = weir_record_schema(type);
    if (type == PERF_RECORD_SAMPLE)
        turn_sample(events, record, bytes);
    else if (type == WEIR_RECORD_ATTR)
        turn_attr_record(record, bytes);
    if (!schema || type == PERF_RECORD_SAMPLE || type == WEIR_RECORD_ATTR)
        return;
    size_t end = type < WEIR_RECORD_ATTR ? turn_trailer(events, record, bytes) : bytes;
    for (const struct weir_field *field = schema->fields; field && field->name; field++)
        turn_field(record, end, field);
    if (end < schema->least_bytes)
        return;
    turn_rest(record, type, misc, end);
    if (type == WEIR_RECORD_FEATURE)
        weir_byte_order_turn_feature((unsigned)weir_min_u64(weir_load_u64(record + HEADER_BYTES), UINT32_MAX),
                                     record + schema->least_bytes, end - schema->least_bytes);
}
