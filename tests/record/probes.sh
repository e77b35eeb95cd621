# shellcheck shell=bash
# Static probes (weir-probes(7)): uprobes of the kernel at the addresses in the program, counted by perf.

needs_perf_events

# A copy of the program: no recording of another test hits its probes. A uprobe at each address of the program's notes.
set_up() {
    local types=/sys/kernel/tracing/uprobe_events segment name location number=0
    [ -e $types ] || skip "needs a kernel with CONFIG_UPROBE_EVENTS"
    needs_program readelf
    grep -q '"sdt":true' <<<"$("$WEIR_PROGRAM" version --json)" || skip "needs a build with sys/sdt.h"
    if grep -q -e __asan_init -e __tsan_init "$WEIR_PROGRAM"; then skip "needs a build without sanitizers"; fi
    cp "$WEIR_PROGRAM" copy
    group=weir_test_$BASHPID
    # Offset in the file and address of the code.
    read -ra segment <<<"$(readelf -lW copy | awk '$1 == "LOAD" && / R E / { print $2, $3 }')"
    while read -r name location; do
        number=$((number + 1))
        echo "p:$group/${name}__$number $PWD/copy:$(printf '0x%x' $((location - segment[1] + segment[0])))" >>$types
        at_end forget "$group/${name}__$number"
    done < <(readelf -n copy | awk '
        /Provider: weir/ { getline; name = $2; getline; sub(",", "", $2); print name, $2 }')
}

forget() { echo "-:$1" >>/sys/kernel/tracing/uprobe_events; }

# count_of PROBE: all places of a probe in the program.
count_of() {
    awk -F, -v name="$group:$1__" '
        index($3, name) == 1 { sum += $1; found = 1 } END { print found ? sum : "none" }' counts
}

test_counts_are_those_of_the_recording() {
    set_up
    perf stat -x, -o counts -e "$group:*" -- "$PWD/copy" record -v -a -m 64K -e raw_syscalls:sys_enter -c 1 \
        --switch-output --metrics it.prom -o it.data -- sh -c "$(while_stopped getppid 20000); sleep 0.2
            '$WEIR_LOAD' getppid 500; kill -USR2 \$PPID; sleep 0.5; kill -USR2 \$PPID; sleep 0.5" 2>err
    expect_eq "rotations" "$(count_of rotation)" 2
    expect_eq "chunks" "$(count_of hand_over)" "$(sed -n 's/^weir_write_latency_seconds_count{.*} //p' it.prom)"
    expect_at_least "chunks" "$(count_of hand_over)" 1
    expect_eq "writes that are over" "$(count_of write_completed)" "$(count_of write_submitted)"
    expect_at_least "writes" "$(count_of write_submitted)" 3
    expect_at_least "losses" "$(count_of loss)" 1
    expect_at_least "looks" "$(count_of drain)" "$(count_of wake)"
    expect_at_least "wakes" "$(count_of wake)" "$(sed -n 's/^\[ weir record: Woken up \([0-9]*\) times.*/\1/p' err)"
}

test_page_lists_the_probes() {
    local page
    page=$(dirname "${BASH_SOURCE[0]}")/../../docs/man/weir-probes.7
    needs_program readelf
    readelf -n "$WEIR_PROGRAM" | awk '/Provider: weir/ { getline; print $2 }' | sort -u >built
    [ -s built ] || skip "needs a build with sys/sdt.h"
    sed -n 's/^\.BI \([a-z_]*\)( .*/\1/p' "$page" | sort >listed
    expect_eq "probes" "$(cat built)" "$(cat listed)"
}
