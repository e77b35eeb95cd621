/*
 * What the page shows: the recordings as the C side wrote them (docs/json.md), with stacks of one or two recordings in
 * one tree. All text in here is hostile: it goes into the page by textContent and fillText() only.
 */
'use strict';

const KINDS = ['user', 'kernel', 'hypervisor', 'guest', 'unknown'];

/* Undoes the delta coding of a list of times. */
function times(deltas) {
    const at = new Float64Array(deltas.length);
    let sum = 0;
    for (let i = 0; i < deltas.length; i++) {
        sum += deltas[i];
        at[i] = sum;
    }
    return at;
}

function baseName(path) {
    return path.slice(path.lastIndexOf('/') + 1) || path;
}

class Recording {
    constructor(raw) {
        this.raw = raw;
        this.strings = raw.strings;
        this.unitNs = raw.unit_ns || 1;
        this.spanNs = raw.span_ns || 0;
        this.startNs = Number(raw.start_ns);
        this.events = raw.events;
        this.cpus = raw.cpus.cpu;
        this.nodes = raw.cpus.node;
        /* CPUs by node and number: order[place] is an index of cpus, placeOf its inverse. */
        this.order = this.cpus.map((_, i) => i);
        this.order.sort((a, b) => this.nodes[a] - this.nodes[b] || this.cpus[a] - this.cpus[b]);
        this.placeOf = new Int32Array(this.order.length);
        this.order.forEach((index, place) => { this.placeOf[index] = place; });
        this.rows = raw.samples.rows;
        this.t = times(raw.samples.t);
        for (let i = 0; i < this.t.length; i++)
            this.t[i] *= this.unitNs;
        this.heatTimes = raw.heat ? times(raw.heat.t).map((t) => t * this.unitNs) : null;
        this.binNs = (raw.heat ? raw.heat.bin_units : raw.samples.bin_units) * this.unitNs;
        this.lossTimes = times(raw.losses.records.t).map((t) => t * this.unitNs);
    }

    /* Rows of losses that say when samples were lost: LOST and shed ones, and LOST_SAMPLES only without LOST. These two
     * tell of the same losses; the kernel writes the former when it happens, the recorder the latter at the end. */
    timedLosses() {
        const causes = this.raw.losses.records.cause, rows = causes.map((_, i) => i);
        const hasLost = causes.includes('lost');
        return rows.filter((i) => causes[i] !== 'lost_samples' || !hasLost);
    }

    /* Map from the index of a CPU, or -1, to the samples lost there. */
    lossesByCpu() {
        const {cpu, count, cause} = this.raw.losses.records, sums = new Map();
        for (let i = 0; i < cpu.length; i++) {
            const of = sums.get(cpu[i]) || {lost: 0, lost_samples: 0, shed: 0};
            of[cause[i]] += count[i];
            sums.set(cpu[i], of);
        }
        return new Map([...sums].map(([at, of]) => [at, Math.max(of.lost, of.lost_samples) + of.shed]));
    }

    count(row) {
        const counts = this.raw.samples.count;
        return counts ? counts[row] : 1;
    }

    weight(row) {
        const weights = this.raw.samples.weight;
        return weights ? weights[row] : this.count(row);
    }

    file(index) {
        return this.strings[this.raw.files[index]] || '';
    }

    frameName(frame) {
        const symbol = this.strings[this.raw.frames.symbol[frame]];
        const file = baseName(this.file(this.raw.frames.file[frame]));
        return symbol || (file.startsWith('[') ? file : '[' + file + ']');
    }

    frameFile(frame) {
        return this.file(this.raw.frames.file[frame]);
    }

    comm(task) {
        return this.strings[this.raw.tasks.comm[task]] || '';
    }
}

/*
 * The stacks of all recordings in one tree: node i has a parent below i, or -1, and a frame. maps[r][s] is the node of
 * stack s of recording r.
 */
class Stacks {
    constructor(recordings) {
        this.parent = [];
        this.frame = [];
        this.names = [];
        this.files = [];
        this.kinds = [];
        this.maps = [];
        const frames = new Map(), nodes = new Map();
        for (const recording of recordings)
            this.maps.push(this.add(recording, frames, nodes, recordings.length > 1));
        this.count = this.parent.length;
        this.lowerNames = this.names.map((name, i) => (name + ' ' + this.files[i]).toLowerCase());
        this.linkChildren();
    }

    add(recording, frames, nodes, merges) {
        const raw = recording.raw, own = [];
        for (let f = 0; f < raw.frames.symbol.length; f++) {
            const name = recording.frameName(f), file = recording.frameFile(f);
            const key = name + '\u0000' + file;
            let index = frames.get(key);
            if (index === undefined) {
                index = this.names.length;
                frames.set(key, index);
                this.names.push(name);
                this.files.push(file);
                this.kinds.push(raw.frames.kind[f]);
            }
            own.push(index);
        }
        const map = new Int32Array(raw.stacks.parent.length);
        for (let s = 0; s < map.length; s++) {
            const parent = raw.stacks.parent[s] < 0 ? -1 : map[raw.stacks.parent[s]];
            const frame = own[raw.stacks.frame[s]];
            const key = (parent + 1) * 16777216 + frame;
            let node = merges ? nodes.get(key) : undefined;
            if (node === undefined) {
                node = this.parent.length;
                this.parent.push(parent);
                this.frame.push(frame);
                if (merges)
                    nodes.set(key, node);
            }
            map[s] = node;
        }
        return map;
    }

