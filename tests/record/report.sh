# shellcheck shell=bash disable=SC2154 # here: of run
# `weir report` counts each sample where `perf report` does, of perf's own files and of weir's.

needs_perf_events
needs_program python3

expect_like_perf() { python3 "$here/report_like_perf.py" "$WEIR_PROGRAM" "$@" >wrong || fail "$(cat wrong)"; }

# A load of several programs, names of tasks, forks and system calls.
load=("$WEIR_LOAD" forks 3 1)

# Whole machines are recorded once by each: what others run there has symbols, which perf takes long to read.
test_files_of_perf() {
    record_by_perf -e cpu-clock -F 999 -a -z -g -o packed.data -- "${load[@]}"
    perf record -q -e cpu-clock,page-faults -F 4999 -g -o - -- "${load[@]}" >stream.data 2>err
    record_directory directory.data -e page-faults -c 1 -- "${load[@]}"
    expect_like_perf packed.data stream.data directory.data
}

test_files_of_weir() {
    record -a -g -z -e cpu-clock -F 999 -o packed.data -- "${load[@]}"
    record -e cs,page-faults -c 1 -g -o events.data -- "${load[@]}"
    record -e '{cs,page-faults}:S' -c 1 -o group.data -- "${load[@]}"
    expect_like_perf packed.data events.data group.data
}

test_stream_that_is_read_from_a_pipe() {
    record -e page-faults -c 1 -o it.data -- "${load[@]}"
    "$WEIR_PROGRAM" report --stdio -q it.data >of_file
    "$WEIR_PROGRAM" record -q -e page-faults -c 1 -o - -- "${load[@]}" 2>err | tee it.stream |
        "$WEIR_PROGRAM" report --stdio -q -o out - || fail "not read"
    "$WEIR_PROGRAM" report --stdio -q it.stream >of_stream
    expect_eq "the report of the pipe" "$(cat out)" "$(cat of_stream)"
}

expect_stacks_like_perf() {
    python3 "$here/folded_like_perf.py" "$WEIR_PROGRAM" "$@" >wrong || fail "$(cat wrong)"
}

test_copied_stacks_are_unwound_by_several_threads() {
    local stacks=${WEIR_STACKS:?is not set: run the test with ctest}
    record -e cpu-clock -F 997 --call-graph dwarf -o command.data -- "$stacks" calls 300
    "$stacks" threads 60000 &
    local pid=$!
    wait_until grep -q stacks "/proc/$pid/comm"
    record_by_perf -e cpu-clock -F 997 --call-graph dwarf -p "$pid" -o perf.data -- sleep 0.4
    kill "$pid"
    wait "$pid" 2>/dev/null || true
    expect_stacks_like_perf command.data perf.data
    local threads
    for threads in 1 7; do
        "$WEIR_PROGRAM" report --folded -q --threads "$threads" command.data | sort >"folded.$threads"
    done
    cmp folded.1 folded.7
    grep -q ';main;call;descend;descend;.*;spin ' folded.7 || fail "$(cat folded.7)"
}

# The program is not there: frames are not guessed, and a note says how the stacks end.
test_copied_stacks_without_their_program_end_there() {
    cp "${WEIR_STACKS:?is not set: run the test with ctest}" program
    record -e cpu-clock:u -F 997 --call-graph dwarf -o it.data -- ./program calls 300
    rm program
    HOME=$PWD/empty "$WEIR_PROGRAM" report --folded it.data >folded 2>err
    grep -qE "warning: [0-9]+ of $(report_samples it.data) copied stacks end in a file that is missing" err ||
        fail "$(cat err)"
    ! grep -q "__libc_start_call_main" folded || fail "a frame above the missing file: $(cat folded)"
}

# Made up, as few machines have such branches.
test_call_stacks_of_branches_like_perf() {
    local stacks=${WEIR_STACKS:?is not set: run the test with ctest}
    needs_program nm
    at() { printf '%x' "$((0x400000 + 16 + 0x$(nm "$stacks" | awk -v name="$1" '$3 == name { print $1 }')))"; }
    python3 "$here/branch_stacks.py" "$stacks" 400000 0 "$(at spin)" "$(at descend)" "$(at call)" >it.data
    expect_stacks_like_perf it.data
    expect_eq "the stack" "$("$WEIR_PROGRAM" report --folded -q it.data)" "branches;call;descend;spin;[unknown] 1"
}

# Made by hand (tests/format/newest_recording.h): the user's two frames are in a record of their own.
test_deferred_call_chains_are_joined() {
    "$WEIR_PROGRAM" report --folded -q "$here/../fuzz/corpus/report/file_newest" >folded
    grep -q '^:4243;\[unknown\];\[unknown\];[^;]* 2$' folded || fail "$(cat folded)"
}

