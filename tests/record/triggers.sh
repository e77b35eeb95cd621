# shellcheck shell=bash
# What asks for switches and snapshots by itself: events, the end of the command, its crash.

needs_perf_events

syscalls=(-e raw_syscalls:sys_enter -c 1)
execs=sched:sched_process_exec

snapshots() { grep -c 'weir: snapshot [0-9]* is in the file' err || true; }

test_each_occurrence_of_an_event_switches_the_output() {
    # The first one is that of the shell, which then waits for the end of each file that it asks for.
    # shellcheck disable=SC2016 # the shell of the command is meant
    record -e cpu-clock -o it.data --switch-output-event "$execs" -- \
        sh -c 'for files in 1 2 3; do
                until set -- it.data.* && [ -e "$1" ] && [ $# = "$files" ]; do :; done
                /bin/true
            done
            until set -- it.data.* && [ $# = 4 ]; do :; done'
    expect_eq "files" "$(find . -name 'it.data.*' | wc -l)" 5
    for file in it.data.*; do
        perf report --stats -i "$file" >/dev/null 2>perf.err || fail "perf does not read $file"
    done
}

test_occurrence_takes_a_snapshot_of_what_came_before() {
    record "${syscalls[@]}" -M 8M --snapshot-on "$execs:filename ~ \"*sleep\"" -o it.data -- \
        sh -c "'$WEIR_LOAD' getppid 1000; sleep 0.3; '$WEIR_LOAD' getppid 500"
    expect_eq "snapshots" "$(snapshots)" 1
    expect_eq "calls" "$(getppid_calls it.data)" 1000
}

test_occurrences_in_the_hold_off_have_no_effect() {
    record "${syscalls[@]}" -M 8M --snapshot-on "$execs" --snapshot-hold-off 100000 -o it.data -- \
        sh -c 'for i in 1 2 3; do sleep 0.1; done'
    expect_eq "snapshots" "$(snapshots)" 1
    record "${syscalls[@]}" -M 8M --snapshot-on "$execs" --snapshot-hold-off 0 -o it.data -- \
        sh -c 'for i in 1 2 3; do sleep 0.3; done'
    expect_at_least "snapshots" "$(snapshots)" 3
}

test_occurrence_takes_a_snapshot_of_the_kernels_rings() {
    record "${syscalls[@]}" --overwrite --snapshot-on "$execs:filename ~ \"*sleep\"" -o it.data -- \
        sh -c "'$WEIR_LOAD' getppid 1000; sleep 0.3; '$WEIR_LOAD' getppid 500"
    expect_eq "snapshots" "$(snapshots)" 1
    expect_eq "calls" "$(getppid_calls it.data)" 1500 # and what is left at the end
}

test_software_event_with_a_period_asks() {
    weir_record "${syscalls[@]}" -M 8M --snapshot-on cpu-clock/period=20000000/ --snapshot-hold-off 60000 \
        -o it.data -- timeout 1 sh -c 'while :; do :; done'
    expect_eq "snapshots" "$(snapshots)" 1
}

test_crash_of_the_command_writes_what_led_to_it() {
    # shellcheck disable=SC2016 # the shell of the command is meant
    local crash='kill -SEGV $$'
    weir_record "${syscalls[@]}" -M 8M --snapshot-on crash -o it.data -- sh -c "'$WEIR_LOAD' getppid 1000; $crash"
    expect_eq "status" "$status" $((128 + 11))
    expect_eq "calls" "$(getppid_calls it.data)" 1000
    record "${syscalls[@]}" -M 8M --snapshot-on crash -o it.data -- "$WEIR_LOAD" getppid 1000
    expect_eq "calls without a crash" "$(getppid_calls it.data)" 0
}

test_end_of_the_command_writes_what_led_to_it() {
    record "${syscalls[@]}" -M 8M --snapshot-on exit -o it.data -- "$WEIR_LOAD" getppid 1000
    expect_eq "calls" "$(getppid_calls it.data)" 1000
}

# It is of the moment of ours: what is marked before it is in it, what is marked behind it is not.
test_ftrace_takes_a_snapshot_with_ours() {
    local tracing=/sys/kernel/tracing
    [ -e $tracing/snapshot ] || skip "needs a kernel with CONFIG_TRACER_SNAPSHOT"
    at_end write_knob $tracing/snapshot 0
    record "${syscalls[@]}" -M 8M --ftrace-snapshot --snapshot-on "$execs:filename ~ \"*sleep\"" \
        -o it.data -- sh -c "echo weir-before >$tracing/trace_marker
            '$WEIR_LOAD' getppid 1000
            sleep 1
            echo weir-behind >$tracing/trace_marker"
    expect_eq "snapshots" "$(snapshots)" 1
    expect_eq "calls" "$(getppid_calls it.data)" 1000
    expect_no_line err "ftrace took no snapshot"
    expect_eq "marks in ftrace's snapshot" "$(grep -o 'weir-[a-z]*$' $tracing/snapshot | paste -sd ' ')" "weir-before"
    expect_eq "marks in its trace" "$(grep -o 'weir-[a-z]*$' $tracing/trace | paste -sd ' ')" "weir-behind"
}

test_kernel_without_snapshots_of_ftrace_is_told() {
    [ ! -e /sys/kernel/tracing/snapshot ] || skip "needs a kernel without CONFIG_TRACER_SNAPSHOT"
    weir_record -e cpu-clock --ftrace-snapshot -o it.data -- true
    expect_eq "status" "$status" 125
    expect_line err 'ftrace takes no snapshots here: cannot open /sys/kernel/tracing/snapshot: No such file or'
    [ ! -e it.data ] || fail "a file was made"
}

test_what_cannot_ask_is_refused() {
    weir_record -e cpu-clock --snapshot-on cycles -M 1M -o it.data -- true
    expect_eq "status" "$status" 129
    expect_line err "option '--snapshot-on': event 'cycles' occurs all the time"
    weir_record -e cpu-clock --snapshot-on faults -o it.data -- true
    expect_line err "option '--snapshot-on' needs -M, --overwrite or -S: nothing else is kept in memory"
    weir_record -e cpu-clock --switch-output-event faults -o - -- true
    expect_eq "status" "$status" 129
}

# An event that asks and the one that is recorded are of one kind: the kernel puts samples of this under the id of that.
# Other recorders on the machine may still take some.
test_samples_are_of_their_event_beside_one_that_asks() {
    record -M 8M --snapshot-on-exit --snapshot-on cs --snapshot-hold-off 60000 -e cs,faults -c 1 -o it.data -- \
        sh -c 'for i in 1 2 3 4 5; do sleep 0.01; done'
    expect_at_least "switches of tasks" "$(ledger_column written cs)" 5
}
