# shellcheck shell=bash
# -D: events that count later, never, or in windows.

needs_perf_events

calls=1000
tracepoint=(-e raw_syscalls:sys_enter -c 1 -o it.data)

# Calls before events count, and as many afterwards.
before_and_after="'$WEIR_LOAD' getppid $calls
    until grep -q '^weir: Events enabled$' err; do sleep 0.02; done
    '$WEIR_LOAD' getppid $calls"

# expect_said LINE...: about events, in order.
expect_said() { expect_eq "lines on events" "$(grep '^weir: Events ' err)" "$(printf 'weir: Events %s\n' "$@")"; }

test_calls_of_the_delay_are_not_recorded() {
    local target
    for target in "" -a; do
        record "${tracepoint[@]}" $target -D 1500 -- sh -c "$before_and_after"
        expect_said disabled enabled
        expect_eq "calls" "$(getppid_calls it.data)" $calls
        expect_readers_agree it.data
    done
}

test_events_that_are_never_enabled_record_names_and_maps() {
    record "${tracepoint[@]}" -D -1 -- "$WEIR_LOAD" getppid $calls
    expect_said disabled
    expect_eq "samples" "$(told_samples)" 0
    perf script -i it.data --show-task-events >records 2>/dev/null
    expect_eq "exec records" "$(grep -c 'COMM exec: record_load' records)" 1
}

test_last_window_ends_recording_and_command() {
    weir_record "${tracepoint[@]}" -D 50-100,150-200 -- sleep 100
    expect_eq "status" "$status" $((128 + 15))
    expect_said disabled enabled disabled enabled disabled
    expect_readers_agree it.data
    record -e cpu-clock -o it.data -a -D 50-100
    expect_said disabled enabled disabled
    expect_at_least "samples" "$(told_samples)" 1
}

test_window_from_the_start_on_counts_at_once() {
    weir_record "${tracepoint[@]}" -D 0-1500 -- sh -c "'$WEIR_LOAD' getppid $calls; exec sleep 100"
    expect_eq "status" "$status" $((128 + 15))
    expect_said disabled
    expect_eq "calls" "$(getppid_calls it.data)" $calls
}

test_command_that_ends_during_the_delay_ends_recording() {
    weir_record "${tracepoint[@]}" -D 100000 -- sh -c 'exit 7'
    expect_eq "status" "$status" 7
    expect_said disabled
}

test_quiet_says_nothing_of_events() {
    "$WEIR_PROGRAM" record -q "${tracepoint[@]}" -D 10 -- sleep 0.1 2>err
    expect_eq "messages" "$(cat err)" ""
}
