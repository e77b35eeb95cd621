# shellcheck shell=bash
# CPUs that are offline, or go while recording. Takes CPU 1 offline, so nothing may run beside it.

needs_perf_events
needs_second_cpu
# shellcheck source=tests/record/off_cpu_oracles.sh
. "${BASH_SOURCE%/*}/off_cpu_oracles.sh"

switch=/sys/devices/system/cpu/cpu1/online
[ -w $switch ] || skip "needs a CPU that can be taken offline: $switch"

test_offline_cpu_is_refused_by_name() {
    local online
    set_knob $switch 0
    online=$(cat /sys/devices/system/cpu/online)
    weir_record -C 1 -e cpu-clock -o it.data -- touch ran
    expect_eq "status" "$status" 125
    expect_line err "weir: cpu 1 is not online"
    expect_line err "hint: online CPUs: $online"
    expect_files . err
}

test_all_cpus_are_those_that_are_online() {
    set_knob $switch 0
    record -a -e raw_syscalls:sys_enter -c 1 -m 16M -o it.data -- "$WEIR_LOAD" getppid 1000
    expect_eq "getppid calls" "$(getppid_calls it.data)" 1000
    perf report --header-only -i it.data >header 2>perf.err
    expect_line header "# nrcpus online : $(getconf _NPROCESSORS_ONLN)"
    expect_readers_agree it.data
}

# cpu_gaps FILE: how often CPU 1 was away in the middle, and whether it is at the end, by weir info.
cpu_gaps() {
    "$WEIR_PROGRAM" info "$1" | awk '/^CPU / { inside = $2 == 1 } inside && /offline between/ { n++ }
        inside && /offline after/ { gone = " and gone" } END { print n + 0 gone }'
}

# cpu_changes FILE: the lists of CPUs that the file has, joined.
cpu_changes() { "$WEIR_PROGRAM" dump --type event_update "$1" | sed -n 's/^... cpus:  //p' | paste -sd ' '; }

# The coordinator opens the events some milliseconds after the CPU is there, as it says.
came_again() { wait_until_count "$1" grep -c 'CPU 1 came online: it is recorded from here on' err; }
wait_until_count() {
    local wanted=$1 tries
    shift
    for ((tries = 0; tries < 500; tries++)); do
        if [ "$("$@")" = "$wanted" ]; then return 0; fi
        sleep 0.01
    done
    fail "waited in vain for $wanted of: $*"
}

test_file_that_begins_while_a_cpu_is_away_says_so() {
    local file
    start_record it.data -a -e cpu-clock -F 99 --switch-output
    set_knob $switch 0
    wait_until grep -q "CPU 1 went offline" err
    kill -USR2 "$weir"
    wait_until grep -q ' Dump it.data.2' err
    kill -INT "$weir"
    await_record
    for file in it.data.2*; do
        expect_eq "lists of CPUs in $file" "$(cpu_changes "$file")" "$(cat /sys/devices/system/cpu/online)"
    done
    # What stands before that is of the start.
    expect_eq "what comes last" "$("$WEIR_PROGRAM" dump "$file" | grep -o 'FINISHED_INIT\|EVENT_UPDATE' | tail -1)" \
        EVENT_UPDATE
    expect_whole "$file"
}

test_cpu_that_comes_back_is_recorded_again() {
    local times=3 n all without
    set_knob $switch 0
    without=$(cat /sys/devices/system/cpu/online)
    write_knob $switch 1
    all=$(cat /sys/devices/system/cpu/online)
    start_record it.data -a -e raw_syscalls:sys_enter -c 1 -m 4M
    taskset -c 1 "$WEIR_LOAD" getppid 1000
    for ((n = 1; n <= times; n++)); do
        write_knob $switch 0
        taskset -c 0 "$WEIR_LOAD" getppid 1000
        write_knob $switch 1
        came_again $n
        taskset -c 1 "$WEIR_LOAD" getppid 1000
    done
    kill -INT "$weir"
    await_record
    expect_eq "getppid calls" "$(getppid_calls it.data)" $((1000 + times * 2000))
    expect_eq "counted by the kernel" "$(produced)" "$(told_samples)"
    expect_eq "samples with unknown ids" "$(grep -c 'unknown ids' err || true)" 0
    expect_readers_agree it.data
    expect_eq "gaps in weir info" "$(cpu_gaps it.data)" $times
    expect_eq "lists of CPUs" "$(cpu_changes it.data)" "$without $all $without $all $without $all"
    "$WEIR_PROGRAM" verify it.data >verified || fail "weir verify: $(cat verified)"
    expect_eq "gaps in weir verify" "$(grep -c '^note gaps *CPU 1 was offline between ' verified)" $times
}

