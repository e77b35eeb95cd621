/* A small made-up machine, see sample_machine.h. */
#include "tests/format/sample_machine.h"

#include "base/bits.h"

#define TEXT(s) ((char *)(s)) /* the fields are owned text elsewhere; nothing here writes to them */

static struct weir_machine_cpu cpus[] = {
    {.id = 0, .core_id = 0, .die_id = 0, .package_id = 0, TEXT("0-1"), TEXT("0-1"), TEXT("0")},
    {.id = 1, .core_id = 1, .die_id = 0, .package_id = 0, TEXT("0-1"), TEXT("0-1"), TEXT("1")},
    {.id = 3, .core_id = 0, .die_id = 2, .package_id = 1, TEXT("3"), TEXT("3"), TEXT("3")},
};

static uint64_t node0_blocks[] = {0x8000000000000005, 0x1};

static struct weir_machine_node nodes[] = {
    {0, 8192, 4096, TEXT("0-1"), node0_blocks, 65},
    {1, 2048, 1024, TEXT("3"), NULL, 0},
};

static struct weir_machine_cache caches[] = {
    {2, 64, 1024, 16, TEXT("Unified"), TEXT("1024K"), TEXT("0")},
    {1, 64, 64, 8, TEXT("Data"), TEXT("32K"), TEXT("0")},
    {1, 64, 64, 8, TEXT("Instruction"), TEXT("32K"), TEXT("0")},
};

static struct weir_machine_pmu pmus[] = {{1, TEXT("software")}, {4, TEXT("cpu")}};

struct weir_machine sample_machine(void)
{
    return (struct weir_machine){
        .hostname = TEXT("testhost"),
        .os_release = TEXT("6.12.0-test"),
        .arch = TEXT("x86_64"),
        .cpu_desc = TEXT("Test CPU @ 1.0GHz"),
        .cpuid = TEXT("GenuineIntel,6,85,7"),
        .cpus_available = 4,
        .cpus_online = 3,
        .mem_total_kb = 10240,
        .memory_block_bytes = 0x8000000,
        .cpus = cpus,
        .cpu_count = WEIR_ARRAY_COUNT(cpus),
        .nodes = nodes,
        .node_count = WEIR_ARRAY_COUNT(nodes),
        .caches = caches,
        .cache_count = WEIR_ARRAY_COUNT(caches),
        .pmus = pmus,
        .pmu_count = WEIR_ARRAY_COUNT(pmus),
    };
}
