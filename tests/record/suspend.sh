# shellcheck shell=bash
# The machine is suspended while weir records, which takes all CPUs but one offline and tells nobody. Only where nothing
# else runs: whoever sets WEIR_MAY_SUSPEND, as scripts/guest does in its machine, says so.

[ "${WEIR_MAY_SUSPEND:-}" ] || skip "needs leave to suspend the machine: WEIR_MAY_SUSPEND, as in scripts/guest"
needs_perf_events
needs_root
needs_second_cpu
alarm=/sys/class/rtc/rtc0/wakealarm
if ! [ -w $alarm ] || ! grep -q mem /sys/power/state; then
    skip "needs a machine that can be suspended, and a clock that wakes it"
fi

test_all_cpus_are_recorded_again_after_a_suspend() {
    record -a -e raw_syscalls:sys_enter -c 1 -m 4M -o it.data -- sh -c "
        taskset -c 1 '$WEIR_LOAD' getppid 1000
        echo +10 >$alarm
        echo mem >/sys/power/state
        until grep -q 'the machine was suspended for' err; do sleep 0.1; done
        taskset -c 0 '$WEIR_LOAD' getppid 1000
        taskset -c 1 '$WEIR_LOAD' getppid 1000"
    expect_eq "getppid calls" "$(getppid_calls it.data)" 3000
    expect_eq "counted by the kernel" "$(produced)" "$(told_samples)"
    expect_eq "samples with unknown ids" "$(grep -c 'unknown ids' err || true)" 0
    "$WEIR_PROGRAM" verify it.data >verified || fail "weir verify: $(cat verified)"
    expect_eq "gaps of CPU 1" "$(grep -c '^note gaps *CPU 1 was offline between ' verified)" 1
    expect_no_line verified "CPU 0 was offline"
}
