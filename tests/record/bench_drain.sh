# shellcheck shell=bash disable=SC2154 # here: of run
# `weir bench drain` as it is called: which simulated CPU writes when, by the file that comes out of it. The figures are
# no matter of tests.

needs_program taskset

# expect_turns WORDS -- OPTION...: three simulated CPUs that one CPU plays write in that order, each word CPU:SAMPLE.
expect_turns() {
    local words=$1
    shift 2
    taskset -c "$(first_cpu)" "$WEIR_PROGRAM" bench drain -q --cpus 3 -o it.data "$@" >/dev/null
    "$WEIR_PROGRAM" dump it.data >records
    expect_eq "turns" "$(awk '/PERF_RECORD_SAMPLE/ { print $2, $1 ":" $8 }' records | sort -n | cut -d ' ' -f 2 |
        tr -s '\n' ' ')" "$words"
    rm it.data
}

# One that this process may run on.
first_cpu() { taskset -cp $$ | sed 's/.*: //; s/[-,].*//'; }

test_burst_is_what_a_cpu_writes_before_the_next_one() {
    local turns="0:0 0:0x1 0:0x2 1:0 1:0x1 1:0x2 2:0 2:0x1 2:0x2 0:0x3 0:0x4 1:0x3 1:0x4 2:0x3 2:0x4 "
    expect_turns "$turns" -- --records 5 --burst 3
    expect_turns "$turns" -- --records 5 --burst 3 --rate 1000000
    expect_turns "$turns" -- --records 5 --burst 3 --rate 50
}

test_without_a_burst_cpus_go_on_side_by_side() {
    expect_turns "0:0 1:0 2:0 0:0x1 1:0x1 2:0x1 " -- --records 2 --rate 1000
}

test_rate_is_kept_on_the_average() {
    local seconds
    "$WEIR_PROGRAM" bench drain -q --json --cpus 4 --records 2000 --rate 4000 --burst 1500 >it.json
    expect_line it.json '"produced": 8000'
    expect_line it.json '"burst": 1500'
    seconds=$(sed -n 's/.*"produce_seconds": \([0-9.]*\).*/\1/p' it.json)
    awk -v s="$seconds" 'BEGIN { exit !(s >= 0.49) }' || fail "2000 at 4000 Hz took $seconds s"
}

# Rings of a page, and readers that sleep most of the time: who does not wait for room loses.
test_producers_of_a_closed_loop_lose_nothing() {
    "$WEIR_PROGRAM" bench drain -q --json --cpus 4 --records 50000 -m 4K --closed-loop >it.json
    expect_line it.json '"produced": 200000'
    expect_line it.json '"written": 200000'
    expect_line it.json '"closed_loop": true'
}

test_threshold_decides_the_exit_status() {
    local status=0
    "$WEIR_PROGRAM" bench drain -q --closed-loop --records 1000 --runs 2 --fail-below kept_percent=100 >it.txt
    expect_line it.txt "this machine holds "
    "$WEIR_PROGRAM" bench drain -q --records 1000 --sweep cpus=1,2 --fail-below mb_per_s=1e12 >it.txt 2>err || status=$?
    expect_eq "status" "$status" 3
    expect_line err "weir: cpus=2: mb_per_s is "
}

test_signal_leaves_the_runs_that_are_done() {
    local bench status=0
    "$WEIR_PROGRAM" bench drain --json --records 1000 --sweep cpus=1,2 --runs 64 >it.json 2>err &
    bench=$!
    wait_until grep -q "run 2 of 128" err
    kill -INT $bench
    wait $bench || status=$?
    expect_eq "status" "$status" 130
    expect_line it.json '"interrupted": true'
    expect_line it.json '"point": "cpus=1"'
    expect_line err "weir: warning: interrupted: "
}

# The first rate that is tried is held by any machine.
test_search_that_is_interrupted_says_what_it_has_found() {
    "$WEIR_PROGRAM" bench drain --cpus 1 --rate max --seconds 1 -o it.data 2>err &
    local bench=$!
    wait_until grep -q "^weir: run 1: 1000 Hz per CPU: 0 of 1000 lost" err
    kill -INT $bench
    wait $bench && fail "it ended well"
    expect_line err "weir: interrupted while searching, after "
    expect_line err "hint: so far "
}
