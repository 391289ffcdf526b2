#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""explain_iwarp.py NORNIC CAPTURE...: holds `nornic explain --json` and `nornic verify --json` against a reader of
iWARP of its own and against tshark.

Each FPDU that the reader (iwarp_reader.py) finds, nornic has to list: place, length, CRC, opcode, T, L, MSN; and no
other. tshark's values of
every field of DDP and RDMAP that it knows are compared in their order (`--no-tshark`: they are not). Prints each
difference; exit status 1 when there is one. Captures are pcap files of Ethernet."""
import collections
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from iwarp_reader import Fpdu, read

def said(nornic, path):
    """The same of what nornic lists, the number of FPDUs that each connection sums up to, and all packets."""
    text = subprocess.run([nornic, 'explain', '--all', '--json', path], capture_output=True, text=True, check=True,
                          timeout=100).stdout
    lists, result, sums, packets, times = {}, {}, {}, [], collections.Counter()
    for line in text.splitlines():
        o = json.loads(line)
        if 'layers' in o:
            packets.append(o)
        if 'iwarp' in o:
            w = o['iwarp']
            pair = lists.setdefault(w['connection'], ([], []))
            for f in w['fpdus']:
                pair[w['sender'] == 'responder'].append(
                    Fpdu(f['at'], f['ulpdu_len'], f['crc'], f.get('opcode'), f.get('tagged'), f.get('last'),
                         f.get('msn')))
        if 'iwarp_connection' in o:
            c = o['iwarp_connection']
            way = tuple(zip(c['addr'], c['port']))
            key = way, times[way]
            times[way] += 1
            result[key] = [sorted(side) for side in lists.get(c['connection'], ([], []))]
            sums[key] = c
    return result, sums, packets


def compare_walks(path, nornic, tell):
    ours = {key: [side.fpdus for side in sides] for key, sides in read(path).items()}
    theirs, sums, packets = said(nornic, path)
    if set(ours) != set(theirs):
        tell('connections: %s by nornic only' % sorted(set(theirs) - set(ours)))
        tell('connections: %s by the reader only' % sorted(set(ours) - set(theirs)))
    count = collections.Counter()
    for key in set(ours) & set(theirs):
        for side in (0, 1):
            wanted, found = ours[key][side], theirs[key][side]
            # what a packet completes beyond 16 FPDUs is counted and not listed
            if sums[key]['fpdus'][side] == len(wanted) and len(found) < len(wanted):
                wanted = [f for f in wanted if f in found]
            for f in set(wanted) ^ set(found):
                tell('%s side %d: %s by %s only' % (key, side, f, 'nornic' if f in found else 'the reader'))
            if sums[key]['fpdus'][side] != len(ours[key][side]):
                tell('%s side %d: %d FPDUs, where there are %d' % (key, side, sums[key]['fpdus'][side],
                                                                   len(ours[key][side])))
            for f in ours[key][side]:
                count[f.crc] += 1
    return count, len(ours), packets


# tshark's name, ours
FIELDS = {
    'iwarp_mpa.ulpdulength': 'mpa.ulpdu_len', 'iwarp_mpa.rev': 'mpa_frame.rev',
    'iwarp_mpa.pdlength': 'mpa_frame.pd_len', 'iwarp_mpa.crc_flag': 'mpa_frame.c',
    'iwarp_mpa.marker_flag': 'mpa_frame.m', 'iwarp_mpa.rej_flag': 'mpa_frame.r',
    'iwarp_ddp.tagged_flag': 'ddp.t', 'iwarp_ddp.last_flag': 'ddp.l', 'iwarp_ddp.dv': 'ddp.dv',
    'iwarp_ddp.stag': 'ddp_tagged.stag', 'iwarp_ddp.tagged_offset': 'ddp_tagged.to',
    'iwarp_ddp.qn': 'ddp_untagged.qn', 'iwarp_ddp.msn': 'ddp_untagged.msn', 'iwarp_ddp.mo': 'ddp_untagged.mo',
    'iwarp_rdma.version': 'ddp.rv', 'iwarp_rdma.opcode': 'ddp.opcode',
    'iwarp_rdma.sinkstag': 'rdmap_read_req.sink_stag', 'iwarp_rdma.sinkto': 'rdmap_read_req.sink_to',
    'iwarp_rdma.rdmardsz': 'rdmap_read_req.size', 'iwarp_rdma.srcstag': 'rdmap_read_req.src_stag',
    'iwarp_rdma.srcto': 'rdmap_read_req.src_to', 'iwarp_rdma.term_layer': 'rdmap_term.layer',
    'iwarp_rdma.term_hdrct_m': 'rdmap_term.m', 'iwarp_rdma.hdrct_d': 'rdmap_term.d',
    'iwarp_rdma.hdrct_r': 'rdmap_term.r',
}


def value(text):
    return {'True': 1, 'False': 0}.get(text, None) if text in ('True', 'False') else int(text, 0)


def is_told_alike(packet):
    """tshark shows an FPDU in the packet that completes it, we its headers in the packet that they are in; and of a
    Terminate we show what was refused as layers of their own. tshark shows no frame with too much private data, no
    FPDU before the Reply, a segment that came ahead of others at once, and not each of several that are
    empty. Such packets are
    not compared."""
    layers, fpdus = packet['layers'], packet['iwarp']['fpdus']
    ends = [sum(key.rstrip('_0123456789') == name for key in layers) for name in ('mpa', 'mpa_crc')]
    return ('rdmap_term' not in layers and ends[0] == ends[1] == packet['iwarp']['fpdu_count'] and
            (ends[0] or 'mpa_frame' in layers) and
            layers.get('mpa_frame', {}).get('pd_len', 0) <= 512 and
            not any(f['crc'] == 'unseen' or f['ulpdu_len'] == 0 for f in fpdus))


def ours_of(packet, name):
    layer, field = name.split('.')
    found = [v for k, v in packet['layers'].items() if re.fullmatch(layer + r'(_\d+)?', k)]
    return [int(str(v[field]), 0) for v in found if field in v]


def compare_tshark(path, packets, tell):
    command = ['tshark', '-n', '-r', path, '-o', 'tcp.try_heuristic_first:TRUE', '--disable-protocol', 'rpcordma',
               '-T', 'fields', '-E', 'separator=|', '-E', 'occurrence=a', '-E', 'aggregator=,', '-e', 'frame.number']
    for field in FIELDS:
        command += ['-e', field]
    lines = subprocess.run(command, capture_output=True, text=True, check=True, timeout=200).stdout.splitlines()
    compared, asked, replied = 0, set(), set()
    for line, packet in zip(lines, packets):
        row = line.split('|')
        theirs_all = dict(zip(FIELDS, row[1:]))
        if packet['kind'] != 'iwarp':
            continue
        connection, is_reply = packet['iwarp']['connection'], packet['iwarp']['sender'] == 'responder'
        if not is_reply and 'pd_len' in packet['layers'].get('mpa_frame', {}):
            asked.add(connection)  # tshark knows none whose Request came in pieces
        replied |= {connection} if is_reply else set()
        if connection not in asked:
            continue
        if not is_told_alike(packet) or (connection not in replied and 'mpa' in packet['layers']):
            continue
        key = packet['layers'].get('mpa_frame', {}).get('key')
        if key and is_reply != key.startswith('MPA ID Rep'):
            continue  # a Reply of the side that should ask: tshark wants a Request first
        for field, name in FIELDS.items():
            theirs = [value(v) for v in theirs_all[field].split(',') if v]
            mine = ours_of(packet, name)
            compared += len(mine)
            if theirs != mine:
                tell('packet %s: %s is %s, tshark has %s' % (row[0], name, mine, theirs))
    return compared


def compare_verify(path, nornic, count, tell):
    done = subprocess.run([nornic, 'verify', '--json', path], capture_output=True, text=True, timeout=100)
    w = json.loads(done.stdout).get('iwarp', {})
    for crc in ('good', 'bad', 'off'):
        if w.get('crc_' + crc, 0) != count[crc]:
            tell('verify: %d FPDUs with crc %s, where there are %d' % (w.get('crc_' + crc, 0), crc, count[crc]))
    if (done.returncode == 1) != (count['bad'] > 0):
        tell('verify: exit status %d' % done.returncode)


def main():
    arguments = [a for a in sys.argv[1:] if a != '--no-tshark']
    nornic, paths = arguments[0], arguments[1:]
    differences, total, conns, compared = 0, collections.Counter(), 0, 0
    for path in paths:
        name = os.path.basename(path)

        def tell(words):
            nonlocal differences
            differences += 1
            print('%s: %s' % (name, words))
        count, n, packets = compare_walks(path, nornic, tell)
        compare_verify(path, nornic, count, tell)
        if '--no-tshark' not in sys.argv:
            compared += compare_tshark(path, packets, tell)
        total += count
        conns += n
    print('%d captures, %d connections, %d FPDUs: CRC good %d, bad %d, off %d; '
          '%d fields equal to tshark; %d differences' %
          (len(paths), conns, sum(total.values()), total['good'], total['bad'], total['off'], compared, differences))
    return differences > 0


if __name__ == '__main__':
    sys.exit(main())
