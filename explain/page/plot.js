// SPDX-License-Identifier: BSD-2-Clause
// PSN and throughput over time, in SVG. Points that fall on the same dot are drawn once, each class is one path:
// the document stays small however many packets there are.
'use strict';

const SVG = 'http://www.w3.org/2000/svg';
const MARGIN = { left: 46, right: 8, top: 6, bottom: 17 };
const MARKS = ['duplicate', 'retransmission', 'cnp', 'rnr', 'refused', 'nak', 'bad', 'mark'];
const LEGEND = [['request', 'requests'], ['response', 'responses'], ['retransmission', 'sent again'],
  ['duplicate', 'duplicate, reordered'], ['nak', 'NAK'], ['rnr', 'RNR NAK'], ['cnp', 'CNP'], ['mark', 'ECN mark'],
  ['refused', 'refused, aborted'], ['bad', 'error']];
const plot = { from: 0, to: 1 }; // the time shown, in ns

function svg(tag, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text !== undefined) node.textContent = text;
  return node;
}

// A round number of units to part `span` into about `n`.
function niceStep(span, n) {
  const raw = span / n || 1, unit = 10 ** Math.floor(Math.log10(raw));
  return unit * ([1, 2, 5].find((m) => m * unit >= raw) || 10);
}

function si(value, unit) {
  const steps = [[1e9, 'G'], [1e6, 'M'], [1e3, 'k']];
  const [by, letter] = steps.find(([limit]) => value >= limit) || [1, ''];
  return `${+(value / by).toPrecision(3)}${unit ? ' ' : ''}${letter}${unit}`;
}

function duration(ns) {
  if (ns === 0) return '0';
  const [by, unit] = ns >= 1e9 ? [1e9, 's'] : ns >= 1e6 ? [1e6, 'ms'] : ns >= 1e3 ? [1e3, 'µs'] : [1, 'ns'];
  return `${+(ns / by).toPrecision(4)} ${unit}`;
}

// Axes and their lines; returns the group for what is drawn, and the scales.
function plotFrame(node, low, high, label, leastStep = 0) {
  const width = node.clientWidth || 600, height = node.clientHeight || 120;
  const right = width - MARGIN.right, bottom = height - MARGIN.bottom;
  node.replaceChildren();
  node.setAttribute('viewBox', `0 0 ${width} ${height}`);
  const x = (t) => MARGIN.left + (t - plot.from) / (plot.to - plot.from) * (right - MARGIN.left);
  const y = (v) => bottom - (v - low) / (high - low || 1) * (bottom - MARGIN.top);
  const axes = svg('g', { class: 'axes' });
  const vStep = Math.max(niceStep(high - low, 3), label === si ? 1 : 0, leastStep);
  for (let v = Math.ceil(low / vStep) * vStep; v <= high; v += vStep)
    axes.append(svg('path', { d: `M${MARGIN.left} ${y(v).toFixed(1)}H${right}` }),
      svg('text', { x: MARGIN.left - 5, y: y(v) + 3.5, 'text-anchor': 'end' }, label(v, '')));
  const tStep = niceStep(plot.to - plot.from, Math.max(2, (right - MARGIN.left) / 130));
  for (let t = Math.ceil(plot.from / tStep) * tStep; t <= plot.to; t += tStep) {
    const at = x(t), anchor = at > right - 24 ? 'end' : 'middle';
    axes.append(svg('path', { d: `M${at.toFixed(1)} ${MARGIN.top}V${bottom + 3}` }),
      svg('text', { x: Math.min(at, right), y: height - 4, 'text-anchor': anchor }, duration(t)));
  }
  node.append(axes);
  return { x, y, right, bottom };
}

// Rows within the time shown; they are in the order of the capture, not of time.
function eachInSight(visit) {
  for (const i of state.inPlots)
    if (model.time[i] >= plot.from && model.time[i] <= plot.to) visit(i);
}

