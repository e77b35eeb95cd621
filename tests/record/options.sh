# shellcheck shell=bash
# Options that change how weir records, not what: as its caller sees them.

needs_perf_events

test_dry_run_checks_and_does_nothing() {
    weir_record --dry-run -a -e cpu-clock -o it.data -- touch ran
    expect_eq "status" "$status" 0
    expect_line err "weir: reader 0: cpus 0"
    expect_files . err
    weir_record --dry-run -a -e cpu-clock -o not-there/it.data -- touch ran
    expect_eq "status" "$status" 125
    expect_files . err
}

test_descriptors_of_all_tasks_that_are_named_are_told() {
    local first
    sleep 20 &
    first=$!
    sleep 20 &
    at_end kill "$first" $!
    # Two events of two tasks on each CPU, and what -s opens for each task; two per reader, 64 for the rest.
    weir_record --dry-run -s -p "$first,$!" -e cs -o it.data
    expect_eq "status" "$status" 0
    expect_line err "weir: files: $((2 * 2 * $(cpus_online) + 2 + 2 * $(cpus_online) + 64)) descriptors"
    weir_record --dry-run --per-thread -p "$first,$!" -e cs -o it.data
    expect_eq "status" "$status" 0
    expect_line err "weir: files: $((2 * 2 + 2 * $(cpus_online) + 64)) descriptors"
}

test_quiet_says_nothing() {
    "$WEIR_PROGRAM" record -q -a -o it.data -- true >out 2>err || fail "weir record failed"
    expect_eq "output" "$(cat out err)" ""
}

test_nothing_goes_to_standard_output() {
    "$WEIR_PROGRAM" record -v -a -e cpu-clock -o it.data -- echo "the workload's" >out 2>err ||
        fail "weir record failed"
    expect_eq "standard output" "$(cat out)" "the workload's"
}

# ThreadSanitizer has a thread of its own in the process, which bears the process's name and sleeps 100 ms at a time.
without_sanitizer() {
    if grep -q __tsan_init "$WEIR_PROGRAM"; then
        awk -v main="$weir" '$1 != "weir" || $2 == main'
    else
        cat
    fi
}

# The recorder's own calls: with the option none of any of its threads, without it some.
test_exclude_perf_leaves_out_all_threads_of_weir() {
    local option
    for option in --exclude-perf --no-exclude-perf; do
        start_record it.data $option -a -e raw_syscalls:sys_enter -c 1 -m 16M -- "$WEIR_LOAD" getppid 20000
        await_record
        expect_eq "status" "$status" 0
        expect_eq "getppid calls" "$(getppid_calls it.data)" 20000
        perf_bare script -i it.data --pid "$weir" -F comm,tid 2>/dev/null | without_sanitizer >own
        expect_no_line err "own samples"
        case $option in
        --exclude-perf) expect_eq "weir's own calls" "$(sort own | uniq -c)" "" ;;
        *) expect_at_least "weir's own calls" "$(wc -l <own)" 1 ;;
        esac
    done
}

test_exclude_perf_leaves_out_the_thread_that_finishes_files() {
    local file
    start_record it.data --exclude-perf -a -e raw_syscalls:sys_enter -c 1 -m 16M --switch-output -- \
        sh -c "while ! [ -e enough ]; do sleep 0.05; done"
    kill -USR2 "$weir"
    wait_until grep -q Dump err
    touch enough
    await_record
    expect_eq "files" "$(find . -name 'it.data.*' | wc -l)" 2
    for file in it.data.*; do perf_bare script -i "$file" --pid "$weir" -F comm,tid 2>/dev/null; done |
        without_sanitizer >own
    expect_eq "weir's own calls" "$(sort own | uniq -c)" ""
}

test_exclude_perf_goes_with_the_users_filter() {
    local number
    number=$("$WEIR_LOAD" number getppid)
    record --exclude-perf -a -e raw_syscalls:sys_enter --filter "id == $number || id == 1" -c 1 -m 16M -o it.data -- \
        "$WEIR_LOAD" getppid 1000
    expect_eq "getppid calls" "$(getppid_calls it.data)" 1000
    expect_eq "other calls" "$(perf_bare script -i it.data -F trace | grep -cv "NR \($number\|1\) " || true)" 0
}

# Though the filters are set when weir's threads are there, and so is its output.
test_bad_filter_with_exclude_perf_touches_nothing() {
    echo before >it.data
    weir_record --exclude-perf -a -e sched:sched_switch --filter 'bogus > 1' -o it.data -- touch ran
    expect_eq "status" "$status" 125
    expect_line err "weir: cannot set filter 'bogus > 1' on event sched:sched_switch: Invalid argument"
    expect_files . err it.data
    expect_eq "old file" "$(cat it.data)" before
}

test_exclude_perf_says_which_events_it_cannot_filter() {
    local text="weir's own samples of cpu-clock are recorded: the kernel leaves tasks out of tracepoints only"
    record --exclude-perf -a -e sched:sched_switch,cpu-clock -o it.data -- true
    expect_line err "weir: warning: $text"
    record --exclude-perf -e sched:sched_switch,cpu-clock -o it.data -- true
    expect_no_line err "own samples"
}

test_realtime_priority_is_that_of_readers_and_writer() {
    start_record it.data -r 7 -a -e cpu-clock -- sleep 0.5
    # The kernel's own workers of io_uring (iou-wrk) come and go.
    expect_eq "classes and priorities" "$(ps -L -o comm=,cls=,rtprio= -p "$weir" | grep -v '^iou-' | xargs -n3 |
        sed 's/-[0-9]* / /' | sort -u | paste -sd,)" \
        "weir TS -,weir-build-ids TS -,weir-pool FF 7,weir-reader FF 7,weir-sideband TS -,weir-writer FF 7"
    await_record
    expect_eq "status" "$status" 0
    expect_readers_agree it.data
}

test_small_pool_and_ring_record_all_the_same() {
    record -e raw_syscalls:sys_enter -c 1 -m 128K --buffer-size 1M -o it.data -- "$WEIR_LOAD" getppid 20000
    expect_eq "written and lost" "$(written_and_lost)" "$(produced)"
    expect_readers_agree it.data
}
