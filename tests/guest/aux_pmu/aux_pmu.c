/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A test instrument, no part of weir: a kernel module that plays two PMUs of Intel's CPUs, so that AUX areas can be
 * recorded where no CPU has any. scripts/guest builds it and puts it into its emulated machine; it is linked to nothing
 * of this tree, and is not installed. The kernel exports what it needs (perf_pmu_register(), perf_aux_output_begin())
 * to modules under the GPL only, hence its license, which is that of this folder alone.
 *
 * The PMUs are called intel_bts, which records tasks only, and intel_pt, which records whole CPUs too: names that are
 * free in a machine that has no such CPU, and by which perf and weir know how to record and to read them. While an
 * event runs on a CPU, a timer writes `batch` branches of 24 bytes every `tick_us`, and one more whenever the event
 * starts. The n-th branch of CPU c since `written` was last reset, n from 0, is
 *
 *     from = (c + 1) << 40 | n     to = from + 1
 *
 * so that whoever reads the trace can say of each one whether it is there, once, and on its CPU. For intel_bts it is an
 * entry of the branch trace store: from, to, and flags, 16 (predicted) for odd n and 0 for even n. For intel_pt it is
 * two packets PTW (PTWRITE) with from and to, and four packets PAD; before every 64th one, and the first after a start,
 * stand 48 bytes from which decoders can set out (PSB, TSC, FUP, PSBEND, PAD).
 *
 * Parameters, below /sys/module/aux_pmu/parameters:
 *
 *     batch, tick_us   how much, how often; a new tick_us is that of the next start
 *     written          how many branches each possible CPU has written, a number for each; anything written to it makes
 *                      them 0, which is for when no event is open
 *     truncated        how often an event was stopped because its area was full; likewise
 *
 * What is asked of the kernel, and when, is modeled on arch/x86/events/intel/bts.c (with one physical buffer) and pt.c
 * of Linux 6.1: data is told of when the watermark is passed or the event stops; a full area is flagged
 * PERF_AUX_FLAG_TRUNCATED; an area that is overwritten has its head as an offset, and each record of it says that the
 * whole area is valid. Of intel_bts branches never lie across the end of the area, and the last page's worth of it is
 * skipped, without a record that says so, when the reader has left more room at the beginning. Where the drivers have
 * an interrupt at a threshold, this one looks after each branch.
 *
 * Contexts: perf calls add, del, start and stop on the event's CPU with interrupts off, the timer is a hard interrupt
 * there; so nothing of a CPU needs a lock. setup_aux and free_aux may sleep.
 */
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#define BRANCH_BYTES    24
#define MARGIN_BYTES    4080 /* what bts.c leaves to the branches before an interrupt is taken: 170 of them */
#define CPU_SHIFT       40
#define FLAGS_PREDICTED 0x10
#define PTW_OPCODE      0x02
#define PTW_8_BYTES     0x32
#define PSB_OPCODE_0    0x02
#define PSB_OPCODE_1    0x82
#define PSBEND_OPCODE_0 0x02
#define PSBEND_OPCODE_1 0x23
#define TSC_OPCODE      0x19
#define FUP_2_BYTES     0x3d
#define SYNC_BRANCHES   64

union branch {
    struct {
        u64 from;
        u64 to;
        u64 flags;
    } entry;
    struct {
        struct {
            u8 opcode[2];
            u64 payload;
        } __packed from, to;
        u8 padding[4];
    } __packed packets;
};
static_assert(sizeof(union branch) == BRANCH_BYTES);

/* An event's area. */
struct area {
    u8 *base;
    unsigned long size;
    unsigned long usable; /* of it, from its beginning */
    bool is_bts;
    bool overwritten;             /* the reader never says what it has read */
    unsigned long head;           /* where the next branch goes, in bytes from the beginning */
    unsigned long room;           /* bytes that may be written from there; of one that is not overwritten */
    unsigned long interrupt_room; /* we take the interrupt when there are no more; likewise */
    unsigned long untold;         /* bytes before head that no record tells of yet; likewise */
};

/* What runs on a CPU: touched there only, with interrupts off. */
struct writer {
    struct perf_output_handle handle;
    struct hrtimer timer;
    bool is_running;       /* from begin to end */
    unsigned int unsynced; /* branches of intel_pt since the event started */
};

