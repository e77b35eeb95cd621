# shellcheck shell=bash
# BPF programs as events (-e FILE.c, -e FILE.o): loaded into the real kernel.

needs_perf_events
needs_program clang

# shellcheck source=tests/record/bpf_program.sh
. "$here/bpf_program.sh"

compile() { clang -O2 -g -target bpf -idirafter "/usr/include/$(uname -m)-linux-gnu" -c "$1" -o "$2"; }

# expect_half FILE: of 1000 calls.
expect_half() {
    expect_eq "samples that the program let pass" "$(events_of "$1" raw_syscalls:sys_enter)" 500
    expect_eq "samples that the program sent" "$(events_of "$1" fourth)" 250
    expect_readers_agree "$1"
}

test_program_says_what_is_recorded_and_sends_samples_of_its_own() {
    program calls.c tracepoint/raw_syscalls/sys_enter
    record -a -e calls.c -o it.data -- "$WEIR_LOAD" getppid 1000
    expect_half it.data
    perf_bare script -i it.data -F event,bpf-output >sent 2>perf.err
    # 996 is the number of the last one.
    expect_line sent "0000: e4 03 00 00 00 00 00 00"
}

test_object_file_with_a_section_in_the_words_of_perf() {
    program calls.c raw_syscalls:sys_enter
    compile calls.c calls.o
    record -a -e cpu-clock/freq=99/,./calls.o --switch-output -o it.data -- "$WEIR_LOAD" getppid 1000
    set -- it.data.*
    expect_half "$1"
}

test_program_of_another_section_runs_and_sends() {
    program calls.c raw_tp/sys_enter
    record -a -e calls.c -o it.data -- "$WEIR_LOAD" getppid 1000
    expect_eq "events" "$(perf evlist -i it.data 2>perf.err | grep -vc '^#')" 2 # and that for side records
    expect_eq "samples that the program sent" "$(events_of it.data fourth)" 250
    expect_readers_agree it.data
}

# The kernel asks the program for all who listen to the tracepoint; nothing of it is left afterwards.
test_programs_are_gone_when_recording_has_ended() {
    program calls.c tp/raw_syscalls/sys_enter
    cat >again <<'SCRIPT'
#!/bin/sh
"$WEIR_PROGRAM" record -q -a -e raw_syscalls:sys_enter -c 1 -m 16M -o again.data -- "$WEIR_LOAD" getppid 1000
SCRIPT
    chmod +x again
    record -a -e calls.c --timestamp-filename --on-rotate ./again -o it.data -- "$WEIR_LOAD" getppid 1000
    expect_eq "samples that the program let pass" "$(events_of it.data.* raw_syscalls:sys_enter)" 500
    expect_eq "getppid calls while weir still runs" "$(getppid_calls again.data)" 1000
}

# What it filters out for all is neither recorded nor counted: perf finds nothing, and does not say why.
test_programs_of_others_are_told_of() {
    local event=(-e raw_syscalls:sys_enter -c 1 -m 16M)
    echo 'char _license[] __attribute__((section("license"), used)) = "GPL";
        __attribute__((section("raw_syscalls:sys_enter"), used)) int none(void *ctx) { return 0; }' >none.c
    "$WEIR_PROGRAM" record -q -a -e none.c -o others.data 2>others.err &
    local others=$!
    wait_until test -e others.data
    record "${event[@]}" -e raw_syscalls:sys_exit -o it.data -- "$WEIR_LOAD" getppid 1000
    expect_eq "samples of what is filtered" "$(events_of it.data raw_syscalls:sys_enter)" 0
    expect_line err \
        "weir: warning: 1 BPF program of others on raw_syscalls:sys_enter: samples that it filters out are neither"
    expect_no_line err "raw_syscalls:sys_exit: samples"
    kill -INT "$others"
    wait "$others" || true
    expect_no_line others.err "of others"
    record "${event[@]}" -o it.data -- "$WEIR_LOAD" getppid 1000
    expect_eq "getppid calls without it" "$(getppid_calls it.data)" 1000
    expect_no_line err "of others"
}

test_tasks_are_recorded_by_a_program_without_outputs() {
    program calls.c tracepoint/raw_syscalls/sys_enter
    weir_record -e calls.c -o it.data -- touch ran
    expect_eq "status" "$status" 125
    expect_line err "weir: output 'fourth' of BPF programs is of whole CPUs, not of tasks"
    expect_line err "hint: record them with -a, or some CPUs with -C"
    sed -i '/^struct/,/^}/d; /number % 4/d; /bpf_perf_event_output/d' calls.c
    record -e calls.c -o it.data -- "$WEIR_LOAD" getppid 1000
    expect_eq "samples" "$(events_of it.data raw_syscalls:sys_enter)" 500
    expect_readers_agree it.data
}

# expect_refused STATUS TEXT HINT ARGUMENTS...
expect_refused() {
    local wanted=$1 text=$2 hint=$3
    shift 3
    weir_record "$@" -o it.data -- touch ran
    expect_eq "status of $*" "$status" "$wanted"
    expect_line err "weir: $text"
    expect_line err "hint: $hint"
    if [ -e ran ] || [ -e it.data ]; then fail "something was begun by: $*"; fi
}

