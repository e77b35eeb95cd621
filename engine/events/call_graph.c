/* The text of --call-graph. Pure; any thread. Source: parse_callchain_record(), tools/perf/util/callchain.c, Linux 6.1
 * and 6.19. */
#include "engine/events/call_graph.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

#define STACK_ALIGN_BYTES 8u
#define FRAMES_MAX        UINT16_MAX /* attr.sample_max_stack */

/* Digits, or 0x and hexadecimal ones, and nothing else. */
static bool parse_number(const char *text, uint64_t *number)
{
    bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const char *digits = hexadecimal ? text + 2 : text;
    if (hexadecimal ? !isxdigit((unsigned char)digits[0]) : !isdigit((unsigned char)digits[0]))
        return false;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(digits, &end, hexadecimal ? 16 : 10);
    if (*end != '\0' || errno != 0)
        return false;
    *number = value;
    return true;
}

static int parse_stack_bytes(const char *text, uint32_t *stack_bytes, struct weir_error *err)
{
    uint64_t bytes;
    if (!parse_number(text, &bytes) || bytes == 0 || bytes > WEIR_STACK_BYTES_MAX) {
        weir_error_set(err, -EINVAL, "incorrect stack dump size '%s'", text);
        weir_error_hint(err, "bytes of each copy of the user stack: 1 to %u, such as dwarf,%u", WEIR_STACK_BYTES_MAX,
                        WEIR_STACK_BYTES_DEFAULT);
        return -EINVAL;
    }
    *stack_bytes = (uint32_t)weir_align_up(bytes, STACK_ALIGN_BYTES);
    return 0;
}

static int parse_frames(const char *text, uint32_t *max_stack, struct weir_error *err)
{
    uint64_t frames;
    if (!parse_number(text, &frames) || frames == 0 || frames > FRAMES_MAX) {
        weir_error_set(err, -EINVAL, "incorrect number of frames '%s'", text);
        weir_error_hint(err, "frames of each call chain at most: 1 to %u, such as fp,64; or fp,defer", FRAMES_MAX);
        return -EINVAL;
    }
    *max_stack = (uint32_t)frames;
    return 0;
}

/* The word unwind, and what follows it. False: it is none. */
static bool parse_unwind(const char *text, struct weir_call_graph_request *request, int *result, struct weir_error *err)
{
    static const char word[] = "unwind", size[] = ",stack=";
    if (strncmp(text, word, strlen(word)) != 0)
        return false;
    const char *rest = text + strlen(word);
    request->unwinds = true;
    *result = 0;
    if (strncmp(rest, size, strlen(size)) == 0) {
        *result = parse_stack_bytes(rest + strlen(size), &request->stack_bytes, err);
    } else if (*rest) {
        *result = weir_error_set(err, -EINVAL, "'%s' does not follow 'dwarf,'", text);
        weir_error_hint(err, "dwarf,unwind, or with the bytes of each copy of the user stack: dwarf,unwind,stack=%u",
                        WEIR_STACK_BYTES_DEFAULT);
    }
    return true;
}

static bool is_mode(const char *text, size_t length, const char *name)
{
    return strlen(name) == length && memcmp(text, name, length) == 0;
}

int weir_call_graph_parse(const char *text, struct weir_call_graph_request *request, struct weir_error *err)
{
    size_t length = strcspn(text, ",");
    const char *size = text[length] == ',' ? text + length + 1 : NULL;
    struct weir_call_graph_request parsed = {0};
    int result = 0;
    if (is_mode(text, length, "fp")) {
        parsed.mode = WEIR_CALL_GRAPH_FP;
        parsed.defers = size && strcmp(size, "defer") == 0;
        if (size && !parsed.defers)
            result = parse_frames(size, &parsed.max_stack, err);
    } else if (is_mode(text, length, "dwarf")) {
        parsed.mode = WEIR_CALL_GRAPH_DWARF;
        parsed.stack_bytes = WEIR_STACK_BYTES_DEFAULT;
        if (size && !parse_unwind(size, &parsed, &result, err))
            result = parse_stack_bytes(size, &parsed.stack_bytes, err);
    } else if (is_mode(text, length, "lbr")) {
        parsed.mode = WEIR_CALL_GRAPH_LBR;
        if (size) {
            result = weir_error_set(err, -EINVAL, "'lbr' takes no size, '%s' was given", size);
            weir_error_hint(err, "the CPU decides how many branches it keeps");
        }
    } else {
        result = weir_error_set(err, -EINVAL, "unknown call graph mode '%.*s'", (int)weir_min_u64(length, 64), text);
        weir_error_hint(err, "fp, fp,defer, dwarf[,BYTES], dwarf,unwind or lbr");
    }
    if (result == 0)
        *request = parsed;
    return result;
}
