# shellcheck shell=bash
# Faults of the system around a recording: stopped, starved of memory, its file taken away, its clock set, its CPUs
# narrowed. Rows of docs/faults.md. Those that change the whole machine: tests/record/sysctls.sh.

# shellcheck disable=SC2154 # weir is the pid of start_record
needs_perf_events

# Row 3. What rings cannot hold meanwhile is counted by the kernel.
test_stopped_recorder_counts_what_it_lost_and_goes_on() {
    start_record it.data -a -e raw_syscalls:sys_enter -c 1 -m 64K
    "$WEIR_LOAD" getppid 1000
    kill -STOP "$weir"
    "$WEIR_LOAD" getppid 200000
    kill -CONT "$weir"
    "$WEIR_LOAD" getppid 1000
    kill -INT "$weir"
    await_record
    expect_at_least "lost" "$(ledger_column lost_in_ring)" 100000
    expect_whole_and_balanced it.data
}

# Row 19.
test_targets_that_end_while_weir_attaches_are_passed_over() {
    local tries pids
    for ((tries = 0; tries < 5; tries++)); do
        sleep 0.0$((RANDOM % 5 + 1)) &
        pids=$!
        sleep 30 &
        pids=$pids,$!
        weir_record -e cpu-clock:u -p "$pids" -o it.data -- sleep 0.05
        # Either both are found, or the one that has gone is named before anything is opened.
        case $status in
        0) expect_readers_agree it.data ;;
        125 | 129) expect_line err "weir: " ;;
        *) fail "status $status" ;;
        esac
        kill %% 2>/dev/null || true
        rm -f it.data it.data.old
    done
}

# Row 30: the clock of day jumps; durations are those of a clock that does not.
test_clock_that_is_set_changes_nothing() {
    needs_program faketime
    # It stands between the program and the waits that ThreadSanitizer has to see.
    if grep -q __tsan_init "$WEIR_PROGRAM"; then skip "needs a build without ThreadSanitizer"; fi
    status=0
    faketime -f '+0 x100' "$WEIR_PROGRAM" record -v -e cpu-clock -F 1000 -o it.data -- "$WEIR_LOAD" spin 200000000 \
        2>err || status=$?
    [ "$status" != 1 ] || skip "faketime does not take this program"
    expect_eq "status" "$status" 0
    expect_whole it.data
}

# The same with clocks of a time namespace: weir waits by them, samples and events have the kernel's own.
test_time_namespace_changes_neither_durations_nor_the_time_of_day() {
    local first wall
    needs_program unshare
    unshare --time --monotonic 1000000 --boottime 1000000 true 2>/dev/null || skip "needs time namespaces"
    unshare --time --monotonic 1000000 --boottime 1000000 "$WEIR_PROGRAM" record -v -e raw_syscalls:sys_enter -c 1 \
        -k monotonic -o it.data -- "$WEIR_LOAD" getppid 1000 2>err || fail "status $?"
    expect_eq "getppid calls" "$(getppid_calls it.data)" 1000
    expect_readers_agree it.data
    wall=$(date -u +%s)
    first=$(perf_bare script -i it.data -F tod 2>perf.err | sed -n '1s/^ *\([^.]*\)\..*/\1/p')
    first=$(date -u -d "$first" +%s)
    expect_at_least "seconds between the samples and now" $((wall - first)) -1
    expect_at_least "how few they are" $((100 - (wall - first))) 0
}

# A recorder beside that wants build ids in its mappings: the kernel then says so of ours as well.
test_recorder_beside_that_wants_build_ids_changes_nothing() {
    "$WEIR_PROGRAM" record -q -a --buildid-mmap -e dummy -o beside.data 2>beside.err &
    local beside=$!
    wait_until test -e beside.data
    record -e cpu-clock -F 1000 -o it.data -- sh -c "for i in 1 2 3; do '$WEIR_LOAD' spin 1000000; done"
    kill -INT "$beside"
    wait "$beside" || true
    expect_at_least "mappings" "$("$WEIR_PROGRAM" dump --json --type mmap2 it.data | wc -l)" 10
    # Misc 2 is user space, 16386 with a build id.
    expect_eq "mappings with build ids" \
        "$("$WEIR_PROGRAM" dump --json --type mmap2 it.data | grep -c '"misc":163' || true)" 0
    expect_at_least "mappings with build ids, beside" \
        "$("$WEIR_PROGRAM" dump --json --type mmap2 beside.data | grep -c '"misc":16386')" 1
    expect_whole it.data
}

