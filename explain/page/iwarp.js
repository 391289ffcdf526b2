// SPDX-License-Identifier: BSD-2-Clause
// Connections of iWARP, listed; a click shows one alone, by a filter over its TCP ports.
'use strict';

const IWARP_MAX = 200; // are listed

// The packets of both directions.
function iwarpFilter(c) {
  const ip = c.addr[0].includes(':') ? 'ip6' : 'ip';
  const way = (a, b) => `(${ip}.src == ${c.addr[a]} && tcp.src_port == ${c.port[a]} && ` +
    `${ip}.dst == ${c.addr[b]} && tcp.dst_port == ${c.port[b]})`;
  return `${way(0, 1)} || ${way(1, 0)}`;
}

function toggleFilter(text) {
  const field = byId('filter');
  field.value = field.value === text ? '' : text;
  field.dispatchEvent(new Event('input'));
}

function drawIwarp() {
  const list = tables.iwarp;
  byId('iwarp-title').hidden = byId('iwarp').hidden = !list.length;
  byId('iwarp').replaceChildren(...list.slice(0, IWARP_MAX).map((c) => {
    const end = (s) => c.terminate[s] ? 'terminated' : c.rst[s] ? 'aborted' : c.fin[s] ? 'closed' : 'open';
    const way = (s) => `${s ? '←' : '→'} ${some(c.fpdus[s], 'FPDU')} ${si(c.bytes[s], 'B')} ${c.messages[s]} msg, ${end(s)}`;
    const sum = (key) => c[key][0] + c[key][1];
    const trouble = [['crc_bad', 'bad CRC'], ['tcp_again_bytes', 'B again'], ['missing_bytes', 'B not in the capture']]
      .filter(([key]) => sum(key)).map(([key, word]) => `${sum(key)} ${word}`);
    const set = c.refused ? 'refused' : c.begins_before ? 'older than the capture' : c.crc ? 'CRC' : 'no CRC';
    const filter = iwarpFilter(c);
    return make('button', { className: 'flow', ariaPressed: 'false', data: { iwarp: c.connection, filter }, onclick: () => toggleFilter(filter) },
      make('b', {}, `${c.connection} · iWARP`, make('small', {}, ` ${set}`)),
      make('span', {}, `${c.addr[0]} ${c.port[0]}`), make('span', {}, `${c.addr[1]} ${c.port[1]}`),
      make('span', { className: 'counts' }, way(0)), make('span', { className: 'counts' }, way(1)),
      trouble.length ? make('span', { className: 'trouble' }, trouble.join(' · ')) : null);
  }));
  if (list.length > IWARP_MAX)
    byId('iwarp').append(make('p', { className: 'hint' }, `and ${list.length - IWARP_MAX} more: filter by tcp.src_port`));
}