static DEFINE_PER_CPU(struct writer, writers);
static DEFINE_PER_CPU(u64, written);
static DEFINE_PER_CPU(u64, truncated);
static struct pmu bts_pmu, pt_pmu;

/* ---- parameters ---- */

static unsigned int batch = 16;
module_param(batch, uint, 0644);
MODULE_PARM_DESC(batch, "branches per tick");

static unsigned int tick_us = 1000;
module_param(tick_us, uint, 0644);
MODULE_PARM_DESC(tick_us, "microseconds between two ticks");

static int get_written(char *text, const struct kernel_param *param)
{
    int length = 0, cpu;

    for_each_possible_cpu(cpu) length +=
        scnprintf(text + length, PAGE_SIZE - length, "%s%llu", length ? " " : "", per_cpu(written, cpu));
    return length + scnprintf(text + length, PAGE_SIZE - length, "\n");
}

static int get_truncated(char *text, const struct kernel_param *param)
{
    u64 sum = 0;
    int cpu;

    for_each_possible_cpu(cpu) sum += per_cpu(truncated, cpu);
    return scnprintf(text, PAGE_SIZE, "%llu\n", sum);
}

static int reset_counters(const char *text, const struct kernel_param *param)
{
    int cpu;

    for_each_possible_cpu(cpu)
    {
        per_cpu(written, cpu) = 0;
        per_cpu(truncated, cpu) = 0;
    }
    return 0;
}

static const struct kernel_param_ops written_ops = {.set = reset_counters, .get = get_written};
module_param_cb(written, &written_ops, NULL, 0644);
MODULE_PARM_DESC(written, "branches that each CPU has written");

static const struct kernel_param_ops truncated_ops = {.set = reset_counters, .get = get_truncated};
module_param_cb(truncated, &truncated_ops, NULL, 0644);
MODULE_PARM_DESC(truncated, "how often an area was full");

/* ---- the area ---- */

static void *setup_area(struct perf_event *event, void **addresses, int nr_pages, bool overwritten)
{
    struct area *area = kzalloc(sizeof(*area), GFP_KERNEL);
    struct page **pages = kcalloc(nr_pages, sizeof(*pages), GFP_KERNEL);
    int i;

    if (!area || !pages)
        goto fail;
    for (i = 0; i < nr_pages; i++)
        pages[i] = virt_to_page(addresses[i]);
    area->base = vmap(pages, nr_pages, VM_MAP, PAGE_KERNEL);
    if (!area->base)
        goto fail;
    kfree(pages);
    area->size = (unsigned long)nr_pages << PAGE_SHIFT;
    area->is_bts = event->pmu == &bts_pmu;
    area->usable = area->is_bts ? area->size - area->size % BRANCH_BYTES : area->size;
    area->overwritten = overwritten;
    return area;

fail:
    kfree(pages);
    kfree(area);
    return NULL;
}

static void free_area(void *pointer)
{
    struct area *area = pointer;

    vunmap(area->base);
    kfree(area);
}

/*
 * Goes on at the beginning of the area when that has more room than what is left before its end. The reader finds the
 * end filled with zeros.
 */
static int skip_to_beginning(struct area *area, struct perf_output_handle *handle, unsigned long *room)
{
    unsigned long skipped = area->size - area->head, there;
    int result;

    if (handle->size < skipped)
        return 0;
    there = min(area->usable, handle->size - skipped);
    there -= there % BRANCH_BYTES;
    if (there <= *room)
        return 0;
    memset(area->base + area->head, 0, skipped);
    result = perf_aux_output_skip(handle, skipped);
    if (result)
        return result;
    area->head = 0;
    *room = there;
    return 0;
}

/* Finds where branches may go until the reader has made room. -ENOSPC: nowhere. */
static int find_room(struct area *area, struct perf_output_handle *handle)
{
    unsigned long room = handle->size, until_wakeup;
    int result;

    if (area->overwritten)
        return 0;
    area->head = handle->head & (area->size - 1);
    if (area->is_bts)
        room = min(room, area->usable - area->head);
    room -= room % BRANCH_BYTES;
    if (area->is_bts && room <= MARGIN_BYTES) {
        result = skip_to_beginning(area, handle, &room);
        if (result)
            return result;
    }
    until_wakeup = MARGIN_BYTES + BRANCH_BYTES + handle->wakeup - handle->head;
    if (room > until_wakeup)
        room = until_wakeup - until_wakeup % BRANCH_BYTES;
    if (room == 0)
        return -ENOSPC;
    area->room = room;
    if (room > MARGIN_BYTES)
        area->interrupt_room = MARGIN_BYTES;
    else
        area->interrupt_room = room > BRANCH_BYTES ? BRANCH_BYTES : 0;
    return 0;
}

