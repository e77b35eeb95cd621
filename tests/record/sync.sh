# shellcheck shell=bash
# --sync: what a checkpoint tells of is on the disk before it is told. That nothing of it is missing after a power cut,
# whatever the disk does meanwhile: tests/engine/test_checkpoint.c.

needs_perf_events

# Calls of the writer in trace.TID, without io_uring, whose requests strace does not show. Fails when a data.size (8
# bytes at 48) covers what was written after the last fdatasync, or is not followed by one; else prints how often.
checkpoints_in_order() {
    awk '
        function digit(c) { return index("0123456789abcdef", c) - 1 }
        function number(text, i, n, scale) {
            for (scale = 1; match(text, /^\\x[0-9a-f][0-9a-f]/); text = substr(text, 5)) {
                n += (16 * digit(substr(text, 3, 1)) + digit(substr(text, 4, 1))) * scale
                scale *= 256
            }
            return n
        }
        /^fdatasync\(/ { synced = written; told = 0 }
        /^pwritev\(/ {
            offset = $(NF - 2) + 0
            if (offset == 48) {
                match($0, /"[^"]*"/)
                size = number(substr($0, RSTART + 1, RLENGTH - 2))
                if (size == 0 || first + size > synced) {
                    print "data.size is " size ", and synced are " synced - first
                    failed = 1
                    exit 1
                }
                told = 1
                count++
            } else {
                if (first == 0) first = offset
                if (offset + $NF > written) written = offset + $NF
            }
        }
        END {
            if (failed) exit 1
            if (told) { print "the last data.size is not synced"; exit 1 }
            print count + 0
        }' "$1"
}

# record_traced ARGUMENT...: without io_uring, and with what it writes and syncs in trace.TID.
record_traced() {
    status=0
    ASAN_OPTIONS=detect_leaks=0 strace -qq -ff -o trace -xx -s 8 -e signal=none \
        -e trace=pwritev,fdatasync,fsync,linkat,io_uring_setup -e inject=io_uring_setup:error=ENOSYS \
        "$WEIR_PROGRAM" record -v "$@" 2>err || status=$?
    expect_eq "exit status of weir record $*" "$status" 0
}

test_size_is_told_when_the_data_is_on_the_disk() {
    needs_program strace
    strace -o /dev/null true 2>/dev/null || skip "needs to be allowed to trace: ptrace(2)"
    local writer counted
    record_traced --sync -a -e cpu-clock -F 1000 -o it.data -- sleep 1.3
    expect_whole it.data
    writer=$(grep -l '^fdatasync(' trace.*) || fail "nobody syncs"
    counted=$(checkpoints_in_order "$writer") || fail "$counted"
    expect_at_least "checkpoints" "$counted" 2
    # The name, too: of all that weir names, and then its directory.
    grep -h -A1 -E '^linkat\(' trace.* | grep -q '^fsync(' || fail "the name is not synced"
}

test_every_output_on_a_disk_takes_it() {
    local load=(-e raw_syscalls:sys_enter -c 1 -- "$WEIR_LOAD" getppid 20000)
    record --sync --output-format=dir -z -a -o it.dir "${load[@]}"
    expect_whole it.dir
    record --sync --switch-output -o many.data "${load[@]}"
    expect_whole_and_balanced many.data.*
    record --sync -o /dev/null "${load[@]}"
}

# As with --append: who wants something of a file does not mean the pipe that happens to be there.
test_it_is_for_files() {
    record --sync -e cpu-clock -o it.data -- true
    weir_record --sync -e cpu-clock -o - -- true >/dev/null
    expect_eq "status" "$status" 129
    expect_line err "option '--sync' cannot be used with '-o -'"
    weir_record --sync -A -e cpu-clock -o it.data -- true
    expect_eq "status" "$status" 129
    expect_line err "option '--sync' cannot be used with '--append'"
    "$WEIR_PROGRAM" record -q --sync -e cpu-clock -- true | cat >piped
    expect_eq "bytes in the pipe" "$(wc -c <piped)" 0
    expect_whole perf.data
}
