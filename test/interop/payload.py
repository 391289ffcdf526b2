# SPDX-License-Identifier: BSD-2-Clause
"""The SEND messages in a capture, put together by PSN: independent of nornic's own code."""
import collections, ipaddress, struct

SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_ONLY = 0, 1, 2, 4
ROCE_PORT = 4791


def frames(path):
    """Ethernet frames of a classic little-endian pcap file."""
    with open(path, 'rb') as f:
        data = f.read()
    if data[:4] not in (b'\xd4\xc3\xb2\xa1', b'\x4d\x3c\xb2\xa1'):
        raise ValueError(path + ' is no little-endian pcap file')
    at = 24
    while at + 16 <= len(data):
        captured, = struct.unpack_from('<I', data, at + 8)
        yield data[at + 16:at + 16 + captured]
        at += 16 + captured


def roce(frame):
    """(source address, BTH up to the ICRC) of a RoCEv2 frame, or None."""
    kind, = struct.unpack_from('>H', frame, 12)
    if kind == 0x0800:
        header = (frame[14] & 15) * 4
        source, protocol = frame[26:30], frame[23]
        length = struct.unpack_from('>H', frame, 16)[0] - header
    elif kind == 0x86dd:
        header, source, length, protocol = 40, frame[22:38], struct.unpack_from('>H', frame, 18)[0], frame[20]
    else:
        return None
    udp = frame[14 + header:14 + header + length]
    if protocol != 17 or struct.unpack_from('>H', udp, 2)[0] != ROCE_PORT:
        return None
    return str(ipaddress.ip_address(source)), udp[8:-4]


def messages(path):
    """{source address: [message, ...]} of the SENDs of one connection each way, retransmissions taken once."""
    seen, sent, building = collections.defaultdict(set), collections.defaultdict(list), {}
    for frame in frames(path):
        source, bth = roce(frame) or (None, b'')
        if not bth or bth[0] not in (SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_ONLY):
            continue
        psn, pad = int.from_bytes(bth[9:12], 'big'), bth[1] >> 4 & 3
        if psn in seen[source]:
            continue
        seen[source].add(psn)
        expected, data = building.get(source, (psn, bytearray()))
        if psn != expected:
            raise ValueError('%s: PSN 0x%x of %s is missing' % (path, expected, source))
        if bth[0] in (SEND_FIRST, SEND_ONLY) and data:
            raise ValueError('%s: at PSN 0x%x of %s a message begins inside another' % (path, psn, source))
        data += bth[12:len(bth) - pad]
        if bth[0] in (SEND_LAST, SEND_ONLY):
            sent[source].append(bytes(data))
            data = bytearray()
        building[source] = (psn + 1 & 0xffffff, data)
    return sent
