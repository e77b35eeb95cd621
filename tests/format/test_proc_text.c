/* /proc text taken apart: what is not whole is refused, what the kernel can print is read exactly. */
#include "format/proc_text.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bits.h"

#define STAT_REST "901 902 903 -1 4194560 905 906 907 908 909 910 911 912 20 -5 7 0 913 4096000 914 915\n"

Test(proc_text, stat_that_is_not_whole_is_refused)
{
    static const char whole[] = "12 (cat) S 3 " STAT_REST;
    struct weir_proc_stat stat;
    cr_assert(weir_proc_stat_parse(whole, &stat));

    /* Cut anywhere up to the start of vsize, it is refused. */
    size_t needed = (size_t)(strstr(whole, "4096000") - whole);
    for (size_t bytes = 0; bytes <= needed; bytes++) {
        char cut[sizeof(whole)];
        memcpy(cut, whole, bytes);
        cut[bytes] = '\0';
        cr_expect_not(weir_proc_stat_parse(cut, &stat), "%zu bytes", bytes);
    }
}

Test(proc_text, stat_with_numbers_that_no_task_has_is_refused)
{
    struct weir_proc_stat stat;
    cr_expect_not(weir_proc_stat_parse("12 (cat) S 2147483648 " STAT_REST, &stat));
    cr_expect_not(weir_proc_stat_parse("12 (cat) S -1 " STAT_REST, &stat));
    cr_expect_not(weir_proc_stat_parse("12 (cat) S 99999999999999999999999 " STAT_REST, &stat));
    cr_expect_not(weir_proc_stat_parse("12 )cat( S 3 " STAT_REST, &stat));
    cr_expect_not(weir_proc_stat_parse("12 (cat)S 3 " STAT_REST, &stat));
}

Test(proc_text, stat_fields_are_read)
{
    struct weir_proc_stat stat;
    cr_assert(weir_proc_stat_parse("12 (cat) S 3 " STAT_REST, &stat));
    cr_expect_str_eq(stat.comm, "cat");
    cr_expect_eq(stat.ppid, 3);
    cr_expect_eq(stat.threads, 7);
    cr_expect_eq(stat.start_ticks, 913);
    cr_expect_eq(stat.vm_bytes, 4096000);
}

Test(proc_text, stat_name_may_hold_anything)
{
    static const char *const names[] = {"", " ", "a b", "(", ")", ") S 1 (", "))) ", "a\nb", "\\n", "\xff\x01"};
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(names); i++) {
        char line[256];
        struct weir_proc_stat stat;
        snprintf(line, sizeof(line), "12 (%s) S 3 %s", names[i], STAT_REST);
        cr_assert(weir_proc_stat_parse(line, &stat), "%s", names[i]);
        cr_expect_str_eq(stat.comm, names[i]);
        cr_expect_eq(stat.ppid, 3);
    }
}

Test(proc_text, name_longer_than_a_comm_is_cut_at_15_bytes)
{
    struct weir_proc_stat stat;
    cr_assert(weir_proc_stat_parse("12 (kworker/0:0H-events_highpri) I 2 " STAT_REST, &stat));
    cr_expect_str_eq(stat.comm, "kworker/0:0H-ev");

    char comm[WEIR_PROC_COMM_BYTES];
    weir_proc_comm_copy(comm, "kworker/0:0H-events_highpri\n", 28);
    cr_expect_str_eq(comm, "kworker/0:0H-ev");
}

Test(proc_text, comm_loses_its_last_newline_only)
{
    char comm[WEIR_PROC_COMM_BYTES];
    weir_proc_comm_copy(comm, "", 0);
    cr_expect_str_eq(comm, "");
    weir_proc_comm_copy(comm, "\n", 1);
    cr_expect_str_eq(comm, "");
    weir_proc_comm_copy(comm, "a\nb\n", 4);
    cr_expect_str_eq(comm, "a\nb");
    weir_proc_comm_copy(comm, "a\n\n", 3);
    cr_expect_str_eq(comm, "a\n");
    weir_proc_comm_copy(comm, "a", 1);
    cr_expect_str_eq(comm, "a");
}

