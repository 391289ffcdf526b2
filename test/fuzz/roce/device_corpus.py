#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the corpus of the device fuzzer, test/fuzz/corpus/device: one named file a scenario.

    test/fuzz/roce/device_corpus.py

The bytes are what fuzz_device.c and its device_*.c read; the names below are theirs.
"""
import os
import struct

SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_LAST_IMM, SEND_ONLY, SEND_ONLY_IMM = range(6)
WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_LAST_IMM, WRITE_ONLY, WRITE_ONLY_IMM = range(6, 12)
READ, RESP_FIRST, RESP_MIDDLE, RESP_LAST, RESP_ONLY, ACK, ATOMIC_ACK, CMP_SWAP, FETCH_ADD = range(12, 21)
SEND_ONLY_INV, UD_SEND_ONLY, CNP = 0x17, 0x64, 0x81
UC, XRC, MASKED_CMP_SWAP, MASKED_FETCH_ADD = 0x20, 0xa0, 0xf3, 0xf4
QP1, ACK_REQ, SOLICITED, ODD, FULL, OUT_OF_ORDER, BAD_KEY, WHOLE = (1 << i for i in range(8))
ODD_PKEY, ODD_ADDRESS, ODD_QPN, ODD_TVER, ODD_ICRC, ODD_VLAN, ODD_PAD, ODD_ECN = (1 << i for i in range(8))
ACKED, RNR, NAK_SEQ, NAK_INVALID, NAK_ACCESS = 0x1f, 0x21, 0x60, 0x61, 0x62
FENCE, SIGNALED, SOLICIT, INLINE = 1, 2, 4, 8
WR_WRITE, WR_WRITE_IMM, WR_SEND, WR_SEND_IMM, WR_READ, WR_CMP_SWAP, WR_FETCH_ADD = range(7)
LOCAL_INV, BIND_MW, REG_MR, SEND_WITH_INV = range(4)
KEY_FAST, KEY_WINDOW = 3, 4
WITH_SRQ, OTHER = 0x80, 0x40  # in `failing` of world(); OTHER: UC and XRC
RESET, INIT, RTR, RTS, SQD, SQE, ERR = range(7)
PMTU_256, PMTU_512, PMTU_1024, SIGNAL_ALL, SHORT_CQ, SHORT_WINDOW, IPV6, VLAN = 0, 1, 2, 4, 8, 16, 32, 64


def u16(value):
    return struct.pack('>H', value & 0xffff)


def world(flags=PMTU_256, failing=0, connect=(0x0a, 0x0a, 0x0a, 0x0a)):
    return bytes([flags, failing, *connect])


def frame(opcode, flags, dev=0, odd=None, response_to=None, ahead=None, length=None, ext=b''):
    out = bytes([dev << 7, flags | (ODD if odd else 0) | (OUT_OF_ORDER if ahead is not None else 0)])
    out += bytes([odd]) if odd else b''
    out += bytes([opcode])
    out += bytes([response_to]) if response_to is not None else b''
    out += bytes([ahead & 0xff]) if ahead is not None else b''
    return out + (u16(length) if length is not None else b'') + ext


def reth(region=0, offset=0, dma_len=None):
    return bytes([region]) + u16(offset) + (b'\0' + u16(dma_len) if dma_len is not None else b'')


def aeth(syndrome, msn=1):
    return bytes([syndrome, msn])


def answer(syndrome, to=0, ahead=None):
    return frame(ACK, QP1, response_to=to, ahead=ahead, ext=aeth(syndrome))


def sge(region=0, offset=0, length=100):
    return bytes([region]) + u16(offset) + u16(length)


bad_sge = bytes([0x20]) + u16(0) + u16(90)


def send(opcode, flags=SIGNALED, dev=0, qp=0, sges=(sge(),), region=0, offset=0):
    how = qp << 7 | min(len(sges), 3) << 3 | opcode
    return bytes([dev << 7 | 5, how, flags]) + b''.join(sges) + bytes([region]) + u16(offset)


def keys(kind, dev=0, qp=0, flags=SIGNALED, low=1, offset=0, length=500, of=0, sges=()):
    """LOCAL_INV, BIND_MW, REG_MR or SEND_WITH_INV; `of`: number of the key to invalidate."""
    how = kind | of << 3 | (0x20 if kind in (BIND_MW, REG_MR) else 0)
    return send(7, flags, dev, qp, sges) + bytes([how, low]) + u16(offset) + u16(length)


def recv(dev=0, qp=0, sges=(sge(),)):
    return bytes([dev << 7 | 6, qp << 7 | len(sges)]) + b''.join(sges)


def step(number, *args, dev=0):
    return bytes([dev << 7 | number, *args])


def raw(data):
    data += bytes(-len(data) % 4)
    return step(1, len(data) // 4) + data


take, deliver, wait = (lambda n, dev=0: step(2, n, dev=dev)), (lambda fate: step(3, fate)), (lambda s, n: step(4, s, n))
run = lambda rounds=4: step(13, rounds)
modify = lambda state, dev=0, qp=0: step(8, qp << 7 | state, dev=dev)
poll = b''.join(step(7, cq | 0x0e, dev=dev) for dev in (0, 1) for cq in (0, 1))
timeout = wait(20, 2)
q1 = QP1 | ACK_REQ
end = take(8) + poll
request_1024 = (frame(WRITE_FIRST, q1 | FULL | WHOLE, ext=reth(dma_len=600)) + take(4) +
                frame(WRITE_MIDDLE, q1 | FULL) + take(4))

SCENARIOS = {
    # one packet or message from the fuzzer's own peer
    'send_only': world() + recv(qp=1) + frame(SEND_ONLY, q1, length=50) + end,
    'send_only_imm': world() + recv(qp=1) + frame(SEND_ONLY_IMM, q1 | SOLICITED, length=50) + end,
    'send_first_middle_last': world() + recv(qp=1, sges=(sge(0, 0, 300), sge(2, 5, 400))) +
                              frame(SEND_FIRST, QP1 | FULL) + frame(SEND_MIDDLE, QP1 | FULL) +
                              frame(SEND_LAST, q1, length=7) + end,
    'send_empty': world() + recv(qp=1, sges=()) + frame(SEND_ONLY, q1, length=0) + end,
    'send_too_long': world() + recv(qp=1, sges=(sge(0, 0, 10),)) + frame(SEND_ONLY, q1, length=50) + end,
    'send_not_ready': world() + frame(SEND_ONLY, q1, length=50) + end,
    'send_inv': world() + recv(qp=1) + frame(SEND_ONLY_INV, q1, length=4, ext=b'\0') + end,
    'send_inv_fast': world() + keys(REG_MR, qp=1) + take(1) + recv(qp=1) +
                     frame(SEND_ONLY_INV, q1, length=4, ext=bytes([KEY_FAST])) + end,
    'send_inv_window': world() + keys(BIND_MW, qp=1) + take(1) + recv(qp=1) +
                       frame(SEND_ONLY_INV, q1, length=4, ext=bytes([KEY_WINDOW])) + end,
    'send_bad_scatter': world() + recv(qp=1, sges=(bad_sge,)) +
                        frame(SEND_ONLY, q1, length=50) + end,
    'write_only': world() + frame(WRITE_ONLY, q1, length=77, ext=reth(0, 16)) + end,
    'write_only_imm': world() + recv(qp=1) + frame(WRITE_ONLY_IMM, q1, length=77, ext=reth(2, 0)) + end,
    'write_imm_not_ready': world() + frame(WRITE_ONLY_IMM, q1, length=77, ext=reth(2, 0)) + end,
    'write_first_middle_last': world() + request_1024 + frame(WRITE_LAST, q1, length=88) + end,
    'write_too_much': world() + request_1024 + frame(WRITE_LAST, q1 | FULL) + end,
    'write_deregistered': world() + frame(WRITE_FIRST, q1 | FULL | WHOLE, ext=reth(dma_len=600)) + take(1) +
                          step(9, 0) + frame(WRITE_LAST, q1, length=88) + end,
    'write_past_the_end': world() + frame(WRITE_ONLY, q1, length=77, ext=reth(0, 3072 - 76)) + end,
    'write_read_only': world() + frame(WRITE_ONLY, q1, length=77, ext=reth(1, 0)) + end,
    'write_bad_key': world() + frame(WRITE_ONLY, q1 | BAD_KEY, length=77, ext=reth(0, 0) + b'\x08') + end,
    'read_request': world() + frame(READ, q1 | WHOLE, ext=reth(1, 3, 700)) + end,
    'read_request_empty': world() + frame(READ, q1 | WHOLE, ext=reth(1, 0x7000, 0)) + end,
    'read_request_again': world() + frame(READ, q1 | WHOLE, ext=reth(1, 0, 700)) + take(2) +
                          frame(READ, q1 | WHOLE, ahead=-2, ext=reth(1, 256, 444)) + end,
    'read_too_many': world() + frame(READ, q1 | WHOLE, ext=reth(1, 0, 700)) +
                     frame(READ, q1 | WHOLE, ext=reth(1, 0, 10)) +
                     frame(READ, q1 | WHOLE, ext=reth(1, 0, 10)) + end,
    'read_deregistered': world() + frame(READ, q1 | WHOLE, ext=reth(1, 0, 700)) + take(1) + step(9, 1) + end,
    'cmp_swap': world() + frame(CMP_SWAP, q1, ext=bytes([0]) + u16(64)) + end,
    'fetch_add_twice': world() + frame(FETCH_ADD, q1, ext=bytes([0]) + u16(64)) + take(1) +
                       frame(FETCH_ADD, q1, ahead=-1, ext=bytes([0]) + u16(64)) + end,
    'atomic_misaligned': world() + frame(FETCH_ADD, q1, ext=bytes([0]) + u16(63)) + end,
    'gap': world() + recv(qp=1) + frame(SEND_ONLY, q1, ahead=3, length=5) + take(1) +
           frame(SEND_ONLY, q1, ahead=4, length=5) + frame(SEND_ONLY, q1, length=5) + end,
    'duplicate': world() + recv(qp=1) + frame(SEND_ONLY, q1, length=5) + take(1) +
                 frame(SEND_ONLY, q1, ahead=-1, length=5) + end,
    'out_of_sequence_opcode': world() + frame(SEND_MIDDLE, q1 | FULL) + end,
    'reserved_opcode': world() + frame(0x15, q1) + end,
    'cnp': world() + frame(CNP, QP1) + end,
    'ud_to_rc': world() + frame(UD_SEND_ONLY, QP1, length=20) + end,
    'masked_cmp_swap': world() + frame(MASKED_CMP_SWAP, q1, ext=bytes([0]) + u16(64)) + end,
    'masked_fetch_add_twice': world() + frame(MASKED_FETCH_ADD, q1, ext=bytes([0]) + u16(64)) + take(1) +
                              frame(MASKED_FETCH_ADD, q1, ahead=-1, ext=bytes([0]) + u16(64)) + end,
    # UC: QP 0
    'uc_send': world(failing=OTHER) + recv() + frame(UC | SEND_FIRST, FULL) + frame(UC | SEND_LAST, 0, length=7) + end,
    'uc_lost_middle': world(failing=OTHER) + recv() + frame(UC | SEND_FIRST, FULL) +
                      frame(UC | SEND_LAST, 0, ahead=1, length=7) + frame(UC | SEND_ONLY, 0, length=7) + end,
    'uc_write_imm': world(failing=OTHER) + recv() + frame(UC | WRITE_FIRST, FULL | WHOLE, ext=reth(dma_len=300)) +
                    frame(UC | WRITE_LAST_IMM, 0, length=44) + end,
    'uc_too_long': world(failing=OTHER) + recv(sges=(sge(0, 0, 10),)) + frame(UC | SEND_ONLY, 0, length=50) + end,
    'uc_bad_key': world(failing=OTHER) + frame(UC | WRITE_ONLY, BAD_KEY, length=77, ext=reth(0, 0) + b'\x08') + end,
    'uc_bad_scatter': world(failing=OTHER) + recv(sges=(bad_sge,)) + frame(UC | SEND_ONLY, 0, length=50) + end,
    'uc_two': world(failing=OTHER) + recv(dev=1) * 2 + send(WR_SEND_IMM) + send(WR_WRITE_IMM) + run() + poll,
    'uc_sqe': world(failing=OTHER) + send(WR_SEND) + send(WR_SEND, sges=(bad_sge,)) + send(WR_SEND) + run() +
              modify(RTS) + send(WR_SEND) + run() + poll,
    # XRC: QP 1, of device 0 the target, of device 1 the initiator
    'xrc_send': world(failing=OTHER) + recv(qp=1) + frame(XRC | SEND_FIRST, QP1 | FULL) +
                frame(XRC | SEND_LAST, q1, length=7) + end,
    'xrc_bad_srq': world(failing=OTHER) + recv(qp=1) + frame(XRC | SEND_ONLY, q1 | BAD_KEY, length=7) + end,
    'xrc_changed_srq': world(failing=OTHER) + recv(qp=1) + frame(XRC | SEND_FIRST, QP1 | FULL) +
                       frame(XRC | SEND_LAST, q1 | BAD_KEY, length=7) + end,
    'xrc_not_ready': world(failing=OTHER) + frame(XRC | SEND_ONLY, q1, length=7) + end,
    'xrc_read': world(failing=OTHER) + frame(XRC | READ, q1 | WHOLE, ext=reth(1, 3, 700)) + end,
    'xrc_write': world(failing=OTHER) + frame(XRC | WRITE_ONLY, q1, length=77, ext=reth(0, 16)) + end,
    'xrc_fetch_add': world(failing=OTHER) + frame(XRC | FETCH_ADD, q1, ext=bytes([0]) + u16(64)) + end,
    'xrc_half_way_in_error': world(failing=OTHER) + recv(qp=1) + frame(XRC | SEND_FIRST, QP1 | FULL) +
                             modify(ERR, qp=1) + end,
    'xrc_half_way_gone': world(failing=OTHER) + recv(qp=1) + frame(XRC | SEND_FIRST, QP1 | FULL) + step(10, 1) + end,
    'xrc_ask': world(failing=OTHER) + send(WR_SEND, dev=1, qp=1) + take(4, 1) +
               frame(XRC | ACK, QP1, dev=1, response_to=0, ext=aeth(ACKED)) + poll,
    'xrc_ask_to_read': world(failing=OTHER) + send(WR_READ, dev=1, qp=1) + take(4, 1) +
                       frame(XRC | RESP_ONLY, QP1, dev=1, response_to=0, length=100, ext=aeth(ACKED)) + poll,
    # what the first checks find
    'bad_icrc': world() + frame(SEND_ONLY, q1, odd=ODD_ICRC, length=5) + end,
    'bad_pkey': world() + frame(SEND_ONLY, q1, odd=ODD_PKEY, length=5) + end,
    'bad_address': world() + frame(SEND_ONLY, q1, odd=ODD_ADDRESS, length=5) + end,
    'bad_qpn': world() + frame(SEND_ONLY, q1, odd=ODD_QPN | ODD_ECN, length=5) + end,
    'bad_tver': world() + frame(SEND_ONLY, q1, odd=ODD_TVER, length=5) + end,
    'bad_vlan': world() + frame(SEND_ONLY, q1, odd=ODD_VLAN, length=5) + end,
    'bad_pad': world() + frame(SEND_ONLY, q1, odd=ODD_PAD, length=5) + end,
    'raw_ethernet': world() + raw(bytes(12) + bytes.fromhex('08004500')) + end,
    # responses to requests of the device
    'ack': world() + send(WR_SEND, qp=1) + take(4) + answer(ACKED) + end,
    'ack_ghost': world() + send(WR_SEND, qp=1) + take(4) + answer(ACKED, ahead=9) + end,
    'ack_credits': world() + send(WR_SEND, qp=1) * 3 + take(4) + answer(2) + end,
    'ack_reserved': world() + send(WR_SEND, qp=1) + take(4) + answer(0x9f) + end,
    'nak_sequence': world() + send(WR_WRITE, qp=1, sges=(sge(0, 0, 900),)) + take(8) +
                    answer(NAK_SEQ, to=2) + end,
    'nak_access': world() + send(WR_WRITE, qp=1) * 2 + take(4) + answer(NAK_ACCESS, to=1) + end,
    'nak_invalid': world() + send(WR_SEND, qp=1) + take(4) + answer(NAK_INVALID) + end,
    'nak_rnr': world() + send(WR_SEND, qp=1) + (take(4) + answer(RNR) + wait(14, 1)) * 4 + end,
    'read_response_only': world() + send(WR_READ, qp=1) + take(4) +
                          frame(RESP_ONLY, QP1, response_to=0, length=100, ext=aeth(ACKED)) + end,
    'read_response_all': world() + send(WR_READ, qp=1, sges=(sge(0, 0, 500), sge(2, 0, 200))) + take(4) +
                         frame(RESP_FIRST, QP1 | FULL, response_to=0, ext=aeth(ACKED)) +
                         frame(RESP_MIDDLE, QP1 | FULL, response_to=0, ahead=1) +
                         frame(RESP_LAST, QP1, response_to=0, ahead=2, length=188, ext=aeth(ACKED)) + end,
    'read_response_gap': world() + send(WR_READ, qp=1, sges=(sge(0, 0, 700),)) + take(4) +
                         frame(RESP_FIRST, QP1 | FULL, response_to=0, ext=aeth(ACKED)) +
                         frame(RESP_LAST, QP1, response_to=0, ahead=2, length=188, ext=aeth(ACKED)) + end,
    'read_response_too_long': world() + send(WR_READ, qp=1) + take(4) +
                              frame(RESP_ONLY, QP1, response_to=0, length=101, ext=aeth(ACKED)) + end,
    'read_response_deregistered': world() + send(WR_READ, qp=1) + take(4) + step(9, 0) +
                                  frame(RESP_ONLY, QP1, response_to=0, length=100, ext=aeth(ACKED)) + end,
    'atomic_response': world() + send(WR_FETCH_ADD, qp=1, sges=(sge(0, 8, 8),)) + take(4) +
                       frame(ATOMIC_ACK, QP1, response_to=0, ext=aeth(ACKED)) + end,
    'implied_nak': world() + send(WR_READ, qp=1) + send(WR_WRITE, qp=1) + take(4) +
                   answer(ACKED) + end,
    'wrong_response': world() + send(WR_SEND, qp=1) + take(4) +
                      frame(RESP_ONLY, QP1, response_to=0, length=100, ext=aeth(ACKED)) + end,
    'retries_exhausted': world() + send(WR_SEND, qp=1) + send(WR_WRITE, qp=1) + (take(4) + timeout) * 5 + end,
    # two devices
    'two_send': world() + recv(dev=1) + send(WR_SEND_IMM, SIGNALED | SOLICIT) + run() + poll,
    'two_write_inline': world(PMTU_1024 | IPV6) + send(WR_WRITE, SIGNALED | INLINE, region=2) + run() + poll,
    'two_write_imm': world(PMTU_512 | VLAN) + recv(dev=1) +
                     send(WR_WRITE_IMM, sges=(sge(0, 0, 999), sge(1, 1, 500))) + run() + poll,
    'two_read': world(PMTU_256 | SHORT_WINDOW) + send(WR_READ, sges=(sge(0, 0, 2000),), region=1) + run() + poll,
    'two_atomics': world(SIGNAL_ALL) + send(WR_CMP_SWAP, sges=(sge(0, 0, 8),), offset=16) +
                   send(WR_FETCH_ADD, sges=(sge(0, 8, 8),), offset=16) + run() + poll,
    'two_fence': world() + send(WR_READ, region=1) + send(WR_WRITE, FENCE | SIGNALED, region=2) + run() + poll,
    'two_both_ways': world() + b''.join(recv(dev=d) + send(WR_SEND, dev=d) + send(WR_READ, dev=d, region=1) +
                                        send(WR_WRITE, dev=d, sges=(sge(0, 0, 1500),)) for d in (0, 1)) + run(7) + poll,
    'two_loss': world() + send(WR_WRITE, sges=(sge(0, 0, 1000),)) + take(8) + deliver(0) + deliver(1) + run() + poll,
    'two_lost_ack': world() + recv(dev=1) + send(WR_SEND) + take(1) + deliver(0) + take(1, 1) + deliver(1) + timeout +
                    run() + poll,
    'two_duplicates': world() + recv(dev=1) * 2 + send(WR_SEND) * 2 + take(4) + deliver(2) + deliver(2) + run() + poll,
    'two_corrupted': world() + send(WR_WRITE) + take(1) + step(3, 3) + u16(500) + timeout + run() + poll,
    'two_not_ready': world() + send(WR_SEND) + run(1) + recv(dev=1) + wait(14, 9) + run() + poll,
    'two_local_fault': world() + send(WR_WRITE) + send(WR_WRITE, sges=(bad_sge,)) + run() + poll,
    'two_cq_overflow': world(SHORT_CQ | SIGNAL_ALL) + send(WR_WRITE) * 7 + run() + poll,
    # keys that come and go
    'two_fast': world() + keys(REG_MR, dev=1) + run(1) + send(WR_WRITE, region=KEY_FAST) + run() +
                keys(LOCAL_INV, dev=1, of=KEY_FAST) + run(1) + send(WR_WRITE, region=KEY_FAST) + run() + poll,
    'two_window': world() + keys(BIND_MW, dev=1, length=200) + run(1) + send(WR_WRITE, region=KEY_WINDOW) + run() +
                  send(WR_WRITE, region=KEY_WINDOW, offset=101) + run() + poll,
    'two_send_inv': world() + keys(REG_MR, dev=1) + run(1) + recv(dev=1) * 2 + send(WR_WRITE, region=KEY_FAST) +
                    keys(SEND_WITH_INV, of=KEY_FAST, sges=(sge(),)) + run() + poll,
    'window_over_fast': world() + keys(REG_MR, low=0x15) + keys(BIND_MW) + keys(LOCAL_INV, of=KEY_FAST) + run() + poll,
    'bind_fails_in_its_turn': world() + send(WR_WRITE) + keys(BIND_MW, length=9000) + send(WR_WRITE) + run() + poll,
    'invalidate_waits': world() + keys(REG_MR) + send(WR_WRITE) + keys(LOCAL_INV, of=KEY_FAST) + run() + poll,
    'bound_region_stays': world() + keys(BIND_MW) + run(1) + step(9, 0) + step(10, 0) + step(9, 0) + run(),
    'srq_send': world(failing=WITH_SRQ) + recv(qp=1) * 2 + frame(SEND_ONLY, q1, length=50) +
                frame(SEND_FIRST, QP1 | FULL) + end,
    'srq_too_long': world(failing=WITH_SRQ) + recv(qp=1, sges=(sge(0, 0, 10),)) * 2 +
                    frame(SEND_ONLY, q1, length=50) + end,
    'srq_held_by_a_destroyed_qp': world(failing=WITH_SRQ) + recv(qp=1) * 2 + frame(SEND_FIRST, QP1 | FULL) +
                                  step(10, 1) + step(10, 1) + end,
    # states
    'drain': world() + send(WR_WRITE) + take(1) + modify(SQD) + send(WR_WRITE) + run() + modify(RTS) + run() + poll,
    'flush': world() + recv() * 3 + send(WR_WRITE) * 2 + take(1) + modify(ERR) + send(WR_WRITE) + recv() + run() + poll,
    'reset': world() + recv() + send(WR_WRITE) + take(1) + modify(RESET) + run() + poll + recv(),
    'only_rtr': world(connect=(0x0a, 0x0a, 0x8a, 0x8a)) + frame(READ, q1 | WHOLE, ext=reth(1, 3, 700)) + end,
    'destroyed': world() + send(WR_WRITE, sges=(sge(0, 0, 1500),)) + take(2) + step(10, 0) + run() + poll + step(10, 0),
    'gid_removed': world() + send(WR_WRITE) + step(12, 1) + run() + step(12, 0) + poll,
    **{f'allocation_{n}_fails': world(failing=n) + send(WR_WRITE) + run() for n in range(1, 32)},
    'later_allocations_fail': world() + b''.join(step(11, n) + step(10, 1) * 2 + step(9, 2) * 2
                                                 for n in range(1, 6)) + run(),
}


def main():
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../corpus', 'device')
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(folder):
        os.unlink(os.path.join(folder, name))
    for name, data in SCENARIOS.items():
        with open(os.path.join(folder, name), 'wb') as out:
            out.write(data)


main()
