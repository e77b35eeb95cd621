# shellcheck shell=bash
# How a recording ends: exit statuses of the workload and of weir, signals to weir, targets that go away.

# shellcheck disable=SC2016 # the workload is to expand them
needs_perf_events
needs_program perl

sampling=(-e cpu-clock -o it.data)

# The timers of all CPUs leave little time to anybody, and the end must still come.
test_signal_ends_a_recording_at_the_highest_frequency() {
    local most
    most=$(cat /proc/sys/kernel/perf_event_max_sample_rate)
    start_record it.data -a -e cpu-clock -F max
    kill -INT "$weir"
    await_record
    expect_eq "status" "$status" 130
    if [ "$most" = 100000 ]; then
        grep -q '^weir: warning: event cpu-clock interrupts each CPU 100000 times a second' err || fail "no warning"
    fi
}

test_workload_exit_status_is_weirs() {
    local code
    for code in 0 1 3 42 125 255; do
        weir_record "${sampling[@]}" -- sh -c "exit $code"
        expect_eq "status" "$status" "$code"
    done
}

# The end of the task's events and the end of the task race: each must give the same.
test_workload_exit_status_is_weirs_every_time() {
    local try
    for ((try = 0; try < 20; try++)); do
        weir_record "${sampling[@]}" -- sh -c "exit 3"
        expect_eq "status" "$status" 3
    done
}

test_workload_killed_by_a_signal_is_128_and_its_number() {
    local signal
    for signal in TERM KILL SEGV INT HUP USR2; do
        weir_record "${sampling[@]}" -- sh -c "kill -$signal \$\$"
        expect_eq "status after SIG$signal" "$status" $((128 + $(kill -l $signal)))
    done
}

# expect_refused STATUS TEXT: weir said so, ran nothing and touched no file.
expect_refused() {
    expect_eq "status" "$status" "$1"
    expect_line err "$2"
    expect_eq "the file of before" "$(cat it.data)" "of before"
    rm err
    expect_files . it.data not-executable
}

test_workload_that_cannot_run_leaves_all_as_it_was() {
    echo "of before" >it.data
    echo "no program" >not-executable
    weir_record "${sampling[@]}" -- no-such-command
    expect_refused 127 "cannot run 'no-such-command': No such file or directory"
    weir_record -a "${sampling[@]}" -- ./not-there
    expect_refused 127 "cannot run './not-there': No such file or directory"
    weir_record "${sampling[@]}" -- ./not-executable
    expect_refused 126 "cannot run './not-executable': Permission denied"
    weir_record -a "${sampling[@]}" -- /
    expect_refused 126 "cannot run '/': Permission denied"
}

# What the command has left behind is neither waited for nor ended.
test_workload_that_leaves_a_daemon_ends_the_recording() {
    local began=$SECONDS
    weir_record "${sampling[@]}" -- sh -c 'setsid sleep 60 </dev/null >/dev/null 2>&1 & echo $! >daemon; exit 4'
    expect_eq "status" "$status" 4
    [ $((SECONDS - began)) -lt 30 ] || fail "it was waited for"
    kill "$(cat daemon)" || fail "it was ended"
    expect_readers_agree it.data
}

test_existing_file_becomes_old_when_recording_begins() {
    echo "of before" >it.data
    record "${sampling[@]}" -- true
    expect_eq "it.data.old" "$(cat it.data.old)" "of before"
    expect_readers_agree it.data
    expect_eq "mode" "$(stat -c %a it.data)" 600
}

# Runs a command in a group of its own with the signal actions of a foreground job, and writes its pid into pid and how
# it ended into wait-status: bash makes background jobs ignore SIGINT, and tells 128 + N for an exit and for a signal.
run_and_tell() {
    perl -e '
        $SIG{$_} = "DEFAULT" for qw(INT QUIT HUP TERM);
        my $pid = fork() // die;
        if (!$pid) { setpgrp; exec @ARGV or die }
        open(my $to, ">", "pid.new"); print $to $pid; close $to; rename "pid.new", "pid";
        waitpid($pid, 0);
        open($to, ">", "wait-status"); print $to ($? & 127) ? "signal " . ($? & 127) : "exit " . ($? >> 8);
    ' "$@"
}

