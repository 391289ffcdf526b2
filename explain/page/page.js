// SPDX-License-Identifier: BSD-2-Clause
// What is shown: the choice of flow, filter, words, findings and time, and the hands of the reader.
'use strict';

const state = { chosen: -1, flow: 0, conn: 0, filter: null, words: '', kind: -1, from: -Infinity, to: Infinity,
  inPlots: new Int32Array(0) };

// --- what is shown ---

function update() {
  const rows = new Int32Array(model.count), inPlots = new Int32Array(model.count);
  const needle = state.words.toLowerCase();
  let n = 0, m = 0;
  for (let i = 0; i < model.count; i++) {
    if (state.flow && model.flow[i] !== state.flow) continue;
    if (state.conn && model.conn[i] !== state.conn) continue;
    if (state.filter && !state.filter(i)) continue;
    if (state.kind >= 0 && !hasFinding(i, state.kind)) continue;
    if (needle && !packetWords(i).toLowerCase().includes(needle)) continue;
    inPlots[m++] = i;
    if (model.time[i] >= state.from && model.time[i] <= state.to) rows[n++] = i;
  }
  state.inPlots = inPlots.slice(0, m);
  [plot.from, plot.to] = state.from > -Infinity ? [state.from, state.to] : timesOf(state.inPlots);
  ladderShow(rows.slice(0, n));
  drawPlots();
  say();
  remember();
}

// --- the address keeps the state, so that a link leads back to it ---

function remember() {
  if (document.documentElement.dataset.ready !== 'yes') return;
  const parts = new URLSearchParams();
  if (state.flow) parts.set('flow', state.flow);
  if (state.conn) parts.set('connection', state.conn);
  if (byId('filter').value.trim() && state.filter) parts.set('filter', byId('filter').value.trim());
  if (state.words) parts.set('words', state.words);
  if (state.kind >= 0) parts.set('finding', findingKinds[state.kind].key);
  if (state.from > -Infinity) parts.set('time', `${Math.round(state.from)}-${Math.round(state.to)}`);
  if (ladder.mode !== 'auto') parts.set('lanes', ladder.mode);
  if (ladder.isDelta) parts.set('delta', 1);
  if (lesson.tour) parts.set('tour', lesson.tour.key);
  const rest = parts.toString(), number = state.chosen < 0 ? '' : String(model.number[state.chosen]);
  const hash = number || rest ? '#' + number + (rest ? '&' + rest : '') : '';
  if (location.hash !== hash) history.replaceState(null, '', hash || location.pathname + location.search);
}

function recall() {
  const [number, ...rest] = location.hash.slice(1).split('&');
  const parts = new URLSearchParams(rest.join('&')), time = (parts.get('time') || '').split('-').map(Number);
  Object.assign(state, { flow: Number(parts.get('flow')) || 0, conn: Number(parts.get('connection')) || 0,
    words: parts.get('words') || '', kind: parts.has('finding') ? kindOf.get(parts.get('finding')) ?? -1 : -1,
    from: time.length === 2 ? time[0] : -Infinity, to: time.length === 2 ? time[1] : Infinity, filter: null });
  ladder.mode = byId('lanes').value = parts.get('lanes') === 'qps' ? 'qps' : 'auto';
  if (ladder.isDelta !== parts.has('delta')) toggleDelta();
  byId('filter').value = parts.get('filter') || '';
  byId('find').value = state.words;
  press();
  setFilter(byId('filter').value);
  chooseNumber(Number(number));
}

// From the first to the last of these packets.
function timesOf(rows) {
  let from = Infinity, to = -Infinity;
  for (const i of rows) {
    from = Math.min(from, model.time[i]);
    to = Math.max(to, model.time[i]);
  }
  return from > to ? [0, Math.max(1, model.span)] : [from, Math.max(to, from + 1000)];
}

function hasFinding(i, kind) {
  for (let f = model.found[i]; f; f = f.next) if (f.kind === kind) return true;
  return false;
}

