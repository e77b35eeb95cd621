# shellcheck shell=bash
# How a plan comes about, and what is known meanwhile of what must be in the files. Sourced by chaos.sh.

# shellcheck disable=SC2154 # the plan is drawn in chaos_plan.sh, status is that of lib.sh
# shellcheck disable=SC2034 # what is known is for chaos_oracles.sh

# Whether the calls of the load are recorded at present: yes, no, or maybe, as far as can be told from here.
counting=yes
wanted=0       # calls that are in the files, or told as lost or evicted
doubtful=0     # those that may be there
exact=yes      # no: some of the wanted ones may have gone with a file, or came behind an end
was_moved=no   # the output does not have its name any more
was_removed=no # and has no other one
was_filled=no  # the file system was full
helpers=()     # processes that a step has started

ended_early=no # recording had ended before it was to
moves=0
load="" # its pid
output=out/it.data
load_cpus=()

# ---- start ----

# expand WORDS: into `words`, with what only this run knows.
expand() {
    local word
    words=()
    for word in $1; do
        case $word in
        LOAD) words+=("$load") ;;
        FILTER) words+=("id == $("$WEIR_LOAD" number getppid)") ;;
        *) words+=("$word") ;;
        esac
    done
}

make_output_folder() {
    mkdir out
    if [[ $plan_output != full_* ]]; then return; fi
    mount -t tmpfs -o size=24m none out 2>/dev/null || skip "needs leave to mount a tmpfs"
    at_end umount -l out
}

# await_load: `load` is its pid.
await_load() { read -r -t 20 -u 6 load || fail "the load does not start"; }

has_command() { [[ $plan_target = *command ]]; }

start_load() {
    if [ "$plan_target" = first_cpu ]; then load_cpus=(taskset -c 0); fi
    "${load_cpus[@]}" "$WEIR_LOAD" serve requests answers &
    at_end end_load
    await_load
}

# record_before OPTION...: what is appended to.
record_before() {
    "$WEIR_PROGRAM" record -q -o $output "$@" --no-append -- true 2>before.err || fail "before: $(cat before.err)"
    before_samples=$(report_samples $output)
    before_sum=$(md5sum <$output)
}

start_recording() {
    local words command=()
    open_fifos
    mkfifo requests answers
    exec 5<>requests 6<>answers
    make_output_folder
    before_samples=0
    if has_command; then command=(-- "$WEIR_LOAD" serve requests answers); else start_load; fi
    expand "$plan_options"
    if [ "$plan_output" = append ]; then record_before "${words[@]}"; fi
    # shellcheck disable=SC2206 # several words
    words+=($plan_delay)
    if [ "$plan_output" = stream ]; then output=-; fi
    "$WEIR_PROGRAM" record -v -o "$output" --control fifo:ctl,ack "${words[@]}" "${command[@]}" 2>err >stream &
    weir=$!
    at_end end_what_is_left
    demand ping
    expect_eq "first answer" "$answer" ack
    if has_command; then await_load; fi
    case $plan_delay in '') ;; *-1) counting=no ;; *) counting=maybe ;; esac
    case $plan_output in newest | keep | full_rotate) exact=no ;; esac
}

# ---- what goes on ----

# What ends between two looks at it has ended.
is_running() { grep -qs '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$1/status"; }

# By what weir says: it may then still run for the sake of a command.
goes_on() {
    is_running "$weir" && ! grep -qE 'recording has ended|: recording ends|cannot write to|size limit reached' err
}

end_load() { if [ "$load" ]; then kill -KILL "$load" 2>/dev/null || true; fi; }

end_what_is_left() {
    kill -KILL "$weir" "${helpers[@]}" 2>/dev/null || true
    end_load
}

load_runs() { is_running "$load"; }

# await_line DESCRIPTOR CONDITION WHAT: into `line`; nothing when the condition does not hold any more, and nothing has
# come for 0.2 s.
await_line() {
    local part until_s=$((SECONDS + ${WEIR_CHAOS_LIMIT_S:-30})) ended=no
    line=""
    until IFS='' read -r -t 0.2 -u "$1" part; do
        line+=$part # as much as had come
        [ $ended = no ] || return 0
        if ! "$2"; then ended=yes; fi
        ((SECONDS <= until_s)) || fail "no answer to $3: '$line'"
    done
    line+=$part
}

# demand COMMAND: all that is answered, up to "ack" or an error, in `answer`; nothing once recording has ended.
demand() {
    answer="" line=none
    echo "$1" >&7
    until [[ ! $line || $line = ack || $line = error:* ]]; do
        await_line 8 goes_on "$1"
        answer+=${answer:+ }$line
    done
}

# ---- steps ----

# count CALLS: as what they are, when the load has made them.
count() {
    if [[ $counting = yes ]] && goes_on; then
        wanted=$((wanted + $1))
    elif [[ $counting != no ]]; then
        doubtful=$((doubtful + $1))
    fi
}

# have_load REQUEST...: done when this returns, unless the load has ended.
have_load() {
    load_runs || return 0
    echo "$*" >&5
    await_line 6 load_runs "$*"
    expect_eq "what the load says to '$*'" "${line:-done}" "done"
}

step_load() {
    have_load "$@"
    case $1 in
    calls) count "$2" ;;
    threads) if [ "$plan_target" = task_command ]; then :; else count $(($2 * $3)); fi ;;
    esac
}