expect_died_by() { expect_eq "wait status" "$(cat wait-status)" "signal $1"; }

# record_and_signal SIGNAL... -- ARGUMENT...: records until these signals; how weir ended is in wait-status.
record_and_signal() {
    local signals=()
    while [ "$1" != -- ]; do signals+=("$1") && shift; done
    shift
    rm -f pid wait-status it.data
    run_and_tell "$WEIR_PROGRAM" record -v -o it.data "$@" 2>err &
    local runner=$!
    wait_until test -e it.data
    sleep 0.1
    local signal
    for signal in "${signals[@]}"; do kill "-$signal" -- "$(cat pid)" 2>/dev/null || true; done
    wait "$runner"
}

test_signal_finishes_the_file_and_is_raised_again() {
    local signal
    for signal in INT TERM HUP QUIT; do
        record_and_signal $signal -- -a -e cpu-clock -F 1000
        expect_died_by "$(kill -l $signal)"
        expect_readers_agree it.data
        expect_files . err hotspot.err it.data perf.err pid wait-status # no core file either
    done
}

test_second_signal_hurries_and_the_file_is_whole() {
    record_and_signal INT INT -- -a -e cpu-clock -F 1000
    expect_died_by 2
    expect_readers_agree it.data
    record_and_signal INT TERM HUP INT -- -a -e cpu-clock -F 1000
    expect_readers_agree it.data
}

test_signal_to_the_whole_group_is_raised_again() {
    rm -f pid
    run_and_tell "$WEIR_PROGRAM" record -v "${sampling[@]}" -- sleep 100 2>err &
    local runner=$!
    wait_until test -e it.data
    kill -INT -- "-$(cat pid)"
    wait "$runner"
    expect_died_by 2
    expect_readers_agree it.data
}

test_hangup_that_was_ignored_stays_ignored() {
    (
        trap '' HUP
        exec "$WEIR_PROGRAM" record -v "${sampling[@]}" -- sh -c 'kill -HUP $PPID; sleep 0.2; exit 9'
    ) 2>err || status=$?
    expect_eq "status" "$status" 9
}

test_sigusr2_is_ignored() {
    weir_record "${sampling[@]}" -- sh -c 'kill -USR2 $PPID; kill -USR2 $PPID; sleep 0.1; exit 5'
    expect_eq "status" "$status" 5
    expect_readers_agree it.data
}

# stubborn TRAP: a workload that goes on until its trap of SIGTERM lets it end.
stubborn() { echo "trap '$1' TERM; echo \$\$ >ready; while :; do sleep 0.02; done"; }

test_workload_is_terminated_when_a_signal_ends_recording() {
    run_and_tell "$WEIR_PROGRAM" record -v "${sampling[@]}" -- sh -c "$(stubborn 'echo ended >told; exit 0')" 2>err &
    local runner=$!
    wait_until test -s ready
    kill -INT -- "$(cat pid)"
    wait "$runner"
    expect_died_by 2
    expect_eq "the workload's trap" "$(cat told)" ended
}

test_second_signal_ends_the_wait_for_a_workload_that_will_not_end() {
    run_and_tell "$WEIR_PROGRAM" record -v "${sampling[@]}" -- sh -c "$(stubborn ': >told')" 2>err &
    local runner=$!
    wait_until test -s ready
    kill -INT -- "$(cat pid)"
    wait_until test -e told
    wait_until grep -q "the file is complete; waiting for the command (pid $(cat ready)), which has not ended" err
    kill -INT -- "$(cat pid)"
    wait "$runner"
    kill -KILL "$(cat ready)" # weir left it to itself
    expect_died_by 2
    expect_readers_agree it.data
}