test_folded_counts_every_sample() {
    record -g -e page-faults -c 1 -o it.data -- "${load[@]}"
    "$WEIR_PROGRAM" report --folded -q it.data >folded
    expect_eq "samples" "$(grep -v '^\[lost\]' folded | awk '{ sum += $NF } END { print sum }')" \
        "$(report_samples it.data)"
}

test_json_of_hostile_names_can_stand_in_a_page() {
    local program='</script><script>&x;"'
    cp "$WEIR_LOAD" "./${program//\//-}"
    record -e page-faults -c 1 -o it.data -- "./${program//\//-}" forks 1 1
    "$WEIR_PROGRAM" report --json -q it.data >it.json
    ! grep -q '[<>&]' it.json || fail "an unescaped character: $(grep -o '.\{20\}[<>&].\{20\}' it.json | head -1)"
    python3 - "${program//\//-}" <<'END' || fail "not what was recorded"
import json, sys
recording = json.load(open("it.json"))["recordings"][0]
strings, samples = recording["strings"], recording["samples"]
assert any(text.endswith("/" + sys.argv[1]) for text in strings), strings
assert sys.argv[1][:15] in strings, strings
assert recording["events"][0]["samples"] == samples["rows"] == sum(recording["tables"]["samples"])
assert all(parent < row for row, parent in enumerate(recording["stacks"]["parent"]))
END
}

# A LOST record has the losses of both events under the id of one.
test_losses_of_two_events_are_told_once() {
    record -e raw_syscalls:sys_enter,raw_syscalls:sys_exit -c 1 -m 64K -o it.data -- \
        sh -c "$(while_stopped getppid 20000); $WEIR_LOAD getppid 10"
    "$WEIR_PROGRAM" report --json -q it.data >it.json
    expect_at_least "lost" "$(ledger_column lost_in_ring)" 1000
    expect_eq "lost" "$(sed -n 's/.*"losses":{"total":\([0-9]*\),.*/\1/p' it.json)" "$(ledger_column lost_in_ring)"
}

test_speedscope_has_every_sample() {
    record -g -e page-faults -c 1 -o it.data -- "${load[@]}"
    "$WEIR_PROGRAM" report --speedscope -q it.data >it.json
    python3 - "$(report_samples it.data)" <<'END' || fail "not what was recorded"
import json, sys
file = json.load(open("it.json"))
assert file["$schema"] == "https://www.speedscope.app/file-format-schema.json"
frames = file["shared"]["frames"]
assert all(set(frame) <= {"name", "file"} and frame["name"] for frame in frames)
profile, = file["profiles"]
assert profile["type"] == "sampled" and profile["unit"] == "none" and profile["name"] == "page-faults"
assert len(profile["samples"]) == len(profile["weights"])
assert all(0 <= frame < len(frames) for sample in profile["samples"] for frame in sample)
assert profile["startValue"] == 0 and profile["endValue"] == sum(profile["weights"])
kept = [sample for sample in profile["samples"] if frames[sample[0]]["name"] != "[lost]"]
assert len(kept) == int(sys.argv[1]), len(kept)
END
}

# expect_decoded PROTO MESSAGE FILE: protoc reads FILE into `decoded`, and knows each field.
expect_decoded() {
    protoc --decode="$2" -I "$here/../../report" "$1" <"$3" >decoded 2>err || fail "$(cat err)"
    ! grep -qE '^ *[0-9]+[: ]' decoded || fail "unknown fields: $(grep -E '^ *[0-9]+[: ]' decoded | head -1)"
}

test_pprof_and_perfetto_are_read_by_protoc() {
    needs_program protoc
    record -g -e page-faults -c 1 -o it.data -- "${load[@]}"
    local samples
    samples=$(report_samples it.data)
    "$WEIR_PROGRAM" report --pprof -q -o it.pprof it.data || skip "built without protobuf-c"
    expect_decoded pprof.proto weir.pprof.Profile it.pprof
    expect_eq "samples in the profile" "$samples" "$(awk '/^sample \{/ { first = 1 }
        first && $1 == "value:" { sum += $2; first = 0 } END { print sum }' decoded)"
    expect_line decoded 'string_table: "page-faults"'
    expect_eq "the first string" "$(grep -m1 string_table decoded)" 'string_table: ""'
    "$WEIR_PROGRAM" report --perfetto -q -o it.trace it.data
    expect_decoded perfetto.proto weir.perfetto.Trace it.trace
    expect_eq "samples in the trace" "$samples" "$(grep -c '^    callstack_iid:' decoded)"
}

