// SPDX-License-Identifier: BSD-2-Clause
// The ladder: a row a packet, of which only those in sight are in the document.
'use strict';

const HEIGHTS = [7, 14, 30, 50]; // of a row: arrows only, small, with words, with findings
const OVERSCAN = 8;
const GAP_PARTS = 40; // a silence this many times the usual one has a row of its own
const GAP_LEAST = 1000000; // ns
const LANES_MAX = 8;
const LABEL_PX = 6.7, LABEL_ENDS_PX = 12, ARROW_PX = 20; // of a label: a letter, both ends; what is to be seen of its arrow
const HEAD_PX = 6.7, HEAD_PART = 0.96; // of the name above a lane: a letter; what it may take of the way to the next one
// A row is a packet's index; below zero -1 - i: the silence before packet i.
const ladder = { rows: new Int32Array(0), zoom: 2, pool: new Map(), lanes: [], mode: 'auto', isDelta: false, laneWidth: 0 };

const flowColour = (flow) => `hsl(${(flow * 137.5) % 360} 55% 50%)`;
const packetOf = (row) => row < 0 ? -1 - row : row;

// --- lanes: one for each end ---

function qpName(address, qpn) { return qpn ? `${address} qp ${qpn.toString(16).padStart(6, '0')}` : address; }

// Names of the two ends of a packet, as the lanes are: by host, or by queue pair; null: it has none.
function laneNames(i, byQp) {
  const flow = flowOf.get(model.flow[i]), d = model.dir[i];
  if (flow) {
    return byQp ? [qpName(flow.addr[d], flow.qpn[d]), qpName(flow.addr[1 - d], flow.qpn[1 - d])] :
      [flow.addr[d], flow.addr[1 - d]];
  }
  return endsOf(i);
}

function lanesOf(rows, byQp) {
  const lanes = new Map();
  let known = -1;
  for (const i of rows) {
    const way = model.flow[i] * 2 + model.dir[i];
    if (way > 1 && way === known) continue;
    known = way;
    const names = laneNames(i, byQp);
    if (!names) continue;
    for (const name of model.dir[i] ? [names[1], names[0]] : names)
      if (!lanes.has(name) && lanes.size < LANES_MAX) {
        lanes.set(name, lanes.size);
        sideOf(name);
      }
    if (lanes.size === LANES_MAX) break;
  }
  return [...lanes.keys()].sort((a, b) => sideOf(a) - sideOf(b));
}

// Queue pairs of one host stand side by side.
function sideOf(name) {
  const host = name.split(' ')[0];
  if (!sideOf.hosts.has(host)) sideOf.hosts.set(host, sideOf.hosts.size);
  return sideOf.hosts.get(host);
}
sideOf.hosts = new Map();

// auto: a lane a host; where there are only two hosts the two sides of whatever is shown.
function chooseLanes(packets) {
  const hosts = lanesOf(packets, false);
  const byQp = ladder.mode === 'qps';
  ladder.byQp = byQp || (ladder.mode === 'auto' && state.flow > 0);
  ladder.lanes = byQp || ladder.byQp ? lanesOf(packets, true) : hosts;
  ladder.laneOf = new Map(ladder.lanes.map((name, k) => [name, k]));
}

// Where a lane stands, in percent of the column; more than two keep room for their names at both sides.
function lanePart(k) {
  const n = ladder.lanes.length, side = n > 2 ? 50 / n : 0;
  return n > 1 ? side + (100 - 2 * side) * k / (n - 1) : 0;
}


// Where a packet's arrow begins and ends, in percent; those of no lane go across.
function arrowSpan(i) {
  const names = laneNames(i, ladder.byQp);
  const from = names && ladder.laneOf.get(names[0]), to = names && ladder.laneOf.get(names[1]);
  if (from === undefined || to === undefined || from === null || from === to) return model.dir[i] ? [lanePart(ladder.lanes.length - 1) || 100, lanePart(0)] : [lanePart(0), lanePart(ladder.lanes.length - 1) || 100];
  return [lanePart(from), lanePart(to)];
}

// What all addresses begin with, up to a separator: of many, in narrow lanes, the rest is what tells them apart.
function commonPart(hosts) {
  const first = hosts[0];
  let n = hosts.length > 1 ? first.length : 0;
  for (const host of hosts) while (!host.startsWith(first.slice(0, n))) n--;
  while (n && !'.:'.includes(first[n])) n--;
  return n;
}

