# SPDX-License-Identifier: BSD-2-Clause
"""What a capture of a case must hold. Each function says what is wrong with it, or ''."""
import subprocess
import payload
from lab import GUEST, HOST, NORNIC

# tshark guesses protocols in payloads and then calls the rest malformed: RoCE up to its payload is what counts
GUESSES = ['rpcordma', 'lapbether', 'loop', 'smc']


def nornic_verifies(capture, log):
    with open(log, 'a') as out:
        verify = subprocess.run([NORNIC, 'verify', capture], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                timeout=60)
    return '`nornic verify` ended with %d' % verify.returncode if verify.returncode else ''


def tshark_reads(capture):
    tshark = ['tshark', '-r', capture, '-Y', '_ws.malformed', '-T', 'fields', '-e', 'frame.number']
    for guess in GUESSES:
        tshark += ['--disable-protocol', guess]
    bad = subprocess.run(tshark, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    if bad.returncode or bad.stdout.strip():
        return 'tshark ended with %d, malformed frames: %s' % (bad.returncode, bad.stdout.split())
    return ''


def echoes(case, capture):
    """A ping-pong over one queue pair: the server sends back what the client sent."""
    sent = payload.messages(capture)
    guest, host = sent.get(GUEST[case.family], []), sent.get(HOST[case.family], [])
    if len(guest) != case.iterations or len(host) != case.iterations:
        return 'the capture has %d messages of the guest and %d of nornic, not %d of each' % (
            len(guest), len(host), case.iterations)
    if any(len(m) != case.size for m in guest + host):
        return 'a message in the capture is not %d bytes long' % case.size
    # the buffer of the stock client receives what it sends next
    echo, original = (guest, host) if case.way == 'guest-serves' else (guest[1:], host[:-1])
    if echo != original:
        first = [a == b for a, b in zip(echo, original)].index(False)
        return 'message %d comes back from the guest changed' % first
    return ''


DATA = {'ibv_rc_pingpong': echoes, 'ibv_uc_pingpong': echoes, 'ibv_ud_pingpong': echoes}


def check(case, capture, log):
    return nornic_verifies(capture, log) or tshark_reads(capture) or DATA[case.program](case, capture)
