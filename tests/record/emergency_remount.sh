# shellcheck shell=bash
# SysRq's emergency remount: all file systems of disks become read-only, without asking. Only where nobody else needs
# them: whoever sets WEIR_MAY_REMOUNT_ALL, as scripts/guest does in its machine, says so.

[ "${WEIR_MAY_REMOUNT_ALL:-}" ] ||
    skip "needs leave to make all file systems read-only: WEIR_MAY_REMOUNT_ALL, as in scripts/guest"
needs_perf_events
needs_root
needs_program mkfs.ext4 losetup

# On top of the case's folder, so that what the case itself writes is on no disk.
work_in_memory() {
    mount -t tmpfs none "$PWD"
    at_end umount -l "$PWD"
    cd "$PWD" || fail "no folder"
}

# make_writable_again FOLDER...
make_writable_again() {
    local folder
    for folder; do mount -o remount,rw "$folder"; done
}

test_emergency_remount_ends_the_recording() {
    local writable
    mapfile -t writable < <(awk '$1 ~ /^\/dev\// && $4 ~ /^rw/ { print $2 }' /proc/mounts)
    at_end make_writable_again "${writable[@]}"
    work_in_memory
    mkdir disk
    truncate -s 256M image
    mkfs.ext4 -q image
    mount -o loop image disk
    at_end umount -l disk
    weir_record -a -e raw_syscalls:sys_enter -c 1 -m 4M -o disk/it.data -- \
        sh -c "sleep 1.5; '$WEIR_LOAD' getppid 1000; sleep 5; echo u >/proc/sysrq-trigger
            until grep -q ' $PWD/disk ext4 ro' /proc/mounts; do sleep 0.1; done
            '$WEIR_LOAD' getppid 100000; echo done >ran; exit 3"
    expect_ended_by_a_read_only_disk
    expect_at_least "getppid calls before it" "$(getppid_calls whole.data)" 1000
}
