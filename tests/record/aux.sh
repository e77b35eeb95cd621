# shellcheck shell=bash
# AUX areas on a real kernel. PMUs that have them are in few machines; scripts/guest's has two that are played
# (tests/guest/aux_pmu): their branches are numbered and counted, so that each must be in the file, once.

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

# branches FILE...: those in the AUX areas, in the order of the files, as CPU NUMBER; whether they are whole, too.
# perf's dump has a line for each branch of intel_bts, and for intel_pt two of packets.
branches() {
    local file
    for file; do
        perf report -D -i "$file" 2>perf.err >dump || fail "perf report -D: $(cat perf.err)"
        awk '
            function value(hex,    i, sum) {
                for (i = 1; i <= length(hex); i++) sum = sum * 16 + index("123456789abcdef", substr(hex, i, 1))
                return sum
            }
            function add(from, to, flags,    number) {
                number = value(substr(from, length(from) - 9))
                if (flags == "") flags = number % 2 ? "pred" : "miss"
                print value(substr(from, 1, length(from) - 10)) - 1, number,
                    value(to) == value(from) + 1 && flags == (number % 2 ? "pred" : "miss") ? "" : "not whole"
            }
            /Bad (record|packet)!/ { print $0 }
            NF > 4 && $(NF - 2) == "->" && $(NF - 3) $(NF - 1) != "00" { add($(NF - 3), $(NF - 1), $NF) }
            NF > 4 && $(NF - 2) == "PTWRITE" { # the first of a snapshot may be half a branch
                packet = substr($(NF - 1), 3)
                if (from != "" && value(packet) == value(from) + 1) { add(from, packet); packet = "" }
                from = packet
            }
            / PERF_RECORD_AUXTRACE size: / { from = "" }' dump
    done
}

# last_ones FILE: how many AUXTRACE records of intel_bts end with a branch. The end of an area is filled with zeros.
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

# expect_bts_decoded FILE...: as many branches as perf makes of them. Its decoder leaves out the last one of each trace
# (`sz > bsz` in intel_bts_process_buffer(), Linux 6.1).
expect_bts_decoded() {
    local file wanted
    wanted=$(total)
    for file; do
        perf script -i "$file" --itrace=b -F event,ip,addr 2>perf.err || fail "perf script: $(cat perf.err)"
        wanted=$((wanted - $(last_ones "$file")))
    done >decoded
    expect_eq "decoded branches" "$(grep -c 'branches:' decoded)" "$wanted"
}

# expect_pt_decoded FILE: perf's decoder finds each packet, and no error.
expect_pt_decoded() {
    perf script -i "$1" --itrace=we -F event,ip,synth >decoded 2>perf.err || fail "perf script: $(cat perf.err)"
    [ ! -s perf.err ] || fail "perf warns: $(cat perf.err)"
    expect_eq "decoded packets" "$(grep -c ptwrite: decoded)" $((2 * $(total)))
}

perf_record() { perf record "$@" >perf.out 2>&1 || fail "perf record: $(cat perf.out)"; }

# ---- perf record: what the PMU itself is good for ----

test_perf_records_each_branch() {
    each_tick 64
    perf_record --per-thread -e intel_bts// -o it.data -- "$WEIR_LOAD" getppid 100000
    expect_eq "full areas" "$(cat $pmu/truncated)" 0
    expect_all_branches it.data
    expect_bts_decoded it.data
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
    expect_bts_decoded it.data
}

test_perf_records_each_branch_of_each_cpu() {
    each_tick 64
    perf_record -a -e intel_pt// -o it.data -- "$WEIR_LOAD" getppid 100000
    expect_eq "full areas" "$(cat $pmu/truncated)" 0
    expect_eq "CPUs without branches" "$(written | grep -cx 0 || true)" 0
    expect_all_branches it.data
    expect_pt_decoded it.data
}

test_perf_records_areas_of_cpus_that_wrap() {
    each_tick 1000
    perf_record -a -m ,64K -e intel_pt// -o it.data -- "$WEIR_LOAD" getppid 100000
    expect_at_least "full areas" "$(cat $pmu/truncated)" 1
    expect_all_branches it.data
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