# It comes while a command of --on-rotate is waited for, and no third one is needed.
test_second_signal_ends_all_that_is_waited_for() {
    printf '#!/bin/sh\n: >rotated\nexec sleep 20\n' >on-rotate
    chmod +x on-rotate
    start_record it.data -e cpu-clock --on-rotate ./on-rotate -- sh -c "$(stubborn ': >told')"
    wait_until test -s ready
    kill -INT "$weir"
    wait_until test -e rotated
    kill -INT "$weir"
    await_record
    kill -KILL "$(cat ready)" # weir left it to itself
    expect_eq "status" "$status" $((128 + 2))
}

test_workload_of_another_target_is_terminated_when_the_target_ends() {
    sleep 0.5 &
    weir_record "${sampling[@]}" -p $! -- sh -c "$(stubborn 'echo ended >told; exit 0')"
    expect_eq "status" "$status" 0
    expect_eq "the workload's trap" "$(cat told)" ended
}

test_workload_of_another_target_ends_the_recording() {
    sleep 100 &
    weir_record "${sampling[@]}" -p $! -- sh -c 'exit 4'
    expect_eq "status" "$status" 4
    kill -0 $! || fail "the target was ended"
}

test_closed_standard_streams_are_nobodys() {
    local streams
    for streams in '<&-' '>&-' '2>&-' '<&- >&- 2>&-'; do
        status=0
        eval '"$WEIR_PROGRAM" record -v "${sampling[@]}" -- sh -c "exit 3" 2>err' "$streams" || status=$?
        expect_eq "status with $streams" "$status" 3
        perf script -i it.data >/dev/null 2>perf.err || fail "perf script failed: $(cat perf.err)"
        expect_no_warnings
    done
}

test_reader_of_messages_goes_away() {
    { "$WEIR_PROGRAM" record -v "${sampling[@]}" -- sh -c 'sleep 0.2; exit 6' 2>&1 || echo $? >status; } | true
    expect_eq "status" "$(cat status)" 6
}

test_workload_gets_the_callers_limits_signals_and_descriptors() {
    local show='ulimit -Sn
        grep -e SigBlk -e SigIgn -e SigCgt /proc/self/status
        ls -l /proc/self/fd | sed -n "s/.* \([0-9]*\) -> [^0-9]*$/\1/p"'
    (ulimit -Sn 300 && bash -c "$show") </dev/null >alone
    (ulimit -Sn 300 && "$WEIR_PROGRAM" record "${sampling[@]}" -- bash -c "$show" 2>err) </dev/null >recorded
    diff alone recorded || fail "the workload sees a difference"
    local ignore=(env --ignore-signal={PIPE,XFSZ,USR2,CHLD} bash -c)
    "${ignore[@]}" "grep SigIgn /proc/self/status" >alone
    "${ignore[@]}" '"$0" record "$@"' "$WEIR_PROGRAM" "${sampling[@]}" grep SigIgn /proc/self/status >recorded 2>err
    diff alone recorded || fail "the workload sees a difference in what is ignored"
}

# files_are COUNT: that many are finished.
files_are() { [ "$(find . -name 'it.data.2*' | wc -l)" = "$1" ]; }

# Standard error is a pipe that is full: whoever had it has stopped reading. What recording has to say is left out, and
# told when there is room again.
test_messages_that_nobody_reads_hold_up_nothing() {
    local file
    mkfifo messages
    exec 7<>messages
    head -c 65536 /dev/zero >&7
    "$WEIR_PROGRAM" record -v -a -e cpu-clock -F 99 --switch-output -o it.data 2>&7 &
    weir=$!
    wait_until test -e it.data
    kill -USR2 "$weir"
    wait_until files_are 1
    kill -INT "$weir"
    wait_until files_are 2
    head -c 65536 <&7 >zeros
    await_record
    expect_eq "status" "$status" 130
    timeout 1 cat <&7 >told || true
    expect_line told " messages are missing here, as nobody read standard error"
    expect_line told "[ weir record: Captured and wrote "
    exec 7>&-
    for file in it.data.2*; do "$WEIR_PROGRAM" verify -q "$file" || fail "verify refuses $file"; done
}
