# shellcheck shell=bash disable=SC2016 # both evaluates its texts
# perf's commands read the files of presets as they read those of perf's own record commands: the same events, the same
# forms, and the same sums of what the load decides.

needs_perf_events

# beside PRESET COMMAND...: records the command with the preset, and with `perf PRESET record`: weir.data and perf.data.
beside() {
    local preset=$1 words=("${1%-*}" record)
    shift
    cp "$WEIR_LOAD" preset_load # other tests' loads run beside it, and -a sees them
    if [ "$preset" = timechart-io ]; then words+=(-I); fi
    if [ "$preset" = kmem-page ]; then words=(kmem --page record); fi
    perf "${words[@]}" "$@" >perf.out 2>&1 || fail "perf ${words[*]}: $(cat perf.out)"
    record --preset "$preset" -o weir.data -- "$@"
    perf evlist -i perf.data 2>/dev/null | grep -v '^#\|^dummy' | sort >perf.events
    perf evlist -i weir.data 2>/dev/null | grep -v '^#\|^dummy' | sort >weir.events
    diff perf.events weir.events || fail "the events (<: perf, >: weir) differ"
}

# both WHAT COMMAND: runs the command, in which $f is one of the two files; what it prints must be the same.
both() {
    local f perf_says weir_says
    export f # for the text
    f=perf.data && perf_says=$(eval "$2")
    f=weir.data && weir_says=$(eval "$2")
    [ "$perf_says" ] || fail "$1: perf's file says nothing"
    expect_eq "$1" "$weir_says" "$perf_says"
}

# samples FILE TASK EVENT: their number.
samples() { perf_bare script -i "$1" --comm "$2" -F event 2>/dev/null | grep -cE "(^| )$3: *$"; }

# all_samples EVENT: the number in weir.data.
all_samples() { perf_bare script -i weir.data -F event 2>/dev/null | grep -c "$1: *$" || true; }

# form: the text without its numbers, and with one blank for several.
form() { sed 's/[0-9][0-9.,]*/N/g; s/  */ /g'; }

test_sched() {
    beside sched ./preset_load forks 20 1
    both "children" 'samples $f preset_load sched:sched_process_fork'
    both "children that begin" 'samples $f preset_load sched:sched_wakeup_new'
    both "head of latency" 'perf sched latency -i $f 2>/dev/null | grep "Task  " | form'
    both "tasks of the load" 'perf sched latency -i $f 2>/dev/null | grep -o "preset_load:([0-9]*)"'
    both "head of timehist" 'perf sched timehist -i $f 2>/dev/null | sed -n 1,3p | form'
    both "rows of the load" 'perf sched timehist --summary -i $f 2>/dev/null | grep -c "^ *preset_load\["'
    both "end of timehist" 'perf sched timehist --summary -i $f 2>/dev/null | tail -4 | cut -d: -f1'
    both "replay" 'perf sched replay -r 1 -i $f 2>/dev/null | grep -o "^nr_run_events"'
    perf sched map -i weir.data 2>/dev/null >lines
    expect_line lines preset_load
    # Each switch is a line of timehist but for those of idle CPUs, and of the map.
    expect_eq "lines of the map" "$(grep -c ' secs' lines)" "$(all_samples sched_switch)"
}

test_trace() {
    beside trace ./preset_load getppid 3000
    both "calls" 'perf trace -s -i $f 2>&1 | awk "\$1 == \"getppid\" { print \$2 }"'
    both "events" 'perf trace -s -i $f 2>&1 | grep -o "[0-9]* events, 100"'
    both "calls of all kinds" 'perf trace -s -i $f 2>&1 | awk "NF == 8 && /%$/ { print \$1, \$2, \$3 }" | sort'
    both "lines" 'perf trace -i $f 2>&1 | grep -c "getppid()"'
    expect_eq "calls of weir" \
        "$(perf_bare script -i weir.data -F comm 2>/dev/null | grep -c '^ *weir-\(r\|w\)' || true)" 0
}

test_kmem() {
    beside kmem ./preset_load getppid 100
    both "form" 'perf kmem -i $f stat --slab 2>/dev/null | sed 1d | cut -d: -f1'
    local requested told
    told=$(perf kmem -i weir.data stat --slab 2>/dev/null | sed -n 's/Total bytes requested: //p' | tr -d ,)
    requested=$(perf_bare script -i weir.data -F event,trace 2>/dev/null | grep 'alloc: ' |
        sed -n 's/.*bytes_req=\([0-9]*\).*/\1/p' | awk '{ sum += $1 } END { print sum + 0 }')
    expect_eq "bytes" "$told" "$requested"
}

