# shellcheck shell=bash
# --off-cpu: the time off the CPUs of a program that says how long it waits where (waits.c).

needs_perf_events
needs_root
if ! grep -q 'bpf-skeletons: \[ on' <<<"$("$WEIR_PROGRAM" version --build-options)"; then
    skip "this weir was built without clang or bpftool"
fi
[ -e /sys/kernel/btf/vmlinux ] || skip "the kernel has no BTF"

waits=$WEIR_BUILD/tests/record/record_waits

# sums_of FILE: for each thread its number and the sum of its samples.
sums_of() {
    perf script -i "$1" -F tid,period,event 2>perf.err | awk '/offcpu-time:/ { sum[$1] += $2 }
        END { for (tid in sum) printf "%d %.0f\n", tid, sum[tid] }'
}

# stretches_in FILE FUNCTION STATE MS: samples of that state, MS and longer, with the function in the stack.
stretches_in() {
    perf script -i "$1" -F period,event,weight,ip,sym 2>perf.err | awk -v wanted="$2" -v state="$3" -v least="$4" '
        /offcpu-time:/ { counts = $1 >= least * 1e6 && $3 == state; next }
        counts && $2 ~ "^" wanted "\\+?" { n++; counts = 0 }
        END { print n + 0 }'
}

# expect_lives FILE LINES: off-CPU and CPU time of each thread are its lifetime, to 1 %.
expect_lives() {
    local tid least most cpu sum
    expect_eq "threads that lived" "$(wc -l <"$2")" 4
    sums_of "$1" >sums
    while read -r tid least most cpu; do
        sum=$(($(awk -v tid="$tid" '$1 == tid { print $2 }' sums) + cpu))
        expect_at_least "time of $tid, which lived $least ns" "$sum" $((least * 99 / 100))
        # After its last statement a thread may still wait for a CPU on which to end.
        expect_at_least "lifetime of $tid with $sum ns accounted for" $((most * 101 / 100 + 50000000)) "$sum"
    done <"$2"
}

# Ten sleeps of 80 ms in each function. The scheduler may take a task from its CPU on its way into the sleep: then a
# shorter sleep follows a stretch of the other state.
expect_waits() {
    local function long other
    for function in wait_in_sleep wait_in_read wait_between_spins wait_in_child; do
        long=$(stretches_in "$1" $function 1 40) other=$(stretches_in "$1" $function 0 0)
        if [ "$long" -gt 10 ] || [ $((long + other)) -lt 10 ]; then
            fail "$long sleeps in $function, and $other times it waited for a CPU; expected 10 sleeps"
        fi
    done
    "$WEIR_PROGRAM" verify "$1" >verify.out || fail "$(cat verify.out)"
}

test_lifetime_of_each_thread_is_accounted_for() {
    record --off-cpu --off-cpu-thresh 40 -e dummy -o it.data -- "$waits" 10 80 </dev/null >lives
    expect_waits it.data
    expect_lives it.data lives
}

test_attached_to_a_process_new_tasks_are_followed() {
    mkfifo go
    "$waits" 10 80 <go >lives &
    local process=$!
    exec 9>go
    start_record it.data --off-cpu --off-cpu-thresh 40 -e dummy -p $process
    echo >&9
    await_record
    expect_waits it.data
    expect_lives it.data lives
}

test_whole_machine_without_a_threshold() {
    record -a --off-cpu --off-cpu-thresh 0 -e dummy -m 4M -o it.data -- "$waits" 10 80 </dev/null >lives
    expect_waits it.data
    expect_lives it.data lives
}

test_short_stretches_are_summed() {
    record --off-cpu --off-cpu-thresh 10000 -e dummy -o it.data -- "$waits" 10 80 </dev/null >lives
    expect_lives it.data lives
    # Ten sleeps are one sample.
    expect_eq "sums of a function" "$(stretches_in it.data wait_in_sleep 1 800)" 1
}

test_other_tasks_of_the_machine_are_left_out() {
    record --off-cpu -e dummy -o it.data -- "$waits" 1 20 </dev/null >lives
    sums_of it.data | awk '{ print $1 }' | sort -n >seen
    # The command, three threads and a child.
    expect_eq "tasks" "$(wc -l <seen)" 5
}

test_what_does_not_go_together() {
    weir_record --off-cpu --per-thread -o it.data true
    expect_eq "exit status" "$status" 129
    expect_line err "weir: option '--off-cpu' cannot be used with '--per-thread'"
    setpriv --reuid=65534 --clear-groups -- "$WEIR_PROGRAM" record --off-cpu -o /dev/null true 2>err &&
        fail "it recorded"
    expect_line err "weir: cannot load the BPF programs of --off-cpu: Operation not permitted"
    expect_line err "CAP_BPF and CAP_PERFMON"
}
