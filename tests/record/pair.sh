# shellcheck shell=bash
# The pair, snapshot and snapshot-alloc, in a recording into one file: each replaces the one before, and the newest is
# FILE at the end. Dumps share a file, and nothing of them is ever removed.

needs_perf_events

syscalls=(-e raw_syscalls:sys_enter -c 1 --filter "id == $("$WEIR_LOAD" number getppid)")

# start OPTION...: records all CPUs, with commands from descriptor 7 and answers to 8.
start() {
    open_fifos
    rm -f it.data it.data.*
    start_record it.data -a "${syscalls[@]}" --control fifo:ctl,ack "$@"
}

# calls_then CALLS COMMAND
calls_then() {
    "$WEIR_LOAD" getppid "$1"
    ask "$2"
}

# stop_and_expect CALLS...: of the files that are left, FILE.TIME by time, then FILE, and there is no other one. Each is
# whole, and the closing line has their samples.
stop_and_expect() {
    local file samples=0 calls=()
    ask stop
    await_record
    expect_eq status "$status" 0
    for file in $(find . -name 'it.data.*' | sort) it.data; do
        "$WEIR_PROGRAM" verify "$file" >verify.out || fail "$file: $(cat verify.out)"
        perf_bare script -i "$file" -F comm 2>perf.err >comms
        expect_no_warnings
        calls+=("$(grep -c " *$WEIR_LOAD_NAME" comms || true)")
        samples=$((samples + $(wc -l <comms)))
    done
    expect_eq "calls in the files" "${calls[*]}" "$*"
    expect_eq "hidden files" "$(find . -name '.it.data*')" ""
    expect_eq "samples by the closing line" "$(told_samples)" $samples
    expect_eq "written, evicted and lost" "$(written_and_lost)" "$(produced)"
}

# Whether N files have ended, and one of them is left.
is_alone() { [ "$(grep -c ' Dump it.data.2' err)" = "$1" ] && [ "$(find . -name 'it.data.2*' | wc -l)" = 1 ]; }

test_a_snapshot_replaces_the_one_before_and_is_the_file_at_the_end() {
    start -M 8M
    calls_then 100 snapshot-alloc
    calls_then 200 snapshot
    echo status >&7
    read -r -t 20 -u 8 json
    read -r -t 20 -u 8 _
    [[ $json == *'"files":3,"snapshots":2,'* ]] || fail "status: $json"
    ask switch 'error: this recording has nothing to switch'
    "$WEIR_LOAD" getppid 300
    stop_and_expect 200
    expect_line err "Took 2 snapshots; newer ones replaced 1 of them, with "
    expect_line err "' is now 'it.data'"
    expect_no_line err "not allocated"
}

# What the kernel's rings hold at the end is the file's own.
test_rings_of_the_kernel_are_read_at_the_end_too() {
    start --overwrite
    calls_then 100 snapshot
    calls_then 200 snapshot-alloc
    "$WEIR_LOAD" getppid 300
    stop_and_expect 200 300
    expect_line err "the newest snapshot of the pair is in 'it.data.2"
    expect_line err "Took 3 snapshots; newer ones replaced 1 of them, with "
}

test_nothing_of_the_dumps_is_removed() {
    start -M 8M
    calls_then 100 dump
    calls_then 200 snapshot-alloc
    stop_and_expect 300
    start -M 8M
    calls_then 1 snapshot-alloc
    calls_then 200 dump
    calls_then 300 snapshot # replaces the first, and stands behind the dump
    calls_then 4 snapshot
    calls_then 500 snapshot
    calls_then 600 dump
    stop_and_expect 500 500 600
    expect_line err "Took 6 snapshots; newer ones replaced 2 of them, with "
}

