# shellcheck shell=bash
# CPUs that are offline, or go while recording. Takes CPU 1 offline, so nothing may run beside it.

needs_perf_events
needs_second_cpu

switch=/sys/devices/system/cpu/cpu1/online
[ -w $switch ] || skip "needs a CPU that can be taken offline: $switch"

test_offline_cpu_is_refused_by_name() {
    local online
    set_knob $switch 0
    online=$(cat /sys/devices/system/cpu/online)
    weir_record -C 1 -e cpu-clock -o it.data -- touch ran
    expect_eq "status" "$status" 125
    expect_line err "weir: cpu 1 is not online"
    expect_line err "hint: online CPUs: $online"
    expect_files . err
}

test_all_cpus_are_those_that_are_online() {
    set_knob $switch 0
    record -a -e raw_syscalls:sys_enter -c 1 -m 16M -o it.data -- "$WEIR_LOAD" getppid 1000
    expect_eq "getppid calls" "$(getppid_calls it.data)" 1000
    perf report --header-only -i it.data >header 2>perf.err
    expect_line header "# nrcpus online : $(getconf _NPROCESSORS_ONLN)"
    expect_readers_agree it.data
}

# Its ring is drained to the end, and the count is that of the kernel.
test_cpu_that_goes_and_comes_while_recording() {
    set_knob $switch 1
    record -a -e raw_syscalls:sys_enter -c 1 -m 16M -o it.data -- sh -c "
        taskset -c 1 '$WEIR_LOAD' getppid 1000
        echo 0 >$switch
        taskset -c 0 '$WEIR_LOAD' getppid 1000
        echo 1 >$switch"
    expect_eq "getppid calls" "$(getppid_calls it.data)" 2000
    expect_eq "counted by the kernel" "$(ledger_column counted)" "$(told_samples)"
    expect_readers_agree it.data
}
