# shellcheck shell=bash
# perf's parallel layout, as perf record --threads writes it: a directory with a file for each thread. weir reads it.

needs_perf_events

# expect_agreement DIR: perf and weir find as many samples, and there are some.
expect_agreement() {
    local samples
    samples=$(report_samples "$1")
    expect_at_least "samples in perf report" "$samples" "${2:-10}"
    "$WEIR_PROGRAM" dump --type SAMPLE "$1" >dumped
    expect_eq "samples in weir dump" "$(grep -c ': PERF_RECORD_SAMPLE' dumped)" "$samples"
    "$WEIR_PROGRAM" verify "$1" >verified || fail "weir verify: $(cat verified)"
    "$WEIR_PROGRAM" info --json "$1" >info.json
    expect_line info.json '"form":"directory"'
}

# lost_by_perf: samples of `it` that perf lost, by the kernel's count.
lost_by_perf() {
    perf_bare report --stats -i it 2>perf.err | awk '
        inside && $1 == "LOST_SAMPLES" { sum += $3 }
        / stats:$/ { inside = $1 != "Aggregated" }
        END { print sum + 0 }'
}

# expect_calls CALLS: perf's recorder has written or counted each. On a busy machine perf loses some, and with --threads
# it has been seen to write samples twice.
expect_calls() {
    expect_at_least "getppid calls and losses" $(($(getppid_calls it) + $(lost_by_perf))) "$1"
}

test_option_that_wrote_one_is_refused_with_what_to_do() {
    weir_record --output-format=dir -o it -- touch ran
    expect_eq "status" "$status" 129
    expect_line err "option '--output-format' is no longer in weir"
    expect_line err "hint: leave it out: one file is written"
    expect_files . err
}

test_directory_is_read() {
    needs_second_cpu
    record_directory it -a -e sched:sched_switch -e cpu-clock -F 2000 -- sleep 0.3
    local cpu files=data
    for ((cpu = 0; cpu < $(cpus_online); cpu++)); do files="$files data.$cpu"; done
    expect_files it "$files"
    expect_agreement it
}

test_storm_is_read() {
    record_directory it -a -e raw_syscalls:sys_enter -c 1 -m 16M -- "$WEIR_LOAD" getppid 50000
    expect_agreement it
    expect_calls 50000
}

# One zstd stream in each file; what reads a part of it must not need what is in another one.
# On a busy machine perf's compressing threads lose samples without a word, and cut what they keep.
test_compressed_storm_is_read() {
    local tries
    for ((tries = 0; tries < 5; tries++)); do
        record_directory it -z -e raw_syscalls:sys_enter -c 1 -m 16M -- "$WEIR_LOAD" getppid 50000
        [ "$(getppid_calls it)" != 50000 ] || break
    done
    [ $tries -lt 5 ] || skip "needs a recording in which perf loses nothing: five had losses"
    expect_agreement it 50000
}

has_samples() { [ "$("$WEIR_PROGRAM" dump --type sample --json it 2>dump.err | wc -l)" -ge 10 ]; }

# perf cannot read it before: what DIR_FORMAT says is written last. perf writes a ring when half of it is full.
test_killed_recording_is_recovered() {
    local options samples perf
    "$WEIR_LOAD" spin 0 &
    at_end kill $!
    for options in '-e cpu-clock -F 2000' '-z -e cpu-clock -F 2000'; do
        rm -rf it whole
        # shellcheck disable=SC2086 # words
        perf record --threads -o it -a -m 64K $options >perf.out 2>&1 &
        perf=$!
        wait_until test -s it/data.0
        "$WEIR_LOAD" forks 50 1
        wait_until has_samples
        kill -KILL "$perf"
        wait "$perf" || true
        "$WEIR_PROGRAM" recover -q -o whole it
        samples=$("$WEIR_PROGRAM" dump --type sample --json it 2>dump.err | wc -l)
        expect_at_least "samples" "$samples" 10
        expect_eq "samples in perf report" "$(report_samples whole)" "$samples"
        expect_eq "samples in perf script" "$(script_lines whole)" "$samples"
        "$WEIR_PROGRAM" verify whole >verified || fail "weir verify: $(cat verified)"
        "$WEIR_PROGRAM" recover -q --in-place it
        expect_eq "samples in place" "$(report_samples it)" "$samples"
    done
}
