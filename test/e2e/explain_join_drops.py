#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""explain_join_drops.py await A.pcap B.pcap SENT_A LOST_A SENT_B LOST_B
    waits until both captures have all that the router saw, by its counters; 30 seconds at most
explain_join_drops.py check A.pcap B.pcap JOINED.json EVERY AT LOST_A LOST_B SECONDS

The latter compares `nornic explain A.pcap B.pcap --join --json` with what a router between both ends dropped: of the
packets of each way, in the order in which they left, number AT of each EVERY, LOST_A and LOST_B in all by the
router's counters. SECONDS: by so much the clock of B was set forward. Of the last EVERY packets of a way it may be left
open whether one was lost or the capture of B ended before it: fate unknown, with lost among its candidates.
"""
import collections
import json
import struct
import sys
import time


SOURCES = bytes([10, 78, 1, 1]), bytes([10, 78, 2, 1])


def roce_records(path):
    """(number of the record, IPv4 source) of the RoCE packets of a pcap file of nanoseconds."""
    with open(path, 'rb') as f:
        data = f.read()
    at, number = 24, 0
    while at + 16 <= len(data):
        captured = struct.unpack_from('<I', data, at + 8)[0]
        frame, number = data[at + 16:at + 16 + captured], number + 1
        at += 16 + captured
        if at > len(data):
            break  # it is still being written
        if frame[12:14] == b'\x08\x00' and frame[23] == 17 and frame[36:38] == (4791).to_bytes(2, 'big'):
            yield number, frame[26:30]


def wait_for(captures, sent, lost):
    expected = [{SOURCES[0]: sent[0], SOURCES[1]: sent[1] - lost[1]},
                {SOURCES[0]: sent[0] - lost[0], SOURCES[1]: sent[1]}]
    for _ in range(150):
        found = [collections.Counter(address for _, address in roce_records(c)) for c in captures]
        if found == expected:
            return 0
        time.sleep(0.2)
    print(f'{found} were captured, {expected} passed')
    return 1


def check(captures, joined_path, every, place, counted, seconds):
    wrong = []
    with open(joined_path, encoding='utf-8') as f:
        sums = json.loads(f.readline())['join']
        packets = [json.loads(line)['join'] for line in f if '"layers"' in line]
    for end, letter in enumerate('ab'):
        source = SOURCES[end]
        left = [number for number, address in roce_records(captures[end]) if address == source]
        dropped = {number for k, number in enumerate(left) if k % every == place}
        if len(dropped) != counted[end] or not dropped:
            wrong.append(f'{letter}: {len(dropped)} of {len(left)} packets by order, {counted[end]} by the counter')
        fates = collections.defaultdict(set)
        for p in packets:
            if p['from'] == letter and letter in p:
                number = p[letter]['n']
                open_at_end = number in left[-every:] and 'lost' in p.get('candidates', ())
                fates['outside' if open_at_end else p['fate']].add(number)
        if fates['lost'] | fates['outside'] != dropped:
            wrong.append(f'{letter}: lost {sorted(fates["lost"])}, it was {sorted(dropped)}')
        if fates['arrived'] != set(left) - dropped:
            wrong.append(f'{letter}: {len(fates["arrived"])} arrived, it was {len(left) - len(dropped)}')
    clock = sums['clock']
    if abs(clock['ahead_ns'] - seconds * 1e9) > clock['error_ns'] + 1000:
        wrong.append(f'B is {seconds} s ahead, and is said to be {clock}')
    print('; '.join(wrong) or 'as it was')
    return 1 if wrong else 0


if sys.argv[1] == 'await':
    sys.exit(wait_for(sys.argv[2:4], [int(n) for n in sys.argv[4:8:2]], [int(n) for n in sys.argv[5:8:2]]))
sys.exit(check(sys.argv[2:4], sys.argv[4], int(sys.argv[5]), int(sys.argv[6]),
               [int(n) for n in sys.argv[7:9]], float(sys.argv[9])))
