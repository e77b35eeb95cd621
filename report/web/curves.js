/* Curves by uPlot: the recorder's timeline, and sweeps of `weir bench drain`. */

const CURVE_COLORS = ['#3b82d6', '#d9622b', '#3a9d5d', '#a04fc0', '#b59020', '#c0395f'];

/* series: [{label, values}]. xs: ascending. Values may be null. */
function drawCurve(place, title, xs, series, xLabel) {
    const box = document.createElement('div'), dim = cssColor('--dim'), line = cssColor('--line');
    place.append(box);
    const axis = {stroke: dim, grid: {stroke: line, width: 1}, ticks: {stroke: line}};
    const plot = new uPlot({
        title, width: Math.max(box.clientWidth, 200), height: 170,
        scales: {x: {time: false}},
        axes: [{...axis, size: 30}, {...axis, size: 58}],
        series: [{label: xLabel}, ...series.map((one, i) => ({
            label: one.label, stroke: CURVE_COLORS[i % CURVE_COLORS.length], width: 1.5, points: {show: xs.length < 60},
        }))],
    }, [xs, ...series.map((one) => one.values)], box);
    new ResizeObserver(() => plot.setSize({width: Math.max(box.clientWidth, 200), height: 170})).observe(box);
}

/* The timeline's intervals by the time of samples: CLOCK_MONOTONIC is moved by the largest difference of the clocks. */
function placedIntervals(recording) {
    const intervals = recording.raw.timeline || [];
    const offset = intervals.reduce((most, one) =>
        (one.newest_sample_ns > 0 ? Math.max(most, one.newest_sample_ns - one.end_ns) : most), -Infinity);
    const first = intervals.length > 0 ? intervals[0].begin_ns : 0;
    const moved = (ns) => (offset === -Infinity ? ns - first : ns + offset - recording.startNs);
    return intervals.map((one) => ({one, fromNs: moved(one.begin_ns), toNs: moved(one.end_ns)}));
}

function showTimeline(place, recording) {
    const placed = placedIntervals(recording).filter(({fromNs, toNs}) => toNs > fromNs);
    if (placed.length === 0)
        return false;
    const sum = (one, field) => one.readers.reduce((all, reader) => all + reader[field], 0);
    const rate = (value) => placed.map(({one, fromNs, toNs}) => value(one) / ((toNs - fromNs) / 1e9));
    const xs = placed.map(({toNs}) => toNs / 1e9);
    place.replaceChildren();
    drawCurve(place, 'samples and losses per second', xs, [
        {label: 'samples', values: rate((one) => sum(one, 'samples'))},
        {label: 'lost', values: rate((one) => sum(one, 'lost_ring_full') + one.lost_write_failed)},
        {label: 'shed', values: rate((one) => sum(one, 'shed'))},
    ], 'seconds');
    drawCurve(place, 'MB per second', xs, [
        {label: 'drained from rings', values: rate((one) => sum(one, 'bytes') / 1e6)},
        {label: 'written', values: rate((one) => one.output_bytes / 1e6)},
    ], 'seconds');
    drawCurve(place, 'in use, %', xs, [
        {label: 'fullest ring', values: placed.map(({one}) =>
            one.readers.reduce((most, reader) => Math.max(most, reader.fullest_per_mille), 0) / 10)},
        {label: 'pool', values: placed.map(({one}) => one.pool_per_mille / 10)},
    ], 'seconds');
    drawCurve(place, 'from reader to file, ms', xs, [
        {label: 'mean', values: placed.map(({one}) => one.latency_mean_us / 1e3)},
        {label: 'longest', values: placed.map(({one}) => one.latency_max_us / 1e3)},
    ], 'seconds');
    return true;
}
