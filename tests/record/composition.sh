# shellcheck shell=bash
# Every mode with every other: each pair records all calls of a command once, whatever files come of it, or is refused
# before anything is opened, with one line that says why. Modes and refusals are those of engine/modes/modes.c.

needs_perf_events

# NAME OPTIONS: what it takes for nothing to be left out on purpose.
modes=$("$WEIR_MODES" | sed -n 's/^mode //p')

# NAME NAME TEXT: of pairs in the order of `modes`.
refused=$("$WEIR_MODES" | sed -n 's/^refused //p')

syscalls=(-e raw_syscalls:sys_enter -c 1 -m 4M)
calls=1000

# options_of NAME: into `options`, behind what is there.
options_of() {
    local words
    words=$(sed -n "s/^$1 //p" <<<"$modes")
    [ "$words" ] || fail "there is no mode '$1'"
    # shellcheck disable=SC2206 # several words
    options+=($words)
}

# Twice as many calls, the first half in a child, and the signal in between, which each mode takes for what it means.
record_calls() {
    weir_record "${syscalls[@]}" "$@" -- \
        sh -c "'$WEIR_LOAD' getppid $calls; kill -USR2 \$PPID; sleep 0.1; exec '$WEIR_LOAD' getppid $calls"
}

# calls_in_all: of all that was written; each file must be by the rules.
calls_in_all() {
    local file sum=0
    for file in it.data*; do
        if [ -f "$file" ]; then
            "$WEIR_PROGRAM" verify "$file" >verify.out 2>&1 || fail "$*: $file: $(cat verify.out)"
        fi
        sum=$((sum + $(getppid_calls "$file")))
    done
    echo $sum
}

# expect_composed NAME...: with all their options, whatever is recorded before what is appended.
expect_composed() {
    local options=(-o it.data) before=0 wanted=$((2 * calls)) name
    for name; do options_of "$name"; done
    rm -rf it.data*
    if [[ " $* " = *" per-thread "* ]]; then wanted=$calls; fi # children have no rings
    if [[ " $* " = *" append "* ]]; then
        local first=("${options[@]/#--append/--no-append}")
        record_calls "${first[@]}"
        before=$wanted
    fi
    if [[ " $* " = *" stream "* ]]; then
        record_calls "${options[@]}" >it.data
        perf_bare script -i - --comm "$WEIR_LOAD_NAME" -F comm,trace <it.data 2>perf.err >script.out || true
        expect_eq "status of $*" "$status" 0
        expect_eq "calls of $*" "$(grep -c " NR $("$WEIR_LOAD" number getppid) " script.out)" "$wanted"
        return
    fi
    record_calls "${options[@]}"
    expect_eq "status of $*" "$status" 0
    expect_eq "calls of $*" "$(calls_in_all "$@")" $((before + wanted))
}

# expect_refusal NAME NAME TEXT
expect_refusal() {
    local options=(-o it.data)
    options_of "$1"
    options_of "$2"
    rm -rf it.data*
    status=0
    "$WEIR_PROGRAM" record "${syscalls[@]}" "${options[@]}" -- touch ran 2>err >out || status=$?
    expect_eq "status of $1 with $2" "$status" 129
    expect_eq "what is said of $1 with $2" "$(head -1 err)" "weir: $3"
    expect_eq "lines, with the hint" "$(wc -l <err)" 2
    expect_eq "written to standard output" "$(wc -c <out)" 0
    [ ! -e ran ] || fail "the command ran with $1 and $2"
    [ ! -e it.data ] || fail "a file was made with $1 and $2"
}

# with_all NAME: with each mode that stands behind it.
with_all() {
    local names name reason
    names=$(cut -d' ' -f1 <<<"$modes")
    while read -r name; do
        reason=$(sed -n "s/^$1 $name //p" <<<"$refused")
        if [ "$reason" ]; then
            expect_refusal "$1" "$name" "$reason"
        elif [ "$1" != kcore ] || [ -e /proc/kcore ]; then
            expect_composed "$1" "$name"
        fi
    done <<<"$(sed "0,/^$1\$/d" <<<"$names")"
}

