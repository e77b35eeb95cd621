# shellcheck shell=bash
# Sample filters (--filter of events that are no tracepoints): exactly the samples that match are written, all others
# are counted as filtered, and none is lost. The load faults pages in at a known address, one sample each.
#
# EXCLUSIVE: a case pins the program of filters for all users.

needs_perf_events
needs_program setpriv taskset

nobody=65534
first=0x100000000000 # the first page that the load touches

needs_sample_filters

page() { printf '0x%x' $((first + $1 * 4096)); }

# faults FILTER COMMAND...: records each page fault that matches.
faults() {
    local filter=$1
    shift
    record -e page-faults:u -c 1 -d --filter "$filter" -o it.data "${options[@]}" -- "$@" </dev/null
    expect_no_warnings
}
options=()

# expect_written COUNT: and all else that the event counted is filtered.
expect_written() {
    expect_eq "samples" "$(told_samples)" "$1"
    expect_eq "samples of perf" "$(report_samples it.data)" "$1"
    expect_eq "written, filtered and lost" "$(written_and_lost)" "$(produced)"
    expect_eq "filtered" "$(ledger_column filtered)" $(($(produced) - $1))
    expect_eq "lost" "$(ledger_column lost_in_ring)" 0
    if [ "$(ledger_column filtered)" -gt 0 ]; then
        expect_line err "[ weir record: Filters dropped $(ledger_column filtered) samples ]"
    fi
}

# ---- terms ----

test_addresses_are_compared_as_each_operator_says() {
    local last
    last=$(page 100)
    faults "addr >= $first, addr < $last" "$WEIR_LOAD" touch 1000
    expect_written 100
    faults "addr > $first && addr <= $last" "$WEIR_LOAD" touch 1000
    expect_written 100
    faults "addr == $first || addr == $last" "$WEIR_LOAD" touch 1000
    expect_written 2
    faults "addr >= $first, addr < $last, addr != $(page 7)" "$WEIR_LOAD" touch 1000
    expect_written 99
    faults "addr >= $first, addr < $(page 1024), addr & 0x3000" "$WEIR_LOAD" touch 1024
    expect_written 768
    faults "addr >= $first, addr < $last || addr >= $(page 1000)" "$WEIR_LOAD" touch 1024
    expect_at_least "alternatives" "$(told_samples)" 124
}

test_several_filters_all_have_to_match() {
    record -e page-faults:u -c 1 -d --filter "addr >= $first" --filter "addr < $(page 10)" -o it.data -- \
        "$WEIR_LOAD" touch 100 </dev/null
    expect_written 10
}

test_each_event_has_its_own_filter() {
    record -d -e page-faults:u -c 1 --filter "addr >= $first, addr < $(page 10)" \
        -e minor-faults:u --filter "addr >= $(page 50), addr < $(page 70)" -o it.data -- \
        "$WEIR_LOAD" touch 100 </dev/null
    expect_eq "page faults" "$(report_samples it.data page-faults:u)" 10
    expect_eq "minor faults" "$(report_samples it.data minor-faults:u)" 20
    expect_eq "written, filtered and lost" "$(written_and_lost)" "$(produced)"
}

test_users_and_groups_are_told_apart() {
    local load="setpriv --reuid $nobody --regid 7 --clear-groups $WEIR_LOAD touch 60; $WEIR_LOAD touch 40"
    faults "uid == $nobody, addr >= $first, addr < $(page 1000)" sh -c "$load"
    expect_written 60
    faults "uid != $nobody, addr >= $first, addr < $(page 1000)" sh -c "$load"
    expect_written 40
    faults "gid == 7, addr >= $first, addr < $(page 1000)" sh -c "$load"
    expect_written 60
}

test_cpus_are_told_apart() {
    needs_second_cpu
    options=(--sample-cpu)
    faults "cpu == 1, addr >= $first, addr < $(page 1000)" \
        sh -c "taskset -c 0 '$WEIR_LOAD' touch 60; taskset -c 1 '$WEIR_LOAD' touch 40"
    expect_written 40
}

# begin_touch NAME PAGES: a load that waits for the end of its gate. $touching: its pid.
begin_touch() {
    mkfifo "$1"
    "$WEIR_LOAD" touch "$2" <"$1" 7>&- 8>&- &
    touching=$!
    at_end kill -9 "$touching" 2>/dev/null
}

test_processes_and_threads_are_told_apart() {
    local one two term touching
    for term in pid tid; do
        begin_touch "$term.one" 30 && one=$touching && exec 7>"$term.one"
        begin_touch "$term.two" 50 && two=$touching && exec 8>"$term.two"
        start_record it.data -e page-faults:u -c 1 -d -p "$one,$two" \
            --filter "$term == $two, addr >= $first, addr < $(page 99)" 7>&- 8>&-
        exec 7>&- 8>&-
        await_record
        expect_eq "status" "$status" 0
        expect_written 50
        rm it.data
    done
}