function ladderEnds() {
  const many = ladder.lanes.length > 2;
  const hosts = [...new Set(ladder.lanes.map((name) => name.split(' ')[0]))];
  const room = byId('end-lanes').clientWidth * HEAD_PART / ladder.lanes.length / HEAD_PX; // in letters
  const common = many && hosts.some((host) => host.length > room) ? commonPart(hosts) : 0;
  byId('ends').classList.toggle('many', many);
  byId('centre').classList.toggle('many-lanes', ladder.lanes.length > 4);
  byId('end-lanes').replaceChildren(...ladder.lanes.map((name, k) => {
    const [host, ...qp] = name.split(' ');
    const label = common ? '\u2026' + host.slice(common) : host;
    if (many && qp.length) qp[1] = qp[1].replace(/^0+(?=.)/, ''); // the whole number is in the title
    return make('b', { title: name, style: many ? `left:${lanePart(k)}%;max-width:${100 * HEAD_PART / ladder.lanes.length}%` : '' },
    label, qp.length ? make(many ? 'small' : 'span', {}, ' ' + qp.join(' ')) : null);
  }));
}

// --- rows ---

// The packets with a row for each long silence between them.
function withGaps(packets) {
  const steps = [];
  for (let k = 1; k < packets.length; k += Math.ceil(packets.length / 2000)) {
    const step = model.time[packets[k]] - model.time[packets[k - 1]];
    if (step > 0) steps.push(step);
  }
  steps.sort((a, b) => a - b);
  const limit = Math.max(GAP_LEAST, GAP_PARTS * (steps[steps.length >> 1] || 0));
  const rows = new Int32Array(packets.length * 2);
  let n = 0;
  packets.forEach((i, k) => {
    if (k && model.time[i] - model.time[packets[k - 1]] > limit) rows[n++] = -1 - i;
    rows[n++] = i;
  });
  return rows.slice(0, n);
}

function ladderShow(packets) {
  ladder.packets = packets;
  ladder.rows = withGaps(packets);
  const list = byId('rows');
  ladder.pool.clear();
  list.replaceChildren();
  list.style.height = ladder.rows.length * HEIGHTS[ladder.zoom] + 'px';
  chooseLanes(packets);
  ladderEnds();
  ladder.laneWidth = byId('end-lanes').clientWidth;
  ladderDraw();
}

// Labels stand where the lanes have room for them.
function ladderResize() {
  if (byId('end-lanes').clientWidth === ladder.laneWidth) ladderDraw();
  else ladderShow(ladder.packets);
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
  for (let row = to - 1; row >= from; row--) { // a screen reader reads them in the order of the document
    if (ladder.pool.has(row)) continue;
    const node = ladder.rows[row] < 0 ? gapRow(row, height) : ladderRow(row, height);
    list.insertBefore(node, ladder.pool.get(row + 1) || null);
    ladder.pool.set(row, node);
  }
  list.dataset.first = ladder.rows.length ?
    model.number[packetOf(ladder.rows[Math.min(from, ladder.rows.length - 1)])] : '';
}

function gapRow(row, height) {
  const i = packetOf(ladder.rows[row]), before = packetOf(ladder.rows[row - 1]);
  return make('div', { className: 'gap', role: 'presentation', style: `top:${row * height}px;height:${height}px` },
    make('span', {}, ladder.zoom ? `${duration(model.time[i] - model.time[before])} without a packet` : ''));
}

// Seconds since the beginning, or since the row above.
function timeText(row) {
  const i = ladder.rows[row];
  if (!ladder.isDelta) return seconds(model.time[i]);
  let above = row - 1;
  while (above >= 0 && ladder.rows[above] < 0) above--;
  return above < 0 ? '0' : '+' + duration(model.time[i] - model.time[ladder.rows[above]]);
}

// What the first FPDU of a packet is, and how many begin in it.
function iwarpLabel(i, layers) {
  if (layers.some((l) => l.key === 'mpa_frame')) return 'MPA';
  const fpdus = layers.filter((l) => l.key === 'mpa').length, ddp = layers.find((l) => l.key === 'ddp');
  if (!ddp) return '';
  const field = ddp.header.byName.get('opcode'), name = wordFor(field, fieldValue(i, ddp, field)) || 'iWARP';
  return fpdus > 1 ? `${name} +${fpdus - 1}` : name;
}

const LABELS = [['pfc', 'PFC'], ['pause', 'PAUSE'], ['mac_control', 'MAC control'], ['lldp_tlv', 'LLDP'], ['clc', 'CLC']];

function shortLabel(i) {
  const layers = layoutOf(i).layers;
  const inner = layers.find((l) => /^(cm|clc2?|llc2?)_|^cdc$/.test(l.key));
  if (inner) return inner.key.replace(/^cm_/, '').replace(/^(clc|llc)2/, '$1').toUpperCase().replace(/_/g, ' ');
  const iwarp = iwarpLabel(i, layers);
  if (iwarp) return iwarp;
  if (model.opcode[i] < 0) return (LABELS.find(([key]) => layers.some((l) => l.key === key)) || ['', 'TCP'])[1];
  const name = opcodeName(i).replace(/^RC /, '');
  const data = model.data[i] && !/ACK/.test(name) ? ` ${model.data[i]} B` : '';
  if (CLASSES[model.cls[i]] === 'cnp' || ladder.lanes.length > 4) return responseName(i, name); // there is no room for more
  return `${responseName(i, name)} psn ${model.psn[i].toString(16)}${data}`;
}

