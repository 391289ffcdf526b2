#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes test/fuzz/corpus/share: what a neighbour may send or write, one kind a file. See fuzz_share.c for the form."""
import os

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../corpus/share')


def packet(qpn, n_bytes, psn=0):
    return (b'\x04\0\xff\xff\0' + qpn.to_bytes(3, 'big') + b'\0' + psn.to_bytes(3, 'big')).ljust(n_bytes, b'\0')


def mad(attr, n_bytes=60):
    body = bytearray(packet(1, n_bytes))
    body[20:22], body[36:38] = b'\x01\x07', attr.to_bytes(2, 'big')
    return bytes(body)


def packets(data, whose):
    """make_packets(): whose 0 or 1 is the member that the first is for, others: as it says."""
    return len(data).to_bytes(2, 'big') + data + bytes([whose])


def message(word, data, whose=0, seg=0, dst=0):
    return bytes([1, word, 0, dst, 0, 7, 1, 0, 111, 0, 0, 5, 220]) + seg.to_bytes(2, 'big') + packets(data, whose)


def sift(data, whose, seg=0):
    return b'\x04' + packets(data, whose) + seg.to_bytes(2, 'big')


SEEDS = {
    'packet': message(1, packet(0x020011, 64)),
    'train': message(1, packet(0x020011, 64) * 4, seg=64),
    'elsewhere': message(1, packet(0x020011, 64), dst=3),
    'give_socket': message(2, b''),
    'socket': message(3, b''),
    'tell': message(4, b''),
    'refusal': message(5, b''),
    'two_descriptors': bytes([0x2a]) + packets(bytes(120), 9) + bytes([0x1c]) + packets(b'', 9),
    'nonsense': b'\x02' + (300).to_bytes(4, 'big') + packets(b'\xff' * 200, 9) + b'\x05\x10\0',
    'record': b'\x03\x41\xff\xff\0\x05' + b'\x05\x10\0' + sift(mad(0x10), 9) + b'\x83\0\1\1\0\x09' + sift(mad(0x10), 9),
    'mixed_train': sift((packet(0x020011, 40) + packet(0x800011, 40)) * 3, 1, 40),
    'reject_for_all': sift(mad(0x12), 9),
    'trial': sift(packet(0, 20, 1), 9),
    'rounds': b'\x05\x20\0\x85\x20\0\x06\x05\x20\0\x86',
}

os.makedirs(HERE, exist_ok=True)
for name, data in SEEDS.items():
    with open(os.path.join(HERE, name), 'wb') as f:
        f.write(data)
