# shellcheck shell=bash
# Shared by the scripts beside it; sourced, not run.

# The project's root, whatever the working directory.
weir_root() {
    cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd
}

# Mounts tracefs where tracepoints are to be recorded, if we may; without it those parts are skipped by name.
weir_mount_tracefs() {
    [ -e /sys/kernel/tracing/events ] && return 0
    if [ "$(id -u)" = 0 ] && mount -t tracefs nodev /sys/kernel/tracing 2>/dev/null; then
        echo "tracefs mounted on /sys/kernel/tracing"
    else
        echo "note: tracefs is not mounted (mount -t tracefs nodev /sys/kernel/tracing): no tracepoints" >&2
    fi
}

# Configures and builds one preset.
weir_build() {
    local preset=$1
    shift
    local log=build/$preset.log
    cmake --preset "$preset" "$@" >"$log" 2>&1 || { cat "$log"; return 1; }
    cmake --build --preset "$preset" >"$log" 2>&1 || { tail -60 "$log"; return 1; }
    echo "built build/$preset"
}
