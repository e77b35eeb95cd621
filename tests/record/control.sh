# shellcheck shell=bash
# --control: perf's protocol, on the real kernel and with perf's own script.

needs_perf_events

calls=1000
tracepoint=(-e raw_syscalls:sys_enter -c 1)

# The script of perf-record(1), with its pauses cut short. $1: the recorder; its words go to words.
script_of_the_manual() {
    local e1='' d1='' pid
    mkdir "$1" && cd "$1" || return
    open_fifos
    "${@:2}" record -o it.data -D -1 -e cpu-clock -a --control fd:7,8 -- sleep 30 >/dev/null 2>&1 &
    pid=$!
    sleep 1 && echo 'enable' >&7 && read -r -u 8 e1 && echo "enabled(${e1})"
    sleep 0.5 && echo 'disable' >&7 && read -r -u 8 d1 && echo "disabled(${d1})"
    kill -INT "$pid"
    wait "$pid" || true
    exec 7>&- 8>&-
    cd ..
}

test_script_of_perfs_manual_works_as_with_perf() {
    script_of_the_manual weir "$WEIR_PROGRAM" >weir.words
    script_of_the_manual perf perf >perf.words
    expect_eq "words" "$(cat weir.words)" "$(cat perf.words)"
    expect_line weir.words 'enabled(ack)'
    expect_at_least "samples" "$(report_samples weir/it.data)" 1
}

test_events_count_from_enable_to_disable() {
    open_fifos
    start_record it.data "${tracepoint[@]}" -D -1 --control fifo:ctl,ack -a
    "$WEIR_LOAD" getppid $calls
    ask enable ack
    "$WEIR_LOAD" getppid $calls
    ask disable ack
    "$WEIR_LOAD" getppid $calls
    ask stop ack
    await_record
    expect_eq "status" "$status" 0
    expect_eq "calls" "$(getppid_calls it.data)" $calls
    expect_eq "lines on events" "$(grep -c '^weir: Events ' err)" 3
    expect_readers_agree it.data
}

test_one_event_is_switched_by_its_name() {
    open_fifos
    start_record it.data "${tracepoint[@]}" -e minor-faults -D -1 --control fifo:ctl,ack -a
    ask 'enable raw_syscalls:sys_enter' ack
    ask 'enable none' "error: there is no event 'none'"
    "$WEIR_LOAD" getppid $calls
    ask 'disable raw_syscalls:sys_enter' ack
    "$WEIR_LOAD" getppid $calls
    ask stop ack
    await_record
    expect_eq "calls" "$(getppid_calls it.data)" $calls
    expect_eq "faults" "$(ledger_column written minor-faults)" 0
    expect_line err 'Event raw_syscalls:sys_enter enabled'
    expect_line err "there is no event 'none' (evlist tells which there are)"
}

test_member_of_a_group_is_not_switched_alone() {
    open_fifos
    start_record it.data -e '{cpu-clock,minor-faults}' --control fifo:ctl,ack -a
    ask 'disable minor-faults' "error: event 'minor-faults' counts with its group"
    ask 'disable cpu-clock' ack
    ask 'evlist -g' ack
    ask stop ack
    await_record
    expect_line err '{cpu-clock,minor-faults}'
    expect_line err "event 'minor-faults' counts with its group (name the group's leader, 'cpu-clock')"
}

test_event_lists_are_those_of_perf() {
    local event='cpu-clock: type: 1, size: 128, { sample_period, sample_freq }: 4000, sample_type: IP|TID|TIME'
    open_fifos
    start_record it.data -e cpu-clock --control fifo:ctl,ack -a
    ask evlist ack
    ask 'evlist -F' ack
    ask 'evlist -v' ack
    ask stop ack
    await_record
    expect_eq "lists" "$(grep -c '^weir: cpu-clock' err)" 3
    expect_line err 'weir: cpu-clock: sample_freq=4000'
    expect_line err "weir: $event"
}

test_stop_ends_the_command_and_tells_of_it() {
    open_fifos
    start_record it.data -e cpu-clock --control fifo:ctl,ack -- sleep 100
    ask ping ack
    ask stop ack
    await_record
    expect_eq "status" "$status" $((128 + 15))
}

