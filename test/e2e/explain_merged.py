#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""explain_merged.py NORNIC CAPTURE...: merges captures of real peers, in pairs, and holds what `nornic explain
--strict` and `nornic verify --strict` say of the merged ones against what they say of each alone: no warning may come
of the merging. Captures that follow each other share addresses, and queue pairs with the same numbers.

Prints "ok NAME" or "not ok NAME: ..." for each way of merging; `-v` names every pair that fails."""
import collections, json, os, subprocess, sys, tempfile
from concurrent.futures import ThreadPoolExecutor

from captures import NS, records, write


def shifted(packets, to_ns):
    return [(ns - packets[0][0] + to_ns, wire, frame) for ns, wire, frame in packets]


def warnings(nornic, path, is_verified):
    """How often each kind above a note is found, and how many violations verify names, if it is asked."""
    counts = collections.Counter()
    run = lambda *args: subprocess.run([nornic, *args, path], capture_output=True, text=True, timeout=60).stdout
    for line in run('explain', '--strict', '--json').splitlines():
        o = json.loads(line)
        for r in o.get('remarks', []) + ([o['finding']] if isinstance(o.get('finding'), dict) else []):
            if r['severity'] > 0:
                counts[r['kind']] += 1
    if is_verified:
        counts['verify'] = json.loads(run('verify', '--strict', '--json'))['violation_count']
    return counts


def after(first, second, gap_ns):
    return first + shifted(second, first[-1][0] + gap_ns)


def laid_over(packets):
    """The capture, and itself again when half of its time is over. Only identifications tell copies then: what
    goes over IPv6 has none, and a sender of few packets too few."""
    half_ns = (packets[-1][0] - packets[0][0]) // 2
    return sorted(packets + shifted(packets, packets[0][0] + half_ns), key=lambda r: r[0])


NO_COPIES = ('rc_long', 'rc_read_1024', 'rc_read_256')  # more packets, or fewer, than identifications are kept of
# of one connection, captured one after the other (half, abort, oob_stall; run has them from the first on): what it sent
# in between is missing, as explain says; and in the wrong order its PSNs come again, as if they were sent again
IN_BETWEEN = {('smc_abort', 'smc_oob_stall'), ('smc_half', 'smc_oob_stall'), ('smc_abort', 'smc_half'),
              ('smc_oob_stall', 'smc_abort'), ('smc_oob_stall', 'smc_half'), ('smc_half', 'smc_run'),
              ('smc_abort', 'smc_run')}

# how, and of which: each after each, or each after itself and the next
WAYS = {
    'one_after_the_other': (lambda a, b: after(a, b, 50_000_000), 'all'),
    'one_right_after_the_other': (lambda a, b: after(a, b, 20_000_000), 'some'),
    'one_long_after_the_other': (lambda a, b: after(a, b, 20 * NS), 'some'),
    'appended_as_they_are': (lambda a, b: a + b, 'some'),
    'laid_over_itself': (lambda a, b: laid_over(a), 'rc'),
}


def pairs_of(names, which):
    if which == 'all':
        return [(a, b) for a in names for b in names]
    if which == 'some':
        return [(a, a) for a in names] + list(zip(names, names[1:]))
    return [(a, a) for a in names if a.startswith(('rc_', 'routed_')) and 'ipv6' not in a and a not in NO_COPIES]


def main():
    nornic = sys.argv[1]
    is_loud = '-v' in sys.argv
    captures = {os.path.basename(p)[:-5]: records(p) for p in sys.argv[2:] if p != '-v'}
    status = 0
    with tempfile.TemporaryDirectory() as tmp, ThreadPoolExecutor(2) as pool:
        def judge(name, packets, is_verified=True):
            path = os.path.join(tmp, name + '.pcap')
            write(path, packets)
            found = warnings(nornic, path, is_verified)
            os.unlink(path)
            return found

        alone = dict(zip(captures, pool.map(lambda n: judge(n, captures[n]), captures)))
        for way, (merge, which) in WAYS.items():
            pairs = [p for p in pairs_of(list(captures), which) if p not in IN_BETWEEN]
            merged = pool.map(lambda p: judge(f'{way}-{p[0]}-{p[1]}', merge(captures[p[0]], captures[p[1]]),
                                              which != 'all'), pairs)
            wrong = {}
            for (a, b), found in zip(pairs, merged):
                more = found - (alone[a] + alone[b])
                if more:
                    wrong[a, b] = more
            if wrong:
                status = 1
                (a, b), more = next(iter(wrong.items()))
                print(f'not ok {way}: {len(wrong)} of {len(pairs)} pairs; {a} and {b}: {dict(more)}')
                for (a, b), more in wrong.items() if is_loud else ():
                    print(f'   {a} {b}: {dict(more)}')
            else:
                print(f'ok {way}')
    return status


sys.exit(main())
