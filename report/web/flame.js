/*
 * The flame graph on a canvas, and its inverse. Only frames that are wide enough to be seen are laid out, from the
 * tree of all stacks: a recording of a million stacks draws as fast as a small one, and no frame is left out on a zoom.
 *
 * A node has frame, totals (one for each recording), width (what it is drawn by) and children(), made when asked for.
 */

const ROW = 18;

/* Nodes by callers: each is a node of the tree of stacks. */
class CallerNode {
    constructor(graph, index, up) {
        this.graph = graph;
        this.index = index;
        this.up = up;
    }

    get frame() {
        return this.index < 0 ? -1 : this.graph.stacks.frame[this.index];
    }

    totals() {
        return this.graph.sums.map((sums, r) => (this.index < 0 ? this.graph.wholes[r] : sums[this.index]));
    }

    children() {
        const {stacks, sums} = this.graph, found = [];
        let child = this.index < 0 ? stacks.firstRoot : stacks.firstChild[this.index];
        for (; child >= 0; child = stacks.nextChild[child]) {
            if (sums.some((sum) => sum[child] > 0))
                found.push(new CallerNode(this.graph, child, this));
        }
        return found;
    }
}

/* Nodes by callees, from the last call outwards: each has the tree's nodes at which its stacks are by now. */
class CalleeNode {
    constructor(graph, frame, up) {
        this.graph = graph;
        this.frame = frame;
        this.up = up;
        this.at = [];                              /* nodes of the tree */
        this.from = [];                            /* where their weights are: the nodes of the samples */
        this.sum = graph.own.map(() => 0);
    }

    add(at, from) {
        this.at.push(at);
        this.from.push(from);
        this.graph.own.forEach((own, r) => { this.sum[r] += own[from]; });
    }

    totals() {
        return this.sum;
    }

    children() {
        if (this.made)
            return this.made;
        const {stacks} = this.graph, byFrame = new Map();
        for (let i = 0; i < this.at.length; i++) {
            const next = this.up ? stacks.parent[this.at[i]] : this.at[i];
            if (next < 0)
                continue;
            const frame = stacks.frame[next];
            let child = byFrame.get(frame);
            if (!child) {
                child = new CalleeNode(this.graph, frame, this);
                byFrame.set(frame, child);
            }
            child.add(next, this.from[i]);
        }
        this.made = [...byFrame.values()];
        return this.made;
    }
}

/* FNV-1a, for hues that stay with a name. */
function hashOf(text) {
    let hash = 0x811c9dc5;
    for (let i = 0; i < text.length; i++)
        hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
    return hash >>> 0;
}

class FlameGraph {
    /* on: {hover(text)} */
    constructor(canvas, on) {
        this.canvas = canvas;
        this.on = on;
        this.inverted = false;
        this.search = '';
        this.path = [];     /* frames from the root to the frame that fills the width */
        this.boxes = [];
        canvas.addEventListener('click', (event) => this.click(event));
        canvas.addEventListener('pointermove', (event) => this.hover(event));
        canvas.addEventListener('pointerleave', () => this.on.hover(null));
        canvas.addEventListener('keydown', (event) => {
            if (event.key === 'Escape' || event.key === 'Backspace')
                this.zoom(this.path.slice(0, -1));
        });
    }

    /* own: for each recording the weights by node of the tree. shown: which recording gives the widths; -1: both.
     * scales: factors of the two recordings, for relative differences. */
    show(stacks, own, shown, scales, unit) {
        Object.assign(this, {stacks, own, shown, scales, unit});
        this.sums = own.map((weights) => {
            const sums = Float64Array.from(weights);
            for (let i = stacks.count - 1; i >= 0; i--) {
                if (stacks.parent[i] >= 0)
                    sums[stacks.parent[i]] += sums[i];
            }
            return sums;
        });
        this.wholes = own.map((weights) => weights.reduce((sum, weight) => sum + weight, 0));
        this.makeRoot();
        this.draw();
    }

    makeRoot() {
        if (!this.inverted) {
            this.root = new CallerNode(this, -1, null);
            return;
        }
        this.root = new CalleeNode(this, -1, null);
        for (let i = 0; i < this.stacks.count; i++) {
            if (this.own.some((weights) => weights[i] > 0))
                this.root.add(i, i);
        }
    }

    invert(inverted) {
        this.inverted = inverted;
        this.path = [];
        if (this.stacks)
            this.makeRoot();
        this.draw();
    }

    find(text) {
        this.search = text.trim().toLowerCase();
        this.draw();
    }

    zoom(path) {
        this.path = path;
        this.draw();
    }

    width(totals) {
        return this.shown >= 0 ? totals[this.shown] : totals.reduce((sum, total, r) => sum + total * this.scales[r], 0);
    }

    matches(frame) {
        return this.search !== '' && frame >= 0 && this.stacks.lowerNames[frame].includes(this.search);
    }

    /* The zoomed node; the path is cut where a selection has nothing of it left. */
    zoomed() {
        let node = this.root;
        const kept = [];
        for (const frame of this.path) {
            const next = node.children().find((child) => child.frame === frame && this.width(child.totals()) > 0);
            if (!next)
                break;
            node = next;
            kept.push(frame);
        }
        this.path = kept;
        return node;
    }

