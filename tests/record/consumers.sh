# shellcheck shell=bash
# All readers of the file find the samples that weir says it has written, for each kind of event and target.

needs_perf_events

calls=20000
# No ring of this size fills up before the load has ended, whatever else the machine does.
exact=(-e raw_syscalls:sys_enter -c 1 -m 16M)

test_every_system_call_of_a_workload_under_all_cpus() {
    record -a "${exact[@]}" -o it.data -- "$WEIR_LOAD" getppid "$calls"
    expect_eq "getppid calls" "$(getppid_calls it.data)" "$calls"
    expect_eq "lost" "$(ledger_column lost_in_ring)" 0
    expect_eq "counted by the kernel" "$(produced)" "$(told_samples)"
    expect_readers_agree it.data
}

test_every_system_call_of_a_workload_alone() {
    record "${exact[@]}" -o it.data -- "$WEIR_LOAD" getppid "$calls"
    expect_eq "getppid calls" "$(getppid_calls it.data)" "$calls"
    expect_eq "counted by the kernel" "$(produced)" "$(told_samples)"
    expect_readers_agree it.data
}

# On one CPU: each CPU has a count of its own.
test_every_nth_system_call() {
    taskset -pc 0 $BASHPID >/dev/null
    record -e raw_syscalls:sys_enter -c 100 -o it.data -- "$WEIR_LOAD" getppid "$calls"
    local counted
    counted=$(ledger_column counted)
    expect_at_least "counted by the kernel" "$counted" "$calls"
    expect_eq "samples" "$(told_samples)" $((counted / 100))
    expect_readers_agree it.data
}

test_cpu_clock_under_all_cpus() {
    record -a -e cpu-clock -F 997 -o it.data -- "$WEIR_LOAD" spin 100000000
    expect_at_least "samples" "$(told_samples)" 10
    expect_readers_agree it.data
}

test_call_chains() {
    record -a -g -e cpu-clock -F 997 -o it.data -- "$WEIR_LOAD" spin 100000000
    expect_readers_agree it.data
    perf script -i it.data --comm record_load -F ip,sym >chains
    expect_line chains hot_loop
    expect_line chains main
}

test_task_clock() {
    record -e task-clock -F 2000 -o it.data -- "$WEIR_LOAD" spin 100000000
    expect_at_least "samples" "$(told_samples)" 10
    expect_readers_agree it.data
}

test_page_faults() {
    record -e page-faults -c 1 -o it.data -- "$WEIR_LOAD" spin 1
    expect_at_least "samples" "$(told_samples)" 10
    expect_eq "counted by the kernel" "$(produced)" "$(told_samples)"
    expect_readers_agree it.data
}

test_context_switches_by_tracepoint() {
    record -a -e sched:sched_switch -o it.data -- "$WEIR_LOAD" forks 20 1
    expect_at_least "samples" "$(told_samples)" 20
    expect_readers_agree it.data
}

test_several_events_at_once() {
    record -a -e sched:sched_switch,raw_syscalls:sys_enter -e cpu-clock -e page-faults -m 16M -o it.data -- \
        "$WEIR_LOAD" getppid "$calls"
    expect_eq "getppid calls" "$(getppid_calls it.data)" "$calls"
    local event
    for event in sched:sched_switch raw_syscalls:sys_enter cpu-clock page-faults; do
        expect_eq "samples of $event" "$(report_samples it.data $event)" "$(ledger_column written $event)"
    done
    expect_readers_agree it.data
}

# By their print formats, elements of arrays among them (the arguments of sys_enter).
test_fields_of_tracepoints_are_shown_as_by_perf() {
    local event
    for event in raw_syscalls:sys_enter raw_syscalls:sys_exit sched:sched_process_exit task:task_newtask; do
        record -a -e $event -m 16M -o it.data -- "$WEIR_LOAD" forks 20 1
        perf_bare script -i it.data -F trace 2>perf.err | sed 's/^ *//' | sort >by_perf
        "$WEIR_PROGRAM" dump --type sample it.data | sed -n 's/^ \.\.\. fields: *//p' | sort >by_weir
        expect_at_least "samples of $event" "$(wc -l <by_weir)" 20
        cmp by_perf by_weir || fail "$event: $(diff by_perf by_weir | head -4)"
    done
}

test_default_event_without_hardware_counters_is_cpu_clock_and_says_so() {
    [ ! -e /sys/bus/event_source/devices/cpu/events/cpu-cycles ] || skip "needs a machine without a hardware PMU"
    record -a -o it.data -- "$WEIR_LOAD" spin 100000000
    expect_line err "is not supported here (no hardware PMU); recording cpu-clock instead"
    expect_eq "samples of cpu-clock" "$(report_samples it.data cpu-clock)" "$(told_samples)"
    expect_readers_agree it.data
}

