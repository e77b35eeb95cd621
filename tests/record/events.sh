# shellcheck shell=bash
# What -e and --filter stand for on the real kernel: patterns, numbers and filters, with exact counts.

needs_perf_events

calls=500
events_of() { perf evlist -i "$1" 2>perf.err | grep -v '^# \|^dummy:u$' | sort | paste -sd ' '; }

test_pattern_stands_for_all_tracepoints_that_match() {
    record -e 'raw_sysc*:sys_*' -c 1 -o it.data -- "$WEIR_LOAD" getppid $calls
    expect_eq "events" "$(events_of it.data)" "raw_syscalls:sys_enter raw_syscalls:sys_exit"
    expect_eq "entries" $calls \
        "$(perf script -i it.data 2>perf.err | grep -c "sys_enter: NR $("$WEIR_LOAD" number getppid) ")"
    expect_readers_agree it.data
}

test_number_of_a_tracepoint_is_decoded_like_its_name() {
    record -e "2:$(cat /sys/kernel/tracing/events/raw_syscalls/sys_enter/id)" -c 1 -o it.data -- \
        "$WEIR_LOAD" getppid $calls
    expect_eq "calls" "$(perf script -i it.data 2>perf.err | grep -c "NR $("$WEIR_LOAD" number getppid) ")" $calls
}

test_filter_lets_through_what_matches_and_no_more() {
    local number
    number=$("$WEIR_LOAD" number getppid)
    record -e raw_syscalls:sys_enter --filter "id == $number" -c 1 -o it.data -- "$WEIR_LOAD" getppid $calls
    expect_eq "samples" "$(script_lines it.data)" $calls
    record -e raw_syscalls:sys_enter --filter "id == $number" --filter 'common_pid < 0' --exclude-perf -a -c 1 \
        -o it.data -- "$WEIR_LOAD" getppid $calls
    expect_eq "samples" "$(script_lines it.data)" 0
}

test_refused_filter_leaves_the_earlier_recording() {
    record -e cs -o it.data -- true
    cp it.data before
    weir_record -e raw_syscalls:sys_enter --filter 'bogus == 1' -o it.data -- true
    expect_eq "status" "$status" 125
    expect_line err "cannot set filter 'bogus == 1' on event raw_syscalls:sys_enter: Invalid argument"
    cmp it.data before || fail "the earlier recording has changed"
}

test_list_of_nothing_is_a_failure() {
    status=0
    "$WEIR_PROGRAM" list no-such-event >listed 2>err || status=$?
    expect_eq "status" "$status" 125
    expect_line err "weir: no event of this machine matches"
    expect_line err "hint: 'weir list' shows all; a pattern without a colon matches any part of a name"
}

test_list_shows_what_can_be_recorded() {
    "$WEIR_PROGRAM" list 'raw_syscalls:*' >listed
    expect_line listed 'raw_syscalls:sys_enter'
    expect_line listed 'raw_syscalls:sys_exit'
    expect_eq "lines" "$(wc -l <listed)" 2
    "$WEIR_PROGRAM" list --json sw | grep -q '"name": "cpu-clock"' || fail "cpu-clock is not listed"
}

# A PMU of the kernel's software events that says what its counts are in, and counts on one CPU.
test_unit_scale_and_cpus_of_an_event_are_told() {
    unshare -m true 2>/dev/null || skip "needs CAP_SYS_ADMIN: unshare(2)"
    mkdir -p pmus/made_up/format pmus/made_up/events
    echo 1 >pmus/made_up/type
    echo 0 >pmus/made_up/cpumask
    echo config:0-63 >pmus/made_up/format/event
    echo event=0x0 >pmus/made_up/events/ticks
    echo Joules >pmus/made_up/events/ticks.unit
    echo 0.5 >pmus/made_up/events/ticks.scale
    # shellcheck disable=SC2016
    unshare -m sh -c 'mount --bind pmus /sys/bus/event_source/devices; exec "$@"' sh "$WEIR_PROGRAM" record -v -a \
        -e made_up/ticks/ -F 100 -o it -- sleep 0.1 2>err || fail "status $?"
    "$WEIR_PROGRAM" dump --type event_update it >dumped
    expect_eq "what is told" "$(grep '^\.\.\. [usc]' dumped | paste -sd ';')" \
        "... unit:  Joules;... scale: 0.500000;... cpus:  0"
    # Those of no event are the timeline's.
    local timelines
    timelines=$(grep -c '^\.\.\. id:  *0$' dumped || true)
    expect_eq "records that perf finds" "$(report_records it EVENT_UPDATE)" $((3 + timelines))
    expect_no_warnings
    expect_eq "samples in perf report" "$(report_samples it)" "$(told_samples)"
    ! "$WEIR_PROGRAM" info it | grep -i 'cpus.*change' || fail "no CPU has come or gone"
}

# What the kernel prepares of a sample it prepares once for both (weir_event_list_find_misnamed()).
test_two_recorders_of_one_kind_of_event_keep_their_samples_apart() {
    local file
    record -e faults -c 1 -o it.data -- \
        "$WEIR_PROGRAM" record -q -e faults -c 1 -o inner.data -- "$WEIR_LOAD" getppid 1
    expect_eq "samples in the ledger" "$(ledger_column written)" "$(told_samples)"
    for file in it.data inner.data; do
        "$WEIR_PROGRAM" verify "$file" >verify.out 2>&1 || fail "$file: $(grep -v ^ok verify.out)"
    done
}
