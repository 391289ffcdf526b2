#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes test/fuzz/corpus/service: a named file a scenario, as test/fuzz/smc/fuzz_service.c reads them.

    test/fuzz/smc/service_corpus.py
"""
import os, struct

(REQUEST, RAW, ANSWER, LEAVE, BLOCK, WORD, LOOK, KEPT, PEER, TIME, BORROW, HELLO) = range(12)
BEGIN, TCP, BESIDE, WAITER, NO_WAITER, ENTER = range(2, 8) # enum service_what
TCP_SOCKET = 7                                             # a kind of descriptor
HEAD, CONSUMED, URGENT, OPTIONS, SHUT, WATCH, LINGER, KEEPIDLE, LOCK, MISSED, ROOM, RENOUNCED = range(12)


def ask(what, patches=(), fds=(), program=0):
    out = bytes([REQUEST, program, what, len(patches), len(fds)])
    for at, value in patches:
        out += bytes([at]) + struct.pack('>I', value)
    return out + bytes(fds)


def hello(program=0):
    return bytes([HELLO, program, ANSWER, program])


def borrow(program=0, is_server=0, options=0):
    return bytes([BORROW, program, is_server, options, ANSWER, program])


def member(slot, which, *rest):
    return bytes([BLOCK, slot, which, *rest])


def look(slot):
    return bytes([LOOK, 0, slot])


def wait(power):
    return bytes([TIME, power])


NEAR, ANY = 4, 6 # of odd_value()
SCENARIOS = {
    'hello_and_leave': hello() + bytes([LEAVE, 0]),
    'client': hello() + borrow() + wait(30) + ask(TCP, [(4, 2), (5, 1)]) + bytes([ANSWER, 0]),
    'server': hello() + borrow(is_server=1) + wait(33) + wait(33) + ask(BESIDE, [(4, 2), (5, 1)]) + bytes([ANSWER, 0]),
    'nobody_said_hello': ask(BEGIN, fds=[TCP_SOCKET]),
    'many_descriptors': hello() + ask(BEGIN, fds=[TCP_SOCKET, 0, 1, 4]) + bytes([ANSWER, 0]),
    'descriptors_of_all_kinds': hello() + b''.join(ask(BEGIN, fds=[kind]) + bytes([ANSWER, 0]) for kind in range(8)),
    'other_version': ask(1, [(3, 99)]) + bytes([ANSWER, 0]),
    'other_magic': ask(1, [(2, 99)]),
    'short': bytes([RAW, 0, 3, 1, 2, 3]),
    'waiters': hello() + ask(WAITER) + bytes([ANSWER, 0]) + member(0, WATCH, 0, NEAR) + member(0, HEAD, 5, 0, 100) +
        look(0) + wait(20) + ask(NO_WAITER, [(4, 0), (5, 1)]),
    'waiter_of_another': hello() + hello(1) + ask(WAITER) + ask(NO_WAITER, [(4, 0), (5, 1)], program=1),
    'no_cgroup': hello() + ask(ENTER),
    'sends': b''.join(member(0, HEAD, 5, 1, n) + look(0) + wait(16) for n in (10, 200, 255)) + bytes([PEER, 0, 1, 2]),
    'urgent': member(0, HEAD, 5, 0, 9) + member(0, URGENT, NEAR) + look(0) + wait(20),
    'impossible_head': member(0, HEAD, 1) + look(0) + wait(20),
    'impossible_consumed': member(1, CONSUMED, 1) + look(1) + wait(20),
    'ends_in_order': member(0, HEAD, 5, 0, 9) + member(0, SHUT, 2) + look(0) + wait(20) + bytes([PEER, 0, 0, 16]) +
        wait(24),
    'options': member(0, OPTIONS, 31) + member(0, LINGER, 0) + member(0, KEEPIDLE, NEAR) + look(0) + wait(20) +
        bytes([KEPT, 1, 0]) + wait(30),
    'missed_lock': member(0, LOCK, NEAR) + member(0, MISSED, 3) + look(0) + wait(28) + member(0, LOCK, 0) + wait(28),
    'renounced': member(0, RENOUNCED) + look(0) + bytes([KEPT, 1, 0]) + wait(20),
    'foreign_write': bytes([KEPT, 1, 4 * 9 + 2]) + bytes(64) + wait(20),
    'all_bits': bytes([WORD, 0, 0]) + struct.pack('>H', 1030) + b'\x01' + wait(10),
    'head': b''.join(bytes([WORD, 0, 0]) + struct.pack('>H', at) + b'\x01' for at in (0, 1, 8, 1024, 1032)) + wait(10),
    'waiter_words': bytes([WORD, 1, 0]) + struct.pack('>H', 0) + b'\x01' + hello() + ask(WAITER) + wait(10),
    'clc_from_the_peer': hello() + borrow(is_server=1) + bytes([KEPT, 4, 4 * 40 + 2]) +
        b'\xe2\xd4\xc3\xd9\x01\x00\x34\x10' +
        bytes(56) + wait(33),
}


def main():
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../corpus/service')
    os.makedirs(folder, exist_ok=True)
    for name, data in SCENARIOS.items():
        with open(os.path.join(folder, name), 'wb') as f:
            f.write(data)


main()