test_listed_cpus_only() {
    needs_second_cpu
    local cpu
    for cpu in 0 1; do
        record -C $cpu "${exact[@]}" -o it.data -- taskset -c 0 "$WEIR_LOAD" getppid "$calls"
        expect_eq "getppid calls on cpu $cpu" "$(getppid_calls it.data)" $((cpu == 0 ? calls : 0))
        # An idle CPU 1 has no system call.
        expect_eq "samples elsewhere" "$(perf_bare script -i it.data -F cpu | grep -cvF "[00$cpu]" || true)" 0
        expect_readers_agree it.data
    done
}

test_process_with_threads_of_before_and_after() {
    open_gate
    "$WEIR_LOAD" threads 3 2 "$calls" <gate &
    local load=$!
    wait_until has_threads "$load" 4
    start_record it.data "${exact[@]}" -p "$load"
    release_gate
    wait "$load"
    await_record
    expect_eq "exit status when the processes have ended" "$status" 0
    expect_eq "getppid calls by thread" \
        "$(perf_bare script -i it.data -F tid,trace 2>/dev/null | grep " NR $("$WEIR_LOAD" number getppid) " |
            awk '{ calls[$1]++ } END { for (tid in calls) print calls[tid] }' | sort | uniq -c | xargs)" "5 $calls"
    expect_readers_agree it.data
}

test_each_layout_of_threads() {
    needs_second_cpu
    local layout
    for layout in cpu core package numa 0/0:1/1 0-1/0; do
        record -a --threads=$layout "${exact[@]}" -o it.data -- "$WEIR_LOAD" getppid "$calls"
        expect_eq "getppid calls with --threads=$layout" "$(getppid_calls it.data)" "$calls"
        expect_readers_agree it.data
    done
}

test_null_device_as_output() {
    record -a "${exact[@]}" -o /dev/null -- "$WEIR_LOAD" getppid "$calls"
    expect_at_least "samples" "$(told_samples)" "$calls"
    expect_files . err
}

test_header_describes_machine_and_command() {
    record -a -e cpu-clock -o it.data -- true
    perf report --header-only -i it.data >header 2>perf.err
    expect_line header "# cmdline : $WEIR_PROGRAM record -v -a -e cpu-clock -o it.data -- true"
    expect_line header "# nrcpus online : $(getconf _NPROCESSORS_ONLN)"
    expect_line header "# os release : $(uname -r)"
    expect_line header "# hostname : $(uname -n)"
}

# index_lines FILE: what ID_INDEX, THREAD_MAP and CPU_MAP say, without the ids themselves.
index_lines() {
    perf report -D -i "$1" 2>/dev/null | grep -oE ' idx: .*tid: .*|THREAD_MAP nr.*|CPU_MAP: .*' | sort -u
}

test_places_tasks_and_cpus_are_told_as_perf_tells_them() {
    record -a -e cpu-clock -o it.data -- true
    record_by_perf -a -e cpu-clock -o perf.data -- true
    expect_eq "index" "$(index_lines it.data)" "$(index_lines perf.data)"
    sleep 60 &
    record -e cpu-clock -p $! --per-thread -o it.data -- true
    record_by_perf -e cpu-clock -p $! --per-thread -o perf.data -- true
    expect_eq "index of a task" "$(index_lines it.data)" "$(index_lines perf.data)"
    kill $!
}

# header_lines FILE: groups and clock of the header.
header_lines() { perf report --header-only -i "$1" 2>/dev/null | grep -E '^# (group|clockid)'; }

test_groups_and_clock_are_told_as_perf_tells_them() {
    local options=(-a -k monotonic -e '{cpu-clock,page-faults}' -e task-clock)
    record "${options[@]}" -o it.data -- "$WEIR_LOAD" spin 50000000
    record_by_perf "${options[@]}" -o perf.data -- "$WEIR_LOAD" spin 50000000
    expect_eq "header" "$(header_lines it.data)" "$(header_lines perf.data)"
    perf_bare script -i it.data -F tod >moments 2>perf.err
    expect_line moments "$(date +%Y-)" # wall-clock time
}

# expect_tool PATTERN SUBCOMMAND...: what `perf SUBCOMMAND...` tells of it.data has such a line, and no word of trouble.
expect_tool() {
    perf "${@:2}" -i it.data >tool 2>&1 || fail "perf ${*:2}: status $?: $(tail -3 tool)"
    expect_line tool "$1"
    if grep -iE 'warning|error:|not (a |valid|found)|lost|out of order|unknown event' tool; then fail "perf ${*:2}"; fi
}