# One comparison that does not hold makes the whole of the first filter fail, and one that holds the second.
test_other_terms_have_the_values_that_samples_have() {
    local all
    all="addr >= $first, addr < $(page 1000)"
    options=(--code-page-size --data-page-size --phys-data -W --transaction --all-cgroups --sample-identifier)
    faults "$all, period == 1, time > 0, id > 0, ip > 0, ip < 0x800000000000, code_pgsz == 4096, txn == 0, weight == 0,
        weight1 == 0, ins_lat == 0, retire_lat == 0, mem_op == na, mem_snoop == na, data_pgsz < 1, phys_addr <= 0" \
        "$WEIR_LOAD" touch 50
    expect_written 50
    faults "$all, period != 1 || time == 0 || id == 0 || ip == 0 || ip > 0x800000000000 || code_pgsz == 4097 ||
        txn > 0 || weight > 0 || mem_op == load || mem_hops == hops3 || uid == 4000000000" "$WEIR_LOAD" touch 50
    expect_written 0
}

test_cgroup_is_that_of_the_task() {
    options=(--all-cgroups)
    local all root
    all="addr >= $first, addr < $(page 1000)"
    faults "$all, cgroup == /" "$WEIR_LOAD" touch 50
    root=$(told_samples)
    faults "$all, cgroup != /" "$WEIR_LOAD" touch 50
    expect_eq "samples in the root cgroup or not" $((root + $(told_samples))) 50
    weir_record -e cs --filter 'cgroup == /no/such' -o no.data -- true
    expect_eq "status" "$status" 129
    expect_line err "cannot find cgroup '/no/such' in "
}

# ---- where filters hold ----

test_children_have_the_filter_of_their_parent() {
    faults "addr >= $first, addr < $(page 10)" sh -c "'$WEIR_LOAD' touch 20 & '$WEIR_LOAD' touch 20; wait"
    expect_written 20
}

test_whole_machine_threads_and_snapshots_take_filters() {
    options=(-a)
    faults "addr >= $first, addr < $(page 10)" "$WEIR_LOAD" touch 20
    expect_eq "whole machine" "$(told_samples)" 10
    options=(--per-thread)
    faults "addr >= $first, addr < $(page 10)" "$WEIR_LOAD" touch 20
    expect_written 10
    options=(-M 16M --snapshot-on exit)
    faults "addr >= $first, addr < $(page 10)" "$WEIR_LOAD" touch 20
    expect_written 10
    options=(--overwrite --snapshot-on exit)
    faults "addr >= $first, addr < $(page 10)" "$WEIR_LOAD" touch 20
    expect_written 10
}

test_ledger_of_the_file_counts_filtered_samples() {
    faults "addr >= $first, addr < $(page 10)" "$WEIR_LOAD" touch 20
    expect_line <("$WEIR_PROGRAM" info it.data) "filters dropped $(ledger_column filtered) samples"
    expect_line <("$WEIR_PROGRAM" info --json it.data) "\"filtered\":$(ledger_column filtered)"
}

# ---- users ----

# Each starts when recording has begun, and no task of the user was there before.
test_user_is_recorded_from_the_first_instruction_on() {
    options=(-u "$nobody")
    faults "addr >= $first, addr < $(page 1000)" \
        sh -c "setpriv --reuid $nobody --clear-groups '$WEIR_LOAD' touch 60; '$WEIR_LOAD' touch 40"
    expect_line err "-u: all tasks, of which a sample filter keeps those of user $nobody"
    expect_eq "samples" "$(told_samples)" 60
    expect_eq "samples of perf" "$(report_samples it.data)" 60
    expect_eq "lost" "$(ledger_column lost_in_ring)" 0
}

test_idle_task_is_no_task_of_root() {
    record -u root -e cpu-clock -o it.data -- sleep 0.3
    expect_line err "-u: all tasks, of which a sample filter keeps those of user 0"
    expect_eq "samples of the idle task" \
        "$(perf_bare script -i it.data -F pid 2>perf.err | grep -c '^ *0 *$' || true)" 0
}

test_user_is_found_in_proc_where_filters_do_not_do() {
    local options why
    while IFS='|' read -r options why; do
        # shellcheck disable=SC2086 # several words
        record $options -u root -o it.data -- true
        expect_line err "-u: the user's tasks of now and their children, by /proc: $why"
    done <<END
-e cs -e sched:sched_switch|event sched:sched_switch takes no sample filter
-e cs -i|-i leaves out new tasks
-e cs -s|-s reads the counts of single tasks
-e cs --per-thread -m 64K|--per-thread records single tasks
END
}

# ---- users without rights ----

# The pinned program is there once for the machine.
folder=/sys/fs/bpf/weir_sample_filter

needs_no_pinned_program() {
    mountpoint -q /sys/fs/bpf || skip "needs the BPF file system: mount -t bpf bpf /sys/fs/bpf"
    [ ! -e $folder ] || skip "needs a machine without $folder: weir record --setup-filter unpin"
    at_end chmod "$(stat -c %a /sys/fs/bpf)" /sys/fs/bpf
    chmod 755 .
    mkdir home
    cp "$WEIR_PROGRAM" "$WEIR_LOAD" home
    chown $nobody home
}

