# shellcheck shell=bash
# Recordings that are continued (-A), and what is never to happen to the one that is there.

needs_perf_events

events=(-e sched:sched_switch -e cpu-clock -F 1000)

append() { record -A -o it.data -a "${events[@]}" "$@"; }

# expect_refused STATUS TEXT OPTION...: nothing is recorded, and it.data is as it was, inode and time included.
expect_refused() {
    local wanted=$1 text=$2 before
    shift 2
    before=$(stat -c '%i %s %Y %Z' it.data && md5sum it.data)
    weir_record "$@" -- touch ran
    expect_eq "status with $*" "$status" "$wanted"
    expect_line err "$text"
    expect_eq "it.data" "$(stat -c '%i %s %Y %Z' it.data && md5sum it.data)" "$before"
    [ ! -e ran ] || fail "the command has run"
}

# expect_samples FILE COUNT: perf and weir find so many, in order, and perf has nothing to warn of.
expect_samples() {
    expect_eq "samples in perf report" "$(report_samples "$1")" "$2"
    expect_eq "samples in perf script" "$(script_lines "$1")" "$2"
    perf script -i "$1" 2>perf.err >/dev/null
    expect_no_warnings
    "$WEIR_PROGRAM" verify "$1" >verified || fail "weir verify: $(cat verified)"
    if [ -x "$hotspot_parser" ]; then expect_eq "samples in hotspot" "$(hotspot_samples "$1")" "$2"; fi
}

test_combinations_that_make_no_sense_are_refused() {
    echo "not read" >it.data
    expect_refused 129 "cannot overwrite and append at the same time" -A -f -o it.data
    expect_line err "choose between -f and -A"
    expect_refused 129 "'--append' cannot be used with '-o -'" -A -o -
    expect_refused 129 "'--append' cannot be used with '-z'" -A -z -o it.data
    expect_refused 129 "'--append' cannot be used with '--kcore'" -A --kcore -o it.data
}

test_other_events_are_incompatible() {
    append -- sleep 0.1
    local was="event 1 of 'it.data' is 'sched:sched_switch'"
    expect_refused 125 "incompatible append: $was, and of this recording 'cpu-clock'" -A -o it.data -a -e cpu-clock
    expect_refused 125 "incompatible append: 'it.data' has event 'sched:sched_switch' with other options" \
        -A -o it.data -a -e sched:sched_switch -e cpu-clock -F 999
    expect_files . err it.data
}

test_what_cannot_be_continued_is_refused() {
    weir_record -z -o it.data -e cpu-clock -- true
    expect_refused 125 "it is compressed" -A -o it.data -e cpu-clock
    "$WEIR_PROGRAM" record -o - -e cpu-clock -- true >it.data 2>err
    expect_refused 125 "it is a stream that was saved" -A -o it.data -e cpu-clock
    echo "no recording" >it.data
    expect_refused 125 "it.data" -A -o it.data -e cpu-clock
    record_by_perf -o it.data -e cpu-clock -- true
    expect_refused 125 "incompatible append" -A -o it.data -e cpu-clock
}

# Cut at places all over the file, up to the end of its data: refused each time, and no byte of it changed. (Of what
# comes behind, the features, most have copies in the head, and may be missing.)
test_cut_files_are_refused() {
    append -- sleep 0.1
    cp it.data whole.data
    local data bytes at
    read -r data bytes < <(od -An -tu8 -j40 -N16 whole.data)
    for at in 8 104 4096 5000 $((data + bytes / 2)) $((data + bytes - 1)) $((data + bytes)); do
        head -c "$at" whole.data >it.data
        expect_refused 125 "it.data" -A -o it.data -a "${events[@]}"
    done
}

test_killed_append_leaves_the_file_as_it_was() {
    append -- sleep 0.1
    local before
    before=$(stat -c '%i %s %Y' it.data && md5sum it.data)
    "$WEIR_PROGRAM" record -v -A -o it.data -a "${events[@]}" -- touch started 2>err &
    weir=$!
    wait "$weir"
    [ "$(md5sum it.data)" != "${before#*$'\n'}" ] || fail "the whole one was not appended"
    before=$(stat -c '%i %s %Y' it.data && md5sum it.data)
    "$WEIR_PROGRAM" record -v -A -o it.data -a "${events[@]}" -- sh -c 'touch again; sleep 60' 2>err &
    weir=$!
    wait_until test -e again
    sleep 0.3
    kill -KILL "$weir"
    wait "$weir" || true
    expect_eq "it.data" "$(stat -c '%i %s %Y' it.data && md5sum it.data)" "$before"
    expect_files . again err it.data started
}

test_full_file_system_leaves_the_file_as_it_was() {
    mkdir small
    mount -t tmpfs -o size=6m tmpfs small 2>/dev/null || skip "needs CAP_SYS_ADMIN: mount(2)"
    at_end umount small
    record -a -e raw_syscalls:sys_enter -c 1 -o small/it -- "$WEIR_LOAD" getppid 1000
    local before
    before=$(stat -c '%i %s %Y' small/it && md5sum small/it)
    weir_record -A -a -e raw_syscalls:sys_enter -c 1 -m 64M -o small/it -- "$WEIR_LOAD" getppid 200000
    expect_eq "status" "$status" 125
    expect_line err "cannot write to small/it: No space left on device"
    expect_line err "nothing was appended: 'small/it' is unchanged"
    expect_no_line err "Captured and wrote"
    expect_eq "it" "$(stat -c '%i %s %Y' small/it && md5sum small/it)" "$before"
    expect_files small it
}

