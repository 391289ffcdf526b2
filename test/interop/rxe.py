#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What soft-RoCE does otherwise than the standard has it, provoked packet by packet: docs/interop.md.

    rxe.py NAME TCP_PORT [INTERFACE]     in the namespace of nornic; the guest runs ibv_rc_pingpong on that port

Plays the other side of ibv_rc_pingpong with packets of its own making, and exits with 0 when the guest did what is
known of it.
"""
import collections, ipaddress, select, socket, struct, sys, time, zlib

HERE, THERE = '10.78.0.2', '10.78.0.1'
OUR_MAC, GUEST_MAC = bytes.fromhex('5254004e0002'), bytes.fromhex('5254004e0001')
ROCE_PORT, OUR_QPN, OUR_PSN = 4791, 0x800, 0xfffffe
SEND_ONLY, ACK, SEND_ONLY_INV, RESERVED = 4, 17, 23, 30
POSITIVE, NAK_PSN, NAK_OPERATION = 0x1f, 0x60, 0x63
QUIET_SECONDS = 0.3                       # more than four of the guest's ack timeouts
Answer = collections.namedtuple('Answer', 'psn syndrome msn')


class Peer:
    def __init__(self, interface):
        self.port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
        self.port.bind((interface, 0))
        self.keep = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.keep.bind((HERE, ROCE_PORT))   # so that the kernel here does not call the port unreachable
        self.qpn = self.psn = 0             # of the guest
        self.identification = 0

    def line(self):
        gid = '00000000000000000000ffff' + ipaddress.ip_address(HERE).packed.hex()
        return b'0000:%06x:%06x:%s\0' % (OUR_QPN, OUR_PSN, gid.encode())

    def learn(self, line):
        _, qpn, psn, _ = line.rstrip(b'\0').split(b':')
        self.qpn, self.psn = int(qpn, 16), int(psn, 16)

    def connect(self, port):
        with socket.create_connection((THERE, port), 5) as tcp:
            tcp.sendall(self.line())
            self.learn(tcp.recv(52, socket.MSG_WAITALL))
            tcp.sendall(b'done\0')

    def serve(self, port):
        with socket.create_server((HERE, port)) as listening:
            listening.settimeout(20)
            print('{"listening": %d}' % port, flush=True)
            tcp, _ = listening.accept()
            self.learn(tcp.recv(52, socket.MSG_WAITALL))
            tcp.sendall(self.line())
            tcp.recv(5, socket.MSG_WAITALL)
            return tcp                      # closed when the program ends

    def send(self, opcode, psn, rest, ask=True):
        pad = -len(rest) % 4
        bth = struct.pack('>BBHII', opcode, pad << 4, 0xffff, self.qpn, ask << 31 | psn & 0xffffff)
        body = bth + rest + bytes(pad)
        self.identification += 1
        udp = struct.pack('>HHHH', 0xc000, ROCE_PORT, 12 + len(body), 0)
        ip = struct.pack('>BBHHHBBH', 0x45, 0, 32 + len(body), self.identification, 0x4000, 64, 17, 0)
        ip += ipaddress.ip_address(HERE).packed + ipaddress.ip_address(THERE).packed
        masked = b'\xff' * 8 + ip[:1] + b'\xff' + ip[2:8] + b'\xff' + ip[9:10] + b'\xff\xff' + ip[12:]
        masked += udp[:6] + b'\xff\xff' + body[:4] + b'\xff' + body[5:]
        ip = ip[:10] + struct.pack('>H', checksum(ip)) + ip[12:]
        self.port.send(GUEST_MAC + OUR_MAC + b'\x08\x00' + ip + udp + body + struct.pack('<I', zlib.crc32(masked)))

    def hear(self, seconds=QUIET_SECONDS, acknowledge=True):
        """(answers, requests) of the guest until `seconds` have passed; its requests are acknowledged."""
        answers, requests, end = [], [], time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.port], [], [], left)[0]:
                break
            frame = self.port.recv(9000)
            if frame[26:30] != ipaddress.ip_address(THERE).packed or frame[23] != 17 or frame[36:38] != b'\x12\xb7':
                continue
            bth = frame[42:]
            psn = int.from_bytes(bth[9:12], 'big')
            if bth[0] == ACK:
                answers.append(Answer(psn, bth[12], int.from_bytes(bth[13:16], 'big')))
            elif int.from_bytes(bth[5:8], 'big') == OUR_QPN:
                requests.append(psn)
                if acknowledge:
                    self.send(ACK, psn, bytes([POSITIVE, 0, 0, len(set(requests))]), ask=False)
        return answers, requests


def checksum(header):
    total = sum(struct.unpack('>10H', header))
    total = (total & 0xffff) + (total >> 16)
    return ~(total + (total >> 16)) & 0xffff


def expect(what, got, wanted):
    print('%s: %s' % (what, got if got else 'silence'))
    if got != wanted:
        sys.exit('%s: expected %s' % (what, wanted))


MESSAGE = bytes(range(64))


def duplicate(peer, port):
    """Acknowledges a duplicate that did not ask for it."""
    peer.connect(port)
    ok = [Answer(OUR_PSN, POSITIVE, 1)]
    peer.send(SEND_ONLY, OUR_PSN, MESSAGE)
    expect('SEND', peer.hear()[0], ok)
    peer.send(SEND_ONLY, OUR_PSN, MESSAGE, ask=False)
    expect('the same, AckReq = 0', peer.hear()[0], ok)


def gap(peer, port):
    """One NAK a gap: if it is lost, only the requester's timer helps. Then a duplicate inside the gap."""
    peer.connect(port)
    peer.send(SEND_ONLY, OUR_PSN, MESSAGE)
    expect('SEND', peer.hear()[0], [Answer(OUR_PSN, POSITIVE, 1)])
    for skipped in (3, 4, 3):
        peer.send(SEND_ONLY, OUR_PSN + skipped, MESSAGE)
    expect('three packets behind a gap', peer.hear()[0], [Answer(OUR_PSN + 1, NAK_PSN, 1)])


