# shellcheck shell=bash
# Several files, one after another: no event is lost or doubled because of a switch, each file is complete in itself,
# and nothing is ever replaced.

needs_perf_events

syscalls=(-e raw_syscalls:sys_enter -c 1 -m 4M --buffer-size 64M)

# switch_while_it_runs TIMES SECONDS: sends SIGUSR2 to $weir so often, with that pause, as long as it is there.
switch_while_it_runs() {
    local n
    for ((n = 0; n < $1; n++)); do
        kill -USR2 "$weir" 2>/dev/null || return 0
        sleep "$2"
    done
}

# The samples of all files in the working folder, by weir info.
samples_in_files() {
    local file sum=0
    for file in it.data.*; do sum=$((sum + $(file_samples "$file"))); done
    echo $sum
}

file_samples() { "$WEIR_PROGRAM" info -i "$1" --json | grep -o '"samples": *[0-9]*' | head -1 | grep -o '[0-9]*$'; }

# expect_files_whole LEAST: so many files or more, each by the rules, each with its own features and beginning; together
# they hold what weir says.
expect_files_whole() {
    local file
    expect_at_least "files" "$(find . -name 'it.data.*' | wc -l)" "$1"
    expect_eq "files that were told" "$(grep -c '^\[ weir record: Dump it\.data\.' err)" \
        "$(find . -name 'it.data*' | wc -l)"
    expect_eq "hidden files" "$(find . -name '.it*' | wc -l)" 0
    for file in it.data.*; do
        "$WEIR_PROGRAM" verify "$file" >verify.out 2>&1 || fail "$file: $(cat verify.out)"
        expect_eq "FINISHED_INIT of $file" "$(report_records "$file" FINISHED_INIT)" 1
        expect_no_warnings
        perf report --header-only -i "$file" >header 2>perf.err
        expect_line header "# cmdline : "
    done
    expect_eq "samples in all files" "$(samples_in_files)" "$(told_samples)"
    expect_eq "written and lost" "$(written_and_lost raw_syscalls:sys_enter)" \
        "$(produced raw_syscalls:sys_enter)"
}

# Every call of the load is there once: it makes them one after another, so their times are all different. (A file may
# hold calls that are later than the first of the next one: rings are cut one after another, and tasks change CPUs.)
expect_each_call_once() {
    local file calls lost
    for file in it.data.*; do
        perf_bare script -i "$file" --comm "$WEIR_LOAD_NAME" -F time,trace --ns 2>perf.err |
            grep " NR $("$WEIR_LOAD" number getppid) " || true
    done | awk '{ print $1 }' >calls.txt
    calls=$(wc -l <calls.txt)
    lost=$(($(ledger_column lost_in_ring raw_syscalls:sys_enter) + \
        $(ledger_column lost_writing raw_syscalls:sys_enter)))
    # What was lost may have been other calls of the command than those of the load.
    if [ "$lost" = 0 ]; then
        expect_eq "calls" "$calls" "$1"
    else
        expect_at_least "calls and losses" $((calls + lost)) "$1"
        expect_at_least "calls that are not made up" "$1" "$calls"
    fi
    expect_eq "calls that are there twice" "$(sort calls.txt | uniq -d | wc -l)" 0
}

test_no_event_is_lost_or_doubled_by_many_switches() {
    start_record it.data "${syscalls[@]}" --switch-output -- "$WEIR_LOAD" getppid 400000
    switch_while_it_runs 40 0.02
    await_record
    expect_eq "status" "$status" 0
    expect_files_whole 2
    expect_each_call_once 400000
}

test_signals_that_come_faster_than_files_can_end_lose_nothing() {
    start_record it.data "${syscalls[@]}" --switch-output -- "$WEIR_LOAD" getppid 300000
    switch_while_it_runs 1000 0.001
    await_record
    expect_eq "status" "$status" 0
    expect_files_whole 2
    expect_each_call_once 300000
}

