#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The answers to docs/exercises.txt, found by a reader of its own: packets are taken apart by their offsets, and what
was sent again, lost or late is seen from PSNs, syndromes, identifications and times. Prints "NAME<TAB>ANSWER" for each;
a time is in milliseconds.   exercises.py [DIRECTORY]"""
import functools, struct, sys

DIRECTORY = sys.argv[1] if len(sys.argv) > 1 else 'pcaps'
SEND_ONLY, WRITE_ONLY_IMM, READ_REQUEST, ACK, CMP_SWAP, FETCH_ADD, CNP = 0x04, 0x0b, 0x0c, 0x11, 0x13, 0x14, 0x81
READ_RESPONSES, ATOMIC_ACK, UD_SEND = (0x0d, 0x0e, 0x0f, 0x10), 0x12, 0x64
CM_REQ, CM_REJ, CM_RTU = 0x10, 0x12, 0x14
WITH_AETH = (0x0d, 0x0f, 0x10, ACK, ATOMIC_ACK)


class Packet:
    """One frame over IPv4: the numbers that the questions are about; absent ones are None."""
    def __init__(self, n, time_us, frame):
        self.n, self.time_us, self.op, self.cm, self.tcp, self.smc = n, time_us, None, None, b'', b''
        self.syndrome = self.msn = None
        if frame[12:14] != b'\x08\x00':
            return
        self.ecn, self.id, self.src = frame[15] & 3, frame[18:20], '.'.join(map(str, frame[26:30]))
        self.end = 14 + struct.unpack_from('>H', frame, 16)[0]
        at = 14 + (frame[14] & 15) * 4
        if frame[23] == 6:
            self.tcp = frame[at + (frame[at + 12] >> 4) * 4:self.end]
        if frame[23] == 17 and frame[at + 2:at + 4] == b'\x12\xb7':
            self.bth(frame[at + 8:self.end - 4])

    def bth(self, b):
        self.op, self.qpn, self.psn = b[0], int.from_bytes(b[5:8], 'big'), int.from_bytes(b[9:12], 'big')
        self.ext = ext = b[12:]
        if self.op in WITH_AETH:
            self.syndrome, self.msn = ext[0], int.from_bytes(ext[1:4], 'big')
        if self.op == UD_SEND and self.qpn == 1:
            self.mad = ext[8:]
            self.cm = struct.unpack_from('>H', self.mad, 16)[0]
        if self.op == SEND_ONLY and len(ext) == 44 and ext[1] == 44:
            self.smc = ext

    def is_request(self):
        return self.op is not None and self.op not in WITH_AETH + (0x0e, CNP, UD_SEND)


@functools.cache
def capture(name):
    with open('%s/%s.pcap' % (DIRECTORY, name), 'rb') as f:
        data = f.read()
    per_us = {b'\xd4\xc3\xb2\xa1': 1, b'\x4d\x3c\xb2\xa1': 1000}[data[:4]]  # little-endian, in us or ns
    packets, at = [], 24
    while at < len(data):
        s, part, n, _ = struct.unpack_from('<4I', data, at)
        packets.append(Packet(len(packets) + 1, s * 1000000 + part / per_us, data[at + 16:at + 16 + n]))
        at += 16 + n
    return packets


def numbers(name, wanted):
    return [p.n for p in capture(name) if wanted(p)]


def first(name, wanted):
    return next(p for p in capture(name) if wanted(p))


def ms(name, a, b):
    packets = capture(name)
    return (packets[b - 1].time_us - packets[a - 1].time_us) / 1000


def again(name):
    """Requests whose PSN their sender has been at already, or has been beyond: sent again, if nothing was late."""
    seen, out = {}, []
    for p in capture(name):
        if p.is_request():
            newest = seen.get((p.src, p.qpn))
            if newest is not None and (p.psn - newest) & 0xffffff >= 0x800000 or p.psn == newest:
                out.append(p.n)
            else:
                seen[p.src, p.qpn] = p.psn
    return out


def late(name):
    """What left before the packet in front of it: its identification, counted up by its sender, is lower."""
    newest, out = -1, []
    for p in capture(name):
        if p.is_request():
            number = int.from_bytes(p.id, 'big')
            if number < newest:
                out.append(p.n)
            newest = max(newest, number)
    return out


def gap(name, after, ops, step):
    """The first packet of these operations whose PSN is not the one behind that of the one before."""
    before = None
    for p in capture(name):
        if p.n > after and (p.op in ops if ops else p.is_request()):
            if before is not None and p.psn != (before + step) & 0xffffff:
                return p.n
            before = p.psn
    return None


def is_rnr(p):
    return p.syndrome is not None and p.syndrome >> 5 == 1


def timed_out():
    """The request of a PSN that was sent before, behind the longest silence."""
    packets = capture('lossy_ackloss')
    return max(again('lossy_ackloss'), key=lambda n: packets[n - 1].time_us - packets[n - 2].time_us)


def failed_swap():
    for p, q in zip(capture('rc_atomic'), capture('rc_atomic')[1:]):
        if p.op == CMP_SWAP and q.op == ATOMIC_ACK and p.ext[20:28] != q.ext[4:12]:
            return p.n
    return None


def lacking(p):
    """The packets that a selective acknowledgement says are missing: the expected one, and zeros before its last 1."""
    bits = ''.join(format(byte, '08b') for byte in p.ext[16:])
    return 1 + bits.rstrip('0').count('0')


SELECTIVE, SACK = 'nornic_sack', 0xf1
RNR, LOST_ACK, LATE, CREDITS, MARKED = 'rc_rnr', 'lossy_ackloss', 'nornic_reorder', 'nornic_credits', 'nornic_cnp'
first_rnr = first(RNR, is_rnr).n
refused = first(CREDITS, is_rnr)
answers = {
    'loss-1': gap('lossy_loss', 0, (), 1),
    'loss-2': first('lossy_loss', lambda p: p.syndrome == 0x60).psn,
    'loss-3': sum(n <= 30 for n in again('lossy_loss')),
    'timeout-1': timed_out(),
    'timeout-2': ms(LOST_ACK, next(p.n for p in capture(LOST_ACK)
                                   if p.is_request() and p.psn == capture(LOST_ACK)[timed_out() - 1].psn), timed_out()),
    'timeout-3': len(numbers('rc_nak', lambda p: p.n >= 17 and p.qpn == capture('rc_nak')[16].qpn)),
    'rnr-1': first(RNR, is_rnr).syndrome,
    'rnr-2': ms(RNR, first_rnr, first(RNR, lambda p: p.n > first_rnr and p.is_request()).n),
    'rnr-3': len(numbers(RNR, is_rnr)),
    'rnr-4': first(RNR, lambda p: p.op is not None and 6 <= p.op <= 0x0b).n,
    'ecn-1': ' '.join(map(str, numbers(MARKED, lambda p: p.ecn == 3))),
    'ecn-2': len(numbers(MARKED, lambda p: p.op == CNP)),
    'ecn-3': ms(MARKED, 35, first(MARKED, lambda p: p.n > 35 and p.is_request()).n),
    'ecn-4': len(again(MARKED)),
    'credits-1': first(CREDITS, lambda p: p.op == ACK).syndrome,
    'credits-2': first(CREDITS, lambda p: p.op == ACK and p.syndrome == 0).n,
    'credits-3': len(numbers(CREDITS, is_rnr)),
    'credits-4': refused.msn,
    'read-1': gap(LOST_ACK, 48, READ_RESPONSES, 1),
    'read-2': int.from_bytes(next(p for p in capture(LOST_ACK) if p.n in again(LOST_ACK) and p.op == READ_REQUEST)
                             .ext[12:16], 'big'),
    'read-3': len(numbers(LOST_ACK, lambda p: 55 < p.n <= 59 and p.op in READ_RESPONSES)),
    'reorder-1': late(LATE)[0],
    'reorder-2': first(LATE, lambda p: p.syndrome == 0x60).n,
    'reorder-3': len(set(again(LATE)) - set(late(LATE))),
    'sack-1': first(SELECTIVE, lambda p: p.op == SACK and not p.ext[4] & 1).n,
    'sack-2': sum(n <= 53 for n in again(SELECTIVE)),
    'sack-3': next(n for n in again(SELECTIVE) if n > 88),
    'sack-4': lacking(capture(SELECTIVE)[155]),
    'sack-5': first(SELECTIVE, lambda p: p.n > 156 and p.op == SACK and p.ext[4] & 2).n,
    'atomic-1': next(n for n in again(LOST_ACK) if capture(LOST_ACK)[n - 1].op == FETCH_ADD),
    'atomic-2': int.from_bytes(first(LOST_ACK, lambda p: p.n > 56 and p.op == ATOMIC_ACK).ext[4:12], 'big'),
    'atomic-3': failed_swap(),
    'cm-1': int.from_bytes(first('cm_rping', lambda p: p.cm == CM_REQ).mad[24 + 44:24 + 47], 'big'),
    'cm-2': first('cm_rping', lambda p: p.cm == CM_RTU).n,
    'cm-3': int.from_bytes(first('cm_reject', lambda p: p.cm == CM_REJ).mad[24 + 10:24 + 12], 'big'),
    'smcr-1': len(numbers('smcr_echo', lambda p: p.tcp[:4] == b'\xe2\xd4\xc3\xd9')),
    'smcr-2': first('smcr_echo', lambda p: p.smc and p.smc[0] == 0xfe and p.smc[24] & 0x80).n,
    'smcr-3': first('smcr_failover', lambda p: p.smc and p.smc[0] == 0xfe and p.smc[24] & 0x08).n,
    'smcr-4': int.from_bytes(first('smcr_failover', lambda p: p.smc and p.smc[0] == 4).smc[5:9], 'big'),
}
for name, answer in answers.items():
    print('%s\t%s' % (name, '%.4f' % answer if isinstance(answer, float) else answer))
