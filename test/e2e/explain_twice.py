#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""explain_twice.py NORNIC SINGLE DOUBLED LEAST: whether `nornic explain --json` says the same of a capture and of
one that holds its packets twice; a sentence if not, and status 1.
explain_twice.py --make router|vlan SINGLE OUT: each packet twice, the second with one hop less or in VLAN 7."""
import collections, json, struct, subprocess, sys

ETHERNET = 14


def records(path):
    """(header of the record, frame) of a classic pcap of this machine's byte order."""
    data = open(path, 'rb').read()
    at = 24
    while at < len(data):
        captured = struct.unpack_from('<I', data, at + 8)[0]
        yield data[at:at + 16], data[at + 16:at + 16 + captured]
        at += 16 + captured


def ipv4_checksum(header):
    total = sum(struct.unpack('>%dH' % (len(header) // 2), header))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def behind_router(frame):
    f = bytearray(frame)
    if f[12:14] == b'\x08\x00':
        end = ETHERNET + 4 * (f[ETHERNET] & 15)
        f[ETHERNET + 8] -= 1
        f[ETHERNET + 10:ETHERNET + 12] = b'\0\0'
        struct.pack_into('>H', f, ETHERNET + 10, ipv4_checksum(bytes(f[ETHERNET:end])))
    elif f[12:14] == b'\x86\xdd':
        f[ETHERNET + 7] -= 1
    return bytes(f)


def tagged(frame):
    return frame[:12] + b'\x81\x00\x00\x07' + frame[12:]


def make(how, single, out):
    change = {'router': behind_router, 'vlan': tagged}[how]
    with open(out, 'wb') as f:
        f.write(open(single, 'rb').read(24))
        for header, frame in records(single):
            s, fraction, captured, wire = struct.unpack('<IIII', header)
            other = change(frame)
            f.write(header + frame)
            f.write(struct.pack('<IIII', s, fraction, len(other), wire + len(other) - captured) + other)


def explain(nornic, path):
    out = subprocess.run([nornic, 'explain', '--json', path], capture_output=True, timeout=60, check=True).stdout
    return [json.loads(line) for line in out.decode().splitlines()]


def warnings(objects):
    """How often what was found, and why; numbers of packets are left out, as they differ."""
    found = [r for o in objects for r in o.get('remarks', [])] + [o['finding'] for o in objects if 'finding' in o]
    return collections.Counter('%s, %s' % (r['kind'], r.get('cause')) for r in found if r['severity'] > 0)


def copies(objects):
    return sum(r['kind'] == 'duplicate' and r.get('cause') == 'copied_by_network'
               for o in objects for r in o.get('remarks', []))


def sums(objects):
    """What flows, and connections of SMC-R, add up to; without the numbers of packets."""
    kept = ({k: dict(v) for k, v in o.items()} for o in objects if {'flow', 'numbers', 'smc_connection'} & set(o))
    kept = list(kept)
    for o in kept:
        for v in o.values():
            v.pop('first', None), v.pop('last', None)
    return kept


def main():
    nornic, single, doubled, least = sys.argv[1:]
    one, two = explain(nornic, single), explain(nornic, doubled)
    packets = [sum('n' in o for o in x) for x in (one, two)]
    if packets[1] < 1.9 * packets[0]:
        return 'only %d packets of %d come twice' % (packets[1] - packets[0], packets[0])
    before, after = warnings(one), warnings(two)
    if before != after:
        return 'found before, not now: %s; only now: %s' % (dict(before - after), dict(after - before))
    if copies(two) > copies(one):
        return '%d copies by the network, %d before' % (copies(two), copies(one))
    for a, b in zip(sums(one), sums(two)):
        if a != b:
            return '%s, and of each packet once %s' % (json.dumps(b), json.dumps(a))
    if len(sums(one)) != len(sums(two)):
        return '%d sums, and of each packet once %d' % (len(sums(two)), len(sums(one)))
    notes = sum(r['kind'] == 'captured_twice' for o in two for r in o.get('remarks', []))
    told = [o['captured_twice'] for o in two if 'captured_twice' in o]
    if notes != 1 or len(told) != 1:
        return '%d notes and %d sums say that it sees packets twice' % (notes, len(told))
    if 100 * told[0]['packets'] < int(least) * packets[0]:
        return '%d of %d are known to come twice' % (told[0]['packets'], packets[0])
    return None


if sys.argv[1] == '--make':
    make(*sys.argv[2:])
else:
    sys.exit(main())
