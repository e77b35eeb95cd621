# shellcheck shell=bash disable=SC2154 # weir: of start_record
# The file of --metrics: two parsers of others take it, its counts are those of the ledger, and no fault of it harms the
# recording. The examples of docs/ name metrics that are there.

needs_perf_events

tracepoint=(-e raw_syscalls:sys_enter -c 1)
examples=$(dirname "${BASH_SOURCE[0]}")/../../docs/examples

# Debian's packages are for Debian's interpreter.
find_parser() {
    for python in python3 /usr/bin/python3; do
        if "$python" -c 'import prometheus_client.openmetrics.parser' 2>/dev/null; then return; fi
    done
    lacks_package "python3-prometheus-client"
}

# expect_openmetrics FILE
expect_openmetrics() {
    find_parser
    needs_program promtool
    "$python" -c 'if True:
        import sys
        from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
        seen = set()
        for family in parse(open(sys.argv[1]).read()):
            assert family.name.startswith("weir_") and family.documentation, family.name
            for sample in family.samples:
                series = sample.name, tuple(sorted(sample.labels.items()))
                assert series not in seen, series
                seen.add(series)
        assert seen' "$1" >parsed 2>&1 || fail "the parser of OpenMetrics: $(cat parsed)"
    # node_exporter has this parser. In its format no counter has a line of help: the names differ by _total.
    promtool check metrics <"$1" >lint 2>&1 || true
    expect_eq "what promtool says" "$(grep -v '_total no help text$' lint || true)" ""
}

# metric FILE NAME[{LABELS]: the sum of all samples whose line begins so and has the labels.
metric() {
    awk -v name="$2" -v label="${3:-}" '
        $1 !~ /^#/ && substr($1, 1, length(name) + 1) == name "{" && (label == "" || index($1, label)) {
            sum += $2; found = 1 }
        END { if (!found) print "none"; else print sum }' "$1"
}

test_counts_are_those_of_the_ledger() {
    record "${tracepoint[@]}" -a -m 64K --metrics weir-a.prom -o it.data -- taskset -c 0 \
        sh -c "$(while_stopped getppid 50000); sleep 0.1; '$WEIR_LOAD' getppid 500"
    expect_openmetrics weir-a.prom
    expect_at_least "lost" "$(ledger_column lost_in_ring raw_syscalls:sys_enter)" 1000
    expect_eq "lost" "$(metric weir-a.prom weir_samples_lost_total 'cause="ring_full"')" \
        "$(ledger_column lost_in_ring raw_syscalls:sys_enter)"
    expect_eq "written" "$(metric weir-a.prom weir_samples_written_total)" "$(told_samples)"
    expect_eq "produced" "$(metric weir-a.prom weir_samples_produced_total)" "$(produced raw_syscalls:sys_enter)"
    expect_eq "active" "$(metric weir-a.prom weir_recording_active 'recording="weir-a"')" 0
    expect_eq "chunks" "$(metric weir-a.prom weir_write_latency_seconds_bucket 'le="+Inf"')" \
        "$(metric weir-a.prom weir_write_latency_seconds_count)"
    expect_at_least "chunks" "$(metric weir-a.prom weir_write_latency_seconds_count)" 1
    # A reader that is stopped in a look drains up to there, and the rest of the full ring in the next one.
    expect_at_least "looks at rings that are half full" "$(($(metric weir-a.prom weir_ring_fill_ratio_count) -
        $(metric weir-a.prom weir_ring_fill_ratio_bucket 'le="0.384"')))" 1
    expect_eq "mode" "$(stat -c %a weir-a.prom)" 644
}

# Losses at the very end: no record of the ring tells of them.
test_losses_at_the_end_are_counted_for_each_cpu() {
    record "${tracepoint[@]}" -a -m 4K --metrics it.prom,per-cpu -o it.data -- taskset -c 0 \
        sh -c "$(while_stopped getppid 5000)"
    expect_openmetrics it.prom
    expect_eq "lost" "$(metric it.prom weir_samples_lost_total 'cause="ring_full"')" \
        "$(ledger_column lost_in_ring raw_syscalls:sys_enter)"
    expect_at_least "lost on CPU 0" "$(metric it.prom weir_samples_lost_total 'cpu="0",cause="ring_full"')" 1000
    expect_eq "CPUs" "$(grep -c '^weir_samples_produced_total' it.prom)" "$(cpus_online)"
}

