# shellcheck shell=bash disable=SC2154 # here: of run
# Stacks that are unwound while they are recorded (--call-graph dwarf,unwind): beside those of `weir unwind`, by their
# counts, and with which other modes they go. Single chunks: tests/engine/test_unwind_step.c.

needs_perf_events
needs_program python3

stacks=${WEIR_STACKS:?is not set: run the test with ctest}
# shellcheck disable=SC2054 # the comma is one of the option
live=(-e cpu-clock:u -F 997 --call-graph dwarf,unwind)

# unwound FILE MEMBER: a count of the ledger in the file.
unwound() {
    "$WEIR_PROGRAM" info --json "$1" >info.json 2>info.err || fail "$(cat info.err)"
    python3 - "$2" <<'END'
import json, sys
sums = [ledger["unwound"] for ledger in json.load(open("info.json"))["ledgers"]]
print(sum({**counts, **counts["ends"]}[sys.argv[1]] for counts in sums))
END
}

# expect_chains FILE: it is by the rules, and no event of it has copied stacks.
expect_chains() {
    "$WEIR_PROGRAM" verify "$1" >verify.out 2>&1 || fail "$1: $(cat verify.out)"
    perf evlist -v -i "$1" >attrs 2>perf.err || fail "$(cat perf.err)"
    expect_no_line attrs STACK_USER
    expect_no_line attrs REGS_USER
    expect_line attrs CALLCHAIN
}

# expect_whole_chains FILE: each reaches the outermost frame. On a busy machine weir may have gone on without news of
# mappings or files, and has counted that.
expect_whole_chains() {
    if [ "$(unwound "$1" late)" = 0 ] && [ "$(unwound "$1" no_mapping)" = 0 ]; then
        expect_eq "whole chains" "$(unwound "$1" outermost)" "$(unwound "$1" unwound)"
    fi
}

# record_whole FILE COMMAND...: once more on a busy machine, where weir goes on without news of mappings or files.
record_whole() {
    local tries
    for ((tries = 0; tries < 5; tries++)); do
        rm -f "$1"
        record "${live[@]}" -o "$1" -- "${@:2}"
        expect_chains "$1"
        if [ "$(unwound "$1" late)" = 0 ] && [ "$(unwound "$1" no_mapping)" = 0 ]; then break; fi
    done
}

# stacks_of FILE: each sample's functions on one line, the outermost last; one that calls itself stands there once.
stacks_of() {
    perf script --no-inline -i "$1" -F ip,sym --comm "$(basename "$stacks")" 2>perf.err |
        awk '!NF && line { print line; line = "" } NF && $2 != last { line = line " " $2 } { last = $2 }
            END { if (line) print line }'
}

# Two recordings of one load: each stack that is frequent in one of them is in the other, and no chain ends early.
test_stacks_like_those_unwound_later() {
    local name
    for name in calls alloca threads; do
        record_whole live.data "$stacks" "$name" 300
        expect_whole_chains live.data
        record -e cpu-clock:u -F 997 --call-graph dwarf -o it.data -- "$stacks" "$name" 300
        "$WEIR_PROGRAM" unwind -q it.data || fail "not unwound"
        stacks_of live.data >live
        stacks_of it.data.unwound >later
        python3 - "$name" >compared <<'END' || fail "$(cat compared)"
import collections, sys
left, right = (collections.Counter(open(name).read().splitlines()) for name in ("live", "later"))
assert left and right, (sys.argv[1], left, right)
for one, other in ((left, right), (right, left)):
    for stack, count in one.items():
        assert count < one.total() / 4 or stack in other, f"{sys.argv[1]}: {count} of {one.total()} only here: {stack}"
END
    done
}

# Each sample is counted once, in closing line, ledger and file.
test_every_sample_comes_out() {
    record -v -e cpu-clock -F 997 --call-graph dwarf,unwind,stack=4096 -a -o it.data -- "$stacks" calls 200
    expect_chains it.data
    expect_line err "callchain: stack dump size 4096"
    expect_line err "weir record: Unwound $(unwound it.data unwound) stacks to $(unwound it.data frames) frames"
    expect_eq "samples with copied stacks" "$(unwound it.data samples)" "$(ledger_column written)"
    expect_eq "malformed ones" "$(unwound it.data malformed)" 0
    "$WEIR_PROGRAM" info it.data >info.out
    expect_line info.out "unwound         $(unwound it.data unwound) stacks to $(unwound it.data frames) frames"
    expect_eq "samples by perf" \
        "$(perf_bare script -i it.data -F time 2>perf.err | grep -c .)" "$(ledger_column written)"
}

test_other_events_stay_as_they_are() {
    record -e cpu-clock,page-faults/call-graph=fp/,sched:sched_switch/call-graph=no/ -F 997 --call-graph dwarf,unwind \
        -o it.data -- "$stacks" threads 300
    expect_chains it.data
    expect_eq "samples by perf" \
        "$(perf_bare script -i it.data -F time 2>perf.err | grep -c .)" "$(ledger_column written)"
    "$WEIR_PROGRAM" info --json it.data | python3 -c '
import json, sys
info = json.load(sys.stdin)
events = {event["name"]: event["samples"] for event in info["events"]}
assert info["ledgers"][0]["unwound"]["samples"] == events["cpu-clock"], events
assert events["page-faults/call-graph=fp/"] > 0, events' || fail "other samples were unwound"
}

