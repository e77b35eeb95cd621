/* The status of a recording as weir top and weir status take it from a line of JSON. */
#include "cli/status_view.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/bits.h"

static int parse(struct weir_status_view *view, const char *line)
{
    return weir_status_view_parse(view, line, strlen(line));
}

static void needs_parser(void)
{
    if (!weir_status_view_is_built())
        cr_skip_test("built without jansson");
}

Test(status_view, what_is_no_object_is_refused, .init = needs_parser)
{
    static const char *const lines[] = {
        "", "{", "[]", "1", "null", "\"x\"", "{\"a\":1,\"a\":2}", "{}x", "{\"a\":\"\1\"}"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(lines); i++) {
        struct weir_status_view view;
        cr_expect_eq(parse(&view, lines[i]), -EPROTO, "'%s'", lines[i]);
        weir_status_view_fini(&view);
    }
}

Test(status_view, members_of_other_types_count_as_nothing, .init = needs_parser)
{
    struct weir_status_view view;
    cr_assert_eq(parse(&view, "{\"state\":\"en\\u001bab\",\"samples\":\"x\",\"bytes\":-5,\"lost\":3,\"pool\":[],"
                              "\"pressure\":\"overlong-word\",\"drains\":{\"elsewhere\":7},"
                              "\"places\":{\"kind\":4,\"id\":[1,\"x\"],\"samples\":{},\"lost\":[[]]}}"),
                 0);
    cr_expect_str_eq(view.state, "en");
    cr_expect_str_eq(view.pressure, "overlon");
    cr_expect_eq(view.samples + view.bytes + view.lost + view.pool_bytes + view.waits, 0);
    cr_expect_not(view.of_tasks);
    cr_assert_eq(view.place_count, 2);
    cr_expect_eq(view.places[0].id, 1);
    cr_expect_eq(view.places[1].id, 0);
    cr_expect_eq(view.places[1].samples + view.places[0].lost, 0);
    weir_status_view_fini(&view);
    weir_status_view_fini(&view);
    weir_status_view_fini(NULL);
}

Test(status_view, members_are_taken, .init = needs_parser)
{
    struct weir_status_view view;
    cr_assert_eq(parse(&view,
                       "{\"state\":\"enabled\",\"elapsed_ms\":1500,\"samples\":10,\"bytes\":560,"
                       "\"lost\":{\"ring_full\":3,\"of_these_waiting_for_output\":2},\"pressure\":\"some\","
                       "\"shed\":{\"samples\":4},\"output_error\":28,\"pool\":{\"bytes\":100,\"used_bytes\":25},"
                       "\"lease\":{\"seconds\":30,\"left_ms\":14},\"files\":2,\"snapshots\":1,\"drains\":{"
                       "\"elsewhere\":{\"gap_us\":{\"p99\":7},\"waits\":8,"
                       "\"wait_us\":{\"p99\":9}}},\"output\":{\"bytes\":11,\"chunks\":12,\"latency_us\":13},\"places\":"
                       "{\"kind\":\"task\",\"id\":[4,5],\"node\":[0,1],"
                       "\"package\":[2,3],\"fill_per_mille\":[500,-1],\"samples\":[6,4],\"lost\":[3,0]}}"),
                 0);
    cr_expect_str_eq(view.state, "enabled");
    cr_expect_eq(view.elapsed_ms, 1500);
    cr_expect(view.has_lease);
    cr_expect_eq(view.lease_left_ms, 14);
    cr_expect_eq(view.samples, 10);
    cr_expect_eq(view.lost, 3);
    cr_expect_eq(view.lost_waiting, 2);
    cr_expect_eq(view.shed, 4);
    cr_expect_eq(view.output_error, 28);
    cr_expect_eq(view.pool_used_bytes, 25);
    cr_expect_eq(view.gap_p99_us, 7);
    cr_expect_eq(view.waits, 8);
    cr_expect_eq(view.wait_p99_us, 9);
    cr_expect(view.has_output);
    cr_expect_eq(view.output_bytes, 11);
    cr_expect_eq(view.output_chunks, 12);
    cr_expect_eq(view.output_latency_us, 13);
    cr_expect(view.of_tasks);
    cr_assert_eq(view.place_count, 2);
    cr_expect_eq(view.places[0].fill_per_mille, 500);
    cr_expect_eq(view.places[1].fill_per_mille, -1);
    cr_expect_eq(view.places[1].node, 1);
    cr_expect_eq(view.places[1].package, 3);
    cr_expect_eq(view.places[0].lost, 3);
    weir_status_view_fini(&view);
}
