# shellcheck shell=bash
# Every way to record beside every reader of perf.data: all find as many samples as weir's ledger says it has written.
# A case is a row: a mode of recording, and behind it the readers that cannot take what it makes, of perf neither.
# The linux-perf-data crate has to be compiled first: the cases take turns at that, and the first one does it.

needs_perf_events
# shellcheck source=tests/record/made_up_kcore.sh
. "$(dirname "${BASH_SOURCE[0]}")/made_up_kcore.sh"

calls=4000

# ---- readers: each prints how many samples it finds in FILE ----

by_perf_report() { report_samples "$1"; }
by_perf_script() { script_lines "$1"; }
by_perf_inject() {
    perf inject -i "$1" -o injected.data 2>perf.err && report_samples injected.data
}
by_perf_json() {
    perf data convert --force --to-json samples.json -i "$1" >convert.log 2>&1 && grep -c '"timestamp":' samples.json
}
by_babeltrace2() {
    rm -rf ctf
    perf data convert --to-ctf ctf -i "$1" >convert.log 2>&1 && babeltrace2 ctf 2>babeltrace.err | wc -l
}
by_hotspot() { hotspot_samples "$1"; }
# (It takes perf's event types to be those that it knows, and passes over the others.)
by_create_gcov() {
    create_gcov --logtostderr --v=1 --binary="$WEIR_LOAD" --profile="$1" --use_lbr=false --gcov=it.gcov 2>gcov.log
    sed -n 's/.*Parser processed: .* \([0-9]*\) SAMPLE events.*/\1/p' gcov.log
    grep -q 'Parser processed' gcov.log || tail -5 gcov.log >&2
}
# samply's reader puts samples in order by rounds, and drops nothing only when these are where they have to be.
by_linux_perf_data() { "$CARGO_TARGET_DIR"/debug/count-samples "$1" 2>&1 | sed 's/ samples, 0 out of order$//'; }
by_weir_dump() { "$WEIR_PROGRAM" dump --type sample --json "$1" | wc -l; }
by_weir_info() { "$WEIR_PROGRAM" info "$1" | sed -n 's/^samples *\([0-9]*\),.*/\1/p'; }

readers="perf_report perf_script perf_inject perf_json babeltrace2 hotspot create_gcov linux_perf_data"
readers+=" weir_dump weir_info"

# The crate's reader, from the crates that Debian packages. rustup's cargo, where it is that, looks into the user's own
# home; CARGO_TARGET_DIR is kept from run to run by ctest.
build_linux_perf_data() {
    export CARGO_TARGET_DIR=${WEIR_CARGO_TARGET_DIR:-$PWD/target}
    cp -r "$(dirname "${BASH_SOURCE[0]}")/linux_perf_data" reader
    mkdir reader/.cargo
    printf '[source.crates-io]\nreplace-with = "debian"\n[source.debian]\ndirectory = "/usr/share/cargo/registry"\n' \
        >reader/.cargo/config.toml
    (cd reader && HOME=$(getent passwd "$(id -u)" | cut -d: -f6) CARGO_HOME=$PWD/home cargo build -q --offline) \
        2>cargo.log || fail "cargo: $(cat cargo.log)"
}

needs_readers() {
    needs_program babeltrace2 create_gcov cargo
    needs_hotspot
    [ -d /usr/share/cargo/registry/linux-perf-data-0.6.0 ] || lacks_package librust-linux-perf-data-dev
    build_linux_perf_data
}

# ---- the row ----

# autofdo reads no file, perf's neither, that tells of a BPF program. Tests that run beside this one load some.
tells_of_bpf_programs() { [ -n "$("$WEIR_PROGRAM" dump --type ksymbol "$1")" ]; }

# expect_agreement FILE SAMPLES READER...: all readers but the named ones find so many.
expect_agreement() {
    local file=$1 samples=$2 reader
    shift 2
    expect_at_least "samples" "$samples" 10
    for reader in $readers; do
        [[ " $* " != *" $reader "* ]] || continue
        [ "$reader" != create_gcov ] || ! tells_of_bpf_programs "$file" || continue
        expect_eq "samples by $reader" "$("by_$reader" "$file")" "$samples"
    done
    "$WEIR_PROGRAM" verify "$file" >told || fail "verify: $(cat told)"
}

