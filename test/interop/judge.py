# SPDX-License-Identifier: BSD-2-Clause
"""What a capture of a case must hold. Each function says what is wrong with it, or ''."""
import functools, subprocess
import payload
from lab import GUEST, HOST, NORNIC

HEURISTICS = {'eoib', 'rpcordma', 'smc'}


@functools.lru_cache(maxsize=None)
def guesses():
    """What tshark takes payloads for, by their first bytes, and then calls malformed: RoCE up to its payload is what
    counts."""
    decodes = subprocess.run(['tshark', '-G', 'decodes'], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                             timeout=60, check=True).stdout
    by_type = {line.split('\t')[2] for line in decodes.splitlines() if line.startswith('ethertype\t')}
    return sorted((by_type | HEURISTICS) - {'eth', 'ip', 'ipv6', 'infiniband'})


def nornic_verifies(capture, log):
    with open(log, 'a') as out:
        verify = subprocess.run([NORNIC, 'verify', capture], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                timeout=60)
    return '`nornic verify` ended with %d' % verify.returncode if verify.returncode else ''


def tshark_reads(capture):
    tshark = ['tshark', '-r', capture, '-Y', '_ws.malformed', '-T', 'fields', '-e', 'frame.number']
    for guess in guesses():
        tshark += ['--disable-protocol', guess]
    bad = subprocess.run(tshark, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    if bad.returncode or bad.stdout.strip():
        return 'tshark ended with %d, malformed frames: %s' % (bad.returncode, bad.stdout.split())
    return ''


def echoes(case, capture):
    """A ping-pong over one queue pair: the server sends back what the client sent."""
    sent = payload.messages(capture, HOST.values())
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


STEP, MASK = 0x9e3779b97f4a7c15, (1 << 64) - 1


def first_word(key):
    """Of a nornic message: splitmix64's finalizer."""
    z = (key + 1) * STEP & MASK
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & MASK
    z = (z ^ z >> 27) * 0x94d049bb133111eb & MASK
    return z ^ z >> 31


def nornic_data(key, size):
    word, out = first_word(key), bytearray()
    while len(out) < size:
        out += word.to_bytes(8, 'little')
        word = word + STEP & MASK
    return bytes(out[:size])


def srq_echoes(case, capture):
    """A ping-pong over several queue pairs: nornic's messages are those that it makes, or echoes of the guest's, which
    are zero. The guest has one buffer for all queue pairs: each word of its answers is that of some message of ours."""
    sent = payload.sends(capture, HOST.values())
    guest = [v for (source, _), v in sorted(sent.items()) if source == GUEST[case.family]]
    host = [v for (source, _), v in sorted(sent.items()) if source == HOST[case.family]]
    count = [sum(map(len, side)) for side in (guest, host)]
    if len(host) != min(case.pairs, case.iterations) or count[0] < case.iterations or count[1] != case.iterations:
        return '%d messages of the guest on %d queue pairs, %d of nornic on %d' % (
            count[0], len(guest), count[1], len(host))
    if any(len(m) != case.size for side in guest + host for m in side):
        return 'a message in the capture is not %d bytes long' % case.size
    if case.way == 'nornic-serves' or case.check:
        return 'a message holds more than zeros' if any(any(m) for side in guest + host for m in side) else ''
    for pair, messages in enumerate(host):   # QPNs rise with the number of the pair
        for n, m in enumerate(messages):
            if m != nornic_data(pair << 32 | n, case.size):
                return 'message %d of queue pair %d is not what nornic makes' % (n, pair)
    ours = [m for messages in host for m in messages]
    for at in range(0, case.size, 8):
        words = {m[at:at + 8] for m in ours}
        if any(m[at:at + 8] not in words for messages in guest for m in messages):
            return 'an answer holds at byte %d what nornic never sent' % at
    return ''


DATA = {'ibv_rc_pingpong': echoes, 'ibv_uc_pingpong': echoes, 'ibv_ud_pingpong': echoes,
        'ibv_srq_pingpong': srq_echoes}


def check(case, capture, log):
    return nornic_verifies(capture, log) or tshark_reads(capture) or DATA[case.program](case, capture)
