#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""wire_cnp.py CAPTURE SENDER RECEIVER DSCP [FAST WIDE]: judges congestion management by a capture at the sender.
CNPs have this DSCP. FAST and WIDE are moments in seconds of the epoch: the way was narrow between them. Prints a
line of faults, or "good" with the figures."""
import subprocess, sys

FIELDS = ['frame.time_epoch', 'ip.src', 'ipv6.src', 'ip.dst', 'ipv6.dst', 'ip.dsfield.ecn', 'ipv6.tclass.ecn',
          'ip.dsfield.dscp', 'ipv6.tclass.dscp', 'frame.len', 'infiniband.bth.opcode', 'infiniband.bth.destqp',
          'infiniband.bth.psn', 'infiniband.bth.p_key', 'infiniband.bth.se', 'infiniband.bth.m', 'udp.payload']
BIN_S = 0.1 # a rate is of this time


def packets(capture):
    command = ['tshark', '-r', capture, '-Y', 'infiniband.bth', '-T', 'fields', '-E', 'separator=,']
    for field in FIELDS:
        command += ['-e', field]
    for line in subprocess.run(command, capture_output=True, text=True).stdout.splitlines():
        v = line.split(',')
        yield {'at_s': float(v[0]), 'src': v[1] or v[2], 'dst': v[3] or v[4], 'ecn': int(v[5] or v[6], 0),
               'dscp': int(v[7] or v[8], 0), 'bytes': int(v[9]), 'opcode': int(v[10], 0), 'qpn': int(v[11], 0),
               'psn': int(v[12], 0), 'pkey': int(v[13], 0), 'flags': v[14:16], 'payload': v[16]}


def rates(sent, begin_s, end_s):
    """Mb/s of each whole BIN_S of that time."""
    bins = [0] * max(0, int((end_s - begin_s) / BIN_S))
    for p in sent:
        i = int((p['at_s'] - begin_s) / BIN_S)
        if p['at_s'] >= begin_s and i < len(bins):
            bins[i] += p['bytes'] * 8 / BIN_S / 1e6
    return bins


def main():
    capture, sender, receiver, dscp = sys.argv[1:4] + [int(sys.argv[4])]
    moments = [float(m) for m in sys.argv[5:]]
    every = list(packets(capture))
    data = [p for p in every if p['src'] == sender and p['opcode'] != 0x81 and p['opcode'] < 0x11]
    answers = {p['qpn'] for p in every if p['src'] == receiver and p['opcode'] == 0x11}
    cnps = [p for p in every if p['src'] == receiver and p['opcode'] == 0x81]
    faults = []
    if not cnps:
        faults.append('no CNP')
    if any(p['ecn'] != 2 for p in data):
        faults.append('a packet is not ECT(0)')
    for p in cnps:
        fields = (p['dst'], p['ecn'], p['dscp'], p['psn'], p['pkey'], p['flags'], p['payload'][24:-8])
        if fields != (sender, 0, dscp, 0, 0xffff, ['0', '0'], '00' * 16) or p['qpn'] not in answers:
            faults.append(f'a CNP has {fields} to QP {p["qpn"]:#x}')
            break
    figures = f'{len(data)} packets, {len(cnps)} CNPs'
    if moments and cnps and data:
        fast_s, wide_s = moments
        begin_s = cnps[0]['at_s'] + 2 * BIN_S # the first cuts
        before = rates(data, data[0]['at_s'], fast_s)
        narrow, wide = rates(data, begin_s, wide_s), rates(data, wide_s, data[-1]['at_s'])
        if not (before and narrow and wide):
            faults.append(f'too short: {before} {narrow} {wide}')
        else:
            slow = sum(narrow) / len(narrow)
            figures += f', at most {max(before):.1f} Mb/s before, {slow:.1f} then, at most {max(wide):.1f} after'
            if max(before) < 2 * slow:
                faults.append('the rate has not come down')
            if max(wide) < 2 * slow:
                faults.append('the rate has not recovered')
            if cnps[0]['at_s'] < fast_s:
                faults.append('a CNP without congestion')
            if len(cnps) > (cnps[-1]['at_s'] - cnps[0]['at_s']) / 0.005 * 1.2 + 2:
                faults.append('more CNPs than one in 5 ms')
    print('; '.join(faults + [figures]) if faults else 'good: ' + figures)


main()
