# shellcheck shell=bash
# -M: samples stay in memory, the newest of them, and reach the file in snapshots.

needs_perf_events

syscalls=(-e raw_syscalls:sys_enter -c 1)

# What a workload's shell says to have the Nth snapshot taken, and to wait for it.
snapshot() { echo "kill -USR2 \$PPID; until grep -q 'snapshot $1 is in the file' err; do sleep 0.02; done"; }

expect_all_accounted_for() {
    expect_eq "written, evicted and lost" "$(written_and_lost)" "$(produced)"
    expect_eq "lost" "$(ledger_column lost_in_ring)$(ledger_column lost_writing)" 00
    expect_readers_agree it.data
    expect_eq "weir verify" "$("$WEIR_PROGRAM" verify it.data >verify.out && echo right)" right
}

test_without_a_snapshot_no_sample_is_written() {
    record -M 4M "${syscalls[@]}" -o it.data -- "$WEIR_LOAD" getppid 1000
    expect_eq "samples" "$(told_samples)" 0
    expect_eq "evicted" "$(ledger_column evicted)" "$(produced)"
    expect_at_least "evicted" "$(ledger_column evicted)" 1000
    expect_line err "Took 0 snapshots; left $(ledger_column evicted) samples in memory at the end; SIGUSR2 takes one,"
    expect_no_line err "Lost"
    expect_at_least "COMM records" "$(report_records it.data COMM)" 2
}

# A size is bytes where nothing else is said, as for --max-size and --buffer-size.
test_size_is_bytes_and_as_large_as_readers_need() {
    record -M 10000000 --snapshot-on-exit "${syscalls[@]}" -o it.data -- "$WEIR_LOAD" getppid 1000
    expect_eq "calls" "$(getppid_calls it.data)" 1000
    expect_no_line err "raising -M"
    record -M 64 --snapshot-on-exit "${syscalls[@]}" -o it.data -- "$WEIR_LOAD" getppid 10
    expect_line err "raising -M from 64 to "
    record --switch-output=10000000 --max-size=10000000 --buffer-size=10000000 "${syscalls[@]}" -o other.data -- true
}

test_each_snapshot_holds_what_came_since_the_last() {
    record -M 16M "${syscalls[@]}" -o it.data -- \
        sh -c "'$WEIR_LOAD' getppid 1000; $(snapshot 1); '$WEIR_LOAD' getppid 2000; $(snapshot 2)
            '$WEIR_LOAD' getppid 500"
    expect_eq "calls" "$(getppid_calls it.data)" 3000
    expect_line err "Took 2 snapshots"
    expect_eq "samples told with each snapshot" "2 $(report_samples it.data)" \
        "$(sed -n 's/.* is in the file: \([0-9]*\) samples, [0-9.]* s$/\1/p' err |
            awk '{ sum += $1 } END { print NR, sum }')"
    expect_all_accounted_for

    record -M 16M --snapshot-on-exit "${syscalls[@]}" -o it.data -- \
        sh -c "'$WEIR_LOAD' getppid 1000; $(snapshot 1); '$WEIR_LOAD' getppid 500"
    expect_eq "calls" "$(getppid_calls it.data)" 1500
    expect_eq "evicted" "$(ledger_column evicted)" 0
    expect_line err "Took 2 snapshots"
    expect_all_accounted_for
}

# The signal is there before the command ends, but weir may see both at once.
test_snapshot_that_is_asked_for_just_before_the_end_is_taken() {
    local n
    for ((n = 0; n < 10; n++)); do
        record -M 16M "${syscalls[@]}" -o it.data -- sh -c "'$WEIR_LOAD' getppid 100; kill -USR2 \$PPID"
        expect_line err "Took 1 snapshot"
        expect_eq "calls" "$(getppid_calls it.data)" 100
    done
}

test_the_newest_samples_survive_a_storm() {
    record -M 1M --snapshot-on-exit "${syscalls[@]}" -C 0 -o it.data -- \
        taskset -c 0 sh -c "'$WEIR_LOAD' getppid 60000; '$WEIR_LOAD' getppid 300; true"
    expect_at_least "evicted" "$(ledger_column evicted)" 30000
    expect_line err "Took 1 snapshot; evicted $(ledger_column evicted) older samples from memory ]"
    expect_eq "written, evicted and lost" "$(written_and_lost)" "$(produced)"
    # A megabyte but for a part of one chunk; the rest of the file is records of tasks and mappings.
    expect_at_least "samples" "$(told_samples)" 5000
    # All of the last task is there, whatever of the first.
    perf_bare script -i it.data --comm "$WEIR_LOAD_NAME" -F tid,trace 2>perf.err >calls
    expect_eq "calls of the last task" \
        "$(awk -v nr="$("$WEIR_LOAD" number getppid)" '{ last = $1 } $2 == "NR" && $3 == nr { count[$1]++ }
            END { print count[last] }' calls)" 300
    expect_readers_agree it.data
}

test_names_and_maps_are_never_evicted() {
    record -M 256K --threads=package --snapshot-on-exit "${syscalls[@]}" -e cpu-clock -o it.data -- \
        "$WEIR_LOAD" forks 30 200000
    expect_at_least "evicted" "$(ledger_column evicted)" 100
    expect_eq "lost side records" "$(ledger_column lost_in_ring dummy:u)" 0
    perf script -i it.data --comm record_load -F comm,ip,sym,dso 2>perf.err >samples
    expect_at_least "samples" "$(wc -l <samples)" 100
    expect_eq "samples without a map" "$(grep -F '([unknown])' samples || true)" ""
    expect_eq "tasks without a name" "$(perf_bare script -i it.data -F comm | grep -c '^ *:[0-9]' || true)" 0
    expect_readers_agree it.data
}

