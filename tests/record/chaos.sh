# shellcheck shell=bash
# Whole recordings driven at random through their states: a seed chooses what is recorded, how, what happens meanwhile
# and how it ends (chaos_plan.sh), it happens (chaos_steps.sh), and what must hold of every recording is looked at
# (chaos_oracles.sh). In bash, because nearly all of it is other programs: those that record, load, ask and read.
#
# One seed is one case; the one plan that it makes is printed first when it fails. Environment:
#   WEIR_CHAOS_SEEDS     which seeds, such as "17" or "$(seq 1 99)"
#   WEIR_CHAOS_STEPS     how many steps (8)
#   WEIR_CHAOS_MACHINE   1: also switch CPU 1 off and on, and take memory. Else such steps are passed over
#   WEIR_CHAOS_KEEP      a folder into which goes what a seed that failed has left
#   WEIR_CHAOS_LIMIT_S   how long a recording may take to end, 30 s

needs_perf_events
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=tests/record/chaos_plan.sh
. "$here/chaos_plan.sh"
# shellcheck source=tests/record/chaos_steps.sh
. "$here/chaos_steps.sh"
# shellcheck source=tests/record/chaos_oracles.sh
. "$here/chaos_oracles.sh"

held=no

tell_plan() {
    [[ $held = no ]] || return 0
    echo "seed $1, repeated by: WEIR_CHAOS_SEEDS=$1 WEIR_CHAOS_STEPS=${#plan_steps[@]}"
    print_plan
    if [ "${WEIR_CHAOS_KEEP:-}" ]; then
        find . -type p -delete
        mkdir -p "$WEIR_CHAOS_KEEP/seed-$1" && cp -r . "$WEIR_CHAOS_KEEP/seed-$1"
    fi
}

chaos() {
    set -o errtrace
    trap 'echo "${BASH_SOURCE[0]##*/}:$LINENO: $BASH_COMMAND: status $?"' ERR
    draw_plan "$1" "${WEIR_CHAOS_STEPS:-8}"
    at_end tell_plan "$1"
    start_recording
    local step
    for step in "${plan_steps[@]}"; do take_step "$step"; done
    end_recording
    expect_all_that_must_hold
    held=yes
}

for seed in ${WEIR_CHAOS_SEEDS:-1 2}; do eval "test_seed_$seed() { chaos $seed; }"; done
