// SPDX-License-Identifier: BSD-2-Clause
// Reads the lines that explain/page/html.c wrote, character by character: a page may hold a million of them, and an
// object for each word of each would take longer than all else. What is only shown of single packets stays text.
'use strict';

const byId = (id) => document.getElementById(id);
// The captures that the page holds: one, or those of the lessons (tours.js); the address says which is shown.
const datasets = [...document.querySelectorAll('script.packets')];
const tourWanted = () => new URLSearchParams(location.hash.slice(1)).get('tour') || '';
const toursOf = (set) => set.dataset.tour.split(' ').filter(Boolean);
const dataset = datasets.find((set) => toursOf(set).includes(tourWanted())) || datasets[0];
const tables = JSON.parse(dataset.nextElementSibling.textContent);
// Flows that showed to be others, as answers came.
const sameFlow = new Map(tables.same.map(([index, flow, turned]) => [index, { flow, turned }]));

function unescape(text) {
  const letters = { l: '<', n: '\n', t: '\t', r: '\r', '\\': '\\' };
  return text.includes('\\') ? text.replace(/\\([\\lntr])/g, (all, c) => letters[c]) : text;
}

// The columns of all packets, and where in the text each has its line.
const model = { count: 0, files: [], layouts: [], frames: [], findings: [], operationLines: [], smc: [], ends: null, text: '' };

function makeColumns(capacity) {
  const column = (type) => new type(capacity);
  Object.assign(model, {
    number: column(Float64Array), time: column(Float64Array), wire: column(Uint32Array),
    captured: column(Uint32Array), kind: column(Uint8Array), verdict: column(Uint8Array),
    flow: column(Uint32Array), dir: column(Uint8Array), answers: column(Float64Array),
    message: column(Float64Array), piece: column(Uint32Array),
    layout: column(Int32Array), data: column(Uint32Array),
    psn: column(Int32Array), opcode: column(Int16Array), cls: column(Uint8Array),
    line: column(Uint32Array), start: column(Uint32Array), kept: column(Uint16Array), conn: column(Uint32Array),
    worst: column(Int8Array).fill(-1), found: new Array(capacity).fill(null),
  });
}

// What was found about a packet; the next one about the same packet hangs on it.
class Finding {
  constructor(number, kind, related, cause, at) { Object.assign(this, { number, kind, related, cause, at, next: null }); }
  get list() { return wordsAt(this.at); }
  get rule() { return this.list[3] === '-' ? '' : this.list[3]; }
}

// The line that begins there, cut at its blanks.
const wordsAt = (at) => model.text.slice(at, model.text.indexOf('\n', at)).split(' ');
const listOf = (i) => wordsAt(model.line[i]);

// Which packet has that number: they are in the order of their numbers.
model.indexOf = {
  get(number) {
    let from = 0, to = model.count;
    while (from < to) {
      const middle = (from + to) >> 1;
      if (model.number[middle] < number) from = middle + 1;
      else to = middle;
    }
    return model.number[from] === number && from < model.count ? from : undefined;
  },
  has(number) { return this.get(number) !== undefined; },
};

function findingsOf(i) {
  const list = [];
  for (let f = model.found[i]; f; f = f.next) list.push(f);
  return list;
}

// --- base64 ---

