# SPDX-License-Identifier: BSD-2-Clause
"""Capture files as lists of packets, to be cut, shifted and merged."""
import struct
import zlib

NS = 10**9
NANO, MICRO = 0xa1b23c4d, 0xa1b2c3d4
PSN = slice(51, 54)  # in an IPv4 frame: Ethernet 14, IP 20, UDP 8, BTH byte 9
MSN = slice(55, 58)  # of the AETH, right behind the BTH
WITH_AETH = (0x0d, 0x0f, 0x10, 0x11, 0x12)
MASKED = {1: 0xff, 8: 0xff, 10: 0xff, 11: 0xff, 26: 0xff, 27: 0xff, 32: 0xff}  # in the IP packet (ROCE-ICRC-4)


def records(path):
    """[(time in ns, bytes on the wire, frame)] of a little-endian pcap file of Ethernet frames."""
    data = open(path, 'rb').read()
    magic, link = struct.unpack_from('<I', data)[0], struct.unpack_from('<I', data, 20)[0]
    assert magic in (NANO, MICRO) and link == 1, path
    found, at = [], 24
    while at < len(data):
        s, part, kept, wire = struct.unpack_from('<4I', data, at)
        found.append((s * NS + part * (1 if magic == NANO else 1000), wire, data[at + 16:at + 16 + kept]))
        at += 16 + kept
    return sorted(found, key=lambda r: r[0])


def write(path, packets):
    with open(path, 'wb') as f:
        f.write(struct.pack('<IHHIIII', NANO, 2, 4, 0, 0, 262144, 1))
        for ns, wire, frame in packets:
            f.write(struct.pack('<4I', ns // NS, ns % NS, len(frame), wire) + frame)


def moved(frame, by, messages, ident=None):
    """The frame with its PSN and MSN moved, where `ident` is given with that IPv4 identification, and a good ICRC."""
    out = bytearray(frame)
    if frame[42] in WITH_AETH:
        out[MSN] = (int.from_bytes(frame[MSN], "big") + messages & 0xffffff).to_bytes(3, "big")
    out[PSN] = (int.from_bytes(frame[PSN], "big") + by & 0xffffff).to_bytes(3, "big")
    if ident is not None:
        out[18:20] = struct.pack(">H", ident & 0xffff)
        out[24:26] = b"\0\0"
        words = sum(struct.unpack(">10H", out[14:34]))
        out[24:26] = struct.pack(">H", ~(words + (words >> 16)) & 0xffff)
    masked = bytearray(out[14:-4])
    for at, value in MASKED.items():
        masked[at] = value
    out[-4:] = zlib.crc32(b"\xff" * 8 + bytes(masked)).to_bytes(4, "little")
    return bytes(out)


def lasting(packets, count):
    """`count` packets: those of one queue pair over IPv4 again and again, its PSNs, MSNs and identifications going
    on, so that no packet is a copy of another. Each time begins 1 us behind the end of the one before."""
    span_ns = packets[-1][0] - packets[0][0] + 1000
    psns = [int.from_bytes(frame[PSN], 'big') for _, _, frame in packets]
    messages = max(int.from_bytes(frame[MSN], 'big') for _, _, frame in packets if frame[42] in WITH_AETH)
    ids = {}
    for _, _, frame in packets:
        ids.setdefault(frame[26:30], []).append(int.from_bytes(frame[18:20], 'big'))
    for k in range(count):
        turn, (ns, wire, frame) = k // len(packets), packets[k % len(packets)]
        own = ids[frame[26:30]]
        ident = int.from_bytes(frame[18:20], 'big') + turn * (max(own) - min(own) + 1)
        yield ns + turn * span_ns, wire, moved(frame, turn * (max(psns) - min(psns) + 1), turn * messages, ident)
