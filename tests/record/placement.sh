# shellcheck shell=bash
# Where weir's threads run and what a plan takes: on this machine, and planned for machines that are only described.

needs_perf_events

# cpus_of COMM-PATTERN: "COMM CPUS" of each such thread of weir.
cpus_of() {
    local thread
    for thread in "/proc/$weir/task"/*; do
        if grep -qxE "$1" "$thread/comm"; then
            echo "$(cat "$thread/comm") $(sed -n 's/^Cpus_allowed_list:\t//p' "$thread/status")"
        fi
    done | sort
}

dry_run() { HWLOC_SYNTHETIC=$1 "$WEIR_PROGRAM" record --dry-run -v -a "${@:2}" -o it.data 2>err >out; }

test_reader_cpu_that_is_not_online_is_refused() {
    weir_record --reader-cpus 4000 -a -o it.data -- touch ran
    expect_eq "status" "$status" 125
    expect_line err "weir: --reader-cpus: CPU 4000 is not online"
    expect_files . err
}

test_all_threads_run_on_the_cpus_named_and_the_workload_does_not() {
    needs_second_cpu
    start_record it.data -a -e cpu-clock -F 99 --reader-cpus 1 -- \
        sh -c 'sed -n "s/^Cpus_allowed_list:\t//p" /proc/self/status >where; sleep 1'
    wait_until test -s where
    cpus_of 'weir.*' >threads
    await_record
    expect_eq "status" "$status" 0
    expect_eq "CPUs of the workload" "$(cat where)" "$(sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status)"
    expect_eq "threads elsewhere" "$(grep -v ' 1$' threads || true)" ""
    expect_eq "readers" "$(grep -c '^weir-reader' threads)" 1
    expect_line err "weir: reader 0: cpus $(cat /sys/devices/system/cpu/online), runs on 1, node 0"
    expect_readers_agree it.data
}

test_budget_of_1024_cpus_is_told_and_nothing_is_opened() {
    dry_run "numa:16 core:32 pu:2" -e cpu-clock -m 8M --buffer-size 4G -z10 || fail "status $?"
    expect_line err "weir: memory: rings 8456 MiB (8192 KiB data and 256 KiB sideband for each of 1024), pool 4096 MiB"
    expect_line err "in all: side records 512 MiB, tables "
    expect_line err "for the 16 threads that work on chunks, "
    expect_line err "weir: files: 4160 descriptors"
    expect_eq "readers" "$(grep -c '^weir: reader [0-9]*: cpus [0-9]*, runs on [0-9]*, node [0-9]*$' err)" 1024
    expect_files . err out
}

test_machine_of_1024_cpus_is_read_from_a_few() {
    dry_run "numa:16 core:32 pu:2" -e cpu-clock --reader-cpus 0,64,1023 || fail "status $?"
    expect_eq "readers" "$(grep -c '^weir: reader ' err)" 3
    expect_line err ", runs on 1023, node 15"
    expect_files . err out
}
