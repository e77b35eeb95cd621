# shellcheck shell=bash disable=SC2154 # here: of run
# What is printed as JSON is what docs/json.md says: each member, with its type, and nothing that is not there.

needs_perf_events
needs_program python3

# expect_members SECTION FILE...
expect_members() { python3 "$here/json_members.py" "$here/../../docs/json.md" "$@" >wrong || fail "$(cat wrong)"; }

# expect_recording NAME: what info and dump make of it.
expect_recording() {
    "$WEIR_PROGRAM" info --json "$1" >info.json
    expect_members "weir info" info.json
    "$WEIR_PROGRAM" info --timeline=json "$1" >timeline.json 2>>err
    expect_members "weir info --timeline=json" timeline.json
    "$WEIR_PROGRAM" dump --json "$1" >dump.json
    expect_members "weir dump" dump.json
}

test_each_name_of_the_tables_is_printed_somewhere() {
    expect_members --sources "$here/../../cli" "$here/../../format" "$here/../../report" "$here/../../engine/session"
}

test_samples_and_side_records() {
    record -a -g -e sched:sched_switch -e cpu-clock --switch-events --namespaces --all-cgroups -d -W \
        --user-regs=ip,sp -o it.data -- "$WEIR_LOAD" getppid 1000
    expect_recording it.data
    expect_line dump.json '"type":"NAMESPACES"'
    expect_line dump.json '"fields":{'
    expect_line dump.json '"user_regs":{'
}

test_reports() {
    record -g -e page-faults -c 1 -o it.data -- "$WEIR_LOAD" forks 1 1
    "$WEIR_PROGRAM" report -q --json it.data >it.json
    "$WEIR_PROGRAM" report -q --json it.data it.data >two.json
    expect_members "weir report" it.json two.json
}

test_groups_and_counts_of_tasks() {
    record -e '{page-faults,cs}:S' -c 1 -o it.data -- true
    expect_recording it.data
    expect_line dump.json '"read":['
    record -s -e cs -c 1 -o it.data -- "$WEIR_LOAD" forks 3 1
    expect_recording it.data
    grep -q '"type":"READ"' dump.json || fail "no READ record"
}

test_compressed_and_directory_and_stream() {
    record -a -z -e raw_syscalls:sys_enter -c 1 -o it.data -- "$WEIR_LOAD" getppid 1000
    expect_recording it.data
    expect_line dump.json '"compressed":true'
    record_directory it.folder -a -- "$WEIR_LOAD" getppid 1000
    expect_recording it.folder
    expect_line info.json '"form":"directory"'
    expect_line dump.json '{"file":"data","offset":'
    expect_line dump.json '{"file":"data.0","offset":0,'
    "$WEIR_PROGRAM" record -q -a -o - -- "$WEIR_LOAD" getppid 1000 >it.stream 2>err
    expect_recording it.stream
    expect_line dump.json '"type":"FEATURE"'
}

# expect_balance REPORT: sums, causes and each cell of raw_syscalls:sys_enter.
expect_balance() {
    python3 - "$1" >wrong <<'END' || fail "$(cat wrong)"
import json, sys
ledger = json.load(open(sys.argv[1]))["ledger"]
samples = [cell for cell in ledger["cells"] if not cell["side"]]
lost = sum(cell["shed"] + cell["lost_in_ring"] + cell["lost_writing"] + cell["lost_in_sums"] for cell in samples)
wrong = ledger["lost"] != lost or sum(cause["lost"] for cause in ledger["causes"]) != lost
wrong |= ledger["written"] != sum(cell["written"] for cell in samples)
for cell in samples:
    names = ["written", "evicted", "shed", "lost_in_ring", "lost_writing", "left_out", "cut_off", "filtered"]
    wrong |= sum(cell[name] for name in names) != cell["counted"]
print(ledger)
sys.exit(wrong)
END
}