# expect_names FILE: perf knows events and build ids.
expect_names() {
    expect_eq "events by perf evlist" "$(perf evlist -i "$1" 2>perf.err | sed '/^# Tip/d' | sort)" \
        "$("$WEIR_PROGRAM" info "$1" | sed -n 's/^event  *\(.*\): type .*/\1/p' | sort)"
    expect_line <(perf buildid-list -i "$1" 2>perf.err) "$WEIR_LOAD"
}

# expect_row FILE READER...: all but the named ones agree with the ledger.
expect_row() {
    expect_at_least "intervals of the timeline" "$("$WEIR_PROGRAM" info --timeline "$1" | grep -c '%$')" 1
    expect_agreement "$1" "$(told_samples)" "${@:2}"
    expect_names "$1"
}

row_of() {
    needs_readers
    record "$@"
}

test_clock_of_a_command() {
    row_of -e cpu-clock -F 2000 -o it.data -- "$WEIR_LOAD" spin 200000000
    expect_row it.data
}

test_clock_of_all_cpus_with_call_chains() {
    row_of -a -g -e cpu-clock -F 997 -o it.data -- "$WEIR_LOAD" spin 200000000
    expect_row it.data
}

# Readers count samples, and not what these stand for. autofdo tells no number in some runs, in which few samples of the
# program are left: why is not known.
test_merged_samples() {
    row_of -a -g --aggregate -e cpu-clock -F 997 -o it.data -- "$WEIR_LOAD" spin 200000000
    expect_at_least "merged samples" "$(ledger_column merged)" 1
    expect_row it.data create_gcov
}

# autofdo knows no copied stacks.
test_copied_stacks() {
    row_of --call-graph dwarf,4096 -e cpu-clock -F 997 -o it.data -- "$WEIR_LOAD" spin 200000000
    expect_row it.data create_gcov
}

test_tracepoint() {
    row_of -a -e raw_syscalls:sys_enter -c 1 -m 16M -o it.data -- "$WEIR_LOAD" getppid "$calls"
    expect_row it.data
}

# No record has an id (docs/format.md, "One event").
test_tracepoint_of_a_command() {
    row_of -g -e raw_syscalls:sys_enter -c 1 -m 16M -o it.data -- "$WEIR_LOAD" getppid "$calls"
    expect_row it.data
}

test_events_of_several_kinds() {
    row_of -a -m 16M -e '{cpu-clock,page-faults}' -e sched:sched_switch -o it.data -- "$WEIR_LOAD" spin 100000000
    expect_row it.data
}

test_each_thread_in_a_ring_of_its_own() {
    row_of --per-thread -e cpu-clock -F 2000 -o it.data -- "$WEIR_LOAD" spin 200000000
    expect_row it.data
}

test_one_reader_for_all_cpus() {
    row_of -a --threads=package -e cpu-clock -F 2000 -o it.data -- "$WEIR_LOAD" spin 200000000
    expect_row it.data
}

# hotspot, autofdo and the crate read no compressed file, of perf neither.
test_compressed() {
    row_of -a -z -e raw_syscalls:sys_enter -c 1 -m 16M -o it.data -- "$WEIR_LOAD" getppid "$calls"
    expect_row it.data hotspot create_gcov linux_perf_data
}

test_kept_in_memory_until_the_end() {
    row_of -a -M 32M --snapshot-on-exit -e raw_syscalls:sys_enter -c 1 -m 16M -o it.data -- \
        "$WEIR_LOAD" getppid "$calls"
    expect_row it.data
}

test_kept_by_the_kernel_until_the_end() {
    row_of --overwrite -m 1M -e raw_syscalls:sys_enter -c 1 -o it.data -- "$WEIR_LOAD" getppid "$calls"
    expect_row it.data
}

test_build_ids_by_the_kernel() {
    row_of -a --buildid-mmap -e cpu-clock -F 2000 -o it.data -- "$WEIR_LOAD" spin 200000000
    expect_row it.data
}

# What is known of tasks comes behind the samples: the readers find no names for what is before, but all samples.
test_described_at_the_end() {
    row_of -a --tail-synthesize -e cpu-clock -F 2000 -o it.data -- "$WEIR_LOAD" spin 200000000
    expect_row it.data
}

test_limit_on_the_size() {
    needs_readers
    weir_record -a --max-size=2M -e raw_syscalls:sys_enter -c 1 -m 16M -o it.data -- "$WEIR_LOAD" getppid 1000000000
    expect_line err "weir size limit reached"
    expect_row it.data
}

