/* The files of the readers: how much memory they take. What they hold is tested on the real kernel. */
#include "engine/session/record_parts.h"

#include <criterion/criterion.h>

#define STAGES 4u

Test(record_parts, staging_memory_is_bounded_for_hundreds_of_readers)
{
    cr_assert_eq(weir_record_parts_stage_bytes(0), 256u * 1024);
    cr_assert_eq(weir_record_parts_stage_bytes(8), 256u * 1024);
    cr_assert_eq(weir_record_parts_stage_bytes(9), 128u * 1024);
    cr_assert_eq(weir_record_parts_stage_bytes(96), 16u * 1024);
    cr_assert_eq(weir_record_parts_stage_bytes(1024), 16u * 1024);
    for (unsigned readers = 1; readers <= 128; readers++)
        cr_assert_leq(readers * STAGES * weir_record_parts_stage_bytes(readers), 8u << 20);
}
