# shellcheck shell=bash
# shellcheck disable=SC2094 # one file is read here, others are written
# A reader of a stream that does not read stands for a disk that stands still: the pool fills up, and what --shed allows
# is done without. It reads once the load has ended, so that everything that was kept is looked at.

needs_perf_events

# behind OPTION... -- COMMAND...: records it into it.data. The reader of that begins to read when the command ends, or
# after 20 s.
behind() {
    local options=()
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    rm -f ended
    set +e
    # shellcheck disable=SC2016 # for the inner shell
    "$WEIR_PROGRAM" record -v "${options[@]}" -- sh -c '"$@"; : >ended' - "$@" 2>err |
        bash -c 'for ((i = 0; i < 1000; i++)); do [ -e ended ] && break || sleep 0.02; done; cat' >it.data
    status=${PIPESTATUS[0]}
    set -e
}

# cpu_column CPU COLUMN EVENT: one number of the ledger.
cpu_column() {
    local title=${2//_/ }
    awk -F '  +' -v cpu="$1" -v event="$3" -v title="${title^^}" '
        $3 == "EVENT" { inside = 1; for (i = 4; i <= NF; i++) if ($i == title) column = i; next }
        inside && $2 == cpu && $3 == event && column { sum += $column }
        END { print sum + 0 }' err
}

lost_samples_told() {
    perf report -D -i - <it.data 2>/dev/null |
        awk '/PERF_RECORD_LOST_SAMPLES/ { sub(".*lost samples :", ""); sum += $1 } END { print sum + 0 }'
}

# A dump ends where the stack does, at the environment: with a small one there would be nothing to cut.
record_dwarf() { # SHED
    local -x WEIR_TEST_STACK
    printf -v WEIR_TEST_STACK '%16384s' ''
    behind --shed="$1" -e cpu-clock -F 10000 --call-graph dwarf,8192 --buffer-size 2M -m 512K -o - -- \
        "$WEIR_LOAD" spin 500000000
    expect_eq "status" "$status" 0
    "$WEIR_PROGRAM" verify -q it.data || fail "verify: $("$WEIR_PROGRAM" verify it.data)"
    perf script -i - <it.data >script 2>perf.err || fail "perf script: $(cat perf.err)"
    expect_no_warnings
    expect_eq "samples that perf reads" "$(grep -c cpu-clock: script)" "$(ledger_column written)"
}

# cut_stacks: samples whose dump is a quarter of what was asked for, by perf.
cut_stacks() { perf report -D -i - <it.data 2>/dev/null | grep -c '^\.\.\. ustack: size 2048,' || true; }

test_stacks_are_cut_and_perf_unwinds_what_is_left() {
    local cut unwound
    record_dwarf stacks
    cut=$(sed -n 's/.*: Cut the stacks of \([0-9]*\) samples while the consumer was behind: .*/\1/p' err)
    expect_at_least "cut stacks" "${cut:-0}" 100
    expect_eq "cut stacks by perf" "$(cut_stacks)" "$cut"
    expect_eq "shed" "$(ledger_column shed)" 0
    # From the loop up to main, whether the dump was cut or not.
    unwound=$(awk 'BEGIN { RS = "" } /hot_loop/ { all++; ok += / main\+0x/ } END { print all + 0, ok + 0 }' script)
    expect_eq "samples of the loop, unwound to main" "${unwound#* }" "${unwound% *}"
    expect_at_least "samples of the loop" "${unwound% *}" "$cut"
}

test_nothing_is_cut_by_default() {
    record_dwarf batches
    expect_no_line err "Cut the stacks"
    expect_eq "cut stacks by perf" "$(cut_stacks)" 0
    expect_eq "shed" "$(ledger_column shed)" 0
    expect_line err "readers saw the pool half full"
}

test_the_cpu_that_fills_the_pool_loses_samples_and_the_other_none() {
    local event=syscalls:sys_enter_getppid lost
    needs_second_cpu
    [ -d /sys/kernel/tracing/events/syscalls/sys_enter_getppid ] || skip "needs tracepoints of system calls"
    cp "$WEIR_LOAD" "$WEIR_LOAD_NAME" # other tests may make such calls on CPU 0
    behind --shed=cpus -a -e "$event" --filter "comm == \"$WEIR_LOAD_NAME\"" -c 1 --buffer-size 2M -m 512K -o - -- \
        sh -c "taskset -c 1 ./$WEIR_LOAD_NAME getppid 400000 &
        for i in 1 2 3 4 5 6 7 8; do taskset -c 0 ./$WEIR_LOAD_NAME getppid 50; done
        wait"
    expect_eq "status" "$status" 0
    expect_at_least "shed of CPU 1" "$(cpu_column 1 shed "$event")" 1000
    expect_eq "shed of CPU 0" "$(cpu_column 0 shed "$event")" 0
    expect_eq "lost of CPU 0" "$(cpu_column 0 lost_in_ring "$event")" 0
    expect_eq "written of CPU 0" "$(cpu_column 0 written "$event")" "$(cpu_column 0 counted "$event")"
    expect_eq "written and lost" "$(written_and_lost "$event")" "$(produced "$event")"
    expect_no_line err "side records (mmap"
    expect_line err "shed"

    "$WEIR_PROGRAM" verify -q it.data || fail "verify: $("$WEIR_PROGRAM" verify it.data)"
    "$WEIR_PROGRAM" info it.data >info
    expect_eq "shed by weir info" "$(sed -n 's/^shed  *\([0-9]*\),.*/\1/p' info)" "$(ledger_column shed)"
    lost=$(($(ledger_column shed) + $(ledger_column lost_in_ring)))
    expect_eq "lost by perf" "$(lost_samples_told)" "$lost"
}

test_what_is_shed_counts_as_lost() {
    # Each storm fits the ring: a reader that is late then loses nothing in it, and the pool fills up all the same.
    behind --max-loss 0 --shed=cpus -a -e raw_syscalls:sys_enter -c 1 --buffer-size 2M -m 512K -o - -- \
        sh -c "for i in \$(seq 60); do '$WEIR_LOAD' getppid 4000; done"
    expect_at_least "shed" "$(ledger_column shed)" 1
    expect_eq "status" "$status" 3
}

test_status_tells_of_the_pressure() {
    mkfifo ctl ack
    behind --shed=stacks --control fifo:ctl,ack -a -e cpu-clock -F 5000 --call-graph dwarf --buffer-size 4M -m 1M \
        -o - -- sh -c "'$WEIR_LOAD' spin 500000000 & echo status >ctl; head -n 1 ack >first; wait; echo status >ctl
        head -n 1 ack >last"
    expect_line first '"pressure":"'
    expect_line last '"shed":{"most":"stacks","samples":0,"trimmed_samples":'
}
