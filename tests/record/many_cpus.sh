# shellcheck shell=bash
# All CPUs of the machine, whichever it is: on one with many CPUs and nodes (scripts/guest) these are the cases that
# count. Readers by CPU and by node, each CPU's samples in the file, counts as the kernel has them.

needs_perf_events
needs_second_cpu

# The load makes 1000 system calls on each CPU. Each is on its CPU and nowhere else.
on_each_cpu() {
    local cpu loads=()
    for ((cpu = 0; cpu < $(cpus_online); cpu++)); do
        taskset -c "$cpu" "$WEIR_LOAD" getppid 1000 &
        loads+=($!)
    done
    wait "${loads[@]}"
}

# expect_each_cpu FILE: 1000 calls of each CPU, by perf.
expect_each_cpu() {
    perf_bare script -i "$1" --comm "$WEIR_LOAD_NAME" -F cpu,event,trace 2>perf.err >calls
    local cpu number
    number=$("$WEIR_LOAD" number getppid)
    for ((cpu = 0; cpu < $(cpus_online); cpu++)); do
        expect_eq "calls on CPU $cpu" "$(grep -c "^\[$(printf %03d "$cpu")\] .* NR $number " calls)" 1000
    done
}

reads_all_cpus() {
    start_record it.data -a -e raw_syscalls:sys_enter -c 1 -m 4M "$@"
    on_each_cpu
    kill -INT "$weir"
    await_record
    expect_eq "exit status" "$status" 130
    expect_eq "lost" "$(ledger_column lost_in_ring)" 0
    expect_eq "counted by the kernel" "$(produced)" "$(told_samples)"
    expect_each_cpu it.data
    expect_readers_agree it.data
    "$WEIR_PROGRAM" verify it.data >verify.out 2>&1 || fail "verify: $(cat verify.out)"
}

test_a_reader_for_each_cpu() {
    reads_all_cpus --threads
    expect_eq "readers" "$(grep -c '^weir: reader [0-9]*: ' err)" "$(cpus_online)"
}

test_a_reader_for_each_node() {
    reads_all_cpus --threads=numa
    local nodes
    nodes=$(find /sys/devices/system/node -maxdepth 1 -name 'node[0-9]*' | wc -l)
    expect_eq "readers" "$(grep -c '^weir: reader [0-9]*: ' err)" "$nodes"
}
