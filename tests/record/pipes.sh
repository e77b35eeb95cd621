# shellcheck shell=bash
# Recordings that go to a reader instead of a file.

needs_perf_events

# stream_into READER [OPTION...]: records into a reader of weir's standard output; the reader's output is in the file
# out, its messages in reader.err, weir's exit status in $status.
stream_into() {
    local reader=$1
    shift
    set +e
    "$WEIR_PROGRAM" record -v "$@" 2>err | bash -c "$reader" >out 2>reader.err
    status=${PIPESTATUS[0]}
    set -e
}

stats_of() { awk '$1 == "SAMPLE" && $2 == "events:" { print $3; exit }' "$1"; }

test_terminal_is_refused_and_nothing_runs() {
    needs_program script
    script -qec "$WEIR_PROGRAM record -o - -- touch ran" /dev/null </dev/null >out || status=$?
    expect_eq "status" "$status" 125
    expect_line out "weir: refusing to write binary data to a terminal"
    expect_line out "weir record -o - ... | perf report -i -"
    expect_files . out
}

test_full_device_is_an_error() {
    "$WEIR_PROGRAM" record -v -e cpu-clock -o - -- sleep 1.5 >/dev/full 2>err || status=$?
    expect_eq "status" "$status" 125
    expect_line err "weir: cannot write to -: No space left on device"
}

test_reader_that_ends_ends_the_recording_and_not_the_command() {
    stream_into 'head -c 1000' -a -e cpu-clock -o - -- sh -c 'sleep 2.5; echo "to its end" >ended; exit 7'
    expect_eq "status" "$status" 7
    expect_eq "bytes that were read" "$(wc -c <out)" 1000
    expect_eq "the workload's end" "$(cat ended)" "to its end"
    expect_eq "messages of it" "$(grep -c 'consumer of the recording' err)" 1
    expect_line err "weir: warning: the consumer of the recording has gone: recording has ended; the command runs on"
    expect_no_line err "Broken pipe"
}

test_reader_that_never_was_does_not_keep_the_command_from_running() {
    stream_into 'exec <&-; exit 0' -e cpu-clock -- sh -c 'sleep 1.5; echo "to its end" >ended; exit 5'
    expect_eq "status" "$status" 5
    expect_eq "the workload's end" "$(cat ended)" "to its end"
    expect_eq "messages of it" "$(grep -c 'consumer of the recording has gone' err)" 1
}

# What is described at the end meets its absence first.
test_reader_that_ends_before_the_tail_is_no_failure() {
    stream_into 'head -c 1000' -a -e cpu-clock -o - --tail-synthesize -- sh -c 'sleep 0.1; exit 7'
    expect_eq "status" "$status" 7
    expect_eq "messages of it" "$(grep -c 'consumer of the recording has gone' err)" 1
    expect_no_line err "Broken pipe"
}

# The pipe and the pool are full by the end: a first signal, or here the workload's end, waits, a second one does not.
test_signal_lets_go_of_a_reader_that_does_not_read() {
    mkfifo fifo
    # shellcheck disable=SC2217 # a reader that does not read
    sleep 60 <fifo &
    local sleeper=$!
    "$WEIR_PROGRAM" record -v -a -e raw_syscalls:sys_enter -c 1 --buffer-size 2M -o - -- \
        sh -c "'$WEIR_LOAD' getppid 200000; touch ran" >fifo 2>err &
    weir=$!
    wait_until test -e ran
    sleep 0.5
    kill -0 "$weir" || fail "the reader was not waited for"
    kill -INT "$weir"
    await_record
    kill "$sleeper"
    expect_eq "status" "$status" 125
    expect_line err "signal while the consumer of the recording does not read: its unread rest is given up"
    expect_line err "weir: cannot write to -: Operation canceled"
    expect_at_least "lost" "$(ledger_column lost_writing)" 1
}

