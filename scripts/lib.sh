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

# weir_generate PRESET: makes the sources that the build generates, with the headers beside them.
weir_generate() {
    local preset=$1 generated
    mapfile -t generated < <(sed -n "s|^ *\"file\": \".*/build/$preset/\(.*\)\",*\$|\1|p" \
        "build/$preset/compile_commands.json" | sort -u)
    [ ${#generated[@]} = 0 ] || cmake --build --preset "$preset" --target "${generated[@]}"
}

# weir_warnings PRESET FOLDER...: has a preset's compiler look at the sources of the folders without generating code,
# for its warnings.
weir_warnings() {
    local preset=$1 log=build/$1.log sources=build/$1.sources folders
    shift
    folders=$(IFS='|'; echo "$*")
    cmake --preset "$preset" >"$log" 2>&1 || { cat "$log"; return 1; }
    weir_generate "$preset" >"$log" 2>&1 || { cat "$log"; return 1; }
    # The command lines, from JSON; what several programs share is compiled once.
    sed -n 's/^ *"command": "\(.*\)",$/\1/p' "build/$preset/compile_commands.json" |
        grep -E " -c $PWD/($folders)/" |
        sed -e 's/\\\(.\)/\1/g' -e 's/ -o [^ ]* -c / -fsyntax-only -c /' | sort -u >"$sources"
    grep -q . "$sources" || { echo "no sources in build/$preset/compile_commands.json"; return 1; }
    xargs -d '\n' -P "$(nproc)" -I{} sh -c '{}' <"$sources" >"$log" 2>&1 || { tail -60 "$log"; return 1; }
    echo "compiled $(wc -l <"$sources") sources of $* with $preset"
}
