#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""explain_room.py KIND COUNT: a capture of COUNT packets on standard output that asks for much memory.
qpns: each to a queue pair of its own. far: two to each, with PSNs 2^20 apart. reads: two READs of 4096 PSNs to each."""
import struct
import sys
import zlib

KINDS = {
    'qpns': lambda i, n: (2 + i, 7, 0x04, b''),
    'far': lambda i, n: (2 + i // 2, 7 if i % 2 == 0 else 7 + (1 << 20), 0x04, b''),
    'reads': lambda i, n: (2 + i // 2, 7 + 4096 * (i % 2), 0x0c, struct.pack('>QII', 0, 0, 4096 * 1024)),
}


def frame(qpn, psn, opcode, rest):
    udp_bytes = 8 + 12 + len(rest) + 4
    ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 20 + udp_bytes, 0, 0x4000, 64, 17, 0, b'\x0a\0\0\1', b'\x0a\0\0\2')
    total = sum(struct.unpack('>10H', ip))
    total = (total & 0xffff) + (total >> 16)
    ip = ip[:10] + struct.pack('>H', ~total & 0xffff) + ip[12:]
    transport = struct.pack('>BBHII', opcode, 0x40, 0xffff, qpn, psn) + rest
    masked = bytearray(ip + struct.pack('>HHHH', 49152, 4791, udp_bytes, 0xffff) + transport)
    for at, value in ((1, 0xff), (8, 0xff), (10, 0xff), (11, 0xff), (32, 0xff)):
        masked[at] = value
    icrc = zlib.crc32(b'\xff' * 8 + bytes(masked))
    return (b'\x02\0\0\0\0\2\x02\0\0\0\0\1\x08\0' + ip + struct.pack('>HHHH', 49152, 4791, udp_bytes, 0) + transport +
            struct.pack('<I', icrc))


def main():
    kind, count = sys.argv[1], int(sys.argv[2])
    out = sys.stdout.buffer
    out.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
    for i in range(count):
        f = frame(*KINDS[kind](i, count))
        out.write(struct.pack('<IIII', 1700000000 + i // 1000000, i % 1000000, len(f), len(f)) + f)


main()
