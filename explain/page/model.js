// SPDX-License-Identifier: BSD-2-Clause
// The packets: reads the lines that explain/page/html.c wrote, and the fields out of the bytes by the tables.
'use strict';

const byId = (id) => document.getElementById(id);
// The captures that the page holds: one, or those of the lessons (tours.js); the address says which is shown.
const datasets = [...document.querySelectorAll('script.packets')];
const tourWanted = () => new URLSearchParams(location.hash.slice(1)).get('tour') || '';
const toursOf = (set) => set.dataset.tour.split(' ').filter(Boolean);
const dataset = datasets.find((set) => toursOf(set).includes(tourWanted())) || datasets[0];
const tables = JSON.parse(dataset.nextElementSibling.textContent);

const KIND_ROCE = 1; // enum explain_kind
const FORM = { DECIMAL: 0, HEX: 1, MAC: 2, IPV4: 3, ADDR: 4, BYTES: 5, TEXT: 6 }; // enum explain_form

for (const key in tables.headers) {
  const header = tables.headers[key];
  header.key = key;
  header.fields = header.fields.map(([name, bit, width, form, rule, names]) =>
    ({ name, bit, width, form, rule, names, isBytes: form >= FORM.MAC }));
  header.byName = new Map(header.fields.map((f) => [f.name, f]));
}
const findingKinds = tables.findings.map(([key, severity, words, advice]) => ({ key, severity, words, advice }));
const causes = tables.causes.map(([key, words, advice]) => ({ key, words, advice }));
const SURE = ['cannot be told', 'most likely', 'shown'];
const kindOf = new Map(findingKinds.map((k, i) => [k.key, i]));
const flowOf = new Map(tables.flows.map((f) => [f.flow, f]));

// What a packet is, for colours and marks; a later one in the list goes before an earlier one.
const CLASSES = ['other', 'request', 'response', 'cm', 'mark', 'duplicate', 'retransmission', 'cnp', 'rnr',
  'refused', 'nak', 'bad'];
const CLASS = Object.fromEntries(CLASSES.map((name, i) => [name, i]));
const CLASS_OF_FINDING = {
  retransmission: 'retransmission', timeout: 'retransmission', read_replay: 'retransmission',
  cm_retry: 'retransmission', duplicate: 'duplicate', reordered: 'duplicate', ghost_ack: 'duplicate',
  nak_sequence: 'nak', nak_fatal: 'bad', rnr: 'rnr', cnp: 'cnp', ecn_mark: 'mark', icrc: 'bad',
  malformed: 'bad', violation: 'bad', cm_reject: 'refused', smc_decline: 'refused', smc_handshake: 'bad', smc_link: 'bad',
  smc_refused: 'refused', smc_unasked: 'bad', smc_token: 'bad', smc_sequence: 'bad', smc_cursor: 'bad', smc_write: 'bad',
  smc_after_close: 'bad', smc_lost: 'bad', smc_abort: 'refused',
};

function unescape(text) {
  const letters = { l: '<', n: '\n', t: '\t', r: '\r', '\\': '\\' };
  return text.includes('\\') ? text.replace(/\\([\\lntr])/g, (all, c) => letters[c]) : text;
}

// The columns of all packets; strings are made only for what is shown.
const model = {
  count: 0, files: [], layouts: [], frames: [], findings: [], findingsAt: new Map(), smc: [],
  lines: [], rest: [], // the line of a packet, and where ICRC begins in it
};

function column(type) { return new type(model.capacity); }

