# shellcheck shell=bash
# Groups: counted together, and as exactly as single events.

needs_perf_events

calls=1000
group='{raw_syscalls:sys_enter,raw_syscalls:sys_exit}'

# entries FILE: sys_enter samples of the load's getppid calls; readers show a sample of a :S group for each member.
entries() {
    perf_bare script -i "$1" --comm "$WEIR_LOAD_NAME" -F event,trace 2>perf.err |
        grep -c "sys_enter: *NR $("$WEIR_LOAD" number getppid) "
}

test_members_of_a_group_are_recorded_with_their_leader() {
    local target
    for target in "" -a --per-thread; do
        record $target -e "$group" -c 1 -o it.data -- "$WEIR_LOAD" getppid $calls
        expect_eq "calls" "$(entries it.data)" $calls
        expect_eq "written and counted entries" "$(written_and_lost raw_syscalls:sys_enter)" \
            "$(produced raw_syscalls:sys_enter)"
        expect_eq "written and counted exits" "$(written_and_lost raw_syscalls:sys_exit)" \
            "$(produced raw_syscalls:sys_exit)"
        expect_readers_agree it.data
    done
}

# As by perf, whose own message is that of "per-thread mode".
test_sampled_member_alone_of_a_task_is_refused() {
    record -a -e '{cpu-clock,cs:S}' -o it.data -- true
    weir_record -i -e '{cpu-clock,cs:S}' -o it.data -- true
    expect_eq "status with -i" "$status" 0
    perf record -e '{cpu-clock,cs:S}' -o perf.data -- true 2>perf.err && skip "needs a kernel that refuses it"
    weir_record -e '{cpu-clock,cs:S}' -o it.data -- touch ran
    expect_eq "status" "$status" 125
    expect_line err ": Invalid argument"
    expect_line err "hint: child tasks cannot inherit an event that :S reads before Linux 6.13: give :S to the whole"
    if [ -e ran ]; then fail "the workload ran"; fi
}

# What belongs to the leader's samples, its members need as well, though they have none. perf's fail.
test_members_of_a_sampled_group_take_its_stacks_and_registers() {
    record -I -e '{faults/period=1,call-graph=dwarf/,dummy}:S' -o it.data -- true
    expect_at_least "samples" "$(told_samples)" 1
    expect_whole it.data
}

# :S: the leader samples, and reads the others; these have counts of their own, and nothing lost.
test_sampled_group_has_the_counts_of_its_members() {
    record -a -e "$group:S" -c 1 -o it.data -- "$WEIR_LOAD" getppid $calls
    expect_eq "calls" "$(entries it.data)" $calls
    expect_at_least "counted exits" "$(ledger_column counted raw_syscalls:sys_exit)" $calls
    expect_eq "lost" "$(ledger_column lost_in_ring)" 0
    perf script -i it.data 2>perf.err >/dev/null || fail "perf script failed: $(cat perf.err)"
    expect_no_warnings
}

# tasks FILE: how many have samples.
tasks() { perf_bare script -i "$1" -F tid 2>perf.err | sort -u | wc -l; }

# Child tasks sample a group that is read when --inherit says so (Linux 6.13).
test_sampled_group_is_inherited_on_request() {
    # shellcheck disable=SC2016 # for the inner shell
    local load=(sh -c '"$0" getppid 3000 & "$0" getppid 2000; wait' "$WEIR_LOAD")
    record -e "$group:S" -c 10 -o it.data -- "${load[@]}"
    expect_eq "tasks without --inherit" "$(tasks it.data)" 1
    weir_record --inherit -e "$group:S" -c 10 -o it.data -- "${load[@]}"
    if [ "$status" != 0 ]; then
        expect_line err "before Linux 6.13"
        skip "needs Linux 6.13"
    fi
    expect_at_least "tasks with --inherit" "$(tasks it.data)" 3
    expect_whole it.data
}
