#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""explain_join_clocks.py await A.pcap B.pcap   waits until both captures have equal packets, SMC-R and CM among them,
                                             and neither grows; 30 seconds at most
explain_join_clocks.py check A.pcap B.pcap JOINED.json SECONDS

The latter compares `nornic explain A.pcap B.pcap --join --json` with the two captures themselves, which one clock has
stamped before that of B was set SECONDS forward: the clock, where each packet comes from, which record of the one is
which of the other (equal bytes), and how long each took. Nothing was lost; one of the two may lack packets that the
other has.
"""
import json
import struct
import sys
import time

SOURCES = {bytes([10, 77, 0, 1]): 0, bytes([10, 77, 0, 2]): 1}  # behind which end it is: left, right
SYN, SMCR = 2, bytes([0xe2, 0xd4, 0xc3, 0xd9])  # a flag of TCP; the eye catcher, in EBCDIC


def records(path):
    """(number, time in ns, frame) of a pcap file of nanoseconds."""
    with open(path, 'rb') as f:
        data = f.read()
    at, number = 24, 0
    while at + 16 <= len(data):
        seconds, ns, captured = struct.unpack_from('<III', data, at)
        number += 1
        if at + 16 + captured > len(data):
            break  # it is still being written
        yield number, seconds * 10**9 + ns, data[at + 16:at + 16 + captured]
        at += 16 + captured


def is_told(frame):
    """Whether explain tells of it: of TCP only the handshake, which offers SMC-R, and CLC messages."""
    tcp = 34
    if frame[23] == 17:
        return True
    data = tcp + 4 * (frame[tcp + 12] >> 4)
    return bool(frame[tcp + 13] & SYN) or frame[data:data + 4] == SMCR


def wait_for(paths):
    before = None
    for _ in range(60):
        found = [[frame for _, _, frame in records(p)] for p in paths]
        kinds = {frame[23] for frame in found[0]}
        if found == before and sorted(found[0]) == sorted(found[1]) and kinds == {6, 17}:
            return 0
        before = found
        time.sleep(0.5)
    print(f'{[len(f) for f in found]} packets were captured, of protocols {kinds}')
    return 1


def pairs(a, b):
    """Number of the record in A: that in B, and how long the packet went, by the order of equal frames."""
    there, found = {}, {}
    for number, ns, frame in records(b):
        there.setdefault(frame, []).append((number, ns))
    for number, ns, frame in records(a):
        if there.get(frame):
            found[number] = (*there[frame].pop(0), ns, SOURCES[frame[26:30]])
    return found


def check(a, b, joined_path, seconds):
    ahead_ns = round(seconds * 10**9)
    truth, wrong = pairs(a, b), []
    with open(joined_path, encoding='utf-8') as f:
        sums = json.loads(f.readline())['join']
        places = [json.loads(line)['join'] for line in f if '"layers"' in line]
    clock = sums['clock']
    room = clock['error_ns'] + 1
    wanted = {number for number, _, frame in records(a) if number in truth and is_told(frame)}
    shortest = [min(abs(ns_b - ahead_ns - ns_a) for number, (_, ns_b, ns_a, source) in truth.items()
                    if number in wanted and source == end) for end in (0, 1)]
    if clock['error_ns'] > sum(shortest):
        wrong.append(f'the round trip took {shortest}, which is known to +- {clock["error_ns"]} ns only')
    if abs(clock['ahead_ns'] - ahead_ns) > room:
        wrong.append(f'B is {ahead_ns} ns ahead, and is said to be {clock}')
    ways = {}  # of both ends: from A or from B
    for p in places:
        if 'a' in p and 'b' in p:
            number_b, ns_b, ns_a, source = truth[p['a']['n']]
            took_ns = ns_b - ahead_ns - ns_a
            ways.setdefault(source, set()).add((p['from'], took_ns > 0))
            if number_b != p['b']['n']:
                wrong.append(f'#{p["a"]["n"]} of A is #{number_b} of B, not #{p["b"]["n"]}')
            if p['fate'] != 'arrived' or abs(p['delay_ns'] - abs(took_ns)) > room:
                wrong.append(f'{p}: it took {abs(took_ns)} ns')
        elif p['fate'] in ('lost', 'damaged', 'copy'):
            wrong.append(f'{p}: nothing was lost')
    together = {p['a']['n'] for p in places if 'a' in p and 'b' in p}
    if not wanted or not wanted <= together:
        wrong.append(f'{sorted(wanted - together)} of {len(wanted)} packets are not known again')
    if any(w != {('a', True)} and w != {('b', False)} for w in ways.values()) or len(ways) != 2:
        wrong.append(f'which end packets come from: {ways}')
    print('; '.join(wrong[:6]) or f'{len(together)} packets as they were, +- {room - 1:.0f} ns')
    return 1 if wrong else 0


if sys.argv[1] == 'await':
    sys.exit(wait_for(sys.argv[2:4]))
sys.exit(check(*sys.argv[2:5], float(sys.argv[5])))
