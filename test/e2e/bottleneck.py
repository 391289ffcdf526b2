#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""bottleneck.py INTERFACE INTERFACE: a switch between two interfaces, until its input ends. A line of input is the rate
towards the second one in bits per second, 0 without a limit. There frames wait in a queue: one that finds more than
10,000 bytes in it is marked "congestion experienced" (RFC 3168) if its sender can, and above 2 MB it is lost."""
import collections, select, socket, struct, sys, time

MARK_BYTES, QUEUE_BYTES, ETH_P_ALL = 10_000, 2_000_000, 3
SO_RCVBUFFORCE = 33


def open_at(interface):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
    s.bind((interface, 0))
    s.setblocking(False)
    return s


def marked(frame):
    """The frame as a congested switch passes it on; one that is not ECN-capable stays as it is."""
    kind, f = struct.unpack_from('>H', frame, 12)[0], bytearray(frame)
    if kind == 0x0800 and f[15] & 3:
        f[15] |= 3
        f[24:26] = b'\0\0'
        total = sum(struct.unpack('>10H', f[14:34]))
        total = (total & 0xffff) + (total >> 16)
        struct.pack_into('>H', f, 24, ~(total + (total >> 16)) & 0xffff)
    elif kind == 0x86dd and f[15] >> 4 & 3:
        f[15] |= 0x30
    return bytes(f)


def come(s):
    """The frames that have come to a socket, without those that left by it."""
    try:
        for _ in range(64):
            frame, where = s.recvfrom(65536)
            if where[2] != socket.PACKET_OUTGOING:
                yield frame
    except BlockingIOError:
        pass


def send(s, frame):
    try:
        s.send(frame)
    except OSError: # full: lost, as on a wire
        pass


def main():
    near, far = open_at(sys.argv[1]), open_at(sys.argv[2])
    queue, queued_bytes, rate_bps, next_s = collections.deque(), 0, 0, 0.0
    print('forwarding', flush=True)
    while True:
        wait_s = max(0.0, next_s - time.monotonic()) if queue else None
        ready = select.select([near, far, sys.stdin], [], [], wait_s)[0]
        if sys.stdin in ready:
            line = sys.stdin.readline()
            if not line:
                return
            rate_bps = int(line)
        for frame in come(near):
            if queued_bytes <= QUEUE_BYTES:
                queue.append(marked(frame) if rate_bps and queued_bytes > MARK_BYTES else frame)
                queued_bytes += len(frame)
        for frame in come(far):
            send(near, frame)
        now_s = time.monotonic()
        while queue and next_s <= now_s:
            frame = queue.popleft()
            queued_bytes -= len(frame)
            send(far, frame)
            next_s = max(next_s, now_s - 0.01) + (len(frame) * 8 / rate_bps if rate_bps else 0)


main()