test_files_that_are_no_programs_are_refused() {
    local advice="clang -O2 -g -target bpf -c FILE.c -o FILE.o makes one, and so does -e FILE.c"
    expect_refused 129 "cannot read the BPF object file 'none.o': No such file or directory" "$advice" -a -e none.o
    expect_refused 129 "cannot read 'none.c': No such file or directory" "" -a -e none.c
    mkfifo pipe.o
    expect_refused 129 "cannot read the BPF object file 'pipe.o'" "$advice" -a -e pipe.o
    echo no program >text.o
    expect_refused 129 "cannot read BPF programs from 'text.o': elf: 'text.o' is not a proper ELF object" "$advice" \
        -a -e text.o
    echo 'int x = y;' >wrong.c
    expect_refused 129 "'clang' does not compile 'wrong.c' (exit status 1)" \
        "the compiler's messages are above; --clang-opt gives it more arguments, such as -I DIR" -a -e wrong.c
    expect_line err "use of undeclared identifier 'y'"
    expect_refused 129 "cannot run 'not-there' to compile 'wrong.c': No such file or directory" \
        "apt-get install clang, --clang-path names another one, or give -e an object file" \
        -a --clang-path not-there -e wrong.c
    program calls.c "raw_syscalls=sys_enter"
    expect_refused 129 "section 'raw_syscalls=sys_enter' of 'calls.c' does not say where to attach its program" \
        'SEC("tracepoint/SYSTEM/NAME"), SEC("kprobe/FUNCTION") and other sections of libbpf do, and SYSTEM:NAME' \
        -a -e calls.c
    program calls.c tracepoint/raw_syscalls/sys_entre
    expect_refused 129 "there is no tracepoint raw_syscalls:sys_entre" "did you mean raw_syscalls:sys_enter?" \
        -a -e calls.c
    program calls.c tracepoint/raw_syscalls/sys_enter
    expect_refused 129 "option '--snapshot-on': BPF programs are no triggers" \
        "name an event, with :FILTER for some of its occurrences" -a -M 8M --snapshot-on calls.c -e cs
    echo 'char LICENSE[] __attribute__((section("license"))) = "GPL";' >empty.c
    expect_refused 129 "'empty.c' has nothing to record: no program of a tracepoint, and no output" \
        "a map of type BPF_MAP_TYPE_PERF_EVENT_ARRAY is an output: bpf_perf_event_output() makes samples of it" \
        -a -e empty.c
}

test_arguments_reach_the_compiler() {
    program calls.c tracepoint/raw_syscalls/SYSCALL
    sed -i 's/"tracepoint\/.*"/NAME/' calls.c
    record -a --clang-opt '-DNAME="tracepoint/raw_syscalls/sys_enter"  -Wall' -e calls.c -o it.data -- \
        "$WEIR_LOAD" getppid 1000
    expect_half it.data
}

# As a child of a service that ignores the end of its children, which execve(2) keeps.
test_compiler_is_waited_for_where_ends_of_children_are_ignored() {
    program calls.c tracepoint/raw_syscalls/sys_enter
    status=0
    env --ignore-signal=CHLD "$WEIR_PROGRAM" record --dry-run -a -e calls.c -o it.data 2>err || status=$?
    expect_eq "status" "$status" 0
}

test_program_that_the_kernel_refuses_is_told_with_what_libbpf_says() {
    program calls.c tracepoint/raw_syscalls/sys_enter
    sed -i 's/enter\[1\]/enter[100000]/' calls.c
    expect_refused 125 "cannot load the BPF programs of 'calls.c': " "-v shows what libbpf and the kernel say" \
        -a -e calls.c
}

test_types_of_the_kernel_are_those_of_vmlinux() {
    [ -e /sys/kernel/btf/vmlinux ] || skip "needs a kernel with BTF"
    cat >types.c <<'EOF'
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

struct task_struct {
    int tgid;
} __attribute__((preserve_access_index));

SEC("tp/raw_syscalls/sys_enter")
int take(void *enter)
{
    struct task_struct *task = (void *)bpf_get_current_task();
    return BPF_CORE_READ(task, tgid) == bpf_get_current_pid_tgid() >> 32;
}

char LICENSE[] SEC("license") = "GPL";
EOF
    record -a --vmlinux /sys/kernel/btf/vmlinux -e types.c -o it.data -- "$WEIR_LOAD" getppid 1000
    expect_eq "getppid calls" "$(getppid_calls it.data)" 1000
    rm it.data
    expect_refused 125 "cannot load the BPF programs of 'types.c': " "-v shows what libbpf and the kernel say" -a \
        --vmlinux types.c -e types.c
}

test_without_privileges_the_ones_that_are_missing_are_named() {
    program calls.c tracepoint/raw_syscalls/sys_enter
    compile calls.c calls.o
    status=0
    setpriv --bounding-set -bpf,-sys_admin --inh-caps -bpf,-sys_admin \
        "$WEIR_PROGRAM" record -a -e calls.o -o it.data -- touch ran 2>err || status=$?
    expect_eq "status" "$status" 125
    expect_line err "weir: cannot load the BPF programs of 'calls.o': Operation not permitted"
    expect_line err "hint: loading needs root, or CAP_BPF and CAP_PERFMON; -v shows what libbpf and the kernel say"
    if [ -e ran ] || [ -e it.data ]; then fail "something was begun"; fi
}
