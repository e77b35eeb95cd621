# shellcheck shell=bash
# What a user without privileges may record, as the sysctls say. Root may record all the same, so these cases change
# nothing for tests that run as root beside them.

needs_perf_events
needs_program setpriv

nobody=65534
knobs=/proc/sys/kernel

# The folder "home" of the user, with a copy of the program: the way to the build may be closed to him.
set_up() {
    local paranoid=$1
    set_knob $knobs/perf_event_paranoid "$paranoid"
    set_knob $knobs/perf_event_mlock_kb 516
    chmod 755 .
    mkdir home
    cp "$WEIR_PROGRAM" "$WEIR_LOAD" home
    chown "$nobody" home
}

record_as_nobody() {
    status=0
    (
        cd home && HOME=$PWD exec setpriv --reuid "$nobody" --regid "$nobody" --clear-groups --inh-caps=-all \
            "./$(basename "$WEIR_PROGRAM")" record -v -o it.data "$@"
    ) 2>err || status=$?
    # perf reads files of its own user only.
    if [ -e home/it.data ]; then mv home/it.data . && chown "$(id -u)" it.data; fi
}

# expect_refused TEXT HINT: and nothing was begun.
expect_refused() {
    expect_eq "status" "$status" 125
    expect_line err "weir: $1"
    expect_line err "hint: $2"
    expect_files home record_load weir
}

test_paranoid_2_own_workload_is_recorded_in_user_space_and_says_so() {
    set_up 2
    record_as_nobody -e cpu-clock -- ./record_load spin 30000000
    expect_eq "status" "$status" 0
    local warning="kernel.perf_event_paranoid=2 forbids recording the kernel; recording cpu-clock:u, user space only"
    expect_eq "warnings" "$(grep '^weir: warning:' err)" "weir: warning: $warning"
    expect_readers_agree it.data
    expect_at_least "samples" "$(told_samples)" 1
    expect_eq "kernel samples" "$(perf script -i it.data -F dso,ip | grep -c kernel || true)" 0
}

test_paranoid_2_default_event_and_rings_work_as_they_are() {
    set_up 2
    record_as_nobody -- ./record_load spin 30000000
    expect_eq "status" "$status" 0
    expect_readers_agree it.data
    set_knob $knobs/perf_event_mlock_kb 64
    record_as_nobody -- ./record_load spin 30000000
    expect_eq "status at mlock_kb 64" "$status" 0
    expect_readers_agree it.data
}

test_paranoid_2_all_cpus_are_refused() {
    set_up 2
    local event remedy="or root or CAP_PERFMON: sudo sysctl kernel.perf_event_paranoid=0"
    for event in cpu-clock cpu-clock:u; do
        record_as_nobody -a -e $event -- touch ran
        expect_refused "cannot open event '$event' on cpu 0: Permission denied" \
            "kernel.perf_event_paranoid is 2, recording all processes of a CPU needs 0 or less, $remedy"
    done
}

test_paranoid_2_tracepoints_are_refused() {
    set_up 2
    record_as_nobody -e sched:sched_switch -- touch ran
    expect_refused "cannot enter tracefs at /sys/kernel/tracing: Permission denied" \
        "run as root, or open it to others (its mode is 700): sudo mount -o remount,mode=755 /sys/kernel/tracing"
}

test_paranoid_2_process_of_another_user_is_refused() {
    set_up 2
    record_as_nobody -e cpu-clock:u -p 1 -- touch ran
    expect_refused "cannot open event 'cpu-clock:u' of task 1 on cpu 0: Permission denied" \
        "task 1 is of another user or may not be traced: run as its owner, as root or with CAP_PERFMON"
}

# Its events hang up when it gets other rights; perf takes that for its end and terminates it.
test_paranoid_2_set_user_id_workload_runs_to_its_end() {
    set_up 2
    cp "$(command -v sleep)" home/sleep-as-root
    chmod 4755 home/sleep-as-root
    record_as_nobody -e cpu-clock:u -- sh -c './sleep-as-root 0.3 && exit 8'
    expect_eq "status" "$status" 8
    record_as_nobody -e cpu-clock:u -- ./sleep-as-root 0.3
    expect_eq "status" "$status" 0
    expect_readers_agree it.data
}

