#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""explain_snap.py NORNIC CAPTURE...: cuts captures of real peers as snap lengths do, and holds what `nornic explain`
says of the cut ones against what it says of the whole ones: every line is the same, or ends earlier and says "(cut)",
every field that is there has its value, and nothing is warned of that is not warned of in the whole capture.

Prints "ok NAME" or "not ok NAME: ..." for each snap length; `-v` prints every line that differs."""
import collections, json, re, struct, subprocess, sys, tempfile
from concurrent.futures import ThreadPoolExecutor

# Lines that may end earlier, by snap length.
MAY_END = {256: None,
           128: r'CM RE[QP]|SMC(v2)? CLC Proposal|SMCv2 LLC ADD LINK',
           96: r'CM RE[QPJ]|CM SIDR_RE[QP]|management datagram|SMC(v2)? CLC|SMC(v2)? LLC|SMC CDC'}
# Behind a handshake or an ADD LINK whose addresses, tokens and keys were cut lines lack what these alone tell: to which
# connection data belongs, and that a message was taken before.
MAY_LACK = {256: None, 128: 'RDMA WRITE', 96: 'SMC|RDMA WRITE'}
# Without the ack timeout of a REQ a timer may be a reason that the whole capture rules out.
MAY_DOUBT = {256: '', 128: ", or the sender's ack timer ran out", 96: ", or the sender's ack timer ran out"}


def cut(path, to, snap_bytes):
    """A little-endian pcap file, with no more than `snap_bytes` of each frame."""
    data = open(path, 'rb').read()
    out, at = [data[:24]], 24
    while at < len(data):
        head = struct.unpack_from('<4I', data, at)
        kept = min(head[2], snap_bytes)
        out += [struct.pack('<4I', head[0], head[1], kept, head[3]), data[at + 16:at + 16 + kept]]
        at += 16 + head[2]
    open(to, 'wb').write(b''.join(out))


def explain(nornic, path):
    """The packets by number, and how often each kind of finding above a note was made."""
    packets, counts = {}, collections.Counter()
    run = subprocess.run([nornic, 'explain', '--strict', '--all', '--json', path], capture_output=True, text=True,
                         timeout=60, check=True)
    for line in run.stdout.splitlines():
        o = json.loads(line)
        if 'layers' in o:
            packets[o['n']] = o
        for r in o.get('remarks', []) + ([o['finding']] if isinstance(o.get('finding'), dict) else []):
            if r['severity'] > 0:
                counts[r['kind']] += 1
    return packets, counts


def stem(words):
    """What is left of a line that was cut."""
    return re.sub(r'(, connection \d+)? \(cut\)$|^management datagram \(cut\)$', '', words)


def faults_of_fields(whole, part):
    """Fields that are there with another value, or in a layer that the whole packet has not."""
    for key, fields in part['layers'].items():
        if key not in whole['layers']:
            if not key.startswith('llc_add_link'):  # which of two layouts it has, its end tells
                yield f'a layer {key}'
        else:
            for name, value in fields.items():
                if whole['layers'][key].get(name) != value:
                    yield f'{key}.{name} {value}, not {whole["layers"][key].get(name)}'


def faults_of(nornic, path, snap_bytes, verbose):
    with tempfile.TemporaryDirectory() as scratch:
        cut(path, f'{scratch}/cut.pcap', snap_bytes)
        whole, whole_counts = explain(nornic, path)
        part, part_counts = explain(nornic, f'{scratch}/cut.pcap')
    faults, ended = [], 0
    for n, w in whole.items():
        a, b = w['words'], part[n]['words']
        faults += [f'{path} #{n}: {f}' for f in faults_of_fields(w, part[n])]
        if a == b or a == b.replace(MAY_DOUBT[snap_bytes], ''):
            continue
        may_end = b.endswith(' (cut)') and MAY_END[snap_bytes] and re.match(MAY_END[snap_bytes], b)
        is_unknown = MAY_LACK[snap_bytes] and re.search(MAY_LACK[snap_bytes], a)
        ended += bool(may_end)
        if verbose:
            print(f'{path} #{n}\n  {a}\n  {b}')
        begins = a.startswith(stem(b)) or (is_unknown and b.startswith(a))
        if not ((may_end or is_unknown) and begins and b):
            faults.append(f'{path} #{n}: "{b}", not "{a}"')
    faults += [f'{path}: {n} of {kind}, not {whole_counts[kind]}'
               for kind, n in part_counts.items() if n > whole_counts[kind]]
    return faults, ended, len(whole)


def main():
    verbose = '-v' in sys.argv
    nornic, *captures = [a for a in sys.argv[1:] if a != '-v']
    failed = False
    for snap_bytes in MAY_END:
        with ThreadPoolExecutor(2) as pool:
            results = list(pool.map(lambda path: faults_of(nornic, path, snap_bytes, verbose), captures))
        faults = [f for r in results for f in r[0]]
        name = f'a_snap_length_of_{snap_bytes}_hides_only_what_it_cuts'
        if faults:
            print('\n'.join(faults[:200] if verbose else faults[:5]))
        print(f'{sum(r[1] for r in results)} of {sum(r[2] for r in results)} lines end earlier')
        print(f'not ok {name}: {len(faults)} differ' if faults else f'ok {name}')
        failed |= bool(faults)
    return failed


if __name__ == '__main__':
    sys.exit(main())
