/* A heatmap on a canvas: cells by column and row, a range that is dragged, and what is under the pointer. */

/* The values of the page's colors, as the scheme of the day has them. */
function cssColor(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function rgbOf(hex) {
    return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

/* 256 colors from the page's five, for values from 0 to 1. */
function heatColors() {
    const stops = [0, 1, 2, 3, 4].map((i) => rgbOf(cssColor('--heat-' + i)));
    const colors = [];
    for (let i = 0; i < 256; i++) {
        const at = i / 255 * 4, low = Math.min(Math.floor(at), 3), part = at - low;
        colors.push(stops[low].map((v, c) => Math.round(v + (stops[low + 1][c] - v) * part)));
    }
    return colors;
}

/* Sets the size of a canvas for its width on the page; returns its context, in units of the page. */
function fitCanvas(canvas, height) {
    const ratio = window.devicePixelRatio || 1, width = Math.max(canvas.clientWidth, 50);
    canvas.style.height = height + 'px';
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const context = canvas.getContext('2d');
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    return {context, width, height};
}

/* The value of the deepest color: the greatest one, but well above the mean. So an even load is of a middle color. */
function highestOf(values) {
    let most = 0, sum = 0, count = 0;
    for (const value of values) {
        most = Math.max(most, value);
        sum += value;
        count += value > 0 ? 1 : 0;
    }
    return Math.max(most, count > 0 ? 2 * sum / count : 0);
}

const AXIS_HEIGHT = 16, TICK_WIDTH = 70; /* pixels: below the cells; between two times at least */

/* The least of 1, 2, 5, 10, ... (or its tenths, hundredths ...) that is not below a value. */
function roundStep(value) {
    const power = 10 ** Math.floor(Math.log10(value));
    return [1, 2, 5, 10].map((digit) => digit * power).find((step) => step >= value * (1 - 1e-9));
}

class Heatmap {
    /* on: {hint(column, row, value): text, select(from, to): cells {column, row} of a drag, in drag order, or null} */
    constructor(canvas, hint, on) {
        this.canvas = canvas;
        this.hint = hint;
        this.on = on;
        this.selection = null;
        this.columns = this.rows = 0;
        this.drag = null;
        canvas.addEventListener('pointerdown', (event) => this.begin(event));
        canvas.addEventListener('pointermove', (event) => this.move(event));
        canvas.addEventListener('pointerup', (event) => this.end(event));
        canvas.addEventListener('pointercancel', () => { this.drag = null; this.draw(); });
        canvas.addEventListener('pointerleave', () => { if (!this.drag) this.hint.textContent = this.text; });
        canvas.addEventListener('keydown', (event) => {
            if (event.key === 'Escape')
                this.on.select(null, null);
        });
    }

    /* values: [row * columns + column]. highest: value of the deepest color; 0: as highestOf(). contains(column,
     * row): whether the cell is selected; null: no selection. text: the hint while the pointer is elsewhere. spanNs: of
     * all columns; 0: they are no times. */
    show(data) {
        Object.assign(this, {columns: data.columns, rows: data.rows, values: data.values, contains: data.contains,
            rowHeight: data.rowHeight, text: data.text, labels: data.labels || [], continuous: data.continuous,
            spanNs: data.spanNs});
        this.highest = data.highest || highestOf(data.values);
        if (!this.drag)
            this.hint.textContent = this.text;
        this.draw();
    }

    get left() {
        return this.labels.length > 0 ? 54 : 0;
    }

    draw() {
        if (!this.values || this.canvas.clientWidth === 0)
            return;
        const {context, width, height} = fitCanvas(this.canvas, Math.max(this.rows * this.rowHeight, 16) +
            (this.spanNs > 0 ? AXIS_HEIGHT : 0));
        const cellsHeight = height - (this.spanNs > 0 ? AXIS_HEIGHT : 0);
        const image = new ImageData(Math.max(this.columns, 1), Math.max(this.rows, 1)), colors = heatColors();
        for (let i = 0; i < this.values.length; i++) {
            const part = this.highest > 0 ? Math.min(this.values[i] / this.highest, 1) : 0;
            const color = colors[this.values[i] > 0 ? Math.max(Math.round(Math.sqrt(part) * 255), 24) : 0];
            const outside = this.contains && !this.contains(i % this.columns, Math.floor(i / this.columns));
            image.data.set([color[0], color[1], color[2], outside ? 70 : 255], i * 4);
        }
        const small = document.createElement('canvas');
        small.width = image.width;
        small.height = image.height;
        small.getContext('2d').putImageData(image, 0, 0);
        context.fillStyle = cssColor('--page');
        context.fillRect(0, 0, width, height);
        context.imageSmoothingEnabled = false;
        context.drawImage(small, this.left, 0, width - this.left, cellsHeight);
        context.fillStyle = cssColor('--dim');
        context.font = '11px system-ui, sans-serif';
        context.textBaseline = 'middle';
        this.drawLabels(context, cellsHeight);
        this.drawTimes(context, width, cellsHeight);
        this.drawDrag(context, width);
    }

    drawLabels(context, height) {
        let free = -1;
        for (const label of this.labels) {
            const y = Math.min(Math.max((label.row + 0.5) * this.rowHeight, 6), height - 6);
            if (y < free)
                continue;
            context.fillText(label.text, 2, y, this.left - 6);
            free = y + 13;
        }
    }

    drawTimes(context, width, top) {
        if (!(this.spanNs > 0))
            return;
        const scale = (width - this.left) / (this.spanNs / 1e9), step = roundStep(TICK_WIDTH / scale);
        const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
        for (let i = 0; i * step * scale <= width - this.left; i++) {
            const x = this.left + i * step * scale, text = (i * step).toFixed(digits) + ' s';
            context.fillRect(Math.min(x, width - 1), top, 1, 4);
            if (x + context.measureText(text).width + 4 <= width)
                context.fillText(text, x + 3, top + AXIS_HEIGHT / 2 + 1);
        }
    }

    drawDrag(context, width) {
        if (!this.drag)
            return;
        const cell = (width - this.left) / this.columns, {from, to} = this.drag;
        context.strokeStyle = cssColor('--select');
        context.lineWidth = 2;
        const x = this.left + Math.min(from.column, to.column) * cell;
        const y = this.continuous ? 0 : Math.min(from.row, to.row) * this.rowHeight;
        const w = (Math.abs(from.column - to.column) + 1) * cell;
        const h = (this.continuous ? this.rows : Math.abs(from.row - to.row) + 1) * this.rowHeight;
        context.strokeRect(x + 1, y + 1, Math.max(w - 2, 1), Math.max(h - 2, 1));
    }

    cellAt(event) {
        const box = this.canvas.getBoundingClientRect();
        const clamp = (value, most) => Math.max(0, Math.min(most - 1, Math.floor(value)));
        const part = (event.clientX - box.left - this.left) / (box.width - this.left);
        return {
            column: clamp(part * this.columns, this.columns),
            row: clamp((event.clientY - box.top) / this.rowHeight, this.rows),
        };
    }

    begin(event) {
        if (event.button !== 0 || this.columns === 0)
            return;
        const cell = this.cellAt(event);
        this.drag = {from: cell, to: cell};
        this.canvas.setPointerCapture(event.pointerId);
        this.draw();
    }

    move(event) {
        if (this.columns === 0)
            return;
        const cell = this.cellAt(event);
        this.hint.textContent = this.on.hint(cell.column, cell.row, this.values[cell.row * this.columns + cell.column]);
        if (!this.drag)
            return;
        this.drag.to = cell;
        this.draw();
    }

    end(event) {
        if (!this.drag)
            return;
        const {from, to} = this.drag;
        this.drag = null;
        this.canvas.releasePointerCapture(event.pointerId);
        this.on.select(from, to);
    }
}
