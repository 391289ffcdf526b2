# SPDX-License-Identifier: BSD-2-Clause
"""explain_collide.py FILE KIND COUNT: a capture of COUNT packets, each said five times, which fills tables of explain.

random     RC packets from random IPv6 addresses
addresses  the same, of addresses that the multiplicative hash of base/hash.h, without a key, sends to one place
senders    UD packets between two addresses, from as many queue pairs to one
same       RC packets between two addresses with one PSN and different data
"""
import random
import struct
import sys
import zlib

ROUNDS = 5
QPN = 0x123456
MASK = (1 << 64) - 1
DESTINATION = bytes.fromhex('fd000000000000000000000000000002')
ETHERNET = b'\x02\0\0\0\0\2\x02\0\0\0\0\1\x86\xdd'


def mix(value, word):
    value = ((value ^ word) * 0x9e3779b97f4a7c15) & MASK
    return value ^ value >> 29


def addresses(kind, count):
    for _ in range(count):
        first = random.getrandbits(64)
        second = mix(mix(QPN, 0), first) ^ 0x1234567890abcdef if kind == 'addresses' else random.getrandbits(64)
        yield struct.pack('<QQ', first, second)


def packet(source, transport):
    """An Ethernet frame with the ICRC of its BTH and what follows."""
    bytes_udp = 8 + len(transport) + 4
    ip = struct.pack('>IHBB', 0x60000000, bytes_udp, 17, 64) + source + DESTINATION
    udp = struct.pack('>HHHH', 49152, 4791, bytes_udp, 0)
    masked = (b'\xff' * 8 + struct.pack('>IHBB', 0x6fffffff, bytes_udp, 17, 255) + source + DESTINATION +
              struct.pack('>HHHH', 49152, 4791, bytes_udp, 0xffff) + transport[:4] + b'\xff' + transport[5:])
    return ETHERNET + ip + udp + transport + struct.pack('<I', zlib.crc32(masked))


def transports(kind, number, turn):
    data = struct.pack('>Q', number * ROUNDS + turn)
    if kind == 'senders':
        bth = struct.pack('>BBHII', 100, 0, 0xffff, QPN, turn)
        return bth + struct.pack('>II', 0x11111111, 0x200 + number) + data
    psn = 7 if kind == 'same' else turn
    return struct.pack('>BBHII', 4, 0, 0xffff, QPN, 0x80000000 | psn) + data


def main():
    path, kind, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    random.seed(5)
    sources = list(addresses(kind, count))
    if kind in ('senders', 'same'):
        sources = [sources[0]] * count
    with open(path, 'wb') as out:
        out.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        time_us = 0
        for turn in range(ROUNDS):
            for number, source in enumerate(sources):
                frame = packet(source, transports(kind, number, turn))
                out.write(struct.pack('<IIII', 1700000000 + time_us // 1000000, time_us % 1000000,
                                      len(frame), len(frame)) + frame)
                time_us += 1


main()
