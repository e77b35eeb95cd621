"""Made-up data for the page of `weir report`, in the form of docs/json.md, with names that a browser must not run."""

HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>"
CPUS, SECONDS, PER_SECOND = 4, 5, 200
UNIT_NS = 1000


def deltas(times):
    return [now - before for before, now in zip([0, *times], times)]


def recording(path="perf.data", kernel_share=2, losses=True):
    """CPU n's samples have period n + 1. On CPU 0 all are in `spin`, elsewhere every kernel_share-th in the kernel."""
    strings = ["", HOSTILE, "worker", "/usr/bin/spin", "[kernel.kallsyms]", "/tmp/" + HOSTILE, "main", "spin",
               "do_read",
               "copy_page"]
    frames = {"symbol": [6, 7, 1, 8, 9, 0], "file": [0, 0, 2, 1, 1, 2], "kind": [0, 0, 0, 1, 1, 0]}
    stacks = {"parent": [-1, 0, 0, 2, 3, 0, 1], "frame": [0, 1, 2, 3, 4, 5, 1]}
    rows = []
    for second in range(SECONDS):
        for n in range(PER_SECOND):
            cpu = n % CPUS
            leaf = (1 if n % 20 else 6) if cpu == 0 else 4 if n // CPUS % kernel_share == 0 else 5
            rows.append((second * 1000000 + n * 1000000 // PER_SECOND, cpu, n % 2, leaf))
    tables = {}
    for _, cpu, task, leaf in rows:
        frame = stacks["frame"][leaf]
        key = (0, (1, 2)[task], frames["file"][frame], frame)
        samples, weight = tables.get(key, (0, 0))
        tables[key] = (samples + 1, weight + cpu + 1)
    top = sorted(((*key, *value) for key, value in tables.items()), key=lambda row: -row[5])
    # The same losses once when they happened, and once at the end.
    lost = [(1500000, 10, "lost"), (1600000, 20, "lost"), (SECONDS * 1000000, 30, "lost_samples")] if losses else []
    return {
        "path": path, "file_bytes": 123456789, "start_ns": "9876543210123456", "span_ns": SECONDS * 10**9,
        "unit_ns": UNIT_NS, "command": ["weir", "record", HOSTILE], "notes": ["a note " + HOSTILE],
        "machine": {"hostname": "host" + HOSTILE, "osrelease": "6.18.0", "arch": "x86_64", "cpu": "A CPU",
                    "cpus_online": CPUS, "recorder_version": "1.0.0"},
        "events": [{"name": "cycles" + HOSTILE, "samples": len(rows), "weight": sum(row[1] + 1 for row in rows),
                    "weight_is": "period", "has_chains": True, "lost": 30 if losses else 0,
                    "lost_samples": 30 if losses else 0, "shed": 0, "throttled": 0}],
        "cpus": {"cpu": [3, 2, 1, 0], "node": [1, 1, 0, 0], "package": [0] * CPUS, "core": [3, 2, 1, 0]},
        "strings": strings, "tasks": {"pid": [100, 200], "tid": [100, 201], "comm": [1, 2]}, "files": [3, 4, 5],
        "frames": frames, "stacks": stacks,
        "samples": {"exact": True, "bin_units": 1, "rows": len(rows), "depth_cut": False,
                    "t": deltas([row[0] for row in rows]), "cpu": [CPUS - 1 - row[1] for row in rows],
                    "task": [row[2] for row in rows], "event": [0] * len(rows), "stack": [row[3] for row in rows],
                    "count": None, "weight": [row[1] + 1 for row in rows]},
        "heat": None, "tables_cut": 0,
        "tables": {name: [row[i] for row in top]
                   for i, name in enumerate(["event", "comm", "file", "frame", "samples", "weight"])},
        "losses": {"total": 30 if losses else 0, "remedies": ["-m 16M " + HOSTILE] if losses else [],
                   "records": {"t": deltas([row[0] for row in lost]), "cpu": [2] * len(lost),
                               "event": [0] * len(lost), "count": [row[1] for row in lost],
                               "cause": [row[2] for row in lost]}},
        "timeline": [interval(n) for n in range(SECONDS)],
    }


def interval(n):
    """One second of the timeline; its clock is 1000 s behind that of the samples."""
    begin = 9876543210123456 - 1000 * 10**9 + n * 10**9
    return {"begin_ns": begin, "end_ns": begin + 10**9, "newest_sample_ns": begin + 10**9 + 1000 * 10**9,
            "output_bytes": 1000000, "lost_write_failed": 0, "latency_mean_us": 2000, "latency_max_us": 9000,
            "pool_per_mille": 30, "readers": [
                {"reader": cpu, "first_cpu": cpu, "cpus": 1, "fullest_per_mille": 1000 if (cpu, n) == (1,
                                                                                                       1) else 150,
                 "wakeups": 5, "waits": 0, "bytes": 250000, "samples": PER_SECOND // CPUS,
                 "lost_ring_full": 30 if (cpu, n) == (1, 1) else 0, "lost_waiting": 0, "lost_side": 0, "shed": 0}
                for cpu in range(CPUS)]}


def one():
    return {"version": 1, "generator": "weir 1.0.0", "recordings": [recording()], "sweep": None}


def two():
    return {"version": 1, "generator": "weir 1.0.0", "sweep": None,
            "recordings": [recording("before.data"), recording("after.data", kernel_share=4, losses=False)]}


def sweep():
    points = [{"point": f"cpus={cpus} shed={shed}", "runs": 3, "produced": 1000, "lost": cpus,
               "samples_per_cpu_per_s": {"median": 1e6 / cpus, "min": 1, "max": 2e6},
               "mb_per_s": {"median": 100.0 * cpus, "min": 1, "max": 1000}, "kept_percent": {"median": 100.0,
                                                                                             "min": 99, "max": 100},
               "cpu_s_per_gb": {"median": 0.1 * cpus, "min": 0.1, "max": 2}}
              for cpus in (1, 8, 64) for shed in ("none", HOSTILE)]
    return {"version": 1, "generator": "weir 1.0.0", "recordings": [], "sweep": {"sweep": ["cpus", "shed"],
                                                                                 "points": points}}


def coarse():
    """A recording of too many samples: rows are counts of whole seconds, and heatmaps have a finer table."""
    data = recording()
    fine, samples = data["samples"], data["samples"]
    at, counts, heat = 0, {}, []
    for i in range(fine["rows"]):
        at += fine["t"][i]
        key = (at // 1000000, fine["cpu"][i], fine["task"][i], fine["stack"][i])
        counts[key] = counts.get(key, 0) + 1
        heat.append((at, fine["cpu"][i]))
    rows = sorted(counts)
    samples.update({"exact": False, "bin_units": 1000000, "rows": len(rows), "depth_cut": True,
                    "t": deltas([row[0] * 1000000 for row in rows]), "cpu": [row[1] for row in rows],
                    "task": [row[2] for row in rows], "event": [0] * len(rows), "stack": [row[3] for row in rows],
                    "count": [counts[row] for row in rows], "weight": None})
    data["heat"] = {"bin_units": 1000, "t": deltas([row[0] for row in heat]), "cpu": [row[1] for row in heat],
                    "event": [0] * len(heat), "count": [1] * len(heat)}
    return {"version": 1, "generator": "weir 1.0.0", "recordings": [data], "sweep": None}


def bare():
    """Samples without times, CPUs, tasks and call chains, and nothing known of machine and recorder."""
    data = recording(losses=False)
    rows = data["samples"]["rows"]
    data["samples"].update({"t": [0] * rows, "cpu": [-1] * rows, "task": [-1] * rows})
    data["events"][0]["has_chains"] = False
    data.update({"span_ns": 0, "start_ns": "0", "command": None, "timeline": None, "notes": [],
                 "machine": dict.fromkeys(data["machine"]),
                 "cpus": {"cpu": [], "node": [], "package": [], "core": []},
                 "tasks": {"pid": [], "tid": [], "comm": []}})
    return {"version": 1, "generator": "weir 1.0.0", "recordings": [data], "sweep": None}


def demo():
    """A busy server of 16 CPUs for a minute, with a burst that costs samples: for the screenshots."""
    random = __import__("random").Random(7)
    names = {"server": "/usr/sbin/httpd", "libc": "/usr/lib/libc.so.6", "db": "/usr/bin/postgres",
             "kernel": "[kernel.kallsyms]"}
    strings, files = [""], list(names)
    symbols, parents, frames = {}, [], {"symbol": [], "file": [], "kind": []}
    nodes = {}
    stacks = {"parent": [], "frame": []}

    def text(name):
        if name not in strings:
            strings.append(name)
        return strings.index(name)

    def frame(name):
        file, symbol = name.split(":")
        if name not in symbols:
            symbols[name] = len(frames["symbol"])
            frames["symbol"].append(text(symbol))
            frames["file"].append(files.index(file))
            frames["kind"].append(1 if file == "kernel" else 0)
        return symbols[name]

    def stack(path):
        at = -1
        for name in path.split(" "):
            key = (at, frame(name))
            if key not in nodes:
                nodes[key] = len(stacks["parent"])
                stacks["parent"].append(at)
                stacks["frame"].append(key[1])
            at = nodes[key]
        return at

    base = "server:main server:event_loop server:handle_request "
    syscall = " kernel:entry_SYSCALL_64 kernel:do_syscall_64 "
    query = "db:PostgresMain db:exec_simple_query db:PortalRun db:ExecutorRun "
    mix = [(base + path, weight, 0) for path, weight in [
        ("server:parse_headers", 8), ("server:parse_headers libc:__memchr_avx2",
                                      5), ("server:render server:json_encode", 14),
        ("server:render server:json_encode libc:__memmove_avx_unaligned", 7), ("server:render libc:malloc", 5),
        ("server:tls_write server:aes_gcm_encrypt", 16),
        ("server:tls_write libc:__write" + syscall + "kernel:ksys_write kernel:tcp_sendmsg kernel:copy_from_user",
         7),
        ("server:tls_write libc:__write" + syscall + "kernel:ksys_write kernel:tcp_sendmsg kernel:tcp_write_xmit",
         6),
        ("libc:epoll_wait" + syscall + "kernel:do_epoll_wait kernel:schedule", 4)]]
    mix += [(query + path, weight, 1) for path, weight in [
        ("db:ExecScan db:heap_getnext", 9), ("db:ExecScan db:index_getnext db:_bt_search",
                                             11), ("db:ExecSort db:qsort_tuple", 6),
        ("db:ExecScan db:ReadBuffer libc:pread64" + syscall +
         "kernel:vfs_read kernel:filemap_read kernel:copy_to_user", 6)]]
    burst = stack("db:BackgroundWriterMain db:BufferSync libc:pwrite64" + syscall +
                  "kernel:vfs_write kernel:ext4_file_write_iter")
    ids, weights = [(stack(path), task) for path, _, task in mix], [weight for _, weight, _ in mix]
    rows, cpus, span = [], 16, 60
    for cpu in range(cpus):
        t = random.random() * 1e4
        while t < span * 1e6:
            second = t / 1e6
            storm = 22 <= second < 24 and cpu % 4 == 1
            load = 0.95 if storm else 0.35 + 0.3 * (cpu < 8) + 0.25 * (int(second / 7) % 2)
            if random.random() < load:
                leaf, task = (burst, 2) if storm and random.random() < 0.7 else random.choices(ids, weights)[0]
                rows.append((int(t), cpu, task, leaf))
            t += 1e6 / 99 / (3 if storm else 1)
    rows.sort()
    tables, comms = {}, [text("httpd"), text("postgres"), text("checkpointer")]
    file_ids = [text(name) for name in names.values()]
    for _, _, task, leaf in rows:
        key = (0, comms[task], frames["file"][stacks["frame"][leaf]], stacks["frame"][leaf])
        tables[key] = tables.get(key, 0) + 1
    top = sorted(((*key, n, n * 10101010) for key, n in tables.items()), key=lambda row: -row[4])
    lost = [(int((22 + random.random() * 2) * 1e6), cpu, random.randrange(5, 90))
            for cpu in (1, 5, 9, 13) for _ in range(14)]
    lost.sort()
    losses = {"total": sum(n for _, _, n in lost),
              "remedies": ["-m 16M (now 1M): the rings of CPUs 1, 5, 9 and 13 were full"],
              "records": {"t": deltas([t for t, _, _ in lost]), "cpu": [cpu for _, cpu, _ in lost],
                          "event": [0] * len(lost),
                          "count": [n for _, _, n in lost], "cause": ["lost"] * len(lost)}}
    timeline = []
    for n in range(span):
        one = interval(n)
        one["readers"] = []
        for cpu in range(cpus):
            of = sum(1 for t, c, _, _ in rows if c == cpu and t // 1000000 == n)
            gone = sum(k for t, c, k in lost if c == cpu and t // 1000000 == n)
            fill = 1000 if gone else min(900, of * 6 + random.randrange(40))
            one["readers"].append({"reader": cpu, "first_cpu": cpu, "cpus": 1, "wakeups": 4, "waits": 0,
                                   "bytes": of * 3200, "samples": of, "fullest_per_mille": fill,
                                   "lost_ring_full": gone, "lost_waiting": 0, "lost_side": 0, "shed": 0})
        one["output_bytes"] = sum(reader["bytes"] for reader in one["readers"])
        one["latency_mean_us"] = 2000 + random.randrange(900)
        one["latency_max_us"] = 9000 + random.randrange(5000) + 60000 * (n in (22, 23))
        one["pool_per_mille"] = 640 if n in (22, 23) else 40 + random.randrange(30)
        timeline.append(one)
    data = recording()
    data.update({
        "path": "perf.data", "command": ["weir", "record", "-a", "-g", "-F",
                                         "99"], "file_bytes": len(rows) * 3200, "notes": [],
        "span_ns": span * 10**9, "strings": strings, "files": file_ids, "frames": frames, "stacks": stacks,
        "losses": losses,
        "machine": {"hostname": "web-07", "osrelease": "6.12.57-amd64", "arch": "x86_64", "cpu": "AMD EPYC 9354P",
                    "cpus_online": cpus, "recorder_version": "6.18.0-weir-1.0.0"},
        "events": [{"name": "cycles", "samples": len(rows), "weight": len(rows) * 10101010, "weight_is": "period",
                    "has_chains": True, "lost": losses["total"], "lost_samples": losses["total"], "shed": 0,
                    "throttled": 0}],
        "cpus": {"cpu": list(range(cpus)), "node": [cpu // 8 for cpu in range(cpus)], "package": [0] * cpus,
                 "core": list(range(cpus))},
        "tasks": {"pid": [811, 902, 905], "tid": [811, 902, 905], "comm": comms},
        "samples": {"exact": True, "bin_units": 1, "rows": len(rows), "depth_cut": False,
                    "t": deltas([row[0] for row in rows]),
                    "cpu": [row[1] for row in rows], "task": [row[2] for row in rows], "event": [0] * len(rows),
                    "stack": [row[3] for row in rows], "count": None, "weight": [10101010] * len(rows)},
        "tables": {name: [row[i] for row in top]
                   for i, name in enumerate(["event", "comm", "file", "frame", "samples", "weight"])},
        "timeline": timeline})
    return {"version": 1, "generator": "weir 1.0.0", "recordings": [data], "sweep": None}
