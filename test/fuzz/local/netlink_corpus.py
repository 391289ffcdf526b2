#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes test/fuzz/corpus/netlink: answers of the kernel, one kind a file. See fuzz_netlink.c for the form."""
import os, struct

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../corpus/netlink')
DONE, ERROR, MULTI, INTERRUPTED, SEQ = 3, 2, 2, 16, 0xffffffff
NEWLINK, NEWADDR, NEWROUTE, NEWNEIGH, DIAG = 16, 20, 24, 28, 20
INTERFACE, ADDRS, ROUTE, ROUTE6, NEIGHBOUR, WATCH, XDP, SOCKETS = range(8)
MAC = bytes((2, 0, 0, 0, 0, 9))


def attr(kind, data):
    return struct.pack('=HH', len(data) + 4, kind) + data + bytes(-len(data) % 4)


def u32(value):
    return struct.pack('=I', value)


def message(kind, body, flags=MULTI, seq=SEQ, length=None):
    return struct.pack('=IHHII', 16 + len(body) if length is None else length, kind, flags, seq, 0) + body


def piece(*messages):
    data = b''.join(messages)
    return b'\0' + struct.pack('>H', len(data)) + data


def question(what, *pieces):
    return bytes([what]) + b''.join(pieces) + b'\0'


def link(index, name, *more, flags=0x10043):
    return struct.pack('=BBHiII', 0, 0, 1, index, flags, 0) + attr(3, name + b'\0') + attr(4, u32(1500)) + \
        attr(1, MAC) + b''.join(more)


def vlan(vlan_id, protocol=b'\x81\x00'):
    return attr(18, attr(1, b'vlan\0') + attr(2, attr(1, struct.pack('=H', vlan_id)) + attr(5, protocol)))


def address(index, addr, flags=0):
    return struct.pack('=BBBBI', 2 if len(addr) == 4 else 10, 24, flags, 0, index) + attr(1, addr) + attr(2, addr)


def route(kind, *attrs, family=2):
    return struct.pack('=BBBBBBBBI', family, 32, 0, 0, 254, 0, 0, kind, 0) + b''.join(attrs)


def neighbour(state, *attrs):
    return struct.pack('=BBHiHBB', 2, 0, 0, 1, state, 0, 1) + b''.join(attrs)


HOP, END, OK = bytes((127, 0, 0, 9)), message(DONE, u32(0)), message(ERROR, bytes(4) + bytes(16))
GATEWAY = route(1, attr(4, u32(1)), attr(5, HOP), attr(7, bytes((127, 0, 0, 1))))
LINKS = piece(message(NEWLINK, link(1, b'lo')), message(NEWLINK, link(5, b'lo.7', attr(5, u32(1)), vlan(7))), END)
ADDRESSES = piece(message(NEWADDR, address(1, HOP)), message(NEWADDR, address(1, b'\xfe\x80' + bytes(14))),
                  message(NEWADDR, address(5, b'\xfd\x77' + bytes(14))), END)
TWICE = piece(message(NEWLINK, link(1, b'lo')) * 3, END)
NOTE = message(NEWLINK, link(1, b'lo'), seq=0)
UNIX = struct.pack('=BBBBIII', 1, 2, 7, 0, 99, 0, 0)

SEEDS = {
    'interface': question(INTERFACE, piece(message(NEWLINK, link(1, b'lo')), OK)),
    'interface_unknown': question(INTERFACE, piece(message(ERROR, struct.pack('=i', -19) + bytes(16)))),
    'interface_without_a_zero': question(INTERFACE, piece(message(NEWLINK, struct.pack('=BBHiII', 0, 0, 1, 1, 1, 0) +
                                                              attr(3, b'x' * 64)), OK)),
    'short_head': question(INTERFACE, piece(message(NEWLINK, b'\0')), piece(OK)),
    'positive_error': question(INTERFACE, piece(message(ERROR, u32(5) + bytes(16))), piece(OK)),
    'huge_error': question(INTERFACE, piece(message(ERROR, u32(0x80000000) + bytes(16)))),
    'addresses': question(ADDRS, ADDRESSES),
    'addresses_interrupted': question(ADDRS, piece(message(NEWADDR, address(1, HOP), MULTI | INTERRUPTED), END),
                                      ADDRESSES),
    'dump_that_failed': question(ADDRS, piece(message(DONE, struct.pack('=i', -90)))),
    'overrun': question(ADDRS, piece(message(4, b'')), ADDRESSES),
    'of_another_request': question(ADDRS, piece(message(NEWADDR, address(1, HOP), seq=7)), ADDRESSES),
    'cut': question(ADDRS, piece(message(NEWADDR, address(1, HOP), length=200)), ADDRESSES),
    'route': question(ROUTE, piece(message(NEWROUTE, GATEWAY), OK), piece(message(NEWROUTE, GATEWAY), OK)),
    'route_local': question(ROUTE, piece(message(NEWROUTE, route(2)), OK), piece(message(NEWROUTE, route(2)), OK)),
    'route_via': question(ROUTE, piece(OK), piece(message(NEWROUTE, route(1, attr(4, u32(1)), attr(
        18, struct.pack('=H', 10) + b'\xfe\x80' + bytes(14)))), OK)),
    'route6': question(ROUTE6, piece(message(NEWROUTE, route(1, attr(4, u32(1)), attr(5, bytes(16)), family=10)), OK)),
    'neighbour': question(NEIGHBOUR, piece(message(NEWNEIGH, neighbour(2, attr(1, HOP), attr(2, MAC))), OK)),
    'neighbour_later': question(NEIGHBOUR, piece(OK), b'\1', b'\4', piece(message(NEWNEIGH, neighbour(
        2, attr(1, HOP), attr(2, MAC)), seq=0))),
    'neighbour_failed': question(NEIGHBOUR, piece(OK), piece(message(NEWNEIGH, neighbour(0x20, attr(1, HOP)), seq=0)),
                                 b'\2', piece(OK), b'\4'),
    'watch': question(WATCH, b'\4', LINKS, ADDRESSES, piece(NOTE), b'\4', LINKS, ADDRESSES),
    'watch_lost': question(WATCH, b'\2', b'\4', LINKS, ADDRESSES, b'\3', b'\4', LINKS, ADDRESSES),
    'watch_gone': question(WATCH, b'\4', LINKS, ADDRESSES, piece(NOTE), b'\4', piece(END)),
    'watch_links_twice': question(WATCH, b'\4', TWICE, ADDRESSES),
    'vlan_of_another_protocol': question(WATCH, b'\4', piece(message(NEWLINK, link(1, b'lo')), message(NEWLINK, link(
        5, b'lo.7', attr(5, u32(1)), vlan(4095, b'\x88\xa8'))), END), ADDRESSES),
    'xdp': question(XDP, piece(message(NEWLINK, link(1, b'lo', attr(43, attr(2, b'\2')))), OK)),
    'unix_sockets': question(SOCKETS, b'\1', piece(message(DIAG, UNIX + attr(0, b'\0name') + attr(7, u32(0))), END)),
    'unix_sockets_short': question(SOCKETS, b'\1', piece(message(DIAG, UNIX[:5])), piece(END)),
    'xdp_sockets': question(SOCKETS, b'\0', piece(message(DIAG, struct.pack('=BBHI', 44, 3, 0, 9) + bytes(8) + attr(
        0, u32(1) + u32(0)) + attr(8, u32(0))), END)),
}

os.makedirs(HERE, exist_ok=True)
for name, data in SEEDS.items():
    with open(os.path.join(HERE, name), 'wb') as f:
        f.write(data)
