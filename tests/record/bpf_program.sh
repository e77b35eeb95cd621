# shellcheck shell=bash
# A BPF program for the tests that record with one.

getppid=110 # the number of the system call, as in getppid_calls()
[ "$(uname -m)" = x86_64 ] || getppid=173

# program NAME SECTION: of raw_syscalls:sys_enter, lets every second getppid(2) pass, and sends a word for each fourth.
program() {
    cat >"$1" <<EOF
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
    __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
    __uint(key_size, 4);
    __uint(value_size, 4);
} fourth SEC(".maps");

unsigned long calls;

union name {
    char text[16];
    unsigned long words[2];
};

const union name load = {"$WEIR_LOAD_NAME"};

/* Other tasks may call it as well. */
static int is_of_load(void)
{
    union name name;
    bpf_get_current_comm(name.text, sizeof(name.text));
    return name.words[0] == load.words[0] && name.words[1] == load.words[1];
}

SEC("$2")
int take(const unsigned long *enter)
{
    if (enter[1] != $getppid || !is_of_load())
        return 0;
    unsigned long number = __sync_fetch_and_add(&calls, 1);
    if (number % 4 == 0)
        bpf_perf_event_output((void *)enter, &fourth, BPF_F_CURRENT_CPU, &number, sizeof(number));
    return number % 2 == 0;
}

char LICENSE[] SEC("license") = "GPL";
EOF
}

# events_of FILE NAME: how many samples of that event perf finds.
events_of() { perf_bare script -i "$1" -F event 2>perf.err | grep -c "^ *$2:" || true; }
