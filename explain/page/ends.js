// SPDX-License-Identifier: BSD-2-Clause
// Two captures joined: a lane for each end, and an arrow for each packet from when it left the one to when it came to the
// other. What was lost ends in a cross half-way; what one capture alone saw is dotted as far as nobody saw it.
'use strict';

const ENDS = ['A', 'B'];
const FEW = 80; // arrows have heads, and the numbers of their packets as far as there is room
const NUMBER_WIDTH = 6; // of a digit
const IS_GONE = { lost: true, damaged: true };

// From when to when, and how far of the way (0 to 1) from the end that it left; null: there is nothing to draw.
function wayOf(i, usual) {
  const e = model.ends[i];
  if (!e || e.fate === 'unrelated') return null;
  const left = e.at[e.from], came = e.at[1 - e.from], half = (Number.isNaN(usual[e.from]) ? 0 : usual[e.from]) / 2;
  if (!Number.isNaN(left) && !Number.isNaN(came)) return { from: [left, 0], to: [came, 1] };
  return Number.isNaN(left) ? { from: [came - half, 0.5], to: [came, 1] } : { from: [left, 0], to: [left + half, 0.5] };
}

// What a packet usually takes there and back: the median of those in sight that both captures have.
function usualDelays() {
  const delays = [[], []];
  eachInSight((i) => {
    const e = model.ends[i], ns = e ? e.at[1 - e.from] - e.at[e.from] : NaN;
    if (!Number.isNaN(ns)) delays[e.from].push(ns);
  });
  return delays.map((list) => list.sort((a, b) => a - b)[list.length >> 1] ?? NaN);
}

// The tip of an arrow from (x0, y0) to (x1, y1).
function tip(x0, y0, x1, y1) {
  const length = Math.hypot(x1 - x0, y1 - y0) || 1, ux = (x1 - x0) / length * 6, uy = (y1 - y0) / length * 6;
  const at = (side) => `${(x1 - ux - side * uy / 2).toFixed(1)} ${(y1 - uy + side * ux / 2).toFixed(1)}`;
  return `M${at(1)}L${x1.toFixed(1)} ${y1.toFixed(1)}L${at(-1)}`;
}

function drawEnds() {
  const node = byId('ways');
  if (!model.ends) return;
  const { x, y, right } = plotFrame(node, 0, 1.001, (v) => ENDS[1 - v] || '', 1);
  const usual = usualDelays(), paths = new Map(), seen = new Set();
  const free = [MARGIN.left - 20, MARGIN.left - 20]; // where the next number may begin, at either lane
  let count = 0;
  eachInSight(() => { count++; });
  eachInSight((i) => {
    const way = wayOf(i, usual);
    if (!way) return;
    const e = model.ends[i], high = (part) => y(e.from ? part : 1 - part);
    const [x0, y0, toX, toY] = [x(way.from[0]), high(way.from[1]), x(way.to[0]), high(way.to[1])];
    const x1 = Math.min(right, toX), y1 = toX > right ? y0 + (toY - y0) * (right - x0) / (toX - x0) : toY;
    if (x0 < MARGIN.left || x0 >= right) return; // only its end is in sight
    const name = CLASSES[model.cls[i]], isGone = IS_GONE[e.fate] === true;
    const kind = (name === 'request' ? `is-request at-request${model.dir[i]}` : 'is-' + name) +
      (Number.isNaN(e.at[0]) || Number.isNaN(e.at[1]) ? ' is-half' : '');
    const key = `${kind} ${Math.round(x0 * 2)} ${Math.round(x1 * 2)} ${e.from} ${isGone}`;
    if (seen.has(key)) return;
    seen.add(key);
    const put = (at, d) => paths.set(at, (paths.get(at) || '') + d);
    put(kind, `M${x0.toFixed(1)} ${y0.toFixed(1)}L${x1.toFixed(1)} ${y1.toFixed(1)}`);
    if (isGone) put('is-gone', SHAPES.cross(+(e.fate === 'lost' ? x1 : (x0 + x1) / 2).toFixed(1), +((y(0) + y(1)) / 2).toFixed(1)));
    else if (count <= FEW && way.to[1] === 1 && toX <= right) put(kind, tip(x0, y0, x1, y1));
    const number = String(model.number[i]), width = number.length * NUMBER_WIDTH;
    if (count > FEW || way.from[1] !== 0 || x0 - width < free[e.from]) return;
    free[e.from] = x0 + 2;
    node.append(svg('text', { class: 'way-number', x: (x0 - 1).toFixed(1), y: (e.from ? y(0) - 3 : y(1) + 8).toFixed(1), 'text-anchor': 'end' },
      number));
  });
  for (const [kind, d] of paths) node.append(svg('path', { class: 'way ' + kind, d }));
  const lost = [0, 1].map((from) => state.inPlots.reduce((n, i) => n + (model.ends[i] !== null && model.ends[i].from === from &&
    model.ends[i].fate === 'lost' ? 1 : 0), 0));
  byId('ways-axis').textContent = `A: ${baseOf(0)}, B: ${baseOf(1)}; by A's clock. ` + ['A to B', 'B to A'].map((way, k) =>
    `${way}: ${Number.isNaN(usual[k]) ? '' : `half in ${duration(usual[k])}, `}${lost[k]} lost`).join('; ');
  cursor(node, x, y(0));
}

const baseOf = (k) => (model.files[k] || '').split('/').pop();

// "left A at 0.000010 s, came to B at 0.000020 s, after 10 us" for the packet's own pane; null: one capture only.
function endsText(i) {
  const e = model.ends && model.ends[i];
  if (!e || e.fate === 'unrelated') return null;
  const left = e.at[e.from], came = e.at[1 - e.from], parts = [];
  if (!Number.isNaN(left)) parts.push(`left ${ENDS[e.from]} at ${seconds(left, 9)} s`);
  if (!Number.isNaN(came)) parts.push(`came to ${ENDS[1 - e.from]} at ${seconds(came, 9)} s`);
  if (parts.length === 2) parts.push(`after ${duration(came - left)}`);
  if (e.fate !== 'arrived') parts.push(`${e.fate.replace(/_/g, ' ')} (${e.sure})`);
  if (e.isOvertaken) parts.push('overtaken');
  return parts.join(', ');
}