# expect_kept REPORT RECORDING: the recording keeps what the report says, at its end.
expect_kept() {
    "$WEIR_PROGRAM" info --json "$2" >info.json
    expect_members "weir info" info.json
    python3 -c 'import json, sys
sys.exit(json.load(open(sys.argv[1]))["ledger"] != json.load(open("info.json"))["ledgers"][-1])' "$1" ||
        fail "$2 keeps another ledger than $1 has"
}

test_ledger_is_reported_and_kept() {
    weir_record --report it.json -a -m 4K -e raw_syscalls:sys_enter -c 1 -o it.data -- "$WEIR_LOAD" getppid 200000
    expect_eq "status" "$status" 0
    expect_members "weir record --report" it.json
    expect_balance it.json
    expect_kept it.json it.data
    expect_line it.json '"cause":"ring_full"'
    weir_record --report it.json -A -a -m 4K -e raw_syscalls:sys_enter -c 1 -o it.data -- true
    expect_eq "status" "$status" 0
    expect_balance it.json
    expect_kept it.json it.data
    expect_eq "ledgers" "$(python3 -c 'import json; print(len(json.load(open("info.json"))["ledgers"]))')" 2
    "$WEIR_PROGRAM" record -q --report it.json -a -e raw_syscalls:sys_enter -c 1 -o - -- true >it.stream 2>err
    expect_balance it.json
}

test_failed_recording_is_reported() {
    echo old >it.json
    weir_record --report it.json -o none/it.data -- true
    expect_eq "status" "$status" 125
    expect_members "weir record --report" it.json
    expect_line it.json '"exit_status":125'
    expect_line it.json '"ledger":null'
    expect_no_line it.json '"error":null'
    weir_record --report it.data -o it.data -- true
    expect_eq "status" "$status" 129
    expect_line err "cannot be both the report and the recording"
}

test_damaged_recording() {
    record -e cpu-clock -o it.data -- "$WEIR_LOAD" spin 10000000
    local begin
    begin=$("$WEIR_PROGRAM" info --json it.data | sed -n 's/.*"data_offset":\([0-9]*\).*/\1/p')
    printf '\1\0' | dd of=it.data bs=1 seek=$((begin + 6)) conv=notrunc status=none # a record of one byte
    "$WEIR_PROGRAM" info --json it.data >info.json 2>err && fail "it is not damaged"
    expect_members "weir info" info.json
    expect_no_line info.json '"error":null'
}

test_lists_checks_and_benchmarks() {
    "$WEIR_PROGRAM" list --json >it.json
    expect_members "weir list" it.json
    "$WEIR_PROGRAM" doctor --json >it.json || expect_eq "status" $? 1
    expect_members "weir doctor" it.json
    "$WEIR_PROGRAM" bench drain --json --cpus 2 --nodes 2 --records 1000 >it.json
    expect_members "weir bench drain" it.json
    "$WEIR_PROGRAM" bench drain -q --json --sweep cpus=1,2 --records 1000 --runs 2 --fail-below mb_per_s=0 >it.json
    expect_members "weir bench drain, several runs" it.json
    "$WEIR_PROGRAM" bench storm -q --json --runs 1 --calls 1000 --recorder none --recorder weir >it.json
    expect_members "weir bench storm" it.json
}

test_status_of_a_recording() {
    open_fifos
    start_record it.data -a -e raw_syscalls:sys_enter -c 1 -m 1M --control fifo:ctl,ack
    "$WEIR_LOAD" getppid 100000
    sleep 1.2 # a round: what was handed over by then is told
    echo 'status -v' >&7
    read -r -t 20 -u 8 json
    read -r -t 20 -u 8
    ask stop
    await_record
    printf '%s' "$json" | tr -d '\0' >it.json
    expect_members status it.json
    expect_eq "places" "$(python3 -c '
import json
status = json.load(open("it.json"))
places = status["places"]
assert len({len(column) for name, column in places.items() if name != "kind"}) == 1
print(places["kind"], len(places["id"]), sum(places["samples"]) == status["samples"], sum(places["samples"]) >= 100000)
')" "cpu $(cpus_online) True True"
}
