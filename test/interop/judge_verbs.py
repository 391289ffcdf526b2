# SPDX-License-Identifier: BSD-2-Clause
"""What a capture of a case must hold that has the stock programs on both sides, over soft-RoCE and over nornic's verbs
libraries. Each function says what is wrong with it, or ''."""
import subprocess

import judge
from judge import ends, handshake, nornic_verifies, pings, tshark_reads

# A program that has disconnected ends before the guest sends its last DREP or ACK, to a UDP port that is none any more.
OF_THE_END = ('Icmp.InMsgs', 'Icmp.InErrors')
WRITES_WITH_IMMEDIATE = '{9, 11}'   # opcodes: the last packet and the only one of an RDMA WRITE


def guest_saw(case, counted, said):
    return judge.guest_saw(case, {**counted, **dict.fromkeys(OF_THE_END, 0)}, said)


def count(capture, source, opcodes):
    tshark = ['tshark', '-r', capture, '-Y', 'ip.src == %s && infiniband.bth.opcode in %s' % (source, opcodes)]
    return len(subprocess.run(tshark, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                              check=True).stdout.splitlines())


def streams(case, capture, _log):
    """Each side sends as many messages as there are transfers, of at least one RDMA WRITE each; riostream writes
    without messages, and tells of its memory by one."""
    wanted = case.iterations if case.program == 'roce-rstream' else 1
    for end in ends(case):
        found = count(capture, end, WRITES_WITH_IMMEDIATE)
        if found < wanted:
            return '%s sent %d messages of rsockets, not %d' % (end, found, wanted)
    return ''


def check(case, capture, log):
    why = nornic_verifies(capture, log) or tshark_reads(capture)
    if not why and case.program == 'roce-rping':
        why = handshake(case, capture) or pings(case, capture, log)
    elif not why and 'stream' in case.program:
        why = streams(case, capture, log)
    return why