# Whoever waits for an answer then would wait for the command, and the command perhaps for them.
test_commands_are_answered_while_a_command_outlives_its_recording() {
    local line=''
    open_fifos
    start_record it.data -e cpu-clock --control fifo:ctl,ack -- \
        sh -c 'trap "" TERM; until [ -e over ]; do sleep 0.02; done'
    ask stop ack
    while [ "$line" != 'error: the recording has ended' ]; do # it may be just about to
        echo ping >&7
        read -r -t 20 -u 8 line || fail "no answer"
        [[ $line == ack || $line == error:* ]] || fail "answered: $line"
    done
    touch over
    await_record
    expect_eq "status" "$status" 0
}

test_status_is_one_line_of_json() {
    needs_program python3
    open_fifos
    start_record it.data "${tracepoint[@]}" -m 1M --control fifo:ctl,ack -a
    "$WEIR_LOAD" getppid 100000
    sleep 1.2 # a round: what was handed over by then is told
    echo status >&7
    read -r -t 20 -u 8 json
    read -r -t 20 -u 8 ack
    ask stop ack
    await_record
    expect_eq "end of the answer" "$ack" ack
    python3 - "$json" >told <<'END'
import json, sys
status = json.loads(sys.argv[1].lstrip("\0"))
print(status["state"], status["samples"] >= 100000, status["bytes"] >= 100000 * 56, status["rings"], status["files"])
drains = status["drains"]
print(drains["elsewhere"]["drains"] > 0, 0 < drains["elsewhere"]["fill_per_mille"]["max"] <= 1000)
print(sum(drains["at_switch"][what]["max"] for what in ("gap_us", "fill_per_mille", "wait_us")))
END
    expect_eq "status" "$(paste -sd ' ' told)" "enabled True True $((2 * $(cpus_online))) 1 True True 0"
}

test_each_switch_is_answered_when_the_file_before_is_left() {
    open_fifos
    "$WEIR_PROGRAM" record -o it.data "${tracepoint[@]}" --switch-output --control fifo:ctl,ack -a 2>err &
    # shellcheck disable=SC2034 # await_record, in lib.sh, takes it
    weir=$!
    ask ping ack
    for ((i = 0; i < 3; i++)); do
        "$WEIR_LOAD" getppid $calls
        ask switch ack
    done
    ask stop ack
    await_record
    local total=0 file
    for file in it.data.*; do total=$((total + $(getppid_calls "$file"))); done
    expect_eq "files" "$(find . -name 'it.data.*' | wc -l)" 4
    expect_eq "calls" "$total" $((3 * calls))
}

# What else the pair does: pair.sh.
test_snapshot_without_memory_for_it_stops_recording() {
    open_fifos
    start_record again.data "${tracepoint[@]}" -M 8M --control fifo:ctl,ack -a
    "$WEIR_LOAD" getppid $calls
    ask snapshot 'error: snapshot not allocated: recording has stopped'
    "$WEIR_LOAD" getppid $calls
    echo status >&7
    read -r -t 20 -u 8 json
    read -r -t 20 -u 8 _
    [[ $json == *'"state":"stopped"'* ]] || fail "status: $json"
    ask stop ack
    await_record
    expect_eq "calls" "$(getppid_calls again.data)" $calls
}

# The command ends as it asks: weir may see both at once.
test_what_is_asked_for_just_before_the_end_is_done() {
    local n
    open_fifos
    for ((n = 0; n < 4; n++)); do
        record "${tracepoint[@]}" -M 8M --control fifo:ctl -o it.data -- \
            sh -c "'$WEIR_LOAD' getppid $calls; echo dump >&7"
        expect_line err "Took 1 snapshot"
        expect_eq "calls" "$(getppid_calls it.data)" $calls
    done
}

# Memory that the kernel does not give, and then does.
test_snapshot_alloc_without_memory_warns_and_recording_goes_on() {
    local tracer
    needs_program strace # whose own system calls are recorded too: room for them
    open_fifos
    start_record it.data "${tracepoint[@]}" -M 128M --exclude-perf --control fifo:ctl,ack -a
    "$WEIR_LOAD" getppid $calls
    strace -qq -f -p "$weir" -o strace.log -e trace=madvise -e inject=madvise:error=ENOMEM &
    tracer=$!
    wait_until grep -q '^TracerPid:[[:space:]]*[1-9]' "/proc/$weir/status"
    sleep 0.5 # its other threads
    ask snapshot-alloc 'error: no snapshot: cannot make memory for it: Cannot allocate memory'
    kill "$tracer"
    wait "$tracer" || true
    expect_line err 'warning: no snapshot: there is no memory for a second 128 MiB; recording goes on'
    "$WEIR_LOAD" getppid $calls
    ask snapshot-alloc ack
    ask stop ack
    await_record
    expect_eq "status" "$status" 0
    expect_eq "calls" "$(getppid_calls it.data)" $((2 * calls))
    expect_line err "Took 1 snapshot"
}

