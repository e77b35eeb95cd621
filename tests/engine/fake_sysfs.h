/*
 * A folder with the PMU descriptions of a machine, as sysfs has them, for tests of pmu.c and of the event grammar. What
 * the attrs that follow from them are was seen with perf 6.1 on the same trees (SYSFS_PATH=... perf record -vv -e ...).
 */
#ifndef WEIR_TESTS_ENGINE_FAKE_SYSFS_H
#define WEIR_TESTS_ENGINE_FAKE_SYSFS_H

#include "tests/format/temp_tree.h"

enum fake_machine {
    FAKE_INTEL,  /* cpu, uncore_imc_0, _1 and _10, uncore_cha, power, cs_etm, software, tracepoint */
    FAKE_HYBRID, /* cpu_core (CPU 0-3) and cpu_atom (CPU 4-7), software */
    FAKE_ARM,    /* armv8_pmuv3_0 (CPU 0-1), software */
    FAKE_TRACE,  /* intel_pt and intel_bts as a Skylake has them; arm_spe_0 and _1; cs_etm: CPU 0 ETMv4, 1 ETE, 2 PTM */
};

/* Makes the folder; the test fails when it cannot. temp_tree_fini() removes it. */
void fake_sysfs_init(struct temp_tree *tree, enum fake_machine machine);

#endif
