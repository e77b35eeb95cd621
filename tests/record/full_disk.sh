# shellcheck shell=bash
# File systems that run full, and quotas of btrfs, real ones: what --on-full and --keep-free make of it, that all is
# accounted for, and that the command runs on. (Without these options: output_files.sh; other quotas: quotas.sh.)

needs_perf_events
# shellcheck source=tests/record/no_room.sh
. "$(dirname "${BASH_SOURCE[0]}")/no_room.sh"

# mount_tmpfs SIZE: one of its own, in `small`.
mount_tmpfs() {
    mkdir -p small
    mount -t tmpfs -o "size=$1" none small 2>/dev/null || skip "needs leave to mount a tmpfs"
    at_end umount -l small
}

# mount_ext4 SIZE: likewise, on a loop device, without room that root alone may use.
mount_ext4() {
    needs_program mkfs.ext4
    mkdir -p small
    truncate -s "$1" disk
    mkfs.ext4 -q -m 0 disk
    mount -o loop disk small 2>/dev/null || skip "needs leave to mount a loop device"
    at_end umount -l small
}

# mount_xfs SIZE: likewise. There is no such file system of less than 300 MB: all but SIZE of it is taken.
mount_xfs() {
    needs_program mkfs.xfs
    mkdir -p small
    truncate -s 320M disk
    mkfs.xfs -q disk
    mount -o loop disk small 2>/dev/null || skip "needs a kernel with XFS, and leave to mount a loop device"
    at_end umount -l small
    fallocate -l $(($(free_bytes) - $(numfmt --from=iec "${1^^}"))) small/taken
}

# mount_quota SIZE: `small` may have so much of a file system with room.
mount_quota() {
    needs_program mkfs.btrfs btrfs
    mkdir volume small
    truncate -s 320M disk
    mkfs.btrfs -q disk 2>/dev/null
    mount -o loop disk volume 2>/dev/null || skip "needs leave to mount a loop device, and a kernel with btrfs"
    at_end umount -l volume
    btrfs quota enable volume 2>/dev/null || skip "needs quotas of btrfs"
    btrfs subvolume create volume/folder >/dev/null
    btrfs qgroup limit "$1" volume/folder
    mount --bind volume/folder small
    at_end umount -l small
}

# ---- suspend ----

test_full_tmpfs_suspends_recording_until_there_is_room() {
    mount_tmpfs 48m
    suspends_and_resumes
}

test_full_ext4_suspends_recording_until_there_is_room() {
    mount_ext4 48m
    suspends_and_resumes
}

test_quota_suspends_recording_until_there_is_room() {
    mount_quota 48m
    suspends_and_resumes
}

test_signal_ends_a_suspended_recording_with_what_has_found_room() {
    mount_tmpfs 16m
    start_record small/it.data "${syscalls[@]}" -m 1M --on-full=suspend -- \
        sh -c "'$WEIR_LOAD' getppid 300000; until [ -e go-on ]; do sleep 0.02; done; echo 'to its end' >ended"
    wait_until grep -q "recording is suspended" err
    kill -INT "$weir"
    touch go-on
    await_record
    expect_eq "status" "$status" 125
    expect_line err "weir: cannot write to small/it.data: No space left on device"
    expect_at_least "samples" "$(told_samples)" 1000
    expect_balance small/it.data
}

test_status_tells_that_recording_is_suspended() {
    local json ack
    mount_tmpfs 16m
    open_fifos
    start_record small/it.data "${syscalls[@]}" -m 1M --on-full=suspend --control fifo:ctl,ack -- \
        sh -c "'$WEIR_LOAD' getppid 300000; until [ -e go-on ]; do sleep 0.02; done"
    wait_until grep -q "recording is suspended" err
    echo status >&7
    read -r -t 20 -u 8 json
    read -r -t 20 -u 8 ack
    [[ $json == *'"state":"suspended"'* ]] || fail "status: $json"
    expect_eq "end of the answer" "$ack" ack
    mount -o remount,size=64m small
    wait_until grep -q "recording goes on" err
    echo status >&7
    read -r -t 20 -u 8 json
    read -r -t 20 -u 8 ack
    [[ $json == *'"state":"enabled"'* ]] || fail "status: $json"
    touch go-on
    await_record
    expect_eq "status" "$status" 0
    expect_balance small/it.data
}

