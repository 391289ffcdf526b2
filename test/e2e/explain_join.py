#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""explain_join.py forward WHAT LEFT RIGHT TRUTH.json   moves frames between two interfaces; of packets of WHAT (roce,
                                                   or iwarp: all TCP but that of the exchange of queue pairs) it loses
                                                   some and sends some twice, at random, until it gets SIGTERM, and
                                                   writes which (nothing: all passes). It captures nothing itself.
   explain_join.py await WHAT TRUTH.json LEFT.pcap RIGHT.pcap   waits until both captures have all of it, 30 s at most
   explain_join.py check TRUTH.json JOINED.json    compares what it did with `nornic explain LEFT RIGHT --join --json`
"""
import collections
import json
import random
import select
import signal
import socket
import struct
import sys
import time

ETH_P_ALL = 3
OUTGOING = 4
SO_TIMESTAMP = 29
LOSS, COPY = 0.05, 0.03
LONGEST = 65535
EXCHANGE = (18515).to_bytes(2, 'big')


def is_roce(frame):
    return frame[12:14] == b'\x08\x00' and frame[23] == 17 and frame[36:38] == (4791).to_bytes(2, 'big')


def is_iwarp(frame):
    return frame[12:14] == b'\x08\x00' and frame[23] == 6 and EXCHANGE not in (frame[34:36], frame[36:38])


IS = {'roce': is_roce, 'iwarp': is_iwarp, 'nothing': lambda frame: False}


def forward(what, left, right, truth_path):
    sockets = []
    for name in (left, right):
        s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUFFORCE if hasattr(socket, 'SO_RCVBUFFORCE') else 33, 1 << 24)
        # The kernel notes the time of a frame once, before anybody gets it: else tcpdump's time of what comes in may be
        # later than that of the same frame going out, on a busy machine by much
        s.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMP, 1)
        s.bind((name, ETH_P_ALL))
        sockets.append(s)
    draw = random.Random(7)
    done = []
    signal.signal(signal.SIGTERM, lambda *_: done.append(True))
    counts = [collections.Counter(), collections.Counter()]
    print('READY', flush=True)
    while not done:
        for s in select.select(sockets, [], [], 0.1)[0]:
            frame, address = s.recvfrom(LONGEST)
            if address[2] == OUTGOING:
                continue
            way = sockets.index(s)
            times = 1
            if IS[what](frame):
                dice = draw.random()
                times = 0 if dice < LOSS else 2 if dice < LOSS + COPY else 1
                counts[way][('lost', 'passed', 'copied')[times]] += 1
            for _ in range(times):
                sockets[1 - way].send(frame)
    with open(truth_path, 'w', encoding='utf-8') as f:
        json.dump([dict(c) for c in counts], f)


def packets_of(what, path):
    """How many whole packets of that kind a pcap file has so far."""
    with open(path, 'rb') as f:
        data = f.read()
    at, n = 24, 0
    while at + 16 <= len(data):
        captured = struct.unpack_from('<I', data, at + 8)[0]
        if at + 16 + captured > len(data):
            break
        n += IS[what](data[at + 16:at + 16 + captured])
        at += 16 + captured
    return n


def wait_for(what, truth_path, *captures):
    with open(truth_path, encoding='utf-8') as f:
        truth = [collections.Counter(t) for t in json.load(f)]
    expected = [sum(truth[i].values()) + truth[1 - i]['passed'] + 2 * truth[1 - i]['copied'] for i in range(2)]
    for _ in range(150):
        if [packets_of(what, c) for c in captures] == expected:
            return 0
        time.sleep(0.2)
    print(f'{[packets_of(what, c) for c in captures]} packets were captured, {expected} passed')
    return 1


def check(truth_path, joined_path):
    with open(truth_path, encoding='utf-8') as f:
        truth = json.load(f)
    with open(joined_path, encoding='utf-8') as f:
        sums = json.loads(f.readline())['join']
        places = [json.loads(line)['join'] for line in f if '"layers"' in line]
    wrong = []
    for way, key in enumerate(('a_to_b', 'b_to_a')):
        said, real = sums[key], collections.Counter(truth[way])
        told = {'lost': said['lost'] + said['outside'], 'copied': said['copy'],
                'passed': said['arrived'] - said['copy']}
        # of a few it is not told: those that leave as the other capture ends, and equal ones that a busy machine delays
        unknown = sum(p['fate'] == 'unknown' and p['from'] == key[0] for p in places)
        if unknown > 2 + sum(real.values()) // 50:
            wrong.append(f'{key}: of {unknown} packets it is not told what became of them')
        for what, count in told.items():
            if not count <= real[what] <= count + unknown:
                wrong.append(f'{key}: {what} {count}, it was {real[what]}, and of {unknown} it is not told')
        if not real['lost'] or not real['copied']:
            wrong.append(f'{key}: nothing happened')
        if said['missed_at_sender'] or said['missed_at_receiver'] or said['damaged']:
            wrong.append(f'{key}: misses or damage where there were none: {said}')
        if not 0 <= said['delay_ns']['min'] < 10**8:
            wrong.append(f'{key}: delays {said["delay_ns"]}')
    if not abs(sums['clock']['ahead_ns']) <= sums['clock']['error_ns'] + 1000:
        wrong.append(f'the same clock is said to differ: {sums["clock"]}')
    if any(p['fate'] == 'lost' and ('a' in p) == ('b' in p) for p in places):
        wrong.append('a packet is lost and at both ends')
    print(truth, '; '.join(wrong) or 'as it was')
    return 1 if wrong else 0


if sys.argv[1] == 'forward':
    sys.exit(forward(*sys.argv[2:6]))
if sys.argv[1] == 'await':
    sys.exit(wait_for(*sys.argv[2:6]))
sys.exit(check(*sys.argv[2:4]))