# start_load_as_nobody: $load spins as the user, in the folder home.
start_load_as_nobody() {
    (cd home && exec setpriv --reuid "$nobody" --regid "$nobody" --clear-groups ./record_load spin 0) &
    load=$!
    wait_until grep -q "^Uid:.$nobody" "/proc/$load/status"
}

# expect_user_space_samples: the file has some, of the load, and none of the kernel.
expect_user_space_samples() {
    expect_eq "status" "$status" 0
    expect_readers_agree it.data
    expect_at_least "samples" "$(script_lines it.data --comm record_load)" 1
    expect_eq "kernel samples" "$(perf script -i it.data -F dso,ip | grep -c kernel || true)" 0
}

test_paranoid_2_own_threads_processes_and_tasks_are_recorded_in_user_space() {
    set_up 2
    start_load_as_nobody
    local target
    for target in "-t $load" "-p $load" "-u $nobody" "-t $load --per-thread" "-p $load --per-thread -m 64K"; do
        # shellcheck disable=SC2086 # two words
        record_as_nobody -e cpu-clock $target -- sleep 0.3
        expect_user_space_samples
    done
}

test_paranoid_2_tasks_of_other_users_are_refused() {
    set_up 2
    local whose="is of another user or may not be traced: run as its owner, as root or with CAP_PERFMON"
    record_as_nobody -e cpu-clock:u -t 1 -- touch ran
    expect_refused "cannot open event 'cpu-clock:u' of task 1 on cpu 0: Permission denied" "task 1 $whose"
    record_as_nobody -e cpu-clock:u -t 1 --per-thread -- touch ran
    expect_refused "cannot open event 'cpu-clock:u' of task 1: Permission denied" "task 1 $whose"
    record_as_nobody -e cpu-clock:u -u root -- touch ran
    expect_refused "cannot open event 'cpu-clock:u' of task 1 on cpu 0: Permission denied" "task 1 $whose"
}

test_paranoid_2_cgroups_are_refused() {
    set_up 2
    grep -q -e ' cgroup2 ' -e ' cgroup .*perf_event' /proc/mounts || skip "needs a cgroup hierarchy"
    record_as_nobody -a -e cpu-clock:u -G / -- touch ran
    expect_refused "cannot open event 'cpu-clock:u' on cpu 0: Permission denied" \
        "kernel.perf_event_paranoid is 2, recording all processes of a CPU needs 0 or less, or root or CAP_PERFMON"
}

# Kernels of some distributions refuse everything at 3; others know no more than 2.
test_paranoid_3_is_refused_or_as_2() {
    set_up 3
    start_load_as_nobody
    local target
    for target in "" "-t $load" "-u $nobody" "--per-thread"; do
        # shellcheck disable=SC2086 # no word, or two
        record_as_nobody -e cpu-clock $target -- ./record_load spin 30000000
        if [ "$status" != 0 ]; then
            expect_line err "hint: kernel.perf_event_paranoid is 3, recording without privileges needs 2 or less"
            expect_files home record_load weir
        else
            expect_line err "kernel.perf_event_paranoid=3 forbids recording the kernel"
            expect_user_space_samples
        fi
    done
}

# Such a kernel, played by strace: whatever is asked for, also user space only.
test_paranoid_3_of_a_kernel_that_knows_it_is_refused() {
    needs_program strace
    strace -o /dev/null true 2>/dev/null || skip "needs to be allowed to trace: ptrace(2)"
    set_up 3
    local event
    for event in cpu-clock cpu-clock:u; do
        status=0
        (
            cd home && HOME=$PWD ASAN_OPTIONS=detect_leaks=0 exec setpriv --reuid "$nobody" --regid "$nobody" \
                --clear-groups --inh-caps=-all strace -f -qq -o /dev/null -e trace=perf_event_open -e signal=none \
                -e inject=perf_event_open:error=EACCES "./$(basename "$WEIR_PROGRAM")" record -e $event -o it.data -- \
                touch ran
        ) 2>err || status=$?
        expect_eq "status" "$status" 125
        grep -q "^weir: cannot open event 'cpu-clock:u' of task [0-9]* on cpu 0: Permission denied$" err ||
            fail "no line about cpu-clock:u"
        expect_line err "hint: kernel.perf_event_paranoid is 3, recording without privileges needs 2 or less"
        expect_files home record_load weir
    done
}

