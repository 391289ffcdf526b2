#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""verify_inputs.py DIR: makes the inputs of verify.sh there, out of pcaps/: damaged, cut, converted."""
import struct, sys

DIR = sys.argv[1] + '/'


def read(name):
    """Header and records (record header without lengths, frame) of a classic little-endian pcap."""
    with open('pcaps/' + name, 'rb') as f:
        data = f.read()
    assert data[:4] == b'\xd4\xc3\xb2\xa1'
    records, at = [], 24
    while at < len(data):
        seconds, micros, captured, wire = struct.unpack('<4I', data[at:at + 16])
        records.append((seconds, micros, wire, bytearray(data[at + 16:at + 16 + captured])))
        at += 16 + captured
    return data[:24], records


def write(name, header, records):
    with open(DIR + name, 'wb') as f:
        f.write(header)
        for seconds, micros, wire, frame in records:
            f.write(struct.pack('<4I', seconds, micros, len(frame), wire) + frame)


def block(kind, body):
    body += bytes(-len(body) % 4)
    length = struct.pack('<I', 12 + len(body))
    return struct.pack('<I', kind) + length + body + length


def write_pcapng(name, records):
    with open(DIR + name, 'wb') as f:
        f.write(block(0x0A0D0D0A, struct.pack('<IHHq', 0x1A2B3C4D, 1, 0, -1)))
        f.write(block(1, struct.pack('<HHI', 1, 0, 0)))
        for seconds, micros, wire, frame in records:
            time = seconds * 1000000 + micros
            f.write(block(6, struct.pack('<5I', 0, time >> 32, time & 0xffffffff, len(frame), wire) + frame))


header, records = read('rc_send_1024.pcap')
write_pcapng('good.pcapng', records)
assert len(records[44][3]) > 80 and len(records[1][3]) == 62

# one bit of the payload of frame 45, and of the ICRC of frame 2 (an ACK of 62 bytes)
records[44][3][70] ^= 0x10
records[1][3][-1] ^= 0x01
write('damaged.pcap', header, records)

# frame 3 claims another UDP length, frame 5 another IPv4 checksum, frame 7 is too short for its opcode
header, records = read('rc_send_1024.pcap')
records[2][3][39] ^= 0x04
records[4][3][24] ^= 0x01
records[6][3][42] = 0x13
write('malformed.pcap', header, records)

# RoCEv1, the vector V15 of the specification: good, then a changed payload, then a GRH of version 5
macs = bytes.fromhex('020000000002' '020000000001')
v1 = macs + bytes.fromhex('8915' '60aabcde00141b40' 'fe80000000000000020000fffe000001'
                          'fe80000000000000020000fffe000002' '0470ffff000001028000000a' '00000000' '8185c049')
bad_payload, bad_version = bytearray(v1), bytearray(v1)
bad_payload[66] ^= 1
bad_version[14] ^= 0x30
tagged = v1[:12] + bytes.fromhex('81006005') + v1[12:]
write('v1.pcap', header, [(1, i, len(f), f) for i, f in enumerate((v1, bad_payload, bad_version, tagged))])

# every record cut at 64 bytes, as tcpdump -s 64 does: ACKs (62 bytes) stay whole
header, records = read('rc_send_1024.pcap')
write('snapped.pcap', header, [(s, m, wire, frame[:64]) for s, m, wire, frame in records])

# a UDP checksum that is wrong, which the ICRC does not cover
header, records = read('rc_send_1024.pcap')
records[1][3][40:42] = b'\x12\x34'
write('udp_checksum.pcap', header, records)

# the file ends inside a record, or inside the header of one
with open('pcaps/rc_send_1024.pcap', 'rb') as f:
    whole = f.read()
three = 24 + sum(16 + len(frame) for _, _, _, frame in records[:3])
for name, length in (('cut_in_record.pcap', three + 30), ('cut_in_header.pcap', 20), ('empty.pcap', 0)):
    with open(DIR + name, 'wb') as f:
        f.write(whole[:length])
with open(DIR + 'wlan.pcap', 'wb') as f:
    f.write(whole[:20] + struct.pack('<I', 105) + whole[24:])
with open(DIR + 'text.pcap', 'wb') as f:
    f.write(b'This is no capture.\n' * 20)

# VLAN: one bit behind the tag, in the first RoCE packet
header, records = read('rc_vlan.pcap')
is_roce = [frame[12:14] == b'\x81\x00' and frame[40:42] == b'\x12\xb7' for _, _, _, frame in records]
first = is_roce.index(True)
records[first][3][53] ^= 0x80
write('damaged_vlan.pcap', header, records)
with open(DIR + 'damaged_vlan.number', 'w') as f:
    f.write(str(first + 1))

# nothing but somebody else's packets
write('others.pcap', header, [r for i, r in enumerate(records) if not is_roce[i]])
