// SPDX-License-Identifier: BSD-2-Clause
// The packets: the fields out of their bytes by the tables, and what follows from all of them.
'use strict';

const KIND_ROCE = 1; // enum explain_kind
const FORM = { DECIMAL: 0, HEX: 1, MAC: 2, IPV4: 3, ADDR: 4, BYTES: 5, TEXT: 6 }; // enum explain_form

for (const key in tables.headers) {
  const header = tables.headers[key];
  header.key = key;
  header.fields = header.fields.map(([name, bit, width, form, rule, names]) =>
    ({ name, bit, width, form, rule, names, isBytes: form >= FORM.MAC }));
  header.byName = new Map(header.fields.map((f) => [f.name, f]));
}
const causes = tables.causes.map(([key, words, advice]) => ({ key, words, advice }));
const SURE = ['cannot be told', 'most likely', 'shown'];
const flowOf = new Map(tables.flows.map((f) => [f.flow, f]));

// What a packet is, for colours and marks; a later one in the list goes before an earlier one.
const CLASSES = ['other', 'request', 'response', 'cm', 'mark', 'duplicate', 'retransmission', 'cnp', 'rnr',
  'refused', 'nak', 'bad'];
const CLASS = Object.fromEntries(CLASSES.map((name, i) => [name, i]));
const CLASS_OF_FINDING = {
  retransmission: 'retransmission', timeout: 'retransmission', read_replay: 'retransmission',
  cm_retry: 'retransmission', duplicate: 'duplicate', reordered: 'duplicate', ghost_ack: 'duplicate',
  nak_sequence: 'nak', selective_ack: 'nak', nak_fatal: 'bad', rnr: 'rnr', cnp: 'cnp', ecn_mark: 'mark', icrc: 'bad',
  malformed: 'bad', violation: 'bad', cm_reject: 'refused', smc_decline: 'refused', smc_handshake: 'bad', smc_link: 'bad', smc_message: 'bad',
  smc_refused: 'refused', smc_unasked: 'bad', smc_token: 'bad', smc_sequence: 'bad', smc_cursor: 'bad', smc_write: 'bad',
  smc_after_close: 'bad', smc_lost: 'bad', smc_abort: 'refused',
  iwarp_setup: 'bad', iwarp_refused: 'refused', iwarp_crc: 'bad', iwarp_framing: 'bad', iwarp_sequence: 'bad',
  iwarp_opcode: 'bad', iwarp_response: 'bad', iwarp_limit: 'bad', iwarp_terminate: 'refused', iwarp_after_end: 'bad',
  tcp_again: 'retransmission', tcp_ahead: 'duplicate',
};
const findingKinds = tables.findings.map(([key, severity, words, advice]) =>
  ({ key, severity, words, advice, cls: CLASS[CLASS_OF_FINDING[key]] || 0 }));
const kindOf = new Map(findingKinds.map((k, i) => [k.key, i]));

// --- fields ---

// The value of an integer field, as a number up to 32 bits, else as a BigInt; undefined: not in the page.
function fieldValue(i, layer, field) {
  const end = field.bit + field.width;
  if (layer.offset + Math.ceil(end / 8) > model.kept[i]) return undefined;
  const bytes = bytesOf(i), at = layer.offset;
  if (field.width > 32) {
    let wide = 0n;
    for (let byte = field.bit >> 3; byte < end >> 3; byte++) wide = wide << 8n | BigInt(bytes[at + byte]);
    return wide; // these lie on whole bytes
  }
  let value = 0;
  for (let byte = field.bit >> 3; byte <= (end - 1) >> 3; byte++) {
    const lo = Math.max(field.bit - byte * 8, 0), hi = Math.min(end - byte * 8, 8);
    value = value * 2 ** (hi - lo) + (bytes[at + byte] >> (8 - hi) & (1 << (hi - lo)) - 1);
  }
  return value;
}

