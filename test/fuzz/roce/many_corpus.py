#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the named scenarios of fuzz_many, test/fuzz/corpus/many/NAME (other files there were found by the fuzzer).

    test/fuzz/roce/many_corpus.py

The bytes are what fuzz_many.c and its many_*.c read; the names below are theirs.
"""
import os

QP, CONNECT, SEND, RECEIVE, RUN, FRAME, WAIT, POLL, MODIFY, MEMORY, HANDLE, GROUP, TABLE, SRQ, FAIL, CQ = range(16)
RC, UC, UD, GSI, INI, TGT = range(6)
USE_SRQ, SRQ_1, CQ_1, SIG_ALL, CQ_NEXT = 0x08, 0x10, 0x20, 0x40, 0x80
IPV6, V1, RTR_ONLY, OUTSIDE = 1, 2, 8, 0xff
SMALL_CQ, CONGESTION, MIGRATION, FAILING = 1, 2, 4, 0x80
W, W_IMM, S, S_IMM, READ, CAS, ADD, LOCAL_INV, BIND, S_INV, MCAS, MADD, REG = range(13)
FENCE, SIGNALED, SOLICITED, INLINE = 1, 2, 4, 8
RESET, INIT, RTR, RTS, SQD, SQE, ERR = range(7)
F_V1, F_VLAN, F_CE, F_PKEY, F_SE, F_INSIDE, F_GROUP = 2, 4, 8, 0x10, 0x20, 0x40, 0x80


def step(what, q=0, *more):
    return bytes([what, q, *more])


def qp(q, kind, how=0):
    return step(QP, q, kind | how)


def connect(q, peer, how=0):
    return step(CONNECT, q, peer, how)


def pair(a, b, kind, how=0, path=0):
    return qp(a, kind, how) + qp(b, kind, how) + connect(a, b, path) + connect(b, a, path)


def sge(piece=0, offset=0, length=100):
    return bytes([piece | (0x40 if length > 255 else 0), offset, length // 8 if length > 255 else length])


def send(q, op, flags=SIGNALED, sges=(), high=0, remote=(0, 0), bind=(), to=0):
    out = step(SEND, q, op | len(sges) << 4 | high, flags | to << 4)
    return out + b''.join(sges) + bytes(remote) + bytes(bind)


def recv(q, *sges, how=0):
    return step(RECEIVE, q, len(sges) | how) + b''.join(sges)


def frame(q, opcode, flags=0, length=0, ahead=0, ext=(0, 0), more=()):
    return step(FRAME, q, flags, opcode, length, ahead, *ext, *more)


def run(n=40):
    return step(RUN, 0, n)


def poll():
    return b''.join(step(POLL, 0, 0x38 | cq) for cq in range(3))


ALL_OPS = b''.join(send(0, op, SIGNALED, (sge(0, 0, 200),), remote=(0, 64)) + run(8) + poll()
                   for op in (W, W_IMM, S, S_IMM, READ))
ATOMICS = b''.join(send(0, op, SIGNALED, (sge(0, 8, 8),), remote=(0, 8)) + run(8)
    + poll() for op in (CAS, ADD, MCAS, MADD))
LONG = b''.join(send(0, op, SIGNALED, (sge(0, 0, 1000), sge(2, 0, 520)), remote=(0, 0)) + run(30)
    + poll() for op in (W, S, READ))
RECVS = b''.join(recv(1, sge(2, 0, 1600)) for _ in range(4))
HANDLES = b''.join(step(HANDLE, 0, i | (4 if i & 1 else 0) | (i << 4)) for i in range(4))

SCENARIOS = {
    'rc_pair_every_operation': b'\0' + pair(0, 1, RC) + RECVS + ALL_OPS + ATOMICS + LONG,
    'rc_pair_ipv6_signal_all': b'\0' + pair(0, 1, RC, SIG_ALL, IPV6) + RECVS + ALL_OPS,
    'rc_pair_roce_v1': b'\0' + pair(0, 1, RC, 0, V1) + RECVS + ALL_OPS + pair(2, 3, RC, 0, V1 | IPV6) + LONG,
    'rc_rnr_until_a_receive_comes': b'\0' + pair(0, 1, RC, 0, 0x20) + send(0, S, 2, (sge(),)) + run()
    + step(WAIT, 0, 14)
    + run() + recv(1, sge(2, 0, 200)) + step(WAIT, 0, 16) + run() + poll(),
    'rc_rnr_exhausted': b'\0' + pair(0, 1, RC) + send(0, S, 2, (sge(),)) + (run() + step(WAIT, 0, 16)) * 3 + poll(),
    'rc_bad_keys_and_lengths': b'\0' + pair(0, 1, RC) + send(0, W, 2, (sge(0, 0, 200),), remote=(1, 0)) + run()
    + poll()
    + pair(2, 3, RC) + send(2, READ, 2, (sge(0, 0, 200),), remote=(0, 250)) + run() + poll(),
    'rc_timeouts_beyond_the_wire': b'\0' + qp(0, RC) + connect(0, OUTSIDE) + send(0, W, 2, (sge(),))
    + (run() + step(WAIT, 0, 21)) * 5 + poll(),
    'rc_with_an_srq': b'\0' + pair(0, 1, RC, USE_SRQ) + pair(2, 3, RC, USE_SRQ | SRQ_1)
    + b''.join(recv(0, sge(2, 0, 250), how=0x80 | i << 6) for i in (0, 1, 0, 1)) + step(SRQ, 0, 2 << 2)
    + send(0, S, 2, (sge(),)) + send(2, S_IMM, 2, (sge(),)) + send(3, S, 2, (sge(),)) + run() + poll()
    + step(SRQ, 0, 0xfe)
    + send(0, S, 2, (sge(),)) + run() + step(MODIFY, 1, ERR) + poll(),
    'uc_pair': b'\0' + pair(0, 1, UC) + RECVS + ALL_OPS + LONG + send(0, READ, 2, (sge(),)),
    'uc_gaps': b'\0' + qp(0, UC) + connect(0, OUTSIDE) + recv(0, sge(2, 0, 1600), how=0)
    + frame(0, 0x20, 0, 255) + frame(0, 0x21, 0, 255, 1) + frame(0, 0x22, 0, 9) + frame(0, 0x24, F_SE, 99) + poll(),
    'uc_with_an_srq': b'\0' + pair(0, 1, UC, USE_SRQ) + recv(0, sge(2, 0, 50), how=0x80) * 3
    + send(0, S, 2, (sge(),)) * 2
    + run() + poll(),
    'ud_to_itself_and_out': b'\0' + qp(0, UD) + qp(1, UD) + connect(0, OUTSIDE) + connect(1, OUTSIDE) + HANDLES
    + RECVS
    + b''.join(send(0, S, SIGNALED, (sge(),), high=i << 6, to=1) for i in (0, 1)) + run() + poll(),
    'ud_group': b'\0' + b''.join(qp(i, UD) + connect(i, OUTSIDE, IPV6) + step(GROUP, i, 1) for i in range(3))
    + recv(0, sge(2, 0, 250)) + recv(1, sge(0, 0, 250)) + step(HANDLE, 0, 0x40 | 2) + step(HANDLE, 0, 0x40 | 1 | 0x10)
    + frame(0, 0x64, F_GROUP, 33, 1) + frame(0, 0x64, F_GROUP | F_V1, 33, 1) + step(GROUP, 1, 0x81) + poll(),
    'ud_frames': b'\0' + qp(0, UD) + connect(0, OUTSIDE) + recv(0, sge(2, 0, 250)) * 4
    + frame(0, 0x64, 0, 30) + frame(0, 0x65, 2, 30) + frame(0, 0x64, 1, 30, 0, (0x40, 0))
    + frame(0, 0x64, 3, 200) + poll(),
    'gsi': b'\0' + qp(0, GSI) + connect(0, OUTSIDE, 0x40) + HANDLES + recv(0, sge(2, 0, 1000)) * 2
    + frame(0, 0x64, 0, 255, 0, (0x80, 0)) + frame(0, 0x64, 0x10, 255, 0, (0x80, 0))
    + send(0, S, 2, (sge(0, 0, 8),), high=0x40) + run() + poll(),
    'windows': b'\0' + pair(0, 1, RC) + send(1, BIND, 2, (), bind=(1, 0, 14))
    + send(1, BIND, 0x42, (), bind=(0, 8, 6))
    + run() + send(0, W, 2, (sge(),), remote=(5 << 2, 4)) + send(0, W, 2, (sge(),), remote=(4 << 2, 4)) + run()
    + send(0, S_INV, 2, (sge(),), remote=(5 << 5, 0)) + recv(1, sge(2)) + run() + poll() + step(MEMORY, 0, 4)
    + step(MEMORY, 0, 0, 31),
    'fast_region': b'\0' + pair(0, 1, RC) + send(1, REG, 2, (), bind=(7, 0, 15)) + run()
    + send(0, W, 2, (sge(),), remote=(3, 0))
    + run() + send(1, LOCAL_INV, 2, (), remote=(3 << 5, 0)) + run() + send(0, READ, 2, (sge(),), remote=(3, 0))
    + run() + poll()
    + step(MEMORY, 0, 6),
    'windows_of_a_region_that_goes': b'\0' + pair(0, 1, RC) + send(1, BIND, 2, (), bind=(2, 0, 15)) + run()
    + step(MEMORY, 0, 2, 31) + step(MODIFY, 1, ERR) + qp(1, RC) + step(MEMORY, 0, 2, 31) + poll(),
    'frames_of_a_peer': b'\0' + qp(0, RC) + connect(0, OUTSIDE) + recv(0, sge(2, 0, 1000)) * 3
    + frame(0, 0x00, 0, 255) + frame(0, 0x02, 0, 77) + frame(0, 0x0a, 0, 64) + frame(0, 0x0c, 0, 0, 0) + run()
    + frame(0, 0x14) + run() + frame(0, 0x17, 0, 20) + frame(0, 0x04, 0, 10, 5) + run() + poll(),
    'frames_marked_by_a_router': bytes([CONGESTION]) + qp(0, RC) + connect(0, OUTSIDE) + recv(0, sge(2)) * 2
    + frame(0, 0x04, F_CE, 64) + run() + frame(0, 0x81) + send(0, W, 2, (sge(0, 0, 2000),)) + run(3)
    + step(WAIT, 0, 20) + run(9),
    'keys_and_addresses_change': b'\0' + pair(0, 1, RC) + pair(2, 3, UC, 0, V1) + send(0, W, 2, (sge(),))
    + step(TABLE, 0, 0x80, 0, 0)
    + run() + step(TABLE, 0, 0x80, 0xff, 0xff) + run() + step(TABLE, 0, 0) + step(TABLE, 0, 0x40)
    + step(TABLE, 0, 0xc0)
    + step(TABLE, 0, 2) + step(TABLE, 0, 0x48) + poll(),
    'small_cqs_overflow': bytes([SMALL_CQ]) + pair(0, 1, RC) + pair(2, 3, UC, CQ_1) + RECVS
    + send(0, W, 2, (sge(),)) * 4 + run() + send(0, W, 2, (sge(),)) * 4 + run() + step(WAIT, 0, 5) + poll(),
    'queues_grow': b'\0' + pair(0, 1, RC) + send(0, W, 2, (sge(),)) * 3 + run() + step(CQ, 0, 0xfc)
    + step(CQ, 0, 4) + poll()
    + step(SRQ, 0, 0x42) + recv(0, sge(), how=0x80) * 3 + step(SRQ, 0, 0x0a),
    'allocations_fail': bytes([FAILING, 30]) + pair(0, 1, RC) + step(FAIL, 0, 3) + qp(2, UC, USE_SRQ)
    + step(FAIL, 0, 1)
    + step(HANDLE, 0, 0) + step(FAIL, 0, 1) + step(MEMORY, 0, 3) * 2,
    'states': b'\0' + pair(0, 1, RC) + send(0, W, 2, (sge(),)) + step(MODIFY, 0, SQD) + run() + step(MODIFY, 0, RTS)
    + step(MODIFY, 0, 8 | SQD, 0, 0, 0, 0x10, 15, 0, 1, 3, 0) + step(MODIFY, 0, RESET) + connect(0, 1)
    + step(MODIFY, 1, ERR) + poll(),
    'path_migration': bytes([MIGRATION]) + pair(0, 1, RC)
    + step(MODIFY, 0, 8 | RTS, 0, 4, 0x40, 0, 15, 0, 1, 2, 1) + run()
    + step(MODIFY, 0, 8 | RTS, 0, 4, 0, 0, 15, 0, 1, 2, 0) + send(0, W, 2, (sge(),)) + run() + poll(),
    'selective_retransmission': b'\0' + pair(0, 1, RC, SIG_ALL) + frame(1, 0x0a, F_INSIDE, 64, 2)
    + frame(1, 0x0a, F_INSIDE, 64, 1)
    + frame(1, 0x0a, F_INSIDE, 64) + run() + poll(),
    'xrc': b'\0' + qp(0, INI) + qp(1, TGT) + connect(0, 1) + connect(1, 0) + recv(0, sge(2, 0, 250), how=0xc0) * 3
    + send(0, S, 2, (sge(),)) + send(0, W, 2, (sge(),), remote=(0, 8))
    + send(0, READ, 2, (sge(),), remote=(0, 8)) + run() + poll()
    + send(0, S, 2, (sge(),), to=15) + run() + poll() + step(SRQ, 0, 0xff),
    'xrc_frames': b'\0' + qp(1, TGT) + connect(1, OUTSIDE) + recv(0, sge(2, 0, 250), how=0xc0) * 2
    + frame(1, 0xa4, 0, 20)
    + frame(1, 0xa0, 0, 255) + frame(1, 0xa2, 0, 9, 0, (0x80, 0)) + run() + poll(),
    'all_at_once': b'\0' + b''.join(pair(2 * i, 2 * i + 1, (RC, UC)[i & 1], 0, i & 3) for i in range(9))
    + b''.join(qp(i, UD) + connect(i, OUTSIDE, i & 3) for i in range(18, 23)) + HANDLES
    + b''.join(recv(i, sge(2, 0, 250)) + send(i, S, 2, (sge(),), to=1) for i in range(23)) + run(200) + poll() * 3,
}


def main():
    directory = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../corpus/many')
    os.makedirs(directory, exist_ok=True)
    for name, data in SCENARIOS.items():
        with open(os.path.join(directory, name), 'wb') as f:
            f.write(data)


if __name__ == '__main__':
    main()
