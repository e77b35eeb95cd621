# shellcheck shell=bash
# The rows of conformance.sh for the linux-perf-data crate, which has to be compiled first.

needs_perf_events

# samply's reader puts samples in order by rounds, and drops nothing only when these are where they have to be.
test_samples_are_found_in_order() {
    needs_program cargo
    [ -d /usr/share/cargo/registry/linux-perf-data-0.6.0 ] || skip "needs librust-linux-perf-data-dev"
    cp -r "$(dirname "${BASH_SOURCE[0]}")/linux_perf_data" reader
    export CARGO_TARGET_DIR=${WEIR_CARGO_TARGET_DIR:-$PWD/target} # kept from run to run by ctest
    mkdir reader/.cargo
    printf '[source.crates-io]\nreplace-with = "debian"\n[source.debian]\ndirectory = "/usr/share/cargo/registry"\n' \
        >reader/.cargo/config.toml
    # rustup's cargo, where it is that, looks into the user's own home.
    (cd reader && HOME=$(getent passwd "$(id -u)" | cut -d: -f6) CARGO_HOME=$PWD/home cargo build -q --offline) \
        2>cargo.log || fail "cargo: $(cat cargo.log)"
    local options
    for options in '-a -g -e cpu-clock -F 997' '-a -m 16M -e raw_syscalls:sys_enter -c 1' \
        '-a -m 16M -e cpu-clock -e page-faults -e sched:sched_switch'; do
        # shellcheck disable=SC2086 # words
        record $options -o it.data -- "$WEIR_LOAD" spin 200000000
        expect_eq "what linux-perf-data finds with $options" "$("$CARGO_TARGET_DIR"/debug/count-samples it.data)" \
            "$(told_samples) samples, 0 out of order"
    done
}
