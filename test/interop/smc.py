#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""nornic's end of an SMC-R case, in its namespace: `nornic smc` with a file to send, and a look at what came back.

    smc.py connect|listen DEVICE PORT CONNS BYTES EID smcr|tcp SECONDS

As client it sends the bytes over each of CONNS connections, one process each, and expects them back; as server one
process sends the bytes to each client and expects the same of it. smcr|tcp: how the bytes have to travel; SECONDS: how
long each connection may take. Exits with 0 when all came back and travelled so.
"""
import hashlib, json, os, signal, subprocess, sys, tempfile
from lab import GUEST, HOST, NORNIC

PERIOD = 65536   # of the pattern


def pattern(size):
    """As afsmc has it: byte i is i * 7 + (i >> 8)."""
    return (bytes(i * 7 + (i >> 8) & 255 for i in range(PERIOD)) * (size // PERIOD + 1))[:size]


def reports(lines):
    """Of each line of nornic's that is a report of a connection."""
    for line in lines:
        print(line, end='', flush=True)
        if line.startswith('{') and 'transport' in json.loads(line):
            yield json.loads(line)


def run(command, conns, out, wanted, way, seconds):
    """Runs nornic, ends it after so many connections; what went wrong, or ''."""
    nornic = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    signal.alarm(seconds)
    try:
        for number, report in enumerate(reports(nornic.stdout), 1):
            if report['transport'] != way:
                return 'the bytes went by %s' % report['transport']
            if report['received_sha256'] != hashlib.sha256(wanted).hexdigest():
                return 'connection %d brought other bytes than were sent' % number
            if number == conns:   # the next connection begins the file anew
                with open(out, 'rb') as f:
                    if f.read() != wanted:
                        return 'the last connection left other bytes than were sent'
                break
        else:
            return 'nornic ended before its time'
        nornic.send_signal(signal.SIGINT)   # -k waits for more; one that has ended hears nothing
        return ''
    finally:
        signal.alarm(0)
        try:
            nornic.wait(10)
        except subprocess.TimeoutExpired:
            nornic.kill()
            nornic.wait()


def main():
    role, device, port, conns, size, eid, way, seconds = sys.argv[1:]
    data = pattern(int(size))
    with tempfile.TemporaryDirectory(prefix='nornic-smc-') as folder:
        send, out = folder + '/send', folder + '/out'
        with open(send, 'wb') as f:
            f.write(data)
        common = ['-d', device, '--ueid', eid, '-i', send, '-o', out, '--sum', '--json']
        if role == 'listen':
            return run([NORNIC, 'smc', 'listen', *common, '-k', HOST['4'] + ':' + port], int(conns), out, data, way,
                       int(seconds))
        for _ in range(int(conns)):
            why = run([NORNIC, 'smc', 'connect', *common, GUEST['4'], port], 1, out, data, way, int(seconds))
            if why:
                return why
    return ''


def too_late(*_):
    sys.exit('smc.py: not within its time')


os.environ.pop('NORNIC_PORT', None)
signal.signal(signal.SIGALRM, too_late)
problem = main()
if problem:
    sys.exit('smc.py: ' + problem)