test_merged_as_well() {
    record "${live[@]}" --aggregate -o it.data -- "$stacks" vdso 600
    expect_chains it.data
    expect_at_least "merged samples" "$(ledger_column merged)" 5
    expect_eq "samples with copied stacks" "$(unwound it.data samples)" \
        "$(($(ledger_column written) + $(ledger_column merged)))"
    expect_whole_chains it.data
}

test_with_other_modes() {
    local options file
    for options in "-z" "--threads=package -a" "--per-thread" "--sync" "--switch-output=20K" "--overwrite -m 1M" -B \
        "-M 8M --snapshot-on-exit" "--max-size=10M" "--shed=cpus" "--tail-synthesize" "-a -z -C 0"; do
        rm -f it.data*
        # shellcheck disable=SC2086 # several words
        record "${live[@]}" -o it.data $options -- "$stacks" calls 150
        for file in it.data*; do expect_chains "$file"; done
        expect_line err "weir record: Unwound "
    done
}

test_of_a_running_process() {
    "$stacks" threads 60000 &
    local pid=$!
    at_end kill "$pid"
    wait_until grep -q stacks "/proc/$pid/comm"
    record "${live[@]}" -p "$pid" -o it.data -- sleep 0.5
    expect_at_least "samples" "$(unwound it.data unwound)" 10
    expect_whole_chains it.data
}

test_continued() {
    record "${live[@]}" -A -o it.data -- "$stacks" calls 200
    local before
    before=$(ledger_column written)
    record "${live[@]}" -A -o it.data -- "$stacks" calls 200
    expect_chains it.data
    expect_eq "samples of both" "$(perf_bare script -i it.data -F time 2>perf.err | grep -c .)" \
        "$((before + $(ledger_column written)))"
    ! "$WEIR_PROGRAM" record -q -e cpu-clock:u -F 997 --call-graph dwarf -A -o it.data -- true 2>err ||
        fail "not refused"
    expect_line err "incompatible append"
}

test_stream() {
    "$WEIR_PROGRAM" record -q "${live[@]}" -o - -- "$stacks" calls 400 2>err >it.stream || fail "not recorded"
    perf script -i - -F ip,sym <it.stream >script.out 2>perf.err || fail "$(cat perf.err)"
    grep -q __libc_start_call_main script.out || fail "no outermost frames"
}

# What is on file when the recorder is killed are chains, of whole samples.
test_killed() {
    "$stacks" calls 60000 &
    local load=$!
    start_record it.data "${live[@]}" -p "$load"
    sleep 2.5
    kill -KILL "$weir" "$load"
    wait 2>/dev/null || true
    "$WEIR_PROGRAM" recover -q -o whole.data it.data || fail "it cannot be recovered"
    expect_chains whole.data
    stacks_of whole.data >live
    grep -q main live || fail "no chains"
}

test_file_that_is_gone_is_unwound_all_the_same() {
    # shellcheck disable=SC2016 # the shell that is recorded expands it
    record_whole it.data sh -c 'cp "$0" program; ./program calls 1600 & sleep 0.1; rm program; wait' "$stacks"
    expect_at_least "whole chains" "$(unwound it.data outermost)" 10
}

# expect_known_mappings FILE: but for some on a busy machine, chains end for other causes.
expect_known_mappings() {
    local all unknown
    all=$(unwound "$1" unwound)
    unknown=$(unwound "$1" no_mapping)
    expect_at_least "chains by known mappings" $((all - unknown)) $((all * 8 / 10))
}

# Each program is new, and runs for less than a round. The mapping of most is drained from another ring than samples.
test_programs_that_come_and_go() {
    # shellcheck disable=SC2016 # of the inner shell
    record -v "${live[@]}" -o it.data -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do "$0" calls 40; done' "$stacks"
    expect_at_least "samples" "$(unwound it.data unwound)" 50
    expect_known_mappings it.data
    expect_line err " 0 without room; "
}

# Libraries that are loaded while the program runs.
test_libraries_that_come_and_go() {
    cat >libs.py <<'END'
import ctypes, sys, time
end = time.monotonic() + 0.6
while time.monotonic() < end:
    for name in ("libz.so.1", "libm.so.6", "libc.so.6"):
        library = ctypes.CDLL(name)
        if name == "libz.so.1":
            data = bytes(200000)
            for _ in range(20):
                library.crc32(0, data, len(data))
            library.adler32(1, data, len(data))
END
    record "${live[@]}" -o it.data -- python3 libs.py
    expect_at_least "samples" "$(unwound it.data unwound)" 50
    expect_known_mappings it.data
}

test_refusals() {
    ! "$WEIR_PROGRAM" record --call-graph dwarf,unwind --user-regs=IP -o it.data true 2>err || fail "not refused"
    expect_line err "option '--user-regs' cannot be used with '--call-graph=dwarf,unwind'"
    ! "$WEIR_PROGRAM" record --call-graph dwarf,unwind,8192 -o it.data true 2>err || fail "not refused"
    expect_line err "'unwind,8192' does not follow 'dwarf,'"
}
