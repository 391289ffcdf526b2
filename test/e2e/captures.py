# SPDX-License-Identifier: BSD-2-Clause
"""Capture files as lists of packets, to be cut, shifted and merged."""
import struct

NS = 10**9
NANO, MICRO = 0xa1b23c4d, 0xa1b2c3d4


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
