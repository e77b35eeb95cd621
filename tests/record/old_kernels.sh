# shellcheck shell=bash
# Kernels older than this one, played by strace: it lets chosen calls of perf_event_open(2) fail with EINVAL. What
# nobody asked for is dropped, one thing after the other, and said with -v; what was asked for is named.
#
# Without privileges to spare each try opens the event (odd calls), then the one for side records (even calls).

needs_perf_events
needs_program strace
strace -o /dev/null true 2>/dev/null || skip "needs to be allowed to trace: ptrace(2)"

# record_refusing WHEN ARGUMENT...: WHEN says which calls fail, in strace's form FIRST..LAST+STEP.
record_refusing() {
    local when=$1
    shift
    status=0
    ASAN_OPTIONS=detect_leaks=0 strace -f -qq -o /dev/null -e trace=perf_event_open -e signal=none \
        -e "inject=perf_event_open:error=EINVAL:when=$when" \
        "$WEIR_PROGRAM" record -v -C 0 -o it.data "$@" 2>err || status=$?
}

# expect_dropped TEXT...: these were dropped in this order, and nothing else.
expect_dropped() {
    local text
    grep -o 'trying without [^:(]*' err | sed -e 's/trying without //' -e 's/ $//' >dropped || true
    for text; do echo "$text"; done >wanted
    diff wanted dropped || fail "dropped (>) is not what was expected (<)"
}

test_event_of_samples_loses_one_thing_after_the_other() {
    record_refusing 1..1 -e cs -- true
    expect_eq "status" "$status" 0
    expect_dropped "PERF_FORMAT_LOST"
    record_refusing 1..3 -W -e cs:u -- true
    expect_eq "status" "$status" 0
    case $(uname -m) in
    x86_64) expect_dropped "PERF_FORMAT_LOST" "the weight in parts" "PERF_FLAG_FD_CLOEXEC" ;;
    *) expect_dropped "PERF_FORMAT_LOST" "PERF_FLAG_FD_CLOEXEC" "exclude_guest and exclude_host" ;;
    esac
    record_refusing 1..3 -e cs:u -- true
    expect_eq "status" "$status" 0
    expect_dropped "PERF_FORMAT_LOST" "PERF_FLAG_FD_CLOEXEC" "exclude_guest and exclude_host"
    expect_readers_agree it.data
}

test_side_records_lose_one_thing_after_the_other() {
    local load
    load=$(basename "$WEIR_LOAD")
    record_refusing 2..10+2 -m 16M -e raw_syscalls:sys_enter -c 1 -- taskset -c 0 "$WEIR_LOAD" getppid 1000
    expect_eq "status" "$status" 0
    expect_dropped "PERF_FORMAT_LOST" "ksymbol and bpf_event records" "comm_exec" "mmap2" "PERF_FLAG_FD_CLOEXEC"
    expect_eq "getppid calls" "$(getppid_calls it.data)" 1000
    expect_readers_agree it.data
    perf script -i it.data --show-mmap-events 2>/dev/null | grep "^ *$load .*PERF_RECORD_MMAP .*/$load$" >maps ||
        fail "no mapping of the load without mmap2"
}

test_descriptors_without_the_flag_are_not_inherited() {
    record_refusing 1..2 -e cs -- sh -c 'ls -l /proc/self/fd >descriptors'
    expect_dropped "PERF_FORMAT_LOST" "PERF_FLAG_FD_CLOEXEC"
    expect_no_line descriptors perf_event
}

test_refusal_that_nothing_mends_ends() {
    record_refusing 1+1 -e cs -- touch ran
    expect_eq "status" "$status" 125
    expect_line err "weir: cannot open event 'cs' on cpu 0: Invalid argument"
    expect_line err "hint: the CPU does not exist, or this kernel is older than what the event asks for"
    if [ -e it.data ] || [ -e ran ]; then fail "something was begun"; fi
}

# Each is refused once all that may be dropped is; the next call is without it.
test_what_was_asked_for_is_named() {
    local when option name
    while read -r when option name; do
        # shellcheck disable=SC2086 # two words
        record_refusing "$when" -e cs ${option//=/ } -- touch ran
        expect_eq "status with $option" "$status" 125
        expect_line err ": this kernel refuses $name"
        expect_line err "hint: $name"
        if [ -e it.data ] || [ -e ran ]; then fail "something was begun with $option"; fi
    done <<'END'
1..4 --code-page-size --code-page-size
1..4 --data-page-size --data-page-size
1..4 --phys-data --phys-data
1..4 --all-cgroups --all-cgroups
1..4 --clockid=monotonic --clockid
1..4 --call-graph=fp,8 the number of frames
1..4 -IIP --intr-regs
2..14+2 --namespaces --namespaces
2..14+2 --switch-events --switch-events
2..14+2 --buildid-mmap --buildid-mmap
1..4 --all-user to leave out user space
END
}
