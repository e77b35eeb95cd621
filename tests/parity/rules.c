/* The deliberate differences, one function each, and the table of them at the end. */
#include "tests/parity/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/bits.h"

static bool is_dummy(const struct call *call)
{
    return call_is(call, "type", "PERF_TYPE_SOFTWARE") && call_is(call, "config", "PERF_COUNT_SW_DUMMY");
}

static bool has_failed(const struct call *call)
{
    return call_get(call, "result")[0] == 'E';
}

static bool is_set(const struct call *call, const char *name)
{
    const char *value = call_get(call, name);
    return *value && strcmp(value, "0") != 0;
}

static bool is_side(const struct call *call)
{
    return call_is(call, "type", "side records");
}

/* ---- what differs from run to run ---- */

/* A group's descriptor becomes the event that leads it; events are opened behind their leader. */
static void describe_groups(struct calls *calls)
{
    for (size_t i = 0; i < calls->count; i++) {
        struct call *call = &calls->items[i];
        const char *fd = call_get(call, "group_fd");
        if (strcmp(fd, "-1") == 0)
            continue;
        const struct call *leader = NULL;
        for (size_t j = 0; j < i; j++) {
            if (call_is(&calls->items[j], "result", fd))
                leader = &calls->items[j];
        }
        char *text = NULL;
        weir_assert(asprintf(&text, "%s:%s on cpu %s", leader ? call_get(leader, "type") : "unknown",
                             leader ? call_get(leader, "config") : fd, leader ? call_get(leader, "cpu") : "") >= 0);
        call_set(call, "group_fd", text);
        free(text);
    }
}

static bool any_has_pid(const struct calls *calls, const char *pid)
{
    for (size_t i = 0; i < calls->count; i++) {
        if (call_is(&calls->items[i], "pid", pid))
            return true;
    }
    return false;
}

/* The descriptor of a cgroup's folder: its number means nothing. */
static void describe_cgroups(struct calls *calls)
{
    for (size_t i = 0; i < calls->count; i++) {
        if (strstr(call_get(&calls->items[i], "flags"), "PERF_FLAG_PID_CGROUP"))
            call_set(&calls->items[i], "pid", "cgroup");
    }
}

/* A process that only one of the two has opened events for is its workload. */
static void describe_workload(struct calls *calls, const struct calls *other)
{
    for (size_t i = 0; i < calls->count; i++) {
        if (!any_has_pid(other, call_get(&calls->items[i], "pid")))
            call_set(&calls->items[i], "pid", "workload");
    }
}

static void describe_results(struct calls *calls)
{
    for (size_t i = 0; i < calls->count; i++) {
        if (!has_failed(&calls->items[i]))
            call_set(&calls->items[i], "result", "open");
    }
}

/* ---- the rules ---- */

struct rule {
    const char *name;
    bool always;
    void (*to_perf)(struct calls *calls);
    void (*to_weir)(struct calls *calls);
    /* Of an event that is not a dummy, beside those of perf; NULL: no promise. */
    bool (*weir_keeps)(const struct call *call, const struct calls *perf);
};

/* Events that are opened to find out what the kernel can do: they count nothing and sample nothing. */
static void drop_probes(struct calls *calls)
{
    for (size_t i = 0; i < calls->count;) {
        const struct call *call = &calls->items[i];
        bool for_registers = call_is(call, "sample_type", "PERF_SAMPLE_REGS_INTR") && !is_set(call, "read_format");
        if (for_registers) {
            calls_drop(calls, i);
            continue;
        }
        bool has_type = is_set(call, "sample_type") && !call_is(call, "sample_type", "PERF_SAMPLE_IDENTIFIER");
        bool samples = is_set(call, "sample_freq") || is_set(call, "sample_period");
        if (!has_type && !samples && !is_set(call, "read_format") && !is_set(call, "wakeup_watermark"))
            calls_drop(calls, i);
        else
            i++;
    }
}

/* perf's second dummy event, on which a thread of its own waits for BPF programs to be loaded. */
static void drop_bpf_thread_events(struct calls *calls)
{
    for (size_t i = 0; i < calls->count;) {
        const struct call *call = &calls->items[i];
        if (is_dummy(call) && call_is(call, "wakeup_watermark", "1") && !is_set(call, "sample_type"))
            calls_drop(calls, i);
        else
            i++;
    }
}