test_continued() {
    needs_readers
    local options=(-A -a -e cpu-clock -F 2000 -o it.data) first
    record "${options[@]}" -- "$WEIR_LOAD" spin 100000000
    first=$(told_samples)
    record "${options[@]}" -- "$WEIR_LOAD" spin 100000000
    expect_agreement it.data $((first + $(told_samples)))
    expect_names it.data
}

# Each file by itself, and all of them together.
test_switched_by_size() {
    row_of -a --switch-output=2M -e raw_syscalls:sys_enter -c 1 -m 16M -o it.data -- \
        sh -c "for i in 1 2 3; do '$WEIR_LOAD' getppid 20000; sleep 0.7; done"
    local file samples sum=0
    expect_at_least "files" "$(find . -name 'it.data.*' | wc -l)" 2
    for file in it.data.*; do
        samples=$(by_weir_info "$file")
        sum=$((sum + samples))
        [ "$samples" -lt 10 ] || expect_agreement "$file" "$samples"
    done
    expect_eq "samples in all files" "$sum" "$(told_samples)"
}

# A folder, in which perf finds the recording by itself. The others are given it.
test_copy_of_the_kernel() {
    needs_kcore
    row_of -a --kcore -e cpu-clock -F 2000 -o it -- "$WEIR_LOAD" spin 200000000
    expect_row it hotspot create_gcov linux_perf_data
    expect_agreement it/data "$(told_samples)" perf_report perf_script perf_inject perf_json babeltrace2 weir_dump \
        weir_info
}

# Likewise, as the stream below.
test_stream_of_a_command() {
    row_of -e cpu-clock -F 2000 -o - -- "$WEIR_LOAD" spin 200000000 >it.data
    local samples
    samples=$(told_samples)
    expect_agreement it.data "$samples" perf_inject perf_json babeltrace2 linux_perf_data
    expect_eq "events by perf evlist" "$(perf evlist -i it.data 2>perf.err | sed 's/:.*//' | xargs)" "cpu-clock"
    expect_eq "samples by perf report" "$(report_samples - <it.data)" "$samples"
}

# Saved from standard output. perf's converters crash on streams, of perf as well, its inject reads them from a pipe
# only, and its evlist makes up names from the attrs; the crate has another call for them.
test_stream() {
    row_of -a -e cpu-clock -F 2000 -o - -- "$WEIR_LOAD" spin 200000000 >it.data
    local samples
    samples=$(told_samples)
    expect_agreement it.data "$samples" perf_inject perf_json babeltrace2 linux_perf_data
    expect_eq "events by perf evlist" "$(perf evlist -i it.data 2>perf.err | sed 's/:.*//' | xargs)" "cpu-clock dummy"
    expect_line <(perf buildid-list -i it.data 2>perf.err) "$WEIR_LOAD"
    expect_eq "samples by perf report" "$(report_samples - <it.data)" "$samples"
    expect_eq "samples by perf script" "$(script_lines - <it.data)" "$samples"
    expect_eq "samples by perf inject and report" "$(perf inject -i - -o - <it.data 2>perf.err | report_samples -)" \
        "$samples"
}

# A killed recording, once it was recovered, for those who read features.
test_recovered() {
    needs_readers
    "$WEIR_PROGRAM" record -q -a -e sched:sched_switch -o killed.data 2>err &
    local victim=$!
    wait_until test -e killed.data
    "$WEIR_LOAD" forks 50 1
    sleep 2
    kill -KILL "$victim"
    wait "$victim" || true
    "$WEIR_PROGRAM" recover -q -o it.data killed.data
    # What had not been published at the last checkpoint comes on top.
    expect_at_least "samples recovered" "$(by_weir_dump it.data)" "$(by_weir_dump killed.data)"
    expect_agreement it.data "$(by_weir_dump it.data)"
}

test_recovered_of_a_process() {
    needs_readers
    "$WEIR_LOAD" forks 1000000 10000 &
    local load=$!
    "$WEIR_PROGRAM" record -q -e sched:sched_switch -o killed.data -p "$load" 2>err &
    local victim=$!
    wait_until test -e killed.data
    sleep 1.5
    kill -KILL "$victim" "$load"
    wait || true
    "$WEIR_PROGRAM" recover -q -o it.data killed.data
    expect_agreement it.data "$(by_weir_dump it.data)"
}
