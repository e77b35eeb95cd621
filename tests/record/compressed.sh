# shellcheck shell=bash
# Recordings of -z: everybody who reads COMPRESSED records finds what weir says it has written. (hotspot does not.)

needs_perf_events

calls=20000
exact=(-e raw_syscalls:sys_enter -c 1 -m 16M)

# expect_readers_of_compressed_agree FILE
expect_readers_of_compressed_agree() {
    local samples
    samples=$(told_samples)
    expect_eq "samples in the ledger" "$(ledger_column written)" "$samples"
    expect_eq "samples in perf report" "$(report_samples "$1")" "$samples"
    expect_no_warnings
    expect_eq "samples in perf script" "$(script_lines "$1")" "$samples"
    expect_no_warnings
    expect_eq "samples in weir dump" "$("$WEIR_PROGRAM" dump --type sample --json "$1" | wc -l)" "$samples"
    "$WEIR_PROGRAM" verify "$1" >told || fail "verify: $(cat told)"
}

test_each_kind_of_level() {
    local level
    for level in -z -z0 -z1 --compression-level=5 -z19; do
        record -a "$level" "${exact[@]}" -o it.data -- "$WEIR_LOAD" getppid "$calls"
        expect_eq "getppid calls of $level" "$(getppid_calls it.data)" "$calls"
        expect_readers_of_compressed_agree it.data
    done
}

test_header_and_closing_line_tell_level_and_ratio_as_perf_does() {
    record -a -z2 "${exact[@]}" -o it.data -- "$WEIR_LOAD" getppid "$calls"
    local ratio
    ratio=$(sed -n 's/^.* samples), compressed (original [0-9.]* MB, ratio is \([0-9.]*\)) \]$/\1/p' err)
    expect_line <(perf report --header-only -i it.data 2>perf.err) \
        "# compressed : Zstd, level = 2, ratio = $(printf %.0f "$ratio")"
    expect_line err " s of CPU time ("
    record_by_perf -a -z2 "${exact[@]}" -o perf.data -- "$WEIR_LOAD" getppid "$calls"
    expect_line <(perf report --header-only -i perf.data 2>perf.err) "# compressed : Zstd, level = 2, ratio = "
}

test_file_is_smaller_and_holds_several_rounds() {
    record -a "${exact[@]}" -o plain.data -- "$WEIR_LOAD" getppid $((20 * calls))
    record -a -z "${exact[@]}" -o it.data -- "$WEIR_LOAD" getppid $((20 * calls))
    expect_at_least "bytes saved" $(($(stat -c %s plain.data) - $(stat -c %s it.data))) 1
    # On a busy machine chunks go as they are, too.
    expect_at_least "times smaller" "$(awk '$1 == "compressed" && $4 == "to" { print int($2 / $5) }' err)" 5
    expect_at_least "rounds" "$(report_records it.data FINISHED_ROUND)" 1
    expect_readers_of_compressed_agree it.data
}

test_stacks_and_events_of_several_kinds() {
    record -a -z -g -e cpu-clock -F 997 -e sched:sched_switch -o it.data -- "$WEIR_LOAD" spin 100000000
    expect_readers_of_compressed_agree it.data
    perf script -i it.data --comm record_load -F ip,sym >chains
    expect_line chains hot_loop
}

test_no_compression_takes_it_back() {
    record -a -z --no-compression-level "${exact[@]}" -o it.data -- "$WEIR_LOAD" getppid "$calls"
    expect_no_line err compressed
    expect_readers_agree it.data
}

test_level_that_is_none_is_refused() {
    local level
    for level in 23 -1 fast 1k; do
        weir_record -a "-z$level" -o it.data -- true
        expect_eq "exit status of -z$level" "$status" 129
        expect_line err "option '--compression-level': '$level' is not a compression level"
    done
    expect_files . err
}

test_killed_recording_is_recovered() {
    "$WEIR_PROGRAM" record -q -z -e cpu-clock -F 1000 -o it.data -- \
        sh -c "echo \$\$ >pid; exec '$WEIR_LOAD' spin 0" 2>err &
    local victim=$!
    wait_until test -e it.data
    sleep 2.5
    kill -KILL "$victim"
    wait "$victim" || true
    kill -KILL "$(cat pid)"
    ! "$WEIR_PROGRAM" verify -q it.data || fail "verify passes a killed recording"
    "$WEIR_PROGRAM" recover -q it.data
    "$WEIR_PROGRAM" verify it.data.recovered >told || fail "verify: $(cat told)"
    expect_at_least "samples" "$(script_lines it.data.recovered)" 100
    expect_no_warnings
    expect_eq "samples in perf report" "$(report_samples it.data.recovered)" "$(script_lines it.data.recovered)"
}

# perf report --stats of 6.1 does not decompress streams, nor its own: it passes over the feature that says how.
test_stream_is_read_by_perf_and_weir() {
    "$WEIR_PROGRAM" record -a -z -e cpu-clock -F 2000 -o - -- "$WEIR_LOAD" spin 100000000 >it.data 2>err
    expect_eq "samples in perf script" "$(script_lines it.data)" "$(told_samples)"
    expect_no_warnings
    expect_eq "samples" "$("$WEIR_PROGRAM" dump --type sample --json it.data | wc -l)" "$(told_samples)"
    "$WEIR_PROGRAM" verify it.data >told || fail "verify: $(cat told)"
}
