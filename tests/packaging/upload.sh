#!/usr/bin/env bash
# weir-upload with a cp(1) for rclone(1): tests/packaging/upload.sh WEIR_UPLOAD
#
# It removes what it has uploaded, so what counts is what it leaves alone.
set -euo pipefail
upload=$1
folder=$(mktemp -d "${TMPDIR:-/tmp}/weir-upload-XXXXXX")
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin"
cat >"$folder/bin/rclone" <<'END'
#!/bin/sh
# A storage that is away: $away is there. Another call that is faster: it takes $taken.
[ "$1" = copyto ] && [ $# = 3 ] || exit 2
[ ! -e "$away" ] || exit 1
[ "${2##*/}" != "${taken:-}" ] || { rm -f "$2"; exit 1; }
mkdir -p "$(dirname "$3")" && cp "$2" "$3"
END
chmod +x "$folder/bin/rclone"
export PATH=$folder/bin:$PATH away=$folder/away taken=

# stored EXPECTED: the names in the storage, and no others.
stored() {
    local found
    found=$(cd "$folder/storage" && find . -type f | sed "s|^\./$(uname -n)/||" | LC_ALL=C sort | tr '\n' ' ')
    [ "$found" = "$1 " ] || { echo "$2: stored is '$found', not '$1 '"; exit 1; }
}

# left EXPECTED WHAT: the names beside the file, and no others.
left() {
    local found
    found=$(cd "$folder/data" && find . -type f | sed 's|^\./||' | LC_ALL=C sort | tr '\n' ' ')
    [ "$found" = "$1 " ] || { echo "$2: left is '$found', not '$1 '"; exit 1; }
}

# files NAME...: a new folder with these, and no storage.
files() {
    rm -rf "$folder/data" "$folder/storage" "$away"
    mkdir "$folder/data" "$folder/storage"
    for name; do echo "$name" >"$folder/data/$name"; done
}

first=2026112313565430 second=2026112313565630

for base in perf.data host.2.data 10.0.0.1.perf.data 2026; do
    files "$base" "$base.old" ".$base.$second" "$base.$first" "$base.$first-001" "$base.$second"
    (cd "$folder" && "$upload" storage "$folder/data/$base.$second")
    stored "$base.$first $base.$first-001 $base.$second" "$base"
    left "$(printf '%s\n' ".$base.$second" "$base" "$base.old" | LC_ALL=C sort | tr '\n' ' ' | sed 's/ $//')" "$base"
done

files perf.data "perf.data.$first" "perf.data.$second"
touch "$away"
(cd "$folder" && "$upload" storage "data/perf.data.$first") && { echo "a failure that is none"; exit 1; }
left "perf.data perf.data.$first perf.data.$second" "a storage that is away"
rm "$away"
(cd "$folder" && taken=perf.data.$first "$upload" storage "data/perf.data.$second")
stored "perf.data.$second" "another call"
left "perf.data" "another call"

files perf.data "perf.data.$first"
touch "$away"
(cd "$folder" && "$upload" storage data/perf.data) && { echo "a failure that is none"; exit 1; }
left "perf.data perf.data.$first" "one file, and a storage that is away"
rm "$away"
(cd "$folder" && "$upload" storage data/perf.data)
stored "perf.data" "a recording that is one file"
left "perf.data.$first" "a recording that is one file"
echo "weir-upload takes what is finished, and nothing else"
