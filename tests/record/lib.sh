# shellcheck shell=bash
# What the tests of `weir record` are written with. Sourced by tests/record/run, in strict mode.
#
# A case ends at its first expectation that is not met. Messages of weir are in the file err, its exit status is in
# $status, what perf said on standard error in perf.err.

hotspot_parser=$(compgen -G '/usr/lib/*/libexec/hotspot-perfparser' || true)

# ---- expectations ----

fail() {
    echo "$*"
    if [ -s err ]; then echo "weir's messages:" && tail -25 err; fi
    exit 1
} >&2

skip() {
    echo "$*"
    exit 77
}

# expect_eq WHAT ACTUAL WANTED
expect_eq() { [ "$2" = "$3" ] || fail "$1: '$2', expected '$3'"; }

# expect_at_least WHAT ACTUAL LEAST: for what the kernel does not count for us.
expect_at_least() { [ "$2" -ge "$3" ] || fail "$1: $2, expected $3 or more"; }

expect_line() { grep -qF -e "$2" "$1" || fail "no line with '$2' in $1: $(cat "$1")"; }
expect_no_line() { ! grep -F -e "$2" "$1" || fail "a line with '$2' in $1"; }

# expect_files FOLDER NAME...: these, hidden ones too, and nothing else.
expect_files() {
    local folder=$1
    shift
    expect_eq "files in $folder" "$(find "$folder" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | paste -sd ' ')" "$*"
}

# ---- prerequisites ----

# lacks_package WHAT: a skip, but where all packages have just been installed (scripts/test) a failure: a row that is
# left out there would be left out for good.
lacks_package() {
    [ ! "${WEIR_HAS_PACKAGES:-}" ] || fail "needs $1, which scripts/deps should have installed"
    skip "needs $1"
}

needs_program() {
    local program
    for program; do command -v "$program" >/dev/null || lacks_package "$program"; done
}

needs_hotspot() { [ -x "$hotspot_parser" ] || lacks_package "hotspot (its perfparser)"; }

needs_sample_filters() {
    "$WEIR_PROGRAM" version --build-options | grep -q 'bpf-skeletons *: *\[ on' || lacks_package "clang and bpftool"
    [ -e /sys/kernel/btf/vmlinux ] || skip "needs a kernel with BTF"
    grep -q ' bpf_cast_to_kern_ctx$' /proc/kallsyms || skip "needs Linux 6.2"
}

cpus_online() { getconf _NPROCESSORS_ONLN; }

needs_root() { [ "$(id -u)" = 0 ] || skip "needs root"; }

needs_second_cpu() {
    if ! grep -q '^0-' /sys/devices/system/cpu/online || [ "$(nproc)" = 1 ]; then skip "needs CPUs 0 and 1"; fi
}

# What most cases need: perf to read with, and leave to record all that is recorded here.
needs_perf_events() {
    needs_program perf
    needs_root
    [ -e /proc/sys/kernel/perf_event_paranoid ] || skip "needs a kernel with CONFIG_PERF_EVENTS"
    [ -e /sys/kernel/tracing/events/raw_syscalls ] || skip "needs tracefs: mount -t tracefs nodev /sys/kernel/tracing"
}

# ---- cleaning up ----

cleanups=()

# at_end COMMAND...: runs it when the case ends, however it does; the last one first.
at_end() { cleanups=("$(printf '%q ' "$@")" "${cleanups[@]}"); }

run_cleanups() {
    local cleanup
    for cleanup in "${cleanups[@]}"; do eval "$cleanup" || echo "cleaning up failed: $cleanup" >&2; done
}

# set_knob FILE VALUE: until the end of the case. FILE is below /proc/sys or /sys.
set_knob() {
    local before
    before=$(cat "$1")
    at_end write_knob "$1" "$before"
    write_knob "$1" "$2"
}

write_knob() { echo "$2" >"$1"; }

# ---- recording ----

status=0 # of the last recording

# Records with these arguments.
weir_record() {
    status=0
    "$WEIR_PROGRAM" record -v "$@" 2>err || status=$?
}

# Records, and it went well.
record() {
    weir_record "$@"
    expect_eq "exit status of weir record $*" "$status" 0
}

# Starts recording into $1 in the background; returns when that file is there, so that all events count. $weir: its pid.
start_record() {
    local file=$1
    shift
    "$WEIR_PROGRAM" record -v -o "$file" "$@" 2>err &
    weir=$!
    wait_until test -e "$file"
}

# Waits for the recording of start_record.
await_record() {
    status=0
    wait "$weir" || status=$?
}

