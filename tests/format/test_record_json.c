/* What records say as JSON beyond their plain fields, each made by hand as its structure in the headers is. */
#include <criterion/criterion.h>
#include <linux/perf_event.h>
#include <string.h>

#include "format/perf_file.h"
#include "format/record_schema.h"
#include "format/record_text.h"

#define OFFSET 256u

static struct weir_buf record, json;
static struct weir_input_event event;
static struct weir_perf_input input;
static struct weir_record_text text;

static void init(void)
{
    record = json = (struct weir_buf)WEIR_BUF_INIT;
    input.events.list = &event;
    input.events.count = 1;
    text.input = &input;
}

static void fini(void)
{
    weir_buf_fini(&record);
    weir_buf_fini(&json);
}

TestSuite(record_json, .init = init, .fini = fini);

static void begin(uint32_t type, uint16_t misc)
{
    const struct perf_event_header header = {.type = type, .misc = misc};
    weir_buf_reset(&record);
    weir_buf_append(&record, &header, sizeof(header));
}

static void add_u64(uint64_t value)
{
    weir_buf_append_u64(&record, value);
}

static void add_u32s(uint32_t first, uint32_t second)
{
    weir_buf_append_u32(&record, first);
    weir_buf_append_u32(&record, second);
}

static void add_text(const char *name, size_t bytes)
{
    size_t length = strlen(name);
    weir_buf_append(&record, name, length);
    weir_buf_append_zeros(&record, bytes - length);
}

/* members: behind those that all have. */
static void expect(const char *members)
{
    struct perf_event_header header;
    memcpy(&header, record.data, sizeof(header));
    const struct weir_record_view view = {
        .data = record.data,
        .type = header.type,
        .misc = header.misc,
        .bytes = (uint16_t)record.used,
        .offset = OFFSET,
    };
    weir_buf_reset(&json);
    weir_record_json_append(&text, &view, &json);
    const char *found = strstr(weir_buf_str(&json), ",\"misc\":");
    cr_assert_not_null(found);
    found = strchr(found + 1, ',');
    cr_expect_str_eq(found ? found : "", members);
}

/* The names of an object's own members, each with its quotes and a colon, behind one another. */
static void list_names(const char *object, struct weir_buf *names)
{
    unsigned depth = 0;
    for (const char *at = object; *at; at++) {
        depth += *at == '{' || *at == '[';
        depth -= *at == '}' || *at == ']';
        if (*at != '"')
            continue;
        const char *end = strchr(at + 1, '"'); /* nothing in a record of zeros is escaped */
        cr_assert_not_null(end);
        if (depth == 1 && end[1] == ':')
            weir_buf_append(names, at, (size_t)(end + 2 - at));
        at = end;
    }
}

Test(record_json, no_record_has_two_members_of_one_name)
{
    static const uint8_t zeros[1024];
    struct weir_buf names = WEIR_BUF_INIT;
    static char any[] = "any";
    event.name = any;
    event.attr.sample_type = ((uint64_t)PERF_SAMPLE_MAX - 1) & ~(uint64_t)PERF_SAMPLE_WEIGHT; /* is WEIGHT_STRUCT */
    weir_sample_layout_init(&event.layout, &event.attr);
    for (uint32_t type = 0; type < WEIR_RECORD_TYPES; type++) {
        begin(type, 0);
        weir_buf_append(&record, zeros, sizeof(zeros));
        const struct weir_record_view view = {.data = record.data, .type = type, .bytes = (uint16_t)record.used};
        weir_buf_reset(&json);
        weir_buf_reset(&names);
        weir_record_json_append(&text, &view, &json);
        list_names(weir_buf_str(&json), &names);
        for (const char *name = weir_buf_str(&names), *end; *name; name = end) {
            end = strchr(name, ':') + 1;
            char wanted[64] = "";
            strncat(wanted, name, (size_t)(end - name));
            cr_expect_null(strstr(end, wanted), "type %u: %s", type, weir_buf_str(&json));
        }
    }
    weir_buf_fini(&names);
}

Test(record_json, mapped_file_is_one_of_a_device_or_has_a_build_id)
{
    begin(PERF_RECORD_MMAP2, 0);
    add_u32s(12, 13);
    add_u64(0x1000);
    add_u64(0x2000);
    add_u64(0);
    add_u32s(8, 1);
    add_u64(99);
    add_u64(7);
    add_u32s(5, 2);
    add_text("/a", 8);
    expect(",\"pid\":12,\"tid\":13,\"start\":\"0x1000\",\"length\":\"0x2000\",\"page_offset\":\"0\",\"protection\":5,"
           "\"flags\":2,\"filename\":\"/a\",\"maj\":8,\"min\":1,\"ino\":99,\"ino_generation\":7}");
    record.data[7 - 2] = 0x40; /* misc */
    record.data[40] = 3;       /* of the id, which begins at 44 */
    record.data[44] = 0xab, record.data[45] = 0xcd, record.data[46] = 0x0e;
    expect(",\"pid\":12,\"tid\":13,\"start\":\"0x1000\",\"length\":\"0x2000\",\"page_offset\":\"0\",\"protection\":5,"
           "\"flags\":2,\"filename\":\"/a\",\"build_id\":\"abcd0e\"}");
}

