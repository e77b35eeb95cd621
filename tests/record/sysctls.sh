# shellcheck shell=bash
# Sysctls that limit every recorder of the machine, also those of root: nothing may be recorded beside these cases.

needs_perf_events
needs_root

test_io_uring_that_is_switched_off_is_done_without() {
    [ -e /proc/sys/kernel/io_uring_disabled ] || skip "needs the sysctl kernel.io_uring_disabled (Linux 6.6)"
    set_knob /proc/sys/kernel/io_uring_disabled 2
    record -a -e raw_syscalls:sys_enter -c 1 -m 16M -o it.data -- "$WEIR_LOAD" getppid 20000
    expect_line err "kernel.io_uring_disabled"
    expect_eq "getppid calls" "$(getppid_calls it.data)" 20000
    expect_readers_agree it.data
}

# The frequency that stands in the file.
recorded_hz() { perf evlist -v -i it.data | sed -n 's/^cpu-clock:.*sample_freq }: \([0-9]*\),.*/\1/p'; }

test_frequency_above_the_limit_is_lowered_and_says_so() {
    set_knob /proc/sys/kernel/perf_event_max_sample_rate 1000
    record -e cpu-clock -F 5000 -o it.data -- true
    expect_line err "maximum frequency rate (1000 Hz) exceeded, throttling from 5000 Hz to 1000 Hz"
    expect_eq "frequency" "$(recorded_hz)" 1000
    record -e cpu-clock -F max -o it.data -- true
    expect_no_line err "maximum frequency"
    expect_eq "frequency" "$(recorded_hz)" 1000
}

# Row 25 of docs/faults.md.
test_throttled_events_are_counted_and_told() {
    set_knob /proc/sys/kernel/perf_event_max_sample_rate 2000
    record -e cpu-clock -c 100000 -o it.data -- "$WEIR_LOAD" spin 300000000
    local throttled told
    throttled=$(report_records it.data THROTTLE)
    told=$(sed -n 's/.* throttled \([0-9]*\) times.*/\1/p' err)
    expect_eq "throttled, told and in the file" "$told" "${throttled:-0}"
    expect_whole it.data
}
