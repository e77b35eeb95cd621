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
    {"cpu/format/farthest", "config4:8-15\n"},
    {"cpu/format/other_word", "config5:0-3\n"},
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
    {"cpu/events/parametrized", "event=0x10,umask=?\n"},
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

/* No machine has all of these. What is in the files is from machines that have one. */
static const struct file trace[] = {
    {"cpu/type", "4\n"},
    {"cpu/format/event", "config:0-7\n"},
    {"intel_pt/type", "8\n"},
    {"intel_pt/max_nonturbo_ratio", "34\n"},
    {"intel_pt/nr_addr_filters", "2\n"},
    {"intel_pt/caps/cycle_thresholds", "3fff\n"},
    {"intel_pt/caps/event_trace", "1\n"},
    {"intel_pt/caps/mtc", "1\n"},
    {"intel_pt/caps/mtc_periods", "249\n"},
    {"intel_pt/caps/psb_cyc", "1\n"},
    {"intel_pt/caps/psb_periods", "3f\n"},
    {"intel_pt/caps/topa_multiple_entries", "1\n"},
    {"intel_pt/format/branch", "config:13\n"},
    {"intel_pt/format/cyc", "config:1\n"},
    {"intel_pt/format/cyc_thresh", "config:19-22\n"},
    {"intel_pt/format/mtc", "config:9\n"},
    {"intel_pt/format/mtc_period", "config:14-17\n"},
    {"intel_pt/format/noretcomp", "config:11\n"},
    {"intel_pt/format/psb_period", "config:24-27\n"},
    {"intel_pt/format/pt", "config:0\n"},
    {"intel_pt/format/tsc", "config:10\n"},
    {"intel_bts/type", "9\n"},
    {"arm_spe_0/type", "10\n"},
    {"arm_spe_0/cpumask", "0-1\n"},
    {"arm_spe_0/caps/min_interval", "1024\n"},
    {"arm_spe_0/format/ts_enable", "config:0\n"},
    {"arm_spe_0/format/pa_enable", "config:1\n"},
    {"arm_spe_0/format/load_filter", "config:33\n"},
    {"arm_spe_1/type", "11\n"},
    {"arm_spe_1/format/ts_enable", "config:0\n"},
    {"cs_etm/type", "12\n"},
    {"cs_etm/format/cycacc", "config:12\n"},
    {"cs_etm/format/contextid", "config:14\n"},
    {"cs_etm/format/contextid2", "config:15\n"},
    {"cs_etm/format/timestamp", "config:28\n"},
    {"cs_etm/sinks/tmc_etr0", "0x1234\n"},
    {"cs_etm/cpu0/trcidr/trcidr0", "0x28000ea1\n"},
    {"cs_etm/cpu0/trcidr/trcidr1", "0x4100f403\n"},
    {"cs_etm/cpu0/trcidr/trcidr2", "0x00000488\n"},
    {"cs_etm/cpu0/trcidr/trcidr8", "0x0\n"},
    {"cs_etm/cpu0/mgmt/trcauthstatus", "0xcc\n"},
    {"cs_etm/cpu1/trcidr/trcidr0", "0x28000ea1\n"},
    {"cs_etm/cpu1/trcidr/trcidr1", "0x4100fff1\n"},
    {"cs_etm/cpu1/trcidr/trcidr2", "0x20001088\n"},
    {"cs_etm/cpu1/trcidr/trcidr8", "0x1\n"},
    {"cs_etm/cpu1/mgmt/trcauthstatus", "0xcc\n"},
    {"cs_etm/cpu1/mgmt/trcdevarch", "0x47705a13\n"},
    {"cs_etm/cpu2/mgmt/etmccer", "0x34c01ac2\n"},
    {"cs_etm/cpu2/mgmt/etmidr", "0x4114f250\n"},
    {NULL, NULL},
};

static const struct file *const machines[] = {
    [FAKE_INTEL] = intel,
    [FAKE_HYBRID] = hybrid,
    [FAKE_ARM] = arm,
    [FAKE_TRACE] = trace,
};

void fake_sysfs_init(struct temp_tree *tree, enum fake_machine machine)
{
    temp_tree_init(tree);
    for (const struct file *file = machines[machine]; file->path; file++) {
        char path[PATH_MAX];
        format_text(path, sizeof(path), "bus/event_source/devices/%s", file->path);
        temp_tree_write_text(tree, path, file->text);
    }
}
