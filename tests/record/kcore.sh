# shellcheck shell=bash
# --kcore: a copy of the kernel's code beside the recording, and the changes to that code as records.

needs_perf_events
# shellcheck source=tests/record/made_up_kcore.sh
. "$(dirname "${BASH_SOURCE[0]}")/made_up_kcore.sh"

kcore_files="kallsyms kcore modules"

# expect_kernel_in DIR: what perf finds there.
expect_kernel_in() {
    expect_files "$1/kcore_dir" "$kcore_files"
    expect_eq "modes" "$(stat -c %a "$1"/kcore_dir/* "$1/kcore_dir" | paste -sd ' ')" "400 400 400 700"
    readelf -lW "$1/kcore_dir/kcore" >headers 2>readelf.err || fail "readelf: $(cat readelf.err)"
    local first
    first=$(awk '$1 == "LOAD" { print $3, $2, $5; exit }' headers)
    local address=${first%% *}
    expect_eq "where the code begins" "$((address & 0xffffffff))" $(($(symbol _stext) & ~4095))
    expect_at_least "bytes of code" $((${first##* })) $((($(symbol _etext) - $(symbol _stext)) & ~4095))
    [ -e page ] || return 0
    local offset=${first#* }
    dd if="$1/kcore_dir/kcore" of=copied bs=4096 skip=$((${offset%% *} / 4096)) count=1 status=none
    cmp copied page || fail "the code is not what kcore has"
}

test_kernel_without_kcore_is_named() {
    [ ! -e /proc/kcore ] || skip "needs a kernel without CONFIG_PROC_KCORE"
    weir_record --kcore -e cpu-clock -o it -- touch ran
    expect_eq "status" "$status" 125
    expect_line err "cannot read /proc/kcore: No such file or directory"
    expect_line err "CONFIG_PROC_KCORE"
    expect_files . err
}

test_what_is_no_file_has_no_copy() {
    local pair
    for pair in '-o -|-o -' '--per-thread|--per-thread' '-A|--append' '--switch-output=1G|--kcore' \
        '--timestamp-filename|--kcore'; do
        # shellcheck disable=SC2086
        weir_record --kcore ${pair%|*} -e cpu-clock -- touch ran >out
        expect_eq "status with $pair" "$status" 129
        expect_line err "${pair#*|}"
    done
    expect_files . err out
}

test_copy_stands_beside_the_recording() {
    needs_kcore
    record --kcore -o it -a -e cpu-clock -F 1000 -- sleep 0.3
    expect_files it data kcore_dir
    expect_kernel_in it
    expect_eq "samples in perf script" "$(script_lines it)" "$(told_samples)"
    expect_eq "samples in perf report" "$(report_samples it)" "$(told_samples)"
    expect_no_warnings
    "$WEIR_PROGRAM" verify it >verified || fail "weir verify: $(cat verified)"
}

# Unless BPF programs come and go meanwhile, which is another list of symbols.
test_copy_is_what_perf_copies() {
    needs_kcore
    local tries
    for ((tries = 0; tries < 5; tries++)); do
        rm -rf it beside
        record --kcore -o it -e cpu-clock -- true
        "$perf_program" record --kcore -o beside -e cpu-clock -- true >perf.out 2>&1 || fail "perf: $(cat perf.out)"
        ! cmp -s it/kcore_dir/kallsyms beside/kcore_dir/kallsyms || break
    done
    local file
    for file in kallsyms modules; do
        cmp "it/kcore_dir/$file" "beside/kcore_dir/$file" || fail "$file is not what perf copies"
    done
    readelf -lhW it/kcore_dir/kcore >ours
    readelf -lhW beside/kcore_dir/kcore >perfs
    diff ours perfs || fail "other headers than perf's"
    [ ! -e page ] || cmp it/kcore_dir/kcore beside/kcore_dir/kcore || fail "other code than perf's"
}

test_copy_goes_with_other_forms_of_a_recording() {
    needs_kcore
    record --kcore -z -o packed -a -e cpu-clock -F 1000 -- sleep 0.2
    expect_kernel_in packed
    expect_eq "samples of a compressed one" "$(script_lines packed)" "$(told_samples)"
    record --kcore --threads=package -o threads -a -e cpu-clock -F 1000 -- sleep 0.2
    expect_kernel_in threads
    expect_eq "samples of few readers" "$(script_lines threads)" "$(told_samples)"
}

test_copy_of_before_is_replaced_with_its_recording() {
    needs_kcore
    local i
    for i in 1 2 3; do record --kcore -o it -e cpu-clock -- true; done
    expect_eq "recordings" "$(compgen -G "it*" | sort | paste -sd " ")" "it it.old"
    expect_kernel_in it.old
    touch it.old/kcore_dir/notes
    weir_record --kcore -o it -e cpu-clock -- true
    expect_eq "status" "$status" 125
    expect_line err "holds other files than those of a recording ('kcore_dir')"
}

test_what_is_no_folder_of_a_recording_is_left_alone() {
    needs_kcore
    echo "of before" >it.data
    mkdir other
    echo "of before" >other/notes
    local name
    for name in it.data other; do
        weir_record --kcore -e cpu-clock -o "$name" -- touch ran
        expect_eq "status" "$status" 125
    done
    [ ! -e ran ] || fail "the command has run"
    expect_eq "it" "$(cat it.data other/notes | sort -u)" "of before"
}

test_data_that_is_removed_while_recording_is_told() {
    needs_kcore
    weir_record --kcore -o it -a -e cpu-clock -- sh -c "until rm it/data; do sleep 0.01; done"
    expect_eq "status" "$status" 125
    expect_line err "weir: 'it/data' was removed while recording: what was recorded is lost"
}

test_full_file_system_keeps_what_was_good() {
    needs_kcore
    mkdir small
    mount -t tmpfs -o size=48m tmpfs small 2>/dev/null || skip "needs CAP_SYS_ADMIN: mount(2)"
    at_end umount small
    weir_record --kcore -o small/it -a -e raw_syscalls:sys_enter -c 1 -m 64M -- "$WEIR_LOAD" getppid 1000000
    expect_eq "status" "$status" 125
    expect_line err "No space left on device"
    expect_eq "written and lost" "$(written_and_lost)" "$(produced)"
    expect_eq "samples in perf script" "$(script_lines small/it)" "$(ledger_column written)"
}

test_failed_recording_leaves_no_copy() {
    needs_kcore
    weir_record --kcore -e cpu-clock -o it -- ./no-such-program
    expect_eq "status" "$status" 127
    [ ! -e it ] || fail "something is left of it"
    expect_eq "hidden folders" "$(compgen -G '.weir-*' || true)" ""
}

# toggles COUNT: the code of one branch in the kernel is changed so often, and as often back.
toggles() {
    local i
    for ((i = 0; i < $1; i++)); do
        echo 1 >/proc/sys/kernel/bpf_stats_enabled
        echo 0 >/proc/sys/kernel/bpf_stats_enabled
    done
}

# expect_pokes FILE COUNT: there is code that was changed exactly so often, and perf reads each record.
expect_pokes() {
    "$WEIR_PROGRAM" dump --type text_poke "$1" >dumped
    sed -n 's/.*PERF_RECORD_TEXT_POKE \([0-9a-f]*\) .*/\1/p' dumped | sort | uniq -c | awk '{ print $1 }' >counts
    grep -qx "$2" counts || fail "no code that was changed $2 times: $(sort -n counts | uniq -c)"
    local read
    read=$(perf script --show-text-poke-events -i "$1" 2>perf.err | grep -c PERF_RECORD_TEXT_POKE || true)
    expect_eq "changes that perf finds" "$read" "$(awk '{ sum += $1 } END { print sum }' counts)"
    expect_no_warnings
}

# Kernels whose code is changed without a word are no use here: perf is asked first.
needs_text_pokes() {
    "$perf_program" record --kcore -o asked -a -e cpu-clock -- bash -c 'toggles 3' >perf.out 2>&1 ||
        fail "perf: $(cat perf.out)"
    perf script --show-text-poke-events -i asked >asked.out 2>perf.err || fail "perf: $(cat perf.err)"
    grep -q PERF_RECORD_TEXT_POKE asked.out ||
        skip "needs a kernel that tells of changes to its code: perf record --kcore gets no TEXT_POKE either"
}

test_changes_of_the_kernels_code_are_recorded() {
    needs_kcore
    [ "$(cat /proc/sys/kernel/bpf_stats_enabled)" = 0 ] || skip "needs kernel.bpf_stats_enabled to be 0"
    export -f toggles
    needs_text_pokes
    record --kcore -o it -a -e cpu-clock -- bash -c 'toggles 7'
    expect_pokes it 14
    # Of tasks, too: they are of no task.
    record --kcore -o tasks -e cpu-clock -- bash -c 'toggles 5'
    expect_pokes tasks 10
    expect_eq "samples" "$(script_lines tasks)" "$(told_samples)"
}

# The bit is asked for where perf asks for it, whatever the kernel makes of it.
test_changes_are_asked_for_as_by_perf() {
    needs_kcore
    record --kcore -o all -a -e cpu-clock -- true
    perf evlist -v -i all >all.list 2>perf.err
    expect_eq "events of all CPUs" "$(grep -c text_poke all.list)" 1
    expect_line all.list "ksymbol: 1, bpf_event: 1, text_poke: 1"
    record --kcore -o some -e cpu-clock -- true
    perf evlist -v -i some >some.list 2>perf.err
    expect_eq "events of a command" "$(grep -c 'ksymbol: 1, text_poke: 1' some.list)" 1
    ! grep "text_poke: 1" some.list | grep "mmap\|inherit" || fail "of all tasks, and yet more than the kernel"
    "$WEIR_PROGRAM" verify some >verified || fail "weir verify: $(cat verified)"
}