function say() {
  const shown = ladder.packets.length, parts = [`${shown.toLocaleString('en')} of ${model.count.toLocaleString('en')} packets`];
  if (state.flow) parts.push(`flow ${state.flow}`);
  if (state.conn) parts.push(`connection ${state.conn}`);
  if (state.kind >= 0) parts.push(findingKinds[state.kind].key.replace(/_/g, ' '));
  if (state.from > -Infinity) parts.push(`${seconds(plot.from)} to ${seconds(plot.to)} s`);
  if (state.chosen >= 0 && ladder.rows[ladderRowOf(state.chosen)] !== state.chosen)
    parts.push(`packet ${model.number[state.chosen]} is not among them`);
  byId('status').textContent = parts.join(' · ');
  byId('status').dataset.shown = shown;
}

function choose(i) {
  if (i < 0 || i >= model.count) return;
  const before = state.chosen;
  state.chosen = i;
  ladderMark(before, i);
  ladderReveal(i);
  byId('ladder').setAttribute('aria-activedescendant', rowId(i));
  drawDetail(byId('detail'), i);
  drawPlots();
  say();
  remember();
}

function chooseNumber(number) {
  if (model.indexOf.has(number)) choose(model.indexOf.get(number));
}

function zoomTime(from, to) {
  const least = 1000; // a microsecond
  if (to - from < least) [from, to] = [from - least / 2, from + least / 2];
  const whole = from <= 0 && to >= model.span;
  state.from = whole ? -Infinity : Math.max(0, from);
  state.to = whole ? Infinity : Math.min(model.span, to);
  update();
}

function setFilter(text) {
  const input = byId('filter');
  try {
    state.filter = text.trim() ? parseFilter(text) : null;
    input.classList.remove('wrong');
    input.ariaInvalid = 'false';
    input.setCustomValidity('');
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    input.classList.add('wrong');
    input.ariaInvalid = 'true';
    byId('status').textContent = error.message;
    byId('status').dataset.shown = '';
    return;
  }
  press();
  update();
}

function reset() {
  Object.assign(state, { flow: 0, conn: 0, filter: null, words: '', kind: -1, from: -Infinity, to: Infinity });
  byId('filter').value = byId('find').value = '';
  byId('filter').classList.remove('wrong');
  byId('filter').ariaInvalid = 'false';
  press();
  update();
  if (state.chosen >= 0) ladderReveal(state.chosen);
}

// --- the frame around it ---

function drawSummary() {
  const count = [0, 0, 0];
  for (const f of model.findings) count[findingKinds[f.kind].severity]++;
  const fact = (term, ...text) => make('div', {}, make('dt', {}, term), make('dd', {}, ...text));
  const start = new Date(Number(model.begins / 1000000n));
  const files = model.files.map((f) => f.split('/').pop());
  const shown = model.count === tables.total ? '' : ` (${model.count.toLocaleString('en')} shown)`;
  const name = files.length > 2 ? `${files.length} files` : files.join(', ');
  byId('summary').replaceChildren(
    fact(files.length === 1 ? 'file' : 'files', make('span', { title: model.files.join('\n') }, name)),
    fact('packets', tables.total.toLocaleString('en') + shown), fact('flows', String(tables.flows.length)),
    ...(tables.iwarp.length ? [fact('iWARP', String(tables.iwarp.length))] : []),
    fact('span', duration(model.span)),
    fact('begins', model.count ? start.toISOString().replace('T', ' ').slice(0, 19) + ' UTC' : '-'),
    fact('findings', ...['note', 'warning', 'error'].map((word, s) => make('span', { className: `badge sev-${SEVERITY[s]}` },
      `${count[s].toLocaleString('en')} ${word}${count[s] === 1 ? '' : 's'}`)).reverse()));
  document.title = `nornic explain: ${name}`;
}

// The capture in a few sentences.
function drawStory() {
  const sentences = tables.story.split('\n').filter(Boolean);
  byId('story').hidden = !sentences.length;
  byId('story').replaceChildren(make('p', {}, ...sentences.flatMap((s) => [...linked(s), ' '])));
}

