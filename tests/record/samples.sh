# shellcheck shell=bash
# What samples hold: every kind is recorded to the last sample, and read without a complaint.

needs_perf_events

calls=500

# Records getppid calls with these options; every one is in the file, and in what readers see of it.
record_calls() {
    record -e raw_syscalls:sys_enter -c 1 "$@" -o it.data -- "$WEIR_LOAD" getppid $calls
    expect_eq "calls with $*" "$(getppid_calls it.data)" $calls
    expect_eq "written and counted with $*" "$(written_and_lost raw_syscalls:sys_enter)" \
        "$(produced raw_syscalls:sys_enter)"
    perf script -i it.data 2>perf.err >/dev/null || fail "perf script fails with $*: $(cat perf.err)"
    expect_no_warnings
}

# fields FILE FIELDS: what perf script shows of the getppid calls.
fields() { perf script -i "$1" --comm "$WEIR_LOAD_NAME" -F "$2" 2>perf.err; }

test_samples_of_every_content_are_whole() {
    local options
    for options in "-g" "--call-graph fp,4" "--call-graph dwarf,512" "-d" "-W" "--phys-data" "--data-page-size" \
        "--code-page-size" "-I" "--user-regs" "-R --transaction" "-P" "--running-time" "--sample-cpu -T" \
        "--no-buffering" "--no-bpf-event"; do
        # shellcheck disable=SC2086
        record_calls $options
    done
}

test_samples_of_everything_at_once_are_whole() {
    record_calls --call-graph dwarf,256 -d -W --phys-data --data-page-size --code-page-size -I --transaction -P \
        --running-time --switch-events --namespaces --all-cgroups -k monotonic_raw
    expect_readers_agree it.data
}

test_copied_stacks_lead_to_main() {
    record -e cpu-clock --call-graph dwarf -o it.data -- "$WEIR_LOAD" getppid 300000
    expect_at_least "call chains through main" "$(perf script -i it.data 2>perf.err | grep -c ' main+')" 1
    expect_no_warnings
}

test_registers_are_those_that_were_named() {
    [ "$(uname -m)" = x86_64 ] || skip "needs x86-64"
    record_calls -IIP,SP --user-regs=AX
    expect_eq "registers at the interrupt" "$(fields it.data iregs | tr -s ' ' '\n' | sed -n 's/:.*//p' | sort -u |
        grep -c -E '^(IP|SP)$')" 2
    expect_eq "registers of the user" "$(fields it.data uregs | tr -s ' ' '\n' | grep -c '^AX:')" \
        "$(fields it.data uregs | grep -c AX:)"
}

test_clock_is_the_one_that_was_named() {
    local before after time
    before=$(awk '{ print int($1) }' /proc/uptime)
    record -e cpu-clock -k boottime -o it.data -- "$WEIR_LOAD" getppid 100000
    after=$(awk '{ print int($1) + 2 }' /proc/uptime)
    time=$(fields it.data time | tail -1 | tr -d ' :' | cut -d. -f1)
    expect_at_least "seconds since boot" "$time" "$before"
    expect_at_least "seconds until now" "$after" "$time"
    perf report --header-only -i it.data 2>perf.err >header
    expect_line header "clockid: boottime (7)"
}

# What takes a clock that is not safe in an NMI is up to each kind of event.
test_clock_that_an_event_does_not_take_is_named() {
    weir_record -e raw_syscalls:sys_enter -k boottime -o it.data -- true
    [ "$status" != 0 ] || skip "this kernel stamps tracepoints with any clock"
    expect_eq "exit status" "$status" 125
    expect_line err "weir: cannot open event 'raw_syscalls:sys_enter': this kernel refuses --clockid"
}

test_without_samples_there_are_none() {
    record -n -e cpu-clock -o it.data -- "$WEIR_LOAD" getppid 100000
    expect_eq "samples" "$(perf script -i it.data 2>perf.err | wc -l)" 0
    expect_at_least "tasks" "$(perf script -i it.data --show-task-events 2>perf.err | grep -c PERF_RECORD_COMM)" 1
}

test_switches_namespaces_and_control_groups_are_recorded() {
    record -a -e cpu-clock --switch-events --namespaces --all-cgroups -o it.data -- sleep 0.2
    perf_bare report -i it.data --stats 2>perf.err >stats
    expect_line stats "NAMESPACES events:"
    expect_line stats "SWITCH_CPU_WIDE events:"
    if grep -q -e 'cgroup.*perf_event' -e cgroup2 /proc/mounts; then expect_line stats "CGROUP events:"; fi
    expect_no_warnings
}

# perf report --latency divides time by the number of tasks that run, which it knows from the switches.
test_latency_records_the_switches_of_tasks() {
    record -e cpu-clock --latency -o it.data -- sleep 0.2
    perf_bare report -i it.data --stats 2>perf.err >stats
    expect_line stats "SWITCH events:"
    expect_no_warnings
}

# Context switches share the rings of mappings and tasks, which are to survive a storm of them.
test_rings_of_switches_are_as_large_as_those_of_samples() {
    record -a -m 4M -e cpu-clock --switch-events -o it.data -- true
    expect_line err "(4096 KiB data and 4096 KiB sideband"
    record -a -m 4M -e cpu-clock -o it.data -- true
    expect_no_line err "KiB data and 4096 KiB sideband"
}

# Only the workload, which is no task of before, and the kernel are described then.
test_synth_leaves_out_what_it_does_not_name() {
    record -a -e cpu-clock --synth=no -o none.data -- true
    record -a -e cpu-clock --synth=task -o tasks.data -- true
    local zero='^ *[^ ]+ +[0-9]+ +(\[[0-9]+\] +)?0\.000000:'
    expect_eq "tasks of before" "$(perf script -i none.data --show-task-events 2>perf.err | grep -E "$zero" |
        grep -cE 'PERF_RECORD_FORK\(([0-9]+):\1\)')" 1 # of a process: ThreadSanitizer makes a thread
    expect_eq "maps of before" "$(perf script -i tasks.data --show-mmap-events 2>perf.err | grep -E "$zero" |
        grep -c PERF_RECORD_MMAP2)" 0
    expect_at_least "tasks of before" "$(perf script -i tasks.data --show-task-events 2>perf.err | grep -E "$zero" |
        grep -c PERF_RECORD_FORK)" 5
}

test_sample_that_never_fits_its_ring_is_refused() {
    weir_record -m 16 -e cpu-clock --call-graph dwarf,65528 -o it.data -- true
    expect_eq "exit status" "$status" 125
    expect_line err "weir: a sample of event 'cpu-clock' (65528 bytes) never fits into a ring of 64 KiB"
    expect_files . err
    record -m 32 -e cpu-clock --call-graph dwarf,65528 -o it.data -- true
}

test_frequency_above_the_limit_is_refused_on_request() {
    weir_record --strict-freq -F 4000000 -e cpu-clock -o it.data -- true
    expect_eq "exit status" "$status" 125
    expect_line err "maximum frequency rate"
    expect_files . err
}

test_call_chains_are_told_as_by_perf() {
    record -g -e cpu-clock -o it.data -- true
    expect_line err "callchain: type FP"
    expect_no_line err "stack dump size"
    record --call-graph dwarf,4096 -e cpu-clock -o it.data -- true
    expect_line err "callchain: type DWARF"
    expect_line err "callchain: stack dump size 4096"
}
