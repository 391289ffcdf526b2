#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes test/fuzz/corpus/iwarp: one input for each kind of message, as test/fuzz/fuzz_iwarp.c reads them; and
corpus/iwarp_replay: first connections of captures of real peers, as fuzz_iwarp_replay.c reads them."""
import os, struct, sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')
sys.path.insert(0, ROOT + '/test/e2e')
import captures, iwarp_reader

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'corpus/iwarp')
REPLAYED = ('rping_23', 'p2p_64', 'term_badread', 'crc_sendinv', 'rev1', 'serverfirst', 'ipv6_mix')
RESPONDER, INITIATOR = 8, 9  # with the set-up done
OCTETS, SEALED, POST, WRITE, ADVANCE, END = 0, 2, 4, 5 | 8, 6, 7


def record(what, data=b''):
    return bytes([what, len(data)]) + data


def untagged(opcode, qn, msn, body=b'', last=True, mo=0, stag=0):
    return struct.pack('>BBIIII', 0x41 if last else 1, 0x40 | opcode, stag, qn, msn, mo) + body


def tagged(opcode, stag, to, body=b'', last=True):
    return struct.pack('>BBIQ', 0xc1 if last else 0x81, 0x40 | opcode, stag, to) + body


REAL = b'\xff\xff\x10' + bytes(9)  # becomes the STag and an offset of the real region
RECV, SEND, READ, ADD = POST | 4 << 3, POST, POST | 1 << 3, POST | 3 << 3
INPUTS = {
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