function readLines() {
  const lines = dataset.textContent.split('\n');
  dataset.textContent = ''; // it is here now
  model.capacity = lines.length;
  Object.assign(model, {
    number: column(Float64Array), time: column(Float64Array), wire: column(Uint32Array),
    captured: column(Uint32Array), kind: column(Uint8Array), verdict: column(Uint8Array),
    flow: column(Uint32Array), dir: column(Uint8Array), answers: column(Float64Array),
    message: column(Float64Array), bytesOfMessage: column(Float64Array), piece: column(Uint32Array), isLastPiece: column(Uint8Array), layout: column(Int32Array), data: column(Uint32Array),
    psn: column(Int32Array), opcode: column(Int16Array), cls: column(Uint8Array),
    start: column(Uint32Array), kept: column(Uint16Array), conn: column(Uint32Array), worst: column(Int8Array).fill(-1),
  });
  let bytes = 0;
  for (const line of lines) bytes += line.length;
  model.bytes = new Uint8Array(bytes);
  const at = { number: 1, time: 0, byte: 0 };
  for (const line of lines) readLine(line, at);
  model.indexOf = new Map();
  for (let i = 0; i < model.count; i++) model.indexOf.set(model.number[i], i);
}

function readLine(line, at) {
  if (line === '') return;
  if (line[0] === '=') {
    const text = line.slice(3);
    if (line[1] === 'f') model.files.push(unescape(text));
    else if (line[1] === 'l') model.layouts.push(readLayout(text));
    else if (line[1] === 'w') model.frames.push(text.split('\\#').map(unescape));
    else at.number = Number(text);
  } else if (line[0] === '~') {
    readSmc(line);
  } else if (line[0] === '!') {
    readFinding(line);
  } else {
    readPacket(line, at);
  }
}

function readLayout(text) {
  const [keys, data] = text.split(';');
  const layers = keys.trim().split(' ').filter(Boolean).map((word) => {
    const [key, offset] = word.split(':');
    return { key, offset: Number(offset), header: tables.headers[key] };
  });
  const bth = layers.find((l) => l.key === 'bth');
  return { layers, data: Number(data), bth: bth ? bth.offset : -1 };
}

// What the packet read last is to a connection of SMC-R.
function readSmc(line) {
  const [conn, side, kind, from, to] = line.slice(1).split(' ');
  const i = model.count - 1;
  model.conn[i] = Number(conn);
  if (kind !== '-') model.smc.push({ i, conn: Number(conn), side: Number(side), kind, from: Number(from), to: Number(to) });
}

// The words that begin at position `at` of the blanks-separated list.
function words(list, at) {
  if (list[at] === '*') return unescape(list.slice(at + 1).join(' '));
  const frame = model.frames[Number(list[at])];
  let text = frame[0];
  for (let i = 1; i < frame.length; i++) text += list[at + i] + frame[i];
  return text;
}

function readFinding(line) {
  const list = line.slice(1).split(' ');
  const number = Number(list[0]), kind = Number(list[1]);
  const finding = { number, kind, related: Number(list[2]), rule: list[3] === '-' ? '' : list[3], list };
  model.findings.push(finding);
  if (!model.findingsAt.has(number)) model.findingsAt.set(number, []);
  model.findingsAt.get(number).push(finding);
}

function findingText(finding) { return words(finding.list, 5); }

// Why, as struct explain_why has it; null: findings of this kind have no cause.
function findingWhy(finding) {
  if (finding.list[4] === '-') return null;
  const [head, ...proofs] = finding.list[4].split(',');
  const [cause, sure, other, behind, root, way, waySure, silence, timeout, samples, ...maybe] =
    head.split(':').map(Number);
  const evidence = proofs.map((p) => p.split(':').map(Number)).map(([number, what]) =>
    ({ number, what: model.frames[what].join('#') }));
  return { cause, sure, other, behind, root, way, waySure, silence, timeout, samples, evidence,
    candidates: maybe.filter((c, i) => c && i % 2 === 0), wayCandidates: maybe.filter((c, i) => c && i % 2) };
}
const causeOf = (finding) => finding.list[4] === '-' ? 0 : parseInt(finding.list[4], 10);