const SHAPES = {
  dot: (x, y) => `M${x} ${y}h0`,
  cross: (x, y) => `M${x - 3} ${y - 3}l6 6m0 -6l-6 6`,
  diamond: (x, y) => `M${x - 4.5} ${y}l4.5 -4.5l4.5 4.5l-4.5 4.5z`,
  triangle: (x, y) => `M${x - 4} ${y + 3.5}h8l-4 -7.5z`,
};
const DENSE = 60; // marks of a class: more hide each other, and all else; a strip above tells where they are
const IS_MARK = CLASSES.map((name) => MARKS.includes(name));
const SHAPE_OF = { nak: 'cross', refused: 'cross', bad: 'cross', rnr: 'diamond', cnp: 'triangle' };

// --- streams: the requests of one direction of a flow, and their answers ---

const STREAMS_MAX = 8; // have lines
const UNANSWERED = ['UD', 'UC']; // services without acknowledgements: only what was sent is known

// Of each stream in sight: [time, sent edge, acknowledged edge, edge of the window] wherever one of them moves. The window is
// what the receiver's credits allow, where it gives any; else the most that was seen outstanding, which is the window as
// far as anybody outside can tell.
function edges() {
  const streams = new Map();
  let key = -1, s;
  for (const i of state.inPlots) {
    if (!model.flow[i] || Number.isNaN(model.ahead[i])) continue;
    const answer = isResponse(i), own = streamOf(i);
    if (own !== key) {
      key = own;
      s = streams.get(key);
      if (!s && streams.size < STREAMS_MAX)
        streams.set(key, s = { dir: key % 2, isAnswered: !UNANSWERED.includes(flowOf.get(model.flow[i])?.service),
          sent: -Infinity, acked: model.ahead[i], window: 0, grant: NaN, points: [] });
    }
    if (!s) continue;
    const acked = answer ? Math.max(s.acked, model.edge[i]) : s.acked;
    const sent = Math.max(s.sent, acked, answer ? -Infinity : model.ahead[i] + 1); // a READ stands for its answers
    const grant = Number.isNaN(model.grant[i]) ? s.grant : model.grant[i];
    if (sent === s.sent && acked === s.acked && Object.is(grant, s.grant)) continue;
    Object.assign(s, { sent, acked, grant, window: Math.max(s.window, sent - acked) });
    s.points.push([model.time[i], sent, acked, grant]);
  }
  for (const s of streams.values()) {
    s.hasCredits = !Number.isNaN(s.grant);
    for (const p of s.points) if (!s.hasCredits) p[3] = p[2] + s.window;
  }
  return [...streams.values()];
}

const tenth = (v) => Math.round(v * 10) / 10;

// A step line through the edge with that place in each point; those on the same dot are left out before they are put
// into words, as nearly all are where there are many.
function edgeLine(points, k, x, y, low, high) {
  const d = [];
  let lastY = NaN;
  for (const p of points) {
    if (Number.isNaN(p[k])) continue;
    const py = tenth(y(Math.min(high, Math.max(low, p[k]))));
    if (py === lastY) continue;
    const px = tenth(x(p[0]));
    d.push(d.length ? `H${px}V${py}` : `M${px} ${py}`);
    lastY = py;
  }
  return d.length ? d.join('') + `H${tenth(x(points[points.length - 1][0]))}` : '';
}

function drawEdges(node, x, y, low, high) {
  const kinds = new Set();
  for (const s of edges()) {
    const points = s.points.filter(([t]) => t >= plot.from && t <= plot.to);
    if (points.length < 2) continue;
    const line = (k) => edgeLine(points, k, x, y, low, high);
    kinds.add('sent');
    if (s.isAnswered) {
      kinds.add('acked').add(s.hasCredits ? 'credit' : 'window');
      node.append(svg('path', { class: `edge is-${s.hasCredits ? 'credit' : 'window'} at-request${s.dir}`, d: line(3) }));
    }
    node.append(svg('path', { class: `edge is-sent at-request${s.dir}`, d: line(1) }));
    if (s.isAnswered) node.append(svg('path', { class: 'edge is-acked', d: line(2) }));
  }
  for (const kind of ['sent', 'acked', 'credit', 'window']) byId('legend-' + kind).hidden = !kinds.has(kind);
}

