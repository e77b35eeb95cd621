# shellcheck shell=bash
# Disks under a real file system that stall, fail, become read-only, and files that are taken away. ext4 on a loop
# device, which nothing else uses. Rows 4, 8, 9, 26 and 33 of docs/faults.md.

# shellcheck disable=SC2154 # weir is the pid of start_record, status that of the last recording
needs_perf_events
needs_program mkfs.ext4 losetup fsfreeze

# mount_ext4 FOLDER MB OPTIONS: a file system of that size at FOLDER, which holds its image. $device: its loop device.
mount_ext4() {
    [ -d "$1" ] || mkdir "$1"
    truncate -s "$2M" "$1.image"
    mkfs.ext4 -q -E lazy_itable_init=1,lazy_journal_init=1 "$1.image"
    device=$(losetup --find --show "$1.image") || skip "needs a loop device"
    at_end losetup --detach "$device"
    mount -o "$3" "$device" "$1" || skip "needs CAP_SYS_ADMIN: mount(2)"
    at_end umount "$1"
    trigger=/sys/fs/ext4/${device##*/}/trigger_fs_error
}

# expect_losses_and_no_hold FILE WORDS: the recording, which is ended, has lost what found no room, and says so in these
# words; and the load, which took $took ms, was not held up.
expect_losses_and_no_hold() {
    kill -INT "$weir"
    await_record
    expect_eq "status" "$status" 130
    [ "$took" -lt 20000 ] || fail "the load was held for $took ms"
    expect_at_least "lost" "$(ledger_column lost_in_ring)" 1
    expect_line err "$2"
    expect_whole_and_balanced "$1"
}

# Rows 4 and 26. The writer's writes wait in the kernel for two seconds and the load is more than a pool of 4 MiB takes.
# The kernel counts what is lost, the disk is named as the cause, and both the workload and the recording go on.
test_stalled_disk_holds_the_writer_and_nobody_else() {
    local began took
    mount_ext4 disk 256 defaults
    start_record disk/it.data -a -e raw_syscalls:sys_enter -c 1 -m 256K --buffer-size=4M
    "$WEIR_LOAD" getppid 1000
    fsfreeze --freeze disk
    at_end sh -c 'fsfreeze --unfreeze disk 2>/dev/null || true'
    began=$(date +%s%N)
    "$WEIR_LOAD" getppid 300000
    took=$((($(date +%s%N) - began) / 1000000))
    sleep 2
    fsfreeze --unfreeze disk
    "$WEIR_LOAD" getppid 1000
    expect_losses_and_no_hold disk/it.data "the disk"
}

# Row 4. Nothing at all is taken from the queue: only that thread stands, and no system call of it does.
test_writer_that_stands_holds_nobody_else() {
    local holder took began
    start_record it.data -a -e raw_syscalls:sys_enter -c 1 -m 256K --buffer-size=4M
    mkfifo gate
    "$WEIR_LOAD" hold "$(grep -l '^weir-writer$' /proc/"$weir"/task/*/comm | cut -d/ -f5)" <gate >held &
    holder=$!
    exec 8>gate
    wait_until test -s held
    began=$(date +%s%N)
    "$WEIR_LOAD" getppid 100000
    took=$((($(date +%s%N) - began) / 1000000))
    exec 8>&-
    wait "$holder" || fail "the writer could not be held"
    sleep 1 # the writer empties the pool, and the readers their rings
    "$WEIR_LOAD" getppid 1000
    expect_losses_and_no_hold it.data "waiting for the disk"
    expect_at_least "calls of the end" "$(perf_bare script -i it.data --comm "$WEIR_LOAD_NAME" -F tid 2>perf.err |
        sort | uniq -c | awk 'END { print $1 }')" 1000
}

# What fits the pool is not lost at all: the calls of this test, not those of all that runs beside it.
test_stall_that_the_pool_holds_loses_nothing() {
    mount_ext4 disk 256 defaults
    start_record disk/it.data -a -e raw_syscalls:sys_enter -c 1 --filter "comm == \"$WEIR_LOAD_NAME\"" -m 4M \
        --buffer-size=128M
    fsfreeze --freeze disk
    at_end sh -c 'fsfreeze --unfreeze disk 2>/dev/null || true'
    # More than the ring holds in all, and each time so little that it does not matter when the reader comes.
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        "$WEIR_LOAD" getppid 10000
        sleep 0.2
    done
    fsfreeze --unfreeze disk
    kill -INT "$weir"
    await_record
    expect_eq "status" "$status" 130
    expect_eq "lost" "$(ledger_column lost_in_ring)" 0
    expect_eq "getppid calls" "$(getppid_calls disk/it.data)" 100000
    expect_whole_and_balanced disk/it.data
}

