#!/usr/bin/env python3
"""compare_stacks.py ORIGINAL UNWOUND: compares the stacks that `perf script` shows for a recording with copied stacks
(ORIGINAL) with those for what `weir unwind` made of it.

One line of JSON: samples, and how many of them are
    same       frame for frame
    longer     perf's frames, and then more callers
    signal     the same but for the addresses around a signal, from which libunwind subtracts one
    shorter    a part of perf's frames: perf goes on
    other      different frames
With -v also the first frames at which stacks differ, most frequent first. The exit status is 1 if a sample is missing.
"""
import collections
import json
import subprocess
import sys


def stacks(path, options):
    """The stacks of a recording in the order of perf script: (sample, [(address, symbol)])."""
    fields = "comm,tid,time,event,ip,sym"
    done = subprocess.run(["perf", "script", "--no-inline", "-i", path, "-F", fields, *options], check=True,
                          capture_output=True, text=True, errors="replace")
    found = []
    for line in done.stdout.splitlines():
        if not line.strip():
            continue
        if line[0] in "\t" or line.startswith("        "):
            address, _, symbol = line.strip().partition(" ")
            found[-1][1].append((int(address, 16), symbol))
        else:
            found.append((line.split(), []))
    return found


def without_ends(frames):
    """perf shows a return address of 0, less one, as a frame."""
    while frames and frames[-1][0] == 0xffffffffffffffff:
        frames = frames[:-1]
    return frames


def is_signal(theirs, ours):
    """libunwind subtracts one from the addresses of a trampoline and of what a signal interrupted, which are no calls."""
    if len(ours) < len(theirs):
        return False
    for i, (their, our) in enumerate(zip(theirs, ours)):
        is_near = "restore_rt" in our[1] or (i > 0 and "restore_rt" in ours[i - 1][1])
        if their[0] != our[0] and not (is_near and their[0] + 1 == our[0]):
            return False
    return True


def compare(theirs, ours):
    """The class, and the frames at which they part."""
    addresses = [frame[0] for frame in theirs], [frame[0] for frame in ours]
    common = 0
    while common < min(map(len, addresses)) and addresses[0][common] == addresses[1][common]:
        common += 1
    place = (theirs[common - 1][1] if common else "", theirs[common][1] if common < len(theirs) else "(end)",
             ours[common][1] if common < len(ours) else "(end)")
    if addresses[0] == addresses[1]:
        return "same", place
    if common == len(addresses[0]):
        return "longer", place
    if is_signal(theirs, ours):
        return "signal", place
    return ("shorter" if common == len(addresses[1]) else "other"), place


def main():
    verbose = sys.argv[1] == "-v"
    paths = sys.argv[2 if verbose else 1:]
    original = stacks(paths[0], [])
    # perf unwinds 127 user frames, but shows 127 frames of a call chain with those of the kernel.
    unwound = stacks(paths[1], ["--max-stack", "300"])
    counts = collections.Counter()
    places = collections.Counter()
    missing = len(original) != len(unwound)
    for (name, theirs), (other_name, ours) in zip(original, unwound):
        missing |= name != other_name
        kind, place = compare(without_ends(theirs), ours)
        counts[kind] += 1
        if kind != "same":
            places[(kind,) + place] += 1
    kinds = ("same", "longer", "signal", "shorter", "other")
    print(json.dumps({"samples": len(unwound), **{kind: counts[kind] for kind in kinds}}))
    if verbose:
        for (kind, caller, theirs, ours), count in places.most_common(8):
            print(f"  {count} {kind}: above '{caller}' perf has '{theirs}', weir '{ours}'")
    return 1 if missing else 0


sys.exit(main())
