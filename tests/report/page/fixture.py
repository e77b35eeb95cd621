"""Made-up data for the page of `weir report`, in the form of docs/json.md, with names that a browser must not run."""

HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>"
CPUS, SECONDS, PER_SECOND = 4, 5, 200
UNIT_NS = 1000


def deltas(times):
    return [now - before for before, now in zip([0, *times], times)]


def recording(path="perf.data", kernel_share=2, losses=True):
    """CPU n's samples have period n + 1. On CPU 0 all are in `spin`, elsewhere every kernel_share-th in the kernel."""
    strings = ["", HOSTILE, "worker", "/usr/bin/spin", "[kernel.kallsyms]", "/tmp/" + HOSTILE, "main", "spin", "do_read",
               "copy_page"]
    frames = {"symbol": [6, 7, 1, 8, 9, 0], "file": [0, 0, 2, 1, 1, 2], "kind": [0, 0, 0, 1, 1, 0]}
    stacks = {"parent": [-1, 0, 0, 2, 3, 0], "frame": [0, 1, 2, 3, 4, 5]}
    rows = []
    for second in range(SECONDS):
        for n in range(PER_SECOND):
            cpu = n % CPUS
            leaf = 1 if cpu == 0 else 4 if n // CPUS % kernel_share == 0 else 5
            rows.append((second * 1000000 + n * 1000000 // PER_SECOND, cpu, n % 2, leaf))
    tables = {}
    for _, cpu, task, leaf in rows:
        frame = stacks["frame"][leaf]
        key = (0, (1, 2)[task], frames["file"][frame], frame)
        samples, weight = tables.get(key, (0, 0))
        tables[key] = (samples + 1, weight + cpu + 1)
    top = sorted(((*key, *value) for key, value in tables.items()), key=lambda row: -row[5])
    lost_at = [1500000, 1600000] if losses else []
    return {
        "path": path, "file_bytes": 123456789, "start_ns": "9876543210123456", "span_ns": SECONDS * 10**9,
        "unit_ns": UNIT_NS, "command": ["weir", "record", HOSTILE], "notes": ["a note " + HOSTILE],
        "machine": {"hostname": "host" + HOSTILE, "osrelease": "6.18.0", "arch": "x86_64", "cpu": "A CPU",
                    "cpus_online": CPUS, "recorder_version": "0.1.0"},
        "events": [{"name": "cycles" + HOSTILE, "samples": len(rows), "weight": sum(row[1] + 1 for row in rows),
                    "weight_is": "period", "has_chains": True, "lost": 30 if losses else 0,
                    "lost_samples": 30 if losses else 0, "shed": 0, "throttled": 0}],
        "cpus": {"cpu": list(range(CPUS)), "node": [0, 0, 1, 1], "package": [0] * CPUS, "core": list(range(CPUS))},
        "strings": strings, "tasks": {"pid": [100, 200], "tid": [100, 201], "comm": [1, 2]}, "files": [3, 4, 5],
        "frames": frames, "stacks": stacks,
        "samples": {"exact": True, "bin_units": 1, "rows": len(rows), "depth_cut": False,
                    "t": deltas([row[0] for row in rows]), "cpu": [row[1] for row in rows],
                    "task": [row[2] for row in rows], "event": [0] * len(rows), "stack": [row[3] for row in rows],
                    "count": None, "weight": [row[1] + 1 for row in rows]},
        "heat": None, "tables_cut": 0,
        "tables": {name: [row[i] for row in top]
                   for i, name in enumerate(["event", "comm", "file", "frame", "samples", "weight"])},
        "losses": {"total": 30 if losses else 0, "remedies": ["-m 16M " + HOSTILE] if losses else [],
                   "records": {"t": deltas(lost_at), "cpu": [1, 1][:len(lost_at)], "event": [0, 0][:len(lost_at)],
                               "count": [10, 20][:len(lost_at)], "cause": ["lost", "lost"][:len(lost_at)]}},
        "timeline": [interval(n) for n in range(SECONDS)],
    }


def interval(n):
    """One second of the timeline; its clock is 1000 s behind that of the samples."""
    begin = 9876543210123456 - 1000 * 10**9 + n * 10**9
    return {"begin_ns": begin, "end_ns": begin + 10**9, "newest_sample_ns": begin + 10**9 + 1000 * 10**9,
            "output_bytes": 1000000, "lost_write_failed": 0, "latency_mean_us": 2000, "latency_max_us": 9000,
            "pool_per_mille": 30, "readers": [
                {"reader": cpu, "first_cpu": cpu, "cpus": 1, "fullest_per_mille": 1000 if (cpu, n) == (1, 1) else 150,
                 "wakeups": 5, "waits": 0, "bytes": 250000, "samples": PER_SECOND // CPUS,
                 "lost_ring_full": 30 if (cpu, n) == (1, 1) else 0, "lost_waiting": 0, "lost_side": 0, "shed": 0}
                for cpu in range(CPUS)]}


def one():
    return {"version": 1, "generator": "weir 0.1.0", "recordings": [recording()], "sweep": None}


def two():
    return {"version": 1, "generator": "weir 0.1.0", "sweep": None,
            "recordings": [recording("before.data"), recording("after.data", kernel_share=4, losses=False)]}


def sweep():
    points = [{"point": f"cpus={cpus} shed={shed}", "runs": 3, "produced": 1000, "lost": cpus,
               "samples_per_cpu_per_s": {"median": 1e6 / cpus, "min": 1, "max": 2e6},
               "mb_per_s": {"median": 100.0 * cpus, "min": 1, "max": 1000}, "kept_percent": {"median": 100.0, "min": 99, "max": 100},
               "cpu_s_per_gb": {"median": 0.1 * cpus, "min": 0.1, "max": 2}}
              for cpus in (1, 8, 64) for shed in ("none", HOSTILE)]
    return {"version": 1, "generator": "weir 0.1.0", "recordings": [], "sweep": {"sweep": ["cpus", "shed"], "points": points}}
