// SPDX-License-Identifier: BSD-2-Clause
// Lessons about real captures: what to look at, and questions whose answers are checked. A page that was made without a
// capture holds those of all lessons; which one is in the address.
'use strict';

// A step says something about packet `at`. A question is answered by choosing a packet (`packet`: the right ones), one of
// some answers (`choices`, the first is right; they are shown in another order), or by a number.
const TOURS = [
  { key: 'loss', title: 'A packet is lost', steps: [
    { at: 1, say: 'The host on the left sends a SEND of 3000 bytes. It is cut into packets of 1024 bytes, and each packet ' +
      'has the next packet sequence number (PSN). The first one is 0x003000.' },
    { at: 2, ask: 'Look at the PSNs of the first packets. Which packet is the first to show that another is missing before it?',
      packet: [2], hint: 'The PSNs should go on by one from packet to packet.',
      because: 'Packet 2 has PSN 0x003002, but 0x003001 was never seen: it was lost before it came to this capture.' },
    { at: 3, say: 'The sender does not know it yet and goes on. A receiver that misses a packet takes none of those ' +
      'behind it: they are dropped, although they arrived well.' },
    { at: 9, ask: 'Which packet tells the sender of the loss?', packet: [15], hint: 'It comes from the right, and says "no".',
      because: 'Packet 15 is a NAK, "PSN sequence error". It names the PSN that is missing, 0x003001, and acknowledges all before it.' },
    { at: 16, say: 'The sender goes back: from the missing packet on it sends everything again. This is called go back N.' },
    { at: 21, ask: 'How many packets were sent because of that one NAK, until new ones followed (16 to 30)?', number: 15,
      hint: 'Count from packet 16 to packet 30.',
      because: '15 packets were sent, although only two had been lost: PSN 0x003001, and 0x003006, whose first copy is not in the capture either.' },
    { at: 33, say: 'Now the answers come: one ACK acknowledges everything up to its PSN.' },
    { at: 15, ask: 'Why was there no timeout?', choices: ['The NAK told of the loss at once', 'The sender has no timer',
      'The packet arrived after all'], because: 'A timeout is needed only where nothing tells of the loss. The NAK came after ' +
      '10 ms; the timeout of this sender is 67 ms.' }] },
  { key: 'rnr', title: 'The receiver is not ready', steps: [
    { at: 1, say: 'A SEND needs a receive that the program at the other end has posted. Here it has posted none yet.' },
    { at: 1, ask: 'Which packet says so?', packet: [2], hint: 'It is the answer.',
      because: 'Packet 2 is an RNR NAK: "receiver not ready". It also says how long to wait.' },
    { at: 2, ask: 'How long is the sender asked to wait, in milliseconds? Look at the syndrome.', number: 10.24, unit: 'ms',
      hint: 'It stands in the words of packet 2, and in the field aeth.syndrome.',
      because: '10.24 ms. The lower five bits of the syndrome are a code for it.' },
    { at: 3, ask: 'Did the sender wait long enough?', choices: ['Yes, 13.4 ms', 'No, it sent at once', 'It never sent again'],
      because: 'Packet 3 came 13.4 ms after the RNR NAK: at least as long as it was told to.' },
    { at: 6, say: 'After two more tries a receive is there, and the SEND is acknowledged. Nothing was lost; the program was late.' },
    { at: 10, say: 'Here a message of three packets meets the same. Only the first is answered with an RNR NAK.' },
    { at: 11, ask: 'Linux sends a second NAK behind it. What kind is it?', choices: ['PSN sequence error',
      'Invalid request', 'Remote access error'], because: 'Linux soft-RoCE also says "PSN sequence error" for the packets behind. ' +
      'A sender that restarts on it would not wait; it has to ignore it.' },
    { at: 12, say: 'What can be done: the program has to post its receives earlier, or more of them.' }] },
  { key: 'timeout', title: 'An answer is lost', steps: [
    { at: 30, say: 'A message of two packets leaves. Both arrive, and the receiver acknowledges them: but that answer is lost.' },
    { at: 31, ask: 'Which packet does the sender send next, when its patience is over?', packet: [32],
      hint: 'Look for the gap in time.', because: 'Packet 32 is the first packet of the message again, 66 ms later: the timeout.' },
    { at: 32, ask: 'What is the timeout, in units of 4.096 microseconds, as a power of two? (67 ms is 4.096 us times 2 to this.)',
      number: 14, hint: 'ROCE-RC-41 has the formula: 4.096 us x 2^t.', because: '4.096 us x 2^14 = 67.1 ms.' },
    { at: 34, ask: 'Both packets had arrived already. What did the receiver do with the copies?',
      choices: ['It acknowledged them again and threw the data away', 'It wrote the data a second time', 'It sent a NAK'],
      because: 'Duplicates are never executed again, but acknowledged: the first acknowledgement may have been lost, as it was here.' }] },
  { key: 'read', title: 'A READ is asked for again', steps: [
    { at: 48, say: 'An RDMA READ of 4500 bytes is one small request. Its answer has five packets, and takes five PSNs.' },
    { at: 51, ask: 'Which packet shows that a part of the answer is missing before it?', packet: [51],
      hint: 'Follow the PSNs of the answers.', because: 'After PSN 0x003020 comes 0x003022: the third answer was lost.' },
    { at: 55, say: 'Nobody sends a NAK for an answer. The sender of the request notices by itself, and asks for what is missing.' },
    { at: 55, ask: 'How many bytes does it ask for now?', number: 2452, unit: 'bytes', hint: 'The RETH of packet 55 says it: dma_len.',
      because: '2452 bytes: 4500 less the 2048 that had come. The address and the PSN moved on by as much.' },
    { at: 57, say: 'The answer goes on with the third of five packets.' }] },
  { key: 'atomic', title: 'An atomic is sent twice', steps: [
    { at: 53, say: 'A fetch-and-add adds to 8 bytes of remote memory, and tells what stood there before. If it were done twice, ' +
      'the sum would be wrong.' },
    { at: 54, ask: 'What stood there before? (The last two hex digits of the original value, as a number.)', number: 98,
      hint: 'The words of packet 54 tell it in hex, atomicacketh.original too: 0x62.', because: 'The original value ends in 0x62, which is 98.' },
    { at: 56, say: 'Because an earlier answer is missing, the sender goes back, and sends the atomic again.' },
    { at: 60, ask: 'What does the second answer (packet 60) tell?', choices: ['The same original value: it was not done again',
      'The sum: it was done twice', 'An error'],
      because: 'The responder keeps the results of its last atomics. A copy is answered from there, and never executed again.' }] },
  { key: 'cm', title: 'A connection is made', steps: [
    { at: 1, say: 'The connection manager (CM) talks by datagrams to queue pair 1. A REQ asks for a connection.' },
    { at: 1, ask: 'With which PSN is the other side to begin? (In hex: 0x...; look for "starting PSN".)', number: 0xf0a097,
      hint: 'Packet 1 has a field starting_psn, in its layer cm_req.', because: 'The starting PSN in a message is the one its receiver is to use: see packet 6, the first from there.' },
    { at: 2, ask: 'Which packet accepts the connection?', packet: [2], hint: 'REP is the reply.',
      because: 'The REP names the queue pair and the starting PSN of the other side.' },
    { at: 3, say: 'RTU, "ready to use", ends the handshake. Data may already come before it.' },
    { at: 4, ask: 'Which data packet uses the PSN that the REP asked for (0xbadeee)?', packet: [4],
      hint: 'The first packet from the left after the RTU.', because: 'Packet 4: what the REP announced, the other end uses.' },
    { at: 40, say: 'DREQ and DREP end the connection in order.' }] },
  { key: 'cnp', title: 'The network is congested', steps: [
    { at: 1, say: 'Two messages leave at full speed. A router with a long queue drops nothing yet: it marks packets.' },
    { at: 1, ask: 'Choose a packet that was marked "congestion experienced".', packet: 'ecn_mark',
      hint: 'The finding "ecn mark" leads to them; in the IP header, ecn is 3.',
      because: 'Its two ECN bits are 11. The ICRC leaves them out, so a router may change them.' },
    { at: 33, ask: 'Which packet asks the sender to slow down?', packet: [33], hint: 'It is a CNP, a congestion notification packet.',
      because: 'Packet 33 is a CNP. It goes to the queue pair whose packets were marked.' },
    { at: 35, say: 'One packet follows at once. Then the sender waits: look at the time of packet 36.' },
    { at: 36, ask: 'About how long was the pause, in whole milliseconds?', number: 10, unit: 'ms', hint: 'From packet 35 to packet 36.',
      because: '10 ms: its rate was cut, so the next packets had to wait. Nothing was lost, and nothing is sent again.' }] },
  { key: 'smcr', title: 'SMC-R survives a cut link', steps: [
    { at: 1, say: 'SMC-R gives TCP programs RDMA. Proposal, Accept and Confirm agree on queue pairs and buffers.' },
    { at: 8, ask: 'Which message adds a second link?', packet: [8, 10], hint: 'Links are what LLC messages are about: ADD LINK.',
      because: 'The server asks with ADD LINK, the client answers. Now there are two links over two adapters.' },
    { at: 35, say: '3000 bytes are written over link 1, with a CDC message that tells of them. Then link 1 is cut: they never arrive.' },
    { at: 39, ask: 'Which packet is the first of the connection on its new link?', packet: [39],
      hint: 'It is a CDC message with the flag "failover validation".', because: 'A CDC with the failover flag: it names the last message that surely arrived, number 1.' },
    { at: 40, ask: 'How many bytes are written again?', number: 3000, unit: 'bytes', hint: 'Packets 40 to 42.',
      because: 'Bytes 10000 to 12999: what the first link took with it. The program noticed nothing but a delay.' },
    { at: 44, say: 'DELETE LINK tells the other end that link 1 is gone. Later a new link takes its place.' }] },
];