test_command_that_cannot_run_appends_nothing() {
    append -- sleep 0.1
    local before
    before=$(md5sum it.data)
    weir_record -A -o it.data -a "${events[@]}" -- ./no-such-program
    expect_eq "status" "$status" 127
    expect_eq "it.data" "$(md5sum it.data)" "$before"
}

test_missing_and_empty_files_are_made() {
    append -- sleep 0.1
    expect_samples it.data "$(told_samples)"
    : >it.data
    append -- sleep 0.1
    expect_samples it.data "$(told_samples)"
}

test_force_alone_is_accepted() {
    record -f -o it.data -e cpu-clock -- true
    record -f -o it.data -e cpu-clock -- true
    expect_files . err it.data it.data.old
}

test_samples_of_all_recordings_add_up() {
    local round sum=0
    for round in 1 2 3; do
        append -- sh -c "sleep 0.1; exit 0 # $round"
        sum=$((sum + $(told_samples)))
        expect_samples it.data "$sum"
    done
    perf buildid-list -i it.data | sort >ids
    expect_eq "build ids that are there twice" "$(uniq -d ids)" ""
    grep -q '\[kernel.kallsyms\]' ids || fail "no build id of the kernel"
    perf_bare script -i it.data -F event 2>perf.err | sort | uniq -c >by_event
    expect_eq "samples by event" "$(awk '{ sum += $1 } END { print sum }' by_event)" "$sum"
}

test_mode_and_owner_stay() {
    append -- sleep 0.1
    chmod 640 it.data
    append -- sleep 0.1
    expect_eq "mode" "$(stat -c %a it.data)" 640
}

test_second_recorder_on_the_file_is_refused() {
    append -- sleep 0.1
    "$WEIR_PROGRAM" record -v -A -o it.data -a "${events[@]}" -- sh -c 'touch started; sleep 60' 2>err.of-the-first &
    weir=$!
    local first=$weir
    wait_until test -e started
    expect_refused 125 "is being written by another recorder (pid $first)" -A -o it.data -a "${events[@]}"
    kill -INT "$first"
    await_record
    expect_line err.of-the-first "Captured and wrote"
}

# The recording goes on: what is to come may be saved by what /proc/PID/fd has.
test_continuation_that_is_removed_is_told_by_its_name() {
    record -o it.data -e cpu-clock -- true
    cp it.data before
    start_record it.data -A --sync -a -e cpu-clock
    wait_until test -e it.data.appending
    rm it.data.appending
    wait_until grep -q "weir: warning: 'it.data.appending' was removed while recording: its data is lost" err
    kill -INT "$weir"
    await_record
    expect_eq "status" "$status" 125
    expect_line err "weir: 'it.data.appending' was removed while recording, before it took the place of 'it.data'"
    expect_line err "hint: nothing was appended: 'it.data' is unchanged"
    cmp it.data before
}

# Recorders that drop what they do not need can still give it back to whose it was.
test_continued_recording_stays_its_owners() {
    needs_root
    record -o it.data -e cpu-clock -- true
    chown 65534:65534 it.data
    chmod 640 it.data
    record -A -o it.data -e cpu-clock -- true
    expect_eq "owner and mode" "$(stat -c '%u:%g %a' it.data)" "65534:65534 640"
}

# expect_continuation COUNT: FILE.appending is a whole recording of so many samples.
expect_continuation() {
    expect_eq "status" "$status" 125
    expect_line err "hint: 'it.data.appending' contains the old recording and the new one"
    expect_no_line err "Captured and wrote"
    "$WEIR_PROGRAM" verify it.data.appending >verify.out 2>&1 || fail "$(cat verify.out)"
    expect_eq "getppid calls" "$(getppid_calls it.data.appending)" "$1"
}

test_recording_whose_file_is_taken_stands_beside_it() {
    local options
    for options in "" --sync; do
        rm -f it.data.appending
        record -e raw_syscalls:sys_enter -c 1 -m 4M -o it.data -- "$WEIR_LOAD" getppid 100
        # shellcheck disable=SC2086 # none or one
        weir_record -A $options -e raw_syscalls:sys_enter -c 1 -m 4M -o it.data -- \
            sh -c "'$WEIR_LOAD' getppid 200; mv it.data moved"
        expect_line err "weir: cannot replace 'it.data': No such file or directory"
        expect_continuation 300
        expect_eq "getppid calls of before" "$(getppid_calls moved)" 100
    done
    mv moved it.data
    rm it.data.appending
    weir_record -A -e raw_syscalls:sys_enter -c 1 -m 4M -o it.data -- sh -c "'$WEIR_LOAD' getppid 200; echo >it.data"
    expect_line err "weir: 'it.data' was changed by somebody else meanwhile, and is left as it is now"
    expect_continuation 300
    expect_eq "it.data" "$(cat it.data)" ""
}