function readPacket(line, at) {
  const list = line.split(' ');
  const i = model.count++;
  at.time += Number(list[0]);
  model.number[i] = at.number++;
  model.time[i] = at.time;
  model.wire[i] = Number(list[1]);
  model.captured[i] = Number(list[2]);
  model.kind[i] = Number(list[3]);
  model.verdict[i] = parseInt(list[4], 10);
  model.flow[i] = Number(list[5]);
  model.dir[i] = Number(list[6]);
  if (list[7] !== '-') {
    const [number, piece, pieces, done, total] = list[7].split(':');
    model.message[i] = Number(number);
    model.piece[i] = Number(piece);
    model.isLastPiece[i] = Number(piece) >= Number(pieces) ? 1 : 0;
    model.bytesOfMessage[i] = Number(total) || Number(done);
  }
  model.answers[i] = Number(list[8]);
  model.layout[i] = list[9] === '-' ? -1 : Number(list[9]);
  model.data[i] = Number(list[10]);
  model.lines[i] = line;
  model.start[i] = at.byte;
  if (list[12] !== '-') {
    const raw = atob(list[12]);
    for (let b = 0; b < raw.length; b++) model.bytes[at.byte + b] = raw.charCodeAt(b);
    model.kept[i] = raw.length;
    at.byte += raw.length;
  }
  const bth = layoutOf(i).bth, p = at.byte - model.kept[i] + bth;
  model.psn[i] = bth < 0 ? -1 : model.bytes[p + 9] << 16 | model.bytes[p + 10] << 8 | model.bytes[p + 11];
  model.opcode[i] = bth < 0 ? -1 : model.bytes[p];
}

const noLayout = { layers: [], data: 0, bth: -1 };
function layoutOf(i) { return model.layouts[model.layout[i]] || noLayout; }
function packetWords(i) { return words(model.lines[i].split(' '), 13); }
function packetMessage(i) {
  const text = model.lines[i].split(' ', 8)[7];
  if (text === '-') return null;
  const [number, piece, pieces, done, total] = text.split(':').map(Number);
  return { number, piece, pieces, bytes_done: done, bytes_total: total };
}
function packetIcrc(i) {
  const text = model.lines[i].split(' ', 12)[11];
  if (text === '-') return null;
  const [found, expected] = text.split(':');
  return { ok: !expected, found, expected: expected || found };
}

// --- fields ---

// The value of an integer field, as a number up to 32 bits, else as a BigInt; undefined: not in the page.
function fieldValue(i, layer, field) {
  const end = field.bit + field.width;
  if (layer.offset + Math.ceil(end / 8) > model.kept[i]) return undefined;
  const at = model.start[i] + layer.offset;
  if (field.width > 32) {
    let wide = 0n;
    for (let byte = field.bit >> 3; byte < end >> 3; byte++) wide = wide << 8n | BigInt(model.bytes[at + byte]);
    return wide; // these lie on whole bytes
  }
  let value = 0;
  for (let byte = field.bit >> 3; byte <= (end - 1) >> 3; byte++) {
    const lo = Math.max(field.bit - byte * 8, 0), hi = Math.min(end - byte * 8, 8);
    value = value * 2 ** (hi - lo) + (model.bytes[at + byte] >> (8 - hi) & (1 << (hi - lo)) - 1);
  }
  return value;
}

function fieldBytes(i, layer, field) {
  const from = layer.offset + field.bit / 8, to = from + field.width / 8;
  const at = model.start[i], end = Math.min(to, model.kept[i]);
  return model.bytes.subarray(at + Math.min(from, end), at + end);
}

const hex2 = (b) => b.toString(16).padStart(2, '0');

function ipv6Text(b) {
  const w = [];
  for (let k = 0; k < 16; k += 2) w.push(b[k] << 8 | b[k + 1]);
  if (w.slice(0, 5).every((x) => x === 0) && w[5] === 0xffff) return b.subarray(12).join('.');
  let best = { at: -1, n: 1 };
  for (let k = 0; k < 8; k++) {
    let n = 0;
    while (k + n < 8 && w[k + n] === 0) n++;
    if (n > best.n) best = { at: k, n };
    k += n;
  }
  if (best.at === 0 && best.n === 6) return '::' + b.subarray(12).join('.'); // as inet_ntop() does
  const text = (part) => part.map((x) => x.toString(16)).join(':');
  return best.at < 0 ? text(w) : text(w.slice(0, best.at)) + '::' + text(w.slice(best.at + best.n));
}

