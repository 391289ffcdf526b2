#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""explain_interrupt.py NORNIC --join|-v SCRATCH: begins to explain a long capture on a terminal, presses Ctrl-C when it
shows progress, and says in a sentence, with status 1, what it did not do: end at once with 130 and a sentence, without
lines of packets."""
import itertools, os, pty, sys

sys.path.insert(0, 'test/e2e')
from captures import records, write

PACKETS = 800000


def until(terminal, ends):
    """What the terminal shows up to that text, or to its end."""
    shown = b''
    while not ends or ends not in shown:
        try:
            part = os.read(terminal, 65536)
        except OSError: # the other side is closed
            part = b''
        if not part:
            break
        shown += part
    return shown


def main():
    nornic, how, scratch = sys.argv[1:]
    path = os.path.join(scratch, 'long.pcap')
    if not os.path.exists(path):
        ns, wire, frame = records('pcaps/rc_rnr.pcap')[0]
        write(path, ((ns + i, wire, frame) for i in range(PACKETS)))
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(nornic, [nornic, 'explain', how, path] + ([path] if how == '--join' else []))
    shown = until(terminal, b' packets')
    os.write(terminal, b'\x03')
    rest = until(terminal, b'')
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if b'long.pcap: ' not in shown:
        return f'no progress: {shown[:300]}'
    if b' > 10.77.0' in rest:
        return f'it went on: {rest[:300]}'
    said = b'interrupted, before both captures were read' if how == '--join' else b'stopped after '
    return None if status == 130 and said in rest else f'status {status}: {rest[-300:]}'


sys.exit(main())
