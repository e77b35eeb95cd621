# shellcheck shell=bash disable=SC2154 # status, err: of run and lib.sh
# What is drawn on a terminal, looked at in a real one: tmux plays the keys and reads the screen.

needs_perf_events
needs_program tmux

export TMUX='' # tmux does not start inside of another one

# open_terminal COLUMNS ROWS: a shell in the present folder.
open_terminal() {
    at_end tmux -S "$PWD/tmux" kill-server
    tmux -S "$PWD/tmux" -f /dev/null new-session -d -x "$1" -y "$2" \
        "env PS1='> ' TERM=screen XDG_RUNTIME_DIR='$PWD' bash --norc --noprofile"
    await_screen '^>'
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
    type_keys C-c
    await_screen 'Captured and wrote'
    expect_not_on_screen ' MB/s'
}

test_narrow_terminal_has_what_matters_most() {
    open_terminal 40 10
    type_keys "W='$WEIR_PROGRAM'; clear; \"\$W\" record -a -e cpu-clock -o it.data sleep 60" Enter
    await_screen '^weir: [0-9:]+  [0-9.k]+/s  [0-9.]+ MB/s.*  lost 0$'
    expect_eq "lines" "$(screen | grep -c 'weir: ')" 1
    type_keys C-c
    await_screen 'samples'
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
    type_keys "'$WEIR_PROGRAM' record -a -e cpu-clock -o it.data sleep 60 &" Enter
    type_keys "clear; '$WEIR_PROGRAM' record --status=never -a -e cpu-clock -o other.data sleep 4; echo end" Enter
    await_screen '^end$'
    expect_not_on_screen ' MB/s'
    type_keys fg Enter
    await_screen "^$line\$"
    type_keys C-c
    await_screen 'it.data'
}

test_long_end_shows_its_steps() {
    needs_program strace
    open_terminal 80 24
    type_keys "clear; strace -f -o /dev/null -e trace=fsync -e inject=fsync:delay_enter=3000000" \
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