test_streams() { with_all stream; }
test_copies_of_the_kernel() { with_all kcore; }
test_files_that_are_continued() { with_all append; }
test_compression() { with_all compressed; }
test_files_that_outlive_the_machine() { with_all sync; }
test_limits() { with_all max-size; }
test_files_of_snapshots() { with_all snapshot-files; }
test_several_files() { with_all rotation; }
test_commands_for_each_file() { with_all on-rotate; }
test_full_file_systems() { with_all on-full-suspend; }
test_memory() { with_all memory; }
test_rings_of_the_newest() { with_all overwrite; }
test_rings_of_tasks() { with_all per-thread; }
test_readers_of_several_cpus() { with_all threads; }
test_shedding() { with_all shed-cpus; }
test_descriptions_at_the_end() { with_all tail; }

test_copies_of_the_kernel_were_not_left_out() {
    [ -e /proc/kcore ] || skip "needs /proc/kcore: what is recorded with --kcore was left out of all pairs"
}

# The last one stands behind all others.
test_each_mode_has_a_case() {
    local name cases
    cases=$(declare -f) # not in a pipe: grep -q ends it early, which is a failure with pipefail
    while read -r name; do
        grep -q "with_all $name\$" <<<"$cases" || fail "no case has mode '$name' with those behind it"
    done <<<"$(head -n -1 <<<"$modes" | cut -d' ' -f1)"
}

# As they are used: a stream, a service that keeps its files, a flight recorder that is asked by all who can.
test_modes_of_real_life() {
    expect_composed threads stream compressed
    rm -rf it.data*
    record_calls -o it.data -a --threads=package -z --switch-output=1M --switch-max-files 50 \
        --on-rotate 'touch rotated'
    expect_eq "status of a service" "$status" 0
    expect_eq "calls of a service" "$(calls_in_all)" $((2 * calls))
    [ -e rotated ] || fail "the command did not run"
    rm -rf it.data*
    mkfifo ctl
    exec 7<>ctl
    echo dump >&7
    record_calls -o it.data -a -M 32M -z --control fifo:ctl --snapshot-on-exit --snapshot-hold-off 0 \
        --snapshot-on "sched:sched_process_exit:comm == \"$WEIR_LOAD_NAME\""
    expect_eq "status of a flight recorder" "$status" 0
    expect_eq "calls of a flight recorder" "$(calls_in_all)" $((2 * calls))
    expect_at_least "its snapshots" "$(sed -n 's/.*Took \([0-9]*\) snapshots.*/\1/p' err)" 2
}

# AUX areas: what their options are refused with whatever the events are, and without an event that has one. Events that
# have one are not on any machine: tests/cli/test_aux_arguments.c.
test_aux_areas_are_refused_with_what_they_cannot_be() {
    local option others="--append --overwrite" other
    for option in --snapshot --aux-sample; do
        for other in $others; do
            weir_record "$option" "$other" -- touch ran
            expect_eq "status with $other" "$status" 129
            expect_line err "option '$option' cannot be used with '$other'"
            [ ! -e ran ] || fail "the command ran with $option $other"
        done
        weir_record "$option" -e cpu-clock -- touch ran
        expect_eq "status of $option" "$status" 129
        expect_line err "needs an AUX area event"
        [ ! -e ran ] || fail "the command ran with $option"
    done
}

test_aux_samples_are_refused() {
    local options
    for options in "" "-M 1M" --overwrite --switch-output -z "-o -"; do
        # shellcheck disable=SC2086 # several words
        weir_record $options -e cpu-clock/aux-sample-size=100/ -- touch ran
        expect_eq "status with $options" "$status" 129
        expect_line err "there is no AUX area event to sample"
        [ ! -e ran ] || fail "the command ran with $options"
    done
}
