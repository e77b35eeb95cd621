# shellcheck shell=bash
# BPF programs: their code and types in the features BPF_PROG_INFO and BPF_BTF, as perf writes and reads them.

needs_perf_events

needs_bpf() {
    "$WEIR_LOAD" bpf weir_can true 2>load.err || skip "needs leave to load a BPF program: $(cat load.err)"
    perf version --build-options | grep -q 'bpf: *\[ on' || skip "needs a perf that was built with libbpf"
}

# programs FILE NAME: what perf says of the programs of that name, but for their ids.
programs() {
    perf report --header-only -i "$1" 2>perf.err |
        sed -n "s/^# bpf_prog_info [0-9]*: \(bpf_prog_[0-9a-f]*_\($2\|whole\) .*\)/\1/p"
}

# images FILE WHAT: how many of them weir finds; WHAT: BPF_PROG_INFO or BPF_BTF.
images() { "$WEIR_PROGRAM" info "$1" | sed -n "s/^ *$2 *\([0-9]*\) .*/\1/p"; }

# Programs that others load meanwhile do not matter: only that of the test has this name.
test_program_of_before_is_described_as_by_perf() {
    needs_bpf
    status=0
    "$WEIR_LOAD" bpf weir_before bash -c "
        '$WEIR_PROGRAM' record -v -a -e cpu-clock -o it -- sleep 0.3 2>err &&
            perf record -q -a -e cpu-clock -o perfs sleep 0.3
    " >out 2>&1 || status=$?
    expect_eq "status" "$status" 0
    local ours
    ours=$(programs it weir_before)
    expect_eq "programs" "$(wc -l <<<"$ours")" 1
    expect_eq "what perf says of it" "$ours" "$(programs perfs weir_before)"
    expect_no_warnings
    expect_at_least "types" "$(images it BPF_BTF)" 1
    local symbol # bpf_prog_TAG_NAME
    symbol=${ours%% *}
    symbol=${symbol#bpf_prog_}
    "$WEIR_PROGRAM" info it >described
    grep -q "^BPF_PROG_INFO .*id [0-9]* weir_before tag ${symbol%%_*}" described ||
        fail "no such program: $(grep BPF described)"
    expect_readers_agree it
}

# Rings are drained once a second at least: so long it has to be there.
test_program_that_is_loaded_meanwhile_is_described() {
    needs_bpf
    record -a -e cpu-clock -o it -- "$WEIR_LOAD" bpf weir_new sleep 2.5
    expect_eq "programs" "$(programs it weir_new | wc -l)" 1
    # It is seen of a command alone, too: loaded by one of its tasks.
    record -e cpu-clock -o of_command -- "$WEIR_LOAD" bpf weir_new sleep 2.5
    expect_eq "programs of a command" "$(programs of_command weir_new | wc -l)" 1
    expect_no_warnings
}

test_each_file_of_many_has_them() {
    needs_bpf
    status=0
    "$WEIR_LOAD" bpf weir_many "$WEIR_PROGRAM" record -v -a -e cpu-clock -o it --switch-output=1s -- sleep 2.5 2>err ||
        status=$?
    expect_eq "status" "$status" 0
    local file count=0
    for file in it.2*; do
        expect_eq "programs in $file" "$(programs "$file" weir_many | wc -l)" 1
        count=$((count + 1))
    done
    expect_at_least "files" $count 2
}

# It is there when the second file begins.
test_program_that_is_gone_is_not_in_later_files() {
    needs_bpf
    local load number files
    mkfifo gate
    # shellcheck disable=SC2016 # the inner shell's
    "$WEIR_LOAD" bpf weir_gone sh -c 'read -r _ <gate' &
    load=$!
    exec 9>gate
    start_record it.data -a -e cpu-clock --switch-output -- sleep 100
    for number in 1 2 3 4; do
        kill -USR2 "$weir"
        wait_until eval "[ \"\$(grep -c 'weir record: Dump it.data' err)\" -ge $number ]"
        if [ $number = 1 ]; then
            echo >&9
            wait $load || true
        fi
    done
    exec 9>&-
    kill -INT "$weir"
    await_record
    files=(it.data.*)
    expect_eq "files" ${#files[@]} 5
    expect_eq "programs in the second" "$(programs "${files[1]}" weir_gone | wc -l)" 1
    expect_eq "programs in the last" "$(programs "${files[4]}" weir_gone | wc -l)" 0
}

test_they_can_be_left_out() {
    needs_bpf
    local option
    for option in --no-bpf-event -B; do
        status=0
        "$WEIR_LOAD" bpf weir_out "$WEIR_PROGRAM" record -v -a -e cpu-clock -o it $option -- sleep 0.2 2>err ||
            status=$?
        expect_eq "status with $option" "$status" 0
        expect_eq "programs with $option" "$(images it BPF_PROG_INFO)" ""
    done
}