# Its beginning, with the maps of the target, fills the pipe and the pool.
test_signal_ends_a_recording_whose_beginning_nobody_reads() {
    mkfifo fifo gate
    # shellcheck disable=SC2217 # a reader that does not read
    sleep 60 <fifo &
    local sleeper=$!
    "$WEIR_LOAD" mapped 40000 <gate >ready &
    local load=$!
    exec 9>gate
    wait_until grep -q mapped ready
    "$WEIR_PROGRAM" record -v -p $load -e dummy --buffer-size 1M -o - >fifo 2>err 9>&- &
    weir=$!
    wait_until grep -q '^weir: output: ' err
    kill -INT "$weir"
    await_record
    exec 9>&-
    kill "$sleeper"
    expect_eq "status" "$status" 130
    expect_line err "signal while the consumer of the recording does not read: its unread rest is given up"
    expect_no_line err "Operation canceled"
}

# What went out of the chunk that found no room is in the stream as what stands before it is.
test_stream_without_room_says_what_is_in_it() {
    (ulimit -f 700 && "$WEIR_PROGRAM" record -v -e raw_syscalls:sys_enter -c 1 -o - -- "$WEIR_LOAD" getppid 20000 \
        >cut.stream 2>err) || status=$?
    expect_eq "status" "$status" 125
    expect_line err "weir: cannot write to -: File too large"
    expect_eq "bytes" "$(stat -c %s cut.stream)" $((700 * 1024))
    expect_line err "wrote 0.684 MB - ("
    expect_eq "samples in the stream" "$(perf_bare script -F comm -i cut.stream 2>perf.err | wc -l)" \
        "$(ledger_column written)"
    expect_eq "written and lost" "$(written_and_lost)" "$(produced)"
}

test_perf_report_reads_what_the_closing_line_says() {
    stream_into 'perf report --stats -i -' -a -e cpu-clock -F 1000 -o - -- sleep 0.5
    expect_eq "status" "$status" 0
    expect_eq "samples in perf report" "$(stats_of out)" "$(told_samples)"
    expect_eq "samples in the ledger" "$(ledger_column written)" "$(told_samples)"
    [ ! -s reader.err ] || fail "perf warns: $(cat reader.err)"
    expect_files . err out reader.err
}

# As perf: without -o a pipe is for its reader. The command's own output is not part of the stream.
# quipper (create_gcov) takes padding in a stream for the name of an event, and aborts.
test_stream_has_no_padding() {
    "$WEIR_PROGRAM" record -q -a -e raw_syscalls:sys_enter -c 1 -o - -- "$WEIR_LOAD" getppid 100000 >it.stream 2>err
    expect_at_least "bytes" "$(wc -c <it.stream)" 1000000
    expect_eq "padding" "$("$WEIR_PROGRAM" info it.stream | grep -c ' EVENT_TYPE$' || true)" 0
}

test_pipe_without_an_output_option_gets_the_recording() {
    stream_into 'tee it.stream | perf script -F comm,event -i -' \
        -a -e sched:sched_switch -e cpu-clock --threads=core -- sh -c 'echo words; sleep 0.3; exit 3'
    expect_eq "status" "$status" 3
    expect_line err words
    expect_eq "samples in perf script" "$(wc -l <out)" "$(told_samples)"
    expect_eq "samples of the tracepoint" "$(grep -c sched:sched_switch out)" \
        "$(ledger_column written sched:sched_switch)"
    [ ! -s reader.err ] || fail "perf warns: $(cat reader.err)"
    "$WEIR_PROGRAM" dump --type SAMPLE it.stream >dumped
    expect_eq "samples in weir dump" "$(grep -c ': PERF_RECORD_SAMPLE' dumped)" "$(told_samples)"
    "$WEIR_PROGRAM" verify it.stream >verified || fail "weir verify: $(cat verified)"
}

# What is about a file system, or about files, is not for a stream: -o - is refused with it.
test_pipe_with_an_option_for_files_gets_nothing() {
    local option
    for option in --keep-free=1 --on-full=suspend; do
        stream_into cat -e cpu-clock "$option" -- true
        expect_eq "status with $option" "$status" 0
        expect_eq "bytes in the pipe with $option" "$(wc -c <out)" 0
        "$WEIR_PROGRAM" verify -q perf.data || fail "$option: no recording"
        rm perf.data
    done
}

test_perf_inject_passes_it_on() {
    stream_into 'perf inject -b' -a -e cpu-clock -F 1000 -o - -- sleep 0.3
    expect_eq "status" "$status" 0
    mv out injected
    expect_eq "samples behind perf inject" "$(report_samples injected)" "$(told_samples)"
    perf buildid-list -i injected >ids
    grep -q '\[kernel.kallsyms\]' ids || fail "no build id of the kernel: $(cat ids)"
}

