// SPDX-License-Identifier: BSD-2-Clause
// One packet: what it means, its bytes, its headers as the standards draw them, and every field with its rule.
'use strict';

function make(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(props || {})) {
    if (key === 'data') Object.assign(node.dataset, value);
    else if (key in node) node[key] = value;
    else node.setAttribute(key, value);
  }
  node.append(...children.filter((c) => c !== null && c !== undefined));
  return node;
}

// Leads to a packet; of one that is not in the page, its number alone.
const link = (number) => model.indexOf.has(number) ? make('a', { href: '#' + number, className: 'to' }, '#' + number) : '#' + number;
const SEVERITY = ['note', 'warning', 'violation'];

// Text in which each #NUMBER of a packet leads there.
function linked(text) {
  const nodes = [];
  let at = 0;
  for (const m of text.matchAll(/#(\d+)/g)) {
    if (!model.indexOf.has(Number(m[1]))) continue;
    nodes.push(text.slice(at, m.index), link(Number(m[1])));
    at = m.index + m[0].length;
  }
  nodes.push(text.slice(at));
  return nodes;
}

function seconds(ns, digits) { return (ns / 1e9).toFixed(digits === undefined ? 6 : digits); }

function drawDetail(pane, i) {
  pane.replaceChildren();
  pane.scrollTop = 0;
  if (i < 0) {
    pane.append(make('p', { className: 'hint' }, 'Choose a packet in the ladder, a plot or a finding: ' +
      'its headers are drawn here, byte by byte.'));
    return;
  }
  const ends = endsOf(i);
  const flow = model.flow[i] ? `flow ${model.flow[i]} · ` : '';
  const cut = model.captured[i] < model.wire[i] ? `, ${model.captured[i]} captured` : '';
  pane.append(
    make('h2', {}, `Packet ${model.number[i]} `, make('small', {}, `${seconds(model.time[i], 9)} s`)),
    make('p', { className: 'words cls-' + CLASSES[model.cls[i]] }, ...linked(packetWords(i))),
    make('p', { className: 'facts' }, `${flow}${ends ? ends.join(' → ') + ' · ' : ''}${model.wire[i]} bytes${cut}`),
    model.ends && endsText(i) ? make('p', { className: 'facts ends' }, endsText(i)) : '', ...answersLine(i), ...remarks(i));
  const layers = layoutOf(i).layers;
  if (model.kept[i]) pane.append(hexDump(i, layers));
  layers.forEach((layer, k) => pane.append(layerSection(i, layer, k)));
  pane.append(...tail(i));
}

function answersLine(i) {
  const nodes = [];
  const m = packetMessage(i);
  if (m && m.pieces > 1) {
    const of = m.bytes_total || m.bytes_done;
    nodes.push(make('div', { className: 'meter', title: `message ${m.number}: packet ${m.piece} of ${m.pieces}` },
      make('i', { style: `width:${of ? Math.min(100, 100 * m.bytes_done / of) : 0}%` }),
      make('span', {}, `message ${m.number} · packet ${m.piece} of ${m.pieces} · ${m.bytes_done} of ${of} bytes`)));
  }
  if (model.answers[i])
    nodes.push(make('p', { className: 'facts answers' }, isRepeat(i) ? 'repeats ' : 'answers ', link(model.answers[i])));
  return nodes;
}

// Whether the packet that it names was sent by the same end. Where the page does not have that one, or both ends are one
// host, the kind of packet tells.
function isRepeat(i) {
  const before = model.indexOf.get(model.answers[i]), now = endsOf(i), then = before === undefined ? null : endsOf(before);
  return now && then && now[0] !== now[1] ? now[0] === then[0] : model.kind[i] === KIND_ROCE && !isResponse(i);
}

function remarks(i) {
  return findingsOf(i).map((f) => {
    const kind = findingKinds[f.kind];
    return make('div', { className: 'remark sev-' + SEVERITY[kind.severity] },
      make('b', {}, kind.key.replace(/_/g, ' ')), ' ', ...linked(findingText(f)), ' ', ruleMark(f.rule),
      f.related ? make('span', {}, ' → ', link(f.related)) : null, ...why(f));
  });
}

// The cause in words; of one that cannot be told, what it may be.
const named = (cause, candidates) => candidates.length ? candidates.map((c) => causes[c].words).join(', or ')
  : causes[cause].words;

// The cause, how sure it is, what it rests on, and what may be done.
function why(f) {
  const w = findingWhy(f);
  if (!w) return [];
  const or = w.other ? `, or ${causes[w.other].words}` : '';
  const words = named(w.cause, w.candidates), isSaid = !w.sure && findingText(f).endsWith(`${words}: ${SURE[0]}`);
  const nodes = isSaid ? [] : [make('p', { className: 'why' }, make('i', { className: 'sure sure-' + w.sure }, SURE[w.sure]), ' ',
    words + or, w.behind ? make('span', {}, ' (', link(w.behind), ': ', causes[w.root].words, ')') : null)];
  if (w.way) nodes.push(make('p', { className: 'why' }, make('i', { className: 'sure sure-' + w.waySure },
    SURE[w.waySure]), ' ', named(w.way, w.wayCandidates)));
  const facts = w.evidence.map(({ number, what }) => make('li', {}, link(number), ' ', what));
  if (w.silence) facts.push(make('li', {}, `${duration(w.silence)} of silence` + (w.timeout ?
    `; this sender's timeout is ${duration(w.timeout)} (seen ${w.samples} time${w.samples === 1 ? '' : 's'})` : '')));
  if (facts.length) nodes.push(make('ul', { className: 'evidence' }, ...facts));
  return nodes;
}

// --- bytes ---

// Which layer and field the byte at `offset` belongs to: the innermost layer.
function ownerOf(layers, offset) {
  for (let k = layers.length - 1; k >= 0; k--) {
    const at = offset - layers[k].offset;
    if (at < 0 || at >= layers[k].header.bytes) continue;
    const f = layers[k].header.fields.findIndex((x) => x.bit < at * 8 + 8 && x.bit + x.width > at * 8);
    return { layer: k, field: f };
  }
  return { layer: -1, field: -1 };
}

const DUMP_BYTES = 512; // are shown at first

function hexDump(i, layers, all = false) {
  const dump = make('div', { className: 'dump', role: 'img', ariaLabel: 'bytes of the packet' });
  const bytes = bytesOf(i);
  const shown = all ? bytes.length : Math.min(bytes.length, DUMP_BYTES);
  for (let row = 0; row < shown; row += 16) {
    const line = make('div', {}, make('span', { className: 'offset' }, row.toString(16).padStart(4, '0')));
    for (let b = row; b < Math.min(row + 16, shown); b++) {
      const own = ownerOf(layers, b);
      const layer = layers[own.layer], field = layer && layer.header.fields[own.field];
      const bad = field && layer.header.fields.some((f) => offends(i, layer, f) &&
        f.bit < (b - layer.offset) * 8 + 8 && f.bit + f.width > (b - layer.offset) * 8);
      line.append(make('span', {
        className: (layer ? 'byte tint' + own.layer % 6 : 'byte') + (bad ? ' bad' : ''),
        title: field ? `${layer.key}.${field.name}, byte ${b}` : `data, byte ${b}`,
        data: { at: own.layer + '.' + own.field },
      }, hex2(bytes[b])));
    }
    dump.append(line);
  }
  if (shown < bytes.length)
    dump.append(make('button', { className: 'more', onclick: () => dump.replaceWith(hexDump(i, layers, true)) },
      `all ${bytes.length} bytes`));
  else if (bytes.length < model.wire[i])
    dump.append(make('div', { className: 'more' },
      `the page keeps the first ${bytes.length} of ${model.wire[i]} bytes`));
  return dump;
}

// What lies under the pointer lights up in the bytes, the box and the table.
function light(event) {
  const pane = byId('detail');
  for (const node of pane.querySelectorAll('.lit')) node.classList.remove('lit');
  const target = event.type === 'mouseover' || event.type === 'focusin' ? event.target.closest('[data-at]') : null;
  if (target)
    for (const node of pane.querySelectorAll(`[data-at="${target.dataset.at}"]`)) node.classList.add('lit');
}

// --- headers ---

const BOX_BYTES_MAX = 64;
const CLOSED = new Set(['eth', 'vlan', 'ip', 'ip6', 'udp']);
const opened = new Map(); // what the reader opened or closed, by layer key

function layerSection(i, layer, k) {
  const bad = layer.header.fields.some((f) => offends(i, layer, f));
  const open = bad || (opened.has(layer.key) ? opened.get(layer.key) : !CLOSED.has(layer.key));
  const section = make('details', { className: 'layer', open, data: { key: layer.key } },
    make('summary', {}, make('b', { className: 'tint' + k % 6 }, termMark(layer.key, layer.key)), ' ' + layer.header.words,
      make('small', {}, `${layer.header.bytes} bytes at ${layer.offset}`), bad ? make('em', {}, 'bad') : null));
  section.addEventListener('toggle', () => opened.set(layer.key, section.open));
  if (layer.header.bytes <= BOX_BYTES_MAX) section.append(box(i, layer, k));
  section.append(fieldTable(i, layer, k));
  return section;
}

// The header in rows of 32 bits.
function box(i, layer, k) {
  const bits = layer.header.bytes * 8, across = Math.min(bits, 32);
  const grid = make('div', { className: 'box', ariaHidden: 'true' });
  for (let bit = 0; bit < across; bit++)
    grid.append(make('span', { className: 'bit' }, bit % 8 === 0 || bit === across - 1 ? String(bit) : ''));
  layer.header.fields.forEach((field, f) => {
    for (let bit = field.bit; bit < field.bit + field.width;) {
      const end = Math.min(field.bit + field.width, (bit >> 5) * 32 + 32);
      grid.append(cell(i, layer, field, `${k}.${f}`, bit, end - bit));
      bit = end;
    }
  });
  return grid;
}

function cell(i, layer, field, at, bit, width) {
  const first = bit === field.bit, last = bit + width === field.bit + field.width;
  const narrow = width < 5 && field.name.length * 6.8 > width * 13;
  const fitting = (t) => t.length * 6.7 <= width * 13 + 2;
  const full = fieldText(i, layer, field).replace(/ \(0x[0-9a-f]+\)$/, '');
  const text = fitting(full) ? full : bareText(i, layer, field);
  const node = make('div', {
    className: 'cell' + (narrow ? ' narrow' : '') + (first ? '' : ' joined') + (last ? '' : ' open') +
      (offends(i, layer, field) ? ' bad' : '') + (/^resv/.test(field.name) ? ' resv' : ''),
    title: `${field.name}: ${fieldText(i, layer, field)}`,
    style: `grid-column:${bit % 32 + 1}/span ${width};grid-row:${(bit >> 5) + 2}`,
    data: { at },
  });
  if (first) {
    node.append(make('i', {}, field.name), make('b', {}, fitting(text) || field.isBytes ? text : '…'));
  }
  return node;
}

function fieldTable(i, layer, k) {
  const body = make('tbody', {});
  layer.header.fields.forEach((field, f) => {
    const bad = offends(i, layer, field);
    body.append(make('tr', { className: bad ? 'bad' : '', data: { at: `${k}.${f}`, field: field.name } },
      make('th', { scope: 'row' }, termMark(`${layer.key}.${field.name}`, field.name)), make('td', {}, fieldText(i, layer, field)),
      make('td', {}, ruleMark(field.rule), bad ? make('em', {}, ' here') : null)));
  });
  return make('table', { className: 'fields' }, body);
}

// The data and the ICRC, which no table describes.
function tail(i) {
  const nodes = [], icrc = packetIcrc(i);
  const verdict = tables.verdicts[model.verdict[i]];
  if (model.data[i])
    nodes.push(make('p', { className: 'facts' }, `data: ${model.data[i]} bytes at ${layoutOf(i).data}`));
  if (icrc)
    nodes.push(make('p', { className: 'icrc' + (icrc.ok ? '' : ' bad') }, 'ICRC ',
      make('code', {}, icrc.found), icrc.ok ? ', good' : ' found, ', icrc.ok ? null : make('code', {}, icrc.expected),
      icrc.ok ? null : ' expected ', ' ', ruleMark('ROCE-ICRC-7')));
  if (model.kind[i] && model.kind[i] < 3 && model.verdict[i] && verdict !== 'rx_taken')
    nodes.push(make('p', { className: 'icrc bad' }, 'verdict ', make('code', {}, verdict)));
  return nodes;
}