const DIGIT = new Uint8Array(128);
[...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'].forEach((c, k) => { DIGIT[c.charCodeAt(0)] = k; });

// A single byte of a packet, which the page keeps.
function byteAt(i, k) {
  const rest = k % 3, at = model.start[i] + (k - rest) / 3 * 4 + rest, text = model.text;
  const bits = DIGIT[text.charCodeAt(at)] << 6 | DIGIT[text.charCodeAt(at + 1)];
  return bits >> (4 - 2 * rest) & 255;
}

// All that the page keeps of a packet. Those of the one asked for last are at hand.
function bytesOf(i) {
  if (bytesOf.i === i) return bytesOf.bytes;
  const bytes = new Uint8Array(model.kept[i]), text = model.text;
  let at = model.start[i];
  for (let k = 0; k < bytes.length; k += 3, at += 4) {
    const bits = DIGIT[text.charCodeAt(at)] << 18 | DIGIT[text.charCodeAt(at + 1)] << 12 |
      DIGIT[text.charCodeAt(at + 2)] << 6 | DIGIT[text.charCodeAt(at + 3)];
    bytes[k] = bits >> 16;
    bytes[k + 1] = bits >> 8 & 255;
    bytes[k + 2] = bits & 255;
  }
  Object.assign(bytesOf, { i, bytes });
  return bytes;
}

// --- lines ---

function readLines() {
  const text = model.text = dataset.textContent;
  dataset.textContent = ''; // it is here now
  makeColumns(tables.total + 1);
  let p = 0, number = 1, time = 0;

  // A number, and the character behind it.
  const int = () => {
    let value = 0, c;
    while ((c = text.charCodeAt(p++) - 48) >= 0 && c <= 9) value = value * 10 + c;
    return value;
  };
  const skip = () => { p = text.indexOf(' ', p) + 1; };
  const isNone = () => text.charCodeAt(p) === 45; // -

  const readPacket = () => {
    const i = model.count++, isBack = isNone();
    model.line[i] = p;
    if (isBack) p++;
    time += isBack ? -int() : int();
    model.number[i] = number++;
    model.time[i] = time;
    model.wire[i] = int();
    model.captured[i] = int();
    model.kind[i] = int();
    model.verdict[i] = int();
    if (text.charCodeAt(p - 1) !== 32) skip();
    model.flow[i] = int();
    model.dir[i] = int();
    const same = sameFlow.get(model.flow[i]);
    if (same) {
      model.flow[i] = same.flow;
      model.dir[i] ^= same.turned;
    }
    if (isNone()) {
      p += 2;
    } else {
      model.message[i] = int();
      model.piece[i] = int();
      skip(); // the pieces in all, and the bytes
    }
    model.answers[i] = int();
    model.layout[i] = isNone() ? -1 : int();
    if (model.layout[i] < 0) p += 2;
    model.data[i] = int();
    skip(); // the ICRC
    const end = text.indexOf(' ', p);
    model.start[i] = p;
    model.kept[i] = isNone() ? 0 : (end - p) * 3 >> 2;
    const bth = layoutOf(i).bth, isKept = bth >= 0 && bth + 12 <= model.kept[i];
    model.psn[i] = isKept ? byteAt(i, bth + 9) << 16 | byteAt(i, bth + 10) << 8 | byteAt(i, bth + 11) : -1;
    model.opcode[i] = isKept ? byteAt(i, bth) : -1;
  };

  const readFinding = () => {
    const at = ++p, about = int(), kind = int(), related = int();
    skip(); // the rule
    const finding = new Finding(about, kind, related, isNone() ? 0 : int(), at);
    model.findings.push(finding);
    const newest = model.count - 1, i = model.number[newest] === about ? newest : model.indexOf.get(about);
    if (i === undefined) return;
    let last = model.found[i];
    while (last && last.next) last = last.next;
    if (last) last.next = finding;
    else model.found[i] = finding;
  };

  const readOther = (line) => {
    const rest = line.slice(3);
    if (line[0] === '~') readSmc(line);
    else if (line[0] === '@') readEnds(line);
    else if (line[1] === 'f') model.files.push(unescape(rest));
    else if (line[1] === 'l') model.layouts.push(readLayout(rest));
    else if (line[1] === 'o') model.operationLines.push(rest);
    else if (line[1] === 'w') model.frames.push(rest.split('\\#').map(unescape));
    else number = Number(rest);
  };

  while (p < text.length) {
    const first = text.charCodeAt(p), line = p;
    if (first === 33) readFinding(); // !
    else if (first === 45 || (first >= 48 && first <= 57)) readPacket();
    const end = text.indexOf('\n', p - 1 > line ? p - 1 : line);
    if (p === line && end > p) readOther(text.slice(p, end));
    p = end + 1;
  }
}

function readLayout(text) {
  const [keys, data] = text.split(';');
  const layers = keys.trim().split(' ').filter(Boolean).map((word) => {
    const [key, offset] = word.split(':');
    return { key, offset: Number(offset), header: tables.headers[key] };
  });
  const offset = (key) => (layers.find((l) => l.key === key) || { offset: -1 }).offset;
  return { layers, data: Number(data), bth: offset('bth'), aeth: offset('aeth') };
}

// What the packet read last is to a connection of SMC-R.
function readSmc(line) {
  const [conn, side, kind, from, to] = line.slice(1).split(' ');
  const i = model.count - 1;
  model.conn[i] = Number(conn);
  if (kind !== '-') model.smc.push({ i, conn: Number(conn), side: Number(side), kind, from: Number(from), to: Number(to) });
}

// Where the packet read last was seen, of two captures joined. Most pages have no such lines, and no such columns.
function readEnds(line) {
  const i = model.count - 1, [from, fate, sure, overtaken, ...at] = line.slice(1).split(' ');
  model.ends = model.ends || new Array(model.line.length).fill(null);
  model.ends[i] = { from: Number(from), fate, sure, isOvertaken: overtaken === '1',
    at: at.map((ns) => ns === '-' ? NaN : model.time[i] + Number(ns)) };
}

// The words that begin at position `at` of the blanks-separated list.
function words(list, at) {
  if (list[at] === '*') return unescape(list.slice(at + 1).join(' '));
  const frame = model.frames[Number(list[at])];
  let text = frame[0];
  for (let i = 1; i < frame.length; i++) text += list[at + i] + frame[i];
  return text;
}

function findingText(finding) { return words(finding.list, 5); }

// Why, as struct explain_why has it; null: findings of this kind have no cause.
function findingWhy(finding) {
  const { list } = finding;
  if (list[4] === '-') return null;
  const [head, ...proofs] = list[4].split(',');
  const [cause, sure, other, behind, root, way, waySure, silence, timeout, samples, ...maybe] =
    head.split(':').map(Number);
  const evidence = proofs.map((p) => p.split(':').map(Number)).map(([number, what]) =>
    ({ number, what: model.frames[what].join('#') }));
  return { cause, sure, other, behind, root, way, waySure, silence, timeout, samples, evidence,
    candidates: maybe.filter((c, i) => c && i % 2 === 0), wayCandidates: maybe.filter((c, i) => c && i % 2) };
}

const noLayout = { layers: [], data: 0, bth: -1, aeth: -1 };
function layoutOf(i) { return model.layouts[model.layout[i]] || noLayout; }
function packetWords(i) { return words(listOf(i), 13); }
function packetMessage(i) {
  const text = listOf(i)[7];
  if (text === '-') return null;
  const [number, piece, pieces, done, total] = text.split(':').map(Number);
  return { number, piece, pieces, bytes_done: done, bytes_total: total };
}
function packetIcrc(i) {
  const text = listOf(i)[11];
  if (text === '-') return null;
  const [found, expected] = text.split(':');
  return { ok: !expected, found, expected: expected || found };
}