function drawFlows() {
  const rows = tables.flows.map((f) => {
    const qp = (n) => n ? 'qp ' + n.toString(16).padStart(6, '0') : 'qp ?';
    const trouble = [['retransmissions', 'again'], ['naks', 'NAK'], ['rnr_naks', 'RNR'], ['selective_acks', 'SACK'], ['cnps', 'CNP'], ['marks', 'ECN']]
      .filter(([key]) => f[key] && f[key][0] + f[key][1]).map(([key, word]) => `${f[key][0] + f[key][1]} ${word}`);
    return make('button', { className: 'flow', ariaPressed: 'false', data: { flow: f.flow } },
      make('b', {}, make('i', { className: 'dot', style: `background:${flowColour(f.flow)}` }), `${f.flow} · ${f.service}`,
        make('small', {}, f.pmtu ? ` PMTU ${f.pmtu}` : '')),
      make('span', {}, `${f.addr[0]} ${qp(f.qpn[0])}`), make('span', {}, `${f.addr[1]} ${qp(f.qpn[1])}`),
      f.network ? make('span', {}, `in ${f.network}`) : null,
      make('span', { className: 'counts' }, `→ ${f.packets[0]} pkt ${si(f.bytes[0], 'B')} ${f.messages[0]} msg`),
      make('span', { className: 'counts' }, `← ${f.packets[1]} pkt ${si(f.bytes[1], 'B')} ${f.messages[1]} msg`),
      f.paused_ns[0] + f.paused_ns[1] ? make('span', { className: 'trouble' }, `paused ${duration(f.paused_ns[0] + f.paused_ns[1])}`) : null,
      trouble.length ? make('span', { className: 'trouble' }, trouble.join(' · ')) : null);
  });
  const FLOWS_MAX = 200;
  byId('flows').replaceChildren(...rows.slice(0, FLOWS_MAX));
  if (rows.length > FLOWS_MAX)
    byId('flows').append(make('p', { className: 'hint' }, `and ${rows.length - FLOWS_MAX} more: filter by flow == N`));
  const g = tables.forgotten;
  if (g.flows)
    byId('flows').append(make('p', { className: 'hint' }, `${g.flows} of the flows ${g.first} to ${g.last} were forgotten for ` +
      'room, those first that were silent longest: what came of them later counts as new flows'));
  if (!rows.length) byId('flows').append(make('p', { className: 'hint' }, tables.iwarp.length ? 'no queue pairs of RoCE: below are connections of iWARP' :
    'no connected queue pairs'));
}

const FINDINGS_STEP = 50; // are in the document at a time, of each kind

function drawFindings() {
  const groups = new Map();
  for (const f of model.findings) {
    if (!groups.has(f.kind)) groups.set(f.kind, []);
    groups.get(f.kind).push(f);
  }
  const order = [...groups.keys()].sort((a, b) => findingKinds[b].severity - findingKinds[a].severity || a - b);
  byId('findings').replaceChildren(...order.map((kind) => findingGroup(kind, groups.get(kind))));
  if (!order.length) byId('findings').append(make('p', { className: 'hint' }, 'none: nothing went wrong here'));
}

function findingGroup(kind, list) {
  const { key, severity, words: meaning } = findingKinds[kind];
  const group = make('details', { className: 'group sev-' + SEVERITY[severity], data: { key } });
  const only = make('button', { className: 'only', ariaPressed: 'false', title: 'only packets with this finding',
    ariaLabel: `only packets with the finding ${key.replace(/_/g, ' ')}`, data: { kind } }, 'only');
  group.append(make('summary', { title: meaning }, make('b', {}, key.replace(/_/g, ' ')), make('span', { className: 'badge' },
    String(list.length)), only));
  const byCause = new Map();
  for (const f of list) {
    if (!byCause.has(f.cause)) byCause.set(f.cause, []);
    byCause.get(f.cause).push(f);
  }
  const order = [...byCause.keys()].sort((a, b) => byCause.get(b).length - byCause.get(a).length);
  let filled = false;
  group.addEventListener('toggle', () => {
    if (!group.open || filled) return;
    filled = true;
    group.append(make('p', { className: 'advice' }, meaning));
    for (const cause of order) group.append(...causeGroup(kind, cause, byCause.get(cause)));
  });
  return group;
}

