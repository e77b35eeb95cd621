/*
 * The entry points that libFuzzer calls (https://llvm.org/docs/LibFuzzer.html). Its interface passes no context, so the
 * fixture is the one mutable global of this tree. One thread.
 */
#include <stdlib.h>

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void *fixture;

/* libFuzzer leaves by exit(3), but not after a finding. */
static void fini(void)
{
    fuzz_target.fini(fixture);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    if (!fuzz_target.init)
        return 0;
    fixture = fuzz_target.init();
    return atexit(fini);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    fuzz_target.run(fixture, data, bytes);
    return 0;
}
