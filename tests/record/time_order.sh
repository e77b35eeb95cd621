# shellcheck shell=bash
# One file from parallel readers is in the order of time, for a reader that delivers round by round.

needs_perf_events

test_storm_on_two_cpus_of_more_than_100_mb() {
    needs_second_cpu
    local calls=450000
    record -C 0,1 -e raw_syscalls:sys_enter -c 1 -m 64M -o it.data -- sh -c "
        taskset -c 0 '$WEIR_LOAD' getppid $calls & taskset -c 1 '$WEIR_LOAD' getppid $calls & wait"
    expect_eq "lost" "$(ledger_column lost_in_ring)" 0
    expect_at_least "MB of file" $(($(stat -c %s it.data) / 1000000)) 100
    # One per 32 MiB and 1 MiB for each of two readers, and the last.
    expect_at_least "rounds" "$(report_records it.data FINISHED_ROUND)" 2
    expect_time_order it.data
    expect_eq "getppid calls" "$(getppid_calls it.data)" $((2 * calls))
}

test_a_round_each_second_when_little_comes() {
    # After one and two seconds (each counts from the end of the round before), and the last.
    record -a -e cpu-clock -F 2000 -o it.data -- sh -c "'$WEIR_LOAD' spin 0 &
        until [ \$('$WEIR_PROGRAM' dump --type finished_round --json it.data 2>dump.err | wc -l) -ge 2 ]; do
            sleep 0.1
        done
        kill \$!"
    expect_at_least "rounds" "$(report_records it.data FINISHED_ROUND)" 3
    expect_time_order it.data
    expect_readers_agree it.data
}
