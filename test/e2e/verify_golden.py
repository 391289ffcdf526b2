#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""verify_golden.py NORNIC DIRECTORY: holds the violations that `nornic verify --strict` names in the captures below
DIRECTORY against the list of those that are there. One more or one less fails, and so does one of which the bytes of
the packet do not show it: each has a proof of its own here, which shares no code with nornic.

Prints "ok NAME" or "not ok NAME: ..."."""
import glob
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import captures
import iwarp_reader

# Of an MPA frame: revision, flags, length of the private data (RFC 5044 7.1.1, RFC 6581 6 and 9)
KEY_BYTES, REVISION, FLAGS, PRIVATE = 16, 17, 16, slice(18, 20)
R, S = 0x20, 0x10
REQUEST, REPLY = iwarp_reader.KEYS
# Of an FPDU with an untagged or tagged segment: DDP control, RDMAP control, queue number, MSN, offset (RFC 5041 4,
# RFC 5040 4)
DDP, RDMAP, QUEUE, MSN, OFFSET = 2, 3, slice(8, 12), slice(12, 16), slice(16, 20)
TAGGED = 0x80
WRITE, READ, READ_RESPONSE, SEND = 0, 1, 2, 3


def number(data, part):
    return int.from_bytes(data[part], 'big')


def revision(data, key):
    return data[:KEY_BYTES] == key and data[REVISION]


def private(data):
    return number(data, PRIVATE)


def version(data):
    """Of DDP; of RDMAP it stands in the upper bits of its control byte."""
    return data[DDP] & 3


def opcode(data):
    return data[RDMAP] & 15


def tagged(data):
    return bool(data[DDP] & TAGGED)


def is_crc_wrong(data, at):
    end = at + 2 + number(data, slice(at, at + 2))
    end += -(end - at) % 4
    return iwarp_reader.crc32c(data[at:end]) != int.from_bytes(data[end:end + 4], 'little')


def kinds(reply):
    """The RTR that a frame of revision 2 names: B, C, D, as letters; none without A."""
    read_word, ask_word = number(reply, slice(20, 22)), number(reply, slice(22, 24))
    named = (read_word >> 14 & 1, ask_word >> 15, ask_word >> 14 & 1)
    return ''.join(letter for letter, is_set in zip('BCD', named) if is_set and read_word & 0x8000)


def depths(frame):
    """IRD and ORD."""
    return number(frame, slice(20, 22)) & 0x3fff, number(frame, slice(22, 24)) & 0x3fff


def asks(data):
    """How many Read Requests stand in these bytes, one FPDU after the other."""
    at = count = 0
    while at < len(data):
        count += data[at + RDMAP] & 15 == READ
        at += 2 + number(data, slice(at, at + 2))
        at += -at % 4 + 4
    return count


# By capture: the packet, the rule, and what shows it, of the TCP payloads `t` (or UDP payloads) by packet. The script
# in the place of siw's peer (docs/interop.md) makes one mistake a connection in the first two.
TRUE = {
    'iwarp/host_faults.pcap': [
        (4, 'IWARP-MPA-12', lambda t: revision(t[4], REQUEST) == 0),    # there are the revisions 1 and 2
        (6, 'IWARP-MPA-12', lambda t: revision(t[6], REPLY) == 0),      # siw says again what it was told
        (16, 'IWARP-MPA-12', lambda t: revision(t[16], REQUEST) == 3),  # likewise
        (32, 'IWARP-MPA-10', lambda t: t[32].startswith(REPLY)),        # the first frame of who asks is a Reply
        (60, 'IWARP-MPA-10', lambda t: private(t[60]) == 513),          # at most 512
        (83, 'IWARP-MPA-08', lambda t: t[83].startswith(REQUEST) and t[83][FLAGS] & R),  # R is a Reply's
        (97, 'IWARP-FPDU-10', lambda t: is_crc_wrong(t[97], 0)),
        (124, 'IWARP-DDP-02', lambda t: version(t[124]) == 0),          # DDP is of version 1
        (137, 'IWARP-DDP-02', lambda t: version(t[137]) == 2 and tagged(t[137])),
        (163, 'IWARP-RDMAP-01', lambda t: t[163][RDMAP] >> 6 == 2),
        (202, 'IWARP-RDMAP-01', lambda t: opcode(t[202]) == 15),        # 12 to 15 are reserved
        (215, 'IWARP-RDMAP-01', lambda t: opcode(t[215]) == SEND and tagged(t[215])),
        (228, 'IWARP-RDMAP-01', lambda t: opcode(t[228]) == WRITE and not tagged(t[228])),
        (241, 'IWARP-DDP-20', lambda t: opcode(t[241]) == SEND and number(t[241], QUEUE) == 5),
        (254, 'IWARP-DDP-20', lambda t: opcode(t[254]) == SEND and number(t[254], QUEUE) == 1),
        (267, 'IWARP-DDP-04', lambda t: number(t[267], MSN) == 2),      # of the first message
        (280, 'IWARP-DDP-05', lambda t: number(t[280], MSN) == 1 and number(t[280], OFFSET) == 8),  # its first segment
        # ORD of who asks and IRD of siw are 4 (#366, #368), and nothing stands between these five
        (371, 'IWARP-FLOW-01', lambda t: depths(t[366])[1] == depths(t[368])[0] == 4 < asks(t[370]) + asks(t[371])),
        (382, 'IWARP-RDMAP-14', lambda t: opcode(t[382]) == READ_RESPONSE),  # the first FPDU of all: nobody asked
        (418, 'IWARP-FPDU-10', lambda t: is_crc_wrong(t[418], 0)),      # 20 bytes of 0: two FPDUs without a ULPDU,
        (418, 'IWARP-FPDU-10', lambda t: is_crc_wrong(t[418], 8)),      # and the CRC of 4 bytes of 0 is none of 0
        (465, 'IWARP-FPDU-10', lambda t: t[465][FLAGS] & iwarp_reader.C and is_crc_wrong(t[465], 20)),  # of a Request
    ],
    'iwarp/host_initiator.pcap': [
        (288, 'IWARP-ECE-05', lambda t: (kinds(t[286]), kinds(t[288])) == ('B', 'C')),  # siw's: what was not offered
        # who asked sends another RTR than the Reply names, or none: a Send for a Write, a Read for a Write, 16 bytes
        (290, 'IWARP-ECE-06', lambda t: kinds(t[288]) == 'C' and opcode(t[290]) == SEND),
        (302, 'IWARP-ECE-06', lambda t: kinds(t[300]) == 'C' and opcode(t[302]) == READ),
        (334, 'IWARP-ECE-06', lambda t: kinds(t[332]) == 'C' and opcode(t[334]) == SEND),
        (603, 'IWARP-ECE-01', lambda t: t[603][FLAGS] & S and private(t[603]) == 0),  # S promises 4 bytes
        (605, 'IWARP-ECE-01', lambda t: t[605][FLAGS] & S and private(t[605]) == 0),  # siw refuses it with S itself
    ],
    'iwarp/mid_reuse.pcap': [
        # siw sends from pages that the program has filled again since the CRC was made: the FPDU that #82 ends
        (82, 'IWARP-FPDU-10', lambda t: [data for data in ends_of_bad_fpdus('iwarp/mid_reuse.pcap') if data in t[82]]),
    ],
    'rxe/reserved_opcode.pcap': [
        (1, 'ROCE-OPC-2', lambda t: t[1][0] == 0x1e),  # of RC's opcodes 0x1e and 0x1f name no operation
    ],
    'rxe/reserved_syndrome.pcap': [
        (15, 'ROCE-HDR-20', lambda t: t[15][0] == 0x11 and t[15][12] >> 5 & 3 == 2),  # an ACKNOWLEDGE of kind 10b
    ],
}

DIRECTORY = sys.argv[2]


def ends_of_bad_fpdus(name):
    """The CRCs that do not fit, with some of the bytes before each."""
    for sides in iwarp_reader.read(os.path.join(DIRECTORY, name)).values():
        for side in sides:
            for fpdu, ulpdu, crc in zip(side.fpdus, side.ulpdus, side.crcs):
                if fpdu.crc == 'bad':
                    yield ulpdu[-16:] + bytes(-(2 + len(ulpdu)) % 4) + crc.to_bytes(4, 'little')


def payloads(path):
    """What TCP or UDP carries, by packet from 1 on."""
    found = {}
    for n, (_, _, frame) in enumerate(captures.records(path), 1):
        at = 14 + 4 * (frame[14] & 15)
        header = 8 if frame[23] == 17 else 4 * (frame[at + 12] >> 4)
        found[n] = frame[at + header:14 + int.from_bytes(frame[16:18], 'big')]
    return found


def named(nornic, path):
    out = subprocess.run([nornic, 'verify', '--strict', '--json', path], capture_output=True, text=True, timeout=60)
    return [(v['n'], v['rule']) for v in json.loads(out.stdout)['violations']]


def tell(name, wrong):
    print('not ok %s: %s' % (name, '; '.join(wrong)) if wrong else 'ok ' + name)
    return bool(wrong)


def main():
    nornic = sys.argv[1]
    paths = sorted(p for p in glob.glob(DIRECTORY + '/**/*.pcap*', recursive=True) if os.path.isfile(p))
    names = [os.path.relpath(p, DIRECTORY) for p in paths]
    with ThreadPoolExecutor(2) as pool:
        found = dict(zip(names, pool.map(lambda p: named(nornic, p), paths)))
    wrong = ['%s: %s' % (name, sorted(set(found[name]) ^ {v[:2] for v in TRUE.get(name, [])}) or 'one twice')
             for name in names if sorted(found[name]) != sorted(v[:2] for v in TRUE.get(name, []))]
    wrong += ['%s is not there' % name for name in TRUE if name not in found]
    status = tell('golden_captures_have_the_violations_that_are_there_and_no_other', wrong)
    wrong = []
    for name, findings in TRUE.items():
        by_number = payloads(os.path.join(DIRECTORY, name))
        wrong += ['%s #%d %s' % (name, n, rule) for n, rule, proof in findings if not proof(by_number)]
    return status | tell('golden_violations_are_what_the_bytes_show', wrong)


if __name__ == '__main__':
    sys.exit(main())
