# shellcheck shell=bash
# System calls that fail, by strace: whatever fails, weir ends whole or leaves nothing, and says so.

needs_perf_events
needs_program strace

# with_fault CALL FAULT ARGUMENT...: records with the fault injected. $injected: how often it was.
with_fault() {
    local call=$1 fault=$2
    shift 2
    rm -f it.data strace.log
    status=0
    # LeakSanitizer cannot work in a process that is traced.
    ASAN_OPTIONS=detect_leaks=0 strace -qq -f -o strace.log -e "trace=$call" -e "inject=$call:$fault" \
        "$WEIR_PROGRAM" record -v -o it.data "$@" 2>err || status=$?
    injected=$(grep -c INJECTED strace.log || true)
}

# expect_nothing_left: refused before anything was begun.
expect_nothing_left() {
    expect_eq "status" "$status" 125
    grep -q '^weir: cannot ' err || fail "no message"
    expect_files . err strace.log
}

test_nth_open_of_an_event_fails_until_none_fails() {
    local nth error
    for error in ENOMEM ENFILE EIO; do
        for ((nth = 1; ; nth++)); do
            with_fault perf_event_open "error=$error:when=$nth" -a -e cpu-clock -e cs -- touch ran
            if [ "$injected" = 0 ]; then break; fi
            expect_line err "cannot open event '"
            expect_nothing_left
        done
        expect_eq "events opened" "$nth" $((3 * $(cpus_online) + 1))
        expect_eq "status without a fault" "$status" 0
        rm ran it.data
    done
}

test_interrupted_open_of_an_event_is_tried_again() {
    local nth
    for nth in 1 2 3; do
        with_fault perf_event_open "error=EINTR:when=$nth" -a -e cpu-clock -- true
        expect_eq "faults" "$injected" 1
        expect_eq "status" "$status" 0
        expect_readers_agree it.data
    done
}

test_interrupted_submissions_leave_the_recording_whole() {
    local error when
    for error in EINTR EAGAIN EBUSY; do
        for when in 1 2 1+2; do
            with_fault io_uring_enter "error=$error:when=$when" -e raw_syscalls:sys_enter -c 1 -m 16M -- \
                "$WEIR_LOAD" getppid 20000
            expect_at_least "faults" "$injected" 1
            expect_eq "status" "$status" 0
            expect_eq "getppid calls with $error at $when" "$(getppid_calls it.data)" 20000
            expect_readers_agree it.data
        done
    done
}

test_without_io_uring_the_recording_is_the_same() {
    local error
    for error in ENOSYS EPERM ENOMEM; do
        with_fault io_uring_setup "error=$error" -e raw_syscalls:sys_enter -c 1 -m 16M -- "$WEIR_LOAD" getppid 20000
        expect_eq "faults" "$injected" 1
        expect_eq "status" "$status" 0
        expect_line err "output: pwritev"
        expect_eq "getppid calls with $error" "$(getppid_calls it.data)" 20000
        expect_readers_agree it.data
    done
}

test_failed_fsync_is_no_success() {
    with_fault fsync error=EIO -e cpu-clock -- true
    expect_eq "faults" "$injected" 1
    expect_eq "status" "$status" 125
    expect_line err "weir: cannot sync it.data: Input/output error"
    expect_readers_agree it.data
}

# Each thread's first one fails: the finisher's, and then that of the last file.
test_failed_fsync_of_a_file_that_was_switched_away_is_told() {
    with_fault fsync error=EIO:when=1 -e cpu-clock --switch-output -- \
        sh -c "kill -USR2 \$PPID; until grep -q ' Dump it.data.2' err; do sleep 0.02; done"
    expect_eq "faults" "$injected" 2
    expect_eq "status" "$status" 125
    expect_line err "weir: warning: cannot sync it.data: Input/output error"
    expect_eq "files" "$(find . -name 'it.data.2*' | wc -l)" 2
}