# faults_of_nobody FILTER COMMAND...
faults_of_nobody() {
    local filter=$1
    shift
    status=0
    (
        cd home && HOME=$PWD exec setpriv --reuid $nobody --regid $nobody --clear-groups --inh-caps=-all \
            "./$(basename "$WEIR_PROGRAM")" record -v -e page-faults:u -c 1 -d --filter "$filter" -o it.data -- "$@"
    ) 2>err </dev/null || status=$?
}

test_pinned_program_filters_for_users_without_rights() {
    needs_no_pinned_program
    local filter
    filter="addr >= $first, addr < $(page 10)"
    faults_of_nobody "$filter" ./record_load touch 20
    expect_eq "status without the program" "$status" 125
    expect_line err "weir: cannot load the BPF programs of --filter: Operation not permitted"
    expect_line err "or have root pin the program for all users: weir record --setup-filter pin"
    expect_files home record_load weir

    "$WEIR_PROGRAM" record --setup-filter pin
    at_end rm -rf $folder
    for _ in 1 2; do
        faults_of_nobody "$filter" ./record_load touch 20
        expect_eq "status" "$status" 0
        expect_eq "samples" "$(told_samples)" 10
        expect_eq "written, filtered and lost" "$(written_and_lost)" "$(produced)"
        "$WEIR_PROGRAM" record --setup-filter pin # in its place
    done

    "$WEIR_PROGRAM" record --setup-filter unpin
    [ ! -e $folder ] || fail "$folder is still there"
    status=0
    "$WEIR_PROGRAM" record --setup-filter unpin 2>err || status=$?
    expect_eq "status of a second unpin" "$status" 125
    expect_line err "cannot remove the pinned BPF program in $folder: No such file or directory"
}

# More recordings than there is room for filters, if each killed one kept its own.
test_filters_of_killed_recorders_are_removed() {
    needs_no_pinned_program
    needs_program bpftool
    "$WEIR_PROGRAM" record --setup-filter pin
    at_end rm -rf $folder
    # shellcheck disable=SC2016 # for the inner shell
    faults_of_nobody "addr == $first" sh -c 'kill -9 $PPID'
    expect_eq "status of a killed recorder" "$status" 137
    expect_eq "filters left behind" "$(bpftool map dump pinned $folder/filters | grep -c '"key"')" 1
    faults_of_nobody "addr == $first" ./record_load touch 20
    expect_eq "samples" "$(told_samples)" 1
    expect_eq "filters" "$(bpftool map dump pinned $folder/filters | grep -c '"key"' || true)" 0
    expect_eq "events" "$(bpftool map dump pinned $folder/events | grep -c '"key"' || true)" 0
}

test_setup_filter_is_for_root() {
    needs_no_pinned_program
    status=0
    (cd home && setpriv --reuid $nobody --clear-groups --inh-caps=-all ./weir record --setup-filter pin) 2>err ||
        status=$?
    expect_eq "status" "$status" 125
    expect_line err "cannot load the BPF programs of --setup-filter: Operation not permitted"
    status=0
    "$WEIR_PROGRAM" record --setup-filter pun 2>err || status=$?
    expect_eq "status of a mistyped action" "$status" 129
    expect_line err "option '--setup-filter': 'pun' is not pin or unpin"
}

# ---- refusals ----

# expect_refused STATUS TEXT HINT ARGUMENT...
expect_refused() {
    local wanted=$1 text=$2 hint=$3
    shift 3
    weir_record -o no.data "$@" -- true
    expect_eq "status" "$status" "$wanted"
    expect_line err "weir: $text"
    expect_line err "hint: $hint"
    [ ! -e no.data ] || fail "no.data was made"
}

test_wrong_filters_are_refused_with_what_helps() {
    expect_refused 129 "event cpu-clock: sample filter 'perod > 1': unknown term 'perod'" "did you mean 'period'?" \
        -e cpu-clock --filter 'perod > 1'
    expect_refused 125 \
        "event cpu-clock has no PERF_SAMPLE_CODE_PAGE_SIZE, which the term 'code_pgsz' of its filter needs" \
        "weir record --code-page-size samples it" -e cpu-clock --filter 'period > 0 || code_pgsz > 4096'
    expect_refused 125 "event cpu-clock has no PERF_SAMPLE_CGROUP, which the term 'cgroup' of its filter needs" \
        "weir record --all-cgroups samples it" -e cpu-clock --filter 'cgroup == /'
    expect_refused 129 "event cs: sample filter 'ip > 1 && cpu == 1 || cpu == 2': '&&' and '||' in one filter" \
        "write ',' for and" -e cs --filter 'ip > 1 && cpu == 1 || cpu == 2'
    expect_refused 129 "event cs: as in perf, the term 'cpu' of its filter needs PERF_SAMPLE_CPU" \
        "add --sample-cpu, or record whole CPUs with -a or -C" -e cs --filter 'cpu == 1'
    # A tracepoint keeps the kernel's grammar.
    expect_refused 125 "cannot set filter 'period > 1' on event raw_syscalls:sys_enter" "its fields are those of" \
        -e raw_syscalls:sys_enter --filter 'period > 1'
}
