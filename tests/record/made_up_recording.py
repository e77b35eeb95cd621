#!/usr/bin/env python3
"""A recording that is made up, for what asks recordings: listens in the runtime folder, and answers.

made_up_recording.py CPUS NODES    prints each command; ends with "stop", or after a minute
"""
import json
import os
import select
import socket
import sys
import time

LIMIT_S = 60
BEGUN = time.time()


def status(cpus, nodes, verbose):
    passed = time.time() - BEGUN
    spread = {"p50": 0, "p99": 1200, "max": 5000}
    drains = {"drains": 3, "gap_us": spread, "fill_per_mille": spread, "waits": 5, "wait_us": spread}
    told = {
        "state": "enabled",
        "elapsed_ms": int(passed * 1000),
        "samples": int(passed * 1000 * cpus),
        "bytes": int(passed * 4e6),
        "lost": {"ring_full": 7, "of_these_waiting_for_output": 0},
        "pressure": "some",
        "shed": {"samples": 0},
        "output_error": 0,
        "pool": {"bytes": 1000, "used_bytes": 250},
        "output": {"bytes": int(passed * 4e6), "chunks": int(passed * 10), "latency_us": int(passed * 10) * 1500},
        "files": 3,
        "snapshots": 0,
        "drains": {"elsewhere": drains, "at_switch": drains},
    }
    if verbose:
        of_node = [cpu * nodes // cpus for cpu in range(cpus)]
        told["places"] = {
            "kind": "cpu",
            "id": list(range(cpus)),
            "node": of_node,
            "package": of_node,
            "fill_per_mille": [-1 if cpu == 3 else cpu * 1000 // cpus for cpu in range(cpus)],
            "samples": [int(passed * 10 * cpu) for cpu in range(cpus)],
            "lost": [7 if cpu == 5 else 0 for cpu in range(cpus)],
        }
    return json.dumps(told)


def answer(line, cpus, nodes):
    if line.startswith("status"):
        return status(cpus, nodes, "-v" in line) + "\nack\n"
    print(line, flush=True)
    return "error: nothing is kept \033[2Jin memory\n" if line == "snapshot" else "ack\n"


def main(cpus, nodes):
    folder = os.path.join(os.environ["XDG_RUNTIME_DIR"], "weir")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, f"{os.getpid()}.sock")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(8)
    clients = set()
    stopped = False
    while not stopped and time.time() - BEGUN < LIMIT_S:
        for ready in select.select([listener, *clients], [], [], 1)[0]:
            if ready is listener:
                clients.add(listener.accept()[0])
                continue
            lines = ready.recv(4096).decode().splitlines()
            if not lines:
                clients.remove(ready)
            for line in lines:
                ready.sendall(answer(line, cpus, nodes).encode() + b"\0")
                stopped |= line == "stop"
    os.unlink(path)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