# expect_doctor_names COMMAND...: what the hint in err ends in, as of weir doctor run by that command.
expect_doctor_names() {
    local hint
    hint=$(sed -n 's/^hint: //p' err)
    "$@" "$WEIR_PROGRAM" doctor >findings || true
    expect_line findings "fix: ${hint##*: }"
}

test_seccomp_filter_that_refuses_perf_events_is_named() {
    local target
    for target in "" -a "-p $$" "-t $$" "-u root" --per-thread; do
        status=0
        # shellcheck disable=SC2086 # no word, or two
        "$WEIR_LOAD" without-perf-events "$WEIR_PROGRAM" record -e cpu-clock -o it.data $target -- touch ran 2>err ||
            status=$?
        expect_eq "status with '$target'" "$status" 125
        expect_line err "Operation not permitted"
        expect_line err "hint: a seccomp filter or security module forbids perf_event_open(2): start the container"
        expect_files . err
    done
    expect_doctor_names "$WEIR_LOAD" without-perf-events
}

test_paranoid_2_rings_above_the_limit_are_refused_with_the_size_that_fits() {
    set_up 2
    record_as_nobody -e cpu-clock:u -m 64M -- touch ran
    expect_refused "cannot map ring for cpu 0 (16384 pages): Operation not permitted" \
        "kernel.perf_event_mlock_kb is 516 per CPU: -m 256K fits; or sudo sysctl kernel.perf_event_mlock_kb=65672, or"
    record_as_nobody -e cpu-clock:u -m 256K -- ./record_load spin 30000000
    expect_eq "status with the size that fits" "$status" 0
    expect_readers_agree it.data
}

test_paranoid_minus_1_all_is_allowed() {
    set_up -1
    record_as_nobody -a -e cpu-clock -m 64M -- ./record_load spin 30000000
    expect_eq "status" "$status" 0
    # With the first page of each ring, and rounded up.
    expect_line err "rings $((65 * $(cpus_online) + 1)) MiB (65536 KiB data and 1024 KiB sideband"
    expect_readers_agree it.data
}

test_folder_that_may_not_be_written_is_refused() {
    set_up -1
    chown root home
    record_as_nobody -e cpu-clock -- touch ran
    expect_refused "cannot create output 'it.data': Permission denied" \
        "its directory must be writable for user $nobody"
}

test_command_in_a_folder_that_may_not_be_entered() {
    set_up 2
    mkdir -m 700 home/closed
    record_as_nobody -e cpu-clock:u -- closed/true
    expect_eq "status" "$status" 126
    expect_line err "weir: cannot run 'closed/true': Permission denied"
    expect_line err "hint: a folder on the way to it may not be entered"
    rmdir home/closed
    expect_files home record_load weir
}

# The sanitizers would need threads of their own.
needs_no_thread_but_weirs() {
    needs_program prlimit
    if grep -q __tsan_init "$WEIR_PROGRAM"; then skip "needs a build without ThreadSanitizer"; fi
    export ASAN_OPTIONS=detect_leaks=0
}

# A user whose processes are those of the case.
nobody_else=65531

# The user has one process and one thread then, which is the recorder itself.
test_limit_of_processes_is_named() {
    local nobody=$nobody_else
    needs_no_thread_but_weirs
    set_up 2
    [ -z "$(ps -u $nobody -o pid=)" ] || skip "needs a user $nobody without processes"
    prlimit --pid $$ --nproc=1
    record_as_nobody -e cpu-clock:u -- ./record_load spin 1000
    expect_refused "cannot fork to run './record_load': Resource temporarily unavailable" \
        "the limit on processes may be reached: ulimit -u, or pids.max of the cgroup"
}

