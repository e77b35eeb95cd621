# shellcheck shell=bash
# What weir refuses to record, as its caller sees it: one line that says what, a hint, an exit status, nothing touched.

needs_perf_events

# expect_refused STATUS TEXT HINT ARGUMENT...
expect_refused() {
    local wanted=$1 text=$2 hint=$3
    shift 3
    status=0
    "$WEIR_PROGRAM" record -o it.data "$@" -- touch ran 2>err || status=$?
    expect_eq "status of weir record $*" "$status" "$wanted"
    expect_eq "first line of weir record $*" "$(head -1 err)" "weir: $text"
    expect_eq "hint of weir record $*" "$(sed -n 2p err)" "hint: $hint"
    expect_eq "lines of weir record $*" "$(wc -l <err)" 2
    expect_files . err
}

test_unknown_events_are_usage_errors_with_the_nearest_name() {
    expect_refused 129 "unknown event 'cylces' at column 1" "did you mean 'cycles'?" -e cylces
    expect_refused 129 "unknown event 'page-fault' at column 4" "did you mean 'page-faults'?" -e cs,page-fault
    expect_refused 129 "there is no tracepoint raw_syscalls:sys_entr (event 'raw_syscalls:sys_entr' at column 1)" \
        "did you mean raw_syscalls:sys_enter?" -e raw_syscalls:sys_entr
    expect_refused 129 "there is no tracepoint raw_syscals:sys_enter (event 'raw_syscals:sys_enter' at column 1)" \
        "did you mean raw_syscalls:sys_enter?" -e raw_syscals:sys_enter
}

test_samples_of_an_aux_area_are_refused_as_by_perf() {
    expect_refused 129 "event 'cpu-clock/aux-sample-size=100/': there is no AUX area event to sample" \
        "-e '{intel_pt//,cycles}': an AUX area event that leads those whose samples hold its trace" \
        -e cpu-clock/aux-sample-size=100/
}

test_hardware_event_that_was_named_is_not_replaced() {
    [ ! -e /sys/bus/event_source/devices/cpu/events/cpu-cycles ] || skip "needs a machine without a hardware PMU"
    expect_refused 125 "cannot open event 'r1a8' on cpu 0: No such file or directory" \
        "this machine has no hardware counter for it, like most virtual machines: -e cpu-clock needs none" \
        -e r1a8 -a
}

test_breakpoint_that_no_cpu_can_watch() {
    [ "$(uname -m)" = x86_64 ] || skip "needs an x86 CPU: others watch more"
    local event hint="a CPU watches 1, 2, 4 or 8 bytes at a multiple of that, on x86 for w, rw, or x without a length; "
    hint+="and not all of the kernel's code"
    for event in mem:0x1001/4:w mem:0x1000/3:w mem:0x1000:r mem:0x1000/4:x; do
        expect_refused 125 "cannot open event '$event' on cpu 0: Invalid argument" "$hint" -a -e $event
    done
}

test_cpus_that_are_not_there() {
    local online
    online=$(cat /sys/devices/system/cpu/online)
    expect_refused 125 "cpu 4095 is not online" "online CPUs: $online" -C 4095 -e cpu-clock
    expect_refused 125 "cpu 4095 is not online" "online CPUs: $online" -C 0,4095 -e cpu-clock
}

test_process_that_is_not_there() {
    local pid
    sleep 0 &
    pid=$!
    wait "$pid"
    expect_refused 125 "there is no process $pid" "ps -e lists the processes" -p "$pid" -e cpu-clock
}

# In a mount namespace of its own.
test_tracefs_that_is_not_mounted() {
    needs_program unshare
    unshare -m true 2>/dev/null || skip "needs CAP_SYS_ADMIN: unshare(2)"
    status=0
    unshare -m sh -c 'umount -a -t tracefs; umount -a -t debugfs; exec "$@"' sh \
        "$WEIR_PROGRAM" record -e sched:sched_switch -o it.data -- touch ran 2>err || status=$?
    expect_eq "status" "$status" 125
    expect_line err "weir: tracefs is not mounted (event 'sched:sched_switch' at column 1)"
    expect_line err "hint: mount -t tracefs nodev /sys/kernel/tracing"
    expect_files . err
}