# Two recorders want the records of a third one's BPF programs: the kernel puts the sample_id of all but one of them in
# the wrong place. (Programs that were there before have no time. Flag 1: unloaded.)
test_records_of_bpf_programs_have_their_time_in_both_recordings() {
    local name pids=()
    for name in one other; do
        "$WEIR_PROGRAM" record -q -a -e dummy -o $name.data 2>$name.err &
        pids+=($!)
        wait_until test -e $name.data
    done
    weir_record -e cpu-clock --filter 'period > 0' -o it.data -- true
    kill -INT "${pids[@]}"
    wait "${pids[@]}" || true
    [ "$status" = 0 ] || skip "needs BPF programs: $(cat err)"
    for name in one other; do
        "$WEIR_PROGRAM" dump --json --type ksymbol $name.data | grep '"flags":1,' >unloaded ||
            fail "no program was unloaded in $name.data"
        expect_eq "records without a time in $name.data" "$(grep -c '"time":0,' unloaded || true)" 0
        expect_whole $name.data
    done
}

# Row 37. CPUs that the recorder may not run on are recorded all the same.
test_affinity_of_one_cpu_records_all() {
    needs_second_cpu
    status=0
    taskset -c 0 "$WEIR_PROGRAM" record -v -a -e raw_syscalls:sys_enter -c 1 -m 4M -o it.data -- \
        taskset -c 1 "$WEIR_LOAD" getppid 2000 2>err || status=$?
    expect_eq "status" "$status" 0
    expect_eq "getppid calls" "$(getppid_calls it.data)" 2000
    expect_whole_and_balanced it.data
}

# Row 15, by descriptors for a few CPUs and many events.
test_descriptors_that_are_not_enough_are_named() {
    status=0
    prlimit --nofile=24:24 "$WEIR_PROGRAM" record -a -e cpu-clock,cs,faults,migrations,minor-faults,major-faults \
        -o it.data -- touch ran 2>err || status=$?
    expect_eq "status" "$status" 125
    expect_line err "sudo prlimit --pid \$\$ --nofile="
    [ ! -e ran ] || fail "the workload ran"
}

# Row 13.
test_locked_memory_that_is_not_enough_for_buffers_is_done_without() {
    needs_program setpriv
    set_knob /proc/sys/kernel/perf_event_paranoid -1
    chmod 755 .
    mkdir home
    cp "$WEIR_PROGRAM" "$WEIR_LOAD" home
    chown 65534 home
    status=0
    (
        cd home && HOME=$PWD exec prlimit --memlock=65536:65536 setpriv --reuid 65534 --regid 65534 --clear-groups \
            --inh-caps=-all ./weir record -v -e cpu-clock -o it.data -- ./record_load spin 50000000
    ) 2>err || status=$?
    expect_eq "status" "$status" 0
    expect_line err "output: "
    mv home/it.data . && chown "$(id -u)" it.data
    expect_whole it.data
}

# Row 27: a memory cgroup. record_in_memory_of MIB [OPTION...]
record_in_memory_of() {
    local group=/sys/fs/cgroup/memory/weir-fault-$$ limit=$1
    shift
    ! grep -qE '__(asan|tsan)_init' "$WEIR_PROGRAM" || skip "sanitizers have memory of their own"
    if [ ! -d "$group" ]; then
        mkdir "$group" 2>/dev/null || skip "needs a memory cgroup (version 1)"
        at_end rmdir "$group"
    fi
    echo $((limit << 20)) >"$group/memory.limit_in_bytes" || skip "needs memory.limit_in_bytes"
    status=0
    (
        echo "$BASHPID" >"$group/tasks"
        exec "$WEIR_PROGRAM" record -v -a -e cpu-clock -F 1000 "$@" -o it.data -- sleep 0.3
    ) 2>err || status=$?
}

test_memory_cgroup_is_kept_to() {
    record_in_memory_of 64 -m 64M
    expect_eq "status" "$status" 0
    expect_line err "weir: memory: the cgroup allows 64 MiB, of which rings take none"
    expect_whole it.data
}