// The findings of one cause: what it is, what may be done, the packets.
function causeGroup(kind, cause, list) {
  const advice = causes[cause].advice || findingKinds[kind].advice;
  const items = make('ol', {}), more = make('button', { className: 'more' }, 'more');
  const head = [];
  if (cause) head.push(make('p', { className: 'cause' }, make('b', {}, `${list.length} ×`), ' ' + causes[cause].words));
  if (advice) head.push(make('p', { className: 'advice' }, advice));
  const rules = [...new Set(list.map((f) => f.rule))].filter(Boolean);
  if (rules.length) head.push(make('p', { className: 'cause' }, ...rules.flatMap((id) => [ruleMark(id), ' '])));
  let shown = 0;
  const add = () => {
    for (const f of list.slice(shown, shown + FINDINGS_STEP))
      items.append(make('li', {}, link(f.number), ' ', ...linked(findingText(f))));
    shown = Math.min(shown + FINDINGS_STEP, list.length);
    more.hidden = shown === list.length;
    more.textContent = `${list.length - shown} more`;
  };
  more.addEventListener('click', add);
  add();
  return [...head, items, more];
}

// The buttons of flows and findings show what is chosen.
function press() {
  for (const b of document.querySelectorAll('[data-flow]')) b.ariaPressed = String(Number(b.dataset.flow) === state.flow);
  for (const b of document.querySelectorAll('[data-connection].flow'))
    b.ariaPressed = String(Number(b.dataset.connection) === state.conn);
  for (const b of document.querySelectorAll('[data-iwarp]')) b.ariaPressed = String(b.dataset.filter === byId('filter').value.trim());
  for (const b of document.querySelectorAll('.only')) b.ariaPressed = String(Number(b.dataset.kind) === state.kind);
}

// --- hands ---

function later(wait, act) {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(...args), wait);
  };
}

function moveBy(rows) {
  if (!ladder.rows.length) return;
  const last = ladder.rows.length - 1, step = rows < 0 ? -1 : 1;
  let row = state.chosen < 0 ? 0 : ladderRowOf(state.chosen) + rows;
  row = Math.min(last, Math.max(0, row));
  while (row > 0 && row < last && ladder.rows[row] < 0) row += step; // a silence is nothing to choose
  choose(packetOf(ladder.rows[row]));
}

function moveToFinding(step) {
  let row = state.chosen < 0 ? (step > 0 ? -1 : ladder.rows.length) : ladderRowOf(state.chosen);
  for (row += step; row >= 0 && row < ladder.rows.length; row += step)
    if (ladder.rows[row] >= 0 && model.worst[ladder.rows[row]] >= 0) return choose(ladder.rows[row]);
  return undefined;
}

function keys(event) {
  const typing = event.target.tagName === 'INPUT' || event.target.tagName === 'SELECT';
  const isAsking = document.querySelector('dialog[open]') !== null; // which has its own keys
  if (event.key === 'Escape' && note.target) {
    event.preventDefault();
    noteHide();
    return;
  }
  if (event.key === 'Escape' && !isAsking) {
    event.preventDefault();
    reset();
    byId('ladder').focus();
    return;
  }
  if (event.ctrlKey || event.altKey || event.metaKey || typing || isAsking) return;
  const page = Math.max(1, Math.floor(byId('ladder').clientHeight / HEIGHTS[ladder.zoom]) - 1);
  const { activeElement } = document; // the text of a lesson has no keys of its own
  const inLadder = activeElement === document.body || ['ladder', 'lesson-text'].includes(activeElement.id);
  const anywhere = {
    '/': () => byId('filter').focus(), '+': () => ladderZoom(1), '=': () => ladderZoom(1),
    '-': () => ladderZoom(-1), 'n': () => moveToFinding(1), 'p': () => moveToFinding(-1), '?': () => byId('help').showModal(),
    'g': togglePlots, 'd': toggleDelta, 'l': () => setLanes(ladder.mode === 'auto' ? 'qps' : 'auto'), 'a': () => state.chosen >= 0 && chooseNumber(model.answers[state.chosen]),
  };
  const there = {
    ArrowDown: () => moveBy(1), ArrowUp: () => moveBy(-1), PageDown: () => moveBy(page), PageUp: () => moveBy(-page),
    Home: () => moveBy(-Infinity), End: () => moveBy(Infinity), ...(byId('lesson-this') ? { Enter: tourAnswer } : {}),
  };
  const act = anywhere[event.key] || (inLadder && there[event.key]);
  if (!act) return;
  event.preventDefault();
  act();
}