test_killed_recording_leaves_a_whole_snapshot() {
    start -M 8M
    calls_then 100 snapshot-alloc
    wait_until is_alone 1
    expect_eq "calls between snapshots" "$(getppid_calls it.data.2*)" 100
    calls_then 200 snapshot
    wait_until is_alone 2
    "$WEIR_LOAD" getppid 300
    kill -KILL "$weir"
    await_record
    expect_whole it.data.2*
    expect_eq "calls" "$(getppid_calls it.data.2*)" 200
    # The kill may have come before the first record of the file that was begun.
    "$WEIR_PROGRAM" recover it.data >recover.out 2>&1 || expect_line recover.out "no whole record"
}

# weir may see the end and what was asked for at once: then the snapshot is in FILE, and replaces the one before all the
# same.
test_snapshot_that_is_asked_for_just_before_the_end_replaces_too() {
    local n
    open_fifos
    for ((n = 0; n < 3; n++)); do
        record "${syscalls[@]}" -M 8M --control fifo:ctl,ack -o it.data -- \
            sh -c "'$WEIR_LOAD' getppid 100; echo snapshot-alloc >&7; read -r answer <&8
                '$WEIR_LOAD' getppid 200; echo -snapshot >&7"
        expect_eq "calls" "$(getppid_calls it.data)" 200
        expect_files . ack ctl err it.data perf.err
        expect_line err "Took 2 snapshots; newer ones replaced 1 of them, with "
        rm it.data
    done
}

# Nothing is lost when there can be no other file: the next snapshot has it.
test_snapshot_that_cannot_have_a_file_is_refused_and_recording_goes_on() {
    local limit
    start -M 8M
    limit=$(prlimit --pid "$weir" --nofile --output SOFT --noheadings)
    "$WEIR_LOAD" getppid 100
    prlimit --pid "$weir" --nofile=3:
    ask snapshot-alloc "error: cannot open directory '.' of the output: Too many open files"
    prlimit --pid "$weir" --nofile="$((limit)):"
    calls_then 200 snapshot # there is memory for it by now
    ask stop
    await_record
    expect_files . 'ack ctl err it.data'
    expect_eq "calls" "$(getppid_calls it.data)" 300
}

# The directory is the one that weir has opened, wherever it is moved to.
test_snapshots_go_where_the_recording_is() {
    mkdir there
    open_fifos
    start_record there/it.data -a "${syscalls[@]}" --control fifo:ctl,ack -M 8M
    mv there elsewhere
    calls_then 100 snapshot-alloc
    ask stop
    await_record
    expect_files elsewhere it.data
    expect_eq "calls" "$(getppid_calls elsewhere/it.data)" 100
}

test_snapshot_that_does_not_fit_replaces_nothing() {
    ulimit -f 8192 # KiB; of which what others do meanwhile may take some
    start -M 32M
    calls_then 100 snapshot-alloc
    "$WEIR_LOAD" getppid 120000
    echo snapshot >&7
    await_record
    expect_eq status "$status" 125
    expect_line err 'File too large'
    # Under one of both names: weir may hear of the failure before the file has ended, or after.
    for file in it.data*; do
        if [ "$(getppid_calls "$file")" = 100 ]; then expect_whole "$file" && return; fi
    done
    fail "the first snapshot has gone: $(ls)"
}

test_where_no_file_can_be_ended_snapshots_follow_one_another() {
    start -M 8M
    ask stop
    await_record
    "$WEIR_PROGRAM" record -v -A -o it.data -a "${syscalls[@]}" --control fifo:ctl,ack -M 8M 2>err &
    weir=$!
    ask ping
    calls_then 100 snapshot-alloc
    calls_then 200 snapshot
    ask stop
    await_record
    expect_files . ack ctl err it.data
    expect_eq "calls" "$(getppid_calls it.data)" 300
    "$WEIR_PROGRAM" record -v -o - -a "${syscalls[@]}" --control fifo:ctl,ack -M 8M >stream 2>err &
    weir=$!
    ask ping
    calls_then 100 snapshot-alloc
    calls_then 200 snapshot
    ask stop
    await_record
    expect_eq "calls" "$(getppid_calls - <stream)" 300
}
