# shellcheck shell=bash
# What the kernel had no room for is counted, told and in the file; and it is samples, not the names and maps of tasks.

needs_perf_events

# Ledger, closing line and file agree on the samples lost of the one event.
expect_losses_told() {
    local event=$1 lost
    lost=$(ledger_column lost_in_ring "$event")
    expect_at_least "lost" "$lost" 1000
    expect_line err "[ weir record: Lost $lost of $(($(told_samples) + lost)) samples ("
    grep -q -F -e "; kernel ring full; to prevent it: -m 4M (now 64K)" -e "; to prevent it: let weir run" err ||
        fail "no remedy" # the second when the load kept weir stopped for a second or longer
    expect_eq "lost by perf report" "$(perf_bare report --stats -i it.data 2>/dev/null | awk -v event="$event" '
        $1 == event && $2 == "stats:" { inside = 1 }
        inside && $1 == "LOST_SAMPLES" { print $3; exit }')" "$lost"
}

test_each_call_is_written_or_lost() {
    record -e raw_syscalls:sys_enter -c 1 -m 64K -o it.data -- sh -c "$(while_stopped getppid 50000)"
    expect_losses_told raw_syscalls:sys_enter
    expect_eq "written and lost" "$(written_and_lost)" "$(produced)"
    expect_at_least "counted by the kernel" "$(ledger_column counted)" 50000
    expect_readers_agree it.data
}

test_losses_are_told_by_event() {
    record -e raw_syscalls:sys_enter,raw_syscalls:sys_exit -c 1 -m 64K -o it.data -- \
        sh -c "$(while_stopped getppid 50000)"
    local event
    for event in raw_syscalls:sys_enter raw_syscalls:sys_exit; do
        expect_eq "written and lost of $event" "$(written_and_lost $event)" "$(produced $event)"
        expect_eq "samples of $event" "$(report_samples it.data $event)" "$(ledger_column written $event)"
    done
    expect_readers_agree it.data
}

# The load runs while weir is stopped, for longer than between two ticks of its timer.
test_rings_that_fill_while_weir_is_stopped_are_told_as_that() {
    record -e raw_syscalls:sys_enter -c 1 -m 64K -o it.data -- \
        sh -c "kill -STOP \$PPID; '$WEIR_LOAD' getppid 20000; sleep 2; kill -CONT \$PPID; '$WEIR_LOAD' getppid 20000"
    expect_line err "to prevent it: let weir run (it was stopped, or had no CPU time, for "
    expect_no_line err "-m 4M"
}

# -m bounds the rings of samples, not those of side records.
test_names_and_maps_outlive_lost_samples() {
    record -e raw_syscalls:sys_enter -c 1 -m 4K -o it.data -- \
        sh -c "$(while_stopped getppid 50000); $(while_stopped forks 20 1)"
    expect_at_least "lost" "$(ledger_column lost_in_ring raw_syscalls:sys_enter)" 50000
    expect_eq "lost side records" "$(ledger_column lost_in_ring dummy:u)" 0
    perf script -i it.data --show-task-events 2>/dev/null >records
    expect_eq "names" "$(grep -c 'PERF_RECORD_COMM exec: record_load' records)" 22
    expect_eq "tasks without a name" "$(grep -c '^ *:[0-9].* raw_syscalls' records || true)" 0
}

test_nothing_is_said_when_nothing_is_lost() {
    record -e raw_syscalls:sys_enter -c 1 -o it.data -- "$WEIR_LOAD" getppid 1000
    expect_no_line err "Lost"
    expect_eq "loss records" "$(report_records it.data LOST)$(report_records it.data LOST_SAMPLES)" ""
}

# Linux 6.18 counts them for the task that sleeps, and makes no sample of an event that is not active.
test_wakeups_of_tasks_that_sleep_are_counted_and_not_lost() {
    record -e sched:sched_waking -c 1 -o it.data -- sh -c 'for i in 1 2 3 4 5; do sleep 0.01 | cat; done'
    expect_no_line err "Lost"
    expect_whole_and_balanced it.data
}

test_nanoseconds_are_no_samples_that_were_lost() {
    needs_second_cpu
    taskset -c 0 "$WEIR_PROGRAM" record -v -e sched:sched_stat_runtime -c 1 -o it.data -- \
        sh -c "taskset -p -c 1 \$\$ >/dev/null; $WEIR_LOAD spin 1000000" 2>err
    expect_at_least "nanoseconds" "$(ledger_column counted sched:sched_stat_runtime)" 100000
    expect_no_line err "Lost"
}

test_more_loss_than_allowed_is_status_3() {
    local load
    load=$(while_stopped getppid 5000)
    weir_record -a -e raw_syscalls:sys_enter -c 1 -m 4K --max-loss 0 -o it.data -- sh -c "$load"
    expect_at_least "lost" "$(ledger_column lost_in_ring)" 1
    expect_eq "status" "$status" 3
    expect_line err "weir: more samples were lost than --max-loss 0 allows"
    weir_record -a -e raw_syscalls:sys_enter -c 1 -m 4K --max-loss 100 -o it.data -- sh -c "$load"
    expect_eq "status when all may be lost" "$status" 0
    weir_record -a -e raw_syscalls:sys_enter -c 1 -m 4K --max-loss 0 -o it.data -- \
        sh -c "$load; exit 7"
    expect_eq "status of a workload that failed" "$status" 7
}