Test(proc_text, status_without_a_thread_group_gives_none)
{
    cr_expect_eq(weir_proc_status_tgid(""), -1);
    cr_expect_eq(weir_proc_status_tgid("Name:\tTgid:\t7\nPid:\t8\n"), -1);
    cr_expect_eq(weir_proc_status_tgid("Name:\tx\nTgid:\t\n"), -1);
    cr_expect_eq(weir_proc_status_tgid("Name:\tx\nTgid:\t4294967297\n"), -1);
    cr_expect_eq(weir_proc_status_tgid("Name:\tx\nUmask:\t0022\nTgid:\t77\nNgid:\t0\nPid:\t78\n"), 77);
}

Test(proc_text, malformed_map_is_refused)
{
    static const char *const lines[] = {
        "",
        "00400000",
        "00400000-",
        "00400000 0040c000 r-xp 00000000 fd:01 41038 /bin/cat",
        "-0040c000 r-xp 00000000 fd:01 41038 /bin/cat",
        "00400000-0040c000",
        "00400000-0040c000 r-x",
        "00400000-0040c000 r-x- 00000000 fd:01 41038 /bin/cat",
        "00400000-0040c000 rwx 00000000 fd:01 41038 /bin/cat",
        "00400000-0040c000 q-xp 00000000 fd:01 41038 /bin/cat",
        "00400000-0040c000 r-xp fd:01 41038 /bin/cat",
        "00400000-0040c000 r-xp 00000000 fd01 41038 /bin/cat",
        "00400000-0040c000 r-xp 00000000 fd: 41038 /bin/cat",
        "00400000-0040c000 r-xp 00000000 100000000:01 41038 /bin/cat",
        "00400000-0040c000 r-xp 00000000 fd:01 ",
        "00400000-0040c000 r-xp 00000000 fd:01 x /bin/cat",
        "00400000-0040c000 r-xp 00000000 fd:01 41038/bin/cat",
        "00400000-0040c000 r-xp 00000000 fd:01 18446744073709551616 /bin/cat",
        "10000000000400000-10000000000500000 r-xp 00000000 fd:01 41038 /bin/cat",
        "0040c000-0040c000 r-xp 00000000 fd:01 41038 /bin/cat",
        "0040c000-00400000 r-xp 00000000 fd:01 41038 /bin/cat",
    };
    struct weir_proc_map map;
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(lines); i++)
        cr_expect_not(weir_proc_map_parse(lines[i], &map), "%s", lines[i]);
}

Test(proc_text, map_fields_are_read)
{
    struct weir_proc_map map;
    cr_assert(weir_proc_map_parse("00400000-0040c000 r-xp 00001000 fd:1b 41038                     /bin/cat", &map));
    cr_expect_eq(map.start, 0x400000);
    cr_expect_eq(map.end, 0x40c000);
    cr_expect_eq(map.protection, PROT_READ | PROT_EXEC);
    cr_expect_eq(map.flags, MAP_PRIVATE);
    cr_expect_eq(map.page_offset, 0x1000);
    cr_expect_eq(map.major, 0xfd);
    cr_expect_eq(map.minor, 0x1b);
    cr_expect_eq(map.inode, 41038);
    cr_expect_str_eq(map.name, "/bin/cat");
}

Test(proc_text, map_at_the_limits_of_64_bits_is_read)
{
    struct weir_proc_map map;
    cr_assert(weir_proc_map_parse(
        "ffffffffff600000-ffffffffffffffff --xs fffffffffffff000 fffff:ffffffff 18446744073709551615 x", &map));
    cr_expect_eq(map.start, 0xffffffffff600000);
    cr_expect_eq(map.end, UINT64_MAX);
    cr_expect_eq(map.protection, PROT_EXEC);
    cr_expect_eq(map.flags, MAP_SHARED);
    cr_expect_eq(map.page_offset, 0xfffffffffffff000);
    cr_expect_eq(map.major, 0xfffff);
    cr_expect_eq(map.minor, UINT32_MAX);
    cr_expect_eq(map.inode, UINT64_MAX);
}

Test(proc_text, map_name_is_the_rest_of_the_line)
{
    struct weir_proc_map map;
    cr_assert(weir_proc_map_parse("1000-2000 rw-p 00000000 00:00 0", &map));
    cr_expect_str_eq(map.name, "");
    cr_assert(weir_proc_map_parse("1000-2000 rw-p 00000000 00:00 0 ", &map));
    cr_expect_str_eq(map.name, "");
    cr_assert(weir_proc_map_parse("1000-2000 rw-p 00000000 00:00 0   /a b (x)\\012y  (deleted)", &map));
    cr_expect_str_eq(map.name, "/a b (x)\\012y  (deleted)");
}
