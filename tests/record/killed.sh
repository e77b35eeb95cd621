# shellcheck shell=bash
# What SIGKILL at a random time leaves behind.

needs_perf_events

batches=4
at_once=5

# start_victim FOLDER: records a task that spins, in a folder of its own.
start_victim() {
    mkdir "$1"
    "$WEIR_PROGRAM" record -q -e cpu-clock -F 1000 -o "$1/it.data" -- \
        sh -c "echo \$\$ >$1.pid; exec '$WEIR_LOAD' spin 0" 2>"$1.err" &
}

end_workload() { if [ -s "$1.pid" ]; then kill -KILL "$(cat "$1.pid")" 2>/dev/null || true; fi; }

# A time in seconds, from .. to .. in ms.
random_s() { printf '0.%03d' $(($1 + RANDOM % ($2 - $1))); }

# data_size FILE: what its head says of the data: 0 until the first checkpoint.
data_size() { od -A n -t u8 -j 48 -N 8 "$1" | tr -d ' ' | grep . || echo 0; }

# has_data FILE BYTES: so many at least.
has_data() { [ "$(data_size "$1")" -ge "$2" ]; }

# kill_after_a_checkpoint FOLDER: up to a second after one that covers some hundred samples, which the first may lack.
kill_after_a_checkpoint() {
    start_victim "$1"
    local victim=$! delay
    wait_until test -e "$1/it.data"
    wait_until has_data "$1/it.data" 1
    wait_until has_data "$1/it.data" $(($(data_size "$1/it.data") + 20000))
    delay=$(random_s 0 999)
    echo "killed $delay s after a checkpoint" >"$1.when"
    sleep "$delay"
    kill -KILL "$victim"
    wait "$victim" || true
    end_workload "$1"
}

test_file_opens_as_it_is() {
    local batch victim
    for ((batch = 0; batch < batches; batch++)); do
        for ((victim = 0; victim < at_once; victim++)); do kill_after_a_checkpoint "$batch.$victim" & done
        wait
        for ((victim = 0; victim < at_once; victim++)); do expect_readable "$batch.$victim"; done
    done
}

expect_readable() {
    local told
    told="$(cat "$1.when"), weir said '$(cat "$1.err")'"
    expect_files "$1" it.data
    perf script -i "$1/it.data" -F comm,ip,sym,dso >samples 2>perf.err ||
        fail "perf script failed; $told: $(cat perf.err)"
    expect_at_least "samples ($told)" "$(wc -l <samples)" 1
    expect_at_least "samples in the hot loop ($told)" "$(grep -c ' hot_loop .*record_load)' samples)" 1
    expect_eq "perf's warnings ($told)" "$(cat perf.err)" ""
}

# Sooner there may be a file or none, but nothing of another name.
kill_at_once() {
    start_victim "$1"
    local victim=$!
    sleep "$(random_s 0 250)"
    kill -KILL "$victim" 2>/dev/null
    wait "$victim" || true
    end_workload "$1"
}

test_nothing_is_left_of_a_recording_that_had_not_begun() {
    local batch victim names
    for ((batch = 0; batch < batches; batch++)); do
        for ((victim = 0; victim < at_once; victim++)); do kill_at_once "$batch.$victim" & done
        wait
        for ((victim = 0; victim < at_once; victim++)); do
            names=$(ls -A "$batch.$victim")
            case $names in '' | it.data) ;; *) fail "left behind: $names" ;; esac
        done
    done
}

# has_samples FILE: by its last checkpoint.
has_samples() { [ "$("$WEIR_PROGRAM" dump --type sample --json "$1" 2>dump.err | wc -l)" -ge 1 ]; }

# Their formats are written last, and early in the head: perf refuses the file until recover puts them where it looks.
# A file that was last written before this boot is of another kernel, for all that recover can know.
test_killed_recording_of_tracepoints_is_recovered() {
    needs_root
    "$WEIR_PROGRAM" record -q -a -e sched:sched_switch -o it.data 2>err &
    local victim=$! dumped
    wait_until test -e it.data
    wait_until has_samples it.data
    kill -KILL "$victim"
    wait "$victim" || true
    touch -d 2001-01-01 it.data
    cp it.data before
    ! "$WEIR_PROGRAM" verify -q it.data || fail "verify passes a killed recording"
    "$WEIR_PROGRAM" recover -q it.data
    cmp it.data before || fail "recover has changed its input"
    "$WEIR_PROGRAM" verify it.data.recovered >told || fail "verify: $(cat told)"
    perf script -i it.data.recovered >samples 2>perf.err || fail "perf script failed: $(cat perf.err)"
    expect_eq "perf's warnings" "$(cat perf.err)" ""
    dumped=$("$WEIR_PROGRAM" dump --type sample --json it.data.recovered | wc -l)
    expect_at_least "samples" "$dumped" 1
    expect_eq "samples that perf script decodes" "$(grep -c 'sched:sched_switch: prev_comm=' samples)" "$dumped"
    expect_eq "of the killed file itself" \
        "$("$WEIR_PROGRAM" dump --type sample --json it.data | grep -c '"prev_comm"')" \
        "$("$WEIR_PROGRAM" dump --type sample --json it.data | wc -l)"
    expect_line <(perf report --header-only -i it.data.recovered 2>perf.err) "# hostname : $(uname -n)"
}

# A workload that is held until events are open must not run when its recorder is gone.
test_held_workload_does_not_run_without_its_recorder() {
    needs_program strace
    ASAN_OPTIONS=detect_leaks=0 strace -qq -f -o /dev/null -e trace=perf_event_open \
        -e inject=perf_event_open:signal=KILL:when=1 \
        "$WEIR_PROGRAM" record -e cpu-clock -o it.data -- touch ran 2>err || true
    sleep 0.2
    expect_files . err
}