test_garbage_is_one_warning_and_holds_up_nothing() {
    open_fifos
    start_record it.data "${tracepoint[@]}" --control fifo:ctl,ack -a
    head -c 1048576 /dev/urandom | tr '\0\n' x >&7
    echo >&7
    ask ping 'error: a control command is longer than 1024 bytes'
    for ((i = 0; i < 100; i++)); do echo "nonsense $i" >&7; done
    "$WEIR_LOAD" getppid $calls
    echo stop >&7
    await_record
    expect_eq "status" "$status" 0
    expect_eq "warnings" "$(grep -c 'warning: control:' err)" 1
    expect_eq "calls" "$(getppid_calls it.data)" $calls
}

test_answers_that_nobody_takes_hold_up_nothing() {
    open_fifos
    exec 5> >(true) # which has ended soon
    start_record it.data -e cpu-clock --control fd:7,5 -a
    for ((i = 0; i < 100; i++)); do echo ping >&7; done
    echo stop >&7
    await_record
    expect_eq "status" "$status" 0
    expect_eq "warnings" "$(grep -c 'the answers to control commands are not read' err)" 1
}

# Each refusal is told or counted, and a flood of them does not fill the log.
test_messages_that_clients_cause_are_few_and_counted() {
    local told left_out
    open_fifos
    start_record it.data -v -e cpu-clock --control fifo:ctl,ack -a
    printf -- '-bogus\n%.0s' {1..500} >&7
    ask stop ack
    await_record
    told=$(grep -cE "^weir: (warning: )?control: unknown control command 'bogus'" err)
    left_out=$(sed -n "s/^weir: left out \([0-9]*\) more lines* like: control: .*'bogus'.*/\1/p" err |
        awk '{ sum += $1 } END { print sum + 0 }')
    expect_eq "refusals that were told or counted" $((told + left_out)) 500
    expect_at_least "refusals that were counted only" "$left_out" 1
}

test_what_is_not_there_is_refused_before_anything_is_opened() {
    weir_record -o it.data --control fifo:nowhere -- true
    expect_eq "status" "$status" 125
    expect_line err "cannot open 'nowhere' of --control: No such file or directory"
    expect_line err "hint: mkfifo nowhere"
    weir_record -o it.data --control fd:55 -- true
    expect_line err "descriptor 55 of --control cannot be used: Bad file descriptor"
    weir_record -o it.data --control perf.fifo -- true
    expect_eq "status" "$status" 129
    [ ! -e it.data ] || fail "a file was made"
}

test_recording_ends_when_nobody_renews_its_lease() {
    open_fifos
    start_record it.data "${tracepoint[@]}" -a --control fifo:ctl,ack --lease 2 --report it.json -- sleep 100
    sleep 1.2
    "$WEIR_PROGRAM" status "$weir" >said 2>/dev/null || skip "needs weir status: jansson"
    grep -q ', lease 0:0[01]$' said || fail "no time is told: $(cat said)"
    ask lease ack
    sleep 1.2 # longer than the first lease
    ask ping ack
    ask 'lease 3' "error: control command 'lease' takes no argument"
    await_record
    expect_eq "status" "$status" $((128 + 15))
    expect_line err 'nobody has renewed the lease for 2 s: recording ends'
    expect_line it.json '"end":"lease"'
    expect_whole_and_balanced it.data raw_syscalls:sys_enter
}

test_lease_needs_a_controller() {
    status=0
    # shellcheck disable=SC2016 # for the shell in the name space
    XDG_RUNTIME_DIR=$PWD/none unshare -m sh -c \
        'mount -t tmpfs -o ro none /run && "$0" record -a -e cpu-clock --lease 2 -o it.data' "$WEIR_PROGRAM" 2>err ||
        status=$?
    grep -q 'unshare: \|mount: ' err && skip "needs leave to mount in a name space"
    expect_eq "status" "$status" 125
    expect_eq "lines" "$(grep -c '^weir: ' err)" 1
    expect_line err 'weir: no controller could renew the lease: '
    [ ! -e it.data ] || fail "there is a file"
}
