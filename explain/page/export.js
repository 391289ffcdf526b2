// SPDX-License-Identifier: BSD-2-Clause
// What is shown, as a file: a plot as SVG, packets and operations as CSV.
'use strict';

function save(name, type, text) {
  const a = make('a', { download: name, href: URL.createObjectURL(new Blob([text], { type })) });
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 10000);
}

function baseName() {
  return (model.files[0] || 'capture').split('/').pop().replace(/\.(pcapng|pcap|cap|gz)/g, '') || 'capture';
}

// A plot as a picture that needs no style sheet: what the page's style makes of it is written into it.
function svgText(node) {
  const STYLES = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-dasharray', 'stroke-linecap', 'opacity',
    'font-size', 'font-family'];
  const copy = node.cloneNode(true), from = [...node.querySelectorAll('*')], to = [...copy.querySelectorAll('*')];
  from.forEach((element, k) => {
    const style = getComputedStyle(element);
    to[k].setAttribute('style', STYLES.map((name) => `${name}:${style.getPropertyValue(name)}`).join(';'));
  });
  copy.setAttribute('xmlns', SVG);
  copy.setAttribute('width', node.clientWidth);
  copy.setAttribute('height', node.clientHeight);
  copy.setAttribute('style', `background:${getComputedStyle(byId('plots')).backgroundColor}`);
  return new XMLSerializer().serializeToString(copy);
}

function csvLine(cells) {
  return cells.map((cell) => {
    const text = String(cell === null || cell === undefined ? '' : cell);
    return /[",\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
  }).join(',') + '\n';
}

// The packets that are shown.
function packetsCsv() {
  let text = csvLine(['number', 'seconds', 'from', 'to', 'flow', 'bytes', 'opcode', 'psn', 'message', 'words', 'findings']);
  for (const i of ladder.packets) {
    const ends = endsOf(i) || ['', ''];
    text += csvLine([model.number[i], seconds(model.time[i], 9), ends[0], ends[1], model.flow[i] || '', model.wire[i],
      model.opcode[i] < 0 ? '' : opcodeName(i), model.psn[i] < 0 ? '' : model.psn[i], model.message[i] || '', packetWords(i),
      findingsOf(i).map((f) => findingKinds[f.kind].key).join(' ')]);
  }
  return text;
}

// The operations of what is shown: what was asked, and how long the answer took.
function operationsCsv() {
  let text = csvLine(['flow', 'direction', 'message', 'operation', 'bytes', 'packets', 'sent_again', 'first_packet',
    'answer_packet', 'begin_seconds', 'latency_us']);
  const wanted = new Set(ladder.packets);
  for (const op of model.operations) {
    if (!wanted.has(op.first)) continue;
    text += csvLine([op.flow, op.dir, op.message, op.name, op.bytes, op.packets, op.again, model.number[op.first],
      model.number[op.end], seconds(model.time[op.first], 9), Number.isNaN(op.ns) ? '' : (op.ns / 1000).toFixed(3)]);
  }
  return text;
}

function exportHands() {
  for (const button of document.querySelectorAll('[data-svg]'))
    button.addEventListener('click', () => save(`${baseName()}-${button.dataset.svg}.svg`, 'image/svg+xml',
      svgText(byId(button.dataset.svg))));
  byId('export').addEventListener('change', () => {
    const what = byId('export').value;
    byId('export').value = '';
    if (what === 'packets') save(`${baseName()}-packets.csv`, 'text/csv', packetsCsv());
    else if (what === 'operations') save(`${baseName()}-operations.csv`, 'text/csv', operationsCsv());
    else if (what === 'link' && navigator.clipboard)
      navigator.clipboard.writeText(location.href).then(() => { byId('status').textContent = 'the link is copied'; },
        () => { byId('status').textContent = location.href; });
    else if (what === 'link') byId('status').textContent = location.href;
  });
}