Test(record_json, bits_of_misc_have_names)
{
    begin(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
    add_u32s(1, 1);
    add_text("sh", 8);
    expect(",\"pid\":1,\"tid\":1,\"comm\":\"sh\",\"exec\":true}");
    begin(PERF_RECORD_SWITCH, 0);
    expect("");
    begin(PERF_RECORD_SWITCH_CPU_WIDE, PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
    add_u32s(5, 6);
    expect(",\"next_prev_pid\":5,\"next_prev_tid\":6,\"out\":true,\"preempt\":true}");
}

Test(record_json, counts_are_those_of_the_read_format)
{
    begin(PERF_RECORD_READ, 0);
    add_u32s(5, 6);
    for (uint64_t value = 1; value < 5; value++)
        add_u64(value);
    event.attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_ID | PERF_FORMAT_LOST;
    expect(",\"pid\":5,\"tid\":6,\"value\":1,\"time_enabled\":2,\"id\":3,\"lost\":4}");
    event.attr.read_format = 0;
    expect(",\"pid\":5,\"tid\":6,\"value\":1}");
}

/* Linux takes GROUP together with inherit from 6.12 on, for events whose samples say the task. */
Test(record_json, counts_of_a_group_are_those_of_its_members)
{
    event.attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID | PERF_FORMAT_LOST;
    begin(PERF_RECORD_READ, 0);
    add_u32s(5, 6);
    for (uint64_t value = 2; value < 10; value++)
        add_u64(value);
    expect(",\"pid\":5,\"tid\":6,\"nr\":2,\"time_running\":3,\"values\":[{\"value\":4,\"id\":5,\"lost\":6},"
           "{\"value\":7,\"id\":8,\"lost\":9}]}");
    record.used -= sizeof(uint64_t);
    expect(",\"pid\":5,\"tid\":6,\"nr\":2,\"time_running\":3,\"values\":[{\"value\":4,\"id\":5,\"lost\":6}]}");
    event.attr.read_format = 0;
}

Test(record_json, lists_have_the_entries_that_are_there)
{
    begin(PERF_RECORD_NAMESPACES, 0);
    add_u32s(5, 6);
    add_u64(99);
    add_u64(4);
    add_u64(4026531840);
    add_u64(4);
    add_u64(4026531838);
    expect(",\"pid\":5,\"tid\":6,\"nr\":99,\"namespaces\":[{\"name\":\"net\",\"dev\":4,\"inode\":4026531840},"
           "{\"name\":\"uts\",\"dev\":4,\"inode\":4026531838}]}");
    begin(WEIR_RECORD_CALLCHAIN_DEFERRED, 0);
    add_u64(0x77);
    add_u64(1);
    add_u64(0x401000);
    expect(",\"cookie\":\"0x77\",\"nr\":1,\"ips\":[\"0x401000\"]}");
    begin(WEIR_RECORD_ID_INDEX, 0);
    add_u64(1);
    add_u64(70);
    add_u64(0);
    add_u64(3);
    add_u64(UINT64_MAX);
    expect(",\"nr\":1,\"entries\":[{\"id\":70,\"idx\":0,\"cpu\":3,\"tid\":-1}]}");
    begin(WEIR_RECORD_THREAD_MAP, 0);
    add_u64(1);
    add_u64(4242);
    add_text("a\"b", 16);
    expect(",\"nr\":1,\"threads\":[{\"pid\":4242,\"comm\":\"a\\\"b\"}]}");
    begin(WEIR_RECORD_STAT_CONFIG, 0);
    add_u64(0);
    expect(",\"nr\":0,\"data\":[]}");
    begin(WEIR_RECORD_STAT_CONFIG, 0);
    add_u64(2);
    add_u64(1);
    add_u64(100);
    add_u64(2);
    add_u64(1);
    expect(",\"nr\":2,\"data\":[{\"tag\":1,\"val\":100},{\"tag\":2,\"val\":1}]}");
}

Test(record_json, bytes_are_hexadecimal)
{
    begin(PERF_RECORD_BPF_EVENT, 0);
    weir_buf_append_u32(&record, 1);
    weir_buf_append_u32(&record, 44);
    add_u64(0x0807060504030201);
    expect(",\"bpf_type\":1,\"flags\":0,\"prog_id\":44,\"tag\":\"0102030405060708\"}");
    begin(PERF_RECORD_TEXT_POKE, 0);
    add_u64(0xffffffff81000000);
    weir_buf_append_u32(&record, 2 | 1 << 16);
    weir_buf_append_u32(&record, 0x00ccbbaa);
    expect(",\"addr\":\"0xffffffff81000000\",\"old_len\":2,\"new_len\":1,\"old_bytes\":\"aabb\",\"new_bytes\":\"cc\"}");
    record.used -= 4;
    expect(",\"addr\":\"0xffffffff81000000\",\"old_len\":2,\"new_len\":1}");
    begin(WEIR_RECORD_BUILD_ID, 1 << 15);
    weir_buf_append_u32(&record, UINT32_MAX);
    for (int i = 0; i < 5; i++)
        weir_buf_append_u32(&record, 0x01020304);
    weir_buf_append_u32(&record, 4);
    add_text("/bin/sh", 8);
    expect(",\"pid\":-1,\"filename\":\"/bin/sh\",\"build_id\":\"04030201\"}");
}

Test(record_json, update_of_an_event_is_of_its_kind)
{
    const double scale = 0.25, none = 0.0 / 0.0;
    begin(WEIR_RECORD_EVENT_UPDATE, 0);
    add_u64(WEIR_EVENT_UPDATE_NAME);
    add_u64(70);
    add_text("cycles", 8);
    expect(",\"update_type\":2,\"id\":70,\"name\":\"cycles\"}");
    begin(WEIR_RECORD_EVENT_UPDATE, 0);
    add_u64(WEIR_EVENT_UPDATE_UNIT);
    add_u64(70);
    add_text("J", 8);
    expect(",\"update_type\":0,\"id\":70,\"unit\":\"J\"}");
    begin(WEIR_RECORD_EVENT_UPDATE, 0);
    add_u64(WEIR_EVENT_UPDATE_SCALE);
    add_u64(70);
    weir_buf_append(&record, &scale, sizeof(scale));
    expect(",\"update_type\":1,\"id\":70,\"scale\":0.25}");
    record.used -= sizeof(scale);
    weir_buf_append(&record, &none, sizeof(none));
    expect(",\"update_type\":1,\"id\":70}");
    begin(WEIR_RECORD_EVENT_UPDATE, 0);
    add_u64(WEIR_EVENT_UPDATE_CPUS);
    add_u64(70);
    add_u32s(2 << 16, 1 << 16 | 0xffff); /* a list of two: any, and 1 */
    expect(",\"update_type\":3,\"id\":70,\"cpus\":\"-1,1\"}");
}

Test(record_json, conversion_of_time_has_what_its_kernel_knows)
{
    begin(WEIR_RECORD_TIME_CONV, 0);
    for (uint64_t value = 1; value < 4; value++)
        add_u64(value);
    expect(",\"time_shift\":1,\"time_mult\":2,\"time_zero\":3}");
    add_u64(4);
    add_u64(0xff);
    add_u64(1);
    expect(",\"time_shift\":1,\"time_mult\":2,\"time_zero\":3,\"time_cycles\":4,\"time_mask\":\"0xff\","
           "\"cap_user_time_zero\":1,\"cap_user_time_short\":0}");
}

Test(record_json, sample_names_its_registers_branches_and_weights)
{
    event.name = (char *)(uintptr_t) "cycles";
    event.attr.sample_type = PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_WEIGHT_STRUCT;
    event.attr.sample_regs_user = 1 << 0 | 1 << 8 | 1ull << 60;
    weir_sample_layout_init(&event.layout, &event.attr);
    text.names.is_x86 = true;
    begin(PERF_RECORD_SAMPLE, 0);
    add_u64(1);
    add_u64(0x401000);
    add_u64(0x402000);
    add_u64(1);
    add_u64(PERF_SAMPLE_REGS_ABI_64);
    add_u64(7);
    add_u64(0x401000);
    add_u64(9);
    add_u64(3ull << 48 | 2ull << 32 | 100);
    expect(",\"event\":\"cycles\",\"branches\":[{\"from\":\"0x401000\",\"to\":\"0x402000\",\"flags\":\"0x1\"}],"
           "\"user_regs\":{\"AX\":\"0x7\",\"IP\":\"0x401000\",\"reg60\":\"0x9\"},\"weight\":100,\"var2_w\":2,"
           "\"var3_w\":3}");
}
