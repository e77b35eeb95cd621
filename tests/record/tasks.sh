# shellcheck shell=bash
# Every sampled task has its name and its maps, however short it lived.

needs_perf_events

children=200

# Samples of the fork storm: COMM, address, symbol, (DSO).
list_samples() { perf script -i it.data --comm record_load -F comm,ip,sym,dso 2>perf.err >samples; }

# Children of children that spin: each is a fork, an exec and some milliseconds of a hot loop.
expect_names_and_maps() {
    record "$@" -e cpu-clock -F 10000 -o it.data -- "$WEIR_LOAD" forks "$children" 1000000
    expect_eq "lost side records" "$(ledger_column lost_in_ring dummy:u)" 0
    list_samples
    expect_no_warnings
    expect_at_least "samples in the hot loop" "$(grep -c " hot_loop .*record_load)" samples)" "$children"
    expect_eq "samples without a map" "$(grep -F '([unknown])' samples || true)" ""
    expect_eq "tasks without a name" "$(perf_bare script -i it.data -F comm | grep -c '^ *:[0-9]' || true)" 0
}

test_fork_and_exec_storm_alone() { expect_names_and_maps; }

test_fork_and_exec_storm_under_all_cpus() { expect_names_and_maps -a; }

# expect_record COUNT TEXT: in perf's listing of the side records.
expect_record() { expect_eq "records with '$2'" "$(grep -c -e "$2" records || true)" "$1"; }

test_one_fork_comm_and_exit_per_child() {
    record -e cpu-clock -o it.data -- "$WEIR_LOAD" forks "$children" 1
    perf script -i it.data --show-task-events 2>perf.err >records
    expect_no_warnings
    # Time 0: the workload before its exec comes from /proc.
    expect_record 1 '^ *weir-exec .* 0.000000: PERF_RECORD_COMM: weir-exec:'
    expect_record "$children" '^ *record_load .* PERF_RECORD_FORK('
    expect_record $((children + 1)) 'PERF_RECORD_COMM exec: record_load'
    expect_record $((children + 1)) 'PERF_RECORD_EXIT('
    expect_readers_agree it.data
}

# What ran before recording began is known from /proc: here by a name that it was given later, and by its map.
test_task_that_ran_before_has_name_and_maps() {
    "$WEIR_LOAD" spin 0 &
    local load=$!
    record -a -e cpu-clock -F 2000 -o it.data -- sleep 0.5
    kill "$load"
    list_samples
    expect_at_least "samples in the hot loop" "$(grep -c " hot_loop .*record_load)" samples)" 10
    expect_eq "samples without a map" "$(grep -F '([unknown])' samples || true)" ""
}

# is_nice NAME VALUE: the thread of that name of the recorder.
is_nice() { [ "$(awk -v name="($1)" '$2 == name { print $19 }' "/proc/$weir"/task/*/stat 2>/dev/null)" = "$2" ]; }

# They are late where the machine is busy, and nobody waits for them; readers and the writer are not to be.
test_threads_behind_the_data_path_give_way() {
    start_record it.data -a -e cpu-clock
    wait_until is_nice weir-sideband 10
    wait_until is_nice weir-build-ids 10
    kill -INT "$weir"
    await_record
    expect_readers_agree it.data
}
