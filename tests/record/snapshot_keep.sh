# shellcheck shell=bash
# --snapshot-keep: each snapshot is a file of its own, and the newest N stay.

needs_perf_events

syscalls=(-e raw_syscalls:sys_enter -c 1 -m 1M)

# What a workload's shell says to make so many calls, and then have the Nth snapshot taken and wait for its file.
calls_and_snapshot() {
    echo "'$WEIR_LOAD' getppid $2; kill -USR2 \$PPID
        until [ \"\$(grep -c ' Dump it.data.2' err)\" -ge $1 ]; do sleep 0.02; done"
}

# expect_calls CALLS...: in the files that there are, the oldest first, and nothing else is there; each is whole.
expect_calls() {
    local file calls=()
    for file in $(find . -name '*it.data*' | sort); do
        [[ $file == ./it.data.2* ]] || fail "$file is there"
        "$WEIR_PROGRAM" verify "$file" >verify.out 2>&1 || fail "$file: $(cat verify.out)"
        expect_eq "FINISHED_INIT of $file" "$(report_records "$file" FINISHED_INIT)" 1
        calls+=("$(getppid_calls "$file")")
    done
    expect_eq "calls in the files" "${calls[*]}" "$*"
}

test_each_snapshot_replaces_the_one_before() {
    local memory
    for memory in -M16M -M1h; do
        rm -f it.data*
        record $memory "${syscalls[@]}" --snapshot-keep 1 -o it.data -- \
            sh -c "$(calls_and_snapshot 1 1000); $(calls_and_snapshot 2 500); '$WEIR_LOAD' getppid 300"
        expect_calls 500
        expect_line err "Took 2 snapshots; left "
        expect_eq "written, evicted and lost" "$(written_and_lost)" "$(produced)"
    done
}

test_the_newest_snapshots_stay_and_others_are_removed() {
    record -M16M "${syscalls[@]}" --snapshot-keep 2 -o it.data -- \
        sh -c "$(calls_and_snapshot 1 100); $(calls_and_snapshot 2 200); $(calls_and_snapshot 3 300)"
    expect_calls 200 300
    record -M16M "${syscalls[@]}" --snapshot-keep 9 -o it.data --snapshot-on-exit -- \
        sh -c "$(calls_and_snapshot 1 100); $(calls_and_snapshot 2 200); '$WEIR_LOAD' getppid 300"
    expect_calls 200 300 100 200 300
}

test_recording_without_a_snapshot_leaves_a_file_without_samples() {
    record -M16M "${syscalls[@]}" --snapshot-keep 1 -o it.data -- "$WEIR_LOAD" getppid 100
    expect_calls 0
    expect_line err "Took 0 snapshots; "
}

# The kernel's rings are read at the end in any case.
test_rings_of_the_kernel_are_kept_in_files_too() {
    record --overwrite "${syscalls[@]}" --snapshot-keep 2 -o it.data -- \
        sh -c "$(calls_and_snapshot 1 100); $(calls_and_snapshot 2 200); '$WEIR_LOAD' getppid 300"
    expect_calls 200 300
}

test_snapshot_that_is_asked_for_just_before_the_end_is_the_last_file() {
    local n
    for ((n = 0; n < 5; n++)); do
        record -M16M "${syscalls[@]}" --snapshot-keep 1 -o it.data -- \
            sh -c "$(calls_and_snapshot 1 100); '$WEIR_LOAD' getppid 200; kill -USR2 \$PPID"
        expect_calls 200
        rm it.data.*
    done
}

test_the_pair_has_the_semantics_of_the_kernels() {
    open_fifos
    start_record it.data -M 8M "${syscalls[@]}" --snapshot-keep 1 --control fifo:ctl,ack -a
    "$WEIR_LOAD" getppid 100
    ask snapshot-alloc ack
    "$WEIR_LOAD" getppid 200
    ask snapshot ack
    echo status >&7
    read -r -t 20 -u 8 json
    read -r -t 20 -u 8 _
    [[ $json == *'"files":3,"snapshots":2,'* ]] || fail "status: $json"
    "$WEIR_LOAD" getppid 300
    ask stop ack
    await_record
    expect_calls 200

    # A permanent snapshot is the newest one.
    rm it.data*
    start_record it.data -M 8M "${syscalls[@]}" --snapshot-keep 1 --control fifo:ctl,ack -a
    "$WEIR_LOAD" getppid 100
    ask dump ack
    "$WEIR_LOAD" getppid 200
    ask snapshot 'error: snapshot not allocated: recording has stopped'
    "$WEIR_LOAD" getppid 300
    ask dump 'error: no snapshot: recording has stopped; the samples in memory go to the file at the end'
    ask stop ack
    await_record
    expect_calls 200
}

test_an_event_and_a_crash_make_files_too() {
    # shellcheck disable=SC2016 # the shell of the command is meant
    local crash='kill -SEGV $$'
    weir_record -M 8M "${syscalls[@]}" --snapshot-keep 2 -o it.data --snapshot-on crash --snapshot-hold-off 0 \
        --snapshot-on 'sched:sched_process_exec:filename ~ "*sleep"' -- \
        sh -c "'$WEIR_LOAD' getppid 100; sleep 0.5; '$WEIR_LOAD' getppid 200; sleep 0.5
            '$WEIR_LOAD' getppid 300; $crash"
    expect_eq "status" "$status" $((128 + 11))
    expect_calls 200 300
}

# A switch by time, size or command ends its file with a snapshot as ever, and counts.
test_switches_are_snapshots_beside_the_others() {
    record -M16M "${syscalls[@]}" --snapshot-keep 3 --switch-output=1h -o it.data -- \
        sh -c "$(calls_and_snapshot 1 100); $(calls_and_snapshot 2 200)"
    expect_calls 100 200
}
