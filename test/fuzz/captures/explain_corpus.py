#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""explain_corpus.py: writes test/fuzz/corpus/explain from the captures of real peers (pcaps): the first packets
of each opcode and CM message, and short rows of packets where something goes wrong; corpus/replay, whole
conversations of both ends, and one that lies about its padding; corpus/join, the same as seen at both
ends; corpus/filter; corpus/scenario; and of pcaps/links what corpus/capture lacks."""
import gzip
import os
import struct
import sys
import zlib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
# capture: the packets (from 1) of the row that is taken from it
ROWS = {
    'rc_send_256': (1, 16), 'rc_write_1024': (28, 34), 'rc_read_256': (20, 30), 'rc_atomic': (1, 8),
    'rc_sendinv': (10, 17), 'rc_rnr': (1, 12), 'rc_nak': (1, 19), 'rc_vlan': (1, 12),
    'rc_ipv6_atomic': (3, 14), 'lossy_loss': (13, 24), 'lossy_duplicate': (1, 14), 'uc': (1, 10),
    'ud_4': (1, 6), 'cm_disc': (1, 8), 'cm_reject': (5, 15), 'cm_lossy': (1, 16), 'cm_udaddy': (1, 5),
    'stock_pingpong': (1, 8), 'smc_first': (1, 60), 'smc_abort': (4, 60), 'smcfb_eid': (1, 8),
    'smc2_down': (4, 64), 'smcr_failover': (1, 60),
    'iwarp/crc_rping_100': (1, 34), 'iwarp/p2p_64': (1, 25), 'iwarp/term_badread': (1, 14),
    'iwarp/crc_sendinv': (1, 19), 'iwarp/host_faults': (404, 467), 'iwarp/cm': (1, 53),
}
# of pcaps/links: how many packets, and enum net_link
LINKS = {
    'vxlan': (2, 0), 'geneve': (2, 0), 'gre_key': (2, 0), 'gretap_vlan_vxlan': (2, 0), 'nvgre': (2, 0),
    'ip_in_ip': (2, 0), 'ip_in_ip6': (2, 0), 'erspan1': (2, 0), 'erspan2': (2, 0), 'erspan3': (2, 0), 'qinq': (2, 0),
    'three_tags': (2, 0), 'raw': (2, 3), 'null': (2, 1), 'loop': (2, 2), 'sll': (2, 4), 'vxlan_any': (16, 5),
    'pause_dcbx': (17, 0),
}
# what both ends do in them is replayed
REPLAYS = {
    'rc_send_256': (1, 24), 'rc_write_1024': (24, 46), 'rc_read_256': (14, 34), 'rc_atomic': (1, 16),
    'rc_sendinv': (8, 20), 'rc_rnr': (1, 12), 'rc_nak': (1, 19), 'rc_vlan': (1, 12), 'rc_ipv6_atomic': (1, 14),
    'lossy_loss': (10, 34), 'lossy_duplicate': (1, 20), 'lossy_reorder': (1, 24), 'uc': (1, 12), 'ud_4': (1, 8),
    'smc_first': (8, 40), 'smcr_failover': (1, 60), 'smcr_echo': (1, 64),
    'smc2_first': (1, 64), 'smc2_asym': (1, 64), 'smc2_down': (1, 64), 'smc_testlink': (1, 60),
}
FILTERS = {
    'opcode': 'bth.opcode == RC_RDMA_WRITE_FIRST && bth.psn > 100',
    'not': '!(aeth || deth) && reth.dma_len >= 0x400',
    'address': 'ip.src == 10.77.0.1 || ip6.dst == fd77::2',
    'flow': 'flow == 1 && message != 3 && n < 20 && len <= 100',
    'value': 'aeth && aeth.syndrome != ACK',
    'mac': 'eth.dst == 52:54:00:4e:00:02',
    'unclosed': '((bth.psn == 1)',
    'nothing': '',
}
SCENARIOS = {
    'facts': 'qp 0x11 sq-psn 0x1000 rq-psn 1 mtu 1024 rnr-timer 14\nkey 7 va 0x1000 bytes 64 access read,write\n',
    'addresses': '# moved\naddress 10.0.0.1 192.0.2.1 02:00:5e:10:00:01\naddress 10.0.0.2 192.0.2.2\n',
    'queue_pairs': 'to 10.0.0.2 5 qp 0x777 psn 0xfffffe\nto 10.0.0.1 6 qp 8\n',
    'keys': 'rkey 10.0.0.2 7 0x4f0 va 0x1000 0x55cea6db0010\n',
    'wrong': 'address fd77::1 10.0.0.1\n',
}


def frames(path):
    with open(path, 'rb') as f:
        data = f.read()
    at = 24
    while at < len(data):
        captured = struct.unpack_from('<I', data, at + 8)[0]
        yield data[at + 16:at + 16 + captured]
        at += 16 + captured


def padded(frame):
    """The frame with a reserved opcode and PadCnt 3: nothing of it is padding then."""
    return frame[:42] + bytes([frame[42] | 0x1f, frame[43] | 0x30]) + frame[44:]


def sum16(data):
    """The checksum of RFC 1071."""
    total = sum(struct.unpack(f'>{len(data) // 2}H', data))
    total = (total & 0xffff) + (total >> 16)
    return ~(total + (total >> 16)) & 0xffff


def train(frame, *sizes):
    """Packets behind the headers of that frame, with so much data, as one frame that has not been cut."""
    rest = b''
    for i, size in enumerate(sizes):
        ip, udp, bth = (bytearray(frame[a:b]) for a, b in ((14, 34), (34, 42), (42, 54)))
        data = bytes([i]) * size
        bth[0], bth[1] = 1, 0
        bth[9:12] = (i + 1).to_bytes(3, 'big')
        struct.pack_into('>HH', ip, 2, 44 + size, i)
        struct.pack_into('>HH', udp, 4, 24 + size, 0)
        covered = bytearray(b'\xff' * 8 + ip + udp + bth + data)
        for at in (9, 16, 18, 19, 34, 35, 40):
            covered[at] = 0xff
        rest += bytes(bth) + data + struct.pack('<I', zlib.crc32(covered))
    ip, udp = bytearray(frame[14:34]), bytearray(frame[34:42])
    struct.pack_into('>HH', ip, 2, 28 + len(rest), 0)
    struct.pack_into('>H', ip, 10, 0)
    struct.pack_into('>H', ip, 10, sum16(bytes(ip)))
    struct.pack_into('>HH', udp, 4, 8 + len(rest), 0)
    return frame[:14] + bytes(ip + udp) + rest


def write(target, name, data):
    folder = os.path.join(ROOT, 'test/fuzz/corpus', target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), 'wb') as f:
        f.write(data)


def main():
    for name, (first, last) in ROWS.items():
        rows = list(frames(os.path.join(ROOT, 'pcaps', name + '.pcap')))[first - 1:last]
        write('explain', name.replace('/', '_'), b''.join(struct.pack('>HB', len(r), 1) + r for r in rows))
    for name, (count, link) in LINKS.items():
        rows = list(frames(os.path.join(ROOT, 'pcaps/links', name + '.pcap')))[:count]
        write('explain', 'link_' + name, b''.join(struct.pack('>HB', len(r), 1 | link << 4) + r for r in rows))
    with open(os.path.join(ROOT, 'pcaps/links/two_interfaces.pcapng'), 'rb') as f:
        write('capture', 'ng_three_interfaces.pcapng', f.read(1600))
    with open(os.path.join(ROOT, 'pcaps/links/sll.pcap'), 'rb') as f:
        write('capture', 'pcap_sll.pcap.gz', gzip.compress(f.read(400), mtime=0))
    for name, (first, last) in REPLAYS.items():
        rows = list(frames(os.path.join(ROOT, 'pcaps', name + '.pcap')))[first - 1:last]
        write('replay', name, b''.join(struct.pack('>HB', len(r), 1) + r for r in rows))
        # at both ends: some lost, missed, doubled, damaged, by turns
        hows = (0x40, 0x50, 0x40, 0x41, 0x50, 0x42, 0x44, 0x48, 0x52, 0x54, 0x80)
        how = [0x50 if i % 3 == 1 else hows[i % len(hows)] for i in range(len(rows))]
        write('join', name, b''.join(struct.pack('>HBB', len(r), how[i], 20 + i % 5) + r
                                     for i, r in enumerate(rows)))
    rows = list(frames(os.path.join(ROOT, 'pcaps', 'rc_send_256.pcap')))[:6]
    rows.insert(2, padded(rows[0]))
    write('replay', 'reserved_padded', b''.join(struct.pack('>HB', len(r), 1) + r for r in rows))
    rows = [train(rows[0], 32, 32, 8), train(rows[0], *[0] * 40)]
    write('explain', 'trains', b''.join(struct.pack('>HB', len(r), cut << 2) + r for r in rows for cut in range(4)))
    for name, expression in FILTERS.items():
        write('filter', name, expression.encode())
    for name, text in SCENARIOS.items():
        write('scenario', name, text.encode())
    return 0


sys.exit(main())
