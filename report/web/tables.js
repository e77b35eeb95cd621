/* The tables of the most frequent tasks, files and symbols. Without a selection they are those of the C side, whose
 * counts are perf's to the sample; with one they are counted from the samples. */

const TABLE_ROWS = 30;

function makeElement(name, text) {
    const element = document.createElement(name);
    if (text !== undefined)
        element.textContent = text;
    return element;
}

/* rows: of cells of text; numbers first, the name last. */
function makeTable(title, heads, rows) {
    const table = document.createElement('table');
    table.append(makeElement('caption', title));
    const head = table.createTHead().insertRow();
    for (const text of heads)
        head.append(makeElement('th', text));
    const body = table.createTBody();
    for (const cells of rows) {
        const row = body.insertRow();
        for (const text of cells)
            row.insertCell().textContent = text;
    }
    return table;
}

/* Sums of the C side's table for one event: Map from name to [weight, samples]. */
function tableSums(recording, event, nameOf) {
    const rows = recording.raw.tables, sums = new Map();
    for (let i = 0; i < rows.event.length; i++) {
        if (rows.event[i] === event)
            addTo(sums, nameOf(i), rows.weight[i], rows.samples[i]);
    }
    return sums;
}

function addTo(sums, name, weight, samples) {
    const sum = sums.get(name);
    if (sum) {
        sum[0] += weight;
        sum[1] += samples;
    } else {
        sums.set(name, [weight, samples]);
    }
}

function wholeSums(recording, event) {
    const rows = recording.raw.tables, {strings} = recording;
    return [
        ['Tasks', tableSums(recording, event, (i) => strings[rows.comm[i]] || '')],
        ['Files', tableSums(recording, event, (i) => recording.file(rows.file[i]))],
        ['Symbols', tableSums(recording, event, (i) => recording.frameName(rows.frame[i]))],
    ];
}

function selectedSums(recording, selection) {
    const {samples, stacks, frames} = recording.raw, tasks = new Map(), files = new Map(), symbols = new Map();
    eachSelected(recording, selection, (row) => {
        const weight = recording.weight(row), count = recording.count(row), stack = samples.stack[row];
        addTo(tasks, samples.task[row] < 0 ? '' : recording.comm(samples.task[row]), weight, count);
        if (stack < 0)
            return;
        const frame = stacks.frame[stack];
        addTo(files, recording.file(frames.file[frame]), weight, count);
        addTo(symbols, recording.frameName(frame), weight, count);
    });
    return [['Tasks', tasks], ['Files', files], ['Symbols', symbols]];
}

/* Fills the place of the tables. second: the other recording's sums, for differences; null: there is none. */
function showTables(place, sums, second, byWeight) {
    const at = byWeight ? 0 : 1;
    place.replaceChildren(...sums.map(([title, names], t) => {
        const whole = [...names.values()].reduce((sum, value) => sum + value[at], 0);
        const box = document.createElement('div');
        box.className = 'scroll';
        if (!second) {
            const top = [...names].sort((a, b) => b[1][at] - a[1][at]).slice(0, TABLE_ROWS);
            box.append(makeTable(title, ['share', 'samples', 'name'],
                top.map(([name, value]) => [percent(value[at], whole), grouped(value[1]), name])));
            return box;
        }
        const others = second[t][1], otherWhole = [...others.values()].reduce((sum, value) => sum + value[at], 0);
        const all = [...new Set([...names.keys(), ...others.keys()])].map((name) => {
            const before = names.get(name) || [0, 0], after = others.get(name) || [0, 0];
            const change = 100 * (after[at] / (otherWhole || 1) - before[at] / (whole || 1));
            return {name, before, after, change};
        });
        all.sort((a, b) => Math.abs(b.change) - Math.abs(a.change));
        box.append(makeTable(title, ['change', 'before', 'after', 'name'], all.slice(0, TABLE_ROWS).map((row) => [
            (row.change >= 0 ? '+' : '') + row.change.toFixed(2) + ' %', grouped(row.before[1]), grouped(row.after[1]),
            row.name])));
        return box;
    }));
}
