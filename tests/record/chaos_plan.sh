# shellcheck shell=bash
# What a seed chooses. All of it is drawn before anything happens, so that one seed is one plan, whatever the machine
# does. Sourced by chaos.sh. To try another option or step, add a line to its table.

# NAME OPTIONS: what is recorded. The load is the command of those that are named so.
targets="\
machine -a
first_cpu -C 0
process -p LOAD
command
machine_command -a
task_command --per-thread"

# The event by which calls are found comes first, alone or with others; all but cpu-clock are of period 1.
event=raw_syscalls:sys_enter
events="\
-e $event --filter FILTER
-e $event
-e $event --filter FILTER -e cpu-clock/period=1000000/
-e $event --filter FILTER -e page-faults/period=1/ -e sched:sched_switch
-e {$event,page-faults/period=1/}"

# NAME OPTIONS: what becomes of it. The names that begin with full_ are on a small file system.
outputs="\
plain
z -z
memory -M 8M
memory_at_exit -M 8M --snapshot-on-exit
overwrite --overwrite
append -A
switch --switch-output
switch_size --switch-output=1M
switch_time --switch-output=1s
newest --switch-output=1M --switch-max-files 2
memory_switch -M 8M --switch-output
keep -M 8M --snapshot-keep 2
stream -o -
size --max-size=3M
full_stop --on-full=stop
full_suspend --on-full=suspend
full_rotate --on-full=rotate --switch-output=2M --buffer-size 4M"

# Small ones lose.
rings="\
-m 16K
-m 128K
-m 4M
-m 4M --threads=package
-m 128K --threads=package --buffer-size 2M"

delays="\
-D 50
-D -1
-D 30-200,300-100000"

others="\
-z
--tail-synthesize
--sync
--buildid-mmap
--namespaces --all-cgroups
-d
-g
--exclude-perf
-B
--no-buffering
--shed=cpus
--switch-events
-k monotonic
--timestamp-filename
--on-rotate true
--max-loss 0"

# OUTPUT OPTION: of others, what is refused there.
apart="\
z -z
append -z
append --timestamp-filename
append --on-rotate
stream --sync
stream --timestamp-filename
stream --on-rotate"

# What happens meanwhile; A..B is a number that is drawn. Those of load are made by the load, one at a time.
steps="\
load calls 1..3000
load calls 1..3000
load calls 20000..60000
load threads 1..8 100..2000
load forks 2..15
load maps 20..300
load names 5..50
storm 10..60
dd 1..64
pause 1..300
pause 300..1200
ask ping
ask status
ask evlist
ask evlist -v
ask evlist -g
ask evlist -F
ask enable
ask disable
ask enable $event
ask disable $event
ask dump
ask snapshot
ask snapshot
ask snapshot-alloc
ask snapshot-alloc
ask switch
ask switch
ask -switch
ask nonsense
long_line
signal USR2 1..4
signal USR2 1..1
signal WINCH 1..3
signal TSTP 1..200
freeze 1..300 100..20000
hold weir-writer 1..300 100..3000
hold weir-reader 1..300 100..3000
hold weir-finisher 1..300 100..3000
cpu1 0..300
fill
free
move
remove
memory 50..300"

# How it ends. SIGUSR1 means nothing to weir, and ends it as any program.
endings="\
load_ends 0
load_ends 7
signal INT
signal TERM TERM
signal HUP
signal QUIT INT
ask stop
signal INT
load_ends 0
kill KILL
kill USR1
kill KILL"

# draw FROM TO: a number, in $drawn. In this shell, and in no other: those have numbers of their own.
draw() { drawn=$(($1 + (RANDOM * 32768 + RANDOM) % ($2 - $1 + 1))); }

# pick TABLE: a line of it, in $picked.
pick() {
    local lines
    mapfile -t lines <<<"$1"
    draw 0 $((${#lines[@]} - 1))
    picked=${lines[drawn]}
}

# draw_numbers LINE: with a number for each range, in $picked.
draw_numbers() {
    local word words=()
    for word in $1; do
        if [[ $word =~ ^([0-9]+)\.\.([0-9]+)$ ]]; then
            draw "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
            word=$drawn
        fi
        words+=("$word")
    done
    picked="${words[*]}"
}

# draw_other: one of the others that goes with the output, into plan_options.
draw_other() {
    pick "$others"
    if ! grep -q "^$plan_output ${picked%% *}\$" <<<"$apart" && [[ " $plan_options " != *" ${picked%% *} "* ]]; then
        plan_options+=" $picked"
    fi
}

# draw_plan SEED STEPS
draw_plan() {
    local n
    RANDOM=$1
    for ((n = 0; n < 16; n++)); do draw 0 1; done # the first ones of neighbors are alike
    pick "$targets" && plan_target=${picked%% *} plan_options=${picked#"${picked%% *}"}
    pick "$outputs" && plan_output=${picked%% *} plan_options+=${picked#"${picked%% *}"}
    pick "$events" && plan_options+=" $picked"
    pick "$rings" && plan_options+=" $picked"
    draw 0 4 && plan_delay="" && if [ "$drawn" = 0 ]; then pick "$delays" && plan_delay=$picked; fi
    draw 0 2 && for ((n = drawn; n > 0; n--)); do draw_other; done
    plan_steps=()
    for ((n = 0; n < $2; n++)); do
        pick "$steps" && draw_numbers "$picked"
        plan_steps+=("$picked")
    done
    pick "$endings" && plan_ending=$picked
}

print_plan() {
    echo "target  $plan_target"
    echo "output  $plan_output"
    echo "options $plan_options $plan_delay"
    printf 'step    %s\n' "${plan_steps[@]}"
    echo "ending  $plan_ending"
}
