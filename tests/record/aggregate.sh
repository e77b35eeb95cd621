# shellcheck shell=bash
# Merged samples (--aggregate): what perf report makes of them, how they count, with which other modes they go. The sums
# of single chunks: tests/engine/test_aggregate.c.

needs_perf_events

profile=(-e cpu-clock -F 4000 -g)

# table FILE: sums of periods by command, object and symbol.
table() {
    perf report -i "$1" --stdio --no-children -g none --sort comm,dso,sym -F period,comm,dso,sym -t ';' 2>perf.err |
        sed '/^#/d;/^ *$/d' | sort
}

# json FILE MEMBER: the number of that name among the totals of weir info.
json() { "$WEIR_PROGRAM" info --json "$1" | sed -n "/^ \"samples\":/s/.*\"$2\":\([0-9]*\),.*/\1/p"; }

# in_files FILE...: the samples for which those in the files stand.
in_files() {
    local file sum=0
    for file; do
        "$WEIR_PROGRAM" verify "$file" >verify.out 2>&1 || fail "$file: $(cat verify.out)"
        sum=$((sum + $(json "$file" samples) + $(json "$file" merged)))
    done
    echo $sum
}

told() { echo $(($(ledger_column written) + $(ledger_column merged))); }

# Exact: a recording is merged as a whole behind it. Every line of the table is the same, not only the first 50.
test_perf_report_has_the_same_table() {
    record "${profile[@]}" --sample-identifier -P -W -o full.data -- \
        sh -c "'$WEIR_LOAD' forks 20 300000 & '$WEIR_LOAD' getppid 100000 & '$WEIR_LOAD' spin 100000000; wait"
    "$WEIR_MERGE_FILE" full.data merged.data 1000 >told || fail "it cannot be merged: $(cat told)"
    expect_at_least "merged samples" "$(sed 's/ .*//' told)" 20
    expect_eq "samples in all" "$(($(json merged.data samples) + $(sed 's/ .*//' told)))" "$(json full.data samples)"
    table full.data >full
    table merged.data >merged
    expect_at_least "lines" "$(wc -l <full)" 10
    cmp full merged >cmp.out || fail "$(diff full merged | head)"
}

test_counts_and_weights_are_those_of_all_samples() {
    record "${profile[@]}" --aggregate -o it.data -- "$WEIR_LOAD" spin 200000000
    local weights
    expect_at_least "merged samples" "$(ledger_column merged)" 10
    expect_eq "samples in the file" "$(json it.data samples)" "$(ledger_column written)"
    expect_eq "merged ones" "$(json it.data merged)" "$(ledger_column merged)"
    weights=$(perf_bare script -i it.data -F weight 2>perf.err | awk 'NF == 1 { sum += $1 } END { print sum }')
    expect_eq "weights by perf" "$weights" "$(told)"
    "$WEIR_PROGRAM" report -i it.data --stdio >report.out 2>report.err || fail "$(cat report.err)"
    expect_line report.out ": $(told) samples, "
    expect_line err "equal ones merged into them"
    "$WEIR_PROGRAM" info it.data >info.out
    expect_line info.out "these stand for $(told): equal samples of a thread, less than 1.000 s apart, are one"
}

test_threads_of_a_process_are_one() {
    record "${profile[@]}" --aggregate=500ms,process -o it.data -- \
        sh -c "echo | '$WEIR_LOAD' threads 2 2 100000"
    expect_eq "samples in all" "$(in_files it.data)" "$(told)"
    expect_eq "samples of other threads than the main one" \
        "$(perf_bare script -i it.data -F pid,tid 2>perf.err | awk '{ split($1, id, "/") } id[1] != id[2]' | wc -l)" 0
}

test_with_other_modes() {
    local options
    for options in "-z" "--threads=package -a" "--per-thread" "--sync" "--switch-output=20K" "--overwrite -m 1M" \
        "-M 8M --snapshot-on-exit" "--max-size=10M" "--shed=cpus" "--tail-synthesize" "-a -z -C 0"; do
        rm -f it.data*
        # shellcheck disable=SC2086 # several words
        record "${profile[@]}" --aggregate=1s -o it.data $options -- "$WEIR_LOAD" spin 50000000
        expect_eq "samples in the files of $options" "$(in_files it.data*)" "$(told)"
        expect_at_least "merged samples of $options" "$(ledger_column merged)" 1
    done
    rm -f it.data*
    record "${profile[@]}" --aggregate -o it.data -A -- "$WEIR_LOAD" spin 100000000
    options=$(told)
    record "${profile[@]}" --aggregate -o it.data -A -- "$WEIR_LOAD" spin 100000000
    "$WEIR_PROGRAM" verify it.data >verify.out || fail "$(cat verify.out)"
    expect_at_least "of a continued file" "$(in_files it.data)" "$options"
    record "${profile[@]}" --aggregate -o - -- "$WEIR_LOAD" spin 200000000 >it.data
    expect_eq "samples of a stream" "$(in_files it.data)" "$(told)"
    expect_eq "by perf report" "$(report_samples - <it.data)" "$(ledger_column written)"
}

test_killed() {
    "$WEIR_LOAD" spin 0 &
    local load=$!
    start_record it.data "${profile[@]}" --aggregate=500ms -p "$load"
    sleep 2.5
    kill -KILL "$weir" "$load"
    wait 2>/dev/null || true
    "$WEIR_PROGRAM" recover -q -o whole.data it.data || fail "it cannot be recovered"
    expect_at_least "samples" "$(in_files whole.data)" 300
    expect_at_least "merged ones" "$(json whole.data merged)" 100
}

test_refused_where_it_would_lie() {
    local options
    for options in "-e sched:sched_switch" "-d" "-b" "--call-graph dwarf" "-e page-faults -c 1" "-W" "-R" \
        "--no-period"; do
        # shellcheck disable=SC2086 # several words
        weir_record --aggregate $options -o it.data -- touch ran
        expect_eq "status of $options" "$status" 125
        grep -qE "merged|cannot be used with .--aggregate" err || fail "$options: $(cat err)"
        if [ -e ran ] || [ -e it.data ]; then fail "something was done with $options"; fi
    done
}