function fieldBytes(i, layer, field) {
  const from = layer.offset + field.bit / 8, to = from + field.width / 8;
  const end = Math.min(to, model.kept[i]);
  return bytesOf(i).subarray(Math.min(from, end), end);
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

// What stands for a value that is not here: the capture was cut before it, or the page leaves it out.
function lackText(i, layer, field) {
  const end = layer.offset + Math.ceil((field.bit + field.width) / 8);
  return end > model.captured[i] ? '(not captured)' : '(beyond what the page keeps)';
}

// The value as it is written without a word.
function bareText(i, layer, field) {
  if (field.isBytes) {
    const b = fieldBytes(i, layer, field);
    if (b.length < field.width / 8) return lackText(i, layer, field);
    if (field.form === FORM.MAC) return Array.from(b, hex2).join(':');
    if (field.form === FORM.IPV4) return b.join('.');
    if (field.form === FORM.TEXT && b.every((c) => c >= 0x20 && c <= 0x7e))
      return String.fromCharCode(...b).replace(/ +$/, '');
    return field.form === FORM.ADDR ? ipv6Text(b) : Array.from(b, hex2).join('');
  }
  const value = fieldValue(i, layer, field);
  if (value === undefined) return lackText(i, layer, field);
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
  const verdict = listOf(i)[4];
  return verdict.includes(':') && verdict.split(':').includes(layer.key + '.' + field.name);
}

// Source and destination of the network layer, in a tunnel of the innermost one, as texts, or null.
function endsOf(i) {
  const { layers } = layoutOf(i);
  for (let k = layers.length - 1; k >= 0; k--) {
    const layer = layers[k];
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
  IS_CNP = new Uint8Array(256), TAKES_RECEIVE = new Uint8Array(256);
for (let value = 0; value < 256; value++) {
  const name = wordFor(tables.headers.bth.byName.get('opcode'), value) || '';
  TAKES_RECEIVE[value] = /SEND|WITH_IMM/.test(name) ? 1 : 0;
  IS_CNP[value] = /CNP/.test(name) ? 1 : 0;
  RESPONSE[value] = /RESP|ACK/.test(name) ? 1 : 0;
  HAS_ANSWER[value] = !RESPONSE[value] && /READ|CMP|FETCH/.test(name) ? 1 : 0;
  ENDS_REQUEST[value] = /LAST|ONLY/.test(name) || HAS_ANSWER[value] ? 1 : 0;
}

function classify(i) {
  let cls = model.kind[i] === 0 ? CLASS.other : model.kind[i] > 1 ? CLASS.cm :
    isResponse(i) ? CLASS.response : CLASS.request;
  for (let finding = model.found[i]; finding; finding = finding.next) {
    const kind = findingKinds[finding.kind];
    model.worst[i] = Math.max(model.worst[i], kind.severity);
    cls = Math.max(cls, kind.cls);
  }
  return model.opcode[i] >= 0 && IS_CNP[model.opcode[i]] ? Math.max(cls, CLASS.cnp) : cls;
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

// The syndrome of an answer; -1: it has none.
function syndromeOf(i) {
  const at = layoutOf(i).aeth;
  return at < 0 || at >= model.kept[i] ? -1 : byteAt(i, at);
}

// What an answer acknowledges, in PSNs ahead of the stream's first: a NAK only what is before its PSN.
const ackedBy = (i) => model.ahead[i] + (syndromeOf(i) >= 0x20 ? 0 : 1);

// The stream of a packet: the requests of one direction of a flow, and their answers.
const streamOf = (i) => model.flow[i] * 2 + (isResponse(i) ? 1 - model.dir[i] : model.dir[i]);

// PSNs without the wrap, from the first of their stream: the requests of one direction, and their answers.
function unwrap() {
  const streams = new Map();
  model.ahead = new Float64Array(model.count).fill(NaN);
  model.edge = new Float64Array(model.count); // of an answer: all PSNs before it are acknowledged
  for (let i = 0; i < model.count; i++) {
    // the messages of the CM lead to the flow that they make, but have the PSNs of QP1
    if (!model.flow[i] || model.kind[i] !== KIND_ROCE || model.psn[i] < 0 || model.cls[i] === CLASS.cnp) continue;
    const key = streamOf(i);
    let s = streams.get(key);
    if (!s) streams.set(key, s = { psn: model.psn[i], ahead: 0 });
    const step = (model.psn[i] - s.psn << 8) >> 8;
    model.ahead[i] = s.ahead + step;
    if (isResponse(i)) model.edge[i] = ackedBy(i);
    if (step > 0) Object.assign(s, { psn: model.psn[i], ahead: s.ahead + step });
  }
}

// How many receives a credit code stands for (ROCE-HDR-21); code 31: there is no limit.
const creditsOf = (code) => code < 2 ? code : code % 2 ? 3 * 2 ** ((code - 3) / 2) : 2 ** (code / 2);

// Where the credits of an answer end, in PSNs ahead: at the first message behind MSN plus credits that takes a receive, or
// behind all that the capture has (Infinity). NaN: the answer gives none, or there is no limit any more.
function grants() {
  const streams = new Map();
  model.grant = new Float64Array(model.count).fill(NaN);
  for (let i = 0; i < model.count; i++)
    if (isResponse(i) && !Number.isNaN(model.ahead[i]) && syndromeOf(i) >= 0 && syndromeOf(i) < 0x1f)
      streams.set(streamOf(i), { messages: new Map(), done: 0, limit: 0, isLimited: true });
  for (let i = 0; streams.size && i < model.count; i++) {
    const s = isResponse(i) || !model.message[i] || Number.isNaN(model.ahead[i]) ? undefined : streams.get(streamOf(i));
    if (!s) continue;
    const m = s.messages.get(model.message[i]) || { first: Infinity, end: Infinity, takes: false };
    m.first = Math.min(m.first, model.ahead[i] - Math.max(0, model.piece[i] - 1));
    if (ENDS_REQUEST[model.opcode[i]]) m.end = model.ahead[i] + 1;
    m.takes = m.takes || TAKES_RECEIVE[model.opcode[i]] === 1;
    s.messages.set(model.message[i], m);
  }
  for (const s of streams.values()) s.messages = [...s.messages].sort((a, b) => a[0] - b[0]);
  for (let i = 0; streams.size && i < model.count; i++) {
    const s = isResponse(i) && !Number.isNaN(model.ahead[i]) ? streams.get(streamOf(i)) : undefined;
    const syndrome = s ? syndromeOf(i) : -1;
    if (syndrome < 0 || syndrome >= 0x20) continue;
    s.isLimited = s.isLimited && syndrome < 0x1f;
    if (!s.isLimited) continue;
    while (s.done < s.messages.length && s.messages[s.done][1].end <= model.edge[i]) s.done++;
    const before = s.done ? s.messages[s.done - 1][0] : s.messages.length ? s.messages[0][0] - 1 : 0;
    s.limit = Math.max(s.limit, before + creditsOf(syndrome));
    const beyond = s.messages.find(([number, m]) => number > s.limit && m.takes);
    model.grant[i] = beyond ? beyond[1].first : Infinity;
  }
}

// Times count from the earliest packet: files need not come in the order of time.
function settle() {
  let first = Infinity, last = 0;
  for (let i = 0; i < model.count; i++) first = Math.min(first, model.time[i]);
  for (let i = 0; i < model.count; i++) last = Math.max(last, model.time[i] -= first);
  for (const e of model.ends || []) if (e) e.at = e.at.map((t) => t - first);
  model.begins = BigInt(tables.first_ns) + BigInt(model.count ? first : 0);
  model.span = last;
}

readLines();
settle();
orient();
unwrap();
grants();