test_kmem_page() {
    beside kmem-page ./preset_load getppid 100
    both "form" 'perf kmem --page -i $f stat 2>/dev/null | cut -d: -f1 | sed "/^Order/,\$d"'
    local told
    told=$(perf kmem --page -i weir.data stat 2>/dev/null | awk -F '[: ]+' '/^Total allocation requests/ { print $4 }')
    expect_eq "pages" "${told//,/}" "$(all_samples mm_page_alloc)"
}

test_timechart() {
    beside timechart ./preset_load forks 20 1
    both "written" 'perf timechart -i $f -o $f.svg 2>&1 | form | sed "s/perf.data\|weir.data/it/"'
    both "classes" 'grep -o "^ *[a-z]*\.[a-zA-Z0-9_]*" $f.svg | sort -u'
    expect_at_least "boxes of the load" "$(grep -c preset_load weir.data.svg || true)" 20
    xml=$(tail -1 weir.data.svg)
    expect_eq "end" "$xml" "</svg>"
}

test_timechart_of_input_and_output() {
    beside timechart-io dd if=/dev/zero of=/dev/null count=100
    both "reads" 'samples $f dd syscalls:sys_enter_read'
    both "writes" 'samples $f dd syscalls:sys_exit_write'
    # perf 6.1 crashes on some files of either, while it draws.
    if draws perf.data && draws weir.data; then
        both "bytes" 'grep -o "([0-9.]* [KM]bytes)" $f.svg'
        both "boxes" 'grep -c "class=\"disk\"" $f.svg'
    fi
}

draws() { perf timechart -p dd -i "$1" -o "$1.svg" >/dev/null 2>&1; }

test_lock() {
    beside lock perf bench sched messaging -g 4 -l 100
    both "head" 'perf lock contention -i $f 2>&1 | grep "contended  " | form'
    local begun
    begun=$(all_samples contention_begin)
    expect_at_least "contended locks" "$begun" 1
    perf lock contention -i weir.data 2>&1 | awk '$1 ~ /^[0-9]+$/ { sum += $1 } END { print sum + 0 }' >told
    expect_at_least "contended locks that perf tells" "$(cat told)" 1
    expect_at_least "contended locks that began" "$begun" "$(cat told)"
}

test_kwork() {
    beside kwork ./preset_load forks 20 1
    both "head" 'perf kwork report -i $f 2>/dev/null | grep "Kwork Name"'
    local runs
    runs=$(perf kwork -k softirq report -i weir.data 2>/dev/null |
        awk -F'|' '$4 + 0 > 0 { sum += $4 } END { print sum + 0 }')
    expect_eq "runs" "$runs" "$(perf_bare script -i weir.data -F cpu,event 2>/dev/null | pairs)"
}

# pairs: of entries of softirqs and the exits behind them on the same CPU.
pairs() {
    awk '/softirq_entry:/ { open[$1] = 1 }
        /softirq_exit:/ { if (open[$1]) count++; open[$1] = 0 }
        END { print count + 0 }'
}

test_offcpu() {
    if ! grep -q 'bpf-skeletons: \[ on' <<<"$("$WEIR_PROGRAM" version --build-options)"; then
        skip "this weir was built without clang or bpftool"
    fi
    [ -e /sys/kernel/btf/vmlinux ] || skip "the kernel has no BTF"
    record --preset offcpu -o it.data -- sleep 1
    perf_bare script -i it.data -F period,event 2>/dev/null |
        awk '/offcpu-time:/ { sum += $1 } END { print int(sum / 1e6) }' >ms
    expect_at_least "milliseconds that sleep waits" "$(cat ms)" 990
    expect_eq "samples of the CPU" \
        "$(perf_bare script -i it.data -F event 2>/dev/null | grep -vc offcpu-time: || true)" 0
}

test_options_of_the_user_join_those_of_the_preset() {
    cp "$WEIR_LOAD" preset_load
    record --preset trace -e cpu-clock -m 64 -v -o it.data -- ./preset_load getppid 100
    perf evlist -i it.data 2>/dev/null | grep -v '^#\|^dummy' | paste -sd ' ' >events
    expect_eq events "$(cat events)" "raw_syscalls:sys_enter raw_syscalls:sys_exit cpu-clock"
    "$WEIR_PROGRAM" record --preset trace -m 64 --print-config >config
    expect_line config $'mmap-pages = 64\t# command line'
    expect_line config $'count = 1\t# preset trace'
}
