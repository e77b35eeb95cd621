# shellcheck shell=bash
# What must hold of every recording, whatever its plan was. Sourced by chaos.sh.

# shellcheck disable=SC2154 # plan_*: chaos_plan.sh; wanted, was_*, ...: chaos_steps.sh

# ---- what weir says ----

# All that it may warn of in these plans; anything else, and any line of another kind, is a finding.
warnings="\
control: (unknown control command|a control command is longer|this recording has nothing to)
control: (no snapshot|snapshot not allocated|the last snapshot is still being written)
(dump|switch)(, asked for by SIGUSR2)?: (no snapshot|the last snapshot is still being written|recording has)
switch: cannot write the head of out/it\.data: No space left on device
snapshot not allocated: recording stops here
the output '.*' was moved or removed
'.*' was removed while recording
(SYSTEM/CPU|PER-THREAD) switch overriding
CPU 1 (went offline|came online)
files end faster than they can be finished
files get larger than the size of --switch-output
there is no room in 'out': (recording|the oldest files|there is no finished file)
less than --keep-free
recording has ended.*; the command runs on
--on-full=rotate may find no file to remove
'.*' lacks [0-9]+ samples that could not be written
weir's own samples of .* are recorded
cannot write to .*No space left on device
the maps of [0-9]+ processes
the sideband thread missed [0-9]+ blocks
[0-9]+ build ids could not be read in time"

# The lines of -v that do not begin with weir's name: the ledger and what stands below it.
plain_lines="\
^ +(CPU|TASK) +EVENT +WRITTEN
^ +([0-9]+|all|- )
^ +[0-9a-z]+ +[^ ]+( +[0-9]+){9}$
^[0-9]+ rings? of
^(drained|readers|compressed) [a-z0-9]
^\[ weir record: .* \]$
^(hint|weir): "

expect_documented_messages() {
    local line
    ! grep -nE 'Sanitizer|runtime error|[Aa]ssert|Unknown error|Success$|\(null\)' err || fail "a fault of weir's"
    line=$(grep -vEf <(echo "$plain_lines") err | head -1 || true)
    expect_eq "a line of no kind" "$line" ""
    line=$(sed -n 's/^weir: warning: //p' err | grep -vEf <(echo "^${warnings//$'\n'/$'\n'^}") | head -1 || true)
    expect_eq "a warning of no known kind" "$line" ""
}

# expect_answer COMMAND: that `answer` is one of those that docs/control.md has for it.
expect_answer() {
    local form='^ack$'
    case $1 in
    ping | evlist*) ;;
    enable* | disable*) form='^(ack$|error: memory holds a permanent snapshot)' ;;
    status) form='^\{"state":"(enabled|disabled|suspended|stopped)",.*\} ack$' ;;
    nonsense) form="^error: unknown control command 'nonsense'" ;;
    *) form='^(ack$|error: [a-z])' ;;
    esac
    [ "$answer" ] || return 0 # it has ended meanwhile
    [[ $answer =~ $form ]] || fail "answer to $1: '$answer'"
}

was_killed() { [[ $plan_ending = kill* ]] && [[ $ended_early = no ]]; }

# Removed, or away so that there is nothing to append to.
has_lost_its_output() { [[ $was_removed = yes || $plan_output$was_moved = appendyes ]]; }

is_full() { grep -q 'No space left on device\|there is no room' err; }

# expect_status: of what the plan ends with, or of what has ended it before.
expect_status() {
    local allowed=""
    case $plan_ending in
    kill*) allowed="$((128 + $(kill -l "${plan_ending#* }")))" ;;
    load_ends*) if has_command; then allowed=${plan_ending#* }; fi
        case $plan_target in process) allowed=0 ;; machine | first_cpu) allowed=130 ;; esac ;;
    "signal QUIT INT") allowed="130 131" ;; # both are there when weir looks
    signal*) allowed=${plan_ending#* } && allowed=$((128 + $(kill -l "${allowed%% *}"))) ;;
    "ask stop") allowed=0 && if has_command; then allowed=143; fi ;;
    esac
    if [[ " $plan_options " = *" --max-loss 0 "* ]]; then allowed+=" 3"; fi
    if is_full || has_lost_its_output; then allowed+=" 125 0"; fi
    if [[ $ended_early = yes ]]; then
        [[ $plan_output = size ]] || is_full || fail "it has ended of itself, with status $status"
        allowed+=" 0 3 125 143"
    fi
    [[ " $allowed " = *" $status "* ]] || fail "status $status, expected one of $allowed"
}