# Tasks that are not the load's.
step_storm() { (for ((n = 0; n < $1; n++)); do /bin/true; done) & helpers+=($!); }
step_dd() { dd if=/dev/zero of=ballast bs=1M "count=$1" 2>/dev/null; }
step_pause() { sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"; }

step_ask() {
    goes_on || return 0
    if [[ $1 = -* ]]; then echo "$*" >&7 && return; fi # which wants no answer
    demand "$*"
    expect_answer "$*"
    case $answer in
    *'recording has stopped') counting=maybe ;; # by a snapshot: what comes now is not kept
    ack) note_order "$*" ;;
    esac
}

# note_order COMMAND: what it means for what is recorded from now on. Where a delay or windows have their say, nobody
# knows from here.
note_order() {
    case "$counting $1" in
    "no enable" | "no enable $event") counting=yes ;;
    "yes disable" | "yes disable $event") counting=no ;;
    esac
}

step_long_line() {
    goes_on || return 0
    head -c 5000 /dev/zero | tr '\0' x >&7
    demand ""
    expect_eq "answer to a line of 5000 bytes" "${answer:-error: a control command is longer than 1024 bytes}" \
        'error: a control command is longer than 1024 bytes'
}

# signal NAME TIMES, or TSTP MS: how long it stands then.
step_signal() {
    local n
    goes_on || return 0
    if [ "$1" = TSTP ]; then
        kill -TSTP "$weir"
        step_pause "$2"
        kill -CONT "$weir"
        return
    fi
    for ((n = 0; n < $2; n++)); do kill "-$1" "$weir" 2>/dev/null || true; done
}

# freeze MS CALLS: made while weir stands.
step_freeze() {
    goes_on || return 0
    kill -STOP "$weir"
    have_load calls "$2"
    step_pause "$1"
    kill -CONT "$weir"
    count "$2"
}

# hold THREAD MS CALLS: the same with one thread, by name, of which there may be none.
step_hold() {
    local comms
    goes_on || return 0
    mapfile -t comms < <(grep -ls "^$1" /proc/"$weir"/task/*/comm || true)
    [ ${#comms[@]} -gt 0 ] || return 0
    local thread=${comms[0]#/proc/*/task/}
    exec 9> >(exec "$WEIR_LOAD" hold "${thread%/comm}" >held 2>&1)
    local holder=$!
    helpers+=("$holder")
    have_load calls "$3"
    step_pause "$2"
    exec 9>&-
    wait "$holder" || true # the thread may have ended meanwhile
    count "$3"
}

cpu1=/sys/devices/system/cpu/cpu1/online

may_change_the_machine() { [ "${WEIR_CHAOS_MACHINE:-}" = 1 ]; }

# cpu1 MS: off for so long. Calls are made on CPU 0, whatever is recorded.
step_cpu1() {
    may_change_the_machine && [ -e $cpu1 ] || return 0
    set_knob $cpu1 0
    have_load calls 100
    step_pause "$1"
    write_knob $cpu1 1
    count 100
    if [[ $plan_target != first_cpu ]]; then sleep 0.3; fi # until its events are open again
}

step_memory() {
    may_change_the_machine || return 0
    head -c "${1}M" /dev/zero | tail -c 1 | wc -c >/dev/null
}

step_fill() {
    if [[ $plan_output = full_* ]]; then dd if=/dev/zero of=out/ballast bs=64K 2>/dev/null || was_filled=yes; fi
}

step_free() { rm -f out/ballast; }

step_move() {
    if [ ! -e out/it.data ] || [ "$output" = - ] || ! goes_on; then return; fi
    mv out/it.data out/moved.$((moves += 1)) 2>/dev/null && was_moved=yes
}

step_remove() {
    if [ ! -e out/it.data ] || [ "$output" = - ] || ! goes_on; then return; fi
    rm -r out/it.data
    was_removed=yes exact=no
}

# take_step WORDS
take_step() {
    # shellcheck disable=SC2086 # several words
    "step_${1%% *}" ${1#"${1%% *}"}
    goes_on || ended_early=yes exact=no
}

# ---- end ----

end_recording() {
    # shellcheck disable=SC2086 # several words
    set -- $plan_ending
    case $1 in
    load_ends) if load_runs; then echo "exit $2" >&5; fi ;;
    signal) send_to_weir "${@:2}" ;;
    kill) send_to_weir "$2" ;;
    ask) echo stop >&7 ;;
    esac
    await_end
}

send_to_weir() {
    local name
    for name; do kill "-$name" "$weir" 2>/dev/null || true; done
}

# A recording of the machine does not end with the load: a signal ends it. The command of a recording that has ended
# may run on, and is ended then.
await_end() {
    local ms limit_ms=$((1000 * ${WEIR_CHAOS_LIMIT_S:-30}))
    if [[ $plan_target = machine || $plan_target = first_cpu ]] && [[ $plan_ending = load_ends* ]]; then
        send_to_weir INT
    fi
    for ((ms = 0; ms < limit_ms; ms += 20)); do
        is_running "$weir" || break
        if ((ms == limit_ms / 2)); then
            [[ $was_filled = yes ]] || fail "it does not end"
            step_free
        fi
        if [ -e "/proc/$weir" ] && ! goes_on && load_runs; then echo "exit 0" >&5; fi
        sleep 0.02
    done
    ! is_running "$weir" || fail "it does not end in $limit_ms ms"
    await_record
    step_free
}
