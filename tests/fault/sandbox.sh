# shellcheck shell=bash
# The reading commands under their filter of system calls: all of them go on doing what they do, it is on before the
# first byte of a recording is read, and whoever makes another call ends. Row 39 of docs/faults.md.

# shellcheck disable=SC2154 # status is that of the last recording
needs_perf_events

# make_recordings: plain, tracepoints, compressed, stream, directory, unfinished.
make_recordings() {
    record -e cpu-clock -F 1000 -o plain.data -- "$WEIR_LOAD" spin 20000000
    record -a -e sched:sched_switch -o trace.data -- sleep 0.1
    record -a -z -e sched:sched_switch -o zstd.data -- sleep 0.1
    record_directory dir.data -a -e sched:sched_switch -- sleep 0.1
    "$WEIR_PROGRAM" record -q -e sched:sched_switch -o - -- "$WEIR_LOAD" getppid 1000 >pipe.data
    head -c $(($(stat -c %s trace.data) * 2 / 3)) trace.data >cut.data
}

# read_with COMMAND...: succeeds, says nothing on standard error, and something on standard output.
read_with() {
    local code=0
    "$WEIR_PROGRAM" "$@" >out 2>err || code=$?
    expect_eq "status of weir $*" "$code" 0
    expect_eq "messages of weir $*" "$(cat err)" ""
    [ -s out ] || fail "weir $* said nothing"
}

test_every_command_reads_every_form() {
    make_recordings
    local file
    for file in plain trace zstd dir pipe; do
        read_with dump "$file.data"
        read_with dump --json "$file.data"
        read_with info "$file.data"
        read_with info --json "$file.data"
        read_with verify "$file.data"
    done
    expect_line out "ok "
    # Formats of tracepoints are tried in a child, by libtraceevent.
    read_with dump --type sample trace.data
    expect_line out "prev_comm="
    "$WEIR_PROGRAM" info - <pipe.data >out 2>err || fail "info of standard input"
    "$WEIR_PROGRAM" dump <(cat pipe.data) >out 2>err || fail "dump of a pipe"
    expect_eq "parts of the directory that are read" \
        "$("$WEIR_PROGRAM" dump --json --type sample dir.data | wc -l)" \
        "$("$WEIR_PROGRAM" info --json dir.data |
            sed -n 's/.*"samples":\([0-9]*\),"merged":0,"first_sample_ns".*/\1/p')"
}

test_recovery_writes_by_another_process_than_the_one_that_reads() {
    make_recordings
    cp cut.data place.data
    "$WEIR_PROGRAM" recover -o whole.data cut.data 2>err || fail "recover"
    "$WEIR_PROGRAM" verify -q whole.data || fail "verify"
    "$WEIR_PROGRAM" recover --in-place place.data 2>err || fail "recover --in-place"
    cmp whole.data place.data || fail "in place is not what a copy is"
    perf script -i whole.data >samples 2>perf.err || fail "perf script failed: $(cat perf.err)"
    "$WEIR_PROGRAM" recover -o same.data whole.data 2>err || fail "recover of what is whole"
    cmp whole.data same.data || fail "what was whole was changed"
}

# Bound while it still waits for the first byte.
test_filter_is_on_before_the_first_byte_is_read() {
    "$WEIR_PROGRAM" record -q -e cpu-clock -o - -- "$WEIR_LOAD" spin 20000000 >pipe.data
    local command reader
    for command in dump info verify; do
        mkfifo gate
        "$WEIR_PROGRAM" "$command" gate >out 2>err &
        reader=$!
        exec 8>gate # waits for the reader
        wait_until grep -q '^Seccomp:[[:space:]]*2' "/proc/$reader/status"
        expect_line "/proc/$reader/status" "$(printf 'NoNewPrivs:\t1')"
        cat pipe.data >&8
        exec 8>&-
        wait "$reader" || fail "$command: $(cat err)"
        rm gate
    done
}

# One warning, and the command does what it is for.
test_kernel_that_refuses_is_told_and_reading_goes_on() {
    needs_program strace
    record -e cpu-clock -o it.data -- "$WEIR_LOAD" spin 20000000
    local command code
    for command in info "recover -o out.data"; do
        code=0
        # shellcheck disable=SC2086 # the command's words
        ASAN_OPTIONS=detect_leaks=0 strace -qq -f -o /dev/null -e trace=seccomp,prctl -e inject=seccomp:error=EINVAL \
            -e inject=prctl:error=EINVAL "$WEIR_PROGRAM" $command it.data >out 2>err || code=$?
        expect_eq "status" "$code" 0
        expect_eq "warnings" "$(grep -c 'warning: cannot filter the system calls of this command' err)" 1
    done
}