# record_by_perf ARGUMENT...: perf record. While another recorder asks for build ids in records of mappings, the kernel
# marks those of all (weir_record_mend_maps()), and perf aborts: then again.
record_by_perf() {
    local by_perf=134 tries
    for ((tries = 0; by_perf == 134 && tries < 40; tries++)); do
        ((tries == 0)) || sleep 0.5
        by_perf=0
        perf record "$@" >perf.out 2>&1 || by_perf=$?
    done
    [ $by_perf = 0 ] || fail "perf record: $(cat perf.out)"
}

# record_directory DIR ARGUMENT...: by perf, which has a file for each thread in it.
record_directory() {
    local directory=$1
    shift
    record_by_perf --threads -o "$directory" "$@"
    rm -rf "$directory.old"
}

# wait_until COMMAND...: until it succeeds, at most 20 s.
wait_until() {
    local tries
    for ((tries = 0; tries < 1000; tries++)); do
        if "$@"; then return 0; fi
        sleep 0.02
    done
    fail "waited in vain for: $*"
}

# has_threads PID COUNT
has_threads() { [ "$(find "/proc/$1/task" -mindepth 1 -maxdepth 1 | wc -l)" = "$2" ]; }

# Descriptor 9 becomes the writing end of a gate on which `record_load threads` waits: open_gate, then release_gate.
open_gate() {
    mkfifo gate
    exec 9<>gate
}
release_gate() { echo >&9; }

# ---- what weir says ----

# Samples by the closing line.
told_samples() {
    grep -q '^\[ weir record: Captured and wrote ' err || fail "no closing line"
    local ratio='\(, compressed (.*)\)\?' merged='\(, with [0-9]* equal ones merged into them\)\?'
    sed -n "s/^\[ weir record: Captured and wrote .* (\([0-9]*\) samples)$merged$ratio \]$/\1/p" err | grep . || echo 0
}

# While the recorder is stopped its rings fill up; the workload stops it, makes the load and lets it go on.
# while_stopped LOAD...: such a workload. The signal stops no thread before the one that it was given to has had its
# turn.
while_stopped() {
    echo "kill -STOP \$PPID; until read -r _ _ state _ <\"/proc/\$PPID/stat\" && [ \"\$state\" = T ]; do :; done
        '$WEIR_LOAD' $*; kill -CONT \$PPID"
}