const lesson = { tour: null, step: 0, right: 0, asked: 0, isDone: false };
const tourNames = datasets.flatMap(toursOf);

function tourDialog() {
  const known = TOURS.filter((t) => tourNames.includes(t.key));
  byId('tour-list').replaceChildren(...known.map((t) => make('li', {}, make('button', { data: { tour: t.key } }, t.title),
    make('small', {}, ` ${t.steps.length} steps, ${t.steps.filter((s) => s.ask).length} questions`))));
  if (!byId('tours').open) byId('tours').showModal();
}

// Another capture needs the page anew: the tables and packets are read once.
function tourOpen(key) {
  if (toursOf(dataset).includes(key)) {
    history.replaceState(null, '', '#&tour=' + key);
    tourBegin(TOURS.find((t) => t.key === key));
    return;
  }
  location.hash = '#&tour=' + key;
  location.reload();
}

function tourBegin(tour) {
  if (byId('tours').open) byId('tours').close();
  Object.assign(lesson, { tour, step: 0, right: 0, asked: 0 });
  byId('lesson').hidden = false;
  tourStep(0);
  if (matchMedia('(max-width: 700px)').matches) byId('lesson').scrollIntoView(); // one column: it is far below
}

// The focus goes with the step: to its text, which a screen reader then says, and behind which Tab finds the answers.
function tourStep(to) {
  const { tour } = lesson;
  lesson.step = to;
  lesson.isDone = false;
  const step = tour.steps[to], last = to === tour.steps.length - 1;
  if (step.at && !(step.ask && Array.isArray(step.packet) && step.packet.includes(step.at))) chooseNumber(step.at);
  byId('lesson').replaceChildren(
    make('p', { className: 'lesson-title' }, make('b', {}, tour.title), ` · ${to + 1} of ${tour.steps.length}`,
      make('span', { className: 'lesson-nav' },
        make('button', { id: 'lesson-back', disabled: to === 0, onclick: () => tourStep(to - 1) }, 'back'),
        make('button', { id: 'lesson-next', onclick: () => (last ? tourDialog() : tourStep(to + 1)) }, last ? 'other lessons' : 'next'),
        make('button', { id: 'lesson-end', title: 'end the lesson', ariaLabel: 'end the lesson', onclick: tourEnd }, '×'))),
    make('p', { id: 'lesson-text', tabIndex: -1 }, ...linked(step.ask || step.say)),
    ...(step.ask ? question(step) : []), make('p', { id: 'lesson-answer', role: 'status' }));
  byId('lesson-text').focus({ preventScroll: true });
}

