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