# The user has the load, the recorder and one thread of it then.
test_limit_of_threads_is_named() {
    local nobody=$nobody_else
    needs_no_thread_but_weirs
    set_up 2
    [ -z "$(ps -u $nobody -o pid=)" ] || skip "needs a user $nobody without processes"
    start_load_as_nobody
    prlimit --pid $$ --nproc=2
    record_as_nobody -e cpu-clock:u -p "$load"
    expect_eq "status" "$status" 125
    expect_line err "Resource temporarily unavailable"
    expect_line err "ulimit -u and kernel.threads-max"
    expect_files home record_load weir
}

# with_file_capabilities CAPABILITIES: the user's copy of the program gets them; skips where they have no effect.
with_file_capabilities() {
    needs_program setcap
    setcap "$1=ep" home/weir 2>/dev/null || skip "needs a file system with capabilities for files"
    [ "$(cd home && as_nobody ./weir --version 2>&1 | wc -l)" != 0 ] || skip "the program does not start so"
}

as_nobody() {
    ASAN_OPTIONS=detect_leaks=0 setpriv --reuid "$nobody" --regid "$nobody" --clear-groups --inh-caps=-all "$@"
}

test_file_capabilities_beyond_perf_events_are_refused() {
    local capability
    set_up 2
    for capability in cap_dac_override cap_setuid cap_chown cap_sys_module; do
        with_file_capabilities "cap_perfmon,$capability"
        status=0
        (cd home && as_nobody ./weir record -o it.data -- touch ran) 2>err || status=$?
        expect_eq "status with $capability" "$status" 125
        expect_line err "weir: does not run with the file capability $capability: its user would get it"
        expect_line err "sudo setcap cap_perfmon,cap_ipc_lock,cap_syslog,cap_sys_ptrace=ep"
        expect_files home record_load weir
    done
}

test_code_of_the_user_is_not_loaded_with_file_capabilities() {
    set_up 2
    with_file_capabilities cap_perfmon,cap_ipc_lock
    status=0
    (cd home && HWLOC_PLUGINS_PATH=$PWD as_nobody ./weir record -o it.data -- touch ran) 2>err || status=$?
    expect_eq "status" "$status" 125
    expect_line err "weir: does not take 'HWLOC_PLUGINS_PATH' with file capabilities"
    expect_line err "hint: unset it, or run as root"
    expect_files home record_load weir
}

# held PID [TASK]: its effective and permitted capabilities.
held() { sed -n 's/^Cap\(Eff\|Prm\):.//p' "/proc/$1/task/${2:-$1}/status" | sort -u | paste -sd ' '; }

# The workload has none of it, and so have the threads that handle data.
test_file_capabilities_record_all_cpus_and_stay_with_weir() {
    set_up 2
    with_file_capabilities cap_perfmon,cap_ipc_lock,cap_syslog,cap_sys_ptrace
    (cd home && as_nobody ./weir record -v -a -e cpu-clock -o it.data -- \
        sh -c 'grep -E "^Cap(Eff|Prm|Amb)" /proc/self/status >held; sleep 0.2') 2>err || fail "status $?"
    expect_eq "capabilities of the workload" "$(sort -u home/held | awk '{ print $2 }' | sort -u)" 0000000000000000
    mv home/it.data . && chown "$(id -u)" it.data
    expect_readers_agree it.data
}

test_root_keeps_what_recording_needs_and_its_threads_nothing() {
    local task name own threads=0
    start_record it.data -a -z -e cpu-clock -- sh -c 'grep "^CapEff" /proc/self/status >held; sleep 100'
    wait_until test -s held
    for task in /proc/"$weir"/task/*; do
        name=$(cat "$task/comm")
        case $name in
        weir-reader-* | weir-writer | weir-pool | weir-stage-*)
            threads=$((threads + 1))
            expect_eq "capabilities of $name" "$(held "$weir" "${task##*/}")" 0000000000000000 ;;
        esac
    done
    expect_at_least "threads of the data path" "$threads" 4
    # CAP_CHOWN (0) and CAP_SETUID (7) are gone, CAP_PERFMON (38) is not.
    own=$(held "$weir" | cut -d' ' -f1)
    expect_eq "bits 0, 7 and 38 of weir's own" $((0x$own & (1 | 1 << 7 | 1 << 38))) $((1 << 38))
    expect_eq "capabilities of the workload" "$(cat held)" "$(grep '^CapEff' /proc/self/status)"
    kill -INT "$weir"
    await_record
    expect_whole it.data
}