/* ---- writing ---- */

/* Begins a transaction of the event. False: the area has no room; the kernel disables the event then. */
static bool begin(struct writer *writer, struct perf_event *event)
{
    struct area *area = perf_aux_output_begin(&writer->handle, event);

    if (!area) {
        this_cpu_inc(truncated);
        return false;
    }
    if (find_room(area, &writer->handle)) {
        perf_aux_output_end(&writer->handle, 0);
        return false;
    }
    writer->is_running = true;
    return true;
}

/* Ends it and tells of what was written. */
static void end(struct writer *writer)
{
    struct area *area = perf_get_aux(&writer->handle);
    unsigned long size;

    writer->is_running = false;
    if (area->overwritten) {
        writer->handle.head = area->head;
        size = area->size;
    } else {
        size = area->untold;
        area->untold = 0;
    }
    perf_aux_output_end(&writer->handle, size);
}

/* What the driver does in its interrupt. */
static void take_interrupt(struct writer *writer, struct area *area)
{
    struct perf_event *event = writer->handle.event;

    if (area->room == 0) {
        perf_aux_output_flag(&writer->handle, PERF_AUX_FLAG_TRUNCATED);
        this_cpu_inc(truncated);
    }
    end(writer);
    begin(writer, event);
}

static union branch next_branch(bool is_bts)
{
    u64 number = this_cpu_inc_return(written) - 1;
    u64 from = (u64)(smp_processor_id() + 1) << CPU_SHIFT | number;
    union branch branch = {};

    if (is_bts) {
        branch.entry.from = from;
        branch.entry.to = from + 1;
        branch.entry.flags = number & 1 ? FLAGS_PREDICTED : 0;
    } else {
        branch.packets.from.opcode[0] = branch.packets.to.opcode[0] = PTW_OPCODE;
        branch.packets.from.opcode[1] = branch.packets.to.opcode[1] = PTW_8_BYTES;
        branch.packets.from.payload = from;
        branch.packets.to.payload = from + 1;
    }
    return branch;
}

/* Puts bytes to the head, across the area's end if need be. */
static void put(struct area *area, const void *bytes, unsigned long count)
{
    unsigned long first = min(area->usable - area->head, count);

    memcpy(area->base + area->head, bytes, first);
    memcpy(area->base, bytes + first, count - first);
    area->head += count;
    if (area->head >= area->usable)
        area->head -= area->usable;
    if (!area->overwritten) {
        area->untold += count;
        area->room -= count;
    }
}

/* Where a decoder of intel_pt finds the time, and 0x1000 as the address; if there is room for more. */
static void put_sync(struct area *area)
{
    u8 packets[2 * BRANCH_BYTES] = {[16] = TSC_OPCODE, [24] = FUP_2_BYTES, 0x00, 0x10,
                                    PSBEND_OPCODE_0,   PSBEND_OPCODE_1};
    u64 now = rdtsc();
    int i;

    if (!area->overwritten && area->room <= sizeof(packets))
        return;
    for (i = 0; i < 16; i += 2) {
        packets[i] = PSB_OPCODE_0;
        packets[i + 1] = PSB_OPCODE_1;
    }
    memcpy(&packets[17], &now, 7);
    put(area, packets, sizeof(packets));
}

static void write_branches(struct writer *writer, unsigned int count)
{
    while (count-- > 0 && writer->is_running) {
        struct area *area = perf_get_aux(&writer->handle);
        union branch branch;

        if (!area->is_bts && writer->unsynced++ % SYNC_BRANCHES == 0)
            put_sync(area);
        branch = next_branch(area->is_bts);
        put(area, &branch, sizeof(branch));
        if (!area->overwritten && area->room <= area->interrupt_room)
            take_interrupt(writer, area);
    }
}