// Where marks of a class are dense, a strip above the curve is the darker the more there are.
function drawStrips(node, x, dense) {
  let lane = 0;
  for (const [name, times] of dense) {
    const bins = new Map();
    for (const t of times) {
      const bin = Math.round(x(t) / 4);
      bins.set(bin, (bins.get(bin) || 0) + 1);
    }
    const most = Math.max(...bins.values());
    for (const [bin, count] of bins)
      node.append(svg('rect', { class: 'strip is-' + name, x: bin * 4 - 2, y: MARGIN.top + 4.5 * lane, width: 4, height: 3.5,
        'fill-opacity': (0.25 + 0.75 * count / most).toFixed(2) }));
    lane++;
  }
}

function drawPsn() {
  if (byId('psn-figure').hidden) return;
  const node = byId('psn');
  let low = Infinity, high = -Infinity;
  const dense = new Map();
  eachInSight((i) => {
    if (!(model.ahead[i] >= low)) low = Number.isNaN(model.ahead[i]) ? low : model.ahead[i];
    if (model.ahead[i] > high) high = model.ahead[i];
    const name = CLASSES[model.cls[i]];
    if (!IS_MARK[model.cls[i]]) return;
    if (!dense.has(name)) dense.set(name, []);
    dense.get(name).push(model.time[i]);
  });
  for (const [name, times] of dense) if (times.length < DENSE) dense.delete(name);
  if (low > high) [low, high] = [0, 1];
  high = Math.max(high, low + 1);
  const top = high + (high - low) * (0.04 + 0.05 * dense.size);
  const { x, y, bottom } = plotFrame(node, low, top, si);
  drawEdges(node, x, y, low, top);
  const paths = new Map(), seen = new Set();
  eachInSight((i) => {
    const name = CLASSES[model.cls[i]], value = model.ahead[i];
    if (Number.isNaN(value) && name !== 'cnp') return;
    const px = Math.round(x(model.time[i]) * 2) / 2;
    const py = Number.isNaN(value) ? bottom - 4 : Math.round(y(value) * 2) / 2;
    const side = name === 'request' ? name + model.dir[i] : name;
    const key = ((model.cls[i] * 2 + model.dir[i]) * 16384 + px * 2) * 16384 + py * 2;
    if (seen.has(key)) return;
    seen.add(key);
    if (!paths.has(side)) paths.set(side, []);
    paths.get(side).push([px, py]);
  });
  const order = ['response', 'request0', 'request1', ...CLASSES.slice(CLASS.cm)];
  for (const side of order) {
    const points = paths.get(side), name = side.replace(/\d/, '');
    if (!points) continue;
    const shape = SHAPES[!dense.has(name) && SHAPE_OF[name] || 'dot'];
    node.append(svg('path', { class: `points is-${name} at-${side}${dense.has(name) ? ' is-dense' : ''}`,
      d: points.map(([px, py]) => shape(px, py)).join('') }));
  }
  drawStrips(node, x, dense);
  cursor(node, x, bottom);
}

// --- operations: how long each took ---

// Each message whose answer is in the capture, as the analysis told of it (explain_html_operation()): from its first
// packet to the answer that completes it; `ns` is NaN where the capture does not tell how long that took, since records
// are out of order, or the clocks of the flow's directions differ (as explain_is_timed() has it). Messages that were only begun, and those of UC and UD, which are not answered, are
// not among them, nor those of which the page leaves packets out.
function operations() {
  return model.operationLines.map((line) => {
    const [flow, dir, message, bytes, packets, again, first, end, ns, ...name] = line.split(' ');
    return { flow: Number(flow), dir: Number(dir), message: Number(message), bytes: Number(bytes), packets: Number(packets),
      again: Number(again), first: model.indexOf.get(Number(first)), end: model.indexOf.get(Number(end)), ns: ns === '-' || flowOf.get(Number(flow))?.skew_ns ? NaN : Number(ns),
      name: name.join(' ') };
  }).filter((op) => op.first !== undefined && op.end !== undefined);
}