# The kernel lengthens the records of the program for the second of two recorders, whichever that is.
test_program_that_another_recorder_sees_too_is_of_an_event_of_the_file() {
    needs_sample_filters
    local first
    start_record first.data -a -e cpu-clock -F 99
    first=$weir
    mv err first.err
    start_record it.data -a -e cpu-clock -F 99
    set_knob $switch 0
    wait_until grep -q 'CPU 1 went offline' first.err
    wait_until grep -q 'CPU 1 went offline' err
    write_knob $switch 1
    wait_until grep -q 'CPU 1 came online' first.err
    came_again 1
    taskset -c 1 "$WEIR_PROGRAM" record -q -e cpu-clock --filter 'pid > 1' -o filtered.data -- true
    kill -INT "$first" "$weir"
    wait "$first" || true # 130: the signal
    await_record
    for file in first.data it.data; do
        expect_whole $file
        expect_at_least "records of programs in $file" "$(report_records $file KSYMBOL)" 1
    done
}

# What a shell in the recording runs until weir has said so often that CPU 1 has come.
until_came() {
    echo "until [ \$(grep -c 'CPU 1 came online: it is recorded from here on' err) = $1 ]; do sleep 0.01; done"
}

# stream_calls FILE: as getppid_calls, of a stream.
stream_calls() {
    perf_bare script -i - --comm "$WEIR_LOAD_NAME" -F comm,trace <"$1" 2>perf.err |
        grep -c " NR $("$WEIR_LOAD" number getppid) " || true
}

# expect_stream_knows_its_samples FILE: none is of an event that the head does not have, nor damaged.
expect_stream_knows_its_samples() {
    expect_eq "samples with unknown ids" "$(grep -c 'unknown ids' err || true)" 0
    "$WEIR_PROGRAM" verify "$1" >verified || fail "weir verify: $(cat verified)"
    expect_eq "samples in perf script" "$(perf_bare script -i - -F comm <"$1" 2>perf.err | wc -l)" "$(told_samples)"
    expect_no_warnings
}

# What comes after the head of a stream cannot be told in it: its events are known from the start, whether the CPU was
# there or not.
test_stream_has_a_cpu_that_comes_under_the_ids_of_its_head() {
    local first
    for first in 0 1; do
        set_knob $switch $first
        "$WEIR_PROGRAM" record -v -a -e raw_syscalls:sys_enter -e sched:sched_process_exec -c 1 -m 4M -o - -- sh -c "
            for n in 1 2; do
                echo 0 >$switch
                taskset -c 0 '$WEIR_LOAD' getppid 500
                echo 1 >$switch
                $(until_came \$n)
                taskset -c 1 '$WEIR_LOAD' getppid 1000
            done" >it.stream 2>err || fail "status $?"
        expect_eq "getppid calls" "$(stream_calls it.stream)" 3000
        expect_eq "counted by the kernel" "$(produced)" "$(told_samples)"
        expect_stream_knows_its_samples it.stream
    done
}

# The values of a group name its members, each by its id.
test_group_that_reads_keeps_its_ids_on_a_cpu_that_comes_back() {
    set_knob $switch 1
    record -a -e '{raw_syscalls:sys_enter,raw_syscalls:sys_exit}:S' -c 1 -m 4M -o it.data -- sh -c "
        echo 0 >$switch
        echo 1 >$switch
        $(until_came 1)
        taskset -c 1 '$WEIR_LOAD' getppid 1000"
    expect_eq "getppid calls that perf finds in groups" \
        "$(perf_bare script -i it.data --comm "$WEIR_LOAD_NAME" -F event,trace 2>perf.err |
            grep -c "sys_enter: *NR $("$WEIR_LOAD" number getppid) ")" 1000
    perf script -i it.data 2>perf.err >/dev/null || fail "perf script failed: $(cat perf.err)"
    expect_no_warnings
    "$WEIR_PROGRAM" verify -q it.data || fail "verify refuses it"
}

# Nothing is open there at first; its rings are mapped when it comes.
test_cpu_that_was_offline_at_the_start_is_recorded_when_it_comes() {
    set_knob $switch 0
    start_record it.data -a -e raw_syscalls:sys_enter -e sched:sched_process_exec -c 1 -m 4M
    write_knob $switch 1
    came_again 1
    taskset -c 1 "$WEIR_LOAD" getppid 1000
    write_knob $switch 0
    kill -INT "$weir"
    await_record
    expect_eq "getppid calls" "$(getppid_calls it.data)" 1000
    expect_eq "counted by the kernel" "$(produced)" "$(told_samples)"
    expect_readers_agree it.data
}