# perf's own tools that make more of tracepoints than a list.
test_tools_for_tracepoints_find_what_they_look_for() {
    local events=raw_syscalls:sys_enter,raw_syscalls:sys_exit,irq:softirq_entry,irq:softirq_exit,irq:softirq_raise
    events+=,sched:sched_switch,sched:sched_wakeup,sched:sched_process_fork,sched:sched_stat_runtime
    record -a -R -c 1 -m 16M -e "$events" -o it.data -- "$WEIR_LOAD" getppid "$calls"
    expect_tool "record_load (" trace -s
    expect_eq "calls" "$(sed -n 's/^ *getppid  *\([0-9]*\) .*/\1/p' tool | sort -n | tail -1)" "$calls"
    expect_tool "  record_load:" sched latency
    expect_tool "Total number of context switches: " sched timehist -s
    expect_tool "  (s)" kwork -k softirq latency
    perf timechart -i it.data -o it.svg >tool 2>&1 || fail "perf timechart: $(cat tool)"
    expect_line it.svg "$WEIR_LOAD_NAME"
}

# report_columns FILE [OPTION...]: the heads of perf report's columns, and report_rows what stands below them. (Behind
# the last head there are blanks when a row is longer.)
report_columns() { perf report --stdio -i "$@" 2>/dev/null | grep -m1 '^# Overhead' | tr -s ' ' | sed 's/ $//'; }
report_rows() { perf report --stdio -i "$@" 2>/dev/null | grep -v '^#' | sed 's/ = [0-9]*/ = PARENT/'; }

# sample_types FILE: of each event, as perf tells them.
sample_types() { perf evlist -v -i "$1" | sed -n 's/.*sample_type: \([A-Z_|]*\).*/\1/p'; }

# sample_bytes FILE: of its first sample.
sample_bytes() {
    perf script -D -i "$1" 2>/dev/null | sed -n 's/.* \[0x\([0-9a-f]*\)\]: PERF_RECORD_SAMPLE(.*/\1/p' | head -n 1
}

# The file of one event of tasks is as perf's own: one attr, which brings the side records, and no ids.
test_one_event_of_tasks_is_recorded_as_by_perf() {
    local event=(-e raw_syscalls:sys_enter -c 1 --filter "id == 110") count=1000
    record "${event[@]}" -o ours.data -- "$WEIR_LOAD" getppid "$count"
    record_by_perf "${event[@]}" -o theirs.data -- "$WEIR_LOAD" getppid "$count"
    expect_eq "sample types" "$(sample_types ours.data)" "IP|TID|TIME|CPU|PERIOD|RAW"
    expect_eq "perf's" "$(sample_types theirs.data)" "$(sample_types ours.data)"
    expect_eq "bytes per sample" "$(sample_bytes ours.data)" 78
    expect_eq "perf's" "$(sample_bytes theirs.data)" 78
    expect_eq "samples" "$(told_samples)" "$count"
    expect_readers_agree ours.data
    expect_eq "tasks" "$(perf script -i ours.data --show-task-events | grep -c PERF_RECORD_COMM)" \
        "$(perf script -i theirs.data --show-task-events | grep -c PERF_RECORD_COMM)"

    record "${event[@]}" --sample-identifier -o ids.data -- "$WEIR_LOAD" getppid "$count"
    record "${event[@]}" -a -o all.data -- "$WEIR_LOAD" getppid "$count"
    record -e cpu-clock -D 1 -o late.data -- "$WEIR_LOAD" spin 1
    expect_eq "types with ids" "$(sample_types ids.data | grep -c IDENTIFIER)" 2
    expect_eq "types with -a" "$(sample_types all.data | grep -c IDENTIFIER)" 2
    expect_eq "types with -D" "$(sample_types late.data | grep -c IDENTIFIER)" 2
    expect_readers_agree late.data
}

# Of events that are all tracepoints perf's report has what these print, unless there is a dummy event among them, as in
# those of ours that have several, and in perf's own of -a (docs/compatibility.md, side-event).
test_report_by_what_tracepoints_print_is_that_of_perf() {
    local events=(-e raw_syscalls:sys_exit -c 1 --filter "id == 110") wanted="# Overhead Trace output"
    record "${events[@]}" -o ours.data -- "$WEIR_LOAD" getppid 1000
    record_by_perf "${events[@]}" -o theirs.data -- "$WEIR_LOAD" getppid 1000
    record_by_perf -a "${events[@]}" -o all.data -- "$WEIR_LOAD" getppid 1000
    expect_eq "columns" "$(report_columns ours.data -s trace)" "$wanted"
    expect_eq "perf's columns" "$(report_columns theirs.data)" "$wanted"
    expect_eq "rows" "$(report_rows ours.data -s trace)" "$(report_rows theirs.data)"
    expect_at_least "rows" "$(report_rows ours.data -s trace | grep -c PARENT)" 1
    expect_eq "columns unasked" "$(report_columns ours.data)" "$wanted"
    record -e raw_syscalls:sys_enter "${events[@]}" -o two.data -- "$WEIR_LOAD" getppid 1000
    expect_eq "columns of two" "$(report_columns two.data -s trace | head -n 1)" "$wanted"
    expect_eq "of two, unasked" "$(report_columns two.data | head -n 1)" "# Overhead Command Shared Object Symbol"
    expect_eq "perf's of -a" "$(report_columns all.data)" "# Overhead Command Shared Object Symbol"
}
