/* The text of --call-graph: what perf 6.1 was seen to make of each. */
#include "engine/events/call_graph.h"

#include <criterion/criterion.h>
#include <errno.h>

#include "base/bits.h"

static struct weir_call_graph_request request;
static struct weir_error err;

static int parse(const char *text)
{
    request = (struct weir_call_graph_request){.mode = WEIR_CALL_GRAPH_LBR, .stack_bytes = 77, .max_stack = 78};
    err = (struct weir_error){0};
    return weir_call_graph_parse(text, &request, &err);
}

Test(call_graph, what_is_no_mode_is_refused_and_nothing_is_set)
{
    static const struct {
        const char *text, *what;
    } refused[] = {
        {"", "unknown call graph mode ''"},
        {"foo", "unknown call graph mode 'foo'"},
        {"DWARF", "unknown call graph mode 'DWARF'"},
        {"dwarfs", "unknown call graph mode 'dwarfs'"},
        {"caller", "unknown call graph mode 'caller'"},
        {"dwarf,", "incorrect stack dump size ''"},
        {"dwarf,0", "incorrect stack dump size '0'"},
        {"dwarf,x", "incorrect stack dump size 'x'"},
        {"dwarf,-8", "incorrect stack dump size '-8'"},
        {"dwarf,8k", "incorrect stack dump size '8k'"},
        {"dwarf,0x", "incorrect stack dump size '0x'"},
        {"dwarf,8,8", "incorrect stack dump size '8,8'"},
        {"dwarf,65529", "incorrect stack dump size '65529'"},
        {"dwarf,18446744073709551616", "incorrect stack dump size '18446744073709551616'"},
        {"dwarf,unwinds", "'unwinds' does not follow 'dwarf,'"},
        {"dwarf,unwind,8192", "'unwind,8192' does not follow 'dwarf,'"},
        {"dwarf,unwind,", "'unwind,' does not follow 'dwarf,'"},
        {"dwarf,unwind,stack=", "incorrect stack dump size ''"},
        {"dwarf,unwind,stack=65529", "incorrect stack dump size '65529'"},
        {"dwarf,8192,unwind", "incorrect stack dump size '8192,unwind'"},
        {"dwarf,defer", "incorrect stack dump size 'defer'"},
        {"fp,Defer", "incorrect number of frames 'Defer'"},
        {"fp,defer,8", "incorrect number of frames 'defer,8'"},
        {"lbr,defer", "'lbr' takes no size, 'defer' was given"},
        {"fp,", "incorrect number of frames ''"},
        {"fp,0", "incorrect number of frames '0'"},
        {"fp,65536", "incorrect number of frames '65536'"},
        {"lbr,3", "'lbr' takes no size, '3' was given"},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(refused); i++) {
        cr_expect_eq(parse(refused[i].text), -EINVAL, "%s", refused[i].text);
        cr_expect_str_eq(err.what, refused[i].what);
        cr_expect_neq(err.hint[0], '\0', "%s", refused[i].text);
        cr_expect(request.mode == WEIR_CALL_GRAPH_LBR && request.stack_bytes == 77 && request.max_stack == 78);
    }
}

Test(call_graph, modes_and_sizes_are_perfs)
{
    static const struct {
        const char *text;
        struct weir_call_graph_request want;
    } texts[] = {
        {"fp", {.mode = WEIR_CALL_GRAPH_FP}},
        {"fp,defer", {.mode = WEIR_CALL_GRAPH_FP, .defers = true}},
        {"fp,8", {.mode = WEIR_CALL_GRAPH_FP, .max_stack = 8}},
        {"fp,65535", {.mode = WEIR_CALL_GRAPH_FP, .max_stack = 65535}},
        {"lbr", {.mode = WEIR_CALL_GRAPH_LBR}},
        {"dwarf", {.mode = WEIR_CALL_GRAPH_DWARF, .stack_bytes = 8192}},
        {"dwarf,4", {.mode = WEIR_CALL_GRAPH_DWARF, .stack_bytes = 8}},
        {"dwarf,1000", {.mode = WEIR_CALL_GRAPH_DWARF, .stack_bytes = 1000}},
        {"dwarf,1001", {.mode = WEIR_CALL_GRAPH_DWARF, .stack_bytes = 1008}},
        {"dwarf,0x1000", {.mode = WEIR_CALL_GRAPH_DWARF, .stack_bytes = 4096}},
        {"dwarf,unwind", {.mode = WEIR_CALL_GRAPH_DWARF, .stack_bytes = 8192, .unwinds = true}},
        {"dwarf,unwind,stack=0x1001", {.mode = WEIR_CALL_GRAPH_DWARF, .stack_bytes = 4104, .unwinds = true}},
        {"dwarf,65528", {.mode = WEIR_CALL_GRAPH_DWARF, .stack_bytes = 65528}},
    };
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(texts); i++) {
        cr_expect_eq(parse(texts[i].text), 0, "%s: %s", texts[i].text, err.what);
        cr_expect_eq(request.mode, texts[i].want.mode, "%s", texts[i].text);
        cr_expect_eq(request.stack_bytes, texts[i].want.stack_bytes, "%s", texts[i].text);
        cr_expect_eq(request.max_stack, texts[i].want.max_stack, "%s", texts[i].text);
        cr_expect_eq(request.unwinds, texts[i].want.unwinds, "%s", texts[i].text);
    }
}
