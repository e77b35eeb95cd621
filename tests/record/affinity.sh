# shellcheck shell=bash
# --affinity-cpus: data rings for the CPUs that the recorded tasks may run on, and for others once a task is seen there.

needs_perf_events
needs_second_cpu
needs_program taskset

calls=1000
tracepoint=(-e raw_syscalls:sys_enter -c 1 -o it.data)

# On CPU 0, that is: a data ring there, and a sideband ring on each CPU.
rings_on_one_cpu=$(($(cpus_online) + 1))
rings_on_two_cpus=$(($(cpus_online) + 2))

# opens OPTION...: perf_event_open calls of a recording of a command on CPU 0, for each of the
# command's threads: what weir forks may have one of ThreadSanitizer's.
opens() {
    ASAN_OPTIONS=detect_leaks=0 taskset -c 0 strace -f -o trace -e trace=perf_event_open \
        "$WEIR_PROGRAM" record -q "$@" -e cpu-clock -o opens.data -- true
    sed -n 's/^[0-9]* *perf_event_open({.*}, \([0-9]*\), [0-9]*, .*/\1/p' trace >threads
    echo $(($(wc -l <threads) / $(sort -u threads | wc -l)))
}

# is_held_to_cpu_0 PID: waits until taskset(1) has done its work.
is_held_to_cpu_0() { wait_until grep -q '^Cpus_allowed_list:[[:space:]]*0$' "/proc/$1/status"; }

test_command_that_may_run_on_one_cpu_needs_one_data_ring() {
    record_on_cpu_0 "${tracepoint[@]}" --affinity-cpus -- "$WEIR_LOAD" getppid $calls
    expect_line err "$rings_on_one_cpu rings of"
    expect_line err "no data rings on CPUs 1"
    expect_no_line err "a target runs on CPU"
    expect_eq "getppid calls" "$(getppid_calls it.data)" $calls
    expect_readers_agree it.data
}

# It is asked for: masks can be widened, and what happens then is not to be lost.
test_every_cpu_has_its_ring_unless_asked_for_less() {
    record_on_cpu_0 "${tracepoint[@]}" -- "$WEIR_LOAD" getppid $calls
    expect_line err "$((2 * $(cpus_online))) rings of"
    expect_no_line err "no data rings"
}

test_command_that_may_run_anywhere_has_all_rings() {
    record "${tracepoint[@]}" --affinity-cpus -- "$WEIR_LOAD" getppid $calls
    expect_line err "$((2 * $(cpus_online))) rings of"
    expect_no_line err "no data rings"
}

# perf's, on every CPU: the events are there when a task comes, and in all that it has started by then.
test_same_events_are_opened_as_without_it() {
    needs_program strace
    strace -o /dev/null true 2>/dev/null || skip "needs to be allowed to trace: ptrace(2)"
    expect_eq "opens with --affinity-cpus" "$(opens --affinity-cpus)" "$(opens --no-affinity-cpus)"
}

# The ten calls are seen, and perhaps some of them lost; all that comes after the warning is there.
test_mask_that_is_widened_while_recording_is_noticed() {
    open_gate
    taskset -c 0 sh -c 'read -r _; taskset -c 1 "$@" 10; read -r _; taskset -c 1 "$@" 1000' - "$WEIR_LOAD" getppid \
        <gate &
    is_held_to_cpu_0 $!
    start_record it.data -e raw_syscalls:sys_enter -c 1 --affinity-cpus -p $!
    expect_line err "no data rings on CPUs 1"
    release_gate
    wait_until grep -q "a target runs on CPU 1, which its affinity mask did not allow at the start" err
    release_gate
    await_record
    expect_eq "status" "$status" 0
    expect_line err "$rings_on_two_cpus rings of"
    expect_at_least "getppid calls on CPU 1" "$(getppid_calls it.data)" 1000
    expect_eq "written and lost" "$(written_and_lost raw_syscalls:sys_enter)" \
        "$(produced raw_syscalls:sys_enter)"
    expect_eq "samples in perf report" "$(report_samples it.data)" "$(told_samples)"
    "$WEIR_PROGRAM" verify -q it.data || fail "verify refuses it"
}

# Nothing of a short recording that ends before anybody has looked is passed over in silence.
test_what_came_before_the_ring_is_counted_as_lost() {
    local lost
    record_on_cpu_0 "${tracepoint[@]}" --affinity-cpus --max-loss 100 -- taskset -c 1 "$WEIR_LOAD" getppid $calls
    lost=$(ledger_column lost_in_ring)
    expect_at_least "lost" "$lost" 1
    expect_line err "Lost $lost of "
    expect_line err "on CPUs that had no ring yet"
    expect_line err "to prevent it: --no-affinity-cpus"
    expect_eq "written and lost" "$(written_and_lost raw_syscalls:sys_enter)" \
        "$(produced raw_syscalls:sys_enter)"
}

# A side record that finds no ring is told and counted by nobody, so each CPU has the ring for it from the start: also
# of a command that is never sampled where it was not expected.
test_names_and_mappings_of_a_new_cpu_are_there_without_any_sample() {
    record_on_cpu_0 -e cpu-clock -c 1000000000000 -o it.data --affinity-cpus -- taskset -c 1 "$WEIR_LOAD" getppid 1
    expect_no_line err "a target runs on CPU"
    expect_line err "$rings_on_one_cpu rings of"
    perf script -i it.data --show-task-events --show-mmap-events -F comm,cpu >told 2>perf.err
    expect_eq "names" "$(grep -c '\[001\] PERF_RECORD_COMM exec: record_load:' told)" 1
    expect_eq "mappings of the program" "$(grep -c "\[001\] PERF_RECORD_MMAP2 .* r-xp $WEIR_LOAD\$" told)" 1
}

test_process_ends_the_recording_though_some_rings_were_never_there() {
    open_gate
    taskset -c 0 sh -c "read -r _; exec '$WEIR_LOAD' getppid $calls" <gate &
    is_held_to_cpu_0 $!
    start_record it.data -e raw_syscalls:sys_enter -c 1 --affinity-cpus -p $!
    release_gate
    await_record
    expect_eq "status" "$status" 0
    expect_line err "$rings_on_one_cpu rings of"
    expect_eq "getppid calls" "$(getppid_calls it.data)" $calls
}

test_frequency_is_followed_to_a_new_cpu() {
    record_on_cpu_0 -e cpu-clock -F 4000 -o it.data --affinity-cpus -- taskset -c 1 "$WEIR_LOAD" spin 400000000
    expect_line err "a target runs on CPU 1"
    expect_at_least "samples on CPU 1" "$(perf script -i it.data -F comm,cpu 2>perf.err | grep -c '\[001\]')" 50
    expect_readers_agree it.data
}

# record_on_cpu_0 ARGUMENT...: weir and its command may run on CPU 0 only.
record_on_cpu_0() {
    status=0
    taskset -c 0 "$WEIR_PROGRAM" record -v "$@" 2>err || status=$?
    expect_eq "exit status of weir record $*" "$status" 0
}
