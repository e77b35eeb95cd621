# shellcheck shell=bash
# libweir: its example, built against the installed tree as a user builds it, and run under weir.

needs_perf_events
needs_program cc pkg-config

calls=1000 # of each half of the example; the second snapshot replaces the first
memory=(-e raw_syscalls:sys_enter -c 1 -M 8M -o it.data)

# The example as ./snapshot, with what is installed below prefix/.
build_example() {
    local flags
    cmake --install "$WEIR_BUILD" --component libweir --prefix "$PWD/prefix" >install.log || fail "$(cat install.log)"
    export PKG_CONFIG_PATH
    PKG_CONFIG_PATH=$(dirname "$(find prefix -name weir.pc)")
    read -r -a flags <<<"$(pkg-config --cflags --libs weir)"
    LD_LIBRARY_PATH=$(pkg-config --variable=libdir weir)
    export LD_LIBRARY_PATH
    cc -Wall -Werror -o snapshot "$(find prefix -name snapshot.c)" "${flags[@]}"
}

example_calls() {
    perf_bare script -i it.data --comm snapshot -F comm,trace 2>perf.err |
        grep -c " NR $("$WEIR_LOAD" number getppid) "
}

test_example_takes_two_snapshots() {
    build_example
    record "${memory[@]}" -- ./snapshot >said
    expect_eq "words" "$(cat said)" "two snapshots taken"
    expect_eq "calls" "$(example_calls)" $calls
    expect_line err "Took 2 snapshots; newer ones replaced 1 of them, with "
}

test_example_runs_without_weir() {
    build_example
    ./snapshot >said 2>said.err || fail "status $?"
    expect_eq "words" "$(cat said)" ""
    expect_line said.err "not recorded by weir: No such file or directory"
}

# The command outlives its recording, and asks when nobody answers any more.
test_example_runs_on_when_the_recording_has_ended() {
    build_example
    weir_record -D 0-1 "${memory[@]}" -- sh -c 'trap "" TERM
        until grep -q "Events disabled" err; do sleep 0.02; done; timeout 20 ./snapshot >said 2>said.err'
    expect_eq "status, of the example" "$status" 0
    expect_eq "words" "$(cat said)" ""
}

test_what_is_installed_is_whole() {
    build_example
    for file in include/weir/snapshot.h share/man/man3/weir-snapshot.3; do
        [ -e "prefix/$file" ] || fail "$file is not installed"
    done
    cc -Wall -Werror -o static "$(find prefix -name snapshot.c)" -Iprefix/include "$(find prefix -name libweir.a)"
    nm -D --defined-only "$(find prefix -name libweir.so)" | awk '{ print $3 }' | sort >has
    grep -o 'weir_[a-z_]*(int\|weir_[a-z_]*(void\|weir_[a-z_]*(const' prefix/include/weir/snapshot.h |
        sed 's/(.*//' | sort >declared
    expect_eq "symbols" "$(cat has)" "$(cat declared)"
}
