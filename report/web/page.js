/* Puts the page together: reads the data, keeps the selection, and draws all parts anew when the selection changes. */

const HEAT_COLUMNS = 400, HEAT_ROWS = 256, SCOPE_ROWS = 50, SCOPE_COLUMNS = 600;

function byId(id) {
    return document.getElementById(id);
}

class Page {
    constructor(data) {
        this.recordings = data.recordings.map((raw) => new Recording(raw));
        this.stacks = new Stacks(this.recordings);
        this.heatKind = 'samples';
        this.shown = 0; /* the recording of heatmaps */
        this.fillHeader(data);
        this.fillControls();
        this.makeParts();
        this.reset();
        byId('recording').hidden = false;
        byId('timeline-section').hidden = false;
        byId('timeline-section').hidden = !showTimeline(byId('timeline'), this.recordings[0]);
        this.refresh();
        let width = 0;
        new ResizeObserver(() => {
            if (document.body.clientWidth !== width)
                this.redraw();
            width = document.body.clientWidth;
        }).observe(document.body);
        matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.redraw());
    }

    /* ---- header ---- */

    fillHeader(data) {
        document.title = this.recordings.map((r) => baseName(r.raw.path)).join(' and ') + ' \u2014 weir report';
        byId('subtitle').textContent = this.recordings.map((r) => r.raw.path).join(' \u2192 ');
        const facts = byId('facts'), raw = this.recordings[0].raw, machine = raw.machine;
        const add = (name, text, wide) => {
            if (text === null || text === undefined || text === '')
                return;
            const row = document.createElement('div');
            row.className = wide ? 'wide' : '';
            row.append(makeElement('dt', name), makeElement('dd', text));
            facts.append(row);
        };
        add('Machine', [machine.hostname, machine.arch].filter(Boolean).join(', '));
        add('Kernel', machine.osrelease);
        const times = machine.cpus_online === null ? '' : machine.cpus_online + ' \u00d7 ';
        add('CPUs', times + (machine.cpu || (times && 'CPU')));
        for (const [i, recording] of this.recordings.entries()) {
            const which = this.recordings.length > 1 ? (i ? ' after' : ' before') : '';
            const events = recording.events.filter((event) => event.samples > 0);
            add('Span' + which, seconds(recording.spanNs) + ', file of ' + bytesText(recording.raw.file_bytes));
            add('Samples' + which, events.map((event) => event.name + ' ' + grouped(event.samples)).join(', ') || '0');
            add('Recorder' + which, recording.raw.machine.recorder_version);
            add('Command' + which, recording.raw.command ? recording.raw.command.join(' ') : null, true);
        }
        add('Report', data.generator);
        const notes = this.recordings.flatMap((r) => r.raw.notes);
        byId('notes').hidden = notes.length === 0;
        byId('notes').append(...notes.map((note) => makeElement('li', note)));
        this.fillLosses();
    }

    fillLosses() {
        const lossy = this.recordings.filter((r) => r.raw.losses.total > 0);
        byId('losses').hidden = lossy.length === 0;
        byId('losses-sum').textContent = lossy.map((recording) => {
            const times = recording.timedLosses().map((row) => recording.lossTimes[row]).filter((ns) => ns > 0);
            const byCpu = [...recording.lossesByCpu()].filter(([at]) => at >= 0);
            const [first, last] = [Math.min(...times), Math.max(...times)];
            const most = byCpu.sort((a, b) => b[1] - a[1]).slice(0, 4)
                .map(([at, n]) => 'CPU ' + recording.cpus[at] + ' (' + grouped(n) + ')');
            const when = first <= last ? ', from ' + seconds(first) + ' to ' + seconds(last) : '';
            return baseName(recording.raw.path) + ': ' + grouped(recording.raw.losses.total) + ' samples lost' + when +
                (most.length > 0 ? '; most on ' + most.join(', ') : '') + '.';
        }).join(' ');
        byId('remedies').append(...lossy.flatMap((r) => r.raw.losses.remedies).map((line) => makeElement('li', line)));
    }

    /* ---- controls ---- */

    fillControls() {
        const all = this.recordings.flatMap((r) => r.events), sampled = all.filter((event) => event.samples > 0);
        const names = [...new Set((sampled.length > 0 ? sampled : all).map((event) => event.name))];
        byId('event').append(...names.map((name) => new Option(name, name)));
        const busiest = names.map((name) => this.recordings.reduce((sum, r) =>
            sum + r.events.reduce((all, event) => all + (event.name === name ? event.samples : 0), 0), 0));
        byId('event').selectedIndex = Math.max(busiest.indexOf(Math.max(...busiest)), 0);
        const comms = [...new Set(this.recordings.flatMap((r) => r.raw.tasks.comm.map((comm) => r.strings[comm])))];
        byId('tasks').append(...comms.sort().slice(0, 2000).map((comm) => new Option('', comm)));
        const nodes = [...new Set(this.recordings.flatMap((r) => r.nodes))].filter((node) => node >= 0);
        nodes.sort((a, b) => a - b);
        byId('node').append(new Option('all', ''), ...nodes.map((node) => new Option(String(node), String(node))));
        byId('node-label').hidden = nodes.length < 2;
        const two = this.recordings.length > 1;
        byId('side-label').hidden = byId('relative-label').hidden = !two;
        for (const id of ['event', 'weight', 'node', 'side', 'relative'])
            byId(id).addEventListener('change', () => this.refresh());
        for (const id of ['task', 'cpu'])
            byId(id).addEventListener('input', () => this.refresh());
        byId('reset').addEventListener('click', () => { this.reset(); this.refresh(); });
    }

    reset() {
        this.fromNs = -Infinity;
        this.toNs = Infinity;
        for (const id of ['task', 'cpu', 'node'])
            byId(id).value = '';
    }

    get selection() {
        const name = byId('event').value, node = byId('node').value;
        return {
            events: new Map(this.recordings.map((r) => [r, r.events.findIndex((event) => event.name === name)])),
            task: byId('task').value, cpus: cpuList(byId('cpu').value), node: node === '' ? null : Number(node),
            fromNs: this.fromNs, toNs: this.toNs,
        };
    }

    get byWeight() {
        return byId('weight').value === 'weight';
    }

    /* ---- parts ---- */

    tabs(place, names, chosen, choose) {
        const buttons = names.map(([key, text]) => {
            const button = makeElement('button', text);
            button.type = 'button';
            button.dataset.key = key;
            button.setAttribute('aria-pressed', String(key === chosen));
            button.addEventListener('click', () => {
                for (const other of buttons)
                    other.setAttribute('aria-pressed', String(other === button));
                choose(key);
            });
            return button;
        });
        place.replaceChildren(...buttons);
    }

    makeParts() {
        const kinds = [['samples', 'Samples']];
        if (this.recordings.some((r) => r.raw.losses.records.count.length > 0))
            kinds.push(['losses', 'Losses']);
        if (this.recordings.some((r) => r.raw.timeline && r.raw.timeline.length > 0))
            kinds.push(['fill', 'Ring fill']);
        this.tabs(byId('heat-kinds'), kinds, 'samples', (kind) => { this.heatKind = kind; this.drawHeat(); });
        this.tabs(byId('flame-kinds'), [['callers', 'By caller'], ['callees', 'By callee (inverse)']], 'callers',
            (kind) => this.flame.invert(kind === 'callees'));
        this.heat = new Heatmap(byId('heat'), byId('heat-hint'),
            {hint: (...cell) => this.heatText(...cell), select: (from, to) => this.selectHeat(from, to)});
        this.scope = new Heatmap(byId('scope'), byId('scope-hint'),
            {hint: (...cell) => this.scopeText(...cell), select: (from, to) => this.selectScope(from, to)});
        this.flame = new FlameGraph(byId('flame'), {hover: (text) => { byId('frame-hint').textContent = text || ''; }});
        byId('search').addEventListener('input', () => this.flame.find(byId('search').value));
        byId('unzoom').addEventListener('click', () => this.flame.zoom([]));
        byId('flame').addEventListener('drawn', () => {
            byId('unzoom').hidden = this.flame.path.length === 0;
            const found = this.flame.found;
            byId('found').textContent = found ? percent(found.found, found.whole) + ' found' : '';
        });
    }

    refresh() {
        const two = this.recordings.length > 1;
        this.shown = two && byId('side').value !== 'before' ? 1 : 0;
        this.selected = this.selection;
        this.fold();
        this.drawHeat();
        this.drawScope();
        this.drawTables();
    }

    redraw() {
        this.heat.draw();
        this.scope.draw();
        this.flame.draw();
    }

    /* Weights by node of the tree, and the number of samples, of the selection. */
    fold() {
        let samples = 0, all = 0;
        const own = this.recordings.map((recording, r) => {
            const weights = new Float64Array(this.stacks.count), map = this.stacks.maps[r];
            const stacks = recording.raw.samples.stack;
            eachSelected(recording, this.selected, (row) => {
                samples += recording.count(row);
                if (stacks[row] >= 0)
                    weights[map[stacks[row]]] += this.byWeight ? recording.weight(row) : recording.count(row);
            });
            const event = recording.events[this.selected.events.get(recording)];
            all += event ? event.samples : 0;
            return weights;
        });
        this.noteStacks();
        const side = byId('side').value;
        const shown = this.recordings.length < 2 ? 0 : {difference: -1, before: 0, after: 1}[side];
        const wholes = own.map((weights) => weights.reduce((sum, weight) => sum + weight, 0));
        const relative = byId('relative').checked && wholes.every((whole) => whole > 0);
        const scales = wholes.map((whole) => (relative ? wholes[0] / whole : 1));
        this.flame.show(this.stacks, own, shown, scales, this.byWeight ? 'weight' : 'samples');
        const span = this.fromNs > -Infinity ? ', from ' + seconds(Math.max(this.fromNs, 0)) + ' to ' +
            seconds(this.toNs) : '';
        byId('count').textContent = grouped(samples) + ' of ' + grouped(all) + ' samples selected' + span;
    }

    noteStacks() {
        const events = this.recordings.map((r) => r.events[this.selected.events.get(r)]).filter(Boolean);
        const notes = [];
        if (events.length > 0 && events.every((event) => !event.has_chains))
            notes.push('This event has no call chains: a stack is the function of the sample.');
        if (this.recordings.some((r) => r.raw.samples.depth_cut))
            notes.push('There are more stacks than a page holds: all are cut to their outermost calls.');
        byId('stack-note').textContent = notes.join(' ');
        byId('stack-note').hidden = notes.length === 0;
    }

    drawTables() {
        const {task, cpus, node, events} = this.selected;
        const whole = task.trim() === '' && !cpus && node === null && this.fromNs === -Infinity;
        const sums = this.recordings.map((r) =>
            (whole ? wholeSums(r, events.get(r)) : selectedSums(r, this.selected)));
        showTables(byId('tables'), sums[0], sums[1] || null, this.byWeight);
    }

    /* ---- heatmap of CPUs ---- */

    drawHeat() {
        const recording = this.recordings[this.shown], cpus = recording.cpus.length;
        const span = Math.max(recording.spanNs, 1), rows = Math.max(Math.min(cpus, HEAT_ROWS), 1);
        const columns = Math.max(1, Math.min(HEAT_COLUMNS, Math.floor(byId('heat').clientWidth / 2) || 100,
            Math.ceil(span / Math.max(recording.binNs, 1))));
        const grid = {recording, columns, rows, span, perRow: Math.max(cpus / rows, 1e-9)};
        grid.columnOf = (ns) => Math.max(0, Math.min(columns - 1, Math.floor(ns / span * columns)));
        grid.rowOf = (index) => Math.min(rows - 1, Math.floor(recording.placeOf[index] / grid.perRow));
        const values = new Float64Array(columns * rows);
        this.grid = grid;
        if (this.heatKind === 'losses')
            this.addLosses(grid, values);
        else if (this.heatKind === 'fill')
            this.addFill(grid, values);
        else
            eachOfHeat(recording, {...this.selected, cpus: null, node: null}, (ns, cpu, count) => {
                if (cpu >= 0)
                    values[grid.rowOf(cpu) * columns + grid.columnOf(ns)] += count;
            });
        const {cpus: chosen} = this.selected, selects = chosen || this.fromNs > -Infinity;
        const inRow = (row) => !chosen || recording.cpus.some((cpu, i) => grid.rowOf(i) === row && chosen.has(cpu));
        const rowIn = Array.from({length: rows}, (_, row) => inRow(row));
        this.heat.show({
            columns, rows, values, spanNs: recording.spanNs,
            rowHeight: Math.max(2, Math.min(16, Math.floor(320 / rows))),
            highest: this.heatKind === 'fill' ? 1000 : 0,
            labels: cpus === 0 ? [] : Array.from({length: rows}, (_, row) =>
                ({row, text: 'CPU ' + recording.cpus[recording.order[Math.floor(row * grid.perRow)]]})),
            contains: selects ? (column, row) => rowIn[row] && (column + 1) * span / columns > this.fromNs &&
                column * span / columns < this.toNs : null,
            text: 'Drag over cells to select CPUs and a time; a click selects one cell, Reset all.',
        });
    }

    addLosses(grid, values) {
        const {recording} = grid, {records} = recording.raw.losses;
        for (const i of recording.timedLosses()) {
            if (records.cpu[i] >= 0)
                values[grid.rowOf(records.cpu[i]) * grid.columns + grid.columnOf(recording.lossTimes[i])] +=
                    records.count[i];
        }
    }

    addFill(grid, values) {
        const {recording} = grid, rowOfCpu = new Map(recording.cpus.map((cpu, i) => [cpu, grid.rowOf(i)]));
        for (const {one, fromNs, toNs} of placedIntervals(recording)) {
            const first = grid.columnOf(fromNs), last = grid.columnOf(Math.max(toNs - 1, fromNs));
            for (const reader of one.readers) {
                const row = rowOfCpu.get(reader.first_cpu);
                if (row === undefined)
                    continue;
                for (let column = first; column <= last; column++) {
                    const at = row * grid.columns + column;
                    values[at] = Math.max(values[at], reader.fullest_per_mille);
                }
            }
        }
    }

    cpusOfRows(first, last) {
        return this.grid.recording.cpus.filter((_, i) => this.grid.rowOf(i) >= first && this.grid.rowOf(i) <= last);
    }

    heatText(column, row, value) {
        const {span, columns} = this.grid, cpus = this.cpusOfRows(row, row);
        const what = this.heatKind === 'fill' ? (value / 10).toFixed(1) + ' % of the fullest ring' :
            grouped(value) + (this.heatKind === 'losses' ? ' lost' : ' samples');
        const from = column * span / columns, to = (column + 1) * span / columns;
        return 'CPU ' + cpus.join(', ') + ', ' + seconds(from) + ' to ' + seconds(to) + ': ' + what;
    }

    selectHeat(from, to) {
        if (!from) {
            this.reset();
        } else {
            const {span, columns, rows} = this.grid;
            const top = Math.min(from.row, to.row), bottom = Math.max(from.row, to.row);
            this.fromNs = Math.min(from.column, to.column) * span / columns;
            this.toNs = (Math.max(from.column, to.column) + 1) * span / columns;
            byId('cpu').value = top === 0 && bottom === rows - 1 ? '' : this.cpusOfRows(top, bottom).join(',');
        }
        this.refresh();
    }

    /* ---- FlameScope's heatmap ---- */

    drawScope() {
        const recording = this.recordings[this.shown], span = Math.max(recording.spanNs, 1);
        const step = Math.max(1, Math.ceil(span / 1e9 / SCOPE_COLUMNS)); /* seconds in a column */
        const columns = Math.max(1, Math.ceil(span / 1e9 / step));
        const values = new Float64Array(columns * SCOPE_ROWS);
        this.scopeStep = step;
        byId('scope-section').hidden = recording.spanNs === 0;
        const cell = 1e9 * step / SCOPE_ROWS, contains = (column, row) => {
            const at = column * step * 1e9 + row * cell;
            return at + cell > this.fromNs && at < this.toNs;
        };
        eachOfHeat(recording, this.selected, (ns, cpu, count) => {
            const column = Math.min(Math.floor(ns / (1e9 * step)), columns - 1);
            const offset = Math.min(Math.floor((ns - column * step * 1e9) / cell), SCOPE_ROWS - 1);
            values[offset * columns + column] += count;
        });
        this.scope.show({
            columns, rows: SCOPE_ROWS, values, rowHeight: 4, continuous: true, spanNs: columns * step * 1e9,
            contains: this.fromNs > -Infinity ? contains : null,
            text: (step > 1 ? step + ' seconds' : 'One second') + ' a column, from its beginning (top) to its ' +
                'end. Drag from the first to the last moment to select the time between.',
        });
    }

    scopeNs(column, row) {
        return (column + row / SCOPE_ROWS) * this.scopeStep * 1e9;
    }

    scopeText(column, row, value) {
        return seconds(this.scopeNs(column, row)) + ' to ' + seconds(this.scopeNs(column, row + 1)) + ': ' +
            grouped(value) + ' samples';
    }

    selectScope(from, to) {
        if (!from) {
            this.reset();
        } else {
            const a = this.scopeNs(from.column, from.row), b = this.scopeNs(to.column, to.row);
            this.fromNs = Math.min(a, b);
            this.toNs = Math.max(a, b) + this.scopeStep * 1e9 / SCOPE_ROWS;
        }
        this.refresh();
    }
}

/* ---- the beginning ---- */

function begin() {
    const data = JSON.parse(byId('weir-data').textContent);
    if (data.sweep)
        showSweep(data.sweep);
    if (data.recordings.length > 0)
        window.weirPage = new Page(data);
}

begin();