# of_threads FIELD: the values of all of weir's threads, each once.
of_threads() { awk -v field="$1:" '$1 == field { print $2 }' /proc/"$weir"/task/*/status | sort -u | paste -sd ' '; }

# The workload was apart before, and the command of --on-rotate may be any program.
test_no_thread_gains_privileges_unless_weir_runs_a_command() {
    local with
    for with in '' true; do
        start_record it.data -a -e cpu-clock -F 99 --switch-output ${with:+--on-rotate "$with"} -- \
            sh -c 'grep NoNewPrivs /proc/self/status >of-workload; exec sleep 100'
        wait_until test -s of-workload
        expect_eq "no_new_privs with '$with'" "$(of_threads NoNewPrivs)" "${with:+0 }1"
        grep -q 'NoNewPrivs:.0' of-workload || fail "the workload cannot gain privileges: $(cat of-workload)"
        kill -INT "$weir"
        await_record
        rm of-workload
    done
}

# Filters are built with libseccomp and without sanitizers.
needs_filters() {
    grep -q 'seccomp: \[ on' <<<"$("$WEIR_PROGRAM" version --build-options)" || skip "needs a build with libseccomp"
    if grep -q -e __asan_init -e __tsan_init "$WEIR_PROGRAM"; then skip "needs a build without sanitizers"; fi
}

# filters_of NAME: how many bind weir's threads of that name.
filters_of() {
    local task
    for task in /proc/"$weir"/task/*; do
        if [ "$(cat "$task/comm")" = "$1" ]; then sed -n 's/^Seccomp_filters:.//p' "$task/status"; fi
    done | sort -u | paste -sd ' '
}

# The coordinator's filter binds the other threads too. With a command of --on-rotate it has none.
test_each_thread_has_the_filter_of_its_class() {
    needs_filters
    grep -q '^Seccomp_filters' /proc/self/status || skip "needs a kernel that counts filters (Linux 5.9)"
    local own with name outer
    own=$(sed -n 's/^Seccomp_filters:.//p' /proc/self/status)
    for with in '' true; do
        start_record it.data -a -z -e cpu-clock -F 99 --switch-output ${with:+--on-rotate "$with"} \
            --metrics it.prom -- sh -c 'grep Seccomp_filters /proc/self/status >of-workload; exec sleep 100'
        wait_until test -s of-workload
        outer=$((own + 1 - ${#with} / 4))
        expect_eq "filters of the coordinator with '$with'" "$(filters_of weir)" "$outer"
        expect_eq "filters of the finisher with '$with'" "$(filters_of weir-finisher)" "$outer"
        for name in weir-reader-0 weir-writer weir-pool weir-stage-0 weir-sideband weir-build-ids weir-proc \
            weir-metrics; do
            expect_eq "filters of $name with '$with'" "$(filters_of $name)" $((outer + 1))
        done
        expect_eq "filters of the workload" "$(sed -n 's/^Seccomp_filters:.//p' of-workload)" "$own"
        kill -INT "$weir"
        await_record
        rm of-workload
    done
}

# A call that a filter forbids fails with EPERM. strace -Z writes the calls that fail; those of weir are all opens.
test_no_thread_asks_for_what_its_filter_forbids() {
    needs_filters
    needs_program strace
    strace -o /dev/null true 2>/dev/null || skip "needs to be allowed to trace: ptrace(2)"
    local mode
    for mode in "-z --switch-output=1s --switch-max-files=1 --buildid-dir cache" "-M 4M --all-cgroups" \
        "--sync --status=json --metrics it.prom" "--overwrite --buildid-all"; do
        # shellcheck disable=SC2086 # words
        strace -f -Z -qq -o trace -e signal=none "$WEIR_PROGRAM" record -a -e sched:sched_switch -o it.data $mode -- \
            sleep 1.5 >out 2>err || fail "status $? with '$mode': $(cat err)"
        # A sysctl may refuse io_uring_setup(2).
        expect_eq "calls that are forbidden with '$mode'" "$(grep EPERM trace | grep -v io_uring_setup || true)" ""
    done
}
