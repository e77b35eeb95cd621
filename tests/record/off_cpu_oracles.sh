# shellcheck shell=bash
# What a recording of off-CPU time has to say of a program that waits known times (waits.c).

needs_off_cpu() {
    needs_root
    if ! grep -q 'bpf-skeletons: \[ on' <<<"$("$WEIR_PROGRAM" version --build-options)"; then
        skip "this weir was built without clang or bpftool"
    fi
    [ -e /sys/kernel/btf/vmlinux ] || skip "the kernel has no BTF"
}

waits=$WEIR_BUILD/tests/record/record_waits

# sums_of FILE...: for each thread its number and the sum of its samples in all files.
sums_of() {
    local file
    for file in "$@"; do perf_bare script -i "$file" -F tid,period,event 2>perf.err; done |
        awk '/offcpu-time:/ { sum[$1] += $2 } END { for (tid in sum) printf "%d %.0f\n", tid, sum[tid] }'
}

# stretches_in FILE FUNCTION STATE MS: samples of that state, MS and longer, with the function in the stack.
stretches_in() {
    perf script -i "$1" -F period,event,weight,ip,sym 2>perf.err | awk -v wanted="$2" -v state="$3" -v least="$4" '
        /offcpu-time:/ { counts = $1 >= least * 1e6 && $3 == state; next }
        counts && $2 ~ "^" wanted "\\+?" { n++; counts = 0 }
        END { print n + 0 }'
}

# expect_lives LINES FILE...: off-CPU and CPU time of each thread are its lifetime, to 1 %.
expect_lives() {
    local lines=$1 tid least most cpu sum
    shift
    expect_eq "threads that lived" "$(wc -l <"$lines")" 4
    sums_of "$@" >sums
    while read -r tid least most cpu; do
        sum=$(($(awk -v tid="$tid" '$1 == tid { print $2 }' sums) + cpu))
        expect_at_least "time of $tid, which lived $least ns" "$sum" $((least * 99 / 100))
        # After its last statement a thread may still wait for a CPU on which to end.
        expect_at_least "lifetime of $tid with $sum ns accounted for" $((most * 101 / 100 + 50000000)) "$sum"
    done <"$lines"
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

# begin_waits: the program, which waits for the end of its gate. $waiting: its process.
begin_waits() {
    mkfifo go
    "$waits" "$@" <go >lives &
    # shellcheck disable=SC2034 # the caller reads it
    waiting=$!
    exec 9>go
}