function toggleDelta() {
  ladder.isDelta = !ladder.isDelta;
  byId('time-button').textContent = ladder.isDelta ? 'since above' : 'seconds';
  ladderShow(ladder.packets);
  remember();
}

function setLanes(mode) {
  ladder.mode = byId('lanes').value = mode;
  ladderShow(ladder.packets);
  remember();
}

function togglePlots() {
  byId('plots').hidden = !byId('plots').hidden;
  byId('plots-button').ariaExpanded = String(!byId('plots').hidden);
  drawPlots();
  ladderDraw();
}

function hands() {
  noteHands();
  exportHands();
  let drawing = 0;
  byId('ladder').addEventListener('scroll', () => {
    drawing = drawing || requestAnimationFrame(() => { drawing = 0; ladderDraw(); });
  });
  byId('rows').addEventListener('click', (event) => {
    const row = event.target.closest('.row');
    if (row) choose(Number(row.dataset.i));
  });
  byId('side').addEventListener('click', (event) => {
    const flow = event.target.closest('[data-flow]'), only = event.target.closest('.only');
    const conn = event.target.closest('[data-connection]');
    if (!flow && !only && !conn) return;
    event.preventDefault();
    if (flow) state.flow = state.flow === Number(flow.dataset.flow) ? 0 : Number(flow.dataset.flow);
    if (conn) state.conn = state.conn === Number(conn.dataset.connection) ? 0 : Number(conn.dataset.connection);
    if (only) state.kind = state.kind === Number(only.dataset.kind) ? -1 : Number(only.dataset.kind);
    press();
    update();
  });
  byId('filter').addEventListener('input', later(150, () => setFilter(byId('filter').value)));
  byId('find').addEventListener('input', later(150, () => { state.words = byId('find').value; update(); }));
  byId('smaller').addEventListener('click', () => ladderZoom(-1));
  byId('larger').addEventListener('click', () => ladderZoom(1));
  byId('lanes').addEventListener('change', () => setLanes(byId('lanes').value));
  byId('time-button').addEventListener('click', toggleDelta);
  byId('plots-button').addEventListener('click', togglePlots);
  byId('reset').addEventListener('click', reset);
  byId('help-button').addEventListener('click', () => byId('help').showModal());
  for (const type of ['mouseover', 'mouseout', 'focusin', 'focusout']) byId('detail').addEventListener(type, light);
  plotHands(byId('psn'));
  plotHands(byId('ways'));
  plotHands(byId('rate'));
  plotHands(byId('latency'));
  plotHands(byId('fill'));
  addEventListener('keydown', keys);
  addEventListener('hashchange', recall);
  new ResizeObserver(later(60, () => { drawPlots(); ladderResize(); })).observe(byId('centre'));
}

byId('ladder').dataset.zoom = ladder.zoom;
drawSummary();
drawStory();
computeFills();
model.operations = operations();
byId('ways-figure').hidden = !model.ends;
byId('latency-figure').hidden = !model.operations.length;
byId('psn-figure').hidden = !tables.flows.length && !!tables.iwarp.length;
drawFlows();
drawConnections();
drawIwarp();
drawFindings();
drawLegend();
hands();
drawDetail(byId('detail'), -1);
recall();
tourHands();
document.documentElement.dataset.ready = 'yes';
