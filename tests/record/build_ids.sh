# shellcheck shell=bash
# Build ids: those in the file are those that perf finds, they are there for files that are gone, and reading them does
# not hold up the end.

needs_perf_events

# ids FILE: "ID NAME" of each entry, sorted.
ids() { perf buildid-list -i "$1" | sort; }

# The entries of both files that have one name have one id. Not for -a: perf takes the files of other roots for ours.
expect_ids_agree() {
    local differing
    differing=$(sort -u -k2 -k1,1 "$1" "$2" | awk '{ id = $1; sub(/^[^ ]+ /, ""); if (seen[$0]++) print }')
    expect_eq "names with two ids" "$differing" ""
    [ -n "$(comm -12 "$1" "$2")" ] || fail "no entry in common"
}

test_no_table_when_it_is_not_wanted() {
    record -B -o it.data -- "$WEIR_LOAD" getppid 10
    perf report --header-only -i it.data >header 2>/dev/null
    expect_line header " BUILD_ID " # among the missing features
    expect_no_line err "sideband:"
}

test_workload_libraries_and_kernel_have_the_ids_that_perf_writes() {
    record -o it.data -- "$WEIR_LOAD" spin 50000000
    perf record -q --buildid-all -o perf.data -- "$WEIR_LOAD" spin 50000000 2>/dev/null
    ids it.data >ours
    ids perf.data >perfs
    expect_ids_agree ours perfs
    expect_line ours "$(basename "$WEIR_LOAD")"
    expect_line ours "[kernel.kallsyms]"
    expect_line ours "[vdso]"
    expect_line ours libc.so
    expect_eq "first entry" "$(perf buildid-list -i it.data | head -1 | cut -d' ' -f2)" "[kernel.kallsyms]"
}

id_of() { perf buildid-list -i "$1" | cut -d' ' -f1; }

# The kernel's own: no mapped file is opened for them.
test_build_ids_in_maps_are_the_same() {
    record --buildid-mmap -o it.data -- "$WEIR_LOAD" spin 50000000
    perf record -q --buildid-all -o perf.data -- "$WEIR_LOAD" spin 50000000 2>/dev/null
    ids it.data >ours
    ids perf.data >perfs
    expect_ids_agree ours perfs
    expect_line ours "$(basename "$WEIR_LOAD")"
    perf script -i it.data --show-mmap-events 2>/dev/null | grep 'PERF_RECORD_MMAP2.*/libc.so' >maps
    expect_line maps "<$(grep libc.so ours | cut -d' ' -f1)>"
    perf evlist -v -i it.data >attrs
    expect_line attrs "build_id: 1"
}

test_build_ids_in_maps_need_no_table() {
    record -B --buildid-mmap -o it.data -- "$WEIR_LOAD" spin 50000000
    perf report --header-only -i it.data >header 2>/dev/null
    expect_line header " BUILD_ID "
    ids it.data >ours # of the files that samples hit
    expect_line ours "$(basename "$WEIR_LOAD")"
}

# Side records are looked at once a second at least: the program is deleted before, and still mapped then.
test_program_that_is_deleted_while_it_runs_has_its_id() {
    cp "$(type -P sleep)" gone
    record -a -o it.data -- bash -c './gone 2 & sleep 0.1; rm gone; wait'
    ids it.data >ours
    expect_line ours "$(id_of "$(type -P sleep)") $(pwd)/gone"
}

test_replaced_program_has_the_id_of_what_ran() {
    cp "$(type -P true)" program
    record -a -o it.data -- bash -c "./program; sleep 2; cp $WEIR_LOAD new; mv new program"
    ids it.data >ours
    expect_line ours "$(id_of "$(type -P true)") $(pwd)/program"
}

test_symbols_are_found_by_the_id() {
    record -e cpu-clock -F 2000 -o it.data -- "$WEIR_LOAD" spin 100000000
    perf report --stdio -i it.data 2>perf.err >text
    expect_line text hot_loop
    expect_no_line perf.err build
}

# What perf needs to read a recording of a program that is gone.
test_cache_is_filled_when_asked_and_perf_finds_files_in_it() {
    cp "$WEIR_LOAD" gone
    record -e cpu-clock -F 2000 -o without.data -- ./gone spin 100000000
    [ ! -e .debug ] || fail "a cache without --buildid-cache"
    record -e cpu-clock -F 2000 --buildid-cache -o it.data -- ./gone spin 100000000
    perf buildid-cache -l >cached 2>/dev/null # HOME is this folder
    expect_line cached "$(id_of gone) $(pwd)/gone"
    expect_line cached "[kernel.kallsyms]"
    rm gone
    perf report --stdio -i it.data >text 2>/dev/null
    expect_line text hot_loop
    record --buildid-cache --buildid-dir "$PWD/other" -o it.data -- "$WEIR_LOAD" getppid 1
    [ -d other/.build-id ] || fail "nothing in --buildid-dir"
    record --buildid-cache --buildid-dir /proc/none -o it.data -- "$WEIR_LOAD" getppid 1
    expect_line err "cannot make the build-id cache /proc/none"
    expect_readers_agree it.data
}
