/*
 * Compares what perf and weir asked the kernel for: compare PERF_TRACE WEIR_TRACE [DIFFERENCE...]
 *
 * Both traces are normalized (rules.h), then compared as sets: each call of one side must be a call of the other, field
 * by field, result included. What is left over is printed in pairs of the same event, with the fields that differ.
 * DIFFERENCE: a rule of rules.h that holds for this comparison only. Exit status 0: equal, 1: different.
 * --failed among the differences: neither recorded, so that side records do not count, which are opened last or never.
 * compare --rules prints the names of all rules.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/parity/call.h"
#include "tests/parity/rules.h"

/* Fields whose absence is the same as 0: newer attrs have them, or the event's type does not. */
static const char *value_of(const struct call *call, const char *name)
{
    const char *value = call_get(call, name);
    return *value ? value : "0";
}

static bool calls_equal(const struct call *a, const struct call *b)
{
    for (size_t i = 0; i < a->count; i++) {
        if (strcmp(value_of(b, a->fields[i].name), value_of(a, a->fields[i].name)) != 0)
            return false;
    }
    return true;
}

static bool same(const struct call *a, const struct call *b)
{
    return calls_equal(a, b) && calls_equal(b, a);
}

static void remove_pairs(struct calls *perf, struct calls *weir)
{
    for (size_t i = 0; i < perf->count;) {
        size_t j = 0;
        while (j < weir->count && !same(&perf->items[i], &weir->items[j]))
            j++;
        if (j == weir->count) {
            i++;
            continue;
        }
        calls_drop(perf, i);
        calls_drop(weir, j);
    }
}

static void print_call(const char *who, const struct call *call)
{
    printf("only %s:", who);
    for (size_t i = 0; i < call->count; i++) {
        if (strcmp(call->fields[i].value, "0") != 0)
            printf(" %s=%s", call->fields[i].name, call->fields[i].value);
    }
    printf("\n");
}

static void print_fields(const struct call *perf, const struct call *weir, const struct call *named, bool only_missing)
{
    for (size_t i = 0; i < named->count; i++) {
        const char *name = named->fields[i].name;
        if (only_missing && *call_get(perf, name))
            continue;
        if (strcmp(value_of(perf, name), value_of(weir, name)) != 0)
            printf("    %s: perf %s, weir %s\n", name, value_of(perf, name), value_of(weir, name));
    }
}

static void print_differences(struct calls *perf, struct calls *weir)
{
    while (perf->count > 0) {
        const struct call *call = &perf->items[0];
        size_t j = 0;
        while (j < weir->count && !call_is_twin(call, &weir->items[j]))
            j++;
        if (j == weir->count) {
            print_call("perf", call);
        } else {
            printf("type %s, config %s, cpu %s, pid %s:\n", call_get(call, "type"), call_get(call, "config"),
                   call_get(call, "cpu"), call_get(call, "pid"));
            print_fields(call, &weir->items[j], call, false);
            print_fields(call, &weir->items[j], &weir->items[j], true);
            calls_drop(weir, j);
        }
        calls_drop(perf, 0);
    }
    for (size_t i = 0; i < weir->count; i++)
        print_call("weir", &weir->items[i]);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--rules") == 0) {
        rules_print();
        return EXIT_SUCCESS;
    }
    if (argc < 3) {
        fprintf(stderr, "usage: compare PERF_TRACE WEIR_TRACE [DIFFERENCE...] | --rules\n");
        return EXIT_FAILURE;
    }
    struct calls perf, weir;
    calls_read(&perf, argv[1]);
    calls_read(&weir, argv[2]);
    if (!rules_apply(&perf, &weir, argv + 3)) {
        calls_fini(&perf);
        calls_fini(&weir);
        return EXIT_FAILURE;
    }

    size_t count = perf.count;
    remove_pairs(&perf, &weir);
    bool equal = perf.count == 0 && weir.count == 0;
    if (equal && count == 0) {
        printf("neither opened anything\n");
        equal = false;
    }
    print_differences(&perf, &weir);
    calls_fini(&perf);
    calls_fini(&weir);
    return equal ? EXIT_SUCCESS : EXIT_FAILURE;
}
