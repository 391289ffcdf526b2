// SPDX-License-Identifier: BSD-2-Clause
// Connections of SMC-R: how full the buffers are over time, as the CDC messages tell, and who moved or ended when.
'use strict';

const CONNECTIONS_MAX = 200; // are listed

// What was written and not yet read, by connection and writing side: [packet, bytes] at each CDC message. A message of
// one side changes its own buffer's fill (what it consumed) and that of the other (what it produced).
const fills = new Map();

function computeFills() {
  const seen = new Map();
  for (const { i, conn, side, kind, from, to } of model.smc) {
    if (kind !== 'c') continue;
    if (!seen.has(conn)) seen.set(conn, { produced: [0, 0], consumed: [0, 0] });
    const now = seen.get(conn);
    now.produced[side] = to;
    now.consumed[side] = from;
    for (const writer of [0, 1]) {
      const key = conn * 2 + writer, bytes = Math.max(0, now.produced[writer] - now.consumed[1 - writer]);
      if (!fills.has(key)) fills.set(key, []);
      const list = fills.get(key);
      if (!list.length || list[list.length - 1][1] !== bytes) list.push([i, bytes]);
    }
  }
}

// A step line; points on the same dot are left out.
function stepLine(list, x, y, right) {
  let d = '', lastX = -1, lastY = null;
  for (const [i, bytes] of list) {
    const px = Math.min(Math.max(x(model.time[i]), MARGIN.left), right).toFixed(1), py = y(bytes).toFixed(1);
    if (px === lastX && py === lastY) continue;
    d += d ? `H${px}V${py}` : `M${px} ${py}`;
    [lastX, lastY] = [px, py];
  }
  return d && d + `H${right}`;
}

// Findings about connections that went elsewhere, which is no error.
const isEvent = (key) => key.startsWith('smc_') && !(key in CLASS_OF_FINDING);

function drawFill() {
  const node = byId('fill');
  if (!tables.connections.length) return;
  const shown = tables.connections.filter((c) => !state.conn || c.connection === state.conn);
  let top = 1;
  for (const c of shown)
    for (const side of [0, 1])
      for (const [, bytes] of fills.get(c.connection * 2 + side) || []) top = Math.max(top, bytes);
  const { x, y, bottom, right } = plotFrame(node, 0, top * 1.1, si);
  let drawn = 0;
  for (const c of shown)
    for (const side of [0, 1]) {
      const list = fills.get(c.connection * 2 + side);
      if (!list || drawn >= 2 * CONNECTIONS_MAX) continue;
      drawn++;
      node.append(svg('path', { class: `fill at-request${side}`, d: stepLine(list, x, y, right),
        'data-connection': c.connection }));
    }
  for (const f of model.findings) {
    const name = CLASS_OF_FINDING[findingKinds[f.kind].key] || 'mark';
    if (!findingKinds[f.kind].key.startsWith('smc_') || !model.indexOf.has(f.number)) continue;
    const i = model.indexOf.get(f.number), t = model.time[i];
    if ((state.conn && model.conn[i] !== state.conn) || t < plot.from || t > plot.to) continue;
    node.append(svg('path', { class: 'points is-' + name, d: SHAPES.cross(x(t), MARGIN.top + 5) }));
  }
  cursor(node, x, bottom);
}

const some = (count, word) => `${count} ${word}${count === 1 ? '' : 's'}`;

function drawConnections() {
  const list = tables.connections;
  byId('smc-title').hidden = byId('connections').hidden = byId('fill-figure').hidden = !list.length;
  const rows = list.slice(0, CONNECTIONS_MAX).map((c) => {
    const end = (s) => c.aborted[s] ? 'aborted' : c.closed[s] ? 'closed' : c.done[s] ? 'done sending' : 'open';
    const way = (s) => `${s ? '←' : '→'} ${si(c.bytes[s], 'B')} in ${c.cdc_messages[s]} CDC, ${some(c.wraps[s], 'wrap')}, ${end(s)}`;
    const trouble = [['moves', 'moved'], ['blocked', 'blocked'], ['urgent', 'urgent'], ['replayed_bytes', 'B again']]
      .filter(([key]) => c[key][0] + c[key][1]).map(([key, word]) => `${c[key][0] + c[key][1]} ${word}`);
    return make('button', { className: 'flow', ariaPressed: 'false', data: { connection: c.connection } },
      make('b', {}, `${c.connection} · group ${c.group}`),
      make('span', {}, `${c.addr[0]} ${c.port[0]}`), make('span', {}, `${c.addr[1]} ${c.port[1]}`),
      make('span', { className: 'counts' }, way(0)), make('span', { className: 'counts' }, way(1)),
      trouble.length ? make('span', { className: 'trouble' }, trouble.join(' · ')) : null);
  });
  byId('connections').replaceChildren(...tables.groups.map((g) => make('p', { className: 'hint' },
    `group ${g.group}: version ${g.version}, ${some(g.links, 'link')} (${g.links_active} active, ${g.links_gone} gone), ` +
    `${g.rmbs[0]} + ${some(g.rmbs[1], 'RMB')}, ${some(g.connections, 'connection')}${g.ended ? ', ended' : ''}`)), ...rows);
  if (list.length > CONNECTIONS_MAX)
    byId('connections').append(make('p', { className: 'hint' },
      `and ${list.length - CONNECTIONS_MAX} more: filter by connection == N`));
}
