# shellcheck shell=bash
# Code that a task maps where nobody asks for samples: on a CPU outside of -C, or in another thread. Samples in that
# code have to resolve all the same.

needs_perf_events
needs_second_cpu

rounds=100000000 # a tenth of a second or more
options=(-e cpu-clock:u -F 2000 -o it.data)

# expect_resolved: samples of the code that was mapped elsewhere have its name, and none is without a name.
expect_resolved() {
    perf script -i it.data --comm "$WEIR_LOAD_NAME" -F comm,ip,sym,dso 2>perf.err >samples
    expect_at_least "samples in mapped code" "$(grep -c ' weir_moved_code ' samples)" 20
    expect_no_line samples '[unknown]'
    expect_readers_agree it.data
}

# start_moves WHO [MAP_CPU RUN_CPU]: $load waits for release_gate before it maps and runs.
start_moves() {
    open_gate
    "$WEIR_LOAD" moves "$1" "$WEIR_MOVED_CODE" "${2:-1}" "${3:-0}" $rounds <gate &
    load=$!
    if [ "$1" = thread ]; then wait_until has_threads "$load" 2; fi
}

# record_moves WHO OPTION...: with $load as the target.
record_moves() {
    local who=$1
    shift
    start_moves "$who"
    start_record it.data "${options[@]}" "${@//LOAD/$load}"
    release_gate
    wait "$load" || fail "the load failed"
    kill -INT "$weir" 2>/dev/null || true
    await_record
    expect_resolved
}

test_code_mapped_on_a_cpu_outside_the_list() {
    record "${options[@]}" -C 0 -- "$WEIR_LOAD" moves task "$WEIR_MOVED_CODE" 1 0 $rounds </dev/null
    expect_resolved
    expect_line err " further CPUs: no samples there, but tasks that move map code there"
    expect_eq "samples elsewhere" "$(perf_bare script -i it.data -F cpu 2>/dev/null | sort -u | xargs)" "[000]"
    expect_eq "rows of samples" "$(awk '$2 == "cpu-clock:u" { print $1 }' err | xargs)" 0
}

test_code_mapped_before_a_fork_on_a_cpu_outside_the_list() {
    record "${options[@]}" -C 0 -- "$WEIR_LOAD" moves child "$WEIR_MOVED_CODE" 1 0 $rounds </dev/null
    expect_resolved
}

test_code_mapped_by_another_thread_of_the_process() {
    record_moves thread -t LOAD
    expect_eq "recorded threads" "$(perf_bare script -i it.data -F tid 2>/dev/null | sort -u | xargs)" "$load"
}

test_code_mapped_by_another_thread_with_a_ring_for_each_thread() {
    record_moves thread --per-thread -t LOAD
    expect_eq "tasks with samples in the ledger" "$(awk '$2 == "cpu-clock:u" { print $1 }' err | xargs)" "$load"
}

test_code_mapped_away_from_the_readers() {
    record "${options[@]}" -a --reader-cpus 0 -- \
        "$WEIR_LOAD" moves task "$WEIR_MOVED_CODE" 1 0 $rounds </dev/null
    expect_resolved
}

# The task maps before it enters the cgroup, whose samples alone are recorded.
test_code_mapped_outside_the_cgroup() {
    local hierarchy cgroup=weir-test-$BASHPID
    hierarchy=$(awk '$3 == "cgroup" && $4 ~ /(^|,)perf_event(,|$)/ { print $2; found = 1; exit }
        $3 == "cgroup2" && !v2 { v2 = $2 } END { if (!found) print v2 }' /proc/mounts)
    if [ ! "$hierarchy" ] || [ ! -w "$hierarchy/cgroup.procs" ]; then skip "needs a cgroup hierarchy to write to"; fi
    mkdir "$hierarchy/$cgroup"
    at_end rmdir "$hierarchy/$cgroup"
    record "${options[@]}" -C 0 -G "$cgroup" -- "$WEIR_LOAD" moves-into "$hierarchy/$cgroup/cgroup.procs" \
        "$WEIR_MOVED_CODE" 1 0 $rounds </dev/null
    expect_resolved
}

# 100 descriptors: the events of the target fit, and those of its sibling on each CPU do not.
test_limit_on_descriptors_leaves_out_other_threads_and_says_so() {
    start_moves thread
    (
        ulimit -n 72 # 4 events of the target on 2 CPUs fit, those of its sibling do not
        exec "$WEIR_PROGRAM" record -v "${options[@]}" -t "$load"
    ) 2>err &
    weir=$!
    wait_until test -e it.data
    release_gate
    wait "$load"
    kill -INT "$weir" 2>/dev/null || true
    await_record
    expect_line err "code that other threads of the process map from now on is not recorded: that takes"
}
