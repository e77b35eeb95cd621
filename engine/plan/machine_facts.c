/* Reads the machine's facts; see machine_facts.h. Coordinator thread. */
#include "engine/plan/machine_facts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "engine/events/registers.h"
#include "io/probe.h"
#include "topology/plan_housekeeping.h"

/* Returns the free bytes of the folder that holds the path's last component; UINT64_MAX: unknown. */
static uint64_t free_bytes_at(const char *path)
{
    char *folder = weir_io_folder_of(path);
    uint64_t bytes;
    bool is_known = folder && weir_io_probe_space(folder, &bytes) == 0;
    free(folder);
    return is_known ? bytes : UINT64_MAX;
}

static int read_this_machine(struct weir_machine_facts *machine, struct weir_error *err)
{
    if (weir_quiet_cpus_read(&machine->quiet_cpus, "") < 0)
        return weir_error_set_errno(err, -ENOMEM, "cannot plan the readers");
    int result = weir_memory_limit_read(&machine->memory_limit, "");
    return result < 0 ? weir_error_set_errno(err, result, "cannot read the limit of memory") : 0;
}

int weir_machine_facts_read(struct weir_machine_facts *machine, const struct weir_record_options *options,
                            const struct weir_kernel *kernel, struct weir_error *err)
{
    machine->memory_limit.bytes = WEIR_MEMORY_UNLIMITED;
    machine->free_bytes =
        options->output.kind == WEIR_RECORD_OUTPUT_STREAM ? UINT64_MAX : free_bytes_at(options->output.path);
    weir_kernel_limits_read(&machine->limits, NULL);
    int result = weir_topology_load(&machine->topology, err);
    if (result == 0 && weir_topology_is_this_machine(machine->topology))
        result = read_this_machine(machine, err);
    if (result < 0)
        return result;
    const struct weir_register_set *registers = weir_registers_here();
    if (options->samples.intr_regs_all)
        machine->interrupt_registers = weir_registers_probe_extended(registers, kernel);
    machine->user_registers = weir_registers_probe_user_extended(registers, kernel);
    return options->samples.clock.given
               ? weir_sample_clock_reference(options->samples.clock.id, &machine->clock_reference, err)
               : 0;
}

uint64_t weir_machine_facts_memory_bytes(const struct weir_machine_facts *machine)
{
    return weir_min_u64(weir_topology_memory_bytes(machine->topology), machine->memory_limit.bytes);
}

void weir_machine_facts_fini(struct weir_machine_facts *machine)
{
    weir_cpuset_fini(&machine->quiet_cpus);
    weir_cpuset_fini(&machine->late_cpus);
    weir_topology_free(machine->topology);
    *machine = (struct weir_machine_facts){0};
}
