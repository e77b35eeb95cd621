/* Writes the files, one per row. */
#include "tests/engine/fake_sysfs.h"

#include <criterion/criterion.h>

struct file {
    const char *path; /* below bus/event_source/devices; NULL ends the list */
    const char *text;
};

static const struct file intel[] = {
    {"cpu/type", "4\n"},
    {"cpu/caps/max_precise", "3\n"},
    {"cpu/format/event", "config:0-7\n"},
    {"cpu/format/umask", "config:8-15\n"},
    {"cpu/format/edge", "config:18\n"},
    {"cpu/format/cmask", "config:24-31\n"},
    {"cpu/format/ldlat", "config1:0-15\n"},
    {"cpu/format/offcore_rsp", "config1:0-63\n"},
    {"cpu/format/split", "config:0-7,32-35\n"},
    {"cpu/format/far", "config2:4-11\n"},
    {"cpu/format/farther", "config3:0-3\n"},
    {"cpu/format/no_colon", "config0-3\n"},
    {"cpu/format/backwards", "config:7-0\n"},
    {"cpu/format/too_wide", "config:60-64\n"},
    {"cpu/format/other_word", "config4:0-3\n"},
    {"cpu/format/trailing", "config:0-3x\n"},
    {"cpu/format/empty", ""},
    {"cpu/events/cpu-cycles", "event=0x3c\n"},
    {"cpu/events/instructions", "event=0xc0\n"},
    {"cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n"},
    {"cpu/events/mem-stores", "event=0xd0,umask=0x82\n"},
    {"cpu/events/topdown-slots", "event=0x00,umask=0x4\n"},
    {"cpu/events/topdown-slots.scale", "2\n"},
    {"cpu/events/topdown-slots.unit", "slots\n"},
    {"cpu/events/topdown-slots.per-pkg", "1\n"},
    {"cpu/events/topdown-slots.snapshot", "1\n"},
    {"cpu/events/other-slots", "event=0x00,umask=0x8\n"},
    {"cpu/events/other-slots.scale", "4\n"},
    {"cpu/events/parametrised", "event=0x10,umask=?\n"},
    {"cpu/events/broken", "event=\n"},
    {"cpu/events/unknown", "evnt=1\n"},
    {"cpu/events/slow", "event=0x3c,period=100000\n"},
    {"cpu/events/two_lines", "event=0x3c\nevent=0x3d\n"},
    {"software/type", "1\n"},
    {"tracepoint/type", "2\n"},
    {"power/type", "22\n"},
    {"power/cpumask", "0\n"},
    {"power/format/event", "config:0-7\n"},
    {"power/events/energy-pkg", "event=0x02\n"},
    {"power/events/energy-pkg.scale", "2.3283064365386962890625e-10\n"},
    {"power/events/energy-pkg.unit", "Joules\n"},
    {"uncore_imc_0/type", "30\n"},
    {"uncore_imc_0/cpumask", "0,4\n"},
    {"uncore_imc_0/format/event", "config:0-7\n"},
    {"uncore_imc_0/format/umask", "config:8-15\n"},
    {"uncore_imc_0/events/cas_count_read", "event=0x04,umask=0x03\n"},
    {"uncore_imc_0/events/cas_count_read.scale", "6.103515625e-5\n"},
    {"uncore_imc_0/events/cas_count_read.unit", "MiB\n"},
    {"uncore_imc_1/type", "31\n"},
    {"uncore_imc_1/cpumask", "0,4\n"},
    {"uncore_imc_1/format/event", "config:0-7\n"},
    {"uncore_imc_1/format/umask", "config:8-15\n"},
    {"uncore_imc_1/events/cas_count_read", "event=0x04,umask=0x03\n"},
    {"uncore_imc_10/type", "40\n"},
    {"uncore_imc_10/format/event", "config:0-7\n"},
    {"uncore_imc_10/format/umask", "config:8-15\n"},
    {"uncore_imc_10/events/cas_count_read", "event=0x04,umask=0x03\n"},
    {"uncore_cha/type", "41\n"},
    {"uncore_cha/format/event", "config:0-7\n"},
    {"cs_etm/type", "70\n"},
    {"cs_etm/nr_addr_filters", "8\n"},
    {"cs_etm/format/cycacc", "config:12\n"},
    {"cs_etm/sinks/tmc_etr0", "0x1234\n"},
    {"no_type/format/event", "config:0-7\n"},
    {"bad_type/type", "four\n"},
    {NULL, NULL},
};

static const struct file hybrid[] = {
    {"cpu_core/type", "50\n"},
    {"cpu_core/cpus", "0-3\n"},
    {"cpu_core/format/event", "config:0-7\n"},
    {"cpu_core/events/xcycles", "event=0x3c\n"},
    {"cpu_atom/type", "51\n"},
    {"cpu_atom/cpus", "4-7\n"},
    {"cpu_atom/format/event", "config:0-7\n"},
    {"cpu_atom/events/xcycles", "event=0x3d\n"},
    {"software/type", "1\n"},
    {NULL, NULL},
};

static const struct file arm[] = {
    {"armv8_pmuv3_0/type", "60\n"},
    {"armv8_pmuv3_0/cpus", "0-1\n"},
    {"armv8_pmuv3_0/format/event", "config:0-15\n"},
    {"armv8_pmuv3_0/format/long", "config1:0\n"},
    {"armv8_pmuv3_0/events/l1d_cache", "event=0x4\n"},
    {"software/type", "1\n"},
    {NULL, NULL},
};

static const struct file *const machines[] = {[FAKE_INTEL] = intel, [FAKE_HYBRID] = hybrid, [FAKE_ARM] = arm};

void fake_sysfs_init(struct temp_tree *tree, enum fake_machine machine)
{
    temp_tree_init(tree);
    for (const struct file *file = machines[machine]; file->path; file++) {
        char path[PATH_MAX];
        format_text(path, sizeof(path), "bus/event_source/devices/%s", file->path);
        temp_tree_write_text(tree, path, file->text);
    }
}
