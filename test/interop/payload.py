# SPDX-License-Identifier: BSD-2-Clause
"""The messages in a capture of RoCE, put together by PSN, and what programs put into theirs: independent of nornic's
own code."""
import collections, ipaddress, struct

ROCE_PORT = 4791
SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_LAST_IMM, SEND_ONLY, SEND_ONLY_IMM = range(6)
WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_LAST_IMM, WRITE_ONLY, WRITE_ONLY_IMM = range(6, 12)
READ_REQUEST, READ_FIRST, READ_MIDDLE, READ_LAST, READ_ONLY = range(12, 17)
RC, UC, UD = 0, 1, 3
DETH, RETH, AETH, IMMEDIATE = 8, 16, 4, 4

Packet = collections.namedtuple('Packet', 'source transport operation qpn psn rest')   # rest: after the BTH, no pad


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
    """The Packet of a RoCEv2 frame, or None."""
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
    bth = udp[8:-4]
    pad = bth[1] >> 4 & 3
    return Packet(str(ipaddress.ip_address(source)), bth[0] >> 5, bth[0] & 31, int.from_bytes(bth[5:8], 'big'),
                  int.from_bytes(bth[9:12], 'big'), bth[12:len(bth) - pad])


def packets(path):
    return [p for p in map(roce, frames(path)) if p]


def by_psn(stream, strict):
    """{distance from the first PSN: packet}; of what is sent again under a PSN the first. `strict`: it must be the
    same; the stock programs send from buffers that they receive into."""
    found, first = {}, None
    for p in stream:
        first = p.psn if first is None else first
        at = (p.psn - first + 0x800000 & 0xffffff) - 0x800000
        known = found.setdefault(at, p)
        if strict and known.rest != p.rest:
            raise ValueError('PSN 0x%x to QP 0x%x of %s is sent again with other bytes' % (p.psn, p.qpn, p.source))
    return dict(sorted(found.items()))


def joined(stream, first_ops, last_ops, only_ops, skip, strict=False):
    """The messages of a stream that are there from their first to their last packet. `skip`: {operation: bytes of
    headers before the payload}."""
    building, expected = None, None
    for at, p in by_psn(stream, strict).items():
        body = p.rest[skip.get(p.operation, 0):]
        if p.operation in only_ops:
            building = None
            yield body
            continue
        if p.operation in first_ops:
            building = bytearray()
        elif building is None or at != expected:
            building = None   # begins, or goes on, in a packet that is not in the capture
            continue
        building, expected = building + body, at + 1
        if p.operation in last_ops:
            yield bytes(building)
            building = None


def cm_messages(path):
    """{source address: Counter of the attribute ids of its datagrams to QP1, each transaction once}."""
    found, seen = collections.defaultdict(collections.Counter), set()
    for p in packets(path):
        mad = p.rest[DETH:]
        if p.qpn != 1 or len(mad) != 256:
            continue
        key = p.source, mad[8:18]   # transaction, attribute
        if key not in seen:
            seen.add(key)
            found[p.source][int.from_bytes(mad[16:18], 'big')] += 1
    return found


def streams(path, wanted):
    """{(source, destination QPN): packets} of those that `wanted` says yes to, QP1 never."""
    found = collections.defaultdict(list)
    for p in packets(path):
        if p.qpn != 1 and wanted(p):
            found[p.source, p.qpn].append(p)
    return found


def sends(path, strict=()):
    """{(source, destination QPN): [message, ...]} of the SENDs of RC, UC and UD. `strict`: the sources that have to
    repeat a packet as it was."""
    found = {}
    for key, stream in streams(path, lambda p: p.operation <= SEND_ONLY_IMM and p.transport in (RC, UC, UD)).items():
        deth = DETH if stream[0].transport == UD else 0
        skip = {op: deth for op in range(6)}
        skip[SEND_LAST_IMM] += IMMEDIATE
        skip[SEND_ONLY_IMM] += IMMEDIATE
        found[key] = list(joined(stream, (SEND_FIRST,), (SEND_LAST, SEND_LAST_IMM), (SEND_ONLY, SEND_ONLY_IMM), skip,
                                 key[0] in strict))
    return found


def messages(path, strict=()):
    """{source address: [message, ...]}: the SENDs of all its queue pairs, one queue pair after the other."""
    found = collections.defaultdict(list)
    for (source, _), sent in sends(path, strict).items():
        found[source] += sent
    return found


def writes(path):
    """{source address: [bytes of a WRITE, ...]}."""
    found = collections.defaultdict(list)
    skip = {WRITE_FIRST: RETH, WRITE_ONLY: RETH, WRITE_LAST_IMM: IMMEDIATE, WRITE_ONLY_IMM: RETH + IMMEDIATE}
    for (source, _), stream in streams(path, lambda p: WRITE_FIRST <= p.operation <= WRITE_ONLY_IMM).items():
        found[source] += joined(stream, (WRITE_FIRST,), (WRITE_LAST, WRITE_LAST_IMM),
                                (WRITE_ONLY, WRITE_ONLY_IMM), skip)
    return found


def read_data(path):
    """{source address of the responder: [bytes of a READ, ...]}: what the packets between a request's first PSN and its
    last carry, whichever of them repeated answers brought."""
    asked = streams(path, lambda p: p.operation == READ_REQUEST)
    answered = streams(path, lambda p: READ_FIRST <= p.operation <= READ_ONLY)
    found = collections.defaultdict(list)
    for (source, _), stream in answered.items():
        data = {p.psn: p.rest[0 if p.operation == READ_MIDDLE else AETH:] for p in stream}
        for (requester, _), requests in asked.items():
            if requester == source:
                continue
            end = None
            for p in by_psn(requests, False).values():
                if end is not None and (end - p.psn & 0xffffff) < 0x800000 and end != p.psn:
                    continue   # a repeat of what the last one asked for
                length, got, psn = struct.unpack_from('>I', p.rest, 12)[0], b'', p.psn
                while psn in data and (len(got) < length or not got):
                    got += data[psn]
                    psn = psn + 1 & 0xffffff
                if len(got) != length:
                    raise ValueError('the READ at PSN 0x%x of %s is answered by %d bytes, not %d' % (
                        p.psn, requester, len(got), length))
                found[source].append(got)
                end = psn
    return found


STEP, MASK = 0x9e3779b97f4a7c15, (1 << 64) - 1


def first_word(key):
    """Of a nornic message: splitmix64's finalizer."""
    z = (key + 1) * STEP & MASK
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & MASK
    z = (z ^ z >> 27) * 0x94d049bb133111eb & MASK
    return z ^ z >> 31


def nornic_data(key, size):
    word, out = first_word(key), bytearray()
    while len(out) < size:
        out += word.to_bytes(8, 'little')
        word = word + STEP & MASK
    return bytes(out[:size])


def ping_text(number, size):
    text = 'rdma-ping-%d: ' % number
    text += ''.join(chr(65 + (number + i) % 58) for i in range(size - len(text) - 1))
    return text.encode() + b'\0'
