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
    record_by_perf --buildid-all -o perf.data -- "$WEIR_LOAD" spin 50000000
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
    record_by_perf --buildid-all -o perf.data -- "$WEIR_LOAD" spin 50000000
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

# variant FROM TO: a copy with another build id.
variant() {
    python3 - "$1" "$2" "$(id_of "$1")" <<'END'
import os, sys
source, target, build_id = sys.argv[1], sys.argv[2], bytes.fromhex(sys.argv[3])
content = open(source, "rb").read()
assert content.count(build_id) == 1
open(target, "wb").write(content.replace(build_id, bytes([build_id[0] ^ 0xFF]) + build_id[1:]))
os.chmod(target, 0o755)
END
    [ "$(id_of "$1")" != "$(id_of "$2")" ] || fail "the copy has the same id"
}

# Both ran, and the first is gone: nothing of the second may be shown for its addresses. Without ids in the maps weir
# reads the first's within a second.
test_replaced_program_is_two_programs() {
    local way
    needs_program python3
    variant "$WEIR_LOAD" second
    for way in --buildid-mmap --no-buildid-mmap; do
        cp "$WEIR_LOAD" program
        record "$way" -e cpu-clock -F 2000 -o it.data -- \
            bash -c "./program spin 50000000; [ $way = --buildid-mmap ] || sleep 1.5
                cp second new; mv new program; ./program spin 50000000"
        "$WEIR_PROGRAM" report --stdio it.data >text 2>err
        expect_at_least "rows of the second's symbol, $way" "$(grep -c '/program[[:space:]]hot_loop$' text)" 1
        expect_at_least "rows of the first, $way" "$(grep -c '/program[[:space:]]\[unknown\]$' text)" 1
        expect_line err "no symbols of 1 file: changed since the recording"
        expect_eq "the id that perf finds, $way" "$(ids it.data | grep "$PWD/program")" \
            "$(id_of "$WEIR_LOAD") $PWD/program"
    done
}

test_replaced_program_has_both_ids_in_the_maps() {
    needs_program python3
    variant "$WEIR_LOAD" second
    cp "$WEIR_LOAD" program
    record --buildid-mmap -e cpu-clock -F 2000 -o it.data -- \
        bash -c './program spin 50000000; cp second new; mv new program; ./program spin 50000000'
    perf buildid-list -H -i it.data 2>/dev/null | grep "$PWD/program" | sort >hit
    expect_eq "ids" "$(cut -d' ' -f1 hit)" "$(for file in "$WEIR_LOAD" second; do id_of "$file"; done | sort)"
}

# Of files that no path leads to, and of one whose path leads to another file outside.
test_memfd_and_mount_namespace_have_the_id_of_what_ran() {
    local way
    needs_program python3 unshare
    unshare -m true 2>/dev/null || skip "needs mount namespaces"
    variant "$WEIR_LOAD" second
    cp "$WEIR_LOAD" program
    for way in --buildid-mmap --no-buildid-mmap; do
        # Both programs are there until weir has read their mappings.
        record "$way" -a -e dummy -o it.data -- python3 - second <<'END'
import os, subprocess, sys, time
memory = os.memfd_create("made", 0)
os.write(memory, open(sys.argv[1], "rb").read())
commands = [
    [f"/proc/{os.getpid()}/fd/{memory}", "mapped", "1"],
    ["unshare", "-m", "sh", "-c", "mount --bind second program && exec ./program mapped 1"],
]
started = [subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[memory]) for command in commands]
time.sleep(1.5)
for process in started:
    process.communicate()
    assert process.returncode == 0
END
        ids it.data >ours
        expect_line ours "$(id_of second) /memfd:made (deleted)"
        expect_line ours "$(id_of second) $PWD/program"
        expect_no_line ours "$(id_of program) $PWD/program"
    done
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

# expect_cached DIR FILE: perf finds the file, and a program can be started, by its id.
expect_cached() {
    local id
    id=$(id_of "$2")
    perf --buildid-dir "$1" buildid-cache -l >cached 2>/dev/null
    expect_line cached "$id $(realpath "$2")"
    cmp "$2" "$1/.build-id/${id:0:2}/${id:2}/elf" || fail "the copy differs"
    [ -x "$1/.build-id/${id:0:2}/${id:2}/elf" ] || fail "the copy cannot be executed"
}

test_directory_that_is_named_is_filled() {
    local way
    # shellcheck disable=SC2016 # eval expands them
    local -A ways=(
        [option]='"$WEIR_PROGRAM" record --buildid-dir "$PWD/option" -o it.data'
        [before]='"$WEIR_PROGRAM" --buildid-dir "$PWD/before" record -o it.data'
        [perfs]='env -u WEIR_CONFIG PERF_CONFIG=$PWD/perfs.config "$WEIR_PROGRAM" record -o it.data'
        [last]='"$WEIR_PROGRAM" --buildid-dir "$PWD/no" record --buildid-dir "$PWD/last" -o it.data'
    )
    printf '[buildid]\n\tdir = %s/perfs\n' "$PWD" >perfs.config
    for way in "${!ways[@]}"; do
        eval "${ways[$way]} -e cpu-clock -- '$WEIR_LOAD' getppid 1000" 2>err || fail "$way failed"
        expect_cached "$PWD/$way" "$WEIR_LOAD"
    done
    [ ! -e no ] || fail "a directory that another option overrides was made"
    record -N --buildid-dir "$PWD/none" -o it.data -- "$WEIR_LOAD" getppid 1
    record --buildid-dir "$PWD/none" -N -o it.data -- "$WEIR_LOAD" getppid 1
    [ ! -e none ] || fail "-N made the cache"
}

# Another machine gets all that the samples are in from there, the kernel's addresses among it.
test_archive_of_a_recording_is_whole() {
    record -e cpu-clock -F 4000 --buildid-dir "$PWD/cache" -o it.data -- "$WEIR_LOAD" getppid 1000000
    perf --buildid-dir "$PWD/cache" archive it.data >archive.out 2>&1 || fail "perf archive: $(cat archive.out)"
    expect_no_line archive.out "Cannot"
    perf buildid-list --with-hits -i it.data 2>/dev/null | cut -d' ' -f1 | grep -v '^0*$' | sort >hit
    expect_at_least "objects with samples" "$(wc -l <hit)" 2
    tar tf it.data.tar.* | sed -n 's,^\.build-id/\(..\)/\([0-9a-f]*\)$,\1\2,p' | sort >archived
    expect_eq "objects with samples that are not in the archive" "$(comm -23 hit archived | xargs)" ""
}

# Root records with the HOME of another user, who has put links there.
test_links_in_the_home_of_another_user_lead_nowhere() {
    mkdir -m 711 "$HOME/theirs" elsewhere
    ln -s "$PWD/elsewhere" theirs/.debug
    chown -h 65534:65534 theirs theirs/.debug
    HOME=$PWD/theirs record --buildid-cache -o it.data -- "$WEIR_LOAD" getppid 1
    expect_line err "cannot use the build-id cache $PWD/theirs/.debug: it is a symbolic link"
    rm theirs/.debug
    mkdir -p theirs/.debug
    chown 65534:65534 theirs/.debug
    HOME=$PWD/theirs record --buildid-cache -o it.data -- "$WEIR_LOAD" getppid 1
    expect_line err "cannot use the build-id cache $PWD/theirs/.debug: it belongs to another user"
    expect_files elsewhere
    expect_files theirs/.debug
}
