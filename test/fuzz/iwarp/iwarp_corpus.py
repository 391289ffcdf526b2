#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes test/fuzz/corpus/iwarp: one input for each kind of message, as test/fuzz/iwarp/fuzz_iwarp.c reads them; and
corpus/iwarp_replay: first connections of captures of real peers, as fuzz_iwarp_replay.c reads them."""
import os, struct, sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../..')
sys.path.insert(0, ROOT + '/test/e2e')
import captures, iwarp_reader

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../corpus/iwarp')
REPLAYED = ('rping_23', 'p2p_64', 'term_badread', 'crc_sendinv', 'rev1', 'serverfirst', 'ipv6_mix')
RESPONDER, INITIATOR = 8, 9  # with the set-up done
LISTENER, FRESH, FALLS_BACK = 0, 16, 1 | 32  # without
OCTETS, SET_UP, SEALED, POST, WRITE, ADVANCE, END = 0, 1, 2, 4, 5 | 8, 6, 7
ACCEPT, REJECT, EMSS, APART, ADOPT, REFUSE, FALL_BACK, ABORT = (SET_UP | n << 3 for n in range(8))


def record(what, data=b''):
    return bytes([what, len(data)]) + data


def untagged(opcode, qn, msn, body=b'', last=True, mo=0, stag=0):
    return struct.pack('>BBIIII', 0x41 if last else 1, 0x40 | opcode, stag, qn, msn, mo) + body


def tagged(opcode, stag, to, body=b'', last=True):
    return struct.pack('>BBIQ', 0xc1 if last else 0x81, 0x40 | opcode, stag, to) + body


def request(flags, depths=0x00040004, body=b''):
    """An MPA Request of revision 2; `depths` with its flags A, B, C, D, or None: without S."""
    lead = b'' if depths is None else struct.pack('>I', depths)
    return b'MPA ID Req Frame' + struct.pack('>BBH', flags, 2, len(lead + body)) + lead + body


REAL = b'\xff\xff\x10' + bytes(9)  # becomes the STag and an offset of the real region
RECV, SEND, READ, ADD = POST | 4 << 3, POST, POST | 1 << 3, POST | 3 << 3
S, C, M, A, B, RTR_WRITE, RTR_READ = 0x10, 0x40, 0x80, 1 << 31, 1 << 30, 1 << 15, 1 << 14
RTR = untagged(1, 1, 1, struct.pack('>IQIIQ', 1, 0, 0, 1, 0))
INPUTS = {
    'rev2_plain': [LISTENER, record(OCTETS, request(C, None)), record(ACCEPT, b'yes'), record(WRITE)],
    'rev2_depths': [LISTENER, record(OCTETS, request(S | C, 0x00020001)), record(ACCEPT), record(WRITE)],
    'rev2_write': [LISTENER, record(OCTETS, request(S | C, A | RTR_WRITE | 0x00040004)), record(ACCEPT), record(WRITE),
                   record(SEALED, tagged(0, 1, 0)), record(SEND), record(WRITE)],
    'rev2_read': [LISTENER, record(OCTETS, request(S | C, A | RTR_READ | 0x00040000)), record(ACCEPT), record(WRITE),
                  record(SEALED, RTR), record(WRITE)],
    'rev2_send': [LISTENER, record(OCTETS, request(S | C, A | B | 0x00040004))],
    'rev2_all': [LISTENER, record(OCTETS, request(S | M | C, A | B | RTR_WRITE | RTR_READ | 0x3fff3fff, b'ping')),
                 record(REJECT, b'no'), record(WRITE)],
    'rev2_short': [LISTENER, record(OCTETS, b'MPA ID Req Frame' + bytes([S, 2, 0, 2, 1, 2]))],
    'adopted': [FRESH, record(APART, request(S | C, A | RTR_WRITE | 0x00040004)), record(ADOPT, bytes([4, 3])),
                record(ACCEPT, b'yes'), record(WRITE), record(SEALED, tagged(0, 1, 0))],
    'adopted_too_deep': [FRESH, record(APART, request(C, None)), record(ADOPT, bytes([5, 5])), record(ACCEPT)],
    'refused_apart': [FRESH, record(APART, request(S | C)), record(REFUSE, b'no'), record(ADOPT)],
    'falls_back': [FALLS_BACK, record(WRITE), record(END | 8), record(FALL_BACK), record(WRITE),
                   record(OCTETS, b'MPA ID Rep Frame' + bytes([0x40, 1, 0, 0])), record(SEND), record(WRITE)],
    'turns': [INITIATOR, record(EMSS, b'\x02\x00'), record(POST | 2 << 3, struct.pack('>HHB', 5000, 0, 100)),
              record(SEALED, untagged(1, 1, 1, tagged(0, 1, 2)[2:] + struct.pack('>I', 3000) + REAL)),
              record(POST | (2 | 8) << 3, struct.pack('>HH', 8192, 0)), record(WRITE), record(EMSS, b'\x05\xb4'),
              record(WRITE), record(END | 16)],
    'long_send': [RESPONDER, record(SEALED, tagged(0, 1, 0)), record(POST, struct.pack('>HHB', 8192, 0, 9)),
                  record(5), record(WRITE), record(ABORT)],
    'request': [0, record(OCTETS, b'MPA ID Req Frame' + bytes([0x50, 2, 0, 8]) + bytes.fromhex('8010c008') + b'ping')],
    'reply': [1, record(OCTETS, b'MPA ID Rep Frame' + bytes([0x50, 2, 0, 4]) + bytes.fromhex('80088010'))],
    'send': [RESPONDER, record(RECV), record(SEALED, untagged(3, 0, 1, b'hello')), record(WRITE)],
    'send_parts': [RESPONDER, record(RECV), record(SEALED, untagged(3, 0, 1, b'he', False)),
                   record(SEALED, untagged(3, 0, 1, b'llo', True, 2))],
    'invalidate': [RESPONDER, record(RECV), record(SEALED, untagged(4, 0, 1, b'x', stag=0x12301))],
    'write': [RESPONDER, record(SEALED, b'\xc1\x40' + REAL + b'data'), record(END)],
    'write_marked': [RESPONDER | 2, record(SEALED, b'\xc1\x40' + REAL + b'data')],
    'read': [RESPONDER, record(SEALED, untagged(1, 1, 1, tagged(0, 1, 2)[2:] + struct.pack('>I', 64) + REAL)),
             record(WRITE)],
    'atomic': [RESPONDER, record(SEALED, untagged(10, 1, 1, bytes(8) + REAL + bytes(32))), record(WRITE)],
    'immediate': [RESPONDER, record(RECV), record(SEALED, untagged(8, 0, 1, b'12345678'))],
    'terminate': [INITIATOR, record(READ), record(WRITE),
                  record(SEALED, untagged(7, 2, 1, b'\x01\x00\xc0\x00\x00\x2e' + untagged(1, 1, 1)))],
    'read_response': [INITIATOR, record(READ), record(WRITE), record(SEALED, tagged(2, 1, 0, b''))],
    'atomic_response': [INITIATOR, record(ADD), record(WRITE),
                        record(SEALED, untagged(11, 3, 1, bytes(3) + b'\x01' + bytes(8)))],
    'closed': [INITIATOR, record(SEND), record(WRITE), record(END | 8), record(ADVANCE | 24)],
}

os.makedirs(HERE, exist_ok=True)
for name, (first, *records) in INPUTS.items():
    with open(os.path.join(HERE, name), 'wb') as f:
        f.write(bytes([first]) + b''.join(records))


def connection(path):
    """The segments with data, FIN or RST of the first connection of a capture."""
    client, out = None, b''
    for _, _, frame in captures.records(path):
        segment = iwarp_reader.segment_of(frame)
        if segment and segment.flags & iwarp_reader.SYN and client is None:
            client = segment.ends[0]
        if not segment or segment.flags & iwarp_reader.SYN or client not in segment.ends:
            continue
        what = (segment.ends[0] != client) | (segment.flags & 1) << 1 | segment.flags & 4
        if segment.data or what > 1:
            out += struct.pack('>BH', what, len(segment.data)) + segment.data
    return out


for name in REPLAYED:
    with open('%s_replay/%s' % (HERE, name), 'wb') as f:
        f.write(connection('%s/pcaps/iwarp/%s.pcap' % (ROOT, name)))
