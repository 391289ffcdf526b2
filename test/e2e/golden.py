#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""golden.py FILE...: recomputes the ICRC of the RoCE packets in capture files with scapy.

Scapy computes it for IPv4; for IPv6 its layers are masked here and hashed (ROCE-ICRC-4). Prints a line
"FILE: N packets agree" and each packet that does not; exit status 1 when there is one or a file has no RoCE
packet, 77 when scapy is not installed."""
import sys, zlib

try:
    import logging
    logging.getLogger('scapy').setLevel(logging.ERROR)
    from scapy.contrib.roce import BTH
    from scapy.layers.inet import IP, UDP
    from scapy.layers.inet6 import IPv6
    from scapy.layers.l2 import Ether
    from scapy.packet import Raw
    from scapy.utils import PcapNgReader, PcapReader
except ImportError:
    sys.exit(77)


def by_scapy(packet):
    bth = packet[BTH]
    return bth.compute_icrc(bytes(bth))


def by_layers(packet):
    p = packet.copy()
    p.tc, p.fl, p.hlim, p[UDP].chksum = 0xff, 0xfffff, 0xff, 0xffff
    p[BTH].fecn, p[BTH].becn, p[BTH].resv6 = 1, 1, 0x3f
    crc = zlib.crc32(b'\xff' * 8 + bytes(p)[:-4])
    return (crc & 0xffffffff).to_bytes(4, 'little')


def datagram(frame):
    """The IP packet of a frame, without what Ethernet put behind it, or None."""
    ether = Ether(frame)
    for layer in (IP, IPv6):
        if layer in ether:
            raw = bytes(frame)[len(frame) - len(ether[layer].original):]
            length = int.from_bytes(raw[2:4], 'big') if layer is IP else 40 + int.from_bytes(raw[4:6], 'big')
            return layer(raw[:length])
    return None


status = 0
for path in sys.argv[1:]:
    with open(path, 'rb') as f:
        reader = PcapNgReader if f.read(4) == b'\x0a\x0d\x0d\x0a' else PcapReader
    agree = 0
    with reader(path) as capture:
        for number, frame in enumerate(capture, 1):
            packet = datagram(bytes(frame))
            if packet is None or BTH not in packet:
                continue
            found = bytes(packet.original)[-4:]
            expected = by_scapy(packet) if isinstance(packet, IP) else by_layers(packet)
            if found == expected:
                agree += 1
            else:
                print('%s: frame %d has %s, scapy says %s' % (path, number, found.hex(), expected.hex()))
                status = 1
    print('%s: %d packets agree' % (path, agree))
    if agree == 0:
        status = 1
sys.exit(status)
