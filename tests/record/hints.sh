# shellcheck shell=bash
# What weir says next to a refusal, as a whole, where no other test does: the second of two lines. tests/tidy holds that
# every hint of the sources is in some test.

needs_perf_events

# expect_hint HINT ARGUMENT...: weir with these arguments fails, with this hint.
expect_hint() {
    local hint=$1
    shift
    status=0
    "$WEIR_PROGRAM" "$@" >out 2>err || status=$?
    [ "$status" != 0 ] || fail "weir $* succeeds"
    expect_eq "hint of weir $*" "$(grep '^hint: ' err)" "hint: $hint"
}

record_short() { "$WEIR_PROGRAM" record -q -e cpu-clock -o "$1" -- true; }

# expect_config TEXT HINT: TEXT, as printf(1) takes it, in a configuration file.
expect_config() {
    # shellcheck disable=SC2059 # the text has escapes
    printf "$1" >config
    WEIR_CONFIG=config expect_hint "$2" record -o it.data -- true
}

test_configuration_files() {
    expect_config '[record\n' "a section is written [record]"
    expect_config '[record]\nfreq = "\\q"\n' "a backslash itself is written twice"
    expect_config '[record]\nfreq = "1\n' "a value ends with its line"
    expect_config '[record]\nfreq = 1\0\n' "a configuration file is text"
    expect_config '[record]\n1x = 2\n' "a key begins with a letter; letters, digits and '-' follow"
    expect_config "[record]\nfreq = $(printf '%05000d' 1)\n" "4095 bytes are the most that a value may have"
    expect_config '[record]\ncall-graph\n' "use an argument of --call-graph"
}

test_options() {
    expect_hint "'weir doctor' takes one folder" doctor a b
    expect_hint "--overwrite keeps samples in the kernel's rings (-m), -M in weir's memory" \
        record -M 1M --overwrite -o it.data -- true
    expect_hint "-M 64M keeps the newest 64 MiB of samples, -M 30s those of half a minute" \
        record --snapshot-on-exit -o it.data -- true
    expect_hint "-M 64M keeps the newest 64 MiB of samples, -M 30s those of half a minute" \
        record --snapshot-on raw_syscalls:sys_enter -o it.data -- true
    expect_hint "leave out :S, or --overwrite and the term overwrite" \
        record -e '{cs,cpu-clock}:S' --overwrite -o it.data -- true
    expect_hint "--overwrite is for all events; leave out no-overwrite" \
        record -e cs/overwrite/,cpu-clock/no-overwrite/ -o it.data -- true
    expect_hint "the kernel reports changes of its code by CPU: leave out --per-thread" \
        record --kcore --per-thread -o it.data -- true
    expect_hint "a task's ring is for that task alone: leave out the term inherit, or --per-thread" \
        record --per-thread -e cs/inherit/ -o it.data -- true
    expect_files . err out
}

test_filter_of_a_tracepoint() {
    expect_hint "its fields are those of events/raw_syscalls/sys_enter/format in tracefs (/sys/kernel/tracing); words \
are in double quotes: comm == \"sh\"" record -e raw_syscalls:sys_enter --filter 'nosuch > 1' -o it.data -- true
}

test_frequency_above_the_limit() {
    local most hint
    most=$(cat /proc/sys/kernel/perf_event_max_sample_rate)
    hint="kernel.perf_event_max_sample_rate is MOST: a lower -F, or sudo sysctl kernel.perf_event_max_sample_rate="
    expect_hint "${hint/MOST/$most}$((most + 1))" record --strict-freq -F $((most + 1)) -o it.data -- true
}

test_more_memory_than_there_is() {
    local hint="at most a quarter of it, -M NM; each of N readers needs 256 KiB or more, see --threads"
    if "$WEIR_PROGRAM" record -M 1000000G -o it.data -- true 2>err; then fail "it is there"; fi
    expect_eq "hint" "$(sed -n 's/-M [0-9]*M/-M NM/; s/of [0-9]* readers/of N readers/; s/^hint: //p' err)" "$hint"
}

test_control_channels() {
    touch file
    expect_hint "mkfifo makes one" record --control fifo:file -o it.data -- true
    expect_hint "the shell opens it, as in: exec 77<>ctl.fifo" record --control fd:77 -o it.data -- true
}

