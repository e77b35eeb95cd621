# shellcheck shell=bash
# --sync: what a checkpoint tells of is on the disk before it is told. That nothing of it is missing after a power cut,
# whatever the disk does meanwhile: tests/engine/test_checkpoint.c.

needs_perf_events

# checkpoints_in_order TRACE [OFFSET END]: calls of the writer, without io_uring, whose requests strace does not show.
# Fails when a data.size (8 bytes at 48) covers what was written after the last fdatasync, or is not followed by one;
# else prints how often. The data begins at OFFSET, and is there up to END before the writer has begun.
checkpoints_in_order() {
    awk -v first="${2:-0}" -v written="${3:-0}" '
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

# data_size FILE: what its head says.
data_size() { od -An -t u8 -j 48 -N 8 "$1" | tr -d ' '; }

has_more_samples() { [ -e "$1" ] && [ "$(script_lines "$1")" -gt "$2" ]; }

# record_traced ARGUMENT...: without io_uring, and with what it writes and syncs in trace.TID.
record_traced() {
    status=0
    ASAN_OPTIONS=detect_leaks=0 strace -qq -ff -o trace -xx -s 8 -e signal=none \
        -e trace=pwritev,fdatasync,fsync,linkat,renameat,io_uring_setup -e inject=io_uring_setup:error=ENOSYS \
        "$WEIR_PROGRAM" record -v "$@" 2>err || status=$?
    expect_eq "exit status of weir record $*" "$status" 0
}

# until_told FILE TIMES: a command that ends when the size in the head has changed so often, or after 15 s.
until_told() {
    echo "last= changes=-1
        for _ in \$(seq 150); do
            now=\$(od -An -t u8 -j 48 -N 8 '$1')
            if [ \"\$now\" != \"\$last\" ]; then last=\$now changes=\$((changes + 1)); fi
            if [ \$changes -ge $2 ]; then break; fi
            sleep 0.1
        done"
}

# expect_calls PATTERN: of the thread that names the file, in order; "head" is a write at the beginning of it.
expect_calls() {
    local calls
    calls=$(sed -n -e 's/^pwritev(.*, 0) *=.*/head/p' -e 's/^\(linkat\|renameat\|fsync\)(.*/\1/p' \
        "$(grep -l '^linkat(' trace.*)" | paste -sd ' ')
    grep -qE "$1" <<<"$calls" || fail "names and syncs in another order: $calls"
}

test_size_is_told_when_the_data_is_on_the_disk() {
    needs_program strace
    strace -o /dev/null true 2>/dev/null || skip "needs to be allowed to trace: ptrace(2)"
    local writer counted
    record_traced --sync -a -e cpu-clock -F 1000 -o it.data -- sh -c "$(until_told it.data 2)"
    expect_whole it.data
    writer=$(grep -l '^fdatasync(' trace.*) || fail "nobody syncs"
    counted=$(checkpoints_in_order "$writer") || fail "$counted"
    expect_at_least "checkpoints" "$counted" 2
    # The name and its directory, too; at the end the data, before the head tells of all of it.
    expect_calls '^head linkat fsync fsync head fsync$'
}

test_every_output_on_a_disk_takes_it() {
    local load=(-e raw_syscalls:sys_enter -c 1 -- "$WEIR_LOAD" getppid 20000)
    record --sync -z -a -o it.data "${load[@]}"
    expect_whole it.data
    record --sync --switch-output -o many.data "${load[@]}"
    expect_whole_and_balanced many.data.*
    record --sync -o /dev/null "${load[@]}"
}

# What is continued is whole at each moment: as it was or with all that was added; until then that is beside it.
test_continued_recording_is_beside_the_old_one_meanwhile() {
    needs_program strace
    strace -o /dev/null true 2>/dev/null || skip "needs to be allowed to trace: ptrace(2)"
    local counted copied offset
    record -a -e cpu-clock -F 1000 -o it.data -- sleep 0.2
    copied=$(data_size it.data)
    record_traced --sync -A -a -e cpu-clock -F 1000 -o it.data -- sh -c "$(until_told it.data 2)"
    expect_whole it.data
    offset=$(od -An -t u8 -j 40 -N 8 it.data | tr -d ' ')
    counted=$(checkpoints_in_order "$(grep -l '^fdatasync(' trace.*)" "$offset" $((offset + copied))) || fail "$counted"
    expect_at_least "checkpoints" "$counted" 2
    # A name beside it, in the folder for good; at the end the data, the head, then its name, then that for good.
    expect_calls '^head linkat fsync fsync head fsync renameat fsync'
    expect_eq "what is beside it" "$(find . -name '*.appending' -o -name '.weir*')" ""
}

# Without --sync there is no name beside it; but what takes the place of the old one is on the disk before it does.
test_continued_recording_is_on_the_disk_before_the_old_one_goes() {
    needs_program strace
    strace -o /dev/null true 2>/dev/null || skip "needs to be allowed to trace: ptrace(2)"
    record -e cpu-clock -o it.data -- true
    record_traced -A -e cpu-clock -o it.data -- true
    expect_calls '^head head fsync linkat renameat fsync$'
    expect_whole it.data
}

# A crash in between leaves what there was, or the whole: the tail, the head that tells of it, and then the cut.
test_recovery_in_place_changes_the_head_between_two_syncs() {
    needs_program strace
    strace -o /dev/null true 2>/dev/null || skip "needs to be allowed to trace: ptrace(2)"
    record -e cpu-clock -F 1000 -o it.data -- "$WEIR_LOAD" spin 20000000
    truncate -s -1000 it.data
    ASAN_OPTIONS=detect_leaks=0 strace -f -qq -o trace -e signal=none -e trace=pwrite64,fsync,ftruncate \
        "$WEIR_PROGRAM" recover -q --in-place it.data 2>err || fail "recover: $(cat err)"
    expect_eq "writes and syncs" "$(sed -e 's/^[0-9]* *//' -e 's/^pwrite64(.*, 0) .*/head/' -e 's/^pwrite64(.*/tail/' \
        -e 's/(.*//' trace | uniq | paste -sd ' ')" "tail fsync head fsync ftruncate fsync"
    expect_whole it.data
}

test_killed_append_leaves_both() {
    local before samples
    record -a -e cpu-clock -F 1000 -o it.data -- sleep 0.3
    before=$(stat -c '%i %s %Y' it.data && md5sum it.data)
    samples=$(script_lines it.data)
    "$WEIR_PROGRAM" record -v --sync -A -a -e cpu-clock -F 1000 -o it.data -- sh -c 'touch started; sleep 60' 2>err &
    weir=$!
    wait_until test -e started
    wait_until has_more_samples it.data.appending "$samples"
    kill -KILL "$weir"
    wait "$weir" || true
    expect_eq "it.data" "$(stat -c '%i %s %Y' it.data && md5sum it.data)" "$before"
    expect_at_least "samples beside it" "$(script_lines it.data.appending)" $((samples + 1))
    weir_record -A --sync -a -e cpu-clock -F 1000 -o it.data -- true
    expect_eq "status" "$status" 125
    expect_line err "'it.data.appending' exists, from a recording that was cut short"
    expect_line err "weir recover 'it.data.appending' makes a whole file of it, with all of 'it.data'; then move or"
    "$WEIR_PROGRAM" recover -o whole.data it.data.appending 2>err || fail "weir recover: $(cat err)"
    expect_whole whole.data
    expect_at_least "samples in what was recovered" "$(script_lines whole.data)" $((samples + 1))
    local last
    last=$(perf_bare script --ns -F time -i whole.data 2>perf.err | tr -d ' .:' | sort -n | tail -1)
    expect_eq "end of SAMPLE_TIME" "$("$WEIR_PROGRAM" info whole.data | awk '$1 == "SAMPLE_TIME" { print $5 }')" "$last"
}

# As with --append: who wants something of a file does not mean the pipe that happens to be there.
test_it_is_for_files() {
    record --sync -e cpu-clock -o it.data -- true
    weir_record --sync -e cpu-clock -o - -- true >/dev/null
    expect_eq "status" "$status" 129
    expect_line err "option '--sync' cannot be used with '-o -'"
    "$WEIR_PROGRAM" record -q --sync -e cpu-clock -- true | cat >piped
    expect_eq "bytes in the pipe" "$(wc -c <piped)" 0
    expect_whole perf.data
}