// The least that so great a part is at most, as explain_latency_quantile() has it.
const percentile = (sorted, part) => sorted[Math.max(1, Math.ceil(part * sorted.length)) - 1];

function drawLatency() {
  const node = byId('latency');
  if (byId('latency-figure').hidden) return;
  const inSight = model.operations.filter((op) => (!state.flow || op.flow === state.flow) &&
    model.time[op.first] >= plot.from && model.time[op.first] <= plot.to);
  const wanted = inSight.filter((op) => !Number.isNaN(op.ns));
  const sorted = wanted.map((op) => op.ns).sort((a, b) => a - b);
  const log = (ns) => Math.log10(Math.max(1, ns)); // a line each power of ten
  const low = Math.floor(log(sorted[0])), high = Math.max(low + 1, Math.ceil(log(sorted[sorted.length - 1])));
  const { x, y, bottom } = plotFrame(node, low, high, (v) => duration(10 ** v), Math.ceil((high - low) / 3));
  const seen = new Set(), d = ['', ''];
  for (const op of wanted) {
    const px = Math.round(x(model.time[op.first]) * 2) / 2, py = Math.round(y(log(op.ns)) * 2) / 2, key = `${op.dir} ${px} ${py}`;
    if (seen.has(key)) continue;
    seen.add(key);
    d[op.dir] += SHAPES.dot(px, py);
  }
  d.forEach((path, dir) => path && node.append(svg('path', { class: 'points at-request' + dir, d: path })));
  byId('latency-axis').textContent = sorted.length ? `of ${sorted.length.toLocaleString('en')} operation${sorted.length === 1 ? '' : 's'}: median ` +
    `${duration(percentile(sorted, 0.5))}, 90 % ${duration(percentile(sorted, 0.9))}, 99 % ${duration(percentile(sorted, 0.99))}, ` +
    `longest ${duration(sorted[sorted.length - 1])}` : inSight.length ? 'how long these took the capture does not tell' : 'none in sight was answered';
  cursor(node, x, bottom);
}

function drawRate() {
  const node = byId('rate'), bins = Math.max(20, Math.floor((node.clientWidth || 600) / 6));
  const span = (plot.to - plot.from) / bins, bits = [new Float64Array(bins), new Float64Array(bins)];
  const marks = new Map();
  eachInSight((i) => {
    const bin = Math.min(bins - 1, Math.floor((model.time[i] - plot.from) / span));
    bits[model.dir[i]][bin] += model.wire[i] * 8;
    const name = CLASSES[model.cls[i]];
    if (!IS_MARK[model.cls[i]]) return;
    if (!marks.has(name)) marks.set(name, new Set());
    marks.get(name).add(bin);
  });
  const scale = 1e9 / span;
  const top = Math.max(1, ...bits[0].map((v) => v * scale), ...bits[1].map((v) => v * scale));
  const { x, y, bottom } = plotFrame(node, 0, top * 1.25, si);
  byId('rate-axis').textContent = `bit/s, in steps of ${duration(span)}`;
  bits.forEach((values, dir) => {
    let d = `M${x(plot.from).toFixed(1)} ${bottom}`;
    values.forEach((v, b) => {
      d += `V${y(v * scale).toFixed(1)}H${x(plot.from + (b + 1) * span).toFixed(1)}`;
    });
    node.append(svg('path', { class: 'area at-request' + dir, d: d + `V${bottom}z` }));
  });
  let lane = 0;
  for (const name of MARKS) {
    if (!marks.has(name)) continue;
    const at = MARGIN.top + 1 + 3.5 * lane++;
    const d = [...marks.get(name)].map((b) => `M${x(plot.from + (b + 0.1) * span).toFixed(1)} ${at}h4.5`).join('');
    node.append(svg('path', { class: 'tick is-' + name, d }));
  }
  cursor(node, x, bottom);
}