# More than a pipe and a small pool hold, and a reader that takes little at a time.
test_slow_reader_gets_every_byte_that_is_not_told_as_lost() {
    stream_into 'dd bs=777 status=none' -a -e raw_syscalls:sys_enter -c 1 -m 16M -o - -- "$WEIR_LOAD" getppid 100000
    expect_eq "status" "$status" 0
    mv out it.stream
    expect_eq "samples" "$(perf_bare script -F comm -i it.stream 2>perf.err | wc -l)" "$(told_samples)"
    expect_eq "written and lost" "$(written_and_lost)" "$(produced)"
}

# expect_file_of_stream STREAM FILE: perf finds in the file what it finds in the stream.
expect_file_of_stream() {
    perf_bare script -F comm,tid,time,event -i "$1" >of-stream 2>perf.err
    perf_bare script -F comm,tid,time,event -i "$2" >of-file 2>perf.err
    expect_eq "what perf says" "$(cat perf.err)" ""
    cmp of-stream of-file || fail "the samples differ"
    "$WEIR_PROGRAM" verify "$2" >verify.out || fail "$(cat verify.out)"
}

# perf sched and others find no events in a saved stream, perf's own too.
test_saved_stream_becomes_a_file_on_which_every_command_works() {
    local z
    for z in '' -z; do
        # shellcheck disable=SC2086
        "$WEIR_PROGRAM" record -q $z -a -e sched:sched_switch -e sched:sched_wakeup -e cpu-clock -o - -- \
            sleep 0.2 >it.stream 2>err
        "$WEIR_PROGRAM" recover -q -o it.data it.stream
        expect_file_of_stream it.stream it.data
        expect_at_least "switches" "$(perf sched timehist -i it.data 2>perf.err | grep -c '\[000[01]\]')" 1
        perf report --stdio -i it.data >report.txt 2>perf.err
        grep -q "of event 'sched:sched_switch'" report.txt || fail "no report: $(cat perf.err)"
        perf buildid-list -i it.data >ids
        grep -q '\[kernel.kallsyms\]' ids || fail "no build ids: $(cat ids)"
        rm it.data
    done
    perf record -q -a -e sched:sched_switch -o - sleep 0.2 >perf.stream 2>perf.err
    "$WEIR_PROGRAM" recover -q perf.stream
    expect_file_of_stream perf.stream perf.stream.recovered
}

# A recorder that is killed writes no more; what it had written is a stream that ends within a record.
test_saved_stream_that_was_cut_is_recovered() {
    local calls=20000 bytes said
    "$WEIR_PROGRAM" record -e raw_syscalls:sys_enter -c 1 -o - -- "$WEIR_LOAD" getppid $calls >whole.data 2>err
    "$WEIR_PROGRAM" recover --in-place whole.data 2>recover.err
    expect_line recover.err "Nothing to recover: all "
    bytes=$(stat -c %s whole.data)
    head -c $((bytes / 2 + 1)) whole.data >cut.data
    "$WEIR_PROGRAM" recover cut.data 2>recover.err
    said=$(sed -n 's/.* records (\([0-9]*\) samples) in .*/\1/p' recover.err)
    expect_at_least "samples" "$said" $((calls / 4))
    perf_bare script -i cut.data.recovered -F comm,event >by-perf 2>perf.err
    expect_eq "what perf says" "$(cat perf.err)" ""
    expect_eq "samples in perf script" "$(wc -l <by-perf)" "$said"
    "$WEIR_PROGRAM" verify cut.data.recovered >verify.out || fail "$(cat verify.out)"
    "$WEIR_PROGRAM" recover -q --in-place cut.data
    "$WEIR_PROGRAM" verify cut.data >verify.out || fail "$(cat verify.out)"
    expect_file_of_stream cut.data cut.data.recovered
}

test_stream_that_comes_is_not_recovered() {
    local status=0
    "$WEIR_PROGRAM" record -e cpu-clock -o - -- true 2>/dev/null | "$WEIR_PROGRAM" recover -o out /dev/stdin 2>err ||
        status=$?
    expect_eq "status" "$status" 125
    expect_line err "weir: /dev/stdin: cannot recover from a stream"
    expect_line err "hint: save it to a file, and recover that file"
}
