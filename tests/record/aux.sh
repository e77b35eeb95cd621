# shellcheck shell=bash
# AUX areas on a real kernel. A PMU that has them is in few machines; scripts/guest's has one that is played
# (tests/guest/aux_pmu): its branches are numbered and counted, so that each must be in the file, once.

needs_perf_events
[ -d /sys/module/aux_pmu ] || modprobe aux_pmu 2>/dev/null || skip "needs the module aux_pmu: scripts/guest builds it"

pmu=/sys/module/aux_pmu/parameters

# each_tick BRANCHES [MICROSECONDS]: from here on so many at once, so often; and the count of them begins.
each_tick() {
    set_knob $pmu/batch "$1"
    set_knob $pmu/tick_us "${2:-1000}"
    echo 0 >$pmu/written
}

# written: how many branches each CPU has written, a line for each.
written() { tr ' ' '\n' <$pmu/written; }

# total: of all CPUs.
total() { written | awk '{ sum += $1 } END { print sum }'; }

# branches FILE...: those in the AUX areas, in the order of the files, as CPU NUMBER. Also checks that they are whole.
branches() {
    local file
    for file; do
        perf report -D -i "$file" 2>perf.err >dump || fail "perf report -D: $(cat perf.err)"
        awk '
            function value(hex,    i, sum) {
                for (i = 1; i <= length(hex); i++) sum = sum * 16 + index("123456789abcdef", substr(hex, i, 1))
                return sum
            }
            /Bad record/ { print "a branch that is cut off"; next }
            NF > 4 && $(NF - 2) == "->" && $(NF - 3) $(NF - 1) != "00" {
                number = value(substr($(NF - 3), length($(NF - 3)) - 9))
                whole = value($(NF - 1)) == value($(NF - 3)) + 1 && $NF == (number % 2 ? "pred" : "miss")
                print value(substr($(NF - 3), 1, length($(NF - 3)) - 10)) - 1, number, whole ? "" : "not whole"
            }' dump
    done
}

# last_ones FILE: how many AUXTRACE records end with a branch. The end of an area is filled with zeros.
last_ones() {
    perf report -D -i "$1" 2>perf.err | awk '
        NF > 4 && $(NF - 2) == "->" { is_branch = $(NF - 3) $(NF - 1) != "00" }
        / PERF_RECORD_AUXTRACE size: / { count += is_branch; is_branch = 0 }
        END { print count + is_branch }'
}

# all_branches: what the PMU says that it wrote, as branches has them.
all_branches() { written | awk '{ for (i = 0; i < $1; i++) print NR - 1, i, "" }'; }

# expect_all_branches FILE...: each is there, once, and those of a CPU in their order.
expect_all_branches() {
    local count
    count=$(total)
    expect_at_least "branches" "$count" 1
    branches "$@" >found
    sort -s -k1,1n found >by_cpu
    all_branches >wanted
    cmp -s by_cpu wanted ||
        fail "of $count branches there are $(sort -u found | comm -12 - <(sort wanted) | wc -l), in $(wc -l <found)" \
            "lines; the first differences: $(diff by_cpu wanted | sed -n '1,4p')"
}

# expect_consecutive FOUND: none is missing between two of the same CPU.
expect_consecutive() {
    sort -s -k1,1n "$1" | awk '
        NR > 1 && $1 == cpu && $2 != number + 1 { print "after", number ": ", $0; gaps++ }
        { cpu = $1; number = $2 }
        END { exit gaps > 0 }' || fail "not all branches between the first and the last one"
}

# expect_decoded FILE...: as many as perf makes of them. Its decoder of branches leaves out the last one of each trace
# (`sz > bsz` in intel_bts_process_buffer(), Linux 6.1).
expect_decoded() {
    local file wanted
    wanted=$(total)
    for file; do
        perf script -i "$file" --itrace=b -F event,ip,addr 2>perf.err || fail "perf script: $(cat perf.err)"
        wanted=$((wanted - $(last_ones "$file")))
    done >decoded
    expect_eq "decoded branches" "$(grep -c 'branches:' decoded)" "$wanted"
}

perf_record() { perf record "$@" >perf.out 2>&1 || fail "perf record: $(cat perf.out)"; }

# ---- perf record: what the PMU itself is good for ----

test_perf_records_each_branch() {
    each_tick 64
    perf_record --per-thread -e intel_bts// -o it.data -- "$WEIR_LOAD" getppid 100000
    expect_eq "full areas" "$(cat $pmu/truncated)" 0
    expect_all_branches it.data
    expect_decoded it.data
}

test_perf_records_what_fits_into_an_area() {
    each_tick 1000
    perf_record --per-thread -m ,8K -e intel_bts// -o it.data -- "$WEIR_LOAD" getppid 100000
    expect_at_least "full areas" "$(cat $pmu/truncated)" 1
    expect_all_branches it.data
}

# The end of an area has no room for a whole branch, wherever the last one before it lies.
test_perf_records_areas_that_wrap() {
    each_tick 100
    perf_record --per-thread -m ,64K -e intel_bts// -o it.data -- "$WEIR_LOAD" getppid 300000
    expect_at_least "bytes" $(($(total) * 24)) 65536
    expect_all_branches it.data
    expect_decoded it.data
}

# Of the newest branches, as many as fit into the area.
test_perf_takes_snapshots() {
    each_tick 100
    perf_record --per-thread -S -m ,64K -e intel_bts// -o it.data -- sh -c "
        '$WEIR_LOAD' getppid 200000; kill -USR2 \$PPID; sleep 1; exec '$WEIR_LOAD' getppid 100000"
    branches it.data >found
    expect_eq "branches" "$(wc -l <found)" $((65536 / 24))
    expect_consecutive found
}
