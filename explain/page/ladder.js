// SPDX-License-Identifier: BSD-2-Clause
// The ladder: a row a packet, of which only those in sight are in the document.
'use strict';

const HEIGHTS = [7, 14, 22, 40]; // of a row: arrows only, small, with words, with findings
const OVERSCAN = 8;
const ladder = { rows: new Int32Array(0), zoom: 2, pool: new Map() };

const flowColour = (flow) => `hsl(${(flow * 137.5) % 360} 55% 50%)`;

function ladderShow(rows) {
  ladder.rows = rows;
  const list = byId('rows');
  ladder.pool.clear();
  list.replaceChildren();
  list.style.height = rows.length * HEIGHTS[ladder.zoom] + 'px';
  ladderEnds();
  ladderDraw();
}

// Names of the two ends, where they are the same for all rows.
function ladderEnds() {
  let a = 'the end that spoke first', b = 'the other end';
  const flow = flowOf.get(state.flow || (flowOf.size === 1 ? tables.flows[0].flow : 0));
  const qp = (n) => n ? ` qp ${n.toString(16).padStart(6, '0')}` : '';
  if (flow) {
    a = flow.addr[0] + qp(flow.qpn[0]);
    b = flow.addr[1] + qp(flow.qpn[1]);
  }
  byId('end-a').textContent = a;
  byId('end-b').textContent = b;
}

function ladderDraw() {
  const pane = byId('ladder'), list = byId('rows'), height = HEIGHTS[ladder.zoom];
  const from = Math.max(0, Math.floor(pane.scrollTop / height) - OVERSCAN);
  const to = Math.min(ladder.rows.length, Math.ceil((pane.scrollTop + pane.clientHeight) / height) + OVERSCAN);
  for (const [row, node] of ladder.pool)
    if (row < from || row >= to) {
      node.remove();
      ladder.pool.delete(row);
    }
  for (let row = from; row < to; row++) {
    if (ladder.pool.has(row)) continue;
    const node = ladderRow(row, height);
    ladder.pool.set(row, node);
    list.append(node);
  }
  list.dataset.first = ladder.rows.length ? model.number[ladder.rows[Math.min(from, ladder.rows.length - 1)]] : '';
}

function shortLabel(i) {
  const layers = layoutOf(i).layers;
  const inner = layers.find((l) => /^(cm|clc2?|llc2?)_|^cdc$/.test(l.key));
  if (inner) return inner.key.replace(/^cm_/, '').replace(/^(clc|llc)2/, '$1').toUpperCase().replace(/_/g, ' ');
  if (model.opcode[i] < 0) return layers.some((l) => l.key === 'clc') ? 'CLC' : 'TCP';
  const name = opcodeName(i).replace(/^RC /, '');
  const data = model.data[i] && !/ACK/.test(name) ? ` ${model.data[i]} B` : '';
  return CLASSES[model.cls[i]] === 'cnp' ? name : `${responseName(i, name)} psn ${model.psn[i].toString(16)}${data}`;
}

// An acknowledgement says more by its syndrome than by its opcode.
function responseName(i, name) {
  const layer = name === 'ACK' && layoutOf(i).layers.find((l) => l.key === 'aeth');
  const field = layer && layer.header.byName.get('syndrome');
  return (field && wordFor(field, fieldValue(i, layer, field))) || name;
}

function ladderRow(row, height) {
  const i = ladder.rows[row], number = model.number[i];
  const classes = ['row', 'cls-' + CLASSES[model.cls[i]], model.dir[i] ? 'left' : 'right'];
  if (i === state.chosen) classes.push('chosen');
  if (model.worst[i] > 0) classes.push('sev-' + SEVERITY[model.worst[i]]);
  const node = make('div', {
    id: 'p' + number, className: classes.join(' '), role: 'option', ariaSelected: String(i === state.chosen),
    ariaSetSize: String(ladder.rows.length), ariaPosInSet: String(row + 1),
    style: `top:${row * height}px;height:${height}px`, data: { i },
  });
  const lane = make('span', { className: 'c-lane' }, make('i', { className: 'arrow' }));
  node.append(make('span', { className: 'c-n' }, String(number)),
    make('span', { className: 'c-time' }, seconds(model.time[i])), lane);
  if (ladder.zoom === 0) return node;
  if (model.kind[i]) lane.append(make('span', { className: 'label' }, shortLabel(i)));
  const text = packetWords(i);
  const cell = make('span', { className: 'c-words', title: text });
  if (flowOf.size > 1)
    cell.append(make('i', { className: 'dot', title: 'flow ' + model.flow[i],
      style: model.flow[i] ? `background:${flowColour(model.flow[i])}` : 'visibility:hidden' }));
  cell.append(text || 'no RoCE packet');
  const found = ladder.zoom === 3 && model.findingsAt.get(number);
  if (found) cell.append(make('small', {}, found.map((f) =>
    `${findingKinds[f.kind].key.replace(/_/g, ' ')}: ${findingText(f)}${f.rule ? ' (' + f.rule + ')' : ''}`).join(' · ')));
  node.append(cell);
  return node;
}

// The row of a packet, or of the next one that is shown.
function ladderRowOf(i) {
  let from = 0, to = ladder.rows.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (ladder.rows[middle] < i) from = middle + 1;
    else to = middle;
  }
  return from;
}

function ladderReveal(i) {
  const pane = byId('ladder'), height = HEIGHTS[ladder.zoom], top = ladderRowOf(i) * height;
  if (top < pane.scrollTop || top + height > pane.scrollTop + pane.clientHeight)
    pane.scrollTop = Math.max(0, top - pane.clientHeight / 2);
  ladderDraw();
}

function ladderMark(before, now) {
  for (const node of ladder.pool.values()) {
    const i = Number(node.dataset.i);
    if (i !== before && i !== now) continue;
    node.classList.toggle('chosen', i === now);
    node.ariaSelected = String(i === now);
  }
}

function ladderZoom(by) {
  const zoom = Math.min(HEIGHTS.length - 1, Math.max(0, ladder.zoom + by));
  if (zoom === ladder.zoom) return;
  const pane = byId('ladder');
  const middle = (pane.scrollTop + pane.clientHeight / 2) / HEIGHTS[ladder.zoom];
  ladder.zoom = zoom;
  pane.dataset.zoom = zoom;
  ladderShow(ladder.rows);
  pane.scrollTop = middle * HEIGHTS[zoom] - pane.clientHeight / 2;
  ladderDraw();
}
