# shellcheck shell=bash
# Which tasks are recorded: threads, users, what they start, and a ring for each thread.

needs_perf_events

calls=1000
tracepoint=(-e raw_syscalls:sys_enter -c 1 -o it.data)

# start_threads OLD NEW: $load runs OLD threads, which make their calls after release_gate, and starts NEW ones then.
start_threads() {
    open_gate
    "$WEIR_LOAD" threads "$1" "$2" $calls <gate &
    load=$!
    wait_until has_threads "$load" $(($1 + 1))
}

# The id of the Nth thread that $load has started.
thread() { find "/proc/$load/task" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort -n | sed -n "$(($1 + 1))p"; }

# expect_calls [THREADS]: so many threads made all their calls, and none is there with fewer.
expect_calls() {
    expect_eq "getppid calls by thread" "$(perf_bare script -i it.data -F tid,trace 2>/dev/null |
        grep " NR $("$WEIR_LOAD" number getppid) " | awk '{ calls[$1]++ } END { for (tid in calls) print calls[tid] }' |
        sort | uniq -c | xargs)" "${1:+$1 $calls}"
}

# ledger_tasks: tasks with samples in the ledger, in order.
ledger_tasks() { awk '$2 == "raw_syscalls:sys_enter" { print $1 }' err | sort -n | paste -sd ' '; }

# expect_refused STATUS TEXT HINT ARGUMENT...
expect_refused() {
    local wanted=$1 text=$2 hint=$3
    shift 3
    status=0
    "$WEIR_PROGRAM" record -o it.data "$@" 2>err || status=$?
    expect_eq "status of weir record $*" "$status" "$wanted"
    expect_line err "weir: $text"
    expect_line err "hint: $hint"
    expect_files . err
}

test_tasks_and_users_that_are_not_there() {
    local threads="ps -eLo pid,tid,comm lists the threads"
    expect_refused 125 "there is no thread 4194304" "$threads" -t 4194304
    expect_refused 125 "there is no thread 4194304" "$threads" -t $$,4194304 --per-thread
    expect_refused 125 "user 54321 has no tasks" "ps -eo user,uid,pid,comm lists tasks and their users" \
        -e sched:sched_switch -u 54321
    expect_refused 129 "there is no user 'no-such-user'" \
        "getent passwd lists the users; a number need not be among them" -u no-such-user
}

test_thread_is_recorded_alone_until_it_ends() {
    start_threads 2 0
    start_record it.data "${tracepoint[@]}" -t "$(thread 1)"
    release_gate
    await_record
    expect_eq "status" "$status" 0
    expect_calls 1
    expect_readers_agree it.data
}

test_threads_that_a_thread_starts_are_recorded_when_asked_for() {
    local inherit wanted=""
    for inherit in --no-inherit --inherit; do
        start_threads 1 3
        start_record it.data "${tracepoint[@]}" $inherit -t "$load"
        release_gate
        await_record
        expect_eq "status" "$status" 0
        expect_calls "$wanted"
        wait "$load"
        rm gate it.data
        wanted=3
    done
}

test_process_without_inheritance_is_recorded_without_new_threads() {
    start_threads 2 3
    start_record it.data "${tracepoint[@]}" -i -p "$load"
    release_gate
    await_record
    expect_calls 2
    expect_readers_agree it.data
}

# Threads that start when their parent is listed but not yet attached to: the first event is opened late, so that they
# can. They are listed the second time.
# It inherits what is open by then, and the kernel tells nobody of it, because there is no ring yet.
test_child_that_starts_while_weir_attaches_has_a_name() {
    needs_program strace
    strace -o /dev/null true 2>/dev/null || skip "needs to be allowed to trace: ptrace(2)"
    mkfifo go
    # shellcheck disable=SC2016 # for that shell
    taskset -c 0 sh -c 'read -r line <go; (until [ -e it.data ]; do :; done; i=0
        while [ $i -lt 1000 ]; do i=$((i + 1)); : >/dev/null; done); true' &
    local target=$!
    ASAN_OPTIONS=detect_leaks=0 strace -f -o trace -e trace=perf_event_open \
        -e inject=perf_event_open:delay_enter=300000:when=2 \
        "$WEIR_PROGRAM" record -v -e raw_syscalls:sys_enter -c 1 -o it.data -p "$target" 2>err &
    # shellcheck disable=SC2034 # for await_record
    weir=$!
    wait_until grep -q ' = [0-9]' trace # the event on CPU 0 is open
    echo >go
    await_record
    expect_eq "status" "$status" 0
    perf_bare script -i it.data -F comm,tid 2>perf.err | sort | uniq -c >tasks
    expect_at_least "samples of the child" "$(awk -v target="$target" '$3 != target { print $1 }' tasks | head -1)" 1000
    expect_eq "samples without a name" "$(grep -c ' :[0-9]' tasks || true)" 0
    expect_whole_and_balanced it.data
}

