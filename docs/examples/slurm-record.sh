#!/bin/bash
#SBATCH --job-name=recorded
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
# A job whose step is recorded: each of its tasks by a weir of its own, which ends when the task does, with its exit
# status, and writes weir.JOBID.TASK.data into the folder that the job was submitted from. docs/fleet.md.
# sbatch slurm-record.sh COMMAND...
set -euo pipefail

# How much of a command of one's own may be recorded depends on kernel.perf_event_paranoid of the nodes.
what=(-e cpu-clock -F 99 -g)

# shellcheck disable=SC2016 # expanded on the nodes
exec srun bash -c '
    exec weir record -o "$SLURM_SUBMIT_DIR/weir.$SLURM_JOB_ID.$SLURM_PROCID.data" "$@"' weir "${what[@]}" -- "$@"
