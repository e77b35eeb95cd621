# shellcheck shell=bash
# What a service manager hears: the datagrams of sd_notify(3), as a socket of ours gets them.

needs_perf_events
needs_program python3

# manager NAME: prints each assignment that comes to the socket, until STOPPING=1 has come.
manager() {
    python3 -c '
import socket, sys
name = sys.argv[1]
receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind("\0" + name[1:] if name[0] == "@" else name)
print("listening", flush=True)
while True:
    text = receiver.recv(4096).decode()
    print(text, end="", flush=True)
    if "STOPPING=1" in text:
        break' "$1" >said 2>manager.err &
    manager=$!
    wait_until grep -q listening said
}

test_service_manager_hears_the_life_of_a_recording() {
    local name
    for name in "$PWD/socket" "@weir-test-$$"; do
        manager "$name"
        # shellcheck disable=SC2016 # for the shell of the workload
        NOTIFY_SOCKET=$name WATCHDOG_USEC=400000 "$WEIR_PROGRAM" record -q -a -e cpu-clock -o it.data -- \
            sh -c 'echo "socket: ${NOTIFY_SOCKET-none}, watchdog: ${WATCHDOG_USEC-none}"; sleep 1' >workload
        wait "$manager"
        expect_eq "first" "$(sed -n 2p said)" READY=1
        expect_eq "last" "$(tail -2 said)" "STOPPING=1
STATUS=finishing the file"
        expect_at_least "signs of life in a second" "$(grep -c "^WATCHDOG=1\$" said)" 1
        expect_eq "status" "$(grep -c '^STATUS=weir: .*lost 0' said)" 1
        expect_eq "what the workload knows" "$(cat workload)" "socket: none, watchdog: none"
        rm -f said "$PWD/socket"
    done
}

test_socket_that_is_not_there_is_no_failure() {
    local name
    for name in "$PWD/nobody" relative "@" ""; do
        NOTIFY_SOCKET=$name "$WEIR_PROGRAM" record -q -a -e cpu-clock -o it.data -- true || fail "with '$name'"
    done
}

# The watchdog of another process is none of ours.
test_watchdog_of_another_process_is_left_alone() {
    manager "$PWD/socket"
    NOTIFY_SOCKET=$PWD/socket WATCHDOG_USEC=100000 WATCHDOG_PID=1 "$WEIR_PROGRAM" record -q -a -e cpu-clock \
        -o it.data -- sleep 0.5
    wait "$manager"
    expect_eq "signs of life" "$(grep -c '^WATCHDOG=1$' said || true)" 0
}
