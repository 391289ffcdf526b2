#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes test/fuzz/corpus/control: what peers say to the readers of test/fuzz/local/fuzz_control.c.

    test/fuzz/local/control_corpus.py
"""
import json, os, struct

TEST, ANSWER, LINE, STAT, FIRST = range(5)
QPS = [{'qpn': 17, 'psn': 3}]
PERF_TEST = {'nornic_perf': 1, 'op': 'write', 'size_bytes': 64, 'depth': 4, 'qps': 1, 'pmtu_bytes': 1024,
             'verify': True, 'gid': '10.0.0.1', 'qp_list': QPS}
STAT_ANSWER = {'devices': [{'device': 'nornic0', 'port': 'udp', 'state': 'ACTIVE', 'addresses': ['10.0.0.1'],
                            'counters': {'tx_pkts': 1}, 'qps': [{'qpn': 1, 'type': 'RC', 'state': 'RTS',
                                                                 'peer': '10.0.0.2', 'peer_qpn': 2}]}]}
PROPOSAL = b'\xe2\xd4\xc3\xd9' + struct.pack('>BHB', 1, 16, 0x10) + bytes(4) + b'\xe2\xd4\xc3\xd9'


def line(value):
    return json.dumps(value).encode() + b'\n'


INPUTS = {
    'test': bytes([TEST]) + line(PERF_TEST),
    'test_error': bytes([TEST]) + line({'nornic_perf': 1, 'error': 'no'}),
    'test_deep': bytes([TEST]) + b'[' * 200,
    'answer': bytes([ANSWER]) +
        line({'nornic_perf': 1, 'gid': '10.0.0.1', 'qp_list': QPS * 2, 'addr': 4096, 'rkey': 7}) +
        line({'nornic_perf': 1, 'ops': [1, 1]}) + line({'nornic_perf': 1, 'checked': 2}),
    'line': bytes([LINE]) + b'0000:000011:000003:' + b'0' * 32,
    'stat': bytes([STAT]) + line(STAT_ANSWER),
    'stat_other_types': bytes([STAT]) + line({'devices': {'device': [], 'qps': 1}}),
    'proposal': bytes([FIRST]) + PROPOSAL + b'data',
    'no_clc': bytes([FIRST + 130]) + b'GET / HTTP/1.1',
}


def main():
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../corpus/control')
    os.makedirs(folder, exist_ok=True)
    for name, data in INPUTS.items():
        with open(os.path.join(folder, name), 'wb') as f:
            f.write(data)


main()