// The 16 bytes of an IPv6 address; null: it is none.
function ipv6Bytes(text) {
  const halves = text.split('::');
  const parse = (part) => part ? part.split(':').map((w) => /^[0-9a-f]{1,4}$/i.test(w) ? parseInt(w, 16) : NaN) : [];
  const [head, tail] = [parse(halves[0]), halves.length > 1 ? parse(halves[1]) : []];
  const gap = 8 - head.length - tail.length;
  if (halves.length > 2 || (halves.length === 1 ? gap !== 0 : gap < 1)) return null;
  const words = [...head, ...Array(gap).fill(0), ...tail];
  return words.some(Number.isNaN) ? null : words.flatMap((w) => [w >> 8, w & 255]);
}

// The value as it is written without a word.
function bareText(i, layer, field) {
  if (field.isBytes) {
    const b = fieldBytes(i, layer, field);
    if (b.length < field.width / 8) return '(beyond what the page keeps)';
    if (field.form === FORM.MAC) return Array.from(b, hex2).join(':');
    if (field.form === FORM.IPV4) return b.join('.');
    if (field.form === FORM.TEXT && b.every((c) => c >= 0x20 && c <= 0x7e))
      return String.fromCharCode(...b).replace(/ +$/, '');
    return field.form === FORM.ADDR ? ipv6Text(b) : Array.from(b, hex2).join('');
  }
  const value = fieldValue(i, layer, field);
  if (value === undefined) return '(beyond what the page keeps)';
  return field.form === FORM.DECIMAL ? String(value) :
    '0x' + value.toString(16).padStart(Math.ceil(field.width / 4), '0');
}

// The word for a value of a field, or null; "*" stands for the values that are not listed.
function wordFor(field, value) {
  if (!field.names || value === undefined) return null;
  const word = field.names[value];
  return word === undefined ? field.names['*'] : word;
}

// As explain_field_text() writes it.
function fieldText(i, layer, field) {
  const value = field.names && fieldValue(i, layer, field);
  const word = wordFor(field, value);
  return word === null ? bareText(i, layer, field) :
    word + ' (0x' + value.toString(16).padStart(Math.ceil(field.width / 4), '0') + ')';
}

function opcodeName(i) {
  return wordFor(tables.headers.bth.byName.get('opcode'), model.opcode[i]) || '0x' + hex2(model.opcode[i]);
}

function offends(i, layer, field) {
  const verdict = model.lines[i].split(' ', 5)[4];
  return verdict.includes(':') && verdict.split(':').includes(layer.key + '.' + field.name);
}

// Source and destination of the network layer as texts, or null.
function endsOf(i) {
  for (const layer of layoutOf(i).layers) {
    if (layer.key !== 'ip' && layer.key !== 'ip6' && layer.key !== 'grh') continue;
    const of = (...names) => layer.header.fields.find((f) => names.includes(f.name));
    const src = of('src', 'sgid'), dst = of('dst', 'dgid');
    if (src && dst) return [bareText(i, layer, src), bareText(i, layer, dst)];
  }
  return null;
}

// --- what follows from all of them ---

const isResponse = (i) => model.opcode[i] >= 0 && RESPONSE[model.opcode[i]] === 1;

// What an opcode is, by its name: looked up once for each.
const RESPONSE = new Uint8Array(256), ENDS_REQUEST = new Uint8Array(256), HAS_ANSWER = new Uint8Array(256),
  IS_ANSWER = new Uint8Array(256); // with data of its own
