#!/bin/bash
#SBATCH --job-name=recorded
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
# A job with a recorded step. A weir of its own records each task, ends with the task and its exit status, and writes
# weir.JOBID.TASK.data into the folder from which the job was submitted. docs/fleet.md.
# sbatch slurm-record.sh COMMAND...
set -euo pipefail

# kernel.perf_event_paranoid of the nodes limits the events of one's own commands.
what=(-e cpu-clock -F 99 -g)

# shellcheck disable=SC2016 # expanded on the nodes
exec srun bash -c '
    exec weir record -o "$SLURM_SUBMIT_DIR/weir.$SLURM_JOB_ID.$SLURM_PROCID.data" "$@"' weir "${what[@]}" -- "$@"
