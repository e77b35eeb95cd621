/*
 * The tables of modes for composition.sh: "mode NAME OPTIONS" for each mode that has an example, then
 * "refused NAME NAME TEXT" for each pair of these that a rule refuses.
 */
#include <stdio.h>

#include "base/error.h"
#include "engine/modes/modes.h"

static void add_example(struct weir_modes *modes, enum weir_mode mode)
{
    const uint64_t more = weir_mode_row(mode)->example_modes;
    weir_modes_add(modes, mode);
    for (unsigned i = 0; i < WEIR_MODE_COUNT; i++) {
        if (more & WEIR_MODE_BIT(i))
            weir_modes_add(modes, i);
    }
}

static void print_refusal(enum weir_mode first, enum weir_mode second)
{
    struct weir_modes modes = {0};
    struct weir_error err = {0};
    add_example(&modes, first);
    add_example(&modes, second);
    if (weir_modes_check(&modes, NULL, &err) < 0)
        printf("refused %s %s %s\n", weir_mode_row(first)->name, weir_mode_row(second)->name, err.what);
}

int main(void)
{
    for (unsigned i = 0; i < WEIR_MODE_COUNT; i++) {
        if (weir_mode_row(i)->example)
            printf("mode %s %s\n", weir_mode_row(i)->name, weir_mode_row(i)->example);
    }
    for (unsigned i = 0; i < WEIR_MODE_COUNT; i++) {
        for (unsigned j = i + 1; weir_mode_row(i)->example && j < WEIR_MODE_COUNT; j++) {
            if (weir_mode_row(j)->example)
                print_refusal(i, j);
        }
    }
    return 0;
}