static void drop_words(struct calls *calls, const char *name, const char *const *words)
{
    for (size_t i = 0; i < calls->count; i++) {
        for (const char *const *word = words; *word; word++)
            call_remove_word(&calls->items[i], name, *word);
    }
}

static void drop_identifiers(struct calls *calls)
{
    static const char *const words[] = {"PERF_SAMPLE_ID", "PERF_SAMPLE_IDENTIFIER", NULL};
    drop_words(calls, "sample_type", words);
}

static bool has_any_id(const struct call *call)
{
    return call_has_word(call, "sample_type", "PERF_SAMPLE_IDENTIFIER") ||
           call_has_word(call, "sample_type", "PERF_SAMPLE_ID");
}

/* Or no id at all, where perf has none either. */
static bool has_identifier(const struct call *call, const struct calls *perf)
{
    bool perf_has = false;
    for (size_t i = 0; i < perf->count; i++)
        perf_has |= has_any_id(&perf->items[i]);
    return has_any_id(call) ? !call_has_word(call, "sample_type", "PERF_SAMPLE_ID") : !perf_has;
}

static void drop_cpu_and_time(struct calls *calls)
{
    static const char *const words[] = {"PERF_SAMPLE_CPU", "PERF_SAMPLE_TIME", NULL};
    drop_words(calls, "sample_type", words);
}

static bool has_cpu_and_time(const struct call *call, const struct calls *perf)
{
    (void)perf;
    return call_has_word(call, "sample_type", "PERF_SAMPLE_CPU") &&
           call_has_word(call, "sample_type", "PERF_SAMPLE_TIME");
}

static const char *const side_fields[] = {
    "mmap",      "mmap2",      "mmap_data", "comm",           "comm_exec", "task",     "ksymbol",
    "bpf_event", "namespaces", "cgroup",    "context_switch", "text_poke", "build_id",
};

/* A call that stands for the side records of one CPU and task; made when it is not there. */
static struct call *side_of(struct calls *calls, const char *pid, const char *cpu)
{
    for (size_t i = 0; i < calls->count; i++) {
        struct call *call = &calls->items[i];
        if (is_side(call) && call_is(call, "pid", pid) && call_is(call, "cpu", cpu))
            return call;
    }
    char *owned_pid = strdup(pid), *owned_cpu = strdup(cpu); /* the list moves */
    weir_assert(owned_pid && owned_cpu);
    calls->items = reallocarray(calls->items, calls->count + 1, sizeof(*calls->items));
    weir_assert(calls->items);
    struct call *side = &calls->items[calls->count++];
    *side = (struct call){.count = 0};
    call_set(side, "type", "side records");
    call_set(side, "pid", owned_pid);
    call_set(side, "cpu", owned_cpu);
    free(owned_pid);
    free(owned_cpu);
    return side;
}

/* Which event brings the side records does not matter: they become an entry of their own per CPU and task. */
static void collect_side_records(struct calls *calls)
{
    for (size_t i = 0; i < calls->count;) {
        bool brings = false;
        for (size_t f = 0; f < WEIR_ARRAY_COUNT(side_fields); f++) {
            struct call *call = &calls->items[i];
            bool counts = is_set(call, side_fields[f]) && !is_side(call);
            if (!counts)
                continue;
            brings = true;
            if (!has_failed(call))
                call_set(side_of(calls, call_get(call, "pid"), call_get(call, "cpu")), side_fields[f], "1");
            call_set(&calls->items[i], side_fields[f], "0");
        }
        if (brings && is_dummy(&calls->items[i]))
            calls_drop(calls, i);
        else
            i++;
    }
}

static void drop_side_records(struct calls *calls)
{
    for (size_t i = 0; i < calls->count;) {
        if (is_side(&calls->items[i]))
            calls_drop(calls, i);
        else
            i++;
    }
}

static void drop_watermarks(struct calls *calls)
{
    for (size_t i = 0; i < calls->count; i++) {
        if (!is_set(&calls->items[i], "watermark"))
            continue;
        call_set(&calls->items[i], "watermark", "0");
        call_set(&calls->items[i], "wakeup_watermark", "0");
    }
}