test_outputs() {
    record_short it.data
    ln -s it.data link
    expect_hint "links are not written through: name the file that it points to" record -o link -- true
    mkdir folder
    expect_hint "-o takes the name of the file to write" record -o folder -- true
    touch folder/other
    expect_hint "choose another name for the recording" record --kcore -o folder -- true
    expect_hint "choose another name, or a recording without --kcore, which is a file" \
        record --kcore -o it.data -- true
    mkfifo fifo
    expect_hint "only regular files and /dev/null are written" record -o fifo -- true
    cp it.data one
    ln one other
    expect_hint "remove this one first: rm 'one'" record -o one -- true
}

test_append() {
    record_short it.data
    expect_hint "record the same events with the same options, or choose another file; weir info 'it.data' shows its \
events" record -A -e cs -o it.data -- true
    head -c 3000 it.data >short.data
    expect_hint "weir recover 'short.data' makes a whole file of it" record -A -e cpu-clock -o short.data -- true
}

test_recover() {
    record_short it.data
    record_short other.data
    expect_hint "name another one with -o, or remove it first" recover it.data -o other.data
    "$WEIR_PROGRAM" recover it.data 2>err || fail "not recovered: $(cat err)"
    grep -q "all [0-9]* records can be read; a copy is it.data.recovered \]" err || fail "$(cat err)"
}

test_reading() {
    record_short it.data
    expect_hint "weir record -o nosuch.data makes a recording" info nosuch.data
    expect_hint "the name of the recording is empty" info ''
    expect_hint "name a file, or a directory of weir record --kcore or perf record --threads" info .
    expect_hint "give the file's name, or record with -o - for a stream" info - < <(cat it.data)
    head -c 3000 it.data >short.data
    expect_hint "weir recover short.data saves the whole records in a new file" dump short.data
    if "$WEIR_PROGRAM" dump - <short.data >out 2>err; then fail "weir dump reads a file that is cut"; fi
    expect_line err "weir: standard input: record at"
    ! grep -q "hint:" err || fail "standard input cannot be recovered: $(cat err)"
    mkdir folder
    mv short.data folder/data
    expect_hint "weir recover folder saves the whole records in a new directory" dump folder
}

test_reading_a_directory_of_more_files_than_may_be_open() {
    record_directory folder -a -e cpu-clock -- true
    local number
    for ((number = $(cpus_online); number < 60; number++)); do cp folder/data.0 folder/data.$number; done
    if (ulimit -n 30 && "$WEIR_PROGRAM" dump folder) >out 2>err; then fail "weir dump reads it"; fi
    expect_line err "hint: weir opens all files of a directory at once: raise the limit with ulimit -n"
}

test_reading_the_recording_of_somebody_else() {
    needs_program setpriv
    record_short it.data
    chmod 755 .
    cp "$WEIR_PROGRAM" weir
    status=0
    setpriv --reuid 65534 --clear-groups ./weir info it.data 2>err || status=$?
    expect_line err "hint: only its owner can read a recording: see ls -l it.data"
}

test_topology_files() {
    HWLOC_XMLFILE=nosuch expect_hint "unset HWLOC_XMLFILE, or save one with: lstopo --of xml nosuch" \
        record -o it.data -- true
    echo '<?xml version="1.0"?><topology version="2.0"></topology>' >empty.xml
    HWLOC_XMLFILE=empty.xml expect_hint \
        "is HWLOC_XMLFILE, HWLOC_SYNTHETIC or HWLOC_FSROOT set? lstopo(1) shows what hwloc sees" \
        record -o it.data -- true
}

# expect_thread_refused N HINT: the kernel refuses the Nth thread or process.
expect_thread_refused() {
    local number=$1 hint=$2
    rm -f it.data
    ASAN_OPTIONS=detect_leaks=0 strace -f -o trace -e trace=clone,clone3 \
        -e "inject=clone,clone3:error=EAGAIN:when=$number" \
        "$WEIR_PROGRAM" record -q -a -e cpu-clock --no-buildid-cache -o it.data 2>err </dev/null &
    local recorder=$!
    at_end kill $recorder
    wait_until grep -q '^hint: ' err
    wait $recorder || true
    expect_line err "hint: $hint"
}

test_threads_that_cannot_be_started() {
    needs_program strace
    strace -o /dev/null true 2>/dev/null || skip "needs to be allowed to trace: ptrace(2)"
    expect_thread_refused 1 "see ulimit -u and kernel.threads-max; --threads=core or =numa needs fewer"
    # After the readers, the writer and the one that grows the pool.
    expect_thread_refused $(($(cpus_online) + 3)) "see ulimit -u and kernel.threads-max; --no-buildid does without it"
}
