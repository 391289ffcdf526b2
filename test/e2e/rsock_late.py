#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`rstream -s ADDRESS -S 60000 -C 1` over iWARP by a plain socket, that reads late: what the server sent last lies in
its TCP until that has closed its rsocket and is about to end, and then hears something more.

    rsock_late.py ADDRESS       ends with 0 when all has come, its last word and a FIN behind it
"""
import os, socket, struct, sys, time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'interop'))
from siw import C, Gone, Peer, S, SEND, WRITE

PORT, SIZE, SYNC = 7471, 60000, 16     # rstream's: its port, what is asked for, the size of its first exchange
ORDER = '<' if sys.byteorder == 'little' else '>'
OP_SGL, DISCONNECT = 4 << 29, 7 << 29  # the credit of so many messages; a control message
CREDITS, LIST, HALF, STAG = 100, 0x1000, 0x2000, 0x100
LITTLE = 16384                         # octets that TCP has room for
LATE_SECONDS = 0.3


def connect(address):
    """(peer, address and STag of the half that the server lends)"""
    tcp = socket.socket()
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, LITTLE)
    tcp.connect((address, PORT))
    peer = Peer(tcp)
    flags = 0 if sys.byteorder == 'little' else 1
    peer.put_frame(b'Req', C | S, 2, struct.pack('>HHBBHIQIIQII', 4, 4, 1, flags, CREDITS, 0, LIST, STAG, 2, HALF, STAG,
                                                 65536))
    reply = peer.take_frame()
    peer.has_crc = bool(reply[16] & C)
    data, stag, _ = struct.unpack_from('>QII', reply, 20 + 4 + 24)
    return peer, data, stag


def write(peer, stag, at, size):
    peer.put_tagged(WRITE, stag, at, bytes(size))
    peer.put_untagged(SEND, 0, struct.pack(ORDER + 'I', size))


def main():
    peer, half, stag = connect(sys.argv[1])
    write(peer, stag, half, SYNC)
    while struct.unpack(ORDER + 'I', peer.until(SEND)[18:])[0] != SYNC:
        pass
    write(peer, stag, half + SYNC, SIZE)
    time.sleep(LATE_SECONDS)
    peer.put_untagged(SEND, 0, struct.pack(ORDER + 'I', OP_SGL | CREDITS + 2))
    time.sleep(LATE_SECONDS)
    size, words = 0, []
    try:
        while True:
            ulpdu = peer.get()
            if ulpdu[1] & 15 == WRITE:
                size += len(ulpdu) - 14
            elif ulpdu[1] & 15 == SEND:
                words += struct.unpack(ORDER + 'I', ulpdu[18:])
    except Gone as e:
        print('%d octets; %s; %s' % (size, ' '.join('%08x' % word for word in words), e))
        return size < SIZE or words[-1] != DISCONNECT or str(e) != 'FIN'


sys.exit(main())