# The ids are in the head as soon as the events are open.
test_killed_recording_knows_the_ids_of_a_cpu_that_came_back() {
    set_knob $switch 1
    start_record it.data -a -e cpu-clock -e task-clock -F 1000
    write_knob $switch 0
    write_knob $switch 1
    came_again 1
    taskset -c 1 "$WEIR_LOAD" spin 200000000
    sleep 2.5
    kill -KILL "$weir"
    await_record
    perf_bare script -i it.data -F comm,cpu,event >samples 2>perf.err || fail "perf script failed: $(cat perf.err)"
    expect_eq "perf's warnings" "$(cat perf.err)" ""
    expect_at_least "samples on CPU 1" "$(grep -c 'record_load.*\[001\]' samples)" 10
    "$WEIR_PROGRAM" info it.data | grep -q '^CPU 1 .*' || fail "weir info knows no CPU 1"
}

# Events of tasks are open on a CPU that is offline, and all that is forked inherits them, also what runs already when
# the CPU comes. What a task does there before the rings are there is counted, and told as lost.
test_task_is_recorded_on_a_cpu_that_was_offline_at_the_start() {
    set_knob $switch 0
    record -e raw_syscalls:sys_enter -c 1 -m 4M -o it.data -- sh -c "
        (until [ -e go ]; do sleep 0.01; done; exec taskset -c 1 '$WEIR_LOAD' getppid 1000) &
        echo 1 >$switch
        $(until_came 1)
        touch go
        wait
        echo 0 >$switch
        echo 1 >$switch
        taskset -c 1 '$WEIR_LOAD' getppid 1000"
    expect_eq "getppid calls" "$(getppid_calls it.data)" 2000
    expect_eq "times that it was told to come" "$(grep -c 'CPU 1 came online' err)" 1
    expect_eq "counted by the kernel" "$(produced)" "$(written_and_lost)"
    expect_readers_agree it.data
}

# The same of a process that is attached to, and in a stream.
test_stream_of_a_process_has_a_cpu_that_was_offline_at_the_start() {
    local target
    set_knob $switch 0
    sh -c "until [ -e go ]; do sleep 0.01; done; taskset -c 1 '$WEIR_LOAD' getppid 1000" &
    target=$!
    "$WEIR_PROGRAM" record -v -p $target -e raw_syscalls:sys_enter -c 1 -m 4M -o - >it.stream 2>err &
    weir=$!
    wait_until grep -q '^weir: output' err
    write_knob $switch 1
    came_again 1
    touch go
    await_record
    expect_eq "status" "$status" 0
    expect_eq "getppid calls" "$(stream_calls it.stream)" 1000
    expect_stream_knows_its_samples it.stream
}

# Events of tasks stay with them: the kernel goes on with them when the CPU is back.
test_task_is_recorded_on_a_cpu_that_comes_back() {
    set_knob $switch 1
    record -e raw_syscalls:sys_enter -c 1 -m 4M -o it.data -- sh -c "
        taskset -c 1 '$WEIR_LOAD' getppid 1000
        echo 0 >$switch
        echo 1 >$switch
        taskset -c 1 '$WEIR_LOAD' getppid 1000"
    expect_eq "getppid calls" "$(getppid_calls it.data)" 2000
    expect_no_line err "came online"
    expect_readers_agree it.data
}

# With -C the others are nobody's business.
test_cpu_that_is_not_asked_for_is_left_alone() {
    set_knob $switch 1
    record -C 0 -e raw_syscalls:sys_enter -c 1 -m 4M -o it.data -- sh -c "echo 0 >$switch; echo 1 >$switch; sleep 0.1"
    expect_no_line err "CPU 1"
    expect_eq "lists of CPUs" "$(cpu_changes it.data)" ""
    expect_readers_agree it.data
}

# Its ring is drained to the end, and the count is that of the kernel.
test_cpu_that_goes_and_comes_while_recording() {
    set_knob $switch 1
    record -a -e raw_syscalls:sys_enter -c 1 -m 16M -o it.data -- sh -c "
        taskset -c 1 '$WEIR_LOAD' getppid 1000
        echo 0 >$switch
        taskset -c 0 '$WEIR_LOAD' getppid 1000
        echo 1 >$switch"
    expect_eq "getppid calls" "$(getppid_calls it.data)" 2000
    expect_eq "counted by the kernel" "$(produced)" "$(told_samples)"
    expect_readers_agree it.data
}

