# shellcheck shell=bash disable=SC2154 # weir: of start_record
# When it was recorded and lost: over the whole timeline as much as the file and the ledger say.

needs_perf_events

# timeline_sum COLUMN FILE: of its table. Columns: samples lost.
timeline_sum() {
    local column=4
    [ "$1" = samples ] || column=5
    "$WEIR_PROGRAM" info --timeline "$2" |
        awk -v column="$column" '$1 != "time" { sum += $column } END { print sum + 0 }'
}

info_samples() { "$WEIR_PROGRAM" info "$1" | sed -n 's/^samples *\([0-9]*\),.*/\1/p'; }

expect_whole_timeline() {
    expect_eq "samples of the timeline of $1" "$(timeline_sum samples "$1")" "$(info_samples "$1")"
}

# The kernel tells of a loss with the ring's next record.
test_losses_are_in_the_interval_of_their_time() {
    record -e raw_syscalls:sys_enter -c 1 -m 64K -o it.data -- taskset -c 0 \
        sh -c "$(while_stopped getppid 50000); sleep 0.1; sleep 1.3; '$WEIR_LOAD' getppid 50"
    expect_at_least "lost" "$(timeline_sum lost it.data)" 1000
    expect_eq "lost" "$(timeline_sum lost it.data)" "$(ledger_column lost_in_ring raw_syscalls:sys_enter)"
    expect_eq "samples" "$(timeline_sum samples it.data)" "$(told_samples)"
    "$WEIR_PROGRAM" info --timeline it.data >table
    expect_at_least "intervals" "$(grep -c '%$' table)" 2
    expect_eq "lost at the end, long after the losses" "$(tail -1 table | awk '{ print $5 }')" 0
    expect_readers_agree it.data
}

# Without a later LOST record: the ring is full when it ends.
test_losses_at_the_very_end() {
    record -e raw_syscalls:sys_enter -c 1 -m 4K -o it.data -- sh -c "$(while_stopped getppid 5000)"
    expect_eq "lost" "$(timeline_sum lost it.data)" "$(ledger_column lost_in_ring raw_syscalls:sys_enter)"
}

test_each_file_of_a_rotation_has_its_part() {
    record -e raw_syscalls:sys_enter -c 1 --switch-output -o it.data -- \
        sh -c "'$WEIR_LOAD' getppid 3000; sleep 0.2; kill -USR2 \$PPID; sleep 0.5; '$WEIR_LOAD' getppid 2000"
    local file files=0
    for file in it.data.*; do
        expect_at_least "samples of $file" "$(timeline_sum samples "$file")" 1000
        expect_whole_timeline "$file"
        files=$((files + 1))
    done
    expect_eq "files" "$files" 2
}

test_stream_and_compressed() {
    "$WEIR_PROGRAM" record -q -a -e raw_syscalls:sys_enter -c 1 -o - -- "$WEIR_LOAD" getppid 1000 >it.stream 2>err
    expect_whole_timeline it.stream
    record -z -a -e raw_syscalls:sys_enter -c 1 -o it.data -- "$WEIR_LOAD" getppid 1000
    expect_whole_timeline it.data
}

has_interval() { [ "$(timeline_sum samples "$1" 2>/dev/null)" -gt 0 ]; }

test_killed_recording_has_what_its_last_checkpoint_covers() {
    start_record it.data -e cpu-clock -F 1000 -- "$WEIR_LOAD" spin 0
    wait_until has_interval it.data
    kill -KILL "$weir"
    wait "$weir" || true
    has_interval it.data || fail "the file has lost its timeline"
    "$WEIR_PROGRAM" recover -o whole.data it.data 2>told || fail "recover: $(cat told)"
    expect_at_least "samples after recovery" "$(timeline_sum samples whole.data)" "$(timeline_sum samples it.data)"
}

test_other_recordings_have_none() {
    record_by_perf -e cpu-clock -o it.data true
    expect_eq "timeline" "$("$WEIR_PROGRAM" info --timeline it.data 2>err)" ""
    expect_line err "weir: warning: it.data has no timeline"
    expect_eq "timeline as JSON" "$("$WEIR_PROGRAM" info --timeline=json it.data 2>err)" "[]"
}