test_memory_cgroup_that_is_too_small_is_refused_before_anything_is_opened() {
    local options
    for options in "" --dry-run "--buffer-size 60M"; do
        # shellcheck disable=SC2086
        record_in_memory_of $((${#options} > 10 ? 48 : 6)) $options
        expect_eq "status with $options" "$status" 125
        expect_line err "MiB of memory, and its cgroup has at most "
        expect_line err "hint: a smaller --buffer-size or -M, fewer readers"
        expect_line err "/weir-fault-$$/memory.limit_in_bytes'"
        expect_files . err
    done
}

# Row 22: two programs that had the same pid, one after the other; samples of the second are not resolved by the first's
# mappings.
test_pid_that_is_used_again_has_no_stale_maps() {
    needs_program unshare
    cp "$WEIR_LOAD" first
    cp "$WEIR_LOAD" second
    cat >reuse <<'SCRIPT'
for program in ./first ./second; do
    echo 4999 >/proc/sys/kernel/ns_last_pid
    "$program" spin 200000000 &
    echo "$!" >>pids
    wait
done
SCRIPT
    unshare --pid --fork --mount-proc "$WEIR_PROGRAM" record -v -e cpu-clock -F 1000 -o it.data -- sh reuse 2>err ||
        fail "status $?"
    expect_eq "pids" "$(paste -sd ' ' pids)" "5000 5000"
    perf script -i it.data --pid 5000 -F comm,ip,sym,dso >samples 2>perf.err || fail "perf script: $(cat perf.err)"
    expect_at_least "samples of the first" "$(grep -c '^ *first .*/first)' samples)" 10
    expect_at_least "samples of the second" "$(grep -c '^ *second .*/second)' samples)" 10
    expect_eq "samples with the other's mappings" \
        "$(grep -c -e '^ *first .*/second)' -e '^ *second .*/first)' samples || true)" 0
    expect_whole it.data
}

# Row 37. A cpuset is a limit that cannot be widened by the process itself.
test_cpuset_of_one_cpu_records_all() {
    needs_second_cpu
    local group=/sys/fs/cgroup/cpuset/weir-fault-$$
    mkdir "$group" 2>/dev/null || skip "needs a cpuset (version 1)"
    at_end rmdir "$group"
    cat /sys/fs/cgroup/cpuset/cpuset.mems >"$group/cpuset.mems"
    echo 0 >"$group/cpuset.cpus"
    (
        echo "$BASHPID" >"$group/tasks"
        exec "$WEIR_PROGRAM" record -v -a -e raw_syscalls:sys_enter -c 1 -m 4M -o it.data -- sleep 2 2>err
    ) &
    weir=$!
    wait_until test -e it.data
    taskset -c 1 "$WEIR_LOAD" getppid 2000
    await_record
    expect_eq "status" "$status" 0
    expect_eq "getppid calls" "$(getppid_calls it.data)" 2000
    expect_whole_and_balanced it.data
}

# fewest_descriptors PID: that it has open. It opens files of /proc for moments, so the least of some looks.
fewest_descriptors() {
    local fewest=1000000 now
    for _ in $(seq 20); do
        now=$(find /proc/"$1"/fd | wc -l)
        if [ "$now" -lt "$fewest" ]; then fewest=$now; fi
        sleep 0.01
    done
    echo "$fewest"
}

# Row 21: forks, execs, threads, mappings and libraries that come and go, for $WEIR_STORM_S seconds. Each sampled task
# has a name and its mappings. (Of one that has been reaped already the kernel says -1 for its tid.)
test_storm_of_tasks_and_mappings_leaves_none_unknown() {
    needs_program stress-ng
    local open
    start_record it.data -a -e cpu-clock -F 2000 -m 4M
    open=$(fewest_descriptors "$weir")
    stress-ng --quiet --temp-path . --timeout "${WEIR_STORM_S:-1}" --fork 1 --exec 1 --pthread 1 --dynlib 1 --mmap 1
    expect_eq "descriptors" "$(fewest_descriptors "$weir")" "$open"
    kill -INT "$weir"
    await_record
    perf script -i it.data -F comm,tid,ip,dso >samples 2>perf.err || fail "perf script: $(cat perf.err)"
    expect_at_least "samples of the storm" "$(grep -c '^ *stress-ng' samples)" 100
    expect_eq "its addresses without a mapping" "$(grep -c '^ *stress-ng.*\[unknown\]' samples || true)" 0
    expect_eq "tasks without a name" "$(grep -c '^ *:[0-9]' samples || true)" 0
    "$WEIR_PROGRAM" verify -q it.data || fail "verify: $("$WEIR_PROGRAM" verify it.data)"
}
