#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the corpus of the fuzzer of the connection manager, test/fuzz/corpus/mad: one named file a scenario.

    test/fuzz/roce/mad_corpus.py

The bytes are what fuzz_mad.c reads; the names below are its steps and the messages' attribute ids.
"""
import os
import struct

(RAW, MESSAGE, ECHO, WAIT, NEXT, LISTEN, CONNECT, EVENTS, ACCEPT, REJECT, DISCONNECT, ESTABLISH, MRA_CALL,
 NOTIFY, DESTROY, FAIL) = range(16)
REQ, MRA, REJ, REP, RTU, DREQ, DREP, SIDR_REQ, SIDR_REP, LAP, APR = range(11)
TCP, UDP, ONE_ADDRESS, WITH_QP = 0, 1, 4, 8
HDR, MSG = 0, 24   # where the envelope and the message begin


def message(attr, answers=0, comm_id=9, peer=0, patches=()):
    return bytes([MESSAGE, peer, attr, answers, comm_id, len(patches)]) + b''.join(bytes(p) for p in patches)


def echo(record, peer=0, patches=()):
    return bytes([ECHO, peer | record << 3, len(patches)]) + b''.join(bytes(p) for p in patches)


def raw(data, peer=0):
    return bytes([RAW, peer]) + struct.pack('>H', len(data)) + data


def steps(*parts):
    return b''.join(p if isinstance(p, bytes) else bytes(p) for p in parts)


listen = [LISTEN, TCP, 3]
events = [EVENTS, 9]
asked = steps(listen, message(REQ), events)                          # id 1 is a request
accepted = steps(asked, [ACCEPT, 1, 1, 4])                            # record 0: REP
passive = steps(accepted, message(RTU, 0), events)
called = steps([CONNECT, TCP | WITH_QP, 0])                           # record 0: REQ, id 0
active = steps(called, message(REP, 0), events)                       # record 1: RTU
answered = steps([CONNECT, TCP, 0], message(REP, 0), events)          # without a QP
resolving = steps([LISTEN, UDP, 3], message(SIDR_REQ), events)

SCENARIOS = {
    'req': asked,
    'req_duplicate': steps(asked, message(REQ), message(REQ)),
    'req_unseen': steps(listen, message(REQ), message(REQ), message(REQ, comm_id=10), message(REQ, comm_id=11),
                        message(REQ, comm_id=12)),
    'req_stale': steps(passive, message(REQ, comm_id=10, patches=[(MSG + 34, 109)]), events, [NEXT, 31]),
    'req_timewait': steps(passive, [DISCONNECT, 1, 0], message(DREP, 1), message(REQ)),
    'req_transport': steps(listen, message(REQ, patches=[(MSG + 43, 0x02)])),
    'req_mtu': steps(listen, message(REQ, patches=[(MSG + 50, 0x50)])),
    'req_gid': steps(listen, message(REQ, patches=[(MSG + 87, 0x50)])),
    'req_service': steps(listen, message(REQ, patches=[(MSG + 15, 0x50)])),
    'req_ip_version': steps(listen, message(REQ, patches=[(MSG + 141, 0x60)])),
    'req_version': steps(listen, message(REQ, patches=[(HDR + 2, 1)])),
    'req_class': message(REQ, patches=[(HDR + 1, 3), (HDR + 3, 1)]),
    'req_alternate': steps(listen, message(REQ, patches=[(MSG + 100, 1)]), events, [ACCEPT, 1, 0, 0]),
    'req_no_memory': steps(listen, [FAIL, 1], message(REQ), message(REQ)),
    'accept': passive,
    'accept_own_qp': steps(asked, [ACCEPT, 1, 0, 0], message(RTU, 0), events),
    'accept_default': steps(asked, [ACCEPT, 1, 16, 0], message(RTU, 0), events),
    'accept_notify': steps(accepted, [NOTIFY, 1], events),
    'accept_mra': steps(accepted, message(MRA, 0, patches=[(MSG + 8, 0x40), (MSG + 9, 0xa0)]), [NEXT, 31]),
    'accept_no_rtu': steps(accepted, [NEXT, 31], events),
    'accept_dreq': steps(accepted, message(DREQ, 0), events, [DISCONNECT, 1, 0]),
    'accept_rej': steps(accepted, message(REJ, 0, patches=[(MSG + 8, 0x40), (MSG + 11, 28)]), events),
    'reject': steps(asked, [REJECT, 1, 0, 9]),
    'mra': steps(asked, [MRA_CALL, 1, 20, 0], message(REQ), [ACCEPT, 1, 0, 0]),
    'vanish_request': steps(asked, [DESTROY, 1]),
    'vanish_listener': steps(listen, message(REQ), [DESTROY, 0]),
    'vanish_accepted': steps(accepted, [DESTROY, 1], [NEXT, 9]),
    'vanish_connected': steps(passive, [DESTROY, 1], message(DREP, 1), [NEXT, 9]),
    'connect': active,
    'connect_own_qp': steps(answered, [ESTABLISH, 0, 5]),
    'connect_reject_rep': steps(answered, [REJECT, 0, 0, 9], message(REP, 0), [NEXT, 3]),
    'connect_mra_rep': steps(answered, message(REP, 0), message(REP, 0), [MRA_CALL, 0, 20, 0], [ESTABLISH, 0, 0]),
    'connect_mra': steps(called, message(MRA, 0, patches=[(MSG + 9, 0xa0)]), [NEXT, 3], message(REP, 0)),
    'connect_rej': steps(called, message(REJ, 0, patches=[(MSG + 11, 8)]), events),
    'connect_rej_stale': steps(called, message(REJ, 0, patches=[(MSG + 11, 10)]), events, [NEXT, 3]),
    'connect_timeout': steps(called, [NEXT, 31], events),
    'connect_rep_twice': steps(active, message(REP, 0)),
    'connect_rep_qpn': steps(called, message(REP, 0, patches=[(MSG + 14, 0)]), events),
    'connect_rep_depth': steps(called, message(REP, 0, patches=[(MSG + 25, 255)]), events),
    'connect_rep_stale': steps(active, [CONNECT, TCP | WITH_QP | 16, 0], message(REP, 2, comm_id=9), events),
    'connect_ipv6': [CONNECT, TCP, 2],
    'connect_self': steps(listen, [CONNECT, TCP | WITH_QP, 3], echo(0, 3), events, [ACCEPT, 2, 1 | 2, 0],
                          echo(1, 3), echo(2, 3), events, [DISCONNECT, 1, 0], echo(3, 3)),
    'vanish_calling': steps(called, [DESTROY, 0]),
    'vanish_answered': steps(answered, [DESTROY, 0], [NEXT, 3]),
    'dreq': steps(passive, message(DREQ, 0), events, [DISCONNECT, 1, 0], message(DREQ, 0), [NEXT, 3]),
    'dreq_unknown': message(DREQ, 3),
    'dreq_qpn': steps(passive, message(DREQ, 0, patches=[(MSG + 10, 1)])),
    'dreq_crossing': steps(active, [DISCONNECT, 0, 0], message(DREQ, 0), [NEXT, 3]),
    'dreq_sent': steps(active, [DISCONNECT, 0, 0], message(DREP, 2), events, [NEXT, 3]),
    'dreq_timeout': steps(active, [DISCONNECT, 0, 0], [NEXT, 31], events),
    'dreq_other_peer': steps(passive, message(DREQ, 0, peer=1)),
    'lap': steps(passive, message(LAP, 0), message(LAP, 0, comm_id=77)),
    'apr': steps(active, message(APR, 0)),
    'rej_established': steps(passive, message(REJ, 0, patches=[(MSG + 8, 0x80), (MSG + 11, 28)]), events),
    'sidr_req': resolving,
    'sidr_accept': steps(resolving, [ACCEPT, 1, 0, 9], message(SIDR_REQ), [NEXT, 3]),
    'sidr_reject': steps(resolving, [REJECT, 1, 0, 9], message(SIDR_REQ), [DESTROY, 1]),
    'sidr_connect': steps([CONNECT, UDP, 0], message(SIDR_REP, 0, comm_id=0), events),
    'sidr_refused': steps([CONNECT, UDP, 0], message(SIDR_REP, 0, comm_id=1), events),
    'sidr_timeout': steps([CONNECT, UDP, 0], [NEXT, 31], events),
    'sidr_version': message(SIDR_REQ, patches=[(HDR + 2, 1)]),
    'raw_short': raw(bytes(255)),
    'raw_long': raw(bytes([1, 7, 2, 3]) + bytes(253)),
    'raw_unknown': raw(bytes([1, 7, 2, 3]) + bytes(12) + bytes([0, 0x1b]) + bytes(238)),
    'floods': steps([LISTEN, TCP | ONE_ADDRESS, 3], *[message(REQ, comm_id=i) for i in range(20)], events,
                    *[message(SIDR_REQ, comm_id=i) for i in range(20)]),
}


def main():
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../corpus/mad')
    os.makedirs(here, exist_ok=True)
    for name, data in SCENARIOS.items():
        with open(os.path.join(here, name), 'wb') as f:
            f.write(bytes(data))


main()
