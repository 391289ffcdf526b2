#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Looks for patterns in numbers that should be random, each kind of each device.

    number_patterns.py BITS FILE...  lines "KIND DEVICE NUMBER" of test/verbs/programs/numbers.c; a file is a process;
                             BITS of a QPN are drawn
    number_patterns.py capture N     prints such lines of the REQs and REPs that cross lo, until both ends made N: comm
                             (communication ids), psn; device 0 is the client
    number_patterns.py peers N       holds all numbers of SMC-R peers but N, prints "ready" and the N, and reads stdin

A test of a list fails by chance less often than once in 10^9 runs. All tests of a run: once in 10^6.
"""
import math
import os
import random
import resource
import socket
import struct
import sys

CHANCE = 1e-9
# bits that are drawn: the upper 8 bits of a QPN and of a communication id are the process's among those of its
# address (docs/numbers.md)
BITS = {'comm': 24, 'psn': 24}


def most(expected):
    """The least bound that a Poisson count exceeds with a probability below CHANCE."""
    term = below = math.exp(-expected)
    bound = 0
    while 1 - below > CHANCE / 2 and bound < 10 * expected + 100:
        bound += 1
        term *= expected / bound
        below += term
    return bound + 1


def repeats(values):
    """Pairs of equal values."""
    counts = {}
    for v in values:
        counts[v] = counts.get(v, 0) + 1
    return sum(n * (n - 1) // 2 for n in counts.values())


def judge(name, found, expected):
    """Reports a count of coincidences that is above its bound."""
    bound = most(expected)
    if found > bound:
        print(f'not ok {name}: {found} coincidences, {expected:.2f} are expected, {bound} allowed')
        return False
    return True


def judge_list(name, values, bits):
    """Tests one list: no number twice, and steps, low bytes and high bytes without a pattern."""
    n, size = len(values), 1 << bits
    values = [v % size for v in values]

    good = True
    if repeats(values) and n < size // 8 and name.split('_')[1] != 'psn':
        print(f'not ok {name}: a number was given twice')
        good = False
    steps = [(b - a) % size for a, b in zip(values, values[1:])]
    flips = [a ^ b for a, b in zip(values, values[1:])]
    pairs = (n - 1) * (n - 2) / 2
    good &= judge(f'{name}_steps', repeats(steps), pairs / size)
    good &= judge(f'{name}_flips', repeats(flips), 2 * pairs / size)
    for part, shift in (('low', 0), ('high', bits - 8)):
        same = sum((a >> shift) & 255 == (b >> shift) & 255 for a, b in zip(values, values[1:]))
        good &= judge(f'{name}_{part}_byte', same, (n - 1) / 256)
        small = sum(((b >> shift) - (a >> shift)) & 255 in (1, 255) for a, b in zip(values, values[1:]))
        good &= judge(f'{name}_{part}_byte_counts', small, (n - 1) / 128)
    return good


def read(files):
    """The lists by process, kind and device."""
    lists = {}
    for process, path in enumerate(files):
        with open(path, encoding='ascii') as lines:
            for line in lines:
                if line.count(' ') == 2:
                    kind, device, number = line.split()
                    lists.setdefault((kind, process, device), []).append(int(number, 16))
    return lists


def judge_files(bits_of_qpn, files):
    """Tests each list, and each two lists of a kind against each other."""
    lists = read(files)
    good = bool(lists)
    for (kind, process, device), values in lists.items():
        bits = bits_of_qpn if kind == 'qpn' else BITS.get(kind, 32)
        name = f'numbers_{kind}_of_process_{process}_device_{device}'
        if judge_list(name, values, bits):
            print(f'ok {name}')
        else:
            good = False
    keys = sorted(lists)
    for i, a in enumerate(keys):
        for b in keys[i + 1:]:
            if a[0] != b[0]:
                continue
            size = 1 << (bits_of_qpn if a[0] == 'qpn' else BITS.get(a[0], 32))
            apart = [(y - x) % size for x, y in zip(lists[a], lists[b])]
            name = f'numbers_{a[0]}_of_{a[1]}{a[2]}_tell_of_{b[1]}{b[2]}'
            good &= judge(name, repeats(apart), len(apart) ** 2 / 2 / size)
    print(('ok' if good else 'not ok') + ' numbers_of_two_devices')
    return good


def capture(count):
    """Communication ids and first PSNs of the REQs and REPs on lo."""
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    try:
        tap.setsockopt(socket.SOL_SOCKET, 33, 1 << 25)  # SO_RCVBUFFORCE
    except PermissionError:
        pass
    tap.bind(('lo', 0))
    tap.settimeout(60)
    print('listening', flush=True)
    seen = {0x10: [], 0x13: []}
    last = {0x10: None, 0x13: None}
    while min(len(v) for v in seen.values()) < count:
        frame, where = tap.recvfrom(4096)
        if where[2] == socket.PACKET_OUTGOING or frame[12:14] != b'\x08\x00' or frame[23] != 17:
            continue
        udp = 14 + (frame[14] & 15) * 4
        bth = udp + 8
        if frame[udp + 2:udp + 4] != struct.pack('>H', 4791) or frame[bth + 5:bth + 8] != b'\0\0\1':
            continue
        mad = bth + 20
        attribute = struct.unpack_from('>H', frame, mad + 16)[0]
        if attribute not in seen:
            continue
        body = mad + 24
        comm = struct.unpack_from('>I', frame, body)[0]
        psn_at = body + (44 if attribute == 0x10 else 20)
        if comm != last[attribute]:
            last[attribute] = comm
            seen[attribute].append((comm, int.from_bytes(frame[psn_at:psn_at + 3], 'big')))
    for device, attribute in enumerate(seen):
        for comm, psn in seen[attribute]:
            print(f'comm {device} {comm:x}\npsn {device} {psn:x}')


def hold_peers(free_count):
    """Holds the names of all peers but some."""
    free = set(random.sample(range(65536), free_count))
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    share = max(1, min(hard - 64, 65536))
    done_read, done_write = os.pipe()
    for first in range(0, 65536, share):
        if os.fork():
            os.read(done_read, 1)
            continue
        held = []
        for number in range(first, min(first + share, 65536)):
            if number not in free:
                held.append(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
                held[-1].bind(f'\0nornic/peer/{number:x}')
        os.write(done_write, b'.')
        sys.stdin.read()
        os._exit(0)
    print('ready', *(f'{n:x}' for n in free), flush=True)
    sys.stdin.read()


if __name__ == '__main__':
    if sys.argv[1] == 'capture':
        capture(int(sys.argv[2]))
    elif sys.argv[1] == 'peers':
        hold_peers(int(sys.argv[2]))
    else:
        sys.exit(not judge_files(int(sys.argv[1]), sys.argv[2:]))
