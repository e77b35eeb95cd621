# shellcheck shell=bash
# While data flows a reader makes no system call but poll and allocates nothing: weir's own threads, as the kernel saw
# them during a storm that they drained.

needs_perf_events

# calls_of COMM-PATTERN: "NUMBER FIRST-TWO-ARGUMENTS" of each system call of such threads of weir in it.data.
calls_of() {
    perf_bare script -i it.data --pid "$weir" -F comm,trace 2>/dev/null |
        awk -v pattern="^ *$1 " '$0 ~ pattern { sub(/.* NR /, ""); gsub(/[(),]/, ""); print $1, $2, $3 }'
}

test_readers_only_poll_during_a_storm() {
    local calls=400000 poll futex wakes waits
    poll=$("$WEIR_LOAD" number poll)
    futex=$("$WEIR_LOAD" number futex)
    start_record it.data -a -e raw_syscalls:sys_enter -c 1 -m 64M -- sh -c "
        '$WEIR_LOAD' getppid $calls & '$WEIR_LOAD' getppid $calls & wait"
    await_record
    expect_eq "status" "$status" 0
    expect_eq "lost" "$(ledger_column lost_in_ring)" 0
    expect_eq "getppid calls" "$(getppid_calls it.data)" $((2 * calls))
    calls_of 'weir-reader-[0-9]+' >by-readers
    calls_of 'weir-(writer|pool)' >by-woken
    expect_at_least "polls" "$(grep -c "^$poll " by-readers)" "$(cpus_online)"

    # The exceptions: a futex wake for a writer that had nothing to do for 200 ms, and for the pool's thread when a
    # chunk is taken that leaves less than half of what is ready. Each answers a wait, the first of the pool's thread
    # one from before the recording.
    wakes=$(grep -c "^$futex [0-9a-f]* 81$" by-readers || true)
    waits=$(grep -c "^$futex [0-9a-f]* 80$" by-woken || true)
    expect_at_least "futex waits" $((waits + 1)) "$wakes"
    expect_eq "other system calls of readers" "$(grep -v -e "^$poll " -e "^$futex [0-9a-f]* 81$" by-readers || true)" ""
}

# Probes on the C library's functions, which all programs share; the storm itself is what they see.
test_readers_allocate_nothing_during_a_storm() {
    local calls=50000 group libc function events=""
    group=weir_test_$BASHPID
    libc=$(ldd "$WEIR_LOAD" | awk '$1 ~ /^libc\.so/ { print $3 }')
    at_end perf probe -q -d "$group:*"
    for function in malloc calloc realloc free mmap munmap brk; do
        perf probe -q -x "$libc" -a "$group:$function=$function" 2>/dev/null ||
            skip "needs uprobes: CONFIG_UPROBE_EVENTS"
        events=$events,$group:$function
    done
    start_record it.data -a -e "${events#,}" -m 64M -- sh -c "
        '$WEIR_LOAD' malloc $calls & '$WEIR_LOAD' malloc $calls & wait"
    await_record
    expect_eq "status" "$status" 0
    expect_eq "lost" "$(ledger_column lost_in_ring)" 0
    expect_eq "allocations of the storm" "$(perf_bare script -i it.data --comm "$WEIR_LOAD_NAME" -F event 2>/dev/null |
        grep -c " $group:malloc:")" $((2 * calls))
    perf_bare script -i it.data --pid "$weir" -F comm,event >hits 2>/dev/null
    expect_eq "allocations of readers" "$(grep '^ *weir-reader' hits || true)" ""
}
