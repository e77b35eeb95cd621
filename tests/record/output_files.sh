# shellcheck shell=bash
# Which files are written, what becomes of files that are there, and of a file system that is full.

needs_perf_events

# All that can be seen of a folder's files without reading them.
snapshot() { find "$1" -printf '%p %y %i %n %s %m %T@ %l\n' | sort; }

# expect_refused PATH TEXT: weir does not record into PATH, says TEXT, runs nothing; the folder "there" is as it was.
expect_refused() {
    local before
    before=$(snapshot there)
    weir_record -e cpu-clock -o "$1" -- touch ran
    expect_eq "status with -o $1" "$status" 125
    expect_line err "$2"
    expect_eq "the folder after -o $1" "$(snapshot there)" "$before"
    expect_files . err there
}

test_what_is_no_regular_file_of_one_name_is_refused() {
    mkdir there
    echo "of before" >there/file
    ln -s file there/link
    ln -s nowhere there/dangling
    mkfifo there/fifo
    echo "of before" >there/one
    ln there/one there/other
    expect_refused there/link "output 'there/link' is a symbolic link"
    expect_refused there/dangling "output 'there/dangling' is a symbolic link"
    expect_refused there/fifo "output 'there/fifo' is a FIFO"
    expect_refused there/one "output 'there/one' has 2 names (hard links)"
    expect_refused there "output 'there' is a directory"
    expect_refused there/ "output 'there/' is a directory"
    expect_refused /dev/full "output '/dev/full' is a character device"
    expect_refused not-there/file "cannot open directory 'not-there' of the output: No such file or directory"
}

test_second_recorder_on_a_file_is_refused_with_the_pid_of_the_first() {
    mkdir there
    start_record there/it.data -a -e cpu-clock -- sleep 100
    mv err err.of-the-first
    local first=$weir inode
    inode=$(stat -c %i there/it.data)
    weir_record -e cpu-clock -o there/it.data -- touch ran
    expect_eq "status" "$status" 125
    expect_line err "output 'there/it.data' is being written by another recorder (pid $first)"
    expect_eq "inode" "$(stat -c %i there/it.data)" "$inode"
    expect_files there it.data
    expect_files . err err.of-the-first there
    kill -INT "$first"
    await_record
    mv err.of-the-first err
    expect_readers_agree there/it.data
}

test_only_one_old_file_is_kept() {
    local round
    for round in 1 2 3; do record -e cpu-clock -o it.data -- sh -c "exit 0 # $round"; done
    expect_files . err it.data it.data.old
    perf report --header-only -i it.data >header 2>perf.err
    expect_line header "exit 0 # 3"
    perf report --header-only -i it.data.old >header 2>perf.err
    expect_line header "exit 0 # 2"
}

# mount_small SIZE: a tmpfs of that size at small/.
mount_small() {
    mkdir small
    mount -t tmpfs -o "size=$1" tmpfs small 2>/dev/null || skip "needs CAP_SYS_ADMIN: mount(2)"
    at_end umount small
}

# For workloads: waits until weir says that recording has ended, keeps what it has said and goes on to its own end.
run_on="timeout 20 sh -c 'until grep -q \"recording has ended\" err; do sleep 0.05; done'
    cp err told-before-its-end; echo 'to its end' >ended"

# expect_cut_short FILE REASON: the recording ended by itself and said why; the workload ran on to its end.
expect_cut_short() {
    expect_eq "status" "$status" 125
    expect_line err "weir: cannot write to $1: $2"
    expect_line told-before-its-end "weir: warning: recording has ended (cannot write to $1: $2); the command runs on"
    expect_at_least "lost" "$(ledger_column lost_writing)" 1
    expect_line err "write failed ]"
    expect_eq "the workload's end" "$(cat ended)" "to its end"
    expect_readers_agree "$1"
}

test_full_file_system_ends_the_recording_but_not_the_workload() {
    mount_small 6m
    weir_record -a -e raw_syscalls:sys_enter -c 1 -m 64M -o small/it.data -- \
        sh -c "'$WEIR_LOAD' getppid 200000; $run_on; exit 5"
    expect_cut_short small/it.data "No space left on device"
    expect_at_least "samples" "$(told_samples)" 1
    expect_eq "written and lost" "$(written_and_lost)" "$(produced)"
    expect_files small it.data
}

test_file_system_too_small_for_anything() {
    mount_small 1m
    weir_record -a -e cpu-clock -F 20000 -o small/it.data -- sh -c "$run_on"
    expect_cut_short small/it.data "No space left on device"
    expect_files small it.data
}

test_file_size_limit() {
    weir_record_limited() { (ulimit -f 4000 && weir_record "$@" && exit "$status"); }
    weir_record_limited -a -e raw_syscalls:sys_enter -c 1 -m 64M -o it.data -- \
        sh -c "'$WEIR_LOAD' getppid 200000; $run_on" || status=$?
    expect_cut_short it.data "File too large"
    expect_line err "hint: the size of files is limited: ulimit -f shows to how much"
    expect_eq "written and lost" "$(written_and_lost)" "$(produced)"
}
