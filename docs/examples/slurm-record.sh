#!/bin/bash
#SBATCH --job-name=recorded
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
# A job whose nodes are recorded while its step runs: one weir on each node, into weir.JOBID.NODE.data of the folder
# that it was submitted from. docs/fleet.md. sbatch slurm-record.sh COMMAND...
set -euo pipefail

# What a user may record depends on kernel.perf_event_paranoid of the nodes; -u takes the user's own tasks alone.
what=(-u "$SLURM_JOB_USER" -e cpu-clock -F 99 -g)

# One more task on each node, beside the job's own. It is the job's first step.
# shellcheck disable=SC2016 # expanded on the nodes
srun --overlap --ntasks-per-node=1 --cpus-per-task=1 --output=weir.%j.%n.log bash -c '
    exec weir record "$@" -o "$SLURM_SUBMIT_DIR/weir.$SLURM_JOB_ID.$(uname -n).data"' weir "${what[@]}" &
recorder=$!

status=0
srun --overlap "$@" || status=$?

# SIGINT ends a recording: drained, finished, synced.
scancel --signal=INT "$SLURM_JOB_ID.0" || true
wait "$recorder" || true
exit "$status"