static ktime_t tick_time(void)
{
    return ns_to_ktime((u64)max(tick_us, 10U) * NSEC_PER_USEC);
}

static enum hrtimer_restart tick(struct hrtimer *timer)
{
    struct writer *writer = this_cpu_ptr(&writers);

    write_branches(writer, batch);
    hrtimer_forward_now(timer, tick_time());
    return writer->is_running ? HRTIMER_RESTART : HRTIMER_NORESTART;
}

/* ---- the PMU ---- */

static void start_event(struct perf_event *event, int flags)
{
    struct writer *writer = this_cpu_ptr(&writers);

    if (!begin(writer, event)) {
        event->hw.state = PERF_HES_STOPPED;
        return;
    }
    event->attach_state |= PERF_ATTACH_ITRACE; /* perf_event_itrace_started(), which modules do not have */
    event->hw.state = 0;
    writer->unsynced = 0;
    write_branches(writer, 1);
    hrtimer_start(&writer->timer, tick_time(), HRTIMER_MODE_REL_PINNED_HARD);
}

static void stop_event(struct perf_event *event, int flags)
{
    struct writer *writer = this_cpu_ptr(&writers);

    hrtimer_cancel(&writer->timer);
    event->hw.state |= PERF_HES_STOPPED;
    if (writer->is_running)
        end(writer);
}

static int add_event(struct perf_event *event, int flags)
{
    event->hw.state = PERF_HES_STOPPED;
    if (this_cpu_ptr(&writers)->handle.event)
        return -EBUSY;
    if (!(flags & PERF_EF_START))
        return 0;
    start_event(event, 0);
    return event->hw.state & PERF_HES_STOPPED ? -EINVAL : 0;
}

static void del_event(struct perf_event *event, int flags)
{
    stop_event(event, PERF_EF_UPDATE);
}

static void read_event(struct perf_event *event)
{
}

static int init_event(struct perf_event *event, const struct pmu *pmu)
{
    return event->attr.type == pmu->type ? 0 : -ENOENT;
}

static int init_bts_event(struct perf_event *event)
{
    return init_event(event, &bts_pmu);
}

static int init_pt_event(struct perf_event *event)
{
    return init_event(event, &pt_pmu);
}

/* Those that perf and weir ask for by themselves; they change nothing here. */
PMU_FORMAT_ATTR(pt, "config:0");
PMU_FORMAT_ATTR(tsc, "config:10");
PMU_FORMAT_ATTR(branch, "config:13");

static struct attribute *pt_formats[] = {
    &format_attr_pt.attr,
    &format_attr_tsc.attr,
    &format_attr_branch.attr,
    NULL,
};

static const struct attribute_group pt_format_group = {.name = "format", .attrs = pt_formats};

static const struct attribute_group *pt_groups[] = {&pt_format_group, NULL};

#define PLAYED_PMU                                                                                                \
    .module = THIS_MODULE, .capabilities = PERF_PMU_CAP_ITRACE | PERF_PMU_CAP_EXCLUSIVE,                          \
    .task_ctx_nr = perf_sw_context, .add = add_event, .del = del_event, .start = start_event, .stop = stop_event, \
    .read = read_event, .setup_aux = setup_area, .free_aux = free_area

static struct pmu bts_pmu = {PLAYED_PMU, .event_init = init_bts_event};
static struct pmu pt_pmu = {PLAYED_PMU, .event_init = init_pt_event, .attr_groups = pt_groups};

static int __init aux_pmu_init(void)
{
    int cpu, result;

    for_each_possible_cpu(cpu)
    {
        struct writer *writer = &per_cpu(writers, cpu);

        hrtimer_init(&writer->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
        writer->timer.function = tick;
    }
    result = perf_pmu_register(&bts_pmu, "intel_bts", -1);
    if (result)
        return result;
    result = perf_pmu_register(&pt_pmu, "intel_pt", -1);
    if (result)
        perf_pmu_unregister(&bts_pmu);
    return result;
}

static void __exit aux_pmu_exit(void)
{
    perf_pmu_unregister(&pt_pmu);
    perf_pmu_unregister(&bts_pmu);
}

module_init(aux_pmu_init);
module_exit(aux_pmu_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("plays intel_bts and intel_pt, to test what records AUX areas");
