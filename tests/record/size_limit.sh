# shellcheck shell=bash
# --max-size: recording ends by itself, and what is in the file is whole.

needs_perf_events

# expect_told_ratio FILE: the closing line tells of what is in the file, not of what the limit left out.
expect_told_ratio() {
    local packed
    packed=$("$WEIR_PROGRAM" dump --type compressed "$1" | sed -n 's/.*\[\(0x[0-9a-f]*\)\]: event: 81$/\1/p' |
        while read -r size; do echo $((size)); done | awk '{ sum += $1 } END { print sum + 0 }')
    sed -n 's/.*compressed (original \([0-9.]*\) MB, ratio is \([0-9.]*\)).*/\1 \2/p' err |
        awk -v packed="$packed" '{ told = $1 * 1048576 / $2; exit !(told > packed * 0.99 && told < packed * 1.01) }' ||
        fail "the closing line does not tell of $packed bytes"
}

# Without what others have mapped, of which there may be more than 2 MB.
test_recording_ends_below_the_limit_and_the_workload_with_it() {
    local option samples
    for option in '' -z; do
        weir_record -a $option --max-size=2M --synth=no -e raw_syscalls:sys_enter -c 1 -m 16M -o it.data -- \
            "$WEIR_LOAD" getppid 1000000000
        expect_eq "exit status, that of the workload" "$status" $((128 + 15))
        expect_line err "[ weir record: weir size limit reached ("
        expect_at_least "room" $((2 * 1048576 + 200000 - $(stat -c %s it.data))) 0
        # Less room is left than a record takes.
        [ "$option" ] || expect_at_least "bytes" "$(stat -c %s it.data)" $((2 * 1048576 - 512))
        samples=$(told_samples)
        expect_eq "counted by the kernel" "$(produced)" "$(written_and_lost)"
        expect_eq "written" "$(ledger_column written)" "$samples"
        expect_eq "samples in perf report" "$(report_samples it.data)" "$samples"
        expect_no_warnings
        [ -z "$option" ] || expect_told_ratio it.data
        "$WEIR_PROGRAM" verify -q it.data || fail "verify: $("$WEIR_PROGRAM" verify it.data)"
    done
}

# Each file has half a MiB or a little more of samples: none comes to the limit alone.
test_limit_is_that_of_all_files() {
    weir_record --max-size=3M --switch-output -e raw_syscalls:sys_enter -c 1 -m 1M -o it.data -- \
        sh -c "for n in 1 2 3 4 5 6 7 8 9 10 11 12; do
                '$WEIR_LOAD' getppid 5000
                kill -USR2 \$PPID
                until [ \$(grep -c ' Dump ' err) -ge \$n ]; do sleep 0.02; done
            done"
    expect_eq "exit status, that of the workload" "$status" $((128 + 15))
    expect_line err "[ weir record: weir size limit reached ("
    expect_at_least "files" "$(grep -c ' Dump ' err)" 3
    expect_eq "counted by the kernel" "$(produced)" "$(written_and_lost)"
}

test_limit_that_is_not_reached_says_nothing() {
    record -a --max-size=1G --timestamp-boundary -e cpu-clock -o it.data -- "$WEIR_LOAD" spin 50000000
    expect_no_line err "size limit"
    expect_readers_agree it.data
    perf report --header-only -i it.data >header 2>perf.err
    expect_line header "# time of first sample : "
}

test_limit_that_is_none_is_refused() {
    local size
    for size in 0 -1 2T big; do
        weir_record -a --max-size="$size" -o it.data -- true
        expect_eq "exit status of --max-size=$size" "$status" 129
    done
    expect_files . err
}

test_limit_that_leaves_no_room_for_samples_says_so() {
    weir_record -a --max-size=1 -e raw_syscalls:sys_enter -c 1 -o it.data -- "$WEIR_LOAD" getppid 1000000000
    expect_line err "--max-size left no room for samples"
    expect_eq "samples in perf report" "$(report_samples it.data)" 0
    weir_record --max-size=100K --synth=no -e raw_syscalls:sys_enter -c 1 -o it.data -- \
        "$WEIR_LOAD" getppid 1000000000
    expect_no_line err "left no room"
    expect_at_least "samples" "$(told_samples)" 500
}
