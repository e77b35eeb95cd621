# shellcheck shell=bash
# --overwrite: the kernel's rings keep the newest samples, and are read at the end and when SIGUSR2 asks for it.

needs_perf_events

overwrite=(--overwrite -e raw_syscalls:sys_enter -c 1)

expect_good_file() {
    expect_eq "weir verify" "$("$WEIR_PROGRAM" verify it.data >verify.out && echo right)" right
    expect_readers_agree it.data
    expect_eq "written, evicted and lost" "$(written_and_lost)" "$(produced)"
}

test_the_last_calls_are_there_in_rings_of_one_page() {
    local nr
    nr=$("$WEIR_LOAD" number getppid)
    record "${overwrite[@]}" -m 1 -o it.data -- "$WEIR_LOAD" getppid 20000
    expect_at_least "samples" "$(told_samples)" 30
    expect_at_least "evicted" "$(ledger_column evicted)" 19000
    # It ends by another call; what stands before that are the calls that it made last.
    perf_bare script -i it.data --comm "$WEIR_LOAD_NAME" -F trace 2>perf.err >calls
    expect_eq "last call" "$(tail -1 calls | grep -c "NR $nr ")" 0
    expect_at_least "calls" "$(grep -c "NR $nr " calls)" 25
    expect_good_file
}

test_a_ring_that_is_large_enough_holds_all() {
    record "${overwrite[@]}" -m 1M -o it.data -- "$WEIR_LOAD" getppid 2000
    expect_eq "calls" "$(getppid_calls it.data)" 2000
    expect_eq "evicted" "$(ledger_column evicted)" 0
    expect_line err "[ weir record: Took 1 snapshot ]"
    expect_good_file
}

test_each_signal_reads_what_came_since_the_last() {
    record "${overwrite[@]}" -m 1M -o it.data -- sh -c "'$WEIR_LOAD' getppid 1000; kill -USR2 \$PPID
        until grep -q 'snapshot 1 is in the file' err; do sleep 0.02; done; '$WEIR_LOAD' getppid 500"
    expect_eq "calls" "$(getppid_calls it.data)" 1500
    expect_line err "Took 2 snapshots"
    expect_good_file
}

test_names_and_maps_outlive_what_is_overwritten() {
    record --overwrite -m 64K -e cpu-clock -F 10000 -o it.data -- "$WEIR_LOAD" forks 100 1000000
    perf script -i it.data --comm record_load -F comm,ip,sym,dso 2>perf.err >samples
    expect_at_least "samples" "$(wc -l <samples)" 50
    expect_eq "samples without a map" "$(grep -F '([unknown])' samples || true)" ""
    expect_readers_agree it.data
}

test_all_cpus_and_one_reader() {
    record -a --threads=package "${overwrite[@]}" -m 1M -o it.data -- "$WEIR_LOAD" getppid 2000
    expect_eq "calls" "$(getppid_calls it.data)" 2000
    expect_good_file
}

# commands_of_before FILE: how often the task of the file `pid` is described as one that was there.
commands_of_before() {
    perf script -i "$1" --show-task-events 2>perf.err | grep -c " 0.000000: PERF_RECORD_COMM: .*:$(cat pid)/" || true
}

# Rings are paused while they are read: not for as long as the disk takes, of tasks neither.
test_pool_takes_the_rings_of_all_tasks() {
    open_gate
    "$WEIR_LOAD" threads 40 0 1 <gate &
    wait_until has_threads $! 41
    start_record it.data "${overwrite[@]}" --threads=package --per-thread -m 1M -p $!
    release_gate
    await_record
    expect_eq "status" "$status" 0
    expect_line err "82 rings of 1M, pool 42M, " # whole chunks of 2 MiB
}

test_tail_synthesize_describes_the_end() {
    local option
    for option in --tail-synthesize --no-tail-synthesize; do
        record -a $option -e cpu-clock -o it.data -- sh -c 'sleep 20 & echo $! >pid'
        kill "$(cat pid)"
        expect_eq "times it was there with $option" "$(commands_of_before it.data)" $((${#option} == 17))
        expect_eq "FINISHED_INIT" "$(report_records it.data FINISHED_INIT)" 1
        expect_readers_agree it.data
    done
}

# The end of the recording is too late for a file that ends before.
test_files_that_end_before_are_described_at_the_start() {
    local file
    echo $$ >pid # of this test: it is there all the time
    record -a --tail-synthesize --switch-output -e cpu-clock -o it.data -- \
        sh -c "kill -USR2 \$PPID; until ls it.data.2* >/dev/null 2>&1; do sleep 0.02; done"
    for file in it.data.2*; do
        expect_at_least "times that it was there in $file" "$(commands_of_before "$file")" 1
    done
}

test_the_term_does_the_same_for_all_events() {
    record -e raw_syscalls:sys_enter/overwrite/ -c 1 -m 1M -o it.data -- "$WEIR_LOAD" getppid 2000
    expect_eq "calls" "$(getppid_calls it.data)" 2000
    expect_good_file
}

test_some_events_only_are_refused() {
    weir_record -e cpu-clock/overwrite/,faults -o it.data -- true
    expect_eq status "$status" 125
    expect_line err "cannot overwrite samples of some events only: all of them share a ring"
    expect_files . err
}

# expect_excluded TEXT OPTIONS...
expect_excluded() {
    local text=$1
    shift
    weir_record "$@" -o it.data -- touch ran
    expect_eq status "$status" 129
    expect_line err "weir: option $text"
    expect_files . err
}

test_the_term_excludes_what_the_option_excludes() {
    expect_excluded "'--overwrite' cannot be used with '--memory'" -M 1M -e cs/overwrite/
    expect_excluded "'--snapshot-keep' needs -M, --overwrite or -S" --overwrite --snapshot-keep 2 -e cs/no-overwrite/
}

# perf keeps as many of the newest events in rings of the same size.
test_as_many_as_perf_keeps() {
    record_by_perf "${overwrite[@]}" -C 0 -m 64K -o perf.data -- taskset -c 0 "$WEIR_LOAD" getppid 20000
    record "${overwrite[@]}" -C 0 -m 64K -o it.data -- taskset -c 0 "$WEIR_LOAD" getppid 20000
    # perf leaves out PERF_SAMPLE_PERIOD or writes it, by version: the samples differ by a few bytes.
    expect_at_least "samples" "$(($(told_samples) * 10))" "$(($(report_samples perf.data) * 9))"
}

# The count of such a tracepoint is one of nanoseconds: it does not say how many samples there were.
test_nanoseconds_are_not_taken_for_samples() {
    record -a --overwrite -e sched:sched_stat_runtime -c 1 -m 8M -o it.data -- "$WEIR_LOAD" forks 20 1000000
    expect_at_least "counted" "$(ledger_column counted sched:sched_stat_runtime)" 1000000
    expect_eq "evicted" "$(ledger_column evicted sched:sched_stat_runtime)" 0
    expect_line err "Took 1 snapshot ]"
    expect_readers_agree it.data
}
