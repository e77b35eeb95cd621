# shellcheck shell=bash
# What recordings without room have in common, whatever it is that is full: the folder `small`. Sourced by full_disk.sh
# and quotas.sh, which make it.

# shellcheck disable=SC2154 # weir is the pid of start_record, status that of the last recording
syscalls=(-e raw_syscalls:sys_enter -c 1)
event=raw_syscalls:sys_enter
as_owner=() # what stands before a command that takes room there: nothing, or who is to be told that there is none

free_bytes() { df -B1 --output=avail small | tail -1; }

# Writes, as owner, to small/ballast until nothing more fits.
fill() { "${as_owner[@]}" dd if=/dev/zero of=small/ballast bs=64K 2>/dev/null || true; }

# calls_of FILE PID: getppid calls of that task.
calls_of() {
    perf_bare script -i "$1" --tid "$2" -F comm,trace 2>perf.err | grep -c " NR $("$WEIR_LOAD" number getppid) " || true
}

# expect_balance FILE: nothing is unaccounted for, and the file says so too.
expect_balance() {
    expect_eq "written and lost" "$(written_and_lost $event)" "$(produced $event)"
    "$WEIR_PROGRAM" verify "$1" >verify.out 2>&1 || fail "$1: $(cat verify.out)"
    expect_eq "samples in perf report" "$(report_samples "$1")" "$(told_samples)"
}

# The file itself says of all that was lost: by rings, and by writes that found no room. verify.out: of the file.
expect_all_losses_told() {
    expect_eq "LOST_SAMPLES" "$(sed -n 's/^ok   balance *\([0-9]*\) lost by LOST_SAMPLES.*/\1/p' verify.out)" \
        "$(($(ledger_column lost_in_ring $event) + $(ledger_column lost_in_ring dummy:u) +
            $(ledger_column lost_writing $event)))"
}

# ends_the_recording REASON: what becomes of it without --on-full. There is room for some of it.
ends_the_recording() {
    weir_record -o small/it.data "${syscalls[@]}" -a -m 16M -- \
        sh -c "'$WEIR_LOAD' getppid 300000; until grep -q 'the command runs on' err; do sleep 0.05; done
            echo 'to its end' >ended; exit 5"
    expect_eq "status" "$status" 125
    expect_line err "weir: cannot write to small/it.data: $1"
    expect_eq "the command's end" "$(cat ended)" "to its end"
    expect_at_least "samples" "$(told_samples)" 1000
    expect_balance small/it.data
    expect_all_losses_told
}

# A third of what is recorded does not fit. Then there is room again: so much of it must not be taken by the calls of
# others, the loads of other tests among them, which is why these are not recorded.
suspends_and_resumes() {
    local before during after
    truncate -s 0 err
    rm -f small/it.data
    start_record small/it.data "${syscalls[@]}" -m 1M --on-full=suspend -a \
        --filter "id == $("$WEIR_LOAD" number getppid) && comm == \"$WEIR_LOAD_NAME\"" -- sleep 100
    "$WEIR_LOAD" getppid 1000 &
    before=$!
    wait $before
    fill
    "$WEIR_LOAD" getppid 200000 & # pushes out what fill() has left over
    wait $!
    wait_until grep -q "there is no room in 'small': recording is suspended" err
    "$WEIR_LOAD" getppid 50000 &
    during=$!
    wait $during
    rm small/ballast
    sync -f small # btrfs gives it back then
    wait_until grep -q "weir: recording goes on" err
    "$WEIR_LOAD" getppid 3000 &
    after=$!
    wait $after
    kill -INT "$weir"
    await_record
    expect_eq "status" "$status" 130
    expect_at_least "lost while it was suspended" "$(ledger_column lost_in_ring $event)" 50000
    expect_eq "lost by writes" "$(ledger_column lost_writing)" 0
    expect_balance small/it.data
    expect_eq "calls before" "$(calls_of small/it.data $before)" 1000
    expect_eq "calls while it was suspended" "$(calls_of small/it.data $during)" 0
    expect_eq "calls after" "$(calls_of small/it.data $after)" 3000
    expect_all_losses_told
}

# expect_rotated: files were removed, the newest are there and whole, and nothing is lost that was drained.
expect_rotated() {
    local file newest
    expect_eq "status" "$status" 0
    expect_line err "the oldest files of this recording are removed; this is reported once"
    [ "$(find small -name 'it.data.*' | wc -l)" -lt "$(grep -c ' Dump ' err)" ] || fail "none was removed"
    for file in small/it.data.*; do
        "$WEIR_PROGRAM" verify "$file" >verify.out 2>&1 || fail "$file: $(cat verify.out)"
    done
    newest=$(grep -o 'Dump small/it\.data\.[^ ]*' err | tail -1 | cut -d' ' -f2)
    [ -f "$newest" ] || fail "$newest, the newest one, is not there"
    expect_eq "written and lost" "$(written_and_lost $event)" "$(produced $event)"
    expect_eq "lost by writes" "$(ledger_column lost_writing)" 0
}

# There is room for some files, but not for all.
loses_the_oldest_files() {
    weir_record -o small/it.data "${syscalls[@]}" -m 1M --buffer-size 2M --switch-output=3M --on-full=rotate -- \
        sh -c "until grep -q 'are removed' err; do '$WEIR_LOAD' getppid 100000; done; '$WEIR_LOAD' getppid 100000"
    expect_rotated
}