for (let value = 0; value < 256; value++) {
  const name = wordFor(tables.headers.bth.byName.get('opcode'), value) || '';
  RESPONSE[value] = /RESP|ACK/.test(name) ? 1 : 0;
  HAS_ANSWER[value] = !RESPONSE[value] && /READ|CMP|FETCH/.test(name) ? 1 : 0;
  ENDS_REQUEST[value] = /LAST|ONLY/.test(name) || HAS_ANSWER[value] ? 1 : 0;
  IS_ANSWER[value] = /RESP|ATOMIC_ACK/.test(name) ? 1 : 0;
}

function classify(i) {
  let cls = model.kind[i] === 0 ? CLASS.other : model.kind[i] > 1 ? CLASS.cm :
    isResponse(i) ? CLASS.response : CLASS.request;
  for (const finding of model.findingsAt.get(model.number[i]) || []) {
    const kind = findingKinds[finding.kind];
    model.worst[i] = Math.max(model.worst[i], kind.severity);
    cls = Math.max(cls, CLASS[CLASS_OF_FINDING[kind.key]] || 0);
  }
  return /CNP/.test(model.opcode[i] < 0 ? '' : opcodeName(i)) ? Math.max(cls, CLASS.cnp) : cls;
}

// Packets of no flow go left to right when they come from the end that spoke first of these two.
function orient() {
  const first = new Map();
  for (let i = 0; i < model.count; i++) {
    model.cls[i] = classify(i);
    const ends = model.flow[i] ? null : endsOf(i);
    if (!ends) continue;
    const key = ends[0] < ends[1] ? ends.join(' ') : ends[1] + ' ' + ends[0];
    if (!first.has(key)) first.set(key, ends[0]);
    model.dir[i] = first.get(key) === ends[0] ? 0 : 1;
  }
}

const aethOf = new Map(); // offset of the AETH by layout; -1: there is none
// What an answer acknowledges, in PSNs ahead of the stream's first: a NAK only what is before its PSN.
function ackedBy(i) {
  const layout = model.layout[i];
  if (!aethOf.has(layout)) aethOf.set(layout, (layoutOf(i).layers.find((l) => l.key === 'aeth') || { offset: -1 }).offset);
  const at = aethOf.get(layout), syndrome = at < 0 || at >= model.kept[i] ? 0 : model.bytes[model.start[i] + at];
  return model.ahead[i] + (syndrome >= 0x20 ? 0 : 1);
}

// PSNs without the wrap, from the first of their stream: the requests of one direction, and their answers.
function unwrap() {
  const streams = new Map();
  model.ahead = new Float64Array(model.count).fill(NaN);
  model.edge = new Float64Array(model.count); // of an answer: all PSNs before it are acknowledged
  for (let i = 0; i < model.count; i++) {
    // the messages of the CM lead to the flow that they make, but have the PSNs of QP1
    if (!model.flow[i] || model.kind[i] !== KIND_ROCE || model.psn[i] < 0 || model.cls[i] === CLASS.cnp) continue;
    const key = model.flow[i] * 2 + (isResponse(i) ? 1 - model.dir[i] : model.dir[i]);
    let s = streams.get(key);
    if (!s) streams.set(key, s = { psn: model.psn[i], ahead: 0 });
    const step = (model.psn[i] - s.psn << 8) >> 8;
    model.ahead[i] = s.ahead + step;
    if (isResponse(i)) model.edge[i] = ackedBy(i);
    if (step > 0) Object.assign(s, { psn: model.psn[i], ahead: s.ahead + step });
  }
}

// Times count from the earliest packet: files need not come in the order of time.
function settle() {
  let first = Infinity, last = 0;
  for (let i = 0; i < model.count; i++) first = Math.min(first, model.time[i]);
  for (let i = 0; i < model.count; i++) last = Math.max(last, model.time[i] -= first);
  model.begins = BigInt(tables.first_ns) + BigInt(model.count ? first : 0);
  model.span = last;
}

readLines();
settle();
orient();
unwrap();
