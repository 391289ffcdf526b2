#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Which packets began and ended each message of iWARP, and how long it took, held against `--csv iwarp-operations`.

The reader shares no code with nornic: a message begins with the packet that brought its first byte; a Send or Write
ends with the first packet whose acknowledgement number is behind its last byte, a Read or an atomic with the packet
that completes the last segment of its answer, the n-th of its kind. Of connections whose SYN is in the capture.
"""
import collections
import csv
import io
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import captures
from iwarp_reader import ACK, M, SYN, Direction, fpdus_of, frame_of, segment_of

WRITE, READ, RESPONSE, ATOMIC, ATOMIC_RESPONSE, SENDS = 0, 1, 2, 10, 11, (3, 4, 5, 6, 8, 9)


class Way:
    """What one end sent: its bytes, which packet brought each first, and all acknowledgements of them."""

    def __init__(self, seq):
        self.direction, self.brought, self.reached, self.acks = Direction(seq), {}, [], []

    def add(self, number, segment):
        place = (segment.seq - self.direction.first + 2**31) % 2**32 - 2**31
        self.direction.add(segment)
        for at in range(place, place + len(segment.data)):
            self.brought.setdefault(at, number)

    def complete_at(self, end):
        """The packet with which all before `end` was there."""
        return max(self.brought[at] for at in range(end))

    def acked_at(self, end):
        return next((n for n, place in self.acks if place >= end), None)


def connections(path):
    current, found = {}, []
    times = {}
    for number, (ns, _, frame) in enumerate(captures.records(path), 1):
        times[number] = ns
        segment = segment_of(frame)
        if not segment:
            continue
        way, back = segment.ends, segment.ends[::-1]
        pair = current.get(frozenset(way))
        if segment.flags & SYN:
            if not segment.flags & ACK and (not pair or pair[way].direction.first != segment.seq + 1):
                pair = current[frozenset(way)] = {way: Way(segment.seq)}
                found.append(pair)
            elif pair is not None:
                pair.setdefault(way, Way(segment.seq))
        if pair is None or len(pair) < 2:
            continue
        if segment.data and not segment.flags & SYN:
            pair[way].add(number, segment)
        place = (segment.ack - pair[back].direction.first + 2**31) % 2**32 - 2**31
        pair[back].acks.append((number, place))
    return found, times


def whole(fpdu, has_markers):
    assert not has_markers, 'no capture has markers'
    return 2 + fpdu.ulpdu_len + -(2 + fpdu.ulpdu_len) % 4 + 4


def messages(ways, frames):
    """(side, first packet, last packet) of all that can be told."""
    asked, answered = collections.defaultdict(list), collections.defaultdict(list)
    for side in (0, 1):
        data, begins = ways[side].direction.bytes(), {}
        has_markers = bool(frames[1 - side][16] & M)
        for f, _, _ in fpdus_of(data, len(frames[side]), has_markers, True, True):
            end = f.at + whole(f, has_markers)
            kind = 'send' if f.opcode in SENDS else f.opcode
            begin = begins.setdefault(kind, f.at)
            if f.last:
                del begins[kind]
            if f.last and (kind == 'send' or kind == WRITE):
                last = ways[side].acked_at(end)
                if last and last > ways[side].complete_at(end):
                    yield side, ways[side].brought[begin], last
            elif kind in (READ, ATOMIC):
                asked[side, kind].append(ways[side].brought[begin])
            elif f.last and kind in (RESPONSE, ATOMIC_RESPONSE):
                answered[1 - side, READ if kind == RESPONSE else ATOMIC].append(ways[side].complete_at(end))
    for key in asked:
        for first, last in zip(asked[key], answered[key]):
            yield key[0], first, last


def run(nornic, *arguments):
    return subprocess.run([nornic, 'explain', *arguments], capture_output=True, text=True, check=True,
                          timeout=60).stdout


def main():
    nornic, paths, compared, differences = sys.argv[1], sys.argv[2:], 0, 0
    for path in paths:
        found, times = connections(path)
        ids = {}
        for line in run(nornic, '--json', path).splitlines():
            c = json.loads(line).get('iwarp_connection')
            if c and not c['begins_before']:
                ids.setdefault(tuple(zip(c['addr'], c['port'])), []).append(c['connection'])
        rows = list(csv.DictReader(io.StringIO(run(nornic, '--csv', 'iwarp-operations', path))))
        for pair in found:
            ends = next((e for e in pair if tuple(e) in ids and ids[tuple(e)]), None)
            if not ends or len(pair) < 2:
                continue
            connection = ids[tuple(ends)].pop(0)
            ways = [pair[ends], pair[ends[::-1]]]
            frames = [frame_of(way.direction.bytes()) for way in ways]
            if None in frames:
                continue
            wanted = sorted(messages(ways, frames))
            mine = [r for r in rows if int(r['connection']) == connection]
            said = sorted((int(r['side']), int(r['first_packet']), int(r['answer_packet'])) for r in mine)
            late = [r for r in mine if times[int(r['answer_packet'])] - times[int(r['first_packet'])]
                    != int(r['latency_ns'])]
            compared += len(wanted)
            if said != wanted or late:
                differences += 1
                print('%s: connection %d: by nornic only %s, by the reader only %s, other times %s' %
                      (os.path.basename(path), connection, sorted(set(said) - set(wanted)),
                       sorted(set(wanted) - set(said)), late))
    print('%d captures, %d messages of iWARP began and ended where nornic says; %d differences' %
          (len(paths), compared, differences))
    return differences > 0 or compared < 100


if __name__ == '__main__':
    sys.exit(main())