# The fourth one of a thread is a checkpoint of the writer: nothing is missing in the end, but until then the file says
# less than it holds.
test_size_that_cannot_be_told_on_the_way_is_told() {
    with_fault pwritev error=EIO:when=4 -a -e cpu-clock -F 1000 -- \
        sh -c "for _ in \$(seq 150); do grep -q 'into its head' err && break; sleep 0.1; done"
    expect_eq "faults" "$injected" 1
    expect_eq "status" "$status" 0
    expect_line err "weir: warning: cannot write the size of 'it.data' into its head (Input/output error): until it is"
    expect_eq "warnings" "$(grep -c 'into its head' err)" 1
    expect_whole it.data
}

# A disk that takes three seconds for each fsync(2), and six files that wait for it. The first signal ends the
# recording; the second one comes while they are being synced, and those that are left are not.
test_second_signal_is_noticed_while_files_are_being_synced() {
    open_fifos
    ASAN_OPTIONS=detect_leaks=0 strace -qq -f -o strace.log -e trace=fsync -e inject=fsync:delay_enter=3000000 \
        "$WEIR_PROGRAM" record -v -o it.data -e cpu-clock --switch-output --control fifo:ctl,ack 2>err &
    local strace=$! n
    wait_until test -e it.data
    for ((n = 0; n < 6; n++)); do echo switch >&7 && read -r -t 20 -u 8 _; done
    kill -INT "$(pgrep -P $strace)"
    # Its own file is synced by the main thread, before it waits for the others.
    wait_until grep -q "^$(pgrep -P $strace) .*fsync.* = 0" strace.log
    kill -INT "$(pgrep -P $strace)"
    status=0
    wait $strace || status=$?
    expect_eq "status" "$status" 130
    expect_eq "files" "$(find . -name 'it.data.*' | wc -l)" 7
    [ "$(grep -c 'fsync(' strace.log)" -lt 6 ] || fail "all files were synced: $(cat strace.log)"
}

# Somebody takes tracefs away meanwhile: the features are those of the start then; all records are there, its losses
# among them.
test_tracepoints_that_cannot_be_described_at_the_end_cost_no_record() {
    needs_program unshare
    [ -e /sys/kernel/tracing/events/raw_syscalls ] || skip "needs tracefs at /sys/kernel/tracing"
    unshare -m true 2>/dev/null || skip "needs CAP_SYS_ADMIN: unshare(2)"
    status=0
    unshare -m "$WEIR_PROGRAM" record -v -m 4K -e raw_syscalls:sys_enter -c 1 -o it.data -- \
        sh -c "umount -l /sys/kernel/tracing; exec '$WEIR_LOAD' getppid 20000" 2>err || status=$?
    expect_eq "status" "$status" 125
    expect_line err "cannot read /sys/kernel/tracing/events/header_page: No such file or directory"
    expect_line err "hint: the file is whole, with what was known at its start: it lacks build ids"
    expect_whole it.data
    expect_readers_agree it.data
}

test_name_that_cannot_be_given_leaves_the_file_of_before() {
    with_fault linkat error=EIO -e cpu-clock -- \
        sh -c "until grep -q 'recording has ended' err; do sleep 0.02; done; touch ran"
    expect_eq "status" "$status" 125
    [ -e ran ] || fail "the command did not run on"
    expect_line err "cannot name the output 'it.data': Input/output error"
    expect_line err "recording has ended (cannot name the output 'it.data': Input/output error); the command runs on"
    [ ! -e it.data.old ] || fail "the file of before was moved"
}

# What a recording sets up with these is used once or a few times; the first one or the N-th fails.
test_any_set_up_call_that_fails_ends_it_cleanly() {
    local call nth
    for call in signalfd4 timerfd_create socketpair pipe2 eventfd2 io_uring_register ftruncate pwrite64 fcntl ioctl; do
        for nth in 1 2 4; do
            with_fault "$call" "error=ENOMEM:when=$nth" -a -e cpu-clock -- touch ran
            case $status in
            0) expect_readers_agree it.data ;;
            125) grep -q '^weir: cannot ' err || fail "no message after call $nth of $call" ;;
            *) fail "status $status after call $nth of $call" ;;
            esac
            expect_eq "names made after call $nth of $call" "$(find . -name '.weir*' -o -name '*.old')" ""
        done
    done
}
