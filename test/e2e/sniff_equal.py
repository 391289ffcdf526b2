#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""For sniff.sh: equal frames at any speed, and the judge of the numbers about them.

    send IFACE twice|again GAP_MS   sends each frame twice in a row (twice), or all of them and then
                                    all once more (again), with GAP_MS between two frames
    count                           how many frames that is
    agree SNIFF VERIFY              the counters of both agree, by what each is defined to count
    sent SNIFF                      sniff counted what `send` sent
    alike SNIFF VERIFY SNIFF VERIFY...   the numbers are those of the first two

SNIFF and VERIFY hold JSON of `nornic sniff` and `nornic verify --strict` in their last line."""
import collections, json, socket, struct, sys, time, zlib

MACS = bytes.fromhex('020000000002' '020000000001')
V4 = tuple(socket.inet_aton('10.77.0.%d' % n) for n in (9, 8))
V6 = tuple(socket.inet_pton(socket.AF_INET6, 'fd77::%d' % n) for n in (9, 8))
RC_SEND_ONLY, RC_ACK, UD_SEND_ONLY, CNP = 0x04, 0x11, 0x64, 0x81
NAK, RNR = 0x60, 0x20


def checksum(header):
    total = sum(struct.unpack('>%dH' % (len(header) // 2), header))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ip_of(addresses, ident, udp_bytes):
    if len(addresses[0]) == 16:
        return struct.pack('>IHBB', 6 << 28, udp_bytes, 17, 64) + addresses[0] + addresses[1]
    header = struct.pack('>BBHHHBBH', 0x45, 0, 20 + udp_bytes, ident, 0x4000, 64, 17, 0)
    header += addresses[0] + addresses[1]
    return header[:10] + struct.pack('>H', checksum(header)) + header[12:]


def icrc(ip, rest):
    """Of an IP header, and of UDP header, BTH and payload behind it (ROCE-ICRC-2, ROCE-ICRC-4)."""
    ip, rest = bytearray(ip), bytearray(rest)
    if len(ip) == 40:
        ip[0] |= 0x0f
    for at in (1, 2, 3, 7) if len(ip) == 40 else (1, 8, 10, 11):
        ip[at] = 0xff
    for at in (6, 7, 12):
        rest[at] = 0xff
    return struct.pack('<I', zlib.crc32(bytes(8 * b'\xff' + ip + rest)))


def packet(opcode, psn, body=b'', addresses=V4, ident=0, qpn=0x11, version=0, udp_checksum=0,
           udp_more=0, bad=0):
    """An Ethernet frame. `bad`: is added to each byte of its ICRC; udp_more: to the UDP length."""
    bth = struct.pack('>BBHII', opcode, version, 0xffff, qpn, psn | 1 << 31)
    udp = struct.pack('>4H', 0xc000, 4791, 8 + len(bth + body) + 4 + udp_more, udp_checksum)
    ip = ip_of(addresses, ident, len(udp + bth + body) + 4)
    trailer = bytes((b + bad) & 0xff for b in icrc(ip, udp + bth + body))
    return MACS + (b'\x86\xdd' if len(ip) == 40 else b'\x08\x00') + ip + udp + bth + body + trailer


def tagged(frame):
    return frame[:12] + b'\x81\x00\x00\x05' + frame[12:]


def aeth(syndrome, msn):
    return struct.pack('>I', syndrome << 24 | msn)


def conversation():
    """Of a sender that counts identifications, one that does not, and one that has none."""
    data, back, deth = b'data', (V4[1], V4[0]), struct.pack('>II', 7, 0x12)
    for psn in range(20):
        yield 'send', 'icrc_ok', packet(RC_SEND_ONLY, psn, data, ident=0x100 + psn)
        yield 'send', 'icrc_ok', packet(RC_SEND_ONLY, psn, data, qpn=0x21)
        yield 'send', 'icrc_ok', packet(RC_SEND_ONLY, psn, data, V6, qpn=0x31)
        yield 'ack', 'icrc_ok', packet(RC_ACK, psn, aeth(0x1f, psn + 1), back, qpn=0x22)
    yield 'datagram', 'icrc_ok', packet(UD_SEND_ONLY, 0, deth + data, V6, qpn=0x41)
    yield 'nak', 'icrc_ok', packet(RC_ACK, 20, aeth(NAK, 20), back, qpn=0x22)
    yield 'rnr_nak', 'icrc_ok', packet(RC_ACK, 20, aeth(RNR, 20), back, qpn=0x22)
    yield 'cnp', 'icrc_ok', packet(CNP, 0, bytes(16), back, qpn=0x22)


def oddities(addresses):
    """Damaged in each way, or against a rule; the tagged ones are equal to those before them."""
    def sent(psn, **what):
        return packet(RC_SEND_ONLY, psn, b'data', addresses, **dict(dict(qpn=0x51), **what))
    yield 'send', 'icrc_ok', sent(30)
    yield 'send', 'icrc_ok', tagged(sent(30))
    yield 'bad', 'icrc_bad', sent(30, bad=1)
    yield 'bad', 'icrc_bad', tagged(sent(30, bad=1))
    yield 'bad', 'malformed', sent(31, udp_more=8)
    yield 'bad', 'malformed', packet(RC_ACK, 31, addresses=addresses, qpn=0x51)
    yield 'bad', 'udp_checksum_bad', sent(32, udp_checksum=1)
    yield 'bad', 'icrc_bad', sent(32, udp_checksum=1, bad=1)
    yield 'other', 'icrc_ok', sent(33, version=1)
    # reserved bits in the BTH: `verify --strict` names each such frame
    yield 'send', 'icrc_ok', sent(34, qpn=0x51 | 1 << 24)
    yield 'bad', 'malformed', sent(35)[:-20]


def frames():
    """(kind, soundness, frame): the kind that sniff counts, and the counter that verify has for it."""
    yield from conversation()
    yield from oddities(V4)
    yield from oddities(V6)


def send(iface, order, gap_ms):
    once = [frame for _, _, frame in frames()]
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    raw.bind((iface, 0))
    # with a pause the gap is what is tried: longer than any time by which copies were ever told
    for frame in [f for f in once for _ in range(2)] if order == 'twice' else once + once:
        raw.send(frame)
        if gap_ms:
            time.sleep(gap_ms / 1000)


def last_object(path):
    return json.loads(open(path).read().splitlines()[-1])


def expect(pairs):
    wrong = ['%s: %s, not %s' % row for row in pairs if row[1] != row[2]]
    if wrong:
        sys.exit('; '.join(wrong))


def agree(sniff, verify):
    kinds, found = sniff['kinds'], sniff['findings']
    bad = sniff['icrc_bad'] + sniff['malformed'] - sniff['cut'] + sniff['udp_checksum_bad']
    same = ('packets', 'roce', 'icrc_ok', 'icrc_bad', 'malformed', 'cut', 'udp_checksum_bad')
    expect([(k, sniff[k], verify.get(k, 0)) for k in same]
           + [('sum of kinds', sum(kinds.values()), sniff['packets']),
              ('RoCE', sniff['icrc_ok'] + sniff['icrc_bad'] + sniff['malformed'], sniff['roce']),
              ('kinds.bad', kinds['bad'], bad),
              ('bad_frames', len(verify['bad_frames']), bad + sniff['cut']),
              ('findings.icrc', found.get('icrc', 0), sniff['icrc_bad']),
              ('findings.malformed', found.get('malformed', 0), sniff['malformed'] - sniff['cut']),
              ('findings.cnp', found.get('cnp', 0), kinds['cnp']),
              ('retransmissions', found.get('retransmission', 0) + found.get('read_replay', 0),
               sniff['retransmissions']),
              ('naks', sniff['naks'], kinds['nak']),
              ('rnr_naks', sniff['rnr_naks'], kinds['rnr_nak'])])


def sent(sniff):
    kinds = collections.Counter(kind for kind, _, _ in frames())
    sound = collections.Counter(counter for _, counter, _ in frames())
    sound['icrc_ok'] += sound['udp_checksum_bad']
    expect([(k, sniff['kinds'][k], 2 * kinds[k]) for k in sniff['kinds']]
           + [(k, sniff[k], 2 * n) for k, n in sound.items()]
           + [('captured_twice', sniff['findings'].get('captured_twice', 0), 0)])


def alike(paths):
    """Times are told from times: that a timer ran out, and how long the capture took."""
    numbers = []
    for sniff, verify in zip(paths[::2], paths[1::2]):
        s, v = last_object(sniff), last_object(verify)
        s = {k: n for k, n in s.items() if k not in ('files', 'seconds', 'findings')}
        numbers.append({'sniff': s, 'verify': {k: n for k, n in v.items() if isinstance(n, int)}})
    for path, other in zip(paths[2::2], numbers[1:]):
        if other != numbers[0]:
            sys.exit('%s: %s, and of the first %s' % (path, other, numbers[0]))


def main():
    command, *rest = sys.argv[1:]
    if command == 'send':
        send(rest[0], rest[1], float(rest[2]))
    elif command == 'count':
        print(2 * len(list(frames())))
    elif command == 'agree':
        agree(*map(last_object, rest))
    elif command == 'sent':
        sent(last_object(rest[0]))
    else:
        alike(rest)


main()
