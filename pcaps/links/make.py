#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""make.py: writes the captures of this folder that scapy makes, into the current directory: the first packets of
../rc_send_256.pcap in tunnels, below tags and on other links, and frames of flow control between them. (vxlan_any.pcap
and two_interfaces.pcapng are of the kernel, tcpdump and dumpcap: see ../MANIFEST.md.)"""
import os
import struct

from scapy.all import Dot1Q, Ether, GRE, IP, IPv6, Raw, UDP, VXLAN, conf, rdpcap, wrpcap
from scapy.contrib.erspan import ERSPAN_II, ERSPAN_III, ERSPAN_PlatformSpecific
from scapy.contrib.geneve import GENEVE

conf.verb = 0
SOURCE = rdpcap(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../rc_send_256.pcap'))[:12]
OUTER = Ether(src='02:00:00:00:00:aa', dst='02:00:00:00:00:bb')
OUTER_IP = OUTER / IP(src='192.0.2.1', dst='192.0.2.2')


def write(name, wrap, link_type=1):
    packets = []
    for p in SOURCE:
        q = wrap(p)
        q.time = p.time
        packets.append(q)
    wrpcap(name + '.pcap', packets, linktype=link_type)


def ip_of(p):
    return bytes(p)[14:]


def tagged(p, *tags):
    frame = bytes(p)
    return Raw(frame[:12] + b''.join(struct.pack('>HH', *t) for t in tags) + frame[12:])


def udp(port):
    return OUTER_IP / UDP(sport=5555, dport=port)


write('vxlan', lambda p: udp(4789) / VXLAN(vni=42, flags=8) / bytes(p))
write('vxlan_8472', lambda p: udp(8472) / VXLAN(vni=43, flags=8) / bytes(p))
write('geneve', lambda p: udp(6081) / GENEVE(vni=99, proto=0x6558) / bytes(p))
write('gre', lambda p: OUTER_IP / GRE(proto=0x0800) / ip_of(p))
write('gre_key', lambda p: OUTER_IP / GRE(proto=0x0800, key_present=1, key=77, chksum_present=1, seqnum_present=1,
                                          sequence_number=5) / ip_of(p))
write('gretap_vlan_vxlan', lambda p: OUTER_IP / GRE(proto=0x6558, key_present=1, key=1) / Ether() / Dot1Q(vlan=9) /
      IP(src='198.51.100.1', dst='198.51.100.2') / UDP(sport=1, dport=4789) / VXLAN(vni=50, flags=8) / bytes(p))
write('nvgre', lambda p: OUTER_IP / GRE(proto=0x6558, key_present=1, key=0x123456 << 8 | 9) / bytes(p))
write('ip_in_ip', lambda p: OUTER / IP(src='192.0.2.1', dst='192.0.2.2', proto=4) / ip_of(p))
write('ip_in_ip6', lambda p: OUTER / IPv6(src='fd00::1', dst='fd00::2', nh=4) / ip_of(p))
write('erspan1', lambda p: OUTER_IP / GRE(proto=0x88be) / bytes(p))
write('erspan2', lambda p: OUTER_IP / GRE(proto=0x88be, seqnum_present=1, sequence_number=3) /
      ERSPAN_II(ver=1, session_id=5, vlan=100, cos=3) / bytes(p))
write('erspan3', lambda p: OUTER_IP / GRE(proto=0x22eb, seqnum_present=1, sequence_number=3) /
      ERSPAN_III(session_id=6, vlan=100, cos=3, o=1) / ERSPAN_PlatformSpecific() / bytes(p))
write('qinq', lambda p: tagged(p, (0x88a8, 0x6064), (0x8100, 0x6005)))
write('three_tags', lambda p: tagged(p, (0x9100, 1), (0x8100, 2), (0x8100, 3)))
write('raw', lambda p: Raw(ip_of(p)), 101)
write('null', lambda p: Raw(struct.pack('<I', 2) + ip_of(p)), 0)
write('loop', lambda p: Raw(struct.pack('>I', 2) + ip_of(p)), 108)
write('sll', lambda p: Raw(struct.pack('>HHH8sH', 0, 1, 6, bytes(p)[6:12] + b'\0\0', 0x800) + ip_of(p)), 113)


# --- flow control and DCBX ---

def mac_control(source, opcode, rest):
    frame = bytes.fromhex('0180c2000001' + source.replace(':', '')) + struct.pack('>HH', 0x8808, opcode) + rest
    return frame.ljust(60, b'\0')


def pfc(source, classes, quanta):
    return mac_control(source, 0x0101, struct.pack('>H8H', classes, *quanta))


def tlv(kind, value):
    return struct.pack('>H', kind << 9 | len(value)) + value


def of_8021(subtype, value):
    return tlv(127, b'\x00\x80\xc2' + bytes([subtype]) + value)


def application(priority, selector, protocol):
    return bytes([priority << 5 | selector]) + struct.pack('>H', protocol)


def lldp(roce_priority):
    classes = bytes.fromhex('01234567') + bytes([50, 0, 0, 50, 0, 0, 0, 0]) + bytes([2, 0, 0, 2, 0, 0, 0, 0])
    return bytes.fromhex('0180c200000e02000000009988cc') + b''.join((
        tlv(1, b'\4\2\0\0\0\0\x99'), tlv(2, b'\5Ethernet1'), tlv(3, b'\0x'), tlv(5, b'leaf1'),
        of_8021(9, b'\x07' + classes), of_8021(10, b'\0' + classes), of_8021(11, b'\x88\x08'),
        of_8021(12, b'\0' + application(roce_priority, 3, 4791) + application(3, 5, 26) + application(3, 1, 0x8915)),
        tlv(0, b'')))


def flow_control():
    time, packets = 1700000000.0, []

    def add(frame, gap):
        nonlocal time
        packets.append(Raw(frame))
        packets[-1].time = time
        time += gap
    add(lldp(3), 1e-3)
    for i, p in enumerate(SOURCE):
        if i == 4:  # the receiver stops classes 0 and 3, and 300 us later lets them go
            add(pfc(p.dst, 9, [65535, 0, 0, 65535, 0, 0, 0, 0]), 300e-6)
            add(pfc(p.dst, 9, [0] * 8), 10e-6)
        if i == 8:  # a switch stops the whole link
            add(mac_control('02:00:00:00:00:99', 1, struct.pack('>H', 1000)), 6e-6)
        add(bytes(p), 20e-6)
    add(lldp(5), 0)
    wrpcap('pause_dcbx.pcap', packets, linktype=1)


flow_control()