    linkChildren() {
        this.firstChild = new Int32Array(this.count).fill(-1);
        this.nextChild = new Int32Array(this.count).fill(-1);
        this.firstRoot = -1;
        for (let i = this.count - 1; i >= 0; i--) {
            const parent = this.parent[i];
            this.nextChild[i] = parent < 0 ? this.firstRoot : this.firstChild[parent];
            if (parent < 0)
                this.firstRoot = i;
            else
                this.firstChild[parent] = i;
        }
    }
}

/* A list such as 0-3,8 as a set; null: all. Words that are no numbers count for nothing. */
function cpuList(text) {
    const set = new Set();
    for (const part of text.split(',')) {
        const match = /^\s*(\d+)(?:\s*-\s*(\d+))?\s*$/.exec(part);
        if (!match)
            continue;
        const last = Math.min(match[2] === undefined ? Number(match[1]) : Number(match[2]), 65535);
        for (let cpu = Number(match[1]); cpu <= last; cpu++)
            set.add(cpu);
    }
    return set.size > 0 ? set : null;
}

/* Which tasks a text means: a whole name, a pid or tid, or else a part of names. null: all. */
function tasksOf(recording, text) {
    const wanted = text.trim();
    if (wanted === '')
        return null;
    const tasks = recording.raw.tasks, number = /^\d+$/.test(wanted) ? Number(wanted) : -1;
    const exact = new Uint8Array(tasks.pid.length), part = new Uint8Array(tasks.pid.length);
    const lower = wanted.toLowerCase();
    let any = false;
    for (let i = 0; i < exact.length; i++) {
        const comm = recording.comm(i);
        exact[i] = comm === wanted || tasks.pid[i] === number || tasks.tid[i] === number ? 1 : 0;
        part[i] = comm.toLowerCase().includes(lower) ? 1 : 0;
        any = any || exact[i] === 1;
    }
    return any ? exact : part;
}

/* The samples of a recording that a selection takes in: calls take(row) for each. With `time` false, of all times. */
function eachSelected(recording, selection, take, time) {
    const samples = recording.raw.samples, event = selection.events.get(recording);
    const tasks = tasksOf(recording, selection.task), cpus = selection.cpus;
    const from = time === false ? -Infinity : selection.fromNs, to = time === false ? Infinity : selection.toNs;
    for (let row = 0; row < recording.rows; row++) {
        if (samples.event[row] !== event || recording.t[row] < from || recording.t[row] >= to)
            continue;
        if (tasks && (samples.task[row] < 0 || !tasks[samples.task[row]]))
            continue;
        const index = samples.cpu[row];
        if (cpus && !(index >= 0 && cpus.has(recording.cpus[index])))
            continue;
        if (selection.node !== null && !(index >= 0 && recording.nodes[index] === selection.node))
            continue;
        take(row);
    }
}

/* What heatmaps show of a selection, whatever its time: calls take(ns, index of CPU or -1, samples). Recordings
 * of many samples have a finer table for heatmaps, which does not know tasks. */
function eachOfHeat(recording, selection, take) {
    const {heat, samples} = recording.raw;
    if (!heat || selection.task.trim() !== '') {
        eachSelected(recording, selection, (row) =>
            take(recording.t[row], samples.cpu[row], recording.count(row)), false);
        return;
    }
    const event = selection.events.get(recording);
    for (let row = 0; row < recording.heatTimes.length; row++) {
        const cpu = heat.cpu[row];
        const isOfCpu = !selection.cpus || (cpu >= 0 && selection.cpus.has(recording.cpus[cpu]));
        const isOfNode = selection.node === null || (cpu >= 0 && recording.nodes[cpu] === selection.node);
        if (heat.event[row] === event && isOfCpu && isOfNode)
            take(recording.heatTimes[row], cpu, heat.count[row]);
    }
}

/* Text of numbers. */
function grouped(number) {
    return Math.round(number).toString().replace(/\B(?=(\d{3})+$)/g, '\u202f');
}

function seconds(ns) {
    const s = ns / 1e9;
    return s >= 100 ? s.toFixed(1) + ' s' : s >= 1 ? s.toFixed(3) + ' s' : (ns / 1e6).toFixed(3) + ' ms';
}

function bytesText(bytes) {
    const units = ['B', 'kB', 'MB', 'GB', 'TB'];
    let unit = 0;
    while (bytes >= 1000 && unit < units.length - 1) {
        bytes /= 1000;
        unit++;
    }
    return (unit ? bytes.toFixed(1) : bytes) + ' ' + units[unit];
}

function percent(part, whole) {
    return whole > 0 ? (100 * part / whole).toFixed(2) + ' %' : '0 %';
}
