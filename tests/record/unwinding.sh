# shellcheck shell=bash disable=SC2154 # here: of run
# `weir unwind` makes of copied stacks what `perf script` makes of them.

needs_perf_events
needs_program python3

stacks=${WEIR_STACKS:?is not set: run the test with ctest}

# record_running CASE ARGUMENT...: records a load of that case that already runs: perf finds no tables of libraries that
# a process had mapped elsewhere before its exec.
record_running() {
    local name=$1 pid
    shift
    "$stacks" "$name" 60000 &
    pid=$!
    wait_until grep -q stacks "/proc/$pid/comm"
    record -e cpu-clock -F 997 --call-graph dwarf -p "$pid" -o it.data "$@" -- sleep 0.4
    kill "$pid"
    wait "$pid" 2>/dev/null || true
}

# expect_like_perf: no stack of it.data differs from perf's.
expect_like_perf() {
    "$WEIR_PROGRAM" unwind -q it.data || fail "not unwound"
    "$WEIR_PROGRAM" verify it.data.unwound >verified || fail "$(cat verified)"
    python3 "$here/compare_stacks.py" -v it.data it.data.unwound >compared || fail "samples differ: $(cat compared)"
    python3 - <<'END' || fail "$(cat compared)"
import json
counts = json.loads(open("compared").readline())
assert counts["samples"] > 0 and counts["shorter"] + counts["other"] == 0
END
}

test_stacks_like_perf() {
    local name
    for name in alloca signal threads vdso; do
        record_running "$name"
        expect_like_perf
    done
}

# A command's own mappings are all that consumers know of it, from its exec on: perf finds each table then.
test_stacks_of_a_command_like_perf() {
    record -e cpu-clock -F 997 --call-graph dwarf -o it.data -- "$stacks" calls 300
    expect_like_perf
    grep -q '"longer": 0,' compared || fail "perf lacks callers: $(cat compared)"
}

# The stack lies in a file that has another build id meanwhile: not one frame is guessed.
test_replaced_file_ends_the_chains() {
    cp "$stacks" program
    record -e cpu-clock -F 997 --call-graph dwarf -o it.data -- ./program calls 300
    "$WEIR_PROGRAM" unwind -o whole it.data 2>summary
    grep -q "reach the outermost frame" summary || fail "$(cat summary)"
    cp --remove-destination "$WEIR_LOAD" program
    HOME=$PWD/empty "$WEIR_PROGRAM" unwind -o replaced it.data 2>summary
    grep -q "end in a file that is missing, has changed" summary || fail "$(cat summary)"
    # Stacks of the libraries alone, as at the end of the program, are whole.
    perf script --no-inline -i replaced -F ip,sym,dso --comm program 2>err |
        awk -v RS= -F '\n' '{ for (i = 1; i <= NF; i++) if ($i ~ /\/program\)$/) { inside++; above += i < NF } }
            END { print inside + 0, above + 0 }' >frames
    read -r inside above <frames
    expect_at_least "frames in the replaced file" "$inside" 1
    expect_eq "frames above it" "$above" 0
}

test_packed_input_and_a_stream() {
    record_running calls -z
    expect_like_perf
    "$WEIR_PROGRAM" record -q -e cpu-clock --call-graph dwarf -o - -- "$stacks" calls 300 2>err >it.stream
    "$WEIR_PROGRAM" unwind -q -o of_stream - <it.stream || fail "not unwound"
    "$WEIR_PROGRAM" recover -q -o it.data2 it.stream
    "$WEIR_PROGRAM" unwind -q -o of_file it.data2
    perf script -i of_stream -F time,ip >left 2>err
    perf script -i of_file -F time,ip >right 2>err
    [ -s left ] || fail "no stacks"
    cmp left right
}

# All but the samples' stacks stays, and perf reads it as a recording with call chains.
test_everything_else_stays() {
    record -e cpu-clock,page-faults --call-graph dwarf -o it.data -- "$stacks" calls 300
    "$WEIR_PROGRAM" unwind -q it.data
    expect_eq "mode" "$(stat -c %a it.data.unwound)" 600
    perf script -i it.data -F comm,pid,tid,cpu,time,event,period --show-task-events --show-mmap-events -G >left 2>err
    perf script -i it.data.unwound -F comm,pid,tid,cpu,time,event,period --show-task-events --show-mmap-events -G \
        >right 2>err
    cmp left right
    perf evlist -v -i it.data.unwound >attrs 2>err
    ! grep -q STACK_USER attrs || fail "$(cat attrs)"
    grep -q CALLCHAIN attrs || fail "$(cat attrs)"
    expect_eq "build ids" "$(perf buildid-list -i it.data 2>err)" "$(perf buildid-list -i it.data.unwound 2>err)"
}

test_refusals_leave_the_output_alone() {
    record -e page-faults -g -o chains.data -- "$stacks" calls 50
    echo old >out
    ! "$WEIR_PROGRAM" unwind -o out chains.data 2>err || fail "not refused"
    grep -q "no event of chains.data has user stacks" err || fail "$(cat err)"
    expect_eq "the old file" "$(cat out)" old
    ! "$WEIR_PROGRAM" unwind -o - chains.data 2>err || fail "not refused"
    grep -q "cannot be a stream" err || fail "$(cat err)"
    ! "$WEIR_PROGRAM" unwind -o /dev/null chains.data 2>err || fail "not refused"
    grep -q "not a regular file" err || fail "$(cat err)"
}
