# shellcheck shell=bash
# --off-cpu: the time off the CPUs of a program that says how long it waits where (waits.c).

needs_perf_events
# shellcheck source=tests/record/off_cpu_oracles.sh
. "${BASH_SOURCE%/*}/off_cpu_oracles.sh"
needs_off_cpu

test_lifetime_of_each_thread_is_accounted_for() {
    record --off-cpu --off-cpu-thresh 40 -e dummy -o it.data -- "$waits" 10 80 </dev/null >lives
    expect_waits it.data
    expect_lives lives it.data
}

test_attached_to_a_process_new_tasks_are_followed() {
    mkfifo go
    "$waits" 10 80 <go >lives &
    local process=$!
    exec 9>go
    start_record it.data --off-cpu --off-cpu-thresh 40 -e dummy -p $process
    echo >&9
    await_record
    expect_waits it.data
    expect_lives lives it.data
}

test_whole_machine_without_a_threshold() {
    record -a --off-cpu --off-cpu-thresh 0 -e dummy -m 4M -o it.data -- "$waits" 10 80 </dev/null >lives
    expect_waits it.data
    expect_lives lives it.data
}

test_short_stretches_are_summed() {
    record --off-cpu --off-cpu-thresh 10000 -e dummy -o it.data -- "$waits" 10 80 </dev/null >lives
    expect_lives lives it.data
    # Ten sleeps are one sample.
    expect_eq "sums of a function" "$(stretches_in it.data wait_in_sleep 1 800)" 1
}

test_other_tasks_of_the_machine_are_left_out() {
    record --off-cpu -e dummy -o it.data -- "$waits" 1 20 </dev/null >lives
    sums_of it.data | awk '{ print $1 }' | sort -n >seen
    # The command, three threads and a child.
    expect_eq "tasks" "$(wc -l <seen)" 5
}

# expect_only LINES FILE COUNT: of other threads than those of the lines, so many have off-CPU time.
expect_only() {
    awk '{ print $1 }' "$1" | sort >wanted
    sums_of "$2" | awk '{ print $1 }' | sort | comm -13 wanted - >others
    expect_eq "other tasks" "$(wc -l <others)" "$3"
}

# The main thread of the program is no thread of its lines.
test_tasks_of_a_user_from_their_first_moment_on() {
    needs_program setpriv
    local user=$((60000 + $$ % 5000))
    record -u $user --off-cpu --off-cpu-thresh 40 -e dummy -o it.data -- \
        sh -c "setpriv --reuid $user --clear-groups '$waits' 10 80 >lives & '$waits' 1 80 >others; wait" </dev/null
    expect_line err "-u: all tasks, of which a sample filter keeps those of user $user"
    expect_waits it.data
    expect_lives lives it.data
    expect_only lives it.data 1
}

test_tasks_of_a_cgroup() {
    local folder
    folder=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
    if [ ! "$folder" ] || [ ! -w "$folder/cgroup.procs" ]; then skip "needs a cgroup2 hierarchy to write to"; fi
    grep -q '[^ ]* [^ ]* cgroup .*perf_event' /proc/mounts && skip "perf events are in a hierarchy of version 1"
    mkdir "$folder/weir-test-$BASHPID"
    at_end rmdir "$folder/weir-test-$BASHPID"
    record -a -G "weir-test-$BASHPID" --off-cpu --off-cpu-thresh 40 -e dummy -o it.data -- \
        sh -c "(echo 0 >'$folder/weir-test-$BASHPID/cgroup.procs'; exec '$waits' 10 80 >lives) & '$waits' 1 80 >others
            wait" </dev/null
    expect_waits it.data
    expect_lives lives it.data
    expect_only lives it.data 1
}

test_one_thread_and_with_inherit_those_that_it_starts() {
    local waiting inherit
    for inherit in "" --inherit; do
        begin_waits 10 80
        # shellcheck disable=SC2086 # a word or none
        start_record it.data --off-cpu --off-cpu-thresh 40 -e dummy -t "$waiting" $inherit 9>&-
        exec 9>&-
        await_record
        if [ "$inherit" ]; then
            expect_waits it.data
            expect_lives lives it.data
        else
            sums_of it.data >sums
            expect_eq "threads" "$(awk '{ print $1 }' sums)" "$waiting"
        fi
        rm -f it.data* go
    done
}

test_sums_of_a_rotated_recording_are_in_the_last_file() {
    local waiting before
    begin_waits 10 80
    start_record it.data --switch-output --off-cpu --off-cpu-thresh 10000 -e dummy -p "$waiting" 9>&-
    exec 9>&-
    sleep 0.4
    kill -USR2 "$weir"
    await_record
    before=$(find . -name 'it.data.2*' | sort | head -1)
    expect_eq "sums in the first file" "$(sums_of "$before" | wc -l)" 0
    expect_lives lives it.data.2*
}

# Each of the 32768 leaves of a tree of calls is a stack of its own, and nearly all of them wait long enough.
test_stretches_without_room_are_lost_in_the_ledger() {
    weir_record -v --max-loss 0 --off-cpu --off-cpu-thresh 10000 -e dummy --report it.json -o it.data -- \
        "$waits" tree 15 </dev/null
    local lost
    lost=$(ledger_column lost_in_sums offcpu-time)
    expect_eq "status" "$status" 3
    expect_at_least "lost" "$lost" 15000
    expect_line err "weir: warning: $lost short stretches off the CPUs, together "
    expect_line err "sums of off-CPU time full; to prevent it: --off-cpu-thresh=0 ]"
    expect_at_least "stretches" $((lost + $(sed -n 's/.* by themselves, \([0-9]*\) in .*/\1/p' err))) 31000
    expect_line it.json "{\"cause\":\"sums_full\",\"lost\":$lost,"
    expect_line <("$WEIR_PROGRAM" info it.data) "$lost sums_full; to prevent it: --off-cpu-thresh=0"
    "$WEIR_PROGRAM" verify it.data >verify.out || fail "$(cat verify.out)"
}

test_what_does_not_go_together() {
    local option
    for option in --per-thread --append --aggregate=1s --memory=16M --overwrite; do
        weir_record --off-cpu "$option" -o it.data true
        expect_eq "exit status" "$status" 129
        expect_line err "weir: option '--off-cpu' cannot be used with '${option%%=*}'"
    done
    weir_record --off-cpu-thresh 10 -e dummy -o it.data true
    expect_eq "exit status" "$status" 129
    expect_line err "weir: option '--off-cpu-thresh' needs --off-cpu: no time off the CPUs is measured"
    [ ! -e it.data ] || fail "it was recorded"
    setpriv --reuid=65534 --clear-groups -- "$WEIR_PROGRAM" record --off-cpu -o /dev/null true 2>err &&
        fail "it recorded"
    expect_line err "weir: cannot load the BPF programs of --off-cpu: Operation not permitted"
    expect_line err "CAP_BPF and CAP_PERFMON"
}