// An acknowledgement says more by its syndrome than by its opcode.
function responseName(i, name) {
  const layer = name === 'ACK' && layoutOf(i).layers.find((l) => l.key === 'aeth');
  const field = layer && layer.header.byName.get('syndrome');
  return (field && wordFor(field, fieldValue(i, layer, field))) || name;
}

// On its arrow; between lanes so near that it would hide the arrow, beside it, where there is more room.
function arrowLabel(text, left, right) {
  if (ladder.lanes.length <= 2) return make('span', { className: 'label' }, text);
  const needs = text.length * LABEL_PX + LABEL_ENDS_PX + ARROW_PX, room = Math.max(left, 100 - right);
  if ((right - left) / 100 * ladder.laneWidth >= needs || room < right - left)
    return make('span', { className: 'label', style: `left:${Math.min(82, Math.max(18, (left + right) / 2))}%` }, text);
  return make('span', { className: 'label is-beside', title: text, style: `max-width:calc(${room}% - 4px);` +
    (100 - right >= left ? `left:calc(${right}% + 4px)` : `right:calc(${100 - left}% + 4px)`) }, text);
}

// The row's id: the packet's number; of packets that one frame holds only the first has it alone.
function rowId(i) {
  let before = 0;
  while (before < i && model.number[i - before - 1] === model.number[i]) before++;
  return 'p' + model.number[i] + (before ? '-' + (before + 1) : '');
}

function ladderRow(row, height) {
  const i = ladder.rows[row], number = model.number[i];
  const classes = ['row', 'cls-' + CLASSES[model.cls[i]], model.dir[i] ? 'left' : 'right'];
  if (i === state.chosen) classes.push('chosen');
  if (model.worst[i] > 0) classes.push('sev-' + SEVERITY[model.worst[i]]);
  const node = make('div', {
    id: rowId(i), className: classes.join(' '), role: 'option', ariaSelected: String(i === state.chosen),
    ariaSetSize: String(ladder.packets.length), ariaPosInSet: String(ladder.packets.indexOf(i) + 1),
    style: `top:${row * height}px;height:${height}px`, data: { i },
  });
  const [from, to] = arrowSpan(i), left = Math.min(from, to), right = Math.max(from, to);
  const isGone = model.ends !== null && model.ends[i] !== null && IS_GONE[model.ends[i].fate] === true;
  const lane = make('span', { className: 'c-lane' }, ...(ladder.lanes.length > 2 ? ladder.lanes : []).map((name, k) =>
    make('i', { className: 'life', style: `left:${lanePart(k)}%` })),
  ...(laneNames(i, ladder.byQp) ? [make('i', { className: `arrow ${from < to ? 'to-right' : 'to-left'}${isGone ? ' is-gone' : ''}`,
    style: `left:${left}%;right:${100 - right}%` })] : [])); // a neighbour's frame goes to none of the ends
  node.append(make('span', { className: 'c-n' }, String(number)), make('span', { className: 'c-time' }, timeText(row)), lane);
  if (ladder.zoom === 0) return node;
  if (model.kind[i]) lane.append(arrowLabel(shortLabel(i), left, right));
  const text = packetWords(i);
  const cell = make('span', { className: 'c-words', title: text });
  if (flowOf.size > 1 && model.flow[i])
    cell.append(make('i', { className: 'dot', title: 'flow ' + model.flow[i], style: `background:${flowColour(model.flow[i])}` }));
  cell.append(text || 'no RoCE packet');
  const found = ladder.zoom === 3 ? findingsOf(i) : [];
  if (found.length) cell.append(make('small', {}, found.map((f) =>
    `${findingKinds[f.kind].key.replace(/_/g, ' ')}: ${findingText(f)}${f.rule ? ' (' + f.rule + ')' : ''}`).join(' · ')));
  node.append(cell);
  return node;
}

// The row of a packet, or of the next one that is shown; the silence before it is not its row.
function ladderRowOf(i) {
  let from = 0, to = ladder.rows.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (packetOf(ladder.rows[middle]) < i || ladder.rows[middle] === -1 - i) from = middle + 1;
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
    const i = Number(node.dataset.i || -1);
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
  ladderShow(ladder.packets);
  pane.scrollTop = middle * HEIGHTS[zoom] - pane.clientHeight / 2;
  ladderDraw();
}
