#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""explain_causes.py NORNIC FILE...: holds the causes that `nornic explain --json` states against the captures
of real peers, by other means than the analysis: it reads the frames itself, takes the order in which a sender made
its packets from the IPv4 identifications (Linux counts up for each packet made), copies from equal frames, and
what a timer may have done from the clock.

Prints "ok NAME" or "not ok NAME: ..." for each file; on standard error what was stated, as a table.
A cause that the capture contradicts is wrong: none that is "shown" may be, and few that are "likely". What the
capture cannot decide is counted apart."""
import collections, json, os, struct, subprocess, sys

PSNS = 1 << 24
TIMEOUT_NS = 60e6  # the shortest in these captures: 4.096 us << 14, less what a kernel's tick takes off
READ, ANSWERS = 12, range(13, 19)
LIKELY_WRONG = 0.05  # of the statements of one capture, at the most: what is likely is not certain


class Packet:
    """One frame that is RoCEv2 over IPv4 or IPv6, RC; others are None (packet_of)."""

    def __init__(self, n, time_ns, frame):
        self.n, self.time_ns, self.frame = n, time_ns, frame
        at, ethertype = 14, struct.unpack_from('>H', frame, 12)[0]
        while ethertype == 0x8100:
            ethertype = struct.unpack_from('>H', frame, at + 2)[0]
            at += 4
        self.id = None
        if ethertype == 0x0800:
            if frame[at + 9] != 17:
                raise ValueError
            self.id = struct.unpack_from('>H', frame, at + 4)[0]
            self.src, self.dst = frame[at + 12:at + 16], frame[at + 16:at + 20]
            at += 20
        elif ethertype == 0x86dd and frame[at + 6] == 17:
            self.src, self.dst = frame[at + 8:at + 24], frame[at + 24:at + 40]
            at += 40
        else:
            raise ValueError
        if struct.unpack_from('>H', frame, at + 2)[0] != 4791:
            raise ValueError
        at += 8
        self.opcode, self.qpn = frame[at], int.from_bytes(frame[at + 5:at + 8], 'big')
        self.psn = int.from_bytes(frame[at + 9:at + 12], 'big')
        if self.opcode >> 5 != 0 or self.opcode == 0x81:
            raise ValueError
        self.is_answer = self.opcode in ANSWERS
        self.syndrome = frame[at + 12] if self.opcode in (13, 15, 16, 17, 18) else None
        self.bytes = int.from_bytes(frame[at + 24:at + 28], 'big') if self.opcode == READ else 0
        self.flow = (self.src, self.dst, self.qpn)
        self.copy_of = None

    def is_nak(self, kind):
        return self.opcode == 17 and (self.syndrome == 0x60 if kind == 'nak_sequence' else 0x20 <= self.syndrome < 0x40)


def records(path):
    """(number, time in ns, frame) of a classic pcap or a pcapng file with whole frames."""
    data = open(path, 'rb').read()
    if data[:4] == b'\x0a\x0d\x0d\x0a':
        at, n = 0, 0
        while at < len(data):
            kind, length = struct.unpack_from('<II', data, at)
            if kind == 6:
                n += 1
                _, high, low, captured, _ = struct.unpack_from('<IIIII', data, at + 8)
                yield n, (high << 32 | low), data[at + 28:at + 28 + captured]
            at += length
        return
    scale = 1 if data[:4] == b'\x4d\x3c\xb2\xa1' else 1000
    at, n = 24, 0
    while at < len(data):
        n += 1
        seconds, fraction, captured, _ = struct.unpack_from('<IIII', data, at)
        yield n, seconds * 10**9 + fraction * scale, data[at + 16:at + 16 + captured]
        at += 16 + captured


def ahead(a, b, size=PSNS):
    """How far a is ahead of b on the circle; negative: behind."""
    return (a - b + size // 2) % size - size // 2


class Capture:
    def __init__(self, path):
        self.packets, self.by_n, seen = [], {}, {}
        for n, time_ns, frame in records(path):
            try:
                p = Packet(n, time_ns, frame)
            except (ValueError, IndexError, struct.error):
                continue
            if p.id is not None and p.frame in seen and p.time_ns - seen[p.frame].time_ns < 1e9:
                p.copy_of = seen[p.frame]
            seen.setdefault(p.frame, p)
            self.packets.append(p)
            self.by_n[n] = p
        self.first_of = {}
        for p in self.packets:
            self.first_of.setdefault(p.flow, p)
        self.counts_up = {src: self.is_counting(src) for src in {p.src for p in self.packets}}
        # the other direction of a flow: by the answers, whose PSNs its requests had
        self.back = {}
        for p in self.packets:
            if p.is_answer and p.flow not in self.back:
                q = self.newest_asked(p)
                if q:
                    self.back[p.flow], self.back[q.flow] = q.flow, p.flow

    def newest_asked(self, answer):
        for q in reversed(self.packets[:self.packets.index(answer)]):
            if not q.is_answer and (q.src, q.dst) == (answer.dst, answer.src) and \
                    0 <= ahead(answer.psn, q.psn) < max(1, (q.bytes + 255) // 256):
                return q
        return None

    def is_counting(self, src):
        ids = [p.id for p in self.packets if p.src == src and not p.copy_of]
        return len(ids) > 2 and None not in ids and len(set(ids)) > len(ids) * 9 // 10

    def made_before(self, a, b):
        """Whether a was made before b, which is the same sender's; None: it cannot be told."""
        if a is b or a.id is None or not self.counts_up[a.src]:
            return None
        return ahead(a.id, b.id, 1 << 16) < 0

    def of(self, flow, is_answer=False):
        return [p for p in self.packets if p.flow == flow and p.is_answer == is_answer and not p.copy_of]

    # --- what is true of one packet: True, False, or None where the capture does not decide ---

    def is_again(self, p):
        """A packet at or behind its PSN was made before it: requests are sent in the order of their PSNs."""
        if not self.counts_up[p.src] or p.id is None:
            earlier = [q for q in self.of(p.flow) if q.n < p.n and q.psn == p.psn]
            return True if earlier else None
        return any(self.made_before(q, p) and ahead(q.psn, p.psn) >= 0 for q in self.of(p.flow) if q is not p) or None

    def is_first_of_batch(self, p):
        """The packet that was made before it had a later PSN, or the same."""
        made = [q for q in self.of(p.flow) if q is not p and self.made_before(q, p)]
        if not made:
            return None
        last = max(made, key=lambda q: ahead(q.id, p.id, 1 << 16))
        if ahead(p.id, last.id, 1 << 16) != 1:
            return None  # others were made in between
        return ahead(p.psn, last.psn) <= 0

    def copies_before(self, p):
        return [q for q in self.of(p.flow) if q.n < p.n and q.psn == p.psn and q is not p]

    def answers_before(self, p, since=0):
        return [q for q in self.packets if q.flow == self.back.get(p.flow) and q.is_answer and since < q.n < p.n]

    def caused_by(self, p, cause):
        copies = self.copies_before(p)
        if self.is_again(p) is False:
            return False
        if cause == 'timeout':
            return False if copies and p.time_ns - copies[-1].time_ns < TIMEOUT_NS else True
        if cause == 'restart':
            first = self.is_first_of_batch(p)
            return None if first is None else not first
        answers = self.answers_before(p)
        if cause in ('nak_sequence', 'rnr'):
            return any(a.is_nak(cause) and ahead(a.psn, p.psn) <= 0 for a in answers)
        if cause == 'implied_nak':
            return any(ahead(a.psn, p.psn) >= 0 or a.opcode in ANSWERS for a in answers)
        return None

    def psn_missing(self, p, cause):
        if p.is_answer or not self.counts_up[p.src]:
            return None
        before = [q for q in self.of(p.flow) if q.n < p.n]
        newest = max((ahead(q.psn, p.psn) for q in before), default=None)
        if newest is None or newest >= -1:
            return False if newest is not None and newest >= 0 else None
        later = [q for q in self.of(p.flow)
                 if q.n > p.n and newest < ahead(q.psn, p.psn) < 0 and self.made_before(q, p)]
        if cause == 'overtaken':
            return bool(later)
        if cause == 'lost_before_capture':
            return len({q.psn for q in later}) < -newest - 1
        return None

    def naked(self, p, cause):
        requests = [q for q in self.of(self.back.get(p.flow)) if q.psn == p.psn and q.n < p.n]
        if cause == 'lost_before_capture':
            return not requests
        if cause == 'lost_after_capture':
            return bool(requests)
        return None

    def in_order(self, p, cause):
        if cause == 'copied_by_network':
            return p.copy_of is not None if p.id is not None and self.counts_up[p.src] else None
        if cause == 'overtaken':
            made = [self.made_before(p, q) for q in self.packets if q.n < p.n and q.src == p.src and not q.copy_of]
            return any(made) if None not in made else None
        if cause == 'asked_again':
            return any(q.psn == p.psn and q is not p for q in self.of(p.flow, True) if q.n < p.n) or None
        return None

    def is_answered(self, p):
        return any(q.flow == self.back.get(p.flow) and q.is_answer and q.n > p.n and ahead(q.psn, p.psn) >= 0
                   for q in self.packets)

    def judge(self, finding):
        """True, False, None of a finding with a cause."""
        p, kind, cause = self.by_n.get(finding['n']), finding['kind'], finding.get('cause')
        if p is None or cause in (None, 'none', 'unknown') or finding.get('sure') == 'unknown':
            return None
        if kind in ('retransmission', 'read_replay', 'timeout'):
            return False if p.copy_of else self.caused_by(p, cause)
        if kind == 'psn_gap':
            return self.psn_missing(p, cause)
        if kind in ('reordered', 'duplicate'):
            return self.in_order(p, cause)
        if kind == 'nak_sequence':
            return self.naked(p, cause)
        if kind == 'rnr':
            return p.is_nak('rnr')
        if kind == 'missing_ack':
            return False if self.is_answered(p) else None
        return None


