#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""explain_edges.py NORNIC CAPTURE...: captures of real peers as people cut and lay them together, each at places
that its name decides: begun late, ended early, both, a snap length, every packet twice, one direction alone, and
two captures in one file. An edit breaks no rule: nothing is a violation, or wrong of SMC-R or iWARP, of a kind that
is not so in the whole capture, or in the two.

Prints "ok NAME" or "not ok NAME: ..." for each kind of edit."""
import json, os, random, struct, subprocess, sys, tempfile, zlib
from concurrent.futures import ThreadPoolExecutor

HEAD = struct.Struct('<4I')


def read(path):
    """Header and records of a little-endian pcap file: (time in its units, captured, on the wire, bytes)."""
    with open(path, 'rb') as f:
        data = f.read()
    records, at = [], 24
    while at < len(data):
        s, us, kept, whole = HEAD.unpack_from(data, at)
        records.append(((s, us), whole, data[at + 16:at + 16 + kept]))
        at += 16 + kept
    return data[:24], records


def write(path, header, records):
    with open(path, 'wb') as f:
        f.write(header)
        for (s, us), whole, frame in records:
            f.write(HEAD.pack(s, us, len(frame), whole) + frame)


def wrongs(nornic, path):
    """Kinds of findings above a note that say that a rule was broken."""
    run = subprocess.run([nornic, 'explain', '--strict', '--all', '--json', path], capture_output=True, text=True,
                         timeout=60, check=True)
    kinds = {}
    for line in run.stdout.splitlines():
        o = json.loads(line)
        for r in o.get('remarks', []) + ([o['finding']] if isinstance(o.get('finding'), dict) else []):
            if r['severity'] > 0 and (r['kind'] == 'violation' or r['kind'].startswith(('smc_', 'iwarp_'))):
                kinds.setdefault(r['kind'], '#%s: %s' % (o.get('n'), r['words']))
    return kinds


def station(frame):
    return frame[6:12]


def edits(name, records):
    """(kind of edit, records) for each."""
    rnd = random.Random(zlib.crc32(name.encode()))
    n = len(records)
    a, b = sorted(rnd.randrange(1, n) for _ in range(2)) if n > 2 else (1, n)
    yield 'begun_late', records[a:]
    yield 'begun_late', records[b:]
    yield 'ended_early', records[:a]
    yield 'cut_at_both_ends', records[a:b]
    for snap in (96, 128):
        yield 'snap_%d' % snap, [(t, whole, frame[:snap]) for t, whole, frame in records]
    yield 'every_packet_twice', [r for r in records for _ in range(2)]
    yield 'one_way', [r for r in records if station(r[2]) == station(records[0][2])]


def tell(counts, faults):
    """A line for each kind of case: how many there were, and what was wrong. Whether anything was."""
    for kind in sorted(counts):
        if kind in faults:
            print('not ok %s: %d of %d; %s' % (kind, len(faults[kind]), counts[kind], '; '.join(faults[kind][:3])))
        else:
            print('ok %s' % kind)
    return bool(faults)


def main():
    nornic, paths = sys.argv[1], sys.argv[2:]
    faults, counts = {}, {}

    def judge(kind, path, header, records, allowed, where):
        write(path, header, records)
        counts[kind] = counts.get(kind, 0) + 1
        for found, words in wrongs(nornic, path).items():
            if found not in allowed:
                faults.setdefault(kind, []).append('%s: %s, %s' % (where, found, words))

    def one(i):
        name = os.path.basename(paths[i])
        header, records = read(paths[i])
        allowed = wrongs(nornic, paths[i])
        to = '%s/%d' % (directory, i)
        for kind, edited in edits(name, records):
            if edited:
                judge(kind, to, header, edited, allowed, name)
        other = paths[(i + 1) % len(paths)]
        _, more = read(other)
        shift = records[-1][0][0] + 1 - more[0][0][0]
        more = [((s + shift, us), whole, frame) for (s, us), whole, frame in more]
        judge('two_in_one_file', to, header, records + more, {**allowed, **wrongs(nornic, other)},
              '%s and %s' % (name, os.path.basename(other)))

    with tempfile.TemporaryDirectory() as directory, ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(one, range(len(paths))))
    return tell(counts, faults)


if __name__ == '__main__':
    sys.exit(main())