function tourEnd() {
  byId('lesson').hidden = true;
  byId('lesson').replaceChildren(); // its buttons are asked for by their ids
  lesson.tour = null;
  remember();
}

function question(step) {
  if (step.choices) {
    // the order is the same each time, and not that of the list
    const order = step.choices.map((text, k) => [text, k]).sort((a, b) => (a[0].length * 7 % 5) - (b[0].length * 7 % 5) ||
      a[0].localeCompare(b[0]));
    return [make('p', { className: 'choices' }, ...order.map(([text, k]) =>
      make('button', { data: { choice: k }, onclick: () => tell(step, k === 0) }, text)))];
  }
  if (step.packet)
    return [make('p', {}, 'Choose it in the ladder, then ', make('button', { id: 'lesson-this', onclick: tourAnswer }, 'this one'),
      ' or Enter')];
  const input = make('input', { id: 'lesson-number', ariaLabel: 'your answer', autocomplete: 'off', size: 12 });
  const check = () => tell(step, numberIn(input.value, step.unit) === step.number);
  input.addEventListener('keydown', (event) => { if (event.key === 'Enter') check(); });
  return [make('p', {}, input, ' ', make('button', { id: 'lesson-check', onclick: check }, 'check'))];
}

// What a unit measures, and how many of the smallest it is.
const UNITS = {
  ns: ['time', 1], us: ['time', 1e3], 'µs': ['time', 1e3], 'μs': ['time', 1e3], ms: ['time', 1e6], s: ['time', 1e9],
  milliseconds: ['time', 1e6], seconds: ['time', 1e9], b: ['data', 1], bytes: ['data', 1], kb: ['data', 1e3], mb: ['data', 1e6],
};