static void drop_software_precision(struct calls *calls)
{
    for (size_t i = 0; i < calls->count; i++) {
        if (call_is(&calls->items[i], "type", "PERF_TYPE_SOFTWARE"))
            call_set(&calls->items[i], "precise_ip", "0");
    }
}

/* What leaves out the recorder's own tasks: perf knows one of them. */
static void drop_own_filters(struct calls *calls)
{
    for (size_t i = 0; i < calls->count; i++) {
        if (strstr(call_get(&calls->items[i], "filter"), "common_pid != "))
            call_set(&calls->items[i], "filter", "own");
    }
}

static void drop_tracepoint_period(struct calls *calls)
{
    for (size_t i = 0; i < calls->count; i++) {
        struct call *call = &calls->items[i];
        if (call_is(call, "type", "PERF_TYPE_TRACEPOINT") && strtoull(call_get(call, "sample_period"), NULL, 10) > 1)
            call_remove_word(call, "sample_type", "PERF_SAMPLE_PERIOD");
    }
}

/* perf forgets the levels of `-j u` when no kind of branch stands beside them. */
static void drop_levels_of_any_branch(struct calls *calls)
{
    static const char *const levels[] = {"PERF_SAMPLE_BRANCH_USER", "PERF_SAMPLE_BRANCH_KERNEL",
                                         "PERF_SAMPLE_BRANCH_HV"};
    for (size_t i = 0; i < calls->count; i++) {
        struct call *call = &calls->items[i];
        for (size_t n = 0; n < WEIR_ARRAY_COUNT(levels); n++) {
            if (call_has_word(call, "branch_sample_type", "PERF_SAMPLE_BRANCH_ANY"))
                call_remove_word(call, "branch_sample_type", levels[n]);
        }
    }
}

/* Of an event that is refused again and again, only what was asked for at first counts: after that, each side gives in
 * in an order of its own. */
static void keep_first_refusals(struct calls *calls)
{
    for (size_t i = 0; i < calls->count; i++) {
        for (size_t j = i + 1; has_failed(&calls->items[i]) && j < calls->count;) {
            if (has_failed(&calls->items[j]) && call_is_twin(&calls->items[i], &calls->items[j]))
                calls_drop(calls, j);
            else
                j++;
        }
    }
}

/* What is refused together is tried again together, weaker: up to the first refusal each side asks for what it was told
 * to. */
static void keep_up_to_first_refusal(struct calls *calls)
{
    size_t end = 0;
    while (end < calls->count && !has_failed(&calls->items[end]))
        end++;
    while (calls->count > end + 1)
        calls_drop(calls, calls->count - 1);
}

/* Side records of CPUs of which nothing else is recorded: perf 6.1 has them with intel_pt only, perf 6.12 with each -C.
 */
static void drop_side_records_alone(struct calls *calls)
{
    for (size_t i = 0; i < calls->count;) {
        bool is_alone = is_side(&calls->items[i]);
        for (size_t j = 0; j < calls->count; j++)
            is_alone = is_alone && (is_side(&calls->items[j]) ||
                                    !call_is(&calls->items[j], "cpu", call_get(&calls->items[i], "cpu")));
        if (is_alone)
            calls_drop(calls, i);
        else
            i++;
    }
}

static void drop_sizes(struct calls *calls)
{
    for (size_t i = 0; i < calls->count; i++)
        call_set(&calls->items[i], "size", "any");
}

/* The clock that is recorded where the machine has no cycles, also as the leader of others. */
static void name_fallback_clock(struct calls *calls)
{
    static const char task[] = "PERF_COUNT_SW_TASK_CLOCK";
    static const char *const fields[] = {"config", "group_fd"};
    for (size_t i = 0; i < calls->count; i++) {
        for (size_t j = 0; j < WEIR_ARRAY_COUNT(fields); j++) {
            const char *value = call_get(&calls->items[i], fields[j]), *at = strstr(value, task);
            char *text = NULL;
            if (!at)
                continue;
            weir_assert(asprintf(&text, "%.*sPERF_COUNT_SW_CPU_CLOCK%s", (int)(at - value), value, at + strlen(task)) >=
                        0);
            call_set(&calls->items[i], fields[j], text);
            free(text);
        }
    }
}

static void drop_guests(struct calls *calls)
{
    for (size_t i = 0; i < calls->count; i++)
        call_set(&calls->items[i], "exclude_guest", "0");
}

