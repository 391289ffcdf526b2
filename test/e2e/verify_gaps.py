#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""verify_gaps.py NORNIC CAPTURE...: leaves packets of captures out, as a capture misses them, and holds the
violations that `nornic verify --strict` names against those of the whole: there is none more, as what is missing may
have said everything.

Prints "ok NAME" or "not ok NAME: ..." for each way of leaving packets out; `-v` names every capture that fails."""
import json, os, random, subprocess, sys, tempfile
from concurrent.futures import ThreadPoolExecutor

from captures import records, write

SEEDS = 4


def sender(frame):
    """The address that sent it, as bytes; none: it is no IP packet."""
    at = 18 if frame[12:14] == b'\x81\x00' else 14
    kind = frame[at - 2:at]
    return frame[at + 12:at + 16] if kind == b'\x08\x00' else frame[at + 8:at + 24] if kind == b'\x86\xdd' else b''


def dropped(packets, percent):
    for seed in range(SEEDS):
        chance = random.Random(1000 * percent + seed)
        yield [p for p in packets if chance.random() * 100 >= percent]


def one_sender(packets):
    for address in sorted({sender(frame) for _, _, frame in packets} - {b''}):
        yield [p for p in packets if sender(p[2]) == address]


def begun_late(packets):
    return (packets[len(packets) * part // 5:] for part in range(1, 5))


WAYS = {
    'some_are_missing': lambda p: dropped(p, 3),
    'many_are_missing': lambda p: dropped(p, 10),
    'a_third_is_missing': lambda p: dropped(p, 33),
    'one_sender_alone': one_sender,
    'begun_late': begun_late,
}


def main():
    nornic, is_loud = sys.argv[1], '-v' in sys.argv
    captures = {os.path.basename(p)[:-5]: records(p) for p in sys.argv[2:] if p != '-v'}
    status = 0
    with tempfile.TemporaryDirectory() as tmp, ThreadPoolExecutor(2) as pool:
        def violations(job):
            name, packets = job
            path = os.path.join(tmp, name)
            write(path, packets)
            out = subprocess.run([nornic, 'verify', '--strict', '--json', path], capture_output=True, text=True,
                                 timeout=60).stdout
            os.unlink(path)
            return json.loads(out)

        whole = dict(zip(captures, pool.map(violations, captures.items())))
        for way, cut in WAYS.items():
            jobs = [(name, f'{name}-{way}-{i}', packets) for name in captures
                    for i, packets in enumerate(cut(captures[name]))]
            found_in = pool.map(violations, [job[1:] for job in jobs])
            wrong = [(job[1], found['violations']) for job, found in zip(jobs, found_in)
                     if found['violation_count'] > whole[job[0]]['violation_count']]
            if not wrong:
                print(f'ok {way}')
                continue
            status = 1
            print(f'not ok {way}: {len(wrong)} of {len(jobs)}; {wrong[0][0]}: {wrong[0][1][0]["words"]}')
            for name, found in wrong if is_loud else ():
                print(f'   {name}: {found}')
    return status


sys.exit(main())
