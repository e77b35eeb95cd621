# shellcheck shell=bash
# The machine's clock of day is set while weir records. Only where nothing else goes by it: whoever sets
# WEIR_MAY_SET_CLOCK, as scripts/guest does in its machine, says so.

[ "${WEIR_MAY_SET_CLOCK:-}" ] || skip "needs leave to set the machine's clock: WEIR_MAY_SET_CLOCK, as in scripts/guest"
needs_perf_events
needs_root

syscalls=(-a -e raw_syscalls:sys_enter -c 1 -m 4M)

# Milliseconds by a clock that is never set.
uptime_ms() {
    local up rest
    read -r up rest </proc/uptime
    echo "${up/./}0"
}

# The clock of day goes on from here at the end of the case, as if nobody had set it.
put_clock_back_at_the_end() {
    local boot_ms
    boot_ms=$(($(date +%s%3N) - $(uptime_ms)))
    at_end put_clock_back $boot_ms
}

put_clock_back() {
    local now_ms=$(($1 + $(uptime_ms)))
    set_clock $((now_ms / 1000)).$((now_ms % 1000))
}

# set_clock SECONDS: since 1970; clock_settime(2).
set_clock() { date -u -s "@$1" >/dev/null; }

# load_times FILE: the times of the load's getppid calls in seconds, in the order in which perf delivers them.
load_times() {
    local number
    number=$("$WEIR_LOAD" number getppid)
    perf_bare script --ns -i "$1" --comm "$WEIR_LOAD_NAME" -F trace:time,trace 2>perf.err |
        sed -n "s/^ *\([0-9.]*\):.* NR $number .*/\1/p"
}

# The files of the recording into `told`, in the order in which they were told of.
list_files() {
    sed -n 's/^\[ weir record: Dump \(.*\) \]$/\1/p' err >told
    expect_eq "names that are there twice" "$(sort told | uniq -d)" ""
}

# The same second comes five times, and each time a file ends in it, or two.
test_files_that_end_in_the_same_second_have_names_of_their_own() {
    local turn began elapsed file files
    put_clock_back_at_the_end
    began=$(uptime_ms)
    start_record it.data "${syscalls[@]}" --switch-output=1s
    for turn in 1 2 3 4 5; do
        set_clock 1750000000
        "$WEIR_LOAD" getppid $((turn * 1000))
        sleep 1.2
    done
    kill -INT "$weir"
    await_record
    elapsed=$(($(uptime_ms) - began))
    expect_eq "status" "$status" 130
    list_files
    expect_eq "files" "$(compgen -G 'it.data*' | sort | paste -sd ' ')" "$(sort told | paste -sd ' ')"
    expect_at_least "files of the seconds that come again" "$(grep -c 'it\.data\.2025061515064[01]' told)" 5
    # A file a second, by the clock that nobody sets.
    files=$(wc -l <told)
    expect_at_least "files" "$files" 4
    expect_at_least "seconds, and one, for $files files" $((elapsed / 1000 + 1)) "$files"
    while read -r file; do
        expect_whole "$file"
        load_times "$file" >>calls.txt
    done <told
    expect_eq "getppid calls" "$(wc -l <calls.txt)" 15000
    sort -n calls.txt | cmp - calls.txt || fail "files are not in the order in which they were told of"
}

test_clock_that_goes_back_makes_no_file_older() {
    put_clock_back_at_the_end
    start_record it.data "${syscalls[@]}" --switch-output=1s --switch-max-files 2
    for _ in 1 2 3 4 5; do
        "$WEIR_LOAD" step-clock -7200
        "$WEIR_LOAD" getppid 1000
        sleep 1.2
    done
    kill -INT "$weir"
    await_record
    expect_eq "status" "$status" 130
    list_files
    expect_eq "files" "$(compgen -G 'it.data*' | sort | paste -sd ' ')" "$(tail -2 told | sort | paste -sd ' ')"
}

# steps_and_slews: by hours in both directions and by both system calls, and a tenth faster and slower.
steps_and_slews() {
    local step
    at_end "$WEIR_LOAD" tick-clock 10000
    for step in "step-clock 18000" "step-clock -36000" "tick-clock 11000" "step-clock 1" "tick-clock 9000" \
        "step-clock -1" "tick-clock 10000"; do
        "$WEIR_LOAD" getppid 1000
        # shellcheck disable=SC2086 # several words
        "$WEIR_LOAD" $step
        "$WEIR_LOAD" getppid 1000
        sleep 0.5
    done
    set_clock 2000000000
    "$WEIR_LOAD" getppid 1000
    set_clock 1000000000
    "$WEIR_LOAD" getppid 1000
}

# Samples have the kernel's own clock, or one that is only ever slewed: what was between two of them, was.
test_records_keep_their_order_and_distance() {
    local clock began elapsed span
    put_clock_back_at_the_end
    for clock in "" "-k monotonic" "-k monotonic_raw"; do
        rm -f it.data
        # shellcheck disable=SC2086 # several words
        start_record it.data "${syscalls[@]}" $clock
        began=$(uptime_ms)
        steps_and_slews
        elapsed=$(($(uptime_ms) - began))
        kill -INT "$weir"
        await_record
        expect_eq "status with $clock" "$status" 130
        expect_time_order it.data
        load_times it.data >calls.txt
        expect_eq "getppid calls with $clock" "$(wc -l <calls.txt)" 16000
        span=$(awk 'NR == 1 { first = $1 } END { printf "%d", ($1 - first) * 1000 }' calls.txt)
        # A tenth of it more or less, where a clock is not slewed as the other is.
        expect_at_least "ms from the first to the last call with $clock" "$span" $((elapsed * 8 / 10 - 1000))
        expect_at_least "the most that they may be" $((elapsed * 12 / 10 + 100)) "$span"
        expect_whole_and_balanced it.data
    done
}

# What a ring has is in the order in which it was made, whatever the clock of its samples says. (The kernel lets events
# of software have such a clock, and no tracepoints.)
test_samples_of_a_clock_that_was_set_back_are_no_damage() {
    put_clock_back_at_the_end
    start_record it.data -a -e cpu-clock -F 1000 -k realtime
    "$WEIR_LOAD" spin 50000000
    "$WEIR_LOAD" step-clock -36000
    "$WEIR_LOAD" spin 50000000
    sleep 4 # rounds
    "$WEIR_LOAD" spin 50000000
    kill -INT "$weir"
    await_record
    "$WEIR_PROGRAM" verify it.data >verify.out || fail "verify: $(cat verify.out)"
    expect_eq "notes" "$(grep -c 'note clock  *the clock of samples was set back, by 3[56]...\.' verify.out)" 1
    expect_eq "samples" "$(script_lines it.data)" "$(told_samples)"
}

# Rounds and checkpoints come as before: what was recorded can be read meanwhile, and is still there after a kill.
test_file_of_a_clock_that_went_back_can_be_read_meanwhile() {
    put_clock_back_at_the_end
    start_record it.data -a -e cpu-clock -F 100
    sleep 1
    "$WEIR_LOAD" step-clock -36000
    local rounds
    rounds=$(report_records it.data FINISHED_ROUND)
    sleep 5
    expect_at_least "rounds in 5 s" $(($(report_records it.data FINISHED_ROUND) - rounds)) 2
    kill -KILL "$weir"
    await_record
    perf_bare script -i it.data -F time >/dev/null 2>perf.err || fail "perf: $(cat perf.err)"
}