# In a mount namespace of its own.
test_command_on_a_file_system_without_programs() {
    needs_program unshare
    unshare -m true 2>/dev/null || skip "needs CAP_SYS_ADMIN: unshare(2)"
    mkdir mounted
    status=0
    unshare -m sh -c 'mount -t tmpfs -o noexec nodev mounted && cp /bin/sleep mounted/true && exec "$@"' sh \
        "$WEIR_PROGRAM" record -e cs -o it.data -- mounted/true 2>err || status=$?
    expect_eq "status" "$status" 126
    expect_line err "weir: cannot run 'mounted/true': Permission denied"
    expect_line err "hint: it or its interpreter lies on a file system that is mounted noexec, or may not be executed"
    if [ -e it.data ]; then fail "a recording was begun"; fi
}

many_events() { printf 'cs%.0s,' {1..40} | sed 's/,$//'; }

test_soft_limit_of_descriptors_is_raised() {
    (ulimit -Sn 64 && record -a -e "$(many_events)" -o it.data -- sh -c 'ulimit -Sn >limit')
    expect_eq "the workload's own limit" "$(cat limit)" 64
    expect_readers_agree it.data
}

test_hard_limit_of_descriptors_is_told_with_the_number_that_is_needed() {
    local needed limit
    # 40 events and one for side records on each CPU, two per reader, 64 for the rest.
    needed=$((41 * $(cpus_online) + 2 * $(cpus_online) + 64))
    for limit in 8 16 64; do
        (ulimit -n $limit && weir_record -a -e "$(many_events)" -o it.data -- touch ran && exit "$status") || status=$?
        expect_eq "status" "$status" 125
        expect_line err ": Too many open files"
        expect_line err "hint: RLIMIT_NOFILE cannot be raised above $limit, this recording needs $needed:"
        expect_files . err
    done
}

test_affinity_of_one_cpu_is_warned_of_once_and_both_are_recorded() {
    needs_second_cpu
    taskset -c 0 "$WEIR_PROGRAM" record -v -a -e raw_syscalls:sys_enter -c 1 -m 16M -o it.data -- \
        taskset -c 1 "$WEIR_LOAD" getppid 1000 2>err || fail "weir record failed"
    expect_eq "warnings" "$(grep -c '^weir: warning:' err)" 1
    expect_line err "weir: warning: 1 of 2 readers cannot run on the CPUs planned for them"
    expect_eq "getppid calls" "$(getppid_calls it.data)" 1000
    expect_readers_agree it.data
}

# Told once, however many files there are.
test_io_uring_that_is_refused_is_done_without() {
    # shellcheck disable=SC2016 # $PPID is that of the inner shell
    "$WEIR_LOAD" without-io-uring "$WEIR_PROGRAM" record -a -e raw_syscalls:sys_enter -c 1 -m 16M --switch-output \
        -o it.data -- sh -c '"$WEIR_LOAD" getppid 20000 && kill -USR2 $PPID && sleep 0.2' 2>err ||
        fail "weir record failed"
    expect_line err "weir: io_uring is not available (Operation not permitted): writing with pwritev"
    expect_eq "notices" "$(grep -c io_uring err)" 1
    set -- it.data.*
    expect_eq "files" $# 2
    expect_eq "getppid calls" $(($(getppid_calls "$1") + $(getppid_calls "$2"))) 20000
}

# As in a container whose seccomp filter leaves perf_event_open(2) out. Privileges do not help, and :u neither.
test_perf_events_that_a_container_forbids() {
    local target
    for target in "-a" "-e cpu-clock"; do
        status=0
        # shellcheck disable=SC2086 # two words
        "$WEIR_LOAD" without-perf-events "$WEIR_PROGRAM" record $target -o it.data -- touch ran 2>err || status=$?
        expect_eq "status" "$status" 125
        expect_line err ": Operation not permitted"
        expect_line err "hint: a seccomp filter or security module forbids perf_event_open(2): start the container with"
        expect_eq "lines" "$(wc -l <err)" 2
        expect_files . err
    done
}
