#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""iWARP over a plain TCP socket, without nornic: the other side of the guest's rping, which shows that guest and judge
are good, and what siw does otherwise than the standard has it, provoked FPDU by FPDU: docs/interop.md.

    siw.py NAME PORT [SIZE ROUNDS]     in the namespace of nornic; the guest runs rping on that port

Exits with 0 when the guest did what is known of it.
"""
import os, socket, struct, sys, time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'e2e'))
from iwarp_reader import crc32c
from payload import ping_text

HERE, THERE = '10.78.0.2', '10.78.0.1'
R, C, S = 0x20, 0x40, 0x10
WRITE, READ_REQUEST, READ_RESPONSE, SEND, TERMINATE = 0, 1, 2, 3, 7
BAD_STAG, ADDRESS, STAG = 0x77777700, 0x1000, 0x11100
SEGMENT = 1428          # octets of data of an FPDU
# siw does not see an FPDU that comes while it still sends its Reply, until another segment comes.
PAUSE_SECONDS = 0.1


class Gone(Exception):
    pass


class Peer:
    def __init__(self, tcp):
        self.tcp, self.has_crc, self.msn = tcp, False, {0: 0, 1: 0, 2: 0}
        tcp.settimeout(4)

    def take(self, count):
        data = b''
        while len(data) < count:
            try:
                part = self.tcp.recv(count - len(data))
            except OSError as e:
                raise Gone('silence' if isinstance(e, socket.timeout) else e.strerror) from e
            if not part:
                raise Gone('FIN')
            data += part
        return data

    def take_frame(self):
        head = self.take(20)
        return head + self.take(struct.unpack_from('>H', head, 18)[0])

    def put_frame(self, key, flags, rev, private=b''):
        self.tcp.sendall(b'MPA ID %s Frame' % key + struct.pack('>BBH', flags, rev, len(private)) + private)

    def put(self, ulpdu):
        fpdu = struct.pack('>H', len(ulpdu)) + ulpdu
        fpdu += bytes(-len(fpdu) % 4)
        self.tcp.sendall(fpdu + struct.pack('<I', crc32c(fpdu) if self.has_crc else 0))

    def get(self):
        """The next ULPDU."""
        length, = struct.unpack('>H', head := self.take(2))
        rest = self.take(length + -(length + 2) % 4 + 4)
        if struct.pack('<I', crc32c(head + rest[:-4]) if self.has_crc else 0) != rest[-4:]:
            sys.exit('a CRC is wrong')
        return rest[:length]

    def put_untagged(self, opcode, qn, data):
        self.msn[qn] += 1
        self.put(struct.pack('>BBIIII', 0x41, 0x40 | opcode, 0, qn, self.msn[qn], 0) + data)

    def put_tagged(self, opcode, stag, offset, data):
        for at in range(0, max(len(data), 1), SEGMENT):
            last = at + SEGMENT >= len(data)
            head = struct.pack('>BBIQ', 0x81 | last << 6, 0x40 | opcode, stag, offset + at)
            self.put(head + data[at:at + SEGMENT])

    def put_read(self, stag, offset, size):
        """READ REQUEST whose data goes to STag 0x500."""
        self.put_untagged(READ_REQUEST, 1, struct.pack('>IQIIQ', 0x500, 0, size, stag, offset))

    def until(self, opcode, placed=None):
        """The next ULPDU of that opcode; on the way READs are answered from STAG, and data put at its offset of
        `placed`."""
        while True:
            ulpdu = self.get()
            found = ulpdu[1] & 15
            if found in (WRITE, READ_RESPONSE) and placed is not None:
                offset, = struct.unpack_from('>Q', ulpdu, 6)
                placed[offset:offset + len(ulpdu) - 14] = ulpdu[14:]
            if found == opcode and (found not in (WRITE, READ_RESPONSE) or ulpdu[0] & 0x40):
                return ulpdu
            if found == READ_REQUEST and placed is not None:
                sink, to, size, _, source = struct.unpack('>IQIIQ', ulpdu[18:46])
                self.put_tagged(READ_RESPONSE, sink, to, bytes(placed[source:source + size]))
            elif found == TERMINATE:
                raise Gone('Terminate ' + ulpdu[18:].hex())

    def end(self):
        """FIN; what the guest still sends: the opcodes, and how it ended."""
        self.tcp.shutdown(socket.SHUT_WR)
        return self.rest()

    def rest(self):
        found = []
        try:
            while True:
                found.append(self.get())
        except Gone as e:
            return found, str(e)


def connect(port, flags=C | S, rev=2, private=struct.pack('>HH', 4, 4)):
    """As the initiator: (peer, Reply)."""
    peer = Peer(socket.create_connection((THERE, port), 5))
    peer.put_frame(b'Req', flags, rev, private)
    reply = peer.take_frame()
    peer.has_crc = bool((flags | reply[16]) & C)
    time.sleep(PAUSE_SECONDS)
    return peer, reply


def serve(port):
    """As the responder: (peer, Request); the Reply is still to be sent."""
    with socket.create_server((HERE, port)) as listening:
        listening.settimeout(20)
        print('{"listening": %d}' % port, flush=True)
        tcp, _ = listening.accept()
    peer = Peer(tcp)
    request = peer.take_frame()
    peer.has_crc = bool(request[16] & C)
    return peer, request


def expect(what, got, wanted):
    print('%s: %s' % (what, got))
    if got != wanted:
        sys.exit('%s: expected %s' % (what, wanted))


def info(offset, size):
    return struct.pack('>QII', offset, STAG, size)


def rping_client(port, size, rounds):
    """The guest is `rping -s`: it reads our text and writes it back."""
    peer, _ = connect(port)
    for n in range(rounds):
        memory = bytearray(ping_text(n, size)) + bytearray(size)
        peer.put_untagged(SEND, 0, info(0, size))
        peer.until(SEND, memory)
        peer.put_untagged(SEND, 0, info(size, size))
        peer.until(SEND, memory)
        expect('round %d comes back as it was' % n, memory[:size - 1] == memory[size:-1], True)
    expect('the end', peer.end(), ([], 'FIN'))


def rping_server(port, size, rounds):
    """The guest is `rping -c`: we read its text and write it back."""
    peer, request = serve(port)
    peer.put_frame(b'Rep', request[16], request[17], struct.pack('>HH', 4, 4))
    for n in range(rounds):
        memory = bytearray(size)
        offset, stag, length = struct.unpack('>QII', peer.until(SEND)[18:34])
        expect('size of the source', length, size)
        peer.put_read(stag, offset, size)
        peer.until(READ_RESPONSE, memory)
        expect('round %d brings its text' % n, memory == ping_text(n, size), True)
        peer.put_untagged(SEND, 0, bytes(16))
        offset, stag, length = struct.unpack('>QII', peer.until(SEND)[18:34])
        peer.put_tagged(WRITE, stag, offset, bytes(memory))
        peer.put_untagged(SEND, 0, bytes(16))
    expect('the end', peer.rest(), ([], 'FIN'))


def terminate_of(peer):
    """Control word and what is copied of the refused header, of the Terminate that ends the connection."""
    found, end = peer.rest()
    opcodes = [ulpdu[1] & 15 for ulpdu in found]
    expect('what comes', (opcodes, end), ([TERMINATE], 'FIN'))
    return found[0][18:22].hex(), found[0][22:]


def too_long(port, *_):
    """A SEND that is too long: the nibbles of layer and type are turned round (RFC 5040 4.8 has 12), the code is 02 "no
    buffer" instead of 05, M and D are bits 0 and 1 of their octet instead of 7 and 6 (c0), and the length that it tells
    of the segment leaves the header out."""
    peer, _ = connect(port)
    peer.put_untagged(SEND, 0, bytes(500))
    word, copied = terminate_of(peer)
    expect('control word', word, '21020300')
    expect('length of the segment, which has 518 octets', copied[:2].hex(), '%04x' % 500)


def bad_read(port, *_):
    """A READ of an STag that does not exist: 01 00 e0 00 would be right."""
    peer, _ = connect(port)
    peer.put_read(BAD_STAG, ADDRESS, 8)
    expect('control word', terminate_of(peer)[0], '10000700')


def fin_cuts(port, *_):
    """Our FIN ends the connection at once: what is owed to our READs is not sent any more (RFC 5044 allows half closed
    streams)."""
    peer, _ = connect(port)
    peer.tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)     # READs and FIN in one segment
    for _ in range(4):
        peer.put_read(1, 0, 0)      # READs of no octets: any STag does
    found, end = peer.end()
    print('%d of 4 answers, then %s' % (len(found), end))
    if end != 'FIN' or len(found) == 4:
        sys.exit('expected less than 4 answers, then FIN')


def short_private(port, *_):
    """A Request with S and no octets of RFC 6581: the Reply refuses it, and has S and none itself."""
    _, reply = connect(port, private=b'')
    expect('Reply', reply[16:].hex(), '%02x020000' % (C | R | S))


def no_markers(port, *_):
    """A Request that wants markers, which a responder has to send (RFC 5044 7.1.1), is refused."""
    _, reply = connect(port, 0x80 | C | S)
    expect('flags of the Reply', reply[16] & (0x80 | R), R)


def rtr_not_offered(port, *_):
    """A Send alone is offered as RTR: the Reply asks for a Write."""
    peer, reply = connect(port, private=struct.pack('>HH', 0xc000 | 4, 4))
    expect('A, B, C and D of the Reply', [reply[20] >> 7, reply[20] >> 6 & 1, reply[22] >> 7, reply[22] >> 6 & 1],
           [1, 0, 1, 0])
    peer.put_tagged(WRITE, 1, 0, b'')   # as it has it: a connection that ends without is a BUG in its kernel
    expect('the end', peer.end(), ([], 'FIN'))


def interleaved(port, *_):
    """An empty Write between the two segments of a Read Response: siw has one context for both, and drops the
    connection without a word (RFC 5041 5.3 forbids it to the sender)."""
    peer, _ = connect(port)
    peer.put_untagged(SEND, 0, info(0, 2 * SEGMENT))
    sink, to, size = struct.unpack('>IQI', peer.until(READ_REQUEST)[18:34])
    expect('octets asked for', size, 2 * SEGMENT)
    peer.put(struct.pack('>BBIQ', 0x81, 0x40 | READ_RESPONSE, sink, to) + bytes(SEGMENT))
    peer.put_tagged(WRITE, 1, 0, b'')
    peer.put(struct.pack('>BBIQ', 0xc1, 0x40 | READ_RESPONSE, sink, to + SEGMENT) + bytes(SEGMENT))
    found, end = peer.rest()
    expect('what comes', found, [])
    print('and then: %s' % end)     # a reset, where it has not read all
    if end == 'silence':
        sys.exit('expected the end')


# name: (function, the guest is the client)
PEERS = {f.__name__.replace('_', '-'): (f, f is rping_server)
         for f in (rping_client, rping_server, too_long, bad_read, fin_cuts, short_private, no_markers,
                   rtr_not_offered, interleaved)}

if __name__ == '__main__':
    PEERS[sys.argv[1]][0](int(sys.argv[2]), *map(int, sys.argv[3:]))