# A CPU that comes adds ids while files of before are being finished by another thread.
test_files_that_end_while_a_cpu_comes_back_are_whole() {
    local n file calls=0
    start_record it.data -a -e raw_syscalls:sys_enter -c 1 -m 4M --switch-output
    for ((n = 1; n <= 3; n++)); do
        write_knob $switch 0
        kill -USR2 "$weir"
        write_knob $switch 1
        kill -USR2 "$weir"
        came_again $n
        taskset -c 1 "$WEIR_LOAD" getppid 1000
    done
    kill -INT "$weir"
    await_record
    for file in it.data.*; do
        "$WEIR_PROGRAM" verify -q "$file" || fail "verify refuses $file"
        calls=$((calls + $(getppid_calls "$file")))
    done
    expect_eq "getppid calls" "$calls" 3000
    expect_eq "samples with unknown ids" "$(grep -c 'unknown ids' err || true)" 0
}

# Events that ask for snapshots are opened on a CPU that comes, whether it was there before or not.
test_what_occurs_on_a_cpu_that_comes_asks_for_a_snapshot() {
    local first
    for first in 0 1; do
        set_knob $switch $first
        rm -f it.data
        truncate -s 0 err
        start_record it.data -a -e cs -M 4M --snapshot-hold-off 0 \
            --snapshot-on 'sched:sched_process_exec:filename ~ "*getent"'
        if [ $first = 1 ]; then write_knob $switch 0; fi
        write_knob $switch 1
        came_again 1
        taskset -c 1 getent passwd root >/dev/null
        wait_until grep -q 'snapshot 1 is in the file' err
        taskset -c 0 getent passwd root >/dev/null
        wait_until grep -q 'snapshot 2 is in the file' err
        kill -INT "$weir"
        await_record
        expect_line err "Took 2 snapshots"
    done
}

# What BPF programs send on a CPU goes to an event there, which is another one when the CPU has come back.
test_outputs_of_programs_follow_a_cpu_that_comes_back() {
    needs_program clang
    # shellcheck source=tests/record/bpf_program.sh
    . "$here/bpf_program.sh"
    program calls.c tracepoint/raw_syscalls/sys_enter
    start_record it.data -a -e calls.c
    taskset -c 1 "$WEIR_LOAD" getppid 1000
    write_knob $switch 0
    write_knob $switch 1
    came_again 1
    taskset -c 1 "$WEIR_LOAD" getppid 1000
    kill -INT "$weir"
    await_record
    expect_eq "samples that the program let pass" "$(events_of it.data raw_syscalls:sys_enter)" 1000
    expect_eq "samples that the program sent" "$(events_of it.data fourth)" 500
    expect_readers_agree it.data
}

# While a CPU is away, a stretch that ends there has no event that could take it.
test_time_off_the_cpus_is_whole_when_a_cpu_goes_and_comes() {
    needs_off_cpu
    local waiting
    begin_waits 10 80
    start_record it.data --off-cpu --off-cpu-thresh 40 -e dummy -p "$waiting" 9>&-
    exec 9>&-
    sleep 0.2
    set_knob $switch 0
    sleep 0.2
    write_knob $switch 1
    await_record
    expect_waits it.data
    expect_lives lives it.data
}

# The events of a CPU that comes back are new ones, and have the filter before they count.
test_sample_filter_holds_on_a_cpu_that_comes_back() {
    needs_off_cpu
    needs_program taskset
    grep -q ' bpf_cast_to_kern_ctx$' /proc/kallsyms || skip "needs Linux 6.2"
    start_record it.data -a -e page-faults:u -c 1 -d --filter 'addr >= 0x100000000000, addr < 0x10000000a000'
    set_knob $switch 0
    wait_until grep -q "CPU 1 went offline" err
    write_knob $switch 1
    came_again 1
    taskset -c 1 "$WEIR_LOAD" touch 20 </dev/null
    taskset -c 0 "$WEIR_LOAD" touch 30 </dev/null
    kill -INT "$weir"
    await_record
    expect_eq "samples" "$(report_samples it.data)" 20
    expect_at_least "filtered" "$(ledger_column filtered)" 30
    expect_eq "written, filtered and lost" "$(written_and_lost)" "$(produced)"
}