def too_long(peer, port):
    """A SEND that does not fit its receive: "remote operational error" instead of "invalid request"."""
    peer.connect(port)
    peer.send(SEND_ONLY, OUR_PSN, MESSAGE * 2)
    expect('SEND of 128 bytes to a receive of 64', peer.hear()[0], [Answer(OUR_PSN, NAK_OPERATION, 0)])


def invalidate(peer, port):
    """SEND with invalidate of a key that is none: an ACK, though the operation fails; then nothing more."""
    peer.connect(port)
    peer.send(SEND_ONLY_INV, OUR_PSN, struct.pack('>I', 0x7fffff00) + MESSAGE)
    expect('SEND with invalidate of a bad key', peer.hear()[0], [Answer(OUR_PSN, POSITIVE, 0)])
    peer.send(SEND_ONLY, OUR_PSN + 1, MESSAGE)
    expect('SEND after it', peer.hear()[0], [])


def reserved_opcode(peer, port):
    """A reserved opcode: nothing, instead of a NAK "invalid request"; the connection goes on."""
    peer.connect(port)
    peer.send(RESERVED, OUR_PSN, MESSAGE)
    expect('reserved opcode', peer.hear()[0], [])
    peer.send(SEND_ONLY, OUR_PSN, MESSAGE)
    expect('SEND after it', peer.hear()[0], [Answer(OUR_PSN, POSITIVE, 1)])


def reserved_syndrome(peer, port):
    """A reserved AETH syndrome ends the connection, instead of being ignored."""
    tcp = peer.serve(port)
    first = peer.hear(1, acknowledge=False)[1]
    peer.send(ACK, first[0], bytes([0x40, 0, 0, 0]), ask=False)
    peer.hear(0.05, acknowledge=False)    # what was on its way
    expect('repeats after syndrome 0x40', peer.hear(acknowledge=False)[1], [])
    tcp.close()


def endless_retry(peer, port):
    """retry_cnt 7 is no limit."""
    tcp = peer.serve(port)
    heard = peer.hear(1.5, acknowledge=False)[1]
    print('one request is sent %d times in 1.5 s' % len(heard))
    if len(set(heard)) != 1 or len(heard) <= 8:
        sys.exit('expected more than the 8 times that retry_cnt 7 allows')
    tcp.close()


# name: (function, the guest is the client)
QUIRKS = {f.__name__.replace('_', '-'): (f, f in (reserved_syndrome, endless_retry))
          for f in (duplicate, gap, too_long, invalidate, reserved_opcode, reserved_syndrome, endless_retry)}

if __name__ == '__main__':
    QUIRKS[sys.argv[1]][0](Peer(sys.argv[3] if len(sys.argv) > 3 else 'nic0'), int(sys.argv[2]))
