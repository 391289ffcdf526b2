# SPDX-License-Identifier: BSD-2-Clause
"""iwarp_imm.py ADDR PORT: connects as a peer of iWARP written from the RFCs (MPA revision 1, no markers, CRC32C).
Says three messages: a Write of nothing and Immediate Data, Immediate Data with Solicited Event, and a Send of
version 00b (RFC 5040 4.1). Prints what comes back: a line an FPDU, its opcode and payload. Ends with the stream."""
import socket
import struct
import sys

TABLE = []
for i in range(256):
    for _ in range(8):
        i = i >> 1 ^ 0x82f63b78 if i & 1 else i >> 1
    TABLE.append(i)


def crc32c(octets):
    crc = 0xffffffff
    for octet in octets:
        crc = TABLE[(crc ^ octet) & 255] ^ crc >> 8
    return crc ^ 0xffffffff


def fpdu(ulpdu):
    octets = struct.pack('>H', len(ulpdu)) + ulpdu
    octets += bytes(-len(octets) % 4)
    return octets + struct.pack('<I', crc32c(octets))


def untagged(opcode, msn, payload, version=1):
    return struct.pack('>BBIIII', 0x41, version << 6 | opcode, 0, 0, msn, 0) + payload


def read(stream, count):
    octets = b''
    while len(octets) < count:
        more = stream.recv(count - len(octets))
        if not more:
            return None
        octets += more
    return octets


def main():
    stream = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=20)
    stream.sendall(b'MPA ID Req Frame\x40\x01\0\0')
    reply = read(stream, 20)
    if not reply or reply[:16] != b'MPA ID Rep Frame' or reply[16] & 0x20:
        sys.exit('no reply: %r' % reply)
    read(stream, struct.unpack('>H', reply[18:])[0])
    write = struct.pack('>BBIQ', 0xc1, 0x40, 0, 0)
    stream.sendall(fpdu(write) + fpdu(untagged(8, 1, bytes.fromhex('1122334455667788'))) +
                   fpdu(untagged(9, 2, bytes.fromhex('99aabbcc00000000'))) + fpdu(untagged(3, 3, b'hello', 0)))
    while True:
        head = read(stream, 2)
        if not head:
            break
        size = struct.unpack('>H', head)[0]
        rest = read(stream, size + -(size + 2) % 4 + 4)
        if not rest or crc32c(head + rest[:-4]) != struct.unpack('<I', rest[-4:])[0]:
            sys.exit('cut or with a wrong CRC')
        print(rest[1], rest[18:size].hex())


main()
