# shellcheck shell=bash
# Recordings in perf's parallel layout: a directory with a file for each reader.

needs_perf_events

# expect_samples_add_up DIR: perf and weir find as many as weir says.
expect_samples_add_up() {
    expect_eq "samples in the ledger" "$(ledger_column written)" "$(told_samples)"
    expect_eq "samples in perf report" "$(report_samples "$1")" "$(told_samples)"
    expect_no_warnings
    expect_eq "samples in perf script" "$(script_lines "$1")" "$(told_samples)"
    "$WEIR_PROGRAM" dump --type SAMPLE "$1" >dumped
    expect_eq "samples in weir dump" "$(grep -c ': PERF_RECORD_SAMPLE' dumped)" "$(told_samples)"
    "$WEIR_PROGRAM" verify "$1" >verified || fail "weir verify: $(cat verified)"
}

# expect_usage_error TEXT OPTION...: refused before anything is opened.
expect_usage_error() {
    local text=$1
    shift
    weir_record "$@" -- touch ran
    expect_eq "status with $*" "$status" 129
    expect_line err "$text"
    [ ! -e ran ] || fail "the command has run"
}

test_combinations_that_make_no_sense_are_refused() {
    expect_usage_error "'--output-format=dir' cannot be used with '-o -'" --output-format=dir -o -
    expect_usage_error "unknown format 'folder'" --output-format=folder
    expect_files . err
}

test_what_is_no_folder_of_a_recording_is_left_alone() {
    echo "of before" >it.data
    mkdir other
    echo "of before" >other/notes
    local name
    for name in it.data other; do
        weir_record --output-format=dir -e cpu-clock -o "$name" -- touch ran
        expect_eq "status" "$status" 125
    done
    expect_files . err it.data other
    expect_eq "it" "$(cat it.data other/notes | sort -u)" "of before"
}

test_failed_recording_leaves_nothing() {
    mkdir -p it
    weir_record --output-format=dir -e cpu-clock -o it -- ./no-such-program
    expect_eq "status" "$status" 127
    expect_files . err it
    expect_files it ""
}

test_file_that_is_removed_while_recording_is_told() {
    local file
    for file in data data.0; do
        weir_record --output-format=dir -o it -a -e cpu-clock -- sh -c "until rm it/$file; do sleep 0.01; done"
        expect_eq "status without $file" "$status" 125
        expect_line err "weir: 'it/$file' was removed while recording: what was recorded is lost"
        rm -r it
    done
}

test_each_reader_has_a_file_and_readers_agree() {
    needs_second_cpu
    record --output-format=dir -o it -a -e sched:sched_switch -e cpu-clock -F 2000 -- sleep 0.3
    local cpu files=data
    for ((cpu = 0; cpu < $(cpus_online); cpu++)); do files="$files data.$cpu"; done
    expect_files it "$files"
    expect_samples_add_up it
    perf buildid-list -i it >ids
    grep -q '\[kernel.kallsyms\]' ids || fail "no build id of the kernel: $(cat ids)"
}

test_storm_adds_up() {
    record --output-format=dir -o it -a -e raw_syscalls:sys_enter -c 1 -m 16M -- "$WEIR_LOAD" getppid 200000
    expect_samples_add_up it
    expect_eq "written and lost" "$(written_and_lost)" "$(produced)"
}

# One zstd stream in each file; what reads a part of it must not need what is in another one.
test_compressed_storm_adds_up() {
    record --output-format=dir -z -o it -e raw_syscalls:sys_enter -c 1 -m 16M -- "$WEIR_LOAD" getppid 100000
    expect_samples_add_up it
    expect_eq "getppid calls" "$(getppid_calls it)" 100000
    local ratio plain
    ratio=$(sed -n 's/^.* samples), compressed (original [0-9.]* MB, ratio is \([0-9.]*\)) \]$/\1/p' err)
    expect_line <(perf report --header-only -i it 2>perf.err) \
        "# compressed : Zstd, level = 1, ratio = $(printf %.0f "$ratio")"
    plain=$("$WEIR_PROGRAM" info it | sed -n 's/^records .* in \([0-9]*\) bytes$/\1/p')
    expect_at_least "times smaller" $((plain / $(du -bs it | cut -f1))) 2
}

test_directory_of_before_becomes_old() {
    local round
    for round in 1 2 3; do record --output-format=dir -e cpu-clock -o it -- sh -c "exit 0 # $round"; done
    expect_files . err it it.old
    perf report --header-only -i it.old >header 2>perf.err
    expect_line header "exit 0 # 2"
}

test_full_file_system_keeps_what_was_good() {
    mkdir small
    mount -t tmpfs -o size=6m tmpfs small 2>/dev/null || skip "needs CAP_SYS_ADMIN: mount(2)"
    at_end umount small
    weir_record --output-format=dir -o small/it -a -e raw_syscalls:sys_enter -c 1 -m 64M -- "$WEIR_LOAD" getppid 200000
    expect_eq "status" "$status" 125
    expect_line err "No space left on device"
    expect_eq "written and lost" "$(written_and_lost)" "$(produced)"
    expect_samples_add_up small/it
}

# perf cannot read it before: what DIR_FORMAT says is written last.
test_killed_recording_is_recovered() {
    local options samples
    for options in '-e sched:sched_switch' '-z -e cpu-clock -F 2000'; do
        rm -rf it whole
        # shellcheck disable=SC2086 # words
        start_record it --output-format=dir -a $options
        "$WEIR_LOAD" forks 50 1
        sleep 2
        kill -KILL "$weir"
        await_record
        "$WEIR_PROGRAM" recover -q -o whole it
        samples=$("$WEIR_PROGRAM" dump --type sample --json it 2>dump.err | wc -l)
        expect_at_least "samples" "$samples" 10
        expect_eq "samples in perf report" "$(report_samples whole)" "$samples"
        expect_eq "samples in perf script" "$(script_lines whole)" "$samples"
        "$WEIR_PROGRAM" verify whole >verified || fail "weir verify: $(cat verified)"
        "$WEIR_PROGRAM" recover -q --in-place it
        expect_eq "samples in place" "$(report_samples it)" "$samples"
    done
}