# Nothing is lost that was drained before: -z holds chunks of its own, a switch two files. Children have no rings of
# --per-thread, so the shell makes calls of its own; memory is written when the signal asks for it.
test_suspended_recordings_go_with_everything_else() {
    local options file signal
    mount_tmpfs 24m
    for options in -z -M16M --overwrite --per-thread --switch-output=2M "-A" ; do
        rm -rf small/*
        if [ "$options" = -A ]; then record "${syscalls[@]}" -o small/it.data -- true; fi
        truncate -s 0 err
        fallocate -l $(($(free_bytes) - (600 << 10))) small/ballast
        case $options in -M* | --overwrite) signal="kill -USR2 \$PPID" ;; *) signal=: ;; esac
        # shellcheck disable=SC2086 # several words
        start_record small/it.data "${syscalls[@]}" -m 1M $options --on-full=suspend -- \
            sh -c "'$WEIR_LOAD' getppid 100000; i=0; while [ \$i -lt 5000 ]; do i=\$((i + 1)); : <.; done; $signal
                until [ -e gone-on ]; do sleep 0.02; done"
        wait_until grep -q "recording is suspended" err
        rm small/ballast
        wait_until grep -q "recording goes on" err
        touch gone-on
        await_record
        rm gone-on
        expect_eq "status with $options" "$status" 0
        expect_eq "written and lost with $options" "$(written_and_lost $event)" "$(produced $event)"
        expect_eq "lost by writes with $options" "$(ledger_column lost_writing)" 0
        for file in small/it.data*; do
            "$WEIR_PROGRAM" verify "$file" >verify.out 2>&1 || fail "$file with $options: $(cat verify.out)"
        done
    done
}

test_less_than_is_to_stay_free_suspends_recording_and_the_gap_is_counted() {
    local mib=$((1 << 20))
    mount_tmpfs 200m
    start_record small/it.data "${syscalls[@]}" -m 1M --keep-free 64M --on-full=suspend -a -- sleep 100
    fallocate -l 140M small/ballast
    wait_until grep -q "less than --keep-free (64 MiB) is free in 'small': recording is suspended" err
    "$WEIR_LOAD" getppid 100000
    # Less than an eighth more than is to stay free: that may be gone at the next look.
    truncate -s $((140 * mib - (68 * mib - $(free_bytes)))) small/ballast
    sleep 0.5 # five looks
    expect_no_line err "recording goes on"
    rm small/ballast
    wait_until grep -q "recording goes on" err
    "$WEIR_LOAD" getppid 5000
    kill -INT "$weir"
    await_record
    expect_at_least "lost while it was suspended" "$(ledger_column lost_in_ring $event)" 100000
    grep -q '^\[ weir record: Lost .*[;,] suspended for lack of disk space.*; to prevent it: .*more disk space' err ||
        fail "the closing line: $(grep '^\[ weir record: Lost' err)"
    expect_balance small/it.data
    expect_eq "calls after it" "$(getppid_calls small/it.data)" 5000
}

# The rings are paused for both.
test_snapshot_does_not_end_a_suspension() {
    mount_tmpfs 200m
    open_fifos
    start_record small/it.data "${syscalls[@]}" -m 1M --overwrite --keep-free 64M --on-full=suspend \
        --control fifo:ctl,ack -a -- sleep 100
    fallocate -l 140M small/ballast
    wait_until grep -q "recording is suspended" err
    ask dump
    "$WEIR_LOAD" getppid 1000
    kill -INT "$weir"
    await_record
    expect_eq "calls while it was suspended" "$(getppid_calls small/it.data)" 0
    expect_balance small/it.data
}

# ---- rotate ----

test_full_tmpfs_loses_the_oldest_files() {
    mount_tmpfs 24m
    loses_the_oldest_files
}

# What waits in memory goes to the file that is to end: by default it is bounded by what is free.
test_default_buffers_leave_room_for_the_oldest_files_to_go() {
    mount_tmpfs 24m
    weir_record -o small/it.data "${syscalls[@]}" -m 1M --switch-output=3M --on-full=rotate -- \
        sh -c "until grep -q 'are removed' err; do '$WEIR_LOAD' getppid 100000; done; '$WEIR_LOAD' getppid 100000"
    expect_rotated
    expect_no_line err "may find no file to remove"
    weir_record -o small/it.data -e cpu-clock -m 1M --buffer-size 20M --switch-output=3M --on-full=rotate -- true
    expect_line err "--on-full=rotate may find no file to remove: "
    expect_line err " by --switch-output, 20 from the buffer and "
}

test_full_ext4_loses_the_oldest_files() {
    mount_ext4 32m
    loses_the_oldest_files
}

# btrfs needs room for names, too, and what a file gives back is there when that was committed.
test_quota_loses_the_oldest_files() {
    mount_quota 48m
    loses_the_oldest_files
}

test_less_than_is_to_stay_free_removes_the_oldest_files() {
    mount_tmpfs 200m
    weir_record -o small/it.data "${syscalls[@]}" -m 1M --switch-output=4M --keep-free 100M --on-full=rotate -- \
        "$WEIR_LOAD" getppid 2000000
    expect_rotated
}

# What fills the file system is not of this recording.
test_rotation_ends_the_recording_when_it_has_nothing_to_remove() {
    mount_tmpfs 8m
    weir_record -o small/it.data "${syscalls[@]}" --switch-output=100M --on-full=rotate -- \
        sh -c "'$WEIR_LOAD' getppid 300000; until grep -q 'the command runs on' err; do sleep 0.05; done
            echo 'to its end' >ended"
    expect_eq "status" "$status" 125
    expect_line err "there is no finished file of this recording to remove, so it ends"
    expect_line err "weir: cannot write to small/it.data: No space left on device"
    expect_eq "the command's end" "$(cat ended)" "to its end"
    expect_eq "written and lost" "$(written_and_lost $event)" "$(produced $event)"
    "$WEIR_PROGRAM" verify small/it.data.* >verify.out 2>&1 || fail "$(cat verify.out)"
}

# ---- stop ----

# Less than a chunk has room: of it goes to the file what does.
test_smallest_tmpfs_is_filled_up_to_the_last_record() {
    local option
    mount_tmpfs 512k
    for option in '' -z; do
        rm -f small/it.data
        # shellcheck disable=SC2086 # one word or none
        weir_record $option -o small/it.data "${syscalls[@]}" -m 1M -- "$WEIR_LOAD" getppid 300000
        expect_eq "status" "$status" 125
        expect_line err "weir: cannot write to small/it.data: No space left on device"
        expect_at_least "samples with '$option'" "$(told_samples)" 1000
        expect_balance small/it.data
        expect_all_losses_told
    done
}

test_full_ext4_ends_the_recording_but_not_the_command() {
    mount_ext4 16m
    ends_the_recording "No space left on device"
}

test_full_xfs_ends_the_recording_but_not_the_command() {
    mount_xfs 16m
    ends_the_recording "No space left on device"
}

# What is told at the end needs room, too, which the cut to whole records gives back.
test_losses_of_rings_are_told_in_a_file_that_was_cut() {
    mount_tmpfs 16m
    head -c 256K /dev/zero >small/features # their room: what is cut may be less than they need
    weir_record -o small/it.data "${syscalls[@]}" -m 64K -- \
        sh -c "$(while_stopped getppid 5000)
            until grep -q 'the command runs on' err; do '$WEIR_LOAD' getppid 100000; done
            rm small/features"
    expect_eq "status" "$status" 125
    expect_at_least "lost in rings" "$(ledger_column lost_in_ring $event)" 1
    expect_balance small/it.data
    expect_all_losses_told
}

test_recording_ends_before_less_is_free_than_is_to_stay_so() {
    mount_tmpfs 200m
    weir_record -o small/it.data "${syscalls[@]}" -m 1M --keep-free 150M -- \
        sh -c "'$WEIR_LOAD' getppid 1000000; until grep -q 'the command runs on' err; do sleep 0.05; done
            echo 'to its end' >ended; exit 5"
    expect_eq "status, which is the command's" "$status" 5
    expect_line err "less than --keep-free (150 MiB) is free in 'small': recording ends"
    expect_eq "the command's end" "$(cat ended)" "to its end"
    "$WEIR_PROGRAM" verify small/it.data >verify.out 2>&1 || fail "$(cat verify.out)"
    expect_at_least "free bytes" "$(free_bytes)" 50000000
}

# ---- at the end ----

has_samples() { "$WEIR_PROGRAM" info "$1" 2>/dev/null | grep -q '^samples  *[1-9]'; }

# record_until_full [PREFIX...]: a recording whose last samples find no room.
record_until_full() {
    "$@" "$WEIR_PROGRAM" record -v -o small/it.data -e exceptions:page_fault_user -c 1 -m 1M -- \
        sh -c "'$WEIR_LOAD' forks 50 1; touch forked; exec sleep 100" 2>err &
    # shellcheck disable=SC2034 # await_record, in lib.sh, takes it
    weir=$!
    wait_until test -e forked
    wait_until has_samples small/it.data
    fallocate -l $(($(free_bytes) - (1 << 20))) small/most
    fill
    kill -INT "$(if (($#)); then pgrep -P "$weir"; else echo "$weir"; fi)"
    await_record
    expect_eq "written and lost" "$(written_and_lost)" "$(produced)"
}

# expect_whole_end FILE
expect_whole_end() {
    "$WEIR_PROGRAM" verify "$1" >verify.out 2>&1 || fail "$(cat verify.out)"
    expect_eq "samples" "$(report_samples "$1")" "$(told_samples)"
}

has_build_ids() { "$WEIR_PROGRAM" info small/it.data | grep -q '^BUILD_ID '; }

# The features have what was set aside for them.
ends_whole_on_full() {
    record_until_full
    expect_whole_end small/it.data
    has_build_ids || fail "no build ids: $("$WEIR_PROGRAM" info small/it.data)"
}

test_file_that_ends_on_a_full_tmpfs_is_whole() {
    mount_tmpfs 32m
    ends_whole_on_full
}

test_file_that_ends_on_a_full_ext4_is_whole() {
    mount_ext4 32m
    ends_whole_on_full
}

test_file_that_ends_on_a_full_xfs_is_whole() {
    mount_xfs 32m
    ends_whole_on_full
}

# Without room set aside, features of the start serve, so that perf reads the file; without their formats it could not
# read tracepoints. Their table needs 400 bytes: if the last page of the file has fewer, `weir recover` writes it.
test_file_that_ends_on_a_full_disk_without_room_set_aside_has_the_features_of_its_start() {
    needs_program strace
    mount_tmpfs 32m
    record_until_full env ASAN_OPTIONS=detect_leaks=0 strace -qq -f -o strace.log -e trace=fallocate \
        -e inject=fallocate:error=EOPNOTSUPP
    if "$WEIR_PROGRAM" verify -q small/it.data; then
        expect_whole_end small/it.data
        ! grep -q "the file is whole, with what was known at its start: it lacks build ids" err || ! has_build_ids ||
            fail "it has build ids"
    else
        expect_line err "weir recover makes a whole file of it, with what was known at the start"
        "$WEIR_PROGRAM" recover -q -o it.data small/it.data
        expect_whole_end it.data
    fi
}