test_reader_of_a_recovery_that_dies_is_told() {
    needs_program strace
    make_recordings
    local code=0
    ASAN_OPTIONS=detect_leaks=0 strace -qq -f -o /dev/null -e trace=pread64 -e inject=pread64:signal=KILL:when=3 \
        "$WEIR_PROGRAM" recover -o whole.data cut.data >out 2>err || code=$?
    expect_eq "status" "$code" 1
    expect_line err "cut.data: the process reading it was killed by signal 9"
    [ ! -e whole.data ] || fail "an output was made"
}

test_output_that_cannot_be_written_is_told() {
    record -e cpu-clock -o it.data -- "$WEIR_LOAD" spin 20000000
    local command code
    for command in dump info verify; do
        code=0
        "$WEIR_PROGRAM" "$command" it.data >/dev/full 2>err || code=$?
        expect_eq "$command: status" "$code" 125
        expect_line err "cannot write to standard output"
        code=0
        "$WEIR_PROGRAM" "$command" it.data >&- 2>err || code=$?
        expect_eq "$command with standard output closed: status" "$code" 125
    done
}

# A message is written under the filter: each ends in its warning, and the command does what it is for.
test_warnings_come_through() {
    perf record -q -a -e 'workqueue:*' -o whole.data sleep 0.1 2>perf.err || fail "perf record: $(cat perf.err)"
    local option code place
    # Behind the data and the table of the features: in the first of these, which is TRACING_DATA.
    place=$("$WEIR_PROGRAM" info whole.data | sed -n 's/^header .*; data \(0x[0-9a-f]*\) + \(0x[0-9a-f]*\)$/\1 + \2/p')
    head -c $((place + 1000)) whole.data >cut.data
    for option in --no-json --json; do
        code=0
        "$WEIR_PROGRAM" dump $option --event typo whole.data >out 2>err || code=$?
        expect_eq "dump $option --event: status" "$code" 0
        expect_eq "messages" "$(cat err)" \
            "weir: warning: whole.data has no event 'typo'; weir info shows those that it has"
        code=0
        "$WEIR_PROGRAM" dump $option -i cut.data >out 2>err || code=$?
        expect_eq "dump $option of what is cut: status" "$code" 0
        expect_eq "warnings" "$(grep -c '^weir: warning: fields of tracepoints are not decoded: cut.data: ' err)" 1
        [ -s out ] || fail "nothing was dumped"
    done
}

# perf's own map of the kernel has another length than weir's.
test_tracepoints_of_a_killed_perf_are_recovered_on_the_same_boot() {
    # Not -a: the kernel's records of BPF programs that others load have a sample_id in the wrong place, once two record
    # (weir_record_mend_trailers()), and perf's file is out of order then.
    perf record -q -m 4 -e sched:sched_switch -o it.data -- \
        sh -c "'$WEIR_LOAD' forks 300 1; : >forked; exec sleep 60" >perf.out 2>&1 &
    local recorder=$!
    # perf writes a ring once it is half full, and what it has then when it is killed.
    wait_until test -e forked
    sleep 0.5
    kill -KILL "$recorder"
    wait "$recorder" 2>/dev/null || true
    "$WEIR_PROGRAM" recover -o whole.data it.data 2>err || fail "recover: $(cat err)"
    "$WEIR_PROGRAM" verify -q whole.data || fail "verify"
    perf script -i whole.data >samples 2>perf.err || fail "perf script failed: $(cat perf.err)"
}

# Of a directory whose main file is cut, what is whole of the others; or one line that says where it is cut.
test_directory_is_recovered_whose_main_file_is_cut_before_its_data() {
    local bytes code
    record_directory perf.data -a -e sched:sched_switch -- sleep 0.1
    record -a -e cpu-clock -o it.data -- "$WEIR_LOAD" spin 20000000
    for bytes in 1000 4096 200 110; do
        rm -rf it.dir whole.dir
        mkdir it.dir
        head -c "$bytes" it.data >it.dir/data
        cp perf.data/data.0 it.dir/data.0
        code=0
        "$WEIR_PROGRAM" recover -o whole.dir it.dir 2>err || code=$?
        expect_no_line err "the process reading it"
        if ((bytes >= 1000)); then
            expect_eq "status with $bytes bytes" "$code" 0
            "$WEIR_PROGRAM" info whole.dir >/dev/null || fail "info of what was recovered"
        else
            expect_eq "status with $bytes bytes" "$code" 1
            expect_eq "lines" "$(wc -l <err)" 1
        fi
    done
}