def findings_of(nornic, path):
    out = subprocess.run([nornic, 'explain', '--json', path], capture_output=True, text=True, timeout=120, check=True)
    for line in out.stdout.splitlines():
        o = json.loads(line)
        for f in o.get('remarks', []):
            yield f
        if 'kind' in o and 'severity' in o and 'n' in o:
            yield o
        for f in o.get('findings', []) if isinstance(o.get('findings'), list) else []:
            yield f


def main():
    nornic, paths, status = sys.argv[1], sys.argv[2:], 0
    table = collections.defaultdict(lambda: collections.Counter())
    for path in paths:
        capture, wrong, right = Capture(path), [], 0
        for f in findings_of(nornic, path):
            verdict = capture.judge(f)
            table[(f['kind'], f.get('cause'), f.get('sure'))][verdict] += 1
            right += verdict is True
            other = capture.judge({**f, 'cause': f.get('or_cause')})
            if verdict is False and (f['sure'] == 'shown' or other is not True):
                wrong.append(f)
        name = os.path.basename(path)
        if any(f['sure'] == 'shown' for f in wrong) or len(wrong) > LIKELY_WRONG * (right + len(wrong)):
            status = 1
            told = '; '.join('#%d %s: %s, %s (%s)' % (f['n'], f['kind'], f['cause'], f['sure'], f['words'])
                             for f in wrong[:6])
            print('not ok %s: %d causes are wrong: %s' % (name, len(wrong), told))
        else:
            print('ok %s' % name)
            print('%s: %d causes are true, %d likely ones are not' % (name, right, len(wrong)), file=sys.stderr)
    print('%-16s %-22s %-8s %6s %6s %6s' % ('finding', 'cause', 'sure', 'true', 'wrong', 'open'), file=sys.stderr)
    for key, c in sorted(table.items(), key=str):
        if key[1]:
            print('%-16s %-22s %-8s %6d %6d %6d' % (*key, c[True], c[False], c[None]), file=sys.stderr)
    return status


if __name__ == '__main__':
    sys.exit(main())