# Row 9: the folder's share of a file system that has room. (ext4 and XFS need a kernel with their quotas.)
test_quota_that_is_used_up_ends_the_recording() {
    needs_program mkfs.btrfs btrfs
    mkdir disk
    truncate -s 320M disk.image
    mkfs.btrfs -q disk.image 2>/dev/null
    mount -o loop disk.image disk 2>/dev/null || skip "needs a kernel with btrfs"
    at_end umount disk
    btrfs quota enable disk 2>/dev/null || skip "needs quotas of btrfs"
    btrfs subvolume create disk/folder >/dev/null
    btrfs qgroup limit 4M disk/folder
    weir_record -a -e raw_syscalls:sys_enter -c 1 -m 1M -o disk/folder/it.data -- \
        sh -c "'$WEIR_LOAD' getppid 120000; echo done >ran"
    expect_eq "status" "$status" 125
    expect_line err "weir: cannot write to disk/folder/it.data: Disk quota exceeded"
    expect_line ran "done"
    expect_eq "written and lost" "$(written_and_lost)" "$(produced)"
    # What a cut gives back counts when btrfs has committed it, so features may find no room.
    "$WEIR_PROGRAM" recover -o whole.data disk/folder/it.data 2>recover.err || fail "recover: $(cat recover.err)"
    expect_whole whole.data
    expect_at_least "samples" "$(report_samples whole.data)" "$(told_samples)"
}

# Row 8: what the disk's image lies on becomes read-only, so that each write of the device fails.
test_disk_that_fails_is_no_success() {
    local below
    mount_ext4 below 400 errors=remount-ro
    below=$trigger
    [ -w "$below" ] || skip "needs $below"
    mount_ext4 below/disk 256 errors=continue
    weir_record -a -e raw_syscalls:sys_enter -c 1 -m 1M -o below/disk/it.data -- \
        sh -c "sleep 0.3; echo test >$below; '$WEIR_LOAD' getppid 600000; echo done >ran; exit 3"
    expect_eq "status" "$status" 125
    grep -q '^weir: cannot .*below/disk/it.data.*Input/output error' err || fail "the disk's failure is not told"
    expect_line ran "done"
    expect_eq "written and lost" "$(written_and_lost)" "$(produced)"
}

# is_traced_or_gone TASK
is_traced_or_gone() { [ ! -e "/proc/$1" ] || grep -q '^TracerPid:[[:space:]]*[1-9]' "/proc/$1/status"; }

# lost_of FILE: LOST_SAMPLES by weir itself, of a file that is by the rules.
lost_of() {
    "$WEIR_PROGRAM" verify "$1" >verify.out || fail "verify $1: $(cat verify.out)"
    sed -n 's/^ok   balance *\([0-9]*\) lost by LOST_SAMPLES.*/\1/p' verify.out
}