function cursor(node, x, bottom) {
  if (state.chosen < 0) return;
  const t = model.time[state.chosen];
  if (t < plot.from || t > plot.to) return;
  node.append(svg('path', { class: 'cursor', d: `M${x(t).toFixed(1)} ${MARGIN.top}V${bottom}` }));
}

function drawPlots() {
  if (byId('plots').hidden) return;
  drawEnds();
  drawPsn();
  drawRate();
  drawLatency();
  drawFill();
}

function drawLegend() {
  const present = new Set();
  for (let i = 0; i < model.count; i++) present.add(CLASSES[model.cls[i]]);
  const items = LEGEND.filter(([name]) => present.has(name) && name !== 'request').map(([name, words]) =>
    make('span', {}, make('i', { className: 'swatch is-' + name }), words));
  const stroke = (name, word, words) => make('span', { id: 'legend-' + name }, make('i', { className: 'stroke is-' + name }), wordMark(word, words));
  const edges = byId('psn-figure').hidden ? [] : [stroke('sent', 'sent edge', 'sent edge'),
    stroke('acked', 'acknowledged edge', 'acknowledged edge'), stroke('credit', 'window', 'window: the receiver’s credits'),
    stroke('window', 'window', 'window: the most seen outstanding')];
  if (model.findings.some((f) => isEvent(findingKinds[f.kind].key)))
    items.push(make('span', {}, make('i', { className: 'swatch is-mark' }), 'SMC-R: moved, link gone'));
  byId('legend').replaceChildren(make('span', {}, make('i', { className: 'swatch at-request0' }), 'requests →'),
    make('span', {}, make('i', { className: 'swatch at-request1' }), 'requests ←'), ...items, ...edges);
}

// --- hands on a plot ---

function plotTime(node, clientX) {
  const box = node.getBoundingClientRect();
  const part = (clientX - box.left - MARGIN.left) / (box.width - MARGIN.left - MARGIN.right);
  return plot.from + Math.min(1, Math.max(0, part)) * (plot.to - plot.from);
}

function nearest(t) {
  let best = -1;
  eachInSight((i) => {
    if (best < 0 || Math.abs(model.time[i] - t) < Math.abs(model.time[best] - t)) best = i;
  });
  return best;
}

function plotHands(node) {
  let from = null, band = null;
  node.addEventListener('pointerdown', (event) => {
    from = event.clientX;
    node.setPointerCapture(event.pointerId);
    band = svg('rect', { class: 'band', y: MARGIN.top, height: node.clientHeight - MARGIN.top - MARGIN.bottom });
    node.append(band);
  });
  node.addEventListener('pointermove', (event) => {
    if (from === null) return;
    const left = node.getBoundingClientRect().left;
    band.setAttribute('x', Math.min(from, event.clientX) - left);
    band.setAttribute('width', Math.abs(event.clientX - from));
  });
  node.addEventListener('pointerup', (event) => {
    if (from === null) return;
    const start = from;
    from = null;
    band.remove();
    if (Math.abs(event.clientX - start) < 4) choose(nearest(plotTime(node, event.clientX)));
    else zoomTime(plotTime(node, Math.min(start, event.clientX)), plotTime(node, Math.max(start, event.clientX)));
  });
  node.addEventListener('pointercancel', () => { // the page is scrolled instead
    from = null;
    if (band) band.remove();
  });
  node.addEventListener('keydown', (event) => {
    const span = plot.to - plot.from, middle = plot.from + span / 2;
    const steps = { ArrowLeft: [-0.25, 1], ArrowRight: [0.25, 1], ArrowUp: [0, 0.5], ArrowDown: [0, 2] };
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const half = span * step[1] / 2, at = middle + span * step[0];
    zoomTime(at - half, at + half);
  });
}
