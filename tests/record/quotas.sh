# shellcheck shell=bash
# Quotas that are used up, of a user and of a project (a folder), on ext4 and on XFS: a share of a file system that has
# room for others. Few kernels of small machines have them; that of scripts/guest does. (Those of btrfs: tests/fault.)

# XFS says whether the kernel has its quotas, unless it is a module that nobody has loaded yet.
if [ ! -e /proc/sys/fs/quota ] || { [ -e /proc/fs/xfs ] && [ ! -e /proc/fs/xfs/xqmstat ]; }; then
    skip "needs a kernel with quotas: scripts/guest boots one"
fi
needs_perf_events
needs_program mkfs.ext4 mkfs.xfs xfs_quota xfs_io losetup setpriv
# shellcheck source=tests/record/no_room.sh
. "$(dirname "${BASH_SOURCE[0]}")/no_room.sh"

user=65534 project=42

# mount_with_quotas ext4|xfs: of 400 MB, in `small`.
mount_with_quotas() {
    mkdir small
    truncate -s 400M disk
    case $1 in
    ext4) mkfs.ext4 -q -O quota,project -E quotatype=usrquota:prjquota disk ;;
    xfs) mkfs.xfs -q disk ;;
    esac
    mount -o loop,usrquota,prjquota disk small || skip "needs a kernel with quotas of $1"
    at_end umount -l small
}

# limit_user SIZE: `small` is a user's, who may have so much there. From here on weir runs in his name; tracefs is
# root's, and he may read it.
limit_user() {
    local weir_itself=$WEIR_PROGRAM
    set_knob /proc/sys/kernel/perf_event_paranoid -1
    chmod 777 .
    chown $user small
    xfs_quota -f -x -c "limit -u bhard=$1 $user" small
    as_owner=(setpriv --reuid "$user" --regid "$user" --clear-groups "--inh-caps=-all,+dac_read_search"
        "--ambient-caps=-all,+dac_read_search")
    printf '#!/bin/sh\nexec %s "$@"\n' "${as_owner[*]} '$weir_itself'" >as_user
    chmod 755 as_user
    WEIR_PROGRAM=$PWD/as_user
}

# limit_project SIZE: what is in `small` may be so much, whoever writes it. ext4 lets those exceed it who may exceed
# any limit (CAP_SYS_RESOURCE), which root is here as well.
limit_project() {
    xfs_io -c "chproj $project" -c "chattr +P" small
    xfs_quota -f -x -c "limit -p bhard=$1 $project" small
}

# perf reads files of its own user only, unless it is told to.
perf() {
    local subcommand=$1
    shift
    command perf "$subcommand" -f "$@"
}

# ---- stop ----

test_ext4_quota_of_a_user_ends_the_recording() {
    mount_with_quotas ext4
    limit_user 16m
    ends_the_recording "Disk quota exceeded"
}

test_ext4_quota_of_a_project_ends_the_recording() {
    mount_with_quotas ext4
    limit_project 16m
    ends_the_recording "Disk quota exceeded"
}

test_xfs_quota_of_a_user_ends_the_recording() {
    mount_with_quotas xfs
    limit_user 16m
    ends_the_recording "Disk quota exceeded"
}

# XFS calls it a lack of space, as it tells statfs(2).
test_xfs_quota_of_a_project_ends_the_recording() {
    mount_with_quotas xfs
    limit_project 16m
    ends_the_recording "No space left on device"
}

# ---- rotate ----

test_ext4_quota_of_a_user_loses_the_oldest_files() {
    mount_with_quotas ext4
    limit_user 48m
    loses_the_oldest_files
}

test_ext4_quota_of_a_project_loses_the_oldest_files() {
    mount_with_quotas ext4
    limit_project 48m
    loses_the_oldest_files
}

test_xfs_quota_of_a_user_loses_the_oldest_files() {
    mount_with_quotas xfs
    limit_user 48m
    loses_the_oldest_files
}

test_xfs_quota_of_a_project_loses_the_oldest_files() {
    mount_with_quotas xfs
    limit_project 48m
    loses_the_oldest_files
}

# ---- suspend ----

test_ext4_quota_of_a_user_suspends_recording_until_there_is_room() {
    mount_with_quotas ext4
    limit_user 48m
    suspends_and_resumes
}

test_ext4_quota_of_a_project_suspends_recording_until_there_is_room() {
    mount_with_quotas ext4
    limit_project 48m
    suspends_and_resumes
}

test_xfs_quota_of_a_user_suspends_recording_until_there_is_room() {
    mount_with_quotas xfs
    limit_user 48m
    suspends_and_resumes
}

test_xfs_quota_of_a_project_suspends_recording_until_there_is_room() {
    mount_with_quotas xfs
    limit_project 48m
    suspends_and_resumes
}