# Row by row of the ledger; cpu-clock is sampled by time, dummy has no samples, and some page faults none of their own
# (ARCHITECTURE.md, invariant 3).
expect_balance() {
    grep -qE '^ +(CPU|TASK) +EVENT ' err || { [ "$status" = 125 ] && return 0; } || fail "there is no ledger"
    awk -F '  +' '
        $3 == "EVENT" { inside = 1; for (i = 4; i < NF; i++) is_part[i]; next }
        $2 == "all" { exit }
        inside && $3 !~ /^(cpu-clock|dummy)/ {
            missing = $NF # COUNTED stands last
            for (i in is_part) missing -= $i
            if ($3 ~ /^page-faults/) slack += 10 + $NF / 100
            sum += missing
            if (missing != 0) rows = rows $0 " lacks " missing "\n"
        }
        END { if (sum < -slack || sum > slack) printf "%s", rows }' err >unbalanced
    expect_eq "rows that do not balance" "$(cat unbalanced)" ""
}

# ---- files ----

# files_of_output: what is there, by name, into `files`.
list_files() {
    mapfile -t files < <(find out -mindepth 1 -maxdepth 1 ! -name ballast ! -name '*.old' | sort)
    if [ "$output" = - ]; then files=(stream); fi
}

# expect_names: those of the mode, and no others; two of one moment differ by a number. What was to be continued and has
# been moved stays beside its place.
expect_names() {
    local pattern='^out/(it\.data)$' stamp='\.20[0-9]{14}(-[0-9]{3})?(\.[0-9]+)?' moved='^out/moved' file
    if [ "$plan_output" = append ]; then moved='^out/(moved|it\.data\.appending$)'; fi
    case " $plan_options " in
    *' --switch-output'* | *' --timestamp-filename '*) pattern="^out/it\\.data$stamp\$" ;;
    *' --snapshot-keep '* | *' -M '* | *' --overwrite '*) pattern="^out/it\\.data($stamp)?\$" ;;
    *' -o - '*) pattern='^stream$' ;;
    esac
    for file in "${files[@]}"; do
        [[ $file =~ $pattern || ($was_moved = yes && $file =~ $moved) ]] || fail "a file of another name: $file"
    done
    if [[ $was_removed$was_moved = nono ]] && ! is_full; then
        expect_at_least "files" ${#files[@]} 1
        case $plan_output in newest | keep) expect_at_least 2 2 ${#files[@]} ;; esac
    fi
}

# expect_readable FILE: by weir and by perf, who find as many samples; into `samples`.
expect_readable() {
    local file=$1 name=$1
    if ! "$WEIR_PROGRAM" verify "$file" >verify.out 2>&1; then
        is_full || [[ $was_removed = yes ]] || fail "verify of $name: $(cat verify.out)"
        rm -f recovered
        "$WEIR_PROGRAM" recover -q -o recovered "$file" 2>recover.err || {
            grep -q 'no whole record' recover.err && samples=0 && return
            fail "recover of $name: $(cat recover.err)"
        }
        file=recovered
        "$WEIR_PROGRAM" verify "$file" >verify.out 2>&1 || fail "verify of $name, recovered: $(cat verify.out)"
    fi
    samples=$(samples_of "$file")
    calls=$((calls + $(calls_of "$file")))
}

# perf reads the stream, and what perf says of it stands in no file of its own.
samples_of() {
    local told
    if [ "$1" = stream ]; then
        perf_bare script -i - -F comm,tid,time,event,trace --ns <"$1" >script.out 2>perf.err || fail "perf script of $1"
        sed -i -e '/^\t/d' -e '/^$/d' script.out # call chains, which of a stream it prints whatever is asked for
        wc -l <script.out
        return
    fi
    told=$(report_samples "$1")
    expect_no_complaint "perf report of $1"
    perf_bare script -i "$1" -F comm,tid,time,event,trace --ns >script.out 2>perf.err || fail "perf script of $1"
    expect_no_complaint "perf script of $1"
    expect_eq "samples of $1 by perf script and perf report" "$(wc -l <script.out)" "$told"
    echo "$told"
}

