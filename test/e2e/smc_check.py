#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What tshark reads in a capture of SMC-R against what an end of the connection says that it sent and received.

    smc_check.py CAPTURE TRACE    TRACE: of `nornic smc connect --trace`; prints a line a case

Each message that the trace has is put into the same words from tshark's fields. What tshark 4.0 misreads is left out:
a Proposal without a growth area, ADD LINK and its CONTINUATION.
"""
import re, subprocess, sys

SIZES = {code: '%d KiB' % (16 << code) for code in range(6)}
MTUS = {1: '256', 2: '512', 3: '1024', 4: '2048', 5: '4096'}
REASONS = {0x10000: 'lost path', 0x20000: 'operator', 0x30000: 'program or link inactivity'}
FLAGS = [(0x80, 'writer blocked'), (0x40, 'urgent pending'), (0x20, 'urgent present'), (0x10, 'update requested')]
STATES = [(0x80, 'sending done'), (0x40, 'closed'), (0x20, 'abnormal close')]
FIELDS = '''clc_msg llc_msg proposal.first.contact accept.server.qp.number accept.server.rmb.element.alert.token
    accept.server.tcp.conn.index accept.rmb.buffer.size accept.qp.mtu.value confirm.client.qp.number
    client.rmb.element.alert.token confirm.client.tcp.conn.index confirm.rmb.buffer.size confirm.qp.mtu.value
    confirm.link.response confirm.link.number confirm.link.sender.qp.number confirm.link.max.links
    delete.link.response delete.link.all delete.link.orderly delete.link.number delete.link.reason.code
    rmbe.ctrl.seqno rmbe.ctrl.alert.token rmbe.ctrl.prod.wrap.seq rmbe.ctrl.peer.prod.curs
    rmbe.ctrl.conn.rw.status.flags rmbe.ctrl.peer.conn.state.flags'''.split()


def tshark(path, wanted, fields):
    command = ['tshark', '-r', path, '--disable-protocol', 'rpcordma', '-Y', wanted, '-T', 'fields', '-E',
               'occurrence=a', '-E', 'separator=|']
    for f in fields:
        command += ['-e', f]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [line.split('|') for line in lines]


def number(text):
    return int(text.split(',')[0], 0) if text else 0


def clc(kind, first, f, names):
    qpn, token, index, size, mtu = (number(f[n]) for n in names)
    return '%s%s, QPN 0x%06x, token %08x, RMBE %d of %s, MTU %s' % (
        kind, first, qpn, token, index, SIZES[size], MTUS[mtu])


def cdc(f):
    words = 'CDC %08x seq %d' % (number(f['rmbe.ctrl.alert.token']), number(f['rmbe.ctrl.seqno']))
    rw, state = number(f['rmbe.ctrl.conn.rw.status.flags']), number(f['rmbe.ctrl.peer.conn.state.flags'])
    if rw & 0x08:
        return words + ' failover validation'
    wraps = [int(w, 0) for w in f['rmbe.ctrl.prod.wrap.seq'].split(',')]
    cursors = [int(c, 0) for c in f['rmbe.ctrl.peer.prod.curs'].split(',')]
    words += ', producer %d:%d, consumer %d:%d' % (wraps[0], cursors[0], wraps[1], cursors[1])
    return words + ''.join(', ' + w for bit, w in FLAGS if rw & bit) + \
        ''.join(', ' + w for bit, w in STATES if state & bit)


def words_of(f):
    """What a frame says, in the words of the trace; None: nothing that is compared."""
    if f['clc_msg'] == '2':
        first = ', first contact' if number(f['proposal.first.contact']) else ', subsequent contact'
        return clc('Accept', first, f, [n for n in FIELDS if n.startswith('accept.')])
    if f['clc_msg'] == '3':
        return clc('Confirm', '', f, ['confirm.client.qp.number', 'client.rmb.element.alert.token',
                                      'confirm.client.tcp.conn.index', 'confirm.rmb.buffer.size',
                                      'confirm.qp.mtu.value'])
    if f['llc_msg'] == '0x01':
        way = 'response' if number(f['confirm.link.response']) else 'request'
        return 'CONFIRM LINK %s, link %d, QPN 0x%06x, max %d' % (
            way, number(f['confirm.link.number']), number(f['confirm.link.sender.qp.number']),
            number(f['confirm.link.max.links']))
    if f['llc_msg'] == '0x04':
        words = 'DELETE LINK %s, ' % ('response' if number(f['delete.link.response']) else 'request')
        words += 'all links' if number(f['delete.link.all']) else 'link %d' % number(f['delete.link.number'])
        words += ', orderly' if number(f['delete.link.orderly']) else ''
        reason = number(f['delete.link.reason.code'])
        return words + (', ' + REASONS[reason] if reason else '')
    return cdc(f) if f['llc_msg'] == '0xfe' else None


def main():
    capture, trace = sys.argv[1:]
    rows = tshark(capture, 'smc', ['smc.' + f for f in FIELDS])
    seen = {w for w in (words_of(dict(zip(FIELDS, row))) for row in rows) if w}
    kinds = ('Accept', 'Confirm', 'CONFIRM LINK', 'DELETE LINK', 'CDC ')
    with open(trace) as f:
        lines = [re.match(r'[\d.]+ [<>] [^:]*: (.*)', line) for line in f]
    said = {m[1] for m in lines if m and m[1].startswith(kinds)}
    status = 0
    for name, good, why in [
            ('reads_what_was_said', said <= seen, sorted(said - seen)[:3]),
            ('reads_nothing_else', seen <= said, sorted(seen - said)[:3]),
            ('sees_every_kind', all(any(w.startswith(k) for w in seen) for k in kinds), sorted(seen)[:3]),
            ('sees_the_proposal', bool(tshark(capture, 'smc.clc_msg == 1 && smc.length == 52', ['tcp.len'])), ''),
            ('sees_add_link', len(tshark(capture, 'smc.llc_msg == 2 || smc.llc_msg == 3', ['frame.number'])) >= 4, ''),
            ('sees_the_option',
             [row[0] for row in tshark(capture, 'tcp.flags.syn == 1 && tcp.options.experimental.exid == 0xe2d4',
                                       ['tcp.flags.ack'])] in (['0', '1'], ['False', 'True']), ''),
            ('finds_nothing_else_malformed', not tshark(capture, '_ws.malformed && !(smc.clc_msg == 1)',
                                                        ['frame.number']), '')]:
        print(('ok tshark_%s' if good else 'not ok tshark_%s: ') % name + ('' if good else str(why)))
        status |= not good
    return status


sys.exit(main())
