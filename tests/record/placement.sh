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

# A saved machine of two fast cores with two threads each, and behind them four that save energy.
test_efficient_cores_of_a_hybrid_machine_do_the_reading() {
    cat >machine.xml <<'EOF'
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
<object type="Machine" os_index="0" cpuset="0xff" complete_cpuset="0xff" allowed_cpuset="0xff" nodeset="0x1"
 complete_nodeset="0x1" allowed_nodeset="0x1" gp_index="1">
<object type="NUMANode" os_index="0" cpuset="0xff" complete_cpuset="0xff" nodeset="0x1" complete_nodeset="0x1"
 gp_index="2" local_memory="8589934592"/>
EOF
    local cpu
    for cpu in 0 1 2 3 4 5 6 7; do
        printf '<object type="PU" os_index="%d" cpuset="0x%x" complete_cpuset="0x%x" nodeset="0x1" ' \
            $cpu $((1 << cpu)) $((1 << cpu))
        printf 'complete_nodeset="0x1" gp_index="%d"/>\n' $((cpu + 3))
    done >>machine.xml
    cat >>machine.xml <<'EOF'
</object>
<cpukind cpuset="0xf0" forced_efficiency="0"/>
<cpukind cpuset="0x0f" forced_efficiency="1"/>
</topology>
EOF
    HWLOC_XMLFILE=machine.xml "$WEIR_PROGRAM" record --dry-run -v -a -e cpu-clock --reader-cpus=efficient -o it.data \
        2>err >out || fail "status $?"
    expect_line err "weir: weir runs on the efficient CPUs 4-7"
    expect_eq "readers" "$(sed -n 's/^weir: reader [0-9]*: \(cpus [0-9,-]*, runs on [0-9,-]*\),.*/\1/p' err)" \
        "$(printf 'cpus %d,%d, runs on %d\n' 0 4 4 1 5 5 2 6 6 3 7 7)"
}

# Virtual machines tell of one kind.
test_machine_of_one_kind_of_cpus_is_recorded_with_a_warning() {
    [ ! -e /sys/devices/cpu_atom ] || skip "needs a machine whose CPUs are all of one kind"
    weir_record --reader-cpus=efficient -a -e cpu-clock -F 99 -o it.data -- sleep 0.1
    expect_eq "status" "$status" 0
    expect_line err "weir: warning: --reader-cpus=efficient: this machine tells of no kind of CPUs that saves energy; \
readers run where they would without it"
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
