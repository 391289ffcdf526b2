# SPDX-License-Identifier: BSD-2-Clause
"""iWARP out of captures (pcap files of Ethernet), by a reader of its own: it puts TCP streams together by sequence
number, takes the MPA frame off each direction, walks the FPDUs by their lengths, leaves markers out and computes CRC32c
from its polynomial (RFC 5044 4, RFC 3720 B.4)."""
import collections
import ipaddress
import struct

import captures

KEYS = (b'MPA ID Req Frame', b'MPA ID Rep Frame')
POLYNOMIAL = 0x82f63b78  # 0x1edc6f41, its bits turned round
SYN, ACK = 2, 16
M, C = 0x80, 0x40  # flags of an MPA frame


def table():
    rows = []
    for row in range(256):
        for _ in range(8):
            row = row >> 1 ^ (POLYNOMIAL if row & 1 else 0)
        rows.append(row)
    return rows


TABLE = table()


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xff]
    return crc ^ 0xffffffff


assert crc32c(b'123456789') == 0xe3069283

Segment = collections.namedtuple('Segment', 'ends seq ack flags data')


def segment_of(frame):
    """The TCP segment of a frame; None: it has none."""
    at, kind = 14, frame[12:14]
    while kind == b'\x81\x00':
        kind, at = frame[at + 2:at + 4], at + 4
    if kind == b'\x08\x00' and frame[at + 9] == 6:
        addresses = [str(ipaddress.ip_address(frame[i:i + 4])) for i in (at + 12, at + 16)]
        total = struct.unpack_from('>H', frame, at + 2)[0] or len(frame) - at
        end, at = at + total, at + 4 * (frame[at] & 15)
    elif kind == b'\x86\xdd' and frame[at + 6] == 6:
        addresses = [str(ipaddress.ip_address(frame[i:i + 16])) for i in (at + 8, at + 24)]
        end, at = at + 40 + struct.unpack_from('>H', frame, at + 4)[0], at + 40
    else:
        return None
    source, destination, seq, ack, words, flags = struct.unpack_from('>HHIIBB', frame, at)
    ends = (addresses[0], source), (addresses[1], destination)
    return Segment(ends, seq, ack, flags, frame[at + 4 * (words >> 4):end])


class Direction:
    """Bytes by their place behind the SYN."""

    def __init__(self, seq):
        self.first, self.parts = seq + 1, []

    def add(self, segment):
        place = (segment.seq - self.first + 2**31) % 2**32 - 2**31
        self.parts.append((place, segment.data))

    def bytes(self):
        """All from the beginning to the first hole; of what came twice the first stays."""
        data, waiting = bytearray(), sorted(range(len(self.parts)), key=lambda i: (self.parts[i][0], i))
        owner = {}  # of a byte that several brought: the first of these
        for i in waiting:
            place, part = self.parts[i]
            if place > len(data):
                break
            for at in range(max(place, 0), min(place + len(part), len(data))):
                if owner.get(at, len(self.parts)) > i:
                    data[at], owner[at] = part[at - place], i
            fresh = part[len(data) - place:]
            owner.update((at, i) for at in range(len(data), len(data) + len(fresh)))
            data += fresh
        return bytes(data)


def connections(path):
    """[{(from, to): Direction}] in the order of their SYNs; those that a new SYN replaced stay."""
    found, current = [], {}
    for _, _, frame in captures.records(path):
        segment = segment_of(frame)
        if not segment:
            continue
        way, back = segment.ends, segment.ends[::-1]
        if segment.flags & SYN and not segment.flags & ACK:
            old = current.get(frozenset(way))
            if not old or old[way].first != segment.seq + 1:
                current[frozenset(way)] = {way: Direction(segment.seq)}
                found.append(current[frozenset(way)])
            continue
        connection = current.get(frozenset(way))
        if connection is None:
            continue
        if segment.flags & SYN:
            connection.setdefault(way, Direction(segment.seq))
        elif way in connection and back in connection:
            connection[way].add(segment)
    return found


Fpdu = collections.namedtuple('Fpdu', 'at ulpdu_len crc opcode tagged last msn')
# frame: octets of the MPA frame or None; ulpdus and crcs: of the FPDUs, the latter as they stand there
Side = collections.namedtuple('Side', 'frame fpdus ulpdus crcs')


def strip(data, at, origin, count):
    """`count` bytes without the markers that stand each 512 bytes from `origin` on: (bytes, where they end)."""
    out = bytearray()
    while len(out) < count and at < len(data):
        if (at - origin) % 512 == 0:
            at += 4
        part = min(count - len(out), 512 - (at - origin) % 512)
        out += data[at:at + part]
        at += part
    return bytes(out), at if len(out) == count else len(data) + 1


def fpdus_of(data, origin, has_markers, has_crc, has_reply):
    """Of what one side sent behind its MPA frame: (Fpdu, ULPDU, CRC as it stands there)."""
    take = (lambda at, n: strip(data, at, origin, n)) if has_markers else (lambda at, n: (data[at:at + n], at + n))
    at = origin
    while True:
        length, end = take(at, 2)
        if end > len(data):
            return
        ulpdu = struct.unpack('>H', length)[0]
        whole = 2 + ulpdu + -(2 + ulpdu) % 4 + 4
        plain, end = take(at, whole)
        if end > len(data):
            return
        stands = struct.unpack('<I', data[end - 4:end])[0]
        crc = 'off' if has_reply else 'unseen'
        if has_crc:
            crc = 'good' if stands == crc32c(data[at:end - 4]) else 'bad'
        tagged = bool(plain[2] & 0x80) if ulpdu > 1 else None
        msn = struct.unpack_from('>I', plain, 12)[0] if tagged is False and ulpdu >= 18 else None
        yield Fpdu(at, ulpdu, crc, plain[3] & 15 if ulpdu > 1 else None, tagged,
                   bool(plain[2] & 0x40) if ulpdu > 1 else None, msn), plain[2:2 + ulpdu], stands
        at = end


def frame_of(data):
    """The MPA frame at the beginning; None: there is none."""
    if len(data) < 20 or data[:16] not in KEYS:
        return None
    private = min(struct.unpack_from('>H', data, 18)[0], 512)
    return None if len(data) < 20 + private else data[:20 + private]


def read(path):
    """{connection: [Side of the initiator, of the responder]}, keyed by the ends of the former and how often these were
    there."""
    result, times = {}, collections.Counter()
    for connection in connections(path):
        ways = list(connection)
        streams = [connection[way].bytes() for way in ways]
        if not any(stream[:16] in KEYS for stream in streams):
            continue
        if len(streams) > 1 and streams[1][:16] == KEYS[0] and streams[0][:16] != KEYS[0]:
            ways.reverse()
            streams.reverse()
        frames = [frame_of(stream) for stream in streams]
        key = ways[0], times[ways[0]]
        times[ways[0]] += 1
        result[key] = [Side(None, [], [], []), Side(None, [], [], [])]
        has_crc = any(frame and frame[16] & C for frame in frames)
        for side, frame in enumerate(frames):
            other = frames[1 - side] if len(frames) > 1 else None
            if frame:
                walk = list(fpdus_of(streams[side], len(frame), other and other[16] & M, has_crc, other))
                result[key][side] = Side(frame, *([row[i] for row in walk] for i in range(3)))
    return result