# Of a machine that hwloc makes up: its CPUs are this machine's first ones.
test_nodes_are_told_apart() {
    needs_second_cpu
    HWLOC_SYNTHETIC="numa:2 pu:1" record "${tracepoint[@]}" -a --metrics it.prom -o it.data -- \
        taskset -c 1 "$WEIR_LOAD" getppid 1000
    expect_openmetrics it.prom
    expect_at_least "samples of node 1" "$(metric it.prom weir_samples_written_total 'node="1"')" 1000
    expect_eq "samples of both" "$(metric it.prom weir_samples_written_total)" "$(told_samples)"
    expect_eq "nodes" "$(grep -c '^weir_ring_fill_ratio_count' it.prom)" 2
}

test_file_is_there_while_data_flows_and_counts_rotations() {
    mkdir out
    : >aim
    ln -s ../aim out/it.prom
    open_fifos
    start_record it.data -e cpu-clock -a --switch-output=1000s -D -1 --control fifo:ctl,ack --metrics out/it.prom
    wait_until grep -qs '^# EOF$' out/it.prom
    expect_openmetrics out/it.prom
    expect_eq "active" "$(metric out/it.prom weir_recording_active)" 1
    if [ -L out/it.prom ] || [ -s aim ]; then fail "weir has followed a link"; fi
    expect_files out it.prom
    ask switch
    ask switch
    ask stop
    await_record
    expect_eq "status" "$status" 0
    expect_eq "rotations" "$(metric out/it.prom weir_rotations_total)" 2
    expect_files out it.prom
}

# expect_recorded_without FILE REASON [SECONDS]
expect_recorded_without() {
    record "${tracepoint[@]}" -a --metrics "$1" -o it.data -- sh -c "'$WEIR_LOAD' getppid 100; sleep ${3:-0}"
    expect_eq "warnings" "$(grep -cF "weir: warning: cannot write the metrics to '$1': $2" err)" 1
    expect_eq "written and lost" "$(written_and_lost raw_syscalls:sys_enter)" "$(produced raw_syscalls:sys_enter)"
}

test_file_that_cannot_be_written_harms_nothing() {
    expect_recorded_without nowhere/it.prom 'No such file or directory' 1.2 # three texts
    mkdir it.prom small
    expect_recorded_without it.prom 'Is a directory'
    mount -t tmpfs -o size=4k none small 2>/dev/null || skip "needs leave to mount a tmpfs"
    at_end umount -l small
    head -c 4096 /dev/zero >small/full
    expect_recorded_without small/it.prom 'No space left on device'
    expect_files small full
    mount -o remount,ro small
    expect_recorded_without small/it.prom 'Read-only file system'
}

test_examples_name_metrics_that_are_there() {
    needs_program promtool
    record -e cpu-clock -a --lease 100 --metrics it.prom -o it.data -- true
    promtool check rules "$examples/weir-alerts.yaml" >lint || fail "promtool: $(cat lint)"
    python3 -m json.tool "$examples/weir-dashboard.json" >/dev/null || fail "the dashboard is not JSON"
    grep -oh 'weir_[a-z_]*' "$examples/weir-alerts.yaml" "$examples/weir-dashboard.json" | sort -u >named
    sed -n 's/^\(weir_[a-z_]*\){.*/\1/p' it.prom | sort -u >written
    expect_at_least "metrics" "$(wc -l <named)" 8
    expect_eq "metrics that are named and not written" "$(comm -23 named written)" ""
    # Each has its row in docs/metrics.md, and no others.
    # shellcheck disable=SC2016 # backquotes of Markdown
    sed -n 's/^| `\(weir_[a-z_]*\)` .*/\1/p' "$examples/../metrics.md" | sort -u >documented
    sed 's/_\(bucket\|sum\|count\)$//' written | sort -u >families
    expect_eq "documented metrics" "$(cat documented)" "$(cat families)"
}