// 10.24 ms, 10240 µs, 2452 bytes, 2,452 and 0xF0A097 are numbers, as people write them, in the unit that is asked for. NaN:
// it is none, or a measure of something else. A word that is no unit ("15 packets") changes nothing.
function numberIn(text, unit) {
  const found = /^(0x[0-9a-f]+|[0-9][0-9,]*(?:\.[0-9]+)?)\s*([a-zµμ]*)$/i.exec(text.trim());
  if (!found) return NaN;
  const number = Number(found[1].replace(/,(?=[0-9]{3}\b)/g, '')), word = found[2].toLowerCase();
  if (!Object.hasOwn(UNITS, word)) return number;
  const [kind, size] = UNITS[word], [kindAsked, sizeAsked] = UNITS[unit] || [];
  return kind === kindAsked ? Number((number * size / sizeAsked).toPrecision(12)) : NaN;
}

// With the packet that is chosen in the ladder.
function tourAnswer() {
  const step = lesson.tour.steps[lesson.step];
  tell(step, isRight(step));
}

// A packet is named by its number, or by a finding that it has.
function isRight(step) {
  if (state.chosen < 0) return false;
  if (typeof step.packet === 'string') return hasFinding(state.chosen, kindOf.get(step.packet));
  return step.packet.includes(model.number[state.chosen]);
}

function tell(step, right) {
  const text = byId('lesson-answer');
  text.className = right ? 'right' : 'wrong';
  text.replaceChildren(...linked(right ? `Right. ${step.because}` : `Not yet. ${step.hint || 'Look again.'}`));
  if (right && !lesson.isDone) lesson.right++;
  lesson.isDone = lesson.isDone || right;
}

function tourHands() {
  byId('tours-button').hidden = !tourNames.length;
  byId('tours-button').addEventListener('click', tourDialog);
  byId('tour-list').addEventListener('click', (event) => {
    const button = event.target.closest('[data-tour]');
    if (button) tourOpen(button.dataset.tour);
  });
  if (!tourNames.length) return;
  const tour = TOURS.find((t) => t.key === tourWanted());
  if (tour) tourBegin(tour);
  else tourDialog();
}
