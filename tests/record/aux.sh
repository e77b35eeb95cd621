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

# For awk: the number that hexadecimal digits stand for.
awk_value='function value(hex,    i, sum) {
    for (i = 1; i <= length(hex); i++) sum = sum * 16 + index("123456789abcdef", substr(hex, i, 1))
    return sum
}'

# branches FILE...: those in the AUX areas, in the order of the files, as CPU NUMBER; whether they are whole, too.
# perf's dump has a line for each branch of intel_bts, and for intel_pt two of packets.
branches() {
    local file
    for file; do
        perf report -D -i "$file" 2>perf.err >dump || fail "perf report -D: $(cat perf.err)"
        awk "$awk_value"'
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

# ---- weir record: full trace ----

# end_recording: of start_record, by SIGINT.
end_recording() {
    kill -INT "$weir"
    await_record
    expect_eq "exit status" "$status" 130
}

test_each_branch_of_each_cpu() {
    each_tick 64
    start_record it.data -a -e intel_pt//
    "$WEIR_LOAD" getppid 100000
    end_recording
    expect_eq "full areas" "$(cat $pmu/truncated)" 0
    expect_eq "CPUs without branches" "$(written | grep -cx 0 || true)" 0
    expect_all_branches it.data
    expect_pt_decoded it.data
    expect_told it.data
    expect_whole it.data
}

test_each_branch_of_a_command() {
    each_tick 64
    record -e intel_pt// -o it.data -- sh -c "'$WEIR_LOAD' getppid 50000 & '$WEIR_LOAD' getppid 50000; wait"
    expect_all_branches it.data
    expect_pt_decoded it.data
    expect_whole it.data
}

test_each_branch_of_tasks() {
    each_tick 64
    record --per-thread -e intel_bts// -o bts.data -- "$WEIR_LOAD" getppid 100000
    expect_all_branches bts.data
    expect_bts_decoded bts.data
    expect_whole bts.data
    each_tick 64
    record --per-thread -e intel_pt// -o pt.data -- "$WEIR_LOAD" getppid 100000
    expect_all_branches pt.data
    expect_pt_decoded pt.data
    expect_whole pt.data
}

# The end of an area of intel_bts is skipped, which no record tells of.
test_areas_that_wrap() {
    each_tick 100
    record --per-thread -m ,64K -e intel_bts// -o it.data -- "$WEIR_LOAD" getppid 300000
    expect_at_least "bytes" $(($(total) * 24)) 65536
    expect_all_branches it.data
    expect_bts_decoded it.data
}

# The event is stopped whenever its area is full, and goes on when that was read.
test_full_areas() {
    local event before
    for event in "--per-thread -e intel_bts//" "-e intel_pt//"; do
        each_tick 1000
        rm -f it.data
        # shellcheck disable=SC2086 # several words
        record -m ,16K $event -o it.data -- sh -c "
            '$WEIR_LOAD' getppid 50000; cat $pmu/truncated >before; exec '$WEIR_LOAD' getppid 100000"
        before=$(cat before)
        expect_at_least "full areas with $event" "$before" 1
        expect_at_least "full areas later on" "$(cat $pmu/truncated)" $((before + 1))
        expect_all_branches it.data
    done
}

# Whoever records does not come to it for a while: the events stop, and go on when he does.
test_events_go_on_when_the_recorder_does() {
    local before cpu
    each_tick 256
    start_record it.data -a -m ,64K -e intel_pt//
    for _ in 1 2; do
        kill -STOP "$weir"
        for cpu in 0 1; do taskset -c $cpu "$WEIR_LOAD" getppid 10000; done
        wait_until stands_still
        written >before
        kill -CONT "$weir"
        for cpu in 0 1; do wait_until goes_on $cpu; done
    done
    end_recording
    expect_all_branches it.data
    expect_told it.data
}

stands_still() {
    written >earlier
    sleep 0.2
    written | cmp -s - earlier
}

# goes_on CPU: it has written an area more than `before` says.
goes_on() { [ $(($(written | sed -n $(($1 + 1))p) - $(sed -n $(($1 + 1))p before))) -gt 4096 ]; }

test_other_events_beside() {
    each_tick 64
    start_record it.data -a -e raw_syscalls:sys_enter,intel_pt//,cpu-clock -m 4M
    "$WEIR_LOAD" getppid 20000
    end_recording
    expect_all_branches it.data
    expect_eq "getppid calls" "$(getppid_calls it.data)" 20000
    expect_at_least "samples of cpu-clock" "$(ledger_column written cpu-clock)" 1
    expect_eq "lost" "$(ledger_column lost_in_ring)" 0
    expect_whole it.data
}

test_compressed_recording() {
    each_tick 64
    start_record it.data -z -a -e intel_pt//,raw_syscalls:sys_enter -m 4M
    "$WEIR_LOAD" getppid 20000
    end_recording
    expect_all_branches it.data
    expect_pt_decoded it.data
    expect_eq "getppid calls" "$(getppid_calls it.data)" 20000
    expect_whole it.data
}

# For decoders of the kernel's own branches, which is what perf recommends it for.
test_copy_of_the_kernel_beside_the_trace() {
    [ -e /proc/kcore ] || skip "needs /proc/kcore"
    each_tick 64
    start_record it.folder --kcore -a -e intel_pt//
    "$WEIR_LOAD" getppid 20000
    end_recording
    expect_all_branches it.folder
    expect_pt_decoded it.folder
    [ -s it.folder/kcore_dir/kcore ] || fail "there is no copy: $(find it.folder)"
}

# expect_told FILE: of intel_pt on CPUs, the AUX records tell of as many bytes as there are.
expect_told() {
    perf report -D -i "$1" 2>perf.err | awk "$awk_value"'
        / PERF_RECORD_AUX offset: / { sub("0x", "", $9); bytes[$1] += value($9) }
        / PERF_RECORD_AUXTRACE size: / { sub("0x", "", $7); bytes[$NF] -= value($7) }
        END { for (cpu in bytes) if (bytes[cpu] != 0) print "CPU", cpu ":", bytes[cpu] }' >difference
    expect_eq "bytes that are told of and not there, in $1" "$(cat difference)" ""
}

# switch_thrice: with some load before and behind; ends the recording. The files are in `told` then, in their order.
switch_thrice() {
    local times
    for times in 1 2 3; do
        "$WEIR_LOAD" getppid 20000
        kill -USR2 "$weir"
        wait_until_told "$times"
    done
    "$WEIR_LOAD" getppid 20000
    end_recording
    sed -n 's/^\[ weir record: Dump \(.*\) \]$/\1/p' err >told
    expect_eq "files" "$(wc -l <told)" 4
}

wait_until_told() {
    local tries
    for ((tries = 0; tries < 500; tries++)); do
        if [ "$(grep -c '^\[ weir record: Dump ' err)" -ge "$1" ]; then return 0; fi
        sleep 0.02
    done
    fail "waited in vain for file $1"
}

test_each_branch_is_in_one_of_the_files() {
    local files file
    each_tick 64
    start_record it.data -a -m ,64K -e intel_pt// --switch-output
    switch_thrice
    mapfile -t files <told
    expect_all_branches "${files[@]}"
    for file in "${files[@]}"; do
        expect_whole "$file"
        expect_told "$file"
        expect_at_least "branches in $file" "$(branches "$file" | wc -l)" 100
    done
}

test_each_file_is_decoded_by_itself() {
    local files file task
    each_tick 64
    "$WEIR_LOAD" spin 0 &
    task=$!
    at_end kill -KILL $task
    start_record it.data -m ,64K -e intel_bts// --per-thread -p $task --switch-output
    switch_thrice
    mapfile -t files <told
    expect_all_branches "${files[@]}"
    expect_bts_decoded "${files[@]}"
    for file in "${files[@]}"; do
        expect_whole "$file"
        expect_at_least "branches in $file" "$(branches "$file" | wc -l)" 100
    done
}

test_stream_is_decoded_as_it_comes() {
    each_tick 64
    "$WEIR_PROGRAM" record -v -a -e intel_pt// -o - -- "$WEIR_LOAD" getppid 50000 2>err |
        perf script -i - --itrace=we -F event,ip,synth >decoded 2>perf.err || fail "perf: $(cat perf.err)"
    # perf warns of pipes with intel_pt, whoever writes them.
    expect_eq "decoded packets" "$(grep -c ptwrite: decoded)" $((2 * $(total)))
}

test_no_branch_comes_while_events_are_disabled() {
    local before
    each_tick 64
    open_fifos
    start_record it.data -a -D -1 -e intel_pt// --control fifo:ctl,ack
    "$WEIR_LOAD" getppid 10000
    expect_eq "branches before the first enable" "$(total)" 0
    for _ in 1 2; do
        echo enable >&7
        read -r -t 60 -u 8 _
        "$WEIR_LOAD" getppid 20000
        echo disable >&7
        read -r -t 60 -u 8 _
        before=$(total)
        "$WEIR_LOAD" getppid 10000
        expect_eq "branches" "$(total)" "$before"
    done
    end_recording
    expect_all_branches it.data
    expect_pt_decoded it.data
}

# Also while its area is full, and whoever saw that wants it enabled.
test_event_that_is_disabled_by_its_name_stays_so() {
    local before
    each_tick 1000
    open_fifos
    start_record it.data -a -m ,16K -e intel_pt// --control fifo:ctl,ack
    "$WEIR_LOAD" getppid 5000
    echo "disable intel_pt//" >&7
    read -r -t 60 -u 8 _
    before=$(total)
    sleep 2
    expect_eq "branches" "$(total)" "$before"
    echo "enable intel_pt//" >&7
    read -r -t 60 -u 8 _
    "$WEIR_LOAD" getppid 5000
    end_recording
    expect_at_least "branches in the end" "$(total)" $((before + 1))
    expect_at_least "full areas" "$(cat $pmu/truncated)" 1
    expect_all_branches it.data
}

test_cpus_that_go_and_come() {
    local switch=/sys/devices/system/cpu/cpu1/online n
    [ -w $switch ] || skip "needs a CPU that can be taken offline: $switch"
    each_tick 64
    start_record it.data -a -m ,64K -e intel_pt//
    at_end write_knob $switch 1
    for n in 1 2; do
        taskset -c 1 "$WEIR_LOAD" getppid 10000
        write_knob $switch 0
        "$WEIR_LOAD" getppid 10000
        write_knob $switch 1
        wait_until_came "$n"
    done
    taskset -c 1 "$WEIR_LOAD" getppid 10000
    end_recording
    expect_all_branches it.data
    expect_whole it.data
}

wait_until_came() {
    local tries
    for ((tries = 0; tries < 500; tries++)); do
        if [ "$(grep -c 'CPU 1 came online: it is recorded from here on' err)" = "$1" ]; then return 0; fi
        sleep 0.02
    done
    fail "CPU 1 did not come"
}

# What the areas held is lost, and what was not on disk yet; nothing before it.
test_killed_recording_is_recovered() {
    local least count
    each_tick 64
    start_record it.data -a -m ,64K -e intel_pt//
    "$WEIR_LOAD" getppid 100000
    written >least
    sleep 3
    kill -KILL "$weir"
    await_record
    "$WEIR_PROGRAM" recover -q it.data
    branches it.data.recovered >found
    expect_consecutive found
    sort -s -k1,1n found | awk '$1 != cpu || NR == 1 { print $2; cpu = $1 }' >firsts
    expect_eq "CPUs" "$(wc -l <firsts)" "$(cpus_online)"
    expect_eq "first branch of each CPU" "$(sort -u firsts)" 0
    awk -v cpus="$(cpus_online)" '{ count[$1]++ } END { for (cpu = 0; cpu < cpus; cpu++) print count[cpu] + 0 }' \
        found >counts
    while read -r least count; do
        expect_at_least "branches of a CPU" "$count" $((least - 4096))
    done < <(paste least counts)
    expect_whole it.data.recovered
}

# ---- weir record: snapshots ----

# take_snapshot N: asks for the Nth one and waits for it.
take_snapshot() {
    kill -USR2 "$weir"
    wait_until grep -q "snapshot $1 is in the file" err
}

# runs FOUND: branches of a CPU without a gap, in the order of the file, as CPU FIRST LAST.
runs() {
    sort -s -k1,1n "$1" | awk '
        NR > 1 && ($1 != cpu || $2 != last + 1) { print cpu, first, last; first = $2 }
        NR == 1 { first = $2 }
        { cpu = $1; last = $2 }
        END { if (NR) print cpu, first, last }'
}

# expect_newest AREA NUMBERS...: the Nth run of each CPU fills an area of so many bytes, and has what was written when
# the file NUMBERS was made. Every 64 branches decoders of intel_pt have 48 bytes for themselves.
expect_newest() {
    local area=$1 least n=0 cpu first last
    shift
    runs found >runs.found
    expect_eq "runs" "$(wc -l <runs.found)" $(($# * $(cpus_online)))
    for least; do
        n=$((n + 1))
        cpu=0
        while read -r least_of_cpu; do
            read -r _ first last < <(awk -v cpu=$cpu -v n=$n '$1 == cpu && ++seen == n' runs.found)
            expect_at_least "last branch of snapshot $n of CPU $cpu" "$last" $((least_of_cpu - 1))
            expect_at_least "branches of snapshot $n of CPU $cpu" $((last - first + 1)) $((area * 64 / 66 / 24 - 4))
            expect_at_least "the most that it may have" $((area / 24)) $((last - first + 1))
            cpu=$((cpu + 1))
        done <"$least"
    done
}

test_snapshots_have_the_newest_branches() {
    each_tick 64
    start_record it.data -a -S -m ,64K -e intel_pt//
    "$WEIR_LOAD" getppid 100000
    written >first
    take_snapshot 1
    "$WEIR_LOAD" getppid 100000
    written >second
    take_snapshot 2
    "$WEIR_LOAD" getppid 100000
    end_recording
    branches it.data >found
    expect_newest 65536 first second
    expect_whole it.data
}

test_snapshot_at_the_end() {
    each_tick 64
    start_record it.data -a -Se -m ,64K -e intel_pt//
    "$WEIR_LOAD" getppid 100000
    written >first
    end_recording
    branches it.data >found
    expect_newest 65536 first
    expect_eq "last branches" "$(runs found | cut -d' ' -f3 | paste -sd ' ')" \
        "$(written | awk '{ print $1 - 1 }' | paste -sd ' ')"
    expect_whole it.data
}

# Areas that were never full have all there is, and each snapshot what came since the one before.
test_snapshots_of_areas_that_are_never_full() {
    local event
    for event in "--per-thread -e intel_bts//" "-e intel_pt//"; do
        each_tick 16
        # shellcheck disable=SC2086 # several words
        record -Se $event -o it.data -- sh -c "'$WEIR_LOAD' getppid 20000; kill -USR2 \$PPID
            until grep -q 'snapshot 1 is in the file' err; do sleep 0.02; done
            '$WEIR_LOAD' getppid 20000"
        expect_all_branches it.data
    done
}

test_snapshots_with_samples_in_memory() {
    each_tick 64
    start_record it.data -a -M 4M -S -m ,64K -e intel_pt//,raw_syscalls:sys_enter
    "$WEIR_LOAD" getppid 50000
    written >first
    take_snapshot 1
    "$WEIR_LOAD" getppid 1000
    end_recording
    branches it.data >found
    expect_newest 65536 first
    expect_at_least "getppid calls" "$(getppid_calls it.data)" 1000
    expect_whole it.data
}

# What comes into its ring is about the area.
test_event_that_writes_to_an_area_is_no_trigger() {
    local option
    for option in "-M 1M --snapshot-on" --switch-output-event; do
        # shellcheck disable=SC2086 # several words
        weir_record -a -e cpu-clock -o it.data $option=intel_pt/period=1/ -- touch ran
        expect_eq "status" "$status" 129
        expect_line err "event 'intel_pt/period=1/' writes to an AUX area and never occurs"
        expect_line err "hint: name one that has samples of its own"
    done
    [ ! -e ran ] || fail "the command has run"
}