# LOST_SAMPLES of all files in the working folder, each of which must be by the rules.
lost_in_files() {
    local file
    for file in it.data.*; do
        "$WEIR_PROGRAM" verify "$file" >verify.out 2>&1 || fail "$file: $(cat verify.out)"
        grep '^ok   balance ' verify.out
    done | awk '{ sum += $3 } END { print sum + 0 }'
}

# The kernel writes the LOST record of a loss when the ring has room again, and that may be after the switch.
test_losses_around_a_switch_balance_in_each_file() {
    local options lost
    for options in "" "-M 4M" --overwrite; do
        rm -f it.data*
        # shellcheck disable=SC2086 # several words
        start_record it.data -m 64K -a -e raw_syscalls:sys_enter -c 1 $options --switch-output -- \
            sh -c "'$WEIR_LOAD' getppid 500000 & '$WEIR_LOAD' getppid 500000; wait"
        switch_while_it_runs 6 0.05
        await_record
        expect_eq "status with $options" "$status" 0
        lost=$(($(ledger_column lost_in_ring raw_syscalls:sys_enter) + $(ledger_column lost_in_ring dummy:u)))
        expect_at_least "lost with '$options'" "$lost" 1
        expect_eq "LOST_SAMPLES of all files with '$options'" "$(lost_in_files)" "$lost"
    done
}

# What runs when a file begins was never started in it: its name and maps come from the task map.
# has_ended FILES: so many have been told of.
has_ended() { [ "$(grep -c 'weir record: Dump it.data' err)" -ge "$1" ]; }

test_later_files_know_the_tasks_and_maps_of_before() {
    start_record it.data -e cpu-clock -F 999 --switch-output=1s -- "$WEIR_LOAD" spin 0
    wait_until has_ended 2
    sleep 0.5
    kill -INT "$weir"
    await_record
    local file program
    program=$(basename "$WEIR_LOAD")
    expect_at_least "files" "$(find . -name 'it.data.*' | wc -l)" 3
    for file in it.data.*; do
        if [ "$(file_samples "$file")" -gt 0 ]; then
            expect_eq "unknown tasks in $file" \
                "$(perf_bare script -i "$file" -F comm 2>perf.err | grep -c '^ *:' || true)" 0
            perf script -i "$file" -F ip,sym,dso 2>perf.err >script.txt
            expect_line script.txt "$program"
            expect_line script.txt "hot_loop"
        fi
    done
    expect_no_warnings
}

# While weir stands still the sideband rings get full: the kernel drops what a task is called, and says later how many
# records that were.
test_later_files_know_the_tasks_that_started_while_records_were_lost() {
    local target stays file
    cp /bin/sleep stays
    for target in -a ""; do
        rm -f it.data*
        # shellcheck disable=SC2016,SC2086 # the parameters are the inner shell's; -a or nothing
        start_record it.data $target -e dummy -m 16K --switch-output -- sh -c '
            until [ -e lose ]; do sleep 0.01; done
            for cpu in $1; do taskset -c "$cpu" "$0" mapped 10000 </dev/null >/dev/null; done
            ./stays 100 &
            until [ "$(cat /proc/$!/comm)" = stays ]; do :; done
            echo $! >started
            until [ -e goes_on ]; do sleep 0.01; done
            for cpu in $1; do taskset -c "$cpu" true; done
            echo >ended
            wait' "$WEIR_LOAD" "$(seq -s ' ' 0 $(($(nproc) - 1)))"
        kill -STOP "$weir"
        echo >lose
        wait_until test -s started
        kill -CONT "$weir"
        echo >goes_on
        wait_until test -e ended
        stays=$(cat started)
        kill -USR2 "$weir"
        wait_until has_ended 1
        kill "$stays"
        kill -INT "$weir"
        await_record
        rm started lose goes_on ended
        file=$(find . -name 'it.data.*' | sort | tail -1)
        expect_at_least "side records lost" "$(ledger_column lost_in_ring dummy:u)" 1
        "$WEIR_PROGRAM" dump -i "$file" --type COMM --pid "$stays" >dump.txt
        expect_line dump.txt "PERF_RECORD_COMM: stays:$stays/$stays"
    done
}