test_threads_that_start_while_weir_attaches_are_recorded() {
    needs_program strace
    strace -o /dev/null true 2>/dev/null || skip "needs to be allowed to trace: ptrace(2)"
    calls=10000000 # some seconds
    start_threads 1 2
    at_end kill "$load"
    ASAN_OPTIONS=detect_leaks=0 strace -f -o trace -e trace=perf_event_open \
        -e inject=perf_event_open:delay_enter=500000:when=1 \
        "$WEIR_PROGRAM" record -v -e cpu-clock -o it.data -p "$load" -- sleep 0.5 2>err &
    # shellcheck disable=SC2034 # for await_record
    weir=$!
    wait_until test -s trace
    release_gate
    await_record
    expect_eq "status" "$status" 0
    expect_line err "threads have started meanwhile: attaching again"
    expect_eq "threads with samples" "$(perf_bare script -i it.data -F tid 2>perf.err | sort -u | wc -l)" 3
    expect_readers_agree it.data
}

test_ring_for_each_thread_until_the_last_has_ended() {
    start_threads 3 2
    start_record it.data "${tracepoint[@]}" --per-thread -p "$load"
    local tasks
    tasks="$load $(thread 1) $(thread 2) $(thread 3)"
    release_gate
    await_record
    expect_eq "status" "$status" 0
    expect_line err "8 rings of"
    expect_eq "tasks in the ledger" "$(ledger_tasks)" "$tasks"
    expect_calls 3
    expect_readers_agree it.data
}

test_ring_for_each_thread_of_a_command() {
    record "${tracepoint[@]}" --per-thread -- "$WEIR_LOAD" getppid $calls
    expect_line err "2 rings of"
    expect_calls 1
    expect_readers_agree it.data
}

test_one_thread_of_a_crowd_needs_one_ring() {
    start_threads 40 0
    start_record it.data "${tracepoint[@]}" --per-thread -t "$(thread 17)"
    release_gate
    await_record
    expect_line err "2 rings of"
    expect_calls 1
}

test_ring_for_each_of_many_threads() {
    start_threads 30 0
    start_record it.data "${tracepoint[@]}" --per-thread -p "$load" -m 256K
    release_gate
    await_record
    expect_line err "62 rings of 256K"
    expect_calls 30
    expect_readers_agree it.data
}

# The user runs nothing else here. What he starts later is recorded too, what others do is not.
test_user_is_recorded_with_all_that_he_starts() {
    needs_program setpriv
    local user=54322
    # The way to the build may be closed to him.
    chmod 755 .
    cp "$WEIR_LOAD" "$WEIR_LOAD_NAME"
    mkfifo gate
    exec 8<>gate
    setpriv --reuid $user --clear-groups sh -c 'read -r _ && "$@"; "$@"' - "./$WEIR_LOAD_NAME" getppid $calls <gate &
    wait_until grep -q "^Uid:.$user" "/proc/$!/status"
    start_record it.data "${tracepoint[@]}" -u $user
    "$WEIR_LOAD" getppid $calls
    echo >&8
    await_record
    expect_eq "status" "$status" 0
    expect_eq "calls" "$(getppid_calls it.data)" $((2 * calls))
    expect_readers_agree it.data
}

# One READ record for each event and thread that ended, with the count of that thread.
test_counts_of_each_thread_are_recorded() {
    start_threads 1 3
    start_record it.data "${tracepoint[@]}" -s -p "$load"
    release_gate
    await_record
    # A thread has a count on each CPU, of the event that is sampled.
    expect_eq "READ records" "$(report_records it.data READ)" $((3 * $(cpus_online)))
    status=0
    perf report -i it.data -T --stdio 2>perf.err >values || status=$?
    expect_eq "status of perf report" "$status" 0
    expect_eq "perf's warnings" "$(cat perf.err)" ""
    expect_readers_agree it.data
}

# The kernel exchanges the counts of tasks that it switches between; none goes to another event.
test_counts_of_threads_leave_the_ledger_balanced() {
    needs_second_cpu
    # shellcheck disable=SC2016 # for the shell that is recorded
    local forks='i=0; while [ $i -lt 300 ]; do (:); i=$((i + 1)); done'
    record -s -e raw_syscalls:sys_enter -c 1 -o it.data -- taskset -c 1 sh -c "$forks"
    expect_eq "written and lost" "$(written_and_lost raw_syscalls:sys_enter)" "$(produced raw_syscalls:sys_enter)"
    expect_eq "counts of side records" "$(ledger_column counted dummy:u)" 0
}