    draw() {
        if (!this.stacks || this.canvas.clientWidth === 0)
            return;
        const zoomed = this.zoomed(), above = [];
        for (let node = zoomed.up; node; node = node.up)
            above.unshift(node);
        const width = this.canvas.clientWidth;
        this.boxes = above.map((node, depth) => ({node, depth, x: 0, w: width, dim: true}));
        let found = 0, deepest = above.length;
        const place = (node, depth, x, w, counted) => {
            const hit = this.matches(node.frame);
            this.boxes.push({node, depth, x, w, hit});
            found += hit && !counted ? this.width(node.totals()) : 0;
            deepest = Math.max(deepest, depth);
            const children = node.children().map((child) => ({child, value: this.width(child.totals())}));
            children.sort((a, b) => b.value - a.value || a.child.frame - b.child.frame);
            const scale = w / Math.max(this.width(node.totals()), 1e-300);
            let at = x;
            for (const {child, value} of children) {
                if (value * scale < 0.5)
                    break;
                place(child, depth + 1, at, value * scale, counted || hit);
                at += value * scale;
            }
        };
        const whole = this.width(zoomed.totals());
        if (whole > 0)
            place(zoomed, above.length, 0, width, false);
        this.found = this.search === '' ? null : {found, whole};
        this.paint(deepest);
        this.canvas.dispatchEvent(new CustomEvent('drawn'));
    }

    paint(deepest) {
        const {context, width, height} = fitCanvas(this.canvas, (deepest + 1) * ROW);
        const style = {light: cssColor('--frame-light'), text: cssColor('--frame-text'), found: cssColor('--found'),
            user: cssColor('--user-hue'), kernel: cssColor('--kernel-hue'), same: rgbOf(cssColor('--same')),
            grew: rgbOf(cssColor('--grew')), shrank: rgbOf(cssColor('--shrank')), panel: cssColor('--line')};
        context.clearRect(0, 0, width, height);
        context.font = '12px system-ui, sans-serif';
        context.textBaseline = 'middle';
        for (const box of this.boxes) {
            const y = box.depth * ROW;
            context.globalAlpha = box.dim ? 0.55 : 1;
            context.fillStyle = box.hit ? style.found : this.color(box.node, style);
            context.fillRect(box.x, y, Math.max(box.w - 0.5, 0.5), ROW - 1);
            if (box.w < 28)
                continue;
            context.fillStyle = box.hit ? cssColor('--page') : style.text;
            context.fillText(this.fit(context, this.label(box.node), box.w - 8), box.x + 4, y + ROW / 2);
        }
        context.globalAlpha = 1;
    }

    fit(context, text, room) {
        let most = Math.min(text.length, Math.floor(room / 4));
        if (most === text.length && context.measureText(text).width <= room)
            return text;
        while (most > 1 && context.measureText(text.slice(0, most) + '\u2026').width > room)
            most = Math.floor(most * 0.9);
        return most > 1 ? text.slice(0, most) + '\u2026' : '';
    }

    label(node) {
        return node.frame < 0 ? 'all' : this.stacks.names[node.frame];
    }

    color(node, style) {
        if (node.frame < 0)
            return style.panel;
        if (this.own.length > 1 && this.shown < 0) {
            const [before, after] = node.totals().map((total, r) => total * this.scales[r]);
            const change = (after - before) / Math.max(after + before, 1e-300);
            const to = change > 0 ? style.grew : style.shrank, part = Math.sqrt(Math.abs(change));
            return 'rgb(' + style.same.map((v, c) => Math.round(v + (to[c] - v) * part)).join(',') + ')';
        }
        const hash = hashOf(this.stacks.names[node.frame]), kernel = this.stacks.kinds[node.frame] === 1;
        const hue = Number(kernel ? style.kernel : style.user) + (hash % 41) - 20;
        return 'hsl(' + hue + ' ' + (kernel ? 45 : 75) + '% ' + style.light + ')';
    }

    boxAt(event) {
        const bounds = this.canvas.getBoundingClientRect();
        const x = event.clientX - bounds.left, depth = Math.floor((event.clientY - bounds.top) / ROW);
        return this.boxes.find((box) => box.depth === depth && x >= box.x && x < box.x + box.w);
    }

    pathOf(node) {
        const path = [];
        for (; node && node.frame >= 0; node = node.up)
            path.unshift(node.frame);
        return path;
    }

    click(event) {
        const box = this.boxAt(event);
        if (box)
            this.zoom(this.pathOf(box.node));
    }

    hover(event) {
        const box = this.boxAt(event);
        this.on.hover(box ? this.describe(box.node) : null);
    }

    describe(node) {
        const totals = node.totals(), parts = totals.map((total, r) =>
            grouped(total) + ' ' + this.unit + ' (' + percent(total, this.wholes[r]) + ')');
        const file = node.frame < 0 ? '' : ' \u2014 ' + this.stacks.files[node.frame];
        return this.label(node) + file + ': ' + parts.join(' \u2192 ');
    }
}