/* What an event has of its place in a group. */
static void drop_groups(struct calls *calls)
{
    static const char *const fields[] = {"group_fd", "disabled", "enable_on_exec"};
    for (size_t i = 0; i < calls->count; i++) {
        for (size_t j = 0; j < WEIR_ARRAY_COUNT(fields); j++)
            call_set(&calls->items[i], fields[j], "any");
    }
}

/* In the order in which they are applied. */
static const struct rule rules[] = {
    {"attr-size", false, drop_sizes, drop_sizes, NULL},
    {"fallback-clock", false, name_fallback_clock, name_fallback_clock, NULL},
    {"default-guests", false, drop_guests, drop_guests, NULL},
    {"groups-by-pmu", false, drop_groups, drop_groups, NULL},
    {"probes", true, drop_probes, drop_probes, NULL},
    {"bpf-thread", true, drop_bpf_thread_events, NULL, NULL},
    {"identifier", true, drop_identifiers, drop_identifiers, has_identifier},
    {"cpu-and-time", true, drop_cpu_and_time, drop_cpu_and_time, has_cpu_and_time},
    {"side-event", true, collect_side_records, collect_side_records, NULL},
    {"watermark", true, NULL, drop_watermarks, NULL},
    {"software-precision", true, drop_software_precision, drop_software_precision, NULL},
    {"branch-levels", false, drop_levels_of_any_branch, drop_levels_of_any_branch, NULL},
    {"exclude-perf", false, drop_own_filters, drop_own_filters, NULL},
    {"tracepoint-period", true, drop_tracepoint_period, NULL, NULL},
    {"side-records-alone", true, drop_side_records_alone, drop_side_records_alone, NULL},
    {"ladder", true, keep_first_refusals, keep_first_refusals, NULL},
    {"ladder-of-groups", false, keep_up_to_first_refusal, keep_up_to_first_refusal, NULL},
};

static bool is_chosen(const struct rule *rule, char *const *chosen)
{
    for (; *chosen; chosen++) {
        if (strcmp(*chosen, rule->name) == 0)
            return true;
    }
    return rule->always;
}

static bool is_failed(char *const *chosen)
{
    while (*chosen && strcmp(*chosen, "--failed") != 0)
        chosen++;
    return *chosen != NULL;
}

static bool names_are_known(char *const *chosen)
{
    for (; *chosen; chosen++) {
        size_t i = strcmp(*chosen, "--failed") == 0 ? WEIR_ARRAY_COUNT(rules) + 1 : 0;
        while (i < WEIR_ARRAY_COUNT(rules) && strcmp(rules[i].name, *chosen) != 0)
            i++;
        if (i == WEIR_ARRAY_COUNT(rules)) {
            printf("there is no rule '%s'\n", *chosen);
            return false;
        }
    }
    return true;
}

static bool weir_keeps(const struct rule *rule, const struct calls *weir, const struct calls *perf)
{
    for (size_t i = 0; rule->weir_keeps && i < weir->count; i++) {
        const struct call *call = &weir->items[i];
        if (rule->weir_keeps(call, perf))
            continue;
        printf("an event of weir (type %s, config %s) does not keep '%s': sample_type %s\n", call_get(call, "type"),
               call_get(call, "config"), rule->name, call_get(call, "sample_type"));
        return false;
    }
    return true;
}

bool rules_apply(struct calls *perf, struct calls *weir, char *const *chosen)
{
    if (!names_are_known(chosen))
        return false;
    describe_groups(perf);
    describe_groups(weir);
    describe_cgroups(perf);
    describe_cgroups(weir);
    describe_workload(perf, weir);
    describe_workload(weir, perf);
    describe_results(perf);
    describe_results(weir);
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(rules); i++) {
        if (!is_chosen(&rules[i], chosen))
            continue;
        if (!weir_keeps(&rules[i], weir, perf))
            return false;
        if (rules[i].to_perf)
            rules[i].to_perf(perf);
        if (rules[i].to_weir)
            rules[i].to_weir(weir);
    }
    if (is_failed(chosen)) {
        drop_side_records(perf);
        drop_side_records(weir);
    }
    return true;
}

void rules_print(void)
{
    for (size_t i = 0; i < WEIR_ARRAY_COUNT(rules); i++)
        printf("%s\n", rules[i].name);
}
