#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""explain_wraps.py NORNIC CAPTURE...: captures of real peers as other taps would have written them: below VXLAN, GRE
and ERSPAN, of link types SLL, SLL2 and RAW, with two interfaces of different types in one file, cut by a snap length,
and as one end of a pair that is joined. The packets are the same, so that all that is said of them is, but for the
network that they are in; a replay ends alike; and joined with the plain one every packet arrives.

Prints "ok NAME" or "not ok NAME: ..." for each way to write them."""
import ipaddress, json, os, re, struct, subprocess, sys, tempfile
from concurrent.futures import ThreadPoolExecutor

from explain_edges import read, tell

ETHERNET, RAW, SLL, SLL2 = 1, 101, 113, 276
OUTER = bytes(ipaddress.ip_address('198.51.100.1').packed + ipaddress.ip_address('198.51.100.2').packed)
MACS = bytes.fromhex('020000000a02020000000a01')


def checksum(data):
    total = sum(struct.unpack('>%dH' % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def below(protocol, payload):
    """An Ethernet frame with an IPv4 datagram between two switches."""
    head = struct.pack('>BBHHHBBH', 0x45, 0, 20 + len(payload), 0, 0x4000, 64, protocol, 0) + OUTER
    head = head[:10] + struct.pack('>H', checksum(head)) + head[12:]
    return MACS + b'\x08\0' + head + payload


def vxlan(frame):
    return below(17, struct.pack('>HHHHII', 50000, 4789, 16 + len(frame), 0, 0x08000000, 42 << 8) + frame)


def gre(frame):
    return below(47, struct.pack('>HHI', 0x2000, 0x6558, 7) + frame)


def erspan(frame, number):
    return below(47, struct.pack('>HHIII', 0x1000, 0x88be, number, 0x10000000 | 5, 0) + frame)


def cooked(frame, number):
    return struct.pack('>HHH6sxxH', 0, 1, 6, frame[6:12], struct.unpack_from('>H', frame, 12)[0]) + frame[14:]


def cooked2(frame, number):
    kind = struct.unpack_from('>H', frame, 12)[0]
    return struct.pack('>HHIHBB6sxx', kind, 0, 3, 1, 0, 6, frame[6:12]) + frame[14:]


def raw(frame, number):
    return frame[14:]


WAYS = {
    'vxlan': (ETHERNET, lambda frame, number: vxlan(frame), ' in VXLAN 42'),
    'gre': (ETHERNET, lambda frame, number: gre(frame), ' in GRE 7'),
    'erspan': (ETHERNET, erspan, ' in ERSPAN 5'),
    'sll': (SLL, cooked, ''),
    'sll2': (SLL2, cooked2, ''),
    'raw': (RAW, raw, ''),
}


def is_plain_ip(frame):
    return frame[12:14] in (b'\x08\0', b'\x86\xdd')


def write(path, header, link, records):
    with open(path, 'wb') as f:
        f.write(header[:20] + struct.pack('<I', link))
        for (s, us), frame, whole in records:
            f.write(struct.pack('<4I', s, us, len(frame), whole) + frame)


def block(kind, body):
    body += bytes(-len(body) % 4)
    return struct.pack('<II', kind, len(body) + 12) + body + struct.pack('<I', len(body) + 12)


def write_two(path, is_nano, records):
    """pcapng: one direction on an Ethernet interface, the other one raw."""
    first = records[0][1][6:12]
    with open(path, 'wb') as f:
        f.write(block(0x0a0d0d0a, struct.pack('<IHHq', 0x1a2b3c4d, 1, 0, -1)))
        for link in (ETHERNET, RAW):
            resolution = struct.pack('<HHB3xHH', 9, 1, 9 if is_nano else 6, 0, 0)
            f.write(block(1, struct.pack('<HHI', link, 0, 0) + resolution))
        for (s, us), frame, whole in records:
            interface = int(frame[6:12] != first)
            data = frame[14:] if interface else frame
            ticks = s * (10**9 if is_nano else 10**6) + us
            f.write(block(6, struct.pack('<5I', interface, ticks >> 32, ticks & 0xffffffff, len(data),
                                         whole - 14 * interface) + data))


def run(*args):
    return subprocess.run(args, capture_output=True, text=True, timeout=60)


def said(nornic, path, network):
    """What is said of each packet, and at the end; without numbers of links and names of networks."""
    p = run(nornic, 'explain', '--all', '--json', path)
    if p.returncode != 0:
        return ['exit status %d: %s' % (p.returncode, p.stderr[-300:])]
    lines = []
    for line in p.stdout.splitlines():
        o = json.loads(line)
        if 'n' in o:
            remarks = [(r['kind'], r['words'], r.get('cause'), r.get('sure')) for r in o.get('remarks', [])]
            lines.append((o['n'], o['kind'], o.get('words', '').replace(network, ''), remarks))
        elif 'flow' in o or 'finding' in o:
            if 'flow' in o:
                o['flow'].pop('bytes', None)     # of frames
                o['flow'].pop('network', None)
            lines.append(json.dumps(o, sort_keys=True).replace(network, ''))
    return lines


def replayed(nornic, path, end):
    p = run(nornic, 'replay', path, '--as', end)
    return p.returncode, re.sub(r'\S*\.pcap(ng)?', 'FILE', (p.stdout + p.stderr).strip().split('\n')[-1])


def joined(nornic, a, b):
    p = run(nornic, 'explain', a, b, '--join', '--json')
    fates = {}
    for line in p.stdout.splitlines():
        fate = json.loads(line).get('join', {}).get('fate')
        if fate:
            fates[fate] = fates.get(fate, 0) + 1
    return p.returncode, fates


def first_difference(a, b):
    for x, y in zip(a, b):
        if x != y:
            return '%.300s, not %.300s' % (y, x)
    return '%d lines, not %d' % (len(b), len(a))


def ends_of(records):
    frame = records[0][1]
    is_v6 = frame[12:14] == b'\x86\xdd'
    return str(ipaddress.ip_address(frame[22:38] if is_v6 else frame[26:30]))


def main():
    nornic, paths = sys.argv[1], sys.argv[2:]
    faults, counts = {}, {}

    def judge(kind, good, where):
        counts[kind] = counts.get(kind, 0) + 1
        if good is not None:
            faults.setdefault(kind, []).append('%s: %s' % (where, good))

    def one(i):
        name = os.path.basename(paths[i])
        header, records = read(paths[i])
        is_nano = header[:4] == b'\x4d\x3c\xb2\xa1'
        records = [(when, frame, whole) for when, whole, frame in records if is_plain_ip(frame)]
        plain, to = '%s/%d.pcap' % (directory, i), '%s/%d.to' % (directory, i)
        write(plain, header, ETHERNET, records)
        end = ends_of(records)
        truth, ended = said(nornic, plain, ' in nothing'), replayed(nornic, plain, end)
        for way, (link, wrap, network) in WAYS.items():
            wrapped = [(when, wrap(frame, n), len(wrap(frame, n)) + whole - len(frame))
                       for n, (when, frame, whole) in enumerate(records)]
            write(to, header, link, wrapped)
            now = said(nornic, to, network)
            judge('%s_says_the_same' % way, None if now == truth else first_difference(truth, now), name)
            now = replayed(nornic, to, end)
            judge('%s_replays_alike' % way, None if now == ended else '%s, not %s' % (now, ended), name)
            rc, fates = joined(nornic, plain, to)
            judge('%s_is_joined' % way, None if rc == 0 and set(fates) == {'arrived'} else '%d, %s' % (rc, fates), name)
        write_two(to, is_nano, records)
        now = said(nornic, to, ' in nothing')
        judge('two_interfaces_say_the_same', None if now == truth else first_difference(truth, now), name)
        rc, fates = joined(nornic, plain, to)
        has_all = rc == 0 and set(fates) == {'arrived'}
        judge('two_interfaces_are_joined', None if has_all else '%d, %s' % (rc, fates), name)
        for snap in (40, 64, 96, 128, 256):
            write(to, header, ETHERNET, [(when, frame[:snap], whole) for when, frame, whole in records])
            runs = [run(nornic, 'explain', '--all', '--json', to), run(nornic, 'replay', to, '--as', end),
                    run(nornic, 'explain', plain, to, '--join')]
            bad = [p for p in runs if p.returncode not in (0, 1, 2) or 'ERROR' in p.stderr]
            judge('any_snap_length_is_read', bad[0].stderr[-200:] if bad else None, '%s at %d' % (name, snap))

    with tempfile.TemporaryDirectory() as directory, ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(one, range(len(paths))))
    return tell(counts, faults)


if __name__ == '__main__':
    sys.exit(main())