# ledger_column COLUMN [EVENT]: the sum over all CPUs. Columns: written merged evicted shed lost_in_ring lost_writing
# lost_in_sums left_out cut_off filtered counted. A column that the table leaves out is 0.
ledger_column() {
    local title=${1//_/ }
    awk -F '  +' -v title="${title^^}" -v event="${2:-}" '
        $3 == "EVENT" { inside = 1; for (i = 4; i <= NF; i++) if ($i == title) column = i; next }
        inside && $2 == "all" { print (event != "" ? sum : column ? $column : 0) + 0; exit }
        inside && $3 == event && column { sum += $column }' err
}

# Whether the ledger is there, and has the event.
has_ledger() {
    awk -F '  +' -v event="${1:-}" '$3 == "EVENT" { inside = 1; next }
        inside && (event == "" ? $2 == "all" : $3 == event) { found = 1 }
        END { exit !found }' err
}

# produced [EVENT]: the samples of an event of period 1, by the kernel's count.
produced() {
    if has_ledger "${1:-}"; then
        echo $(($(ledger_column counted "${1:-}") - $(ledger_column cut_off "${1:-}")))
    else
        echo "the ledger has no ${1:-sum}"
    fi
}

# written_and_lost [EVENT]: the same, by what became of them.
written_and_lost() {
    local column sum=0
    for column in written merged evicted shed lost_in_ring lost_writing left_out filtered; do
        sum=$((sum + $(ledger_column $column "${1:-}")))
    done
    echo $sum
}

# ---- what the readers of the file say ----

# perf_bare script|report ARGUMENT...: perf without the symbols of the kernel, whose reading takes nine tenths of its
# time. For what no symbol is in; expect_readers_agree reads as users do.
perf_bare() {
    local command=$1
    shift
    perf "$command" --kallsyms=/dev/null "$@"
}

# report_samples FILE [EVENT]
report_samples() {
    perf_bare report --stats -i "$1" 2>perf.err | awk -v event="${2:-Aggregated}" '
        $1 == event && $2 == "stats:" { inside = 1 }
        inside && $1 == "SAMPLE" { count = $3; exit }
        END { print count + 0 }'
}

# report_records FILE TYPE: records of a type, such as FINISHED_ROUND.
report_records() { perf_bare report --stats -i "$1" 2>perf.err | awk -v type="$2" '$1 == type { print $3; exit }'; }

# script_lines FILE [OPTION...]: one line per sample, whatever is in it.
script_lines() {
    local file=$1
    shift
    perf_bare script -i "$file" -F comm "$@" 2>perf.err | wc -l
}

hotspot_samples() {
    "$hotspot_parser" --input "$1" --print-stats 2>hotspot.err | sed -n 's/^samples: *//p'
}

# getppid_calls FILE: sys_enter samples of the load's getppid calls.
getppid_calls() {
    perf_bare script -i "$1" --comm "$WEIR_LOAD_NAME" -F comm,trace 2>perf.err |
        grep -c " NR $("$WEIR_LOAD" number getppid) " || true
}

# expect_whole_and_balanced FILE: the ledger is that of the kernel (of events of period 1), and what is in the file is
# whole.
expect_whole_and_balanced() {
    expect_eq "written and lost" "$(written_and_lost "")" "$(produced "")"
    expect_whole "$1"
}

# expect_whole FILE
expect_whole() {
    "$WEIR_PROGRAM" verify -q "$1" || fail "verify: $("$WEIR_PROGRAM" verify "$1")"
    perf_bare script -i "$1" >/dev/null 2>perf.err || fail "perf script failed: $(cat perf.err)"
}

# expect_ended_by_a_read_only_disk: disk/it.data could not be written any more, the command ran on, and what was there
# by then becomes whole.data.
expect_ended_by_a_read_only_disk() {
    expect_eq "status" "$status" 125
    grep -q '^weir: cannot .*disk/it.data.*Read-only file system' err || fail "it is not told"
    expect_line ran "done"
    expect_eq "written and lost" "$(written_and_lost)" "$(produced)"
    # What could still be written is what a kill would have left.
    "$WEIR_PROGRAM" recover -o whole.data disk/it.data 2>recover.err || fail "recover: $(cat recover.err)"
    expect_whole whole.data
}

# open_fifos: for --control fifo:ctl,ack, here as 7 and 8.
open_fifos() {
    [ -e ctl ] || mkfifo ctl ack
    exec 7<>ctl 8<>ack
}

# ask COMMAND [WANTED]: what is answered there, up to "ack" or an error; without more said that is "ack".
ask() {
    local line='' answer=''
    echo "$1" >&7
    until [ "$line" = ack ] || [[ $line == error:* ]]; do
        read -r -t 20 -u 8 line || fail "no answer to $1: '$answer'"
        answer+=${answer:+ }$line
    done
    expect_eq "answer to $1" "$answer" "${2:-ack}"
}

# expect_readers_agree FILE: perf and hotspot find as many samples as weir says, and perf finds nothing to warn of.
expect_readers_agree() {
    local file=$1 samples
    samples=$(told_samples)
    expect_eq "samples in the ledger" "$(ledger_column written)" "$samples"
    expect_eq "samples in perf report" "$(report_samples "$file")" "$samples"
    expect_no_warnings
    expect_eq "samples in perf script" "$(script_lines "$file")" "$samples"
    perf script -i "$file" 2>perf.err >/dev/null || fail "perf script failed: $(cat perf.err)"
    expect_no_warnings
    needs_hotspot
    expect_eq "samples in hotspot" "$(hotspot_samples "$file")" "$samples"
}

# expect_time_order FILE: perf script gives the samples by ascending time and reports none as out of order.
expect_time_order() {
    local samples backward
    perf_bare script -i "$1" -F time 2>perf.err | awk '
        { time = $1 + 0; if (time < last) backward++; last = time }
        END { print NR, backward + 0 }' >order
    expect_no_warnings
    read -r samples backward <order
    expect_eq "samples in perf script" "$samples" "$(told_samples)"
    expect_eq "steps backward in time" "$backward" 0
}

# perf has to warn of losses: on a busy machine some recordings have them, and so do recordings without room. It also
# repeats weir's warning of a process with so many mappings that reading them took too long.
expect_no_warnings() {
    local in_ring writing
    in_ring=$(ledger_column lost_in_ring)
    writing=$(ledger_column lost_writing)
    # Without -v there is no ledger; the closing line tells of side records.
    if [ $((${in_ring:-0} + ${writing:-0})) != 0 ] || grep -q '^\[ weir record: Lost [0-9]* side records' err; then
        sed -i -e '/^Warning:$/d' -e '/^Processed [0-9]* .* lost/d' -e '/^Check IO/d' -e '/^$/d' perf.err
    fi
    if grep -q '^weir: warning: reading the maps of .* took longer than' err; then
        sed -i -e '/^Warning:$/d' -e '/^[0-9]* map information files for/,/--proc-map-timeout$/d' -e '/^$/d' perf.err
    fi
    [ ! -s perf.err ] || fail "perf warns: $(cat perf.err)"
}
