#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""For sniff.sh: crafted frames, and the judge of what was captured.

    sniff_check.py send IFACE           sends frames of every kind that sniff must take, and of some it must not
    sniff_check.py sent                 how many of these it must take, by kind, as JSON
    sniff_check.py same ALL FILE...     the files hold exactly the frames of ALL that are RDMA, in that order
"""
import json, logging, socket, struct, sys

logging.getLogger('scapy').setLevel(logging.ERROR)
from scapy.all import (Dot1Q, Ether, IP, IPv6, Raw, TCP, UDP, rdpcap)

EYECATCHER = bytes.fromhex('e2d4c3d9')
BTH = bytes.fromhex('0400ffff0000112200001000') + b'data' + bytes(4)
SMC_OPTION = [(254, EYECATCHER)]
MAC = dict(src='02:00:00:00:00:01', dst='02:00:00:00:00:02')
V4, V6 = dict(src='10.77.0.9', dst='10.77.0.8'), dict(src='fd77::9', dst='fd77::8')


def crafted():
    """(kind that sniff counts, or None, frame)"""
    ether, v4, v6 = Ether(**MAC), IP(**V4), IPv6(**V6)
    clc = EYECATCHER + bytes([1, 0, 52, 0x10]) + bytes(44)
    for ip in v4, v6:
        yield 'bad', ether / ip / UDP(sport=50000, dport=4791) / Raw(BTH)
        yield 'bad', ether / Dot1Q(vlan=5) / ip / UDP(sport=50000, dport=4791) / Raw(BTH)
        yield None, ether / ip / UDP(sport=4791, dport=50000) / Raw(BTH)
        yield None, ether / ip / UDP(sport=50000, dport=4790) / Raw(BTH)
        yield 'smc', ether / ip / TCP(sport=40000, dport=80, flags='S', options=[('MSS', 1460)] + SMC_OPTION)
        yield 'smc', ether / ip / TCP(sport=80, dport=40000, flags='SA', options=[('NOP', None)] + SMC_OPTION)
        yield 'smc', ether / ip / TCP(sport=40000, dport=80, flags='PA') / Raw(clc)
        yield 'smc', ether / ip / TCP(sport=40000, dport=80, flags='PA',
                                      options=[('Timestamp', (1, 2))]) / Raw(clc)
        yield None, ether / ip / TCP(sport=40000, dport=80, flags='S', options=[(254, b'\xf9\x89\x00\x00')])
        yield None, ether / ip / TCP(sport=40000, dport=80, flags='S')
        yield None, ether / ip / TCP(sport=40000, dport=80, flags='A', options=SMC_OPTION)
        yield None, ether / ip / TCP(sport=40000, dport=80, flags='PA') / Raw(b'x' + clc)
    grh = struct.pack('>IHBB', 0x60000000, len(BTH), 0x1b, 64) + bytes(32)
    yield 'bad', Ether(type=0x8915, **MAC) / Raw(grh + BTH)
    yield None, Ether(type=0x8914, **MAC) / Raw(grh + BTH)


def is_rdma(frame):
    """By scapy's eyes, not by ours."""
    frame = Ether(frame)
    if frame.type == 0x8915 or (frame.haslayer(UDP) and frame[UDP].dport == 4791):
        return True
    if not frame.haslayer(TCP):
        return False
    if frame[TCP].flags.S:
        return any(kind == 254 and bytes(value)[:4] == EYECATCHER
                   for kind, value in frame[TCP].options if isinstance(kind, int))
    return bytes(frame[TCP].payload)[:4] == EYECATCHER


def same(everything, files):
    want = [bytes(p) for p in rdpcap(everything) if is_rdma(bytes(p))]
    got = [bytes(p) for f in files for p in rdpcap(f)]
    if not want:
        sys.exit('nothing to compare')
    if want != got:
        missing, more = [w.hex()[:120] for w in want if w not in got], [g.hex()[:120] for g in got if g not in want]
        sys.exit('%d frames, not %d; missing %s; more %s' % (len(got), len(want), missing[:3], more[:3]))
    print(len(got))


def send(iface):
    """As quickly as the kernel takes them: no number of sniff may hang on it."""
    frames = [bytes(frame) for _, frame in crafted()]
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    raw.bind((iface, 0))
    for frame in frames:
        raw.send(frame)


if sys.argv[1] == 'send':
    send(sys.argv[2])
elif sys.argv[1] == 'sent':
    kinds = [kind for kind, frame in crafted() if kind]
    print(json.dumps({k: kinds.count(k) for k in set(kinds)}))
else:
    same(sys.argv[2], sys.argv[3:])
