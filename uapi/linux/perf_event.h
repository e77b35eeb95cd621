/*
 * Stands before the kernel's header of the same name. Here perf_event_attr has all fields up to Linux 7.1, also where
 * the headers of the build are older. (Those of Debian 12 are of Linux 6.1.) All else comes from the kernel's header.
 *
 * attr.size says how much of the structure a kernel reads, and how much of it a file has: format/event_desc.h. So a
 * field that older kernels and consumers do not know costs nothing while it is zero.
 *
 * Source: include/uapi/linux/perf_event.h of Linux 7.1. Constants; any thread.
 */
#ifndef WEIR_UAPI_LINUX_PERF_EVENT_H
#define WEIR_UAPI_LINUX_PERF_EVENT_H

#define perf_event_attr perf_event_attr_of_build
#include_next <linux/perf_event.h>
#undef perf_event_attr

/* The names of enumerators that older headers lack hide those of newer headers, with the same values. */
#define PERF_ATTR_SIZE_VER8         136          /* config3: Linux 6.3 */
#define PERF_ATTR_SIZE_VER9         144          /* config4: Linux 7.0 */
#define PERF_SAMPLE_BRANCH_COUNTERS (1ull << 19) /* Linux 6.8 */

struct perf_event_attr {
    __u32 type;
    __u32 size;
    __u64 config;
    union {
        __u64 sample_period;
        __u64 sample_freq;
    };
    __u64 sample_type;
    __u64 read_format;
    __u64 disabled : 1;
    __u64 inherit : 1;
    __u64 pinned : 1;
    __u64 exclusive : 1;
    __u64 exclude_user : 1;
    __u64 exclude_kernel : 1;
    __u64 exclude_hv : 1;
    __u64 exclude_idle : 1;
    __u64 mmap : 1;
    __u64 comm : 1;
    __u64 freq : 1;
    __u64 inherit_stat : 1;
    __u64 enable_on_exec : 1;
    __u64 task : 1;
    __u64 watermark : 1;
    __u64 precise_ip : 2;
    __u64 mmap_data : 1;
    __u64 sample_id_all : 1;
    __u64 exclude_host : 1;
    __u64 exclude_guest : 1;
    __u64 exclude_callchain_kernel : 1;
    __u64 exclude_callchain_user : 1;
    __u64 mmap2 : 1;
    __u64 comm_exec : 1;
    __u64 use_clockid : 1;
    __u64 context_switch : 1;
    __u64 write_backward : 1;
    __u64 namespaces : 1;
    __u64 ksymbol : 1;
    __u64 bpf_event : 1;
    __u64 aux_output : 1;
    __u64 cgroup : 1;
    __u64 text_poke : 1;
    __u64 build_id : 1;
    __u64 inherit_thread : 1;
    __u64 remove_on_exec : 1;
    __u64 sigtrap : 1;
    __u64 defer_callchain : 1; /* Linux 6.19: user call chains may come later, in records of their own */
    __u64 defer_output : 1;    /* Linux 6.19: this event's ring takes the records of deferred call chains */
    __u64 __reserved_1 : 24;
    union {
        __u32 wakeup_events;
        __u32 wakeup_watermark;
    };
    __u32 bp_type;
    union {
        __u64 bp_addr;
        __u64 kprobe_func;
        __u64 uprobe_path;
        __u64 config1;
    };
    union {
        __u64 bp_len;
        __u64 kprobe_addr;
        __u64 probe_offset;
        __u64 config2;
    };
    __u64 branch_sample_type;
    __u64 sample_regs_user;
    __u32 sample_stack_user;
    __s32 clockid;
    __u64 sample_regs_intr;
    __u32 aux_watermark;
    __u16 sample_max_stack;
    __u16 __reserved_2;
    __u32 aux_sample_size;
    union {
        __u32 aux_action;
        struct { /* Linux 6.13 */
            __u32 aux_start_paused : 1;
            __u32 aux_pause : 1;
            __u32 aux_resume : 1;
            __u32 __reserved_3 : 29;
        };
    };
    __u64 sig_data;
    __u64 config3;
    __u64 config4;
};

#endif
