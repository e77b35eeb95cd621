# shellcheck shell=bash disable=SC2154 # status, err: of run and lib.sh
# What is drawn on a terminal, looked at in a real one: tmux plays the keys and reads the screen.

needs_perf_events
needs_program tmux

export TMUX='' # tmux does not start inside of another one

# open_terminal COLUMNS ROWS: a shell in the present folder.
open_terminal() {
    at_end close_terminal
    tmux -S "$PWD/tmux" -f /dev/null new-session -d -x "$1" -y "$2" \
        "env PS1='> ' TERM=screen XDG_RUNTIME_DIR='$PWD' bash --norc --noprofile"
    await_screen '^>'
}

# The shell and its commands have gone with the terminal: they would write to the folder that is removed.
close_terminal() {
    local shell
    shell=$(tmux -S "$PWD/tmux" display-message -p '#{pane_pid}')
    tmux -S "$PWD/tmux" kill-server
    wait_until test ! -e "/proc/$shell"
}

# type_keys WORD...: as tmux send-keys takes them.
type_keys() { tmux -S "$PWD/tmux" send-keys "$@"; }

screen() { tmux -S "$PWD/tmux" capture-pane -p; }

shows() { screen | grep -qE -e "$1"; }

# await_screen PATTERN
await_screen() { wait_until shows "$1" || fail "the screen never shows '$1':
$(screen)"; }

expect_not_on_screen() { ! shows "$1" || fail "the screen shows '$1':
$(screen)"; }

line='weir: [0-9:]+  [0-9.k]+/s  [0-9.]+ MB/s .*lost 0'

test_line_is_drawn_below_and_erased() {
    open_terminal 80 24
    type_keys "'$WEIR_PROGRAM' record -a -e cpu-clock -o it.data" Enter
    await_screen "^$line\$"
    expect_not_on_screen 'finishing'
    tmux -S "$PWD/tmux" resize-window -x 40 -y 10
    type_keys '' # tmux redraws
    await_screen '^weir: [0-9:]+  [0-9.k]+/s  [0-9.]+ MB/s.*  lost 0$'
    expect_eq "lines" "$(screen | grep -c 'weir: ')" 1
    type_keys C-c
    await_screen 'Captured and wrote'
    expect_not_on_screen ' MB/s'
}

test_output_of_the_command_stays_whole() {
    open_terminal 80 24
    echo 'echo one; until [ -e go ]; do sleep .1; done; echo two; echo three' >talker
    type_keys "clear; '$WEIR_PROGRAM' record -e cpu-clock -o it.data sh talker; echo end" Enter
    await_screen "^$line\$"
    touch go
    await_screen '^end$'
    await_screen '^one$'
    await_screen '^two$'
    await_screen '^three$'
    expect_not_on_screen ' MB/s'
}

test_nothing_is_drawn_from_the_background_or_when_not_wanted() {
    open_terminal 80 24
    type_keys "W='$WEIR_PROGRAM'" Enter
    type_keys "\"\$W\" record -a -e cpu-clock -o it.data sleep 60 &" Enter
    type_keys "clear; \"\$W\" record --status=never -a -e cpu-clock -o other.data sleep 3.5; echo end" Enter
    await_screen '^end$'
    expect_not_on_screen ' MB/s'
    type_keys fg Enter
    await_screen '^".W" record -a -e cpu-clock -o it.data sleep 60$'
    type_keys C-c
    await_screen 'samples\)'
}

test_long_end_shows_its_steps() {
    needs_program strace
    open_terminal 80 24
    type_keys "clear; strace -f -o /dev/null -e trace=fsync -e inject=fsync:delay_enter=1500000" \
        " '$WEIR_PROGRAM' record -a -e cpu-clock -o it.data" Enter
    await_screen "^$line\$"
    type_keys C-c
    await_screen '^weir: finishing: waiting for the disk \(fsync\)  0:0'
    await_screen 'Captured and wrote'
    expect_not_on_screen 'finishing'
}

test_status_for_scripts() {
    record -a -e cpu-clock --status=json:3 -o it.data sleep 1.4 3>told.json
    expect_at_least "lines" "$(wc -l <told.json)" 1
    python3 "$here/json_members.py" "$here/../../docs/json.md" status told.json >wrong || fail "$(cat wrong)"
    record -a -q -e cpu-clock --status=always -o it.data sleep 1.4
    grep -qE "^$line\$" err || fail "no line"
    record -a -e cpu-clock -o it.data sleep 1.2
    expect_no_line err ' MB/s'
    "$WEIR_PROGRAM" record --status=json:99 -a -o none.data true 2>err && fail "descriptor 99 is not open"
    expect_line err "descriptor 99 of --status cannot be used: Bad file descriptor"
}

# made_up_recording CPUS NODES: one that weir top finds; its commands are in the file commands.
made_up_recording() {
    needs_program python3
    XDG_RUNTIME_DIR=$PWD python3 "$here/made_up_recording.py" "$@" >commands &
    made_up=$!
    at_end stop_made_up
    wait_until test -S "weir/$made_up.sock"
}

stop_made_up() {
    kill "$made_up" || true
    wait "$made_up" || true
} 2>/dev/null

# open_top COLUMNS ROWS
open_top() {
    open_terminal "$@"
    type_keys "W='$WEIR_PROGRAM'; clear; \"\$W\" top -d 200 $made_up" Enter
}

test_top_shows_1024_cpus_in_80_columns() {
    made_up_recording 1024 8
    open_top 80 24
    await_screen "^weir top: $made_up "
    await_screen '^enabled 0:[0-9]+  lost 7  '
    await_screen '^pool 25 % \(some\)  disk 1.5 ms  waits for memory 5 \(p99 1.2 ms\)'
    await_screen '^1024 CPUs: ring fill, in tenths'
    expect_eq "groups" "$(screen | grep -cE '^n[0-7] p[0-7]    [-.0-9]{71}$')" 8
    expect_eq "cells" "$(screen | sed -n '5,20s/^.\{9\}//p' | tr -dc '.0-9-' | wc -c)" 1024
    expect_eq "offline" "$(screen | sed -n 5p)" \
        "n0 p0    ...-..................................................................."
    type_keys l
    await_screen '^n0 p0    \.\.\.-\.\+\.'
    type_keys r Down Down Right
    await_screen '^1024 CPUs: rate, in tenths of'
    await_screen '^CPU 129  node 1 package 1  ring 12.5 %'
}

test_top_asks_twice_before_it_ends_something() {
    made_up_recording 4 1
    open_top 80 24
    await_screen '^CPU 0 '
    type_keys s
    await_screen '^nothing is kept \?\[2Jin memory$'
    type_keys e
    await_screen 'Disable all events\? Press e again'
    type_keys w
    await_screen 'begin the next one\? Press w again'
    type_keys x
    await_screen 'Stop the recording\? Press x again'
    expect_eq "commands" "$(cat commands)" snapshot
    type_keys w w
    wait_until grep -q switch commands
    type_keys x x
    await_screen '^the recording has ended'
    expect_eq "commands" "$(paste -sd ' ' commands)" "snapshot switch stop"
    type_keys q
    await_screen '^>'
    expect_not_on_screen 'CPU 0'
}

test_top_in_40_columns_scrolls() {
    made_up_recording 1024 8
    open_top 40 24
    await_screen '^CPU 0 '
    type_keys End
    await_screen '^CPU 1023  node 7 package 7'
    await_screen '^999999'
    type_keys Home
    await_screen '^CPU 0 '
}

test_top_and_status_find_a_recording_that_was_not_prepared() {
    start_record_here -a -e cpu-clock
    wait_until status_tells '"samples":[1-9]'
    python3 "$here/json_members.py" "$here/../../docs/json.md" "weir status" told.json >wrong || fail "$(cat wrong)"
    XDG_RUNTIME_DIR=$PWD "$WEIR_PROGRAM" status "$weir" >told || fail "$(cat told)"
    expect_line told "$weir $WEIR_PROGRAM record"
    expect_line told "    enabled 0:0"
    expect_line told "lost 0, pool"
    made_up=$weir
    open_top 80 24
    await_screen "^$(cpus_online) CPUs: ring fill"
    type_keys x x
    await_screen '^the recording has ended'
    wait "$weir" || fail "status $?"
    XDG_RUNTIME_DIR=$PWD "$WEIR_PROGRAM" status "$weir" >told 2>&1 && fail "it has ended"
    expect_line told "not every PID is a recording that can be asked"
    expect_eq "sockets" "$(find weir -name '*.sock')" ""
}

start_record_here() {
    XDG_RUNTIME_DIR=$PWD "$WEIR_PROGRAM" record -o it.data "$@" 2>err &
    weir=$!
    wait_until test -S "weir/$weir.sock"
}

status_tells() {
    XDG_RUNTIME_DIR=$PWD "$WEIR_PROGRAM" status --json "$weir" >told.json 2>/dev/null && grep -q "$1" told.json
}

test_benchmarks_and_long_reading_show_their_progress() {
    needs_program strace
    open_terminal 80 24
    type_keys "W='$WEIR_PROGRAM'; clear; \"\$W\" bench drain --cpus 2 --rate 50000 --seconds 2 -o it.data >told" Enter
    await_screen "^${line%lost 0}lost [0-9]+" # a busy machine may lose some
    wait_until grep -q 'start .* s, end' told
    expect_not_on_screen ' MB/s'
    # Each read takes long, under the real filter of system calls.
    type_keys "clear; strace -f -o /dev/null -e inject=pread64:delay_enter=50000 \"\$W\" verify it.data" Enter
    await_screen '^weir verify: 0:0[0-9]  [0-9]+ %  [0-9]+ of [0-9]+ MB$'
    await_screen '^ok   balance'
    expect_not_on_screen 'weir verify: 0:'
    # A report reads twice, and the progress is of both.
    local both=$((($(stat -c %s it.data) * 2 + 500000) / 1000000))
    type_keys "clear; S='strace -f -o /dev/null -e inject=pread64:delay_enter=50000'" Enter
    type_keys "\$S \"\$W\" report -o it.html it.data" Enter
    await_screen "^weir report: 0:[0-9]+  [6-9][0-9] %  [0-9]+ of $both MB\$"
    await_screen 'the report is in it.html'
    expect_not_on_screen 'weir report: 0:'
    type_keys "clear; truncate -s -5001 it.data" Enter
    type_keys "strace -f -o /dev/null -e inject=pread64:delay_enter=50000 \"\$W\" recover -o whole.data it.data" Enter
    await_screen '^weir recover: 0:0[0-9]  '
    await_screen 'Left out'
    expect_not_on_screen 'weir recover: 0:'
}