test_later_files_know_the_modules_of_their_time() {
    if grep -q '^xfs ' /proc/modules || [ ! "$(find "/lib/modules/$(uname -r)" -name 'xfs.ko*' 2>/dev/null)" ]; then
        skip "needs a module that can be loaded and is not: xfs"
    fi
    start_record it.data -a -e dummy --switch-output -- sleep 100
    modprobe xfs
    kill -USR2 "$weir"
    wait_until has_ended 1
    kill -INT "$weir"
    await_record
    local files=(it.data.*)
    "$WEIR_PROGRAM" dump --type MMAP -i "${files[0]}" >first.txt
    "$WEIR_PROGRAM" dump --type MMAP -i "${files[1]}" >second.txt
    expect_no_line first.txt "xfs"
    expect_line second.txt "xfs"
    expect_eq "the kernel's map" "$(grep -c 'kernel\.kallsyms' second.txt)" "$(grep -c 'kernel\.kallsyms' first.txt)"
}

# What ran once is listed by the files that it ran in, or whose first records may still tell of it; what runs on, by
# all.
test_lists_of_build_ids_are_those_of_the_time_of_each_file() {
    # The positional parameter is the inner shell's.
    # shellcheck disable=SC2016
    start_record it.data -e cpu-clock -F 999 --switch-output -- \
        sh -c 'cp /bin/true run_once; ./run_once; exec "$0" spin 0' "$WEIR_LOAD"
    sleep 0.3
    switch_while_it_runs 8 0.12
    kill -INT "$weir"
    await_record
    local file files=(it.data.*)
    expect_at_least "files" ${#files[@]} 6
    for file in "${files[0]}" "${files[-1]}"; do
        perf buildid-list -i "$file" >"$file.ids" 2>perf.err
        expect_line "$file.ids" "/$(basename "$WEIR_LOAD")"
        expect_line "$file.ids" "[kernel.kallsyms]"
    done
    expect_line "${files[0]}.ids" "/run_once"
    expect_no_line "${files[-1]}.ids" "/run_once"
    expect_no_warnings
}

test_files_end_at_their_size_and_only_the_newest_stay() {
    record "${syscalls[@]}" --switch-output=2M --switch-max-files 3 -o it.data -- \
        sh -c "until [ \$(grep -c ' Dump ' err) -ge 3 ]; do '$WEIR_LOAD' getppid 50000; done"
    expect_no_line err "files get larger than"
    expect_at_least "files that were told" "$(grep -c '^\[ weir record: Dump ' err)" 4
    expect_eq "files that stay" "$(find . -name 'it.data*' | wc -l)" 3
    local file
    for file in $(grep -o 'Dump it\.data\.[^ ]*' err | tail -3 | cut -d' ' -f2); do
        [ -f "$file" ] || fail "$file is not there"
        expect_at_least "bytes of $file" "$(stat -c %s "$file")" 4096
    done
}

# perf warns, too, by its own sizes.
test_size_below_what_wakes_a_reader_is_told() {
    record -e dummy -m 4M --switch-output=1000K -o it.data -- true
    expect_line err "warning: files get larger than the size of --switch-output: a ring wakes its reader when it holds"
    record -e dummy -m 4M --switch-output=1000K -M 8M -o it.data -- true
    expect_no_line err "files get larger than"
}

# A file that is switched away is hidden first: ".NAME.TIME-NNN".
test_name_without_room_for_the_time_is_refused_at_the_start() {
    local name
    name=$(printf '%0233d' 0)
    weir_record -e dummy --switch-output -o "${name}1" -- touch ran
    expect_eq "status" "$status" 125
    expect_line err "is too long: its files get their time behind it"
    expect_line err "hint: a name of at most 233 bytes leaves room for that"
    weir_record -e dummy --timestamp-filename -o "${name}12" -- touch ran
    expect_line err "hint: a name of at most 234 bytes leaves room for that"
    expect_files . err
    record -e dummy --switch-output -o "$name" -- sh -c "kill -USR2 \$PPID; sleep 0.1"
    expect_eq "files" "$(find . -name "$name.*" | wc -l)" 2
}

test_null_device_gets_no_time() {
    record -e dummy --switch-output -o /dev/null -- true
    expect_line err "MB /dev/null ]"
}

test_timestamped_name_is_never_that_of_a_file_that_is_there() {
    record -e cpu-clock --timestamp-filename -o it.data -- true
    expect_eq "files" "$(find . -name 'it.data*' | wc -l)" 1
    expect_eq "closing line" "$(grep -c 'it.data.<timestamp>' err)" 1
    local name n
    name=$(grep -o 'Dump it\.data\.[^ ]*' err | cut -d' ' -f2)
    [[ $name =~ ^it\.data\.20[0-9]{14}$ ]] || fail "the name is $name"
    expect_at_least "UTC time of the name" "${name:8:12}" "$(date -u -d '-1 minute' +%Y%m%d%H%M)"
    rm "$name"
    # Files of the next seconds are there already.
    for ((n = 0; n < 300; n++)); do
        echo "of before" >"it.data.$(date -u -d "+$((n / 100)) seconds" +%Y%m%d%H%M%S)$(printf %02d $((n % 100)))"
    done
    local before
    before=$(find . -name 'it.data.*' | wc -l)
    record -e cpu-clock --timestamp-filename -o it.data -- true
    expect_eq "files" "$(find . -name 'it.data.*' | wc -l)" $((before + 1))
    expect_at_least "files of before" "$(grep -l 'of before' it.data.* | wc -l)" $((before - 1))
}

test_command_gets_the_path_of_each_finished_file() {
    mkdir there
    cat >on-rotate <<'SCRIPT'
#!/bin/sh
[ "$1" = "two words" ] && exit 1
echo "$# $1 $2" >>told
sed -n 's/^SigIgn:.*\(........\)$/\1/p' /proc/$$/status >ignored
perf report --header-only -i "$2" >/dev/null 2>&1 || echo "cannot read $2" >>told
SCRIPT
    chmod +x on-rotate
    record -e cpu-clock --switch-output=1s --on-rotate './on-rotate first' -o there/it.data -- sleep 2.3
    expect_eq "calls" "$(wc -l <told)" "$(find there -name 'it.data.*' | wc -l)"
    expect_eq "arguments" "$(grep -c '^2 first there/it\.data\.2' told)" "$(find there -name 'it.data.*' | wc -l)"
    expect_eq "ignored of SIGUSR2, SIGPIPE and SIGXFSZ" $((0x$(cat ignored) & 0x1001800)) 0
    record -e cpu-clock --switch-output=1s --on-rotate false -o there/it.data -- sleep 2.3
    expect_eq "warnings of a command that fails" "$(grep -c "'false', failed with status 1" err)" 1
    record -e cpu-clock --timestamp-filename --on-rotate ./no-such-program -o there/it.data -- true
    expect_line err "'./no-such-program', cannot be started: No such file or directory; this is reported once"
}

test_output_that_was_removed_is_told_and_the_next_file_is_whole() {
    start_record it.data -e cpu-clock -F 99 --switch-output -- sleep 100
    rm it.data
    kill -USR2 "$weir"
    wait_until test -e it.data
    kill -INT "$weir"
    await_record
    expect_line err "the output 'it.data' was moved or removed"
    expect_eq "files" "$(find . -name 'it.data*' | wc -l)" 1
    "$WEIR_PROGRAM" verify it.data.* >verify.out 2>&1 || fail "$(cat verify.out)"
}

# It is whose who has moved it: nobody is told of the file that has its name by then, nor is that one removed.
test_output_that_was_moved_is_left_alone_and_so_is_the_next() {
    local n
    start_record it.data "${syscalls[@]}" -a --switch-output --switch-max-files 1 --on-rotate 'touch ran'
    for n in 1 2; do
        mv it.data moved.$n
        kill -USR2 "$weir"
        wait_until test -e it.data
    done
    mv it.data moved.3
    kill -INT "$weir"
    await_record
    expect_eq "status" "$status" 130
    expect_files . err moved.1 moved.2 moved.3
    expect_no_line err " Dump "
    expect_eq "times that it was told" "$(grep -c "the output 'it.data' was moved or removed" err)" 3
    for n in 1 2 3; do expect_whole moved.$n; done
}

# is_held THREAD: stands still in strace's hands, which let go of it at once but for what they delay.
is_held() {
    local n
    for n in 1 2 3 4 5; do
        grep -q '^State:.*tracing' "/proc/$weir/task/$1/status" || return 1
        sleep 0.02
    done
}

# A file system without inodes, and a folder that takes no names: the recording goes on in the file that it has, under
# the name that it had, until there can be another one.
test_switch_without_a_next_file_is_told_and_loses_nothing() {
    needs_program chattr
    mkdir small
    mount -t tmpfs -o nr_inodes=2 none small 2>/dev/null || skip "needs leave to mount a tmpfs"
    at_end umount -l small
    start_record small/it.data "${syscalls[@]}" -a --switch-output
    "$WEIR_LOAD" getppid 1000
    kill -USR2 "$weir"
    wait_until grep -q "^weir: warning: switch: cannot .* output 'small/it.data': No space left on device" err
    expect_files small it.data
    "$WEIR_LOAD" getppid 1000
    mount -o remount,nr_inodes=100 small
    chattr +i small 2>/dev/null || skip "needs a tmpfs with attributes"
    kill -USR2 "$weir"
    wait_until grep -q "^weir: warning: switch: cannot rename 'small/it.data' to .*: Operation not permitted" err
    "$WEIR_LOAD" getppid 1000
    chattr -i small
    expect_files small it.data
    kill -USR2 "$weir"
    wait_until grep -q ' Dump small/it.data.2' err
    "$WEIR_LOAD" getppid 500
    kill -INT "$weir"
    await_record
    expect_eq "status" "$status" 130
    local files=(small/it.data.*)
    expect_eq "files" "${#files[@]}" 2
    expect_eq "calls before" "$(getppid_calls "${files[0]}")" 3000
    expect_eq "calls after" "$(getppid_calls "${files[1]}")" 500
    expect_whole "${files[0]}"
    expect_whole_and_balanced "${files[1]}"
}

test_file_that_is_full_ends_once_there_can_be_a_next_one() {
    mkdir small
    mount -t tmpfs -o nr_inodes=2 none small 2>/dev/null || skip "needs leave to mount a tmpfs"
    at_end umount -l small
    start_record small/it.data "${syscalls[@]}" --switch-output=100K -- \
        sh -c "'$WEIR_LOAD' getppid 20000; until [ -e go-on ]; do sleep 0.02; done"
    wait_until grep -q "^weir: warning: switch: cannot .* output 'small/it.data': No space left on device" err
    mount -o remount,nr_inodes=100 small
    wait_until grep -q ' Dump small/it.data.2' err
    touch go-on
    await_record
    expect_eq "status" "$status" 0
}

test_switch_in_a_folder_that_is_gone_is_told_and_the_command_runs_on() {
    mkdir gone
    start_record gone/it.data "${syscalls[@]}" --switch-output -- \
        sh -c "until [ -e go-on ]; do sleep 0.02; done; exit 3"
    rm -r gone
    kill -USR2 "$weir"
    wait_until grep -q "^weir: warning: switch: cannot create output 'gone/it.data': its directory was removed" err
    touch go-on
    await_record
    expect_eq "status" "$status" 125
    expect_line err "weir: warning: the output 'gone/it.data' was moved or removed"
    grep -q "^weir: 'gone/it.data' was removed while recording" err || fail "the loss is not told"
    [ ! -e gone ] || fail "the folder has come back"
}

# The finisher stands; behind the file that it has in hand come eight that wait, and the switch behind those.
test_files_that_end_faster_than_they_are_finished_make_the_next_switch_wait() {
    local holder n
    mkfifo ctl ack gate
    exec 7<>ctl 8<>ack
    start_record it.data "${syscalls[@]}" -a --switch-output --control fifo:ctl,ack
    "$WEIR_LOAD" hold "$(grep -l '^weir-finisher$' /proc/"$weir"/task/*/comm | cut -d/ -f5)" <gate >held &
    holder=$!
    exec 9>gate
    wait_until test -s held
    for ((n = 0; n < 9; n++)); do
        "$WEIR_LOAD" getppid 100
        echo switch >&7
        [ $n = 8 ] || read -r -t 20 -u 8 || fail "switch $n was not answered"
    done
    wait_until grep -q "weir: warning: files end faster than they can be finished: the next rotation waits" err
    "$WEIR_LOAD" getppid 100
    ! read -r -t 0.2 -u 8 || fail "the switch that waits was answered"
    expect_no_line err " Dump "
    exec 9>&-
    wait "$holder" || fail "the finisher could not be held"
    read -r -t 20 -u 8 || fail "the switch that has waited was not answered"
    kill -INT "$weir"
    await_record
    expect_eq "status" "$status" 130
    expect_eq "warnings" "$(grep -c "weir: warning" err)" 1
    expect_eq "files" "$(find . -name 'it.data.*' | wc -l)" 10
    expect_eq "hidden files" "$(find . -name '.it*' | wc -l)" 0
    expect_at_least "samples" "$(told_samples)" 1000
    expect_eq "samples in all files" "$(samples_in_files)" "$(told_samples)"
    expect_eq "written and lost" "$(written_and_lost raw_syscalls:sys_enter)" "$(produced raw_syscalls:sys_enter)"
}

# The thread that reads build ids is held for half a minute in open(2), as a file on a dead server would hold it.
test_mapped_file_that_hangs_does_not_hold_up_a_switch() {
    needs_program strace
    start_record it.data -a "${syscalls[@]}" --switch-output
    local thread tracer
    thread=$(grep -l weir-build-ids "/proc/$weir"/task/*/comm | cut -d/ -f5)
    strace -qq -o strace.out -p "$thread" -e trace=openat -e inject=openat:delay_enter=30000000 2>/dev/null &
    tracer=$!
    wait_until grep -q '^TracerPid:.*[1-9]' "/proc/$weir/task/$thread/status"
    cp "$WEIR_LOAD" ./another
    ./another spin 1000
    wait_until is_held "$thread"
    kill -USR2 "$weir"
    wait_until grep -q ' Dump it.data.2' err
    kill -KILL "$tracer"
    kill -INT "$weir"
    await_record
    expect_files_whole 2
}

# Each of these changes a part of what a switch goes through.
test_switching_goes_with_everything_else() {
    local options
    for options in -z --threads=package -a --per-thread -d "-B --namespaces -k monotonic"; do
        rm -f it.data*
        # shellcheck disable=SC2086 # several words
        start_record it.data "${syscalls[@]}" $options --switch-output -- \
            sh -c "sleep 0.3; exec '$WEIR_LOAD' getppid 60000"
        switch_while_it_runs 6 0.05
        await_record
        expect_eq "status with $options" "$status" 0
        expect_files_whole 2
        expect_each_call_once 60000
    done
}

# A file's name is no option of the command that gets it.
test_name_that_begins_with_a_dash_is_given_with_its_folder() {
    # shellcheck disable=SC2016 # the command's own $1
    printf '#!/bin/sh\necho "$1" >given\n' >note
    chmod +x note
    record -o -rf --timestamp-filename --on-rotate ./note -e cpu-clock -- true
    wait_until test -s given
    case $(cat given) in ./-rf.2*) ;; *) fail "the command got '$(cat given)'" ;; esac
}