test_a_time_keeps_what_is_younger() {
    record -M 3s "${syscalls[@]}" -o it.data -- \
        sh -c "'$WEIR_LOAD' getppid 1000; sleep 4.5; '$WEIR_LOAD' getppid 500; $(snapshot 1)"
    expect_eq "calls" "$(getppid_calls it.data)" 500
    expect_at_least "evicted" "$(ledger_column evicted)" 1000
    expect_all_accounted_for
}

test_one_reader_keeps_what_all_cpus_have() {
    record -a --threads=package -M 16M --snapshot-on-exit "${syscalls[@]}" -o it.data -- "$WEIR_LOAD" getppid 1000
    expect_eq "calls" "$(getppid_calls it.data)" 1000
    expect_readers_agree it.data
}

test_rings_of_tasks_have_memory_too() {
    record --per-thread -M 4M "${syscalls[@]}" -o it.data -- \
        sh -c "i=0; while [ \$i -lt 50 ]; do i=\$((i + 1)); : <.; done; $(snapshot 1)"
    expect_at_least "samples" "$(told_samples)" 50
    expect_readers_agree it.data
}

# Starts recording a load of 1000 calls, which then waits for the file `asked` and makes 300 more.
start_with_control() {
    open_fifos
    start_record it.data "$@" "${syscalls[@]}" --control fifo:ctl,ack -- \
        sh -c "'$WEIR_LOAD' getppid 1000; touch made; until [ -e asked ]; do sleep 0.02; done; '$WEIR_LOAD' getppid 300"
    wait_until test -e made
}

# expect_answer COMMAND ANSWER
expect_answer() {
    local answer
    echo "$1" >&7
    IFS= read -r -t 20 answer <&8 || fail "no answer to $1"
    expect_eq "answer to $1" "${answer%%[[:cntrl:]]*}" "$2"
}

# ThreadSanitizer starts a thread in the command's process, too, before that executes the command: the kernel may give
# the two each other's events, and then those that are told to begin at an exec(2) do so at each one of a child.
test_snapshot_without_a_spare_stops_recording_and_keeps_memory() {
    if grep -q __tsan_init "$WEIR_PROGRAM"; then skip "needs a build without ThreadSanitizer"; fi
    start_with_control -M 4M
    expect_answer snapshot "error: snapshot not allocated: recording has stopped"
    expect_answer snapshot-alloc \
        "error: no snapshot: recording has stopped; the samples in memory go to the file at the end"
    expect_answer enable "error: memory holds a permanent snapshot: it stays as it is until the end"
    expect_answer "enable raw_syscalls:sys_enter" \
        "error: memory holds a permanent snapshot: it stays as it is until the end"
    touch asked
    await_record
    expect_eq "exit status" "$status" 0
    expect_eq "calls" "$(getppid_calls it.data)" 1000
    expect_line err "snapshot not allocated: recording stops here; the samples in memory go to the file at the end"
    expect_all_accounted_for
}

# calls_in FILE...: all together.
calls_in() {
    local file sum=0
    for file; do sum=$((sum + $(getppid_calls "$file"))); done
    echo $sum
}

test_a_switch_ends_each_file_with_a_snapshot() {
    local option
    for option in -M16M --overwrite; do
        rm -f it.data.*
        record $option -m 1M --snapshot-on-exit --switch-output "${syscalls[@]}" -o it.data -- \
            sh -c "'$WEIR_LOAD' getppid 1000; kill -USR2 \$PPID
                until ls it.data.2* >/dev/null 2>&1; do sleep 0.05; done; '$WEIR_LOAD' getppid 500"
        expect_eq "files with $option" "$(find . -name 'it.data.2*' | wc -l)" 2
        expect_eq "calls with $option" "$(calls_in it.data.2*)" 1500
        expect_eq "calls in the first with $option" "$(calls_in "$(find . -name 'it.data.2*' | sort | head -1)")" 1000
    done
}

test_streams_and_compression_take_snapshots_too() {
    local option
    for option in -M16M --overwrite; do
        record $option -z -m 1M --snapshot-on-exit "${syscalls[@]}" -o it.data -- \
            sh -c "'$WEIR_LOAD' getppid 1000; $(snapshot 1); '$WEIR_LOAD' getppid 500"
        expect_eq "calls with $option -z" "$(getppid_calls it.data)" 1500
        "$WEIR_PROGRAM" record $option -m 1M --snapshot-on-exit "${syscalls[@]}" -o - -- \
            sh -c "'$WEIR_LOAD' getppid 1000; $(snapshot 1); '$WEIR_LOAD' getppid 500" 2>err >stream
        perf_bare script -i - --comm "$WEIR_LOAD_NAME" -F trace <stream >calls 2>perf.err
        expect_eq "calls with $option -o -" "$(grep -c "NR $("$WEIR_LOAD" number getppid) " calls)" 1500
    done
}

test_without_memory_the_signal_is_ignored() {
    record "${syscalls[@]}" -o it.data -- sh -c "kill -USR2 \$PPID; '$WEIR_LOAD' getppid 100"
    expect_eq "calls" "$(getppid_calls it.data)" 100
    expect_no_line err snapshot
}

test_more_than_the_machine_has_is_refused() {
    weir_record -M 1000000G -o it.data -- true
    expect_eq status "$status" 125
    expect_line err "cannot keep "
    expect_files . err
}