test_generated_code_has_the_names_of_its_map() {
    needs_program gcc
    cat >jit.c <<'END'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
    static const char loop[] = "\xb9\0\0\0\x10\xff\xc9\x75\xfc\xc3"; /* counts ecx down to 0 */
    char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char name[64];
    memcpy(code, loop, sizeof(loop));
    snprintf(name, sizeof(name), "/tmp/perf-%d.map", getpid());
    puts(name);
    FILE *map = fopen(name, "w");
    fprintf(map, "%lx %zx generated <code>\n", (unsigned long)code, sizeof(loop));
    fclose(map);
    ((void (*)(void))code)();
    return 0;
}
END
    [ "$(uname -m)" = x86_64 ] || skip "the code is of x86-64"
    gcc -O1 -o jit jit.c || fail "not compiled"
    record -e cpu-clock:u -F 999 -o it.data -- ./jit >map
    at_end rm -f "$(cat map)"
    expect_like_perf it.data
    "$WEIR_PROGRAM" report --stdio -q it.data >out
    grep -q "generated <code>$" out || fail "no such symbol: $(cat out)"
}

test_debug_files_come_from_a_server_when_asked() {
    needs_program gcc
    needs_program objcopy
    printf 'int main(void) { volatile unsigned i = 0; while (i < 300000000) i++; return 0; }' >hot.c
    gcc -O1 -g -Wl,--build-id -o hot hot.c || fail "not compiled"
    objcopy --only-keep-debug hot hot.debug
    strip hot
    mkdir bin
    # shellcheck disable=SC2016 # the words are the program's
    printf '#!/bin/sh\necho "$@" >>%q\n[ "$1" = debuginfo ] && echo %q\n' "$PWD/asked" "$PWD/hot.debug" \
        >bin/debuginfod-find
    chmod +x bin/debuginfod-find
    record -e cpu-clock:u -F 999 -o it.data -- ./hot
    PATH=$PWD/bin:$PATH "$WEIR_PROGRAM" report --stdio -q it.data >without
    [ ! -e asked ] || fail "a server was asked"
    expect_no_line without "main"
    PATH=$PWD/bin:$PATH "$WEIR_PROGRAM" report --stdio -q --debuginfod it.data >with
    grep -q "/hot[[:space:]]main$" with || fail "no symbol: $(cat with)"
    grep -qxE 'debuginfo [0-9a-f]{40}' asked || fail "asked: $(cat asked)"
}

test_report_that_is_killed_leaves_nothing() {
    record -e page-faults -c 1 -o it.data -- "${load[@]}"
    mkfifo it.fifo
    mkdir reports
    "$WEIR_PROGRAM" report -q -o reports/it.html it.fifo 2>err &
    local report=$!
    exec 8>it.fifo
    cat it.data >&8
    kill -TERM "$report"
    exec 8>&-
    wait "$report" && fail "it was not killed"
    expect_eq "files" "$(find reports -type f | wc -l)" 0
    "$WEIR_PROGRAM" report -q -o reports/it.html it.data
    "$WEIR_PROGRAM" report -q -o reports/it.html it.data
    expect_eq "files" "$(ls reports)" it.html
    expect_eq "mode" "$(stat -c %a reports/it.html)" "$(printf '%o' $((0666 & ~0$(umask))))"
    expect_line reports/it.html "Content-Security-Policy"
}

test_cut_file_is_reported_up_to_there() {
    record -e page-faults -c 1 -o it.data -- "${load[@]}"
    head -c $(($(stat -c %s it.data) * 2 / 3)) it.data >cut.data
    "$WEIR_PROGRAM" report --stdio cut.data >out 2>err || fail "$(cat err)"
    expect_line err "cut off"
    expect_line out "# event page-faults: "
}

test_bad_input_is_one_line_and_leaves_the_old_report() {
    echo old >report
    echo "no recording at all" >wrong.data
    local status=0
    "$WEIR_PROGRAM" report --stdio -o report wrong.data 2>err || status=$?
    expect_eq "status" "$status" 1
    expect_eq "lines" "$(wc -l <err)" 1
    expect_line err "wrong.data: not a perf.data file (bad magic)"
    expect_eq "report" "$(cat report)" old
    expect_eq "files" "$(find . -name 'report.*' | wc -l)" 0
    "$WEIR_PROGRAM" report --stdio absent.data 2>err && fail "there is no such file"
    expect_line err "absent.data"
}
