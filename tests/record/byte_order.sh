# shellcheck shell=bash disable=SC2154 # here: of run
# Recordings of big-endian machines: made of those of this machine by to_big_endian.py, which perf reads, too.

needs_perf_events
needs_program python3

load=("$WEIR_LOAD" forks 2 1)

# to_big_endian FILE [LONG]: FILE, as a big-endian machine would have recorded it, becomes big/FILE.
to_big_endian() {
    rm -rf big
    mkdir big
    python3 "$here/to_big_endian.py" "$1" "big/$1" "${@:2}" 2>wrong || fail "$1: $(cat wrong)"
}

# of_both COMMAND...: prints the same of FILE here and in the folder big, but for the line with the byte order.
of_both() {
    "$@" 2>&1 | sed 's/"byte_order":"[a-z]*",//; s/"file_bytes":[0-9]*//' >little || true
    (cd big && "$@" 2>&1) | sed 's/"byte_order":"[a-z]*",//; s/"file_bytes":[0-9]*//' >big.out || true
    cmp -s little big.out || fail "$*: $(diff little big.out | head -5)"
}

# expect_same FILE: weir says the same of both. The file itself must be one of which something can be said.
expect_same() {
    of_both "$WEIR_PROGRAM" dump --json "$1"
    expect_at_least "samples of $1" "$(grep -c '"type":"SAMPLE"' little)" 1
    of_both "$WEIR_PROGRAM" report --stdio -q "$1"
    of_both "$WEIR_PROGRAM" report --folded -q "$1"
    of_both "$WEIR_PROGRAM" report --json -q "$1"
    of_both "$WEIR_PROGRAM" info --json "$1"
    of_both "$WEIR_PROGRAM" verify "$1"
}

# perf says the same of both, so the conversion is right.
expect_same_of_perf() {
    perf script -i "$1" >little 2>/dev/null
    perf script -i "big/$1" >big.out 2>/dev/null
    expect_at_least "lines of perf script" "$(wc -l <little)" 1
    cmp -s little big.out || fail "perf script -i $1: $(diff little big.out | head -5)"
}

expect_clean() { "$WEIR_PROGRAM" verify "big/$1" >told || fail "verify: $(cat told)"; }

# expect_readable FILE [LONG]
expect_readable() {
    to_big_endian "$@"
    expect_same_of_perf "$1"
    expect_same "$1"
    expect_clean "$1"
}

test_call_chains() {
    record -g -e page-faults,cs -c 1 -o it.data -- "${load[@]}"
    expect_readable it.data
    expect_line <("$WEIR_PROGRAM" info big/it.data) "byte order      big endian"
    ! "$WEIR_PROGRAM" info it.data | grep 'byte order' || fail "a byte order of a recording of this one"
}

# The features of a machine whose long has 4 bytes.
test_machine_of_32_bits() {
    record -g -e page-faults -c 1 -o it.data -- "${load[@]}"
    expect_readable it.data 4
}

test_tracepoints() {
    record -a -e sched:sched_switch,raw_syscalls:sys_exit -c 7 -o it.data -- "${load[@]}"
    expect_readable it.data
    "$WEIR_PROGRAM" dump big/it.data >dumped
    expect_line dumped ' ==> next_comm='
}

test_copied_stacks() {
    record --call-graph dwarf -e page-faults -c 3 -o it.data -- "${load[@]}"
    expect_readable it.data
}

test_values_of_groups() {
    record -e '{cs,page-faults}:S' -c 1 -d -W -o it.data -- "${load[@]}"
    expect_readable it.data
}

# The offsets of compressed records are those of other bytes.
test_compressed() {
    record -z -g -e page-faults -c 1 -o it.data -- "${load[@]}"
    to_big_endian it.data
    expect_same_of_perf it.data
    of_both "$WEIR_PROGRAM" report --folded -q it.data
    of_both "$WEIR_PROGRAM" report --stdio -q it.data
    expect_clean it.data
}

# perf 6.1 does not read the samples of a stream of another byte order right.
test_stream() {
    "$WEIR_PROGRAM" record -q -g -e sched:sched_switch,page-faults -c 1 -o - -- "${load[@]}" >it.stream 2>err
    to_big_endian it.stream
    expect_same it.stream
    expect_clean it.stream
    "$WEIR_PROGRAM" report --folded -q - <big/it.stream >piped
    expect_eq "the report of the pipe" "$(cat piped)" "$("$WEIR_PROGRAM" report --folded -q it.stream)"
}

test_file_of_a_rotation() {
    record --switch-output=2M -g -e page-faults -c 1 -o it.data -- "$WEIR_LOAD" forks 3 1
    local file
    for file in it.data.*; do
        to_big_endian "$file"
        of_both "$WEIR_PROGRAM" dump --json "$file"
        of_both "$WEIR_PROGRAM" report --folded -q "$file"
        expect_clean "$file"
    done
}

test_files_of_perf() {
    record_by_perf -g -e page-faults -c 1 -o it.data -- "${load[@]}"
    expect_readable it.data
    record_directory it.directory -e page-faults -c 1 -- "${load[@]}"
    expect_readable it.directory
}

# All records, fields of samples and features that there are, made by hand.
test_made_up_recordings() {
    local name
    for name in dump/stream_{side_records,user_records,samples,newest,auxtrace,tracepoint} \
        dump/file_aux{,_errors,_snapshots,_words} dump/file_two_events report/file_newest; do
        cp "$here/../fuzz/corpus/$name" it.data
        to_big_endian it.data
        of_both "$WEIR_PROGRAM" dump --json it.data
        of_both "$WEIR_PROGRAM" report --folded -q it.data
        of_both "$WEIR_PROGRAM" info --json it.data
    done
}

# Cut anywhere, weir reads up to there and says so.
test_cut_anywhere() {
    cp "$here/../fuzz/corpus/dump/stream_side_records" it.data
    to_big_endian it.data
    local bytes status
    for ((bytes = 0; bytes < $(stat -c %s it.data); bytes += 37)); do
        head -c "$bytes" big/it.data >cut.data
        status=0
        "$WEIR_PROGRAM" dump --json cut.data >out 2>err || status=$?
        [ "$status" -le 1 ] || fail "status $status of the first $bytes bytes: $(cat err)"
    done
}

test_commands_that_copy_bytes_refuse() {
    record -g -e page-faults -c 1 -o it.data -- "${load[@]}"
    to_big_endian it.data
    local command
    for command in "recover big/it.data" "unwind big/it.data -o out.data" "record -A -o big/it.data true"; do
        # shellcheck disable=SC2086 # words
        ! "$WEIR_PROGRAM" $command 2>err || fail "$command succeeds"
        expect_line err "a perf.data file of a big-endian machine"
        expect_line err "hint: weir report, dump, info and verify read it"
    done
}
