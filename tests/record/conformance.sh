# shellcheck shell=bash
# Every way to record beside every reader of perf.data: all find as many samples as weir's ledger says it has written.
# A case is a row: a mode of recording, and behind it the readers that cannot take what it makes, of perf neither.

needs_perf_events

calls=4000

# ---- readers: each prints how many samples it finds in FILE ----

by_perf_report() { report_samples "$1"; }
by_perf_script() { script_lines "$1"; }
by_perf_inject() {
    perf inject -i "$1" -o injected.data 2>perf.err && report_samples injected.data
}
by_perf_json() {
    perf data convert --force --to-json samples.json -i "$1" >convert.log 2>&1 && grep -c '"timestamp":' samples.json
}
by_babeltrace2() {
    rm -rf ctf
    perf data convert --to-ctf ctf -i "$1" >convert.log 2>&1 && babeltrace2 ctf 2>babeltrace.err | wc -l
}
by_hotspot() { hotspot_samples "$1"; }
# (It takes perf's event types to be those that it knows, and passes over the others.)
by_create_gcov() {
    create_gcov --logtostderr --v=1 --binary="$WEIR_LOAD" --profile="$1" --use_lbr=false --gcov=it.gcov 2>gcov.log
    sed -n 's/.*Parser processed: .* \([0-9]*\) SAMPLE events.*/\1/p' gcov.log
}
by_weir_dump() { "$WEIR_PROGRAM" dump --type sample --json "$1" | wc -l; }
by_weir_info() { "$WEIR_PROGRAM" info "$1" | sed -n 's/^samples *\([0-9]*\),.*/\1/p'; }

needs_readers() {
    needs_program babeltrace2
    needs_program create_gcov
    [ -x "$hotspot_parser" ] || skip "needs hotspot (its perfparser)"
}

# ---- the row ----

# expect_row FILE READER...: all readers but the named ones agree with the ledger, and perf knows events and build ids.
expect_row() {
    local file=$1 samples reader
    shift
    samples=$(told_samples)
    expect_at_least "samples" "$samples" 10
    for reader in perf_report perf_script perf_inject perf_json babeltrace2 hotspot create_gcov weir_dump weir_info; do
        [[ " $* " != *" $reader "* ]] || continue
        expect_eq "samples by $reader" "$("by_$reader" "$file")" "$samples"
    done
    "$WEIR_PROGRAM" verify "$file" >told || fail "verify: $(cat told)"
    expect_eq "events by perf evlist" "$(perf evlist -i "$file" 2>perf.err | sed '/^# Tip/d' | sort)" \
        "$("$WEIR_PROGRAM" info "$file" | sed -n 's/^event  *\(.*\): type .*/\1/p' | sort)"
    expect_line <(perf buildid-list -i "$file" 2>perf.err) "$WEIR_LOAD"
}

row_of() {
    needs_readers
    record "$@"
}

test_clock_of_a_command() {
    row_of -e cpu-clock -F 2000 -o it.data -- "$WEIR_LOAD" spin 200000000
    expect_row it.data
}

test_clock_of_all_cpus_with_call_chains() {
    row_of -a -g -e cpu-clock -F 997 -o it.data -- "$WEIR_LOAD" spin 200000000
    expect_row it.data
}

# autofdo knows no copied stacks.
test_copied_stacks() {
    row_of --call-graph dwarf,4096 -e cpu-clock -F 997 -o it.data -- "$WEIR_LOAD" spin 200000000
    expect_row it.data create_gcov
}

test_tracepoint() {
    row_of -a -e raw_syscalls:sys_enter -c 1 -m 16M -o it.data -- "$WEIR_LOAD" getppid "$calls"
    expect_row it.data
}

test_events_of_several_kinds() {
    row_of -a -m 16M -e '{cpu-clock,page-faults}' -e sched:sched_switch -o it.data -- "$WEIR_LOAD" spin 100000000
    expect_row it.data
}

test_each_thread_in_a_ring_of_its_own() {
    row_of --per-thread -e cpu-clock -F 2000 -o it.data -- "$WEIR_LOAD" spin 200000000
    expect_row it.data
}

test_one_reader_for_all_cpus() {
    row_of -a --threads=package -e cpu-clock -F 2000 -o it.data -- "$WEIR_LOAD" spin 200000000
    expect_row it.data
}

# hotspot and autofdo read no compressed file, of perf neither.
test_compressed() {
    row_of -a -z -e raw_syscalls:sys_enter -c 1 -m 16M -o it.data -- "$WEIR_LOAD" getppid "$calls"
    expect_row it.data hotspot create_gcov
}

test_kept_in_memory_until_the_end() {
    row_of -a -M 32M --snapshot-on-exit -e raw_syscalls:sys_enter -c 1 -m 16M -o it.data -- \
        "$WEIR_LOAD" getppid "$calls"
    expect_row it.data
}

# Saved from standard output. perf script and report take it by the same way back; the others want a file.
test_stream() {
    needs_readers
    local samples
    "$WEIR_PROGRAM" record -q -a -e cpu-clock -F 2000 -o - -- "$WEIR_LOAD" spin 200000000 >it.data 2>err
    samples=$(by_weir_dump it.data)
    expect_at_least "samples" "$samples" 10
    expect_eq "samples by perf report" "$(perf report --stats -i - <it.data 2>perf.err |
        awk '$1 == "SAMPLE" { print $3; exit }')" "$samples"
    expect_eq "samples by perf script" "$(perf script -i - -F comm <it.data 2>perf.err | wc -l)" "$samples"
    expect_eq "samples by perf inject and report" "$(perf inject -i - -o - <it.data 2>perf.err |
        perf report --stats -i - 2>perf.err | awk '$1 == "SAMPLE" { print $3; exit }')" "$samples"
    expect_eq "samples by weir info" "$(by_weir_info it.data)" "$samples"
    "$WEIR_PROGRAM" verify it.data >told || fail "verify: $(cat told)"
}

# A killed recording, once it was recovered, for those who read features.
test_recovered() {
    needs_readers
    "$WEIR_PROGRAM" record -q -a -e sched:sched_switch -o killed.data 2>err &
    local victim=$!
    wait_until test -e killed.data
    "$WEIR_LOAD" forks 50 1
    sleep 2
    kill -KILL "$victim"
    wait "$victim" || true
    "$WEIR_PROGRAM" recover -q -o it.data killed.data
    local samples reader
    samples=$(by_weir_dump it.data)
    expect_at_least "samples" "$samples" 10
    for reader in perf_report perf_script perf_inject perf_json babeltrace2 hotspot create_gcov weir_info; do
        expect_eq "samples by $reader" "$("by_$reader" it.data)" "$samples"
    done
}