# What perf says of losses is of the files; whether they are told is what the counts are for. Nor does it matter which
# events have no trace to print.
expect_no_complaint() {
    sed -i -e "/^'trace' not valid/d" -e '/^Warning:$/d' -e '/^Processed [0-9]* .* lost/d' -e '/^Check IO/d' \
        -e '/^$/d' perf.err
    [ ! -s perf.err ] || fail "$1: $(cat perf.err)"
}

# calls_of FILE: those of the load, which perf script has just listed. None is there twice. With --tail-synthesize a
# stream has its name behind them, if it has it at all; with -p there is nobody else.
calls_of() {
    local name=$WEIR_LOAD_NAME number
    number=$("$WEIR_LOAD" number getppid)
    if [[ " $plan_options " == *' -p LOAD '*' --tail-synthesize '* ]]; then name="($name|:[0-9]+)"; fi
    { grep -E "^ *$name .* NR $number " script.out || true; } | tee -a calls.out | wc -l
}

lost_calls() {
    local column sum=0 replaced
    for column in evicted shed lost_in_ring lost_writing; do sum=$((sum + $(ledger_column $column "$event"))); done
    replaced=$(sed -n 's/.*newer ones replaced .*, with \([0-9]*\) samples.*/\1/p' err)
    echo $((sum + ${replaced:-0}))
}

expect_files() {
    local file sum=0 told
    calls=0
    list_files
    expect_names
    : >calls.out
    for file in "${files[@]}"; do
        expect_readable "$file"
        sum=$((sum + samples))
    done
    expect_eq "calls that are there twice" "$(sort calls.out | uniq -d | wc -l)" 0
    [ "$calls" -le $((wanted + doubtful)) ] || fail "$calls calls of $wanted, and $doubtful that may be there"
    if has_lost_its_output; then return; fi
    told=$(told_samples)
    if [[ $plan_output = newest || $plan_output = full_rotate || $plan_output = keep ]]; then
        expect_at_least "samples that were told" "$told" "$sum"
    else
        expect_eq "samples in all files" "$sum" $((told + before_samples))
    fi
    if [[ $exact = yes ]]; then expect_at_least "calls and losses" $((calls + $(lost_calls))) "$wanted"; fi
}

# ---- what a kill leaves ----

# Each file is recovered; what continues another has left that as it was.
expect_recoverable_files() {
    local file
    if [ "$output" = - ]; then
        "$WEIR_PROGRAM" dump -i stream >dumped 2>dump.err || [ $? = 1 ] || fail "dump: $(cat dump.err)"
        return
    fi
    if [ "$plan_output" = append ] && [[ $was_removed$was_moved = nono ]]; then
        expect_eq "what was to be continued" "$(md5sum <out/it.data)" "$before_sum"
    fi
    list_files
    calls=0
    : >calls.out
    for file in "${files[@]}"; do
        rm -rf recovered
        if "$WEIR_PROGRAM" recover -q -o recovered "$file" 2>recover.err; then
            "$WEIR_PROGRAM" verify recovered >verify.out 2>&1 || fail "verify of $file, recovered: $(cat verify.out)"
            samples=$(samples_of recovered)
            calls=$((calls + $(calls_of recovered)))
        else
            grep -q 'no whole record' recover.err || fail "recover of $file: $(cat recover.err)"
        fi
    done
    expect_eq "calls that are there twice" "$(sort calls.out | uniq -d | wc -l)" 0
    [ "$calls" -le $((wanted + doubtful)) ] || fail "$calls calls of $wanted, and $doubtful that may be there"
}

# ---- what is left of processes ----

expect_nothing_left() {
    end_load
    wait "${helpers[@]}" "$load" 2>/dev/null || true
    expect_eq "processes that are left" "$(list_processes)" ""
    expect_eq "hidden files" "$(find out -name '.*' ! -name out)" ""
}

# Those that stand in this folder, by name, but for this shell.
list_processes() {
    local folder pid
    for folder in /proc/[0-9]*/cwd; do
        pid=${folder#/proc/} pid=${pid%/cwd}
        if [ "$pid" != $$ ] && [ "$pid" != "$BASHPID" ] && [ "$(readlink "$folder" 2>/dev/null)" = "$PWD" ]; then
            echo "$pid $(cat "/proc/$pid/comm" 2>/dev/null)"
        fi
    done
}

expect_all_that_must_hold() {
    expect_documented_messages
    expect_status
    if was_killed; then
        expect_recoverable_files
        return
    fi
    expect_balance
    expect_files
    expect_nothing_left
}
