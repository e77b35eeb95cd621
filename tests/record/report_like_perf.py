"""report_like_perf.py WEIR FILE...: compares the counts of samples by task, file and symbol of `weir report --stdio`
with those of `perf report --no-children`. Prints rows that differ; exit status 1."""
import collections
import os
import re
import subprocess
import sys


def text_of(command):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=True).stdout


def rows_of_perf(path):
    """Addresses without a symbol are one row per file, as with weir."""
    command = ["perf", "report", "-i", path, "--stdio", "--no-children", "-n", "-g", "none", "--no-demangle", "-q",
               "--sort", "comm,dso,sym", "-t", "\t", "--percent-limit", "0", "--no-group"]
    rows = collections.Counter()
    for line in text_of(command).splitlines():
        fields = [field.strip() for field in line.split("\t")]
        if len(fields) < 5 or line.startswith("#"):
            continue
        symbol = re.sub(r"^\[.\] ", "", fields[4])
        if re.fullmatch(r"(0x)?[0-9a-f]{16}", symbol):
            symbol = "[unknown]"
        rows[(fields[2], os.path.basename(fields[3]), symbol)] += int(fields[1])
    return rows


def rows_of_weir(weir, path):
    rows = collections.Counter()
    for line in text_of([weir, "report", "--stdio", "--no-demangle", "-q", path]).splitlines():
        if not line or line.startswith("#"):
            continue
        _, samples, _, comm, file, symbol = line.split("\t")
        rows[(comm.strip(), os.path.basename(file), symbol)] += int(samples)
    return rows


def main():
    weir, paths = sys.argv[1], sys.argv[2:]
    is_good = True
    for path in paths:
        wanted, found = rows_of_perf(path), rows_of_weir(weir, path)
        if not wanted or sum(wanted.values()) != sum(found.values()):
            is_good = False
            print(f"{path}: perf counts {sum(wanted.values())} samples, weir {sum(found.values())}")
        for row in sorted(wanted.keys() | found.keys()):
            # Other programs of this machine are recorded too. Rust's compiler merges functions: of the many names of
            # one place, and of places inside others, perf takes those that its tree happens to meet first.
            if wanted[row] != found[row] and "rust" not in row[0] and "rust" not in row[1]:
                is_good = False
                print(f"{path}: {row}: perf counts {wanted[row]}, weir {found[row]}")
    return 0 if is_good else 1


sys.exit(main())
