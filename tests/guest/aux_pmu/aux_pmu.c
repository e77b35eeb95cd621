/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A test instrument, no part of weir: a kernel module that plays the branch trace store of Intel's CPUs, so that AUX
 * areas can be recorded where no CPU has any. scripts/guest builds it and loads it into its emulated machine; it is
 * linked to nothing of this tree, and is not installed. The kernel exports what it needs (perf_pmu_register(),
 * perf_aux_output_begin()) to modules under the GPL only, hence its licence, which is that of this folder alone.
 *
 * The PMU is called intel_bts, which is free in a machine that has no such CPU: the name by which perf and weir know
 * it. While an event runs on a CPU, a timer writes `batch` branches of 24 bytes every `tick_us`, and one more whenever
 * the event starts. The n-th branch of CPU c since `written` was last reset, n from 0, is
 *
 *     from = (c + 1) << 40 | n     to = from + 1     flags = 16 (predicted) for odd n, 0 for even n
 *
 * so that whoever reads the trace can say of each one whether it is there, once, and on its CPU. Parameters, below
 * /sys/module/aux_pmu/parameters:
 *
 *     batch, tick_us   how much, how often; a new tick_us is that of the next start
 *     written          how many branches each possible CPU has written, a number for each; anything written to it makes
 *                      them 0, which is for when no event is open
 *     truncated        how often an event was stopped because its area was full; likewise
 *
 * What is asked of the kernel, and when, is modelled on arch/x86/events/intel/bts.c of Linux 6.1 with one physical
 * buffer: data is told of when the watermark is passed or the event stops; branches never lie across the end of the
 * area, and the last page's worth of it is skipped, without a record that says so, when the reader has left more room
 * at the beginning; a full area is flagged PERF_AUX_FLAG_TRUNCATED; an area that is overwritten has its head as an
 * offset, and each record of it says that the whole area is valid. Where that driver has an interrupt at a threshold,
 * this one looks after each branch.
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

struct branch {
    u64 from;
    u64 to;
    u64 flags;
};
static_assert(sizeof(struct branch) == BRANCH_BYTES);

/* An event's area, all offsets in bytes from its beginning. */
struct area {
    void *base;
    unsigned long size;
    unsigned long usable;    /* of it, for whole branches */
    bool overwritten;        /* the reader never says what it has read */
    unsigned long head;      /* where the next branch goes */
    unsigned long end;       /* first one that is not free; of one that is not overwritten */
    unsigned long threshold; /* where we take the interrupt; likewise */
    unsigned long untold;    /* bytes before head that no record tells of yet; likewise */
};

/* What runs on a CPU: touched there only, with interrupts off. */
struct writer {
    struct perf_output_handle handle;
    struct hrtimer timer;
    bool is_running; /* from begin to end */
};

static DEFINE_PER_CPU(struct writer, writers);
static DEFINE_PER_CPU(u64, written);
static DEFINE_PER_CPU(u64, truncated);
static struct pmu aux_pmu;

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
    area->usable = area->size - area->size % BRANCH_BYTES;
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
    unsigned long room, until_wakeup;
    int result;

    if (area->overwritten)
        return 0;
    area->head = handle->head & (area->size - 1);
    room = min(area->usable - area->head, handle->size);
    room -= room % BRANCH_BYTES;
    if (room <= MARGIN_BYTES) {
        result = skip_to_beginning(area, handle, &room);
        if (result)
            return result;
    }
    until_wakeup = MARGIN_BYTES + BRANCH_BYTES + handle->wakeup - handle->head;
    if (room > until_wakeup)
        room = until_wakeup - until_wakeup % BRANCH_BYTES;
    if (room == 0)
        return -ENOSPC;
    area->end = area->head + room;
    if (room > MARGIN_BYTES)
        area->threshold = area->end - MARGIN_BYTES;
    else
        area->threshold = area->end - (room > BRANCH_BYTES ? BRANCH_BYTES : 0);
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

    if (area->head >= area->end) {
        perf_aux_output_flag(&writer->handle, PERF_AUX_FLAG_TRUNCATED);
        this_cpu_inc(truncated);
    }
    end(writer);
    begin(writer, event);
}

static void write_branches(struct writer *writer, unsigned int count)
{
    unsigned long cpu = smp_processor_id();
    struct area *area;
    struct branch *branch;
    u64 number;

    while (count-- > 0 && writer->is_running) {
        area = perf_get_aux(&writer->handle);
        number = this_cpu_inc_return(written) - 1;
        branch = area->base + area->head;
        branch->from = (u64)(cpu + 1) << CPU_SHIFT | number;
        branch->to = branch->from + 1;
        branch->flags = number & 1 ? FLAGS_PREDICTED : 0;
        area->head += BRANCH_BYTES;
        if (area->overwritten) {
            if (area->head == area->usable)
                area->head = 0;
            continue;
        }
        area->untold += BRANCH_BYTES;
        if (area->head >= area->threshold)
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

static int init_event(struct perf_event *event)
{
    return event->attr.type == aux_pmu.type ? 0 : -ENOENT;
}

static struct pmu aux_pmu = {
    .module = THIS_MODULE,
    .capabilities = PERF_PMU_CAP_ITRACE | PERF_PMU_CAP_EXCLUSIVE,
    .task_ctx_nr = perf_sw_context,
    .event_init = init_event,
    .add = add_event,
    .del = del_event,
    .start = start_event,
    .stop = stop_event,
    .read = read_event,
    .setup_aux = setup_area,
    .free_aux = free_area,
};

static int __init aux_pmu_init(void)
{
    int cpu;

    for_each_possible_cpu(cpu)
    {
        struct writer *writer = &per_cpu(writers, cpu);

        hrtimer_init(&writer->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
        writer->timer.function = tick;
    }
    return perf_pmu_register(&aux_pmu, "intel_bts", -1);
}

static void __exit aux_pmu_exit(void)
{
    perf_pmu_unregister(&aux_pmu);
}

module_init(aux_pmu_init);
module_exit(aux_pmu_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("plays the branch trace store of Intel CPUs, to test what records AUX areas");
