// SPDX-License-Identifier: BSD-2-Clause
// What rules, fields and terms mean: a note beside whatever is pointed at, clicked, or chosen by a key.
'use strict';

// words.txt: [pattern, words] of layers and fields, in its order; and the terms.
const wordList = [], terms = [];
for (const line of byId('words').textContent.split('\n')) {
  const gap = line.indexOf('  ');
  if (line.startsWith('#') || gap < 0) continue;
  const key = line.slice(0, gap), meaning = line.slice(gap + 2);
  if (key[0] === '?') terms.push([key.slice(1), meaning]);
  else wordList.push([new RegExp('^' + key.replace(/\./g, '\\.').replace(/\*/g, '.*') + '$'), meaning]);
}

const wordsOf = new Map(); // by key, as they were looked up
// What "bth" or "bth.psn" means; '' where nothing is on record.
function meaningOf(key) {
  if (!wordsOf.has(key)) wordsOf.set(key, (wordList.find(([pattern]) => pattern.test(key)) || [0, ''])[1]);
  return wordsOf.get(key);
}

// A rule's id that tells what it says.
function ruleMark(id) {
  return id ? make('button', { className: 'rule', type: 'button', data: { rule: id } }, id) : null;
}

// A field's or layer's name that tells what it is.
function termMark(key, text) {
  return meaningOf(key) ? make('button', { className: 'term', type: 'button', data: { term: key } }, text) : text;
}

// A term of the glossary.
function wordMark(term, text) { return make('button', { className: 'term', type: 'button', data: { word: term } }, text); }

function noteOf(target) {
  if (target.dataset.word)
    return [make('b', {}, target.dataset.word), make('p', {}, terms.find(([term]) => term === target.dataset.word)[1])];
  if (target.dataset.rule) {
    const rule = tables.rules[target.dataset.rule];
    return rule ? [make('b', {}, target.dataset.rule + ' · ' + rule[0]), make('p', {}, rule[1]),
      make('small', {}, rule[2])] : [];
  }
  const meaning = meaningOf(target.dataset.term), field = target.dataset.term.split('.');
  const header = tables.headers[field[0]];
  const nodes = [make('b', {}, field.length > 1 ? `${field[0]}.${field[1]}` : header.words), make('p', {}, meaning)];
  const names = field.length > 1 && header.byName.get(field[1]).names;
  const values = names ? Object.entries(names).filter(([value, word]) => word && value !== '*') : [];
  if (values.length && values.length <= VALUES_MAX)
    nodes.push(make('table', { className: 'values' }, make('tbody', {}, ...values.map(([value, word]) =>
      make('tr', {}, make('td', {}, value), make('td', {}, word))))));
  return nodes;
}

const VALUES_MAX = 40;
const note = { target: null, isHeld: false };

// Shows the note of `target` below it, or above where there is no room.
function noteShow(target, isHeld) {
  const pane = byId('note'), nodes = noteOf(target);
  if (!nodes.length) return;
  Object.assign(note, { target, isHeld });
  pane.replaceChildren(...nodes);
  pane.hidden = false;
  notePlace();
}

function notePlace() {
  const pane = byId('note'), { target } = note;
  const at = target.getBoundingClientRect(), size = pane.getBoundingClientRect();
  const below = at.bottom + 6 + size.height < innerHeight;
  pane.style.left = Math.max(6, Math.min(at.left, innerWidth - size.width - 6)) + 'px';
  pane.style.top = Math.max(6, below ? at.bottom + 6 : at.top - size.height - 6) + 'px';
}

function noteHide() {
  byId('note').hidden = true;
  Object.assign(note, { target: null, isHeld: false });
}

function noteHands() {
  const markOf = (event) => event.target.closest && event.target.closest('[data-rule], [data-term], [data-word]');
  document.addEventListener('click', (event) => {
    const mark = markOf(event);
    if (mark && !(note.isHeld && note.target === mark)) {
      event.preventDefault(); // a mark in a summary does not open it
      noteShow(mark, true);
    } else if (!event.target.closest('#note')) {
      noteHide();
    }
  });
  document.addEventListener('mouseover', (event) => {
    const mark = markOf(event);
    if (mark && !note.isHeld) noteShow(mark, false);
    else if (!mark && !note.isHeld && note.target) noteHide();
  });
  document.addEventListener('scroll', (event) => {
    if (note.isHeld && event.target !== byId('note')) notePlace(); // it goes along with what it is about
    else if (note.target && !note.isHeld) noteHide();
  }, true);
  byId('glossary').replaceChildren(...terms.flatMap(([term, meaning]) =>
    [make('dt', {}, term), make('dd', {}, meaning)]));
}