# Switches to a third file, and what the second one has not got yet cannot be written to it.
switch_with_a_failing_write() {
    local writer
    rm -f it.data*
    ASAN_OPTIONS=detect_leaks=0 "$WEIR_LOAD" without-io-uring "$WEIR_PROGRAM" record -v -o it.data -m 16M \
        -e raw_syscalls:sys_enter -c 1 --switch-output -- \
        sh -c "read -r _; '$WEIR_LOAD' getppid 1000; kill -USR2 \$PPID; read -r _; exit 3" <gate 2>err &
    weir=$!
    wait_until test -e it.data
    kill -USR2 "$weir"
    wait_until grep -q 'weir record: Dump' err
    sleep 0.2 # what stands at the beginning is on the disk, and nothing comes until the gate is open
    writer=$(basename "$(dirname "$(grep -l weir-writer /proc/$weir/task/*/comm)")")
    strace -qq -o strace.log -e trace=pwritev -e inject=pwritev:error=EIO:when=1 -p "$writer" &
    wait_until is_traced_or_gone "$writer"
    release_gate
    wait_until grep -q 'recording has ended' err
    release_gate
    await_record
    expect_eq "status" "$status" 125
    mapfile -t files < <(compgen -G 'it.data.*' | sort)
}

# Row 8. What a file lacks stands at its end, and not at that of another.
test_file_that_was_switched_away_tells_what_failed_writes_took() {
    needs_program strace
    local files lost tries=1
    open_gate
    switch_with_a_failing_write
    # A round comes once a second. One that comes while strace attaches is what cannot be written, and then there is no
    # third file to look at. On a loaded machine attaching takes a good part of that second.
    while [ ${#files[@]} = 2 ] && [ $tries -lt 20 ]; do
        tries=$((tries + 1))
        switch_with_a_failing_write
    done
    expect_eq "files" ${#files[@]} 3
    lost=$(ledger_column lost_writing)
    expect_at_least "samples that could not be written" "$lost" 1000
    expect_line err "weir: warning: '${files[1]}' lacks $lost samples that could not be written"
    expect_eq "LOST_SAMPLES of the file" "$(lost_of "${files[1]}")" "$lost"
    expect_eq "LOST_SAMPLES of the others" "$(lost_of "${files[0]}") $(lost_of "${files[2]}")" "0 0"
    expect_eq "written and lost" "$(written_and_lost)" "$(produced)"
}

# Row 9. A remount that asks is refused while a file is open for writing, and a device that is set read-only takes what
# the file system writes all the same: the recording goes on. One that does not ask (ext4's "abort", which is also what
# an error of the file system brings about) ends it.
test_file_system_that_becomes_read_only_ends_the_recording() {
    needs_program blockdev
    mount_ext4 disk 256 errors=remount-ro
    weir_record -a -e raw_syscalls:sys_enter -c 1 -m 4M -o disk/it.data -- \
        sh -c "mount -o remount,ro disk 2>refused || echo busy >>told; blockdev --setro $device; sleep 1.5
            '$WEIR_LOAD' getppid 1000; grep -q 'recording has ended' err || echo goes on >>told
            blockdev --setrw $device; mount -o remount,abort disk; '$WEIR_LOAD' getppid 100000; echo done >ran"
    expect_eq "told" "$(paste -sd ' ' told)" "busy goes on"
    expect_line refused "busy"
    expect_ended_by_a_read_only_disk
}

# Row 33. While it is recorded, and at the end.
test_output_that_is_removed_while_recording_is_told() {
    start_record it.data -a -e cpu-clock -F 1000
    wait_until test -s it.data
    sleep 1.2 # a checkpoint has found it by its name
    rm it.data
    wait_until grep -q "weir: warning: 'it.data' was removed while recording" err
    kill -INT "$weir"
    await_record
    expect_eq "status" "$status" 125
    expect_eq "times that it was told" "$(grep -c 'was removed while recording' err)" 2
    expect_line err "weir: 'it.data' was removed while recording: what was recorded is lost"
    [ ! -e it.data ] || fail "it has come back"
}

# cut_while_recording FILE BYTES: cut to that size while records go on coming.
cut_while_recording() {
    start_record "$1" -a -e raw_syscalls:sys_enter -c 1 -m 1M
    "$WEIR_LOAD" getppid 200000
    sleep 1.2 # a checkpoint: all of that is on file
    truncate -s "$2" "$1"
    "$WEIR_LOAD" getppid 200000
    wait_until grep -q "weir: warning: '$1' was cut while recording: the data cut off is lost" err
    kill -INT "$weir"
    await_record
    expect_eq "status" "$status" 125
    expect_line err "weir: '$1' was cut at "
    expect_eq "times that it was told" "$(grep -c ' was cut ' err)" 2
    expect_no_line err "Assertion"
    "$WEIR_PROGRAM" info "$1" >/dev/null 2>info.err || true
}

test_output_that_is_cut_while_recording_is_told() {
    mount_ext4 disk 256 defaults
    cut_while_recording disk/whole.data 0
    cut_while_recording disk/half.data 1000000
}

test_output_that_is_moved_while_recording_is_no_fault() {
    start_record it.data -a -e cpu-clock -F 1000
    mv it.data other.data
    sleep 0.3
    kill -INT "$weir"
    await_record
    expect_eq "status" "$status" 130
    expect_whole other.data
}
