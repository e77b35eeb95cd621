"""folded_like_perf.py WEIR FILE...: compares the stacks of `weir report --folded` with those of `perf script`, symbol
by symbol. Prints stacks that differ; exit status 1."""
import collections
import subprocess
import sys


def text_of(command):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=True).stdout


def stacks_of_perf(path):
    """The outermost first. perf shows a return address of 0, less one, as a frame."""
    text = text_of(["perf", "script", "--no-inline", "--no-demangle", "--max-stack", "300", "-i", path, "-F",
                    "comm,ip,sym"])
    stacks = collections.Counter()
    for sample in text.split("\n\n"):
        comm, *lines = [line.strip() for line in sample.strip().splitlines()] or [""]
        frames = [line.partition(" ")[2] for line in lines if not line.startswith("ffffffffffffffff ")]
        if comm:
            stacks[";".join([comm, *reversed(frames)])] += 1
    return stacks


def stacks_of_weir(weir, path):
    stacks = collections.Counter()
    for line in text_of([weir, "report", "--folded", "--no-demangle", "-q", path]).splitlines():
        stack, _, count = line.rpartition(" ")
        if not stack.startswith("[lost]"):
            stacks[stack] += int(count)
    return stacks


def main():
    weir, paths = sys.argv[1], sys.argv[2:]
    is_good = True
    for path in paths:
        wanted, found = stacks_of_perf(path), stacks_of_weir(weir, path)
        is_good &= bool(wanted) and wanted == found
        if not wanted:
            print(f"{path}: perf shows no stack")
        for stack in sorted(wanted.keys() | found.keys()):
            if wanted[stack] != found[stack]:
                print(f"{path}: perf counts {wanted[stack]}, weir {found[stack]}: {stack}")
    return 0 if is_good else 1


sys.exit(main())
