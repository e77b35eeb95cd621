/* What `weir bench drain --sweep --json` has measured: a point for each combination, as curves and as a table. */

const SWEEP_FIGURES = [
    ['samples_per_cpu_per_s', 'samples per second and CPU'],
    ['mb_per_s', 'MB per second'],
    ['cpu_s_per_gb', 'CPU seconds per GB'],
    ['lost_percent', 'lost, %'],
];

function medianOf(point, name) {
    if (name === 'lost_percent')
        return point.produced > 0 ? 100 * point.lost / point.produced : null;
    const value = point[name];
    return value && typeof value === 'object' && typeof value.median === 'number' ? value.median : null;
}

/* cpus=8,shed=none: [['cpus', '8'], ...]. */
function settingsOf(point) {
    return String(point.point || '').split(/[ ,]+/).filter((word) => word.includes('=')).map((word) =>
        [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)]);
}

/* The first setting whose values are numbers that differ gives the x axis; the other settings name the curves. */
function axisOf(settings) {
    const names = (settings[0] || []).map(([name]) => name);
    return names.find((name) => {
        const values = settings.map((of) => Number((of.find(([other]) => other === name) || [])[1]));
        return values.every(Number.isFinite) && new Set(values).size > 1;
    });
}

function showSweep(sweep) {
    const points = Array.isArray(sweep.points) ? sweep.points : [], settings = points.map(settingsOf);
    const axis = axisOf(settings);
    const figures = SWEEP_FIGURES.filter(([name]) => points.some((point) => medianOf(point, name) !== null));
    const xOf = (i) => (axis ? Number(settings[i].find(([name]) => name === axis)[1]) : i);
    const xs = [...new Set(points.map((_, i) => xOf(i)))].sort((a, b) => a - b), place = byId('curves');
    const rest = (i) => settings[i].filter(([name]) => name !== axis).map((pair) => pair.join('=')).join(' ') ||
        'median';
    const labels = axis ? [...new Set(points.map((_, i) => rest(i)))] : ['median'];
    byId('sweep').hidden = false;
    byId('sweep-sum').textContent = points.length + ' points' + (axis ? ', by ' + axis : '');
    if (!document.title.includes('\u2014'))
        document.title = 'sweep \u2014 weir report';
    for (const [name, title] of figures) {
        drawCurve(place, title, xs, labels.map((label) => ({label, values: xs.map((x) => {
            const i = points.findIndex((_, at) => xOf(at) === x && (!axis || rest(at) === label));
            return i < 0 ? null : medianOf(points[i], name);
        })})), axis || 'point');
    }
    const table = makeTable('Medians', ['point', 'runs', 'produced', 'lost', ...figures.map(([, title]) => title)],
        points.map((point) => [String(point.point), String(point.runs), grouped(point.produced || 0),
            grouped(point.lost || 0), ...figures.map(([name]) => (medianOf(point, name) ?? NaN).toPrecision(5))]));
    table.id = 'sweep-table';
    byId('sweep-table').replaceWith(table);
}
