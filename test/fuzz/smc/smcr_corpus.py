#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the corpora of fuzz_clc, fuzz_llc and fuzz_cdc, test/fuzz/corpus/{clc,llc,cdc}: a named file a scenario.

    test/fuzz/smc/smcr_corpus.py

The bytes are what test/fuzz/smc/smcr_world.c reads; the names below are its.
"""
import os
import struct

SERVER, TWO, IPV6, CHUNKS, SECOND, SHIFTED = 1, 2, 4, 8, 0x10, 0x20
(TCP, CLC, TCP_END, OPEN, WAIT, LLC, CDC, RAW, WRITE, APP, PORT, FAIL, ANSWER, BREAK, RETIRE, CONTACT) = range(16)
PROPOSAL, ACCEPT, CONFIRM, DECLINE, FLAG, HALF = 0, 1, 2, 3, 0x80, 0x40
CONFIRM_LINK, ADD_LINK, CONT, DELETE_LINK, CONFIRM_RKEY, TEST_LINK, RKEY_CONT, DELETE_RKEY = range(8)
R = 0x80
MS, S5 = 20, 33          # 2^20 ns is a millisecond, 2^33 are eight and a half seconds


def patched(patches):
    return bytes([len(patches)]) + b''.join(bytes(p) for p in patches)


def clc(kind, *patches, conn=0):
    return bytes([CLC, conn, kind]) + patched(patches)


def tcp(data, conn=0):
    return bytes([TCP, conn, len(data)]) + data


def llc(kind, *patches, link=0):
    return bytes([LLC, link, kind]) + patched(patches)


def cdc(*patches, conn=0, link=0):
    return bytes([CDC, conn, link]) + patched(patches)


def raw(data, link=0):
    return bytes([RAW, link, len(data)]) + data


def wait(n=MS):
    return bytes([WAIT, n])


def write(how=0, n=1000, conn=0):
    return bytes([WRITE, conn, how]) + struct.pack('>H', n - 1)


def app(what, n=1000, conn=0):
    return bytes([APP, conn, what]) + struct.pack('>H', n - 1)


SEND, RECV, SHUT, CLOSE, ABORT, KEEPALIVE, INLINE, MARK = range(8)
URGENT, PEEK = 1 << 3, 1 << 3
answer = bytes([ANSWER, 0])
open_ = bytes([OPEN, 0])
fin, rst = bytes([TCP_END, 0]), bytes([TCP_END, 0x80])


def be16(at, value):
    return [(at, value >> 8), (at + 1, value & 255)]


def be32(at, value):
    return be16(at, value >> 16) + be16(at + 2, value & 0xffff)


# the fuzzer is the client: what the server hears
hello = open_ + clc(PROPOSAL) + wait()
confirmed = hello + clc(CONFIRM) + wait()
first = confirmed + answer + answer + wait()
# the fuzzer is the server: what the client hears
asked = open_ + wait()
accepted = asked + clc(ACCEPT | FLAG) + wait()

CLC_SCENARIOS = {
    'server_first_contact': b'\0' + first + write() + app(RECV),
    'server_ipv6': bytes([IPV6]) + first,
    'server_in_single_bytes': bytes([CHUNKS]) + first,
    'server_half_a_proposal': b'\0' + open_ + clc(PROPOSAL | HALF) + wait(S5),
    'server_silence': b'\0' + open_ + wait(S5),
    'server_proposal_type': b'\0' + open_ + clc(PROPOSAL, (4, 3)) + wait(),
    'server_proposal_eye': b'\0' + open_ + clc(PROPOSAL, (0, 0)) + wait(),
    'server_proposal_trailer': b'\0' + open_ + clc(PROPOSAL, (51, 0)) + wait(),
    'server_proposal_length': b'\0' + open_ + clc(PROPOSAL, *be16(5, 0xffff)) + wait(),
    'server_proposal_short': b'\0' + open_ + clc(PROPOSAL, *be16(5, 11)) + wait(),
    'server_proposal_offset': b'\0' + open_ + clc(PROPOSAL, *be16(38, 0xfff0)) + wait(),
    'server_proposal_prefixes': b'\0' + open_ + clc(PROPOSAL, (47, 9)) + wait(),
    'server_proposal_version_2': b'\0' + open_ + clc(PROPOSAL, (7, 0x20)) + wait(),
    'server_proposal_subnet': b'\0' + open_ + clc(PROPOSAL, (40, 172)) + wait(),
    'server_proposal_mask_33': b'\0' + open_ + clc(PROPOSAL, (44, 33)) + wait(),
    'server_proposal_twice': b'\0' + hello + clc(PROPOSAL) + wait(),
    'server_declined': b'\0' + hello + clc(DECLINE) + tcp(b'and now plain bytes') + wait(),
    'server_declined_out_of_sync': b'\0' + hello + clc(DECLINE | FLAG) + wait(),
    'server_declined_late': b'\0' + first + clc(DECLINE) + wait(),
    'server_declined_in_llc': b'\0' + confirmed + clc(DECLINE) + wait(),
    'server_fin': b'\0' + hello + fin + wait(),
    'server_rst': b'\0' + confirmed + rst + wait(),
    'server_confirm_qpn_0': b'\0' + hello + clc(CONFIRM, (38, 0), (39, 0), (40, 0)) + wait(),
    'server_confirm_index_0': b'\0' + hello + clc(CONFIRM, (45, 0)) + wait(),
    'server_confirm_bsize': b'\0' + hello + clc(CONFIRM, (50, 0x63)) + wait(),
    'server_confirm_mtu': b'\0' + hello + clc(CONFIRM, (50, 0x06)) + wait(),
    'server_confirm_peer_id': b'\0' + hello + clc(CONFIRM, (8, 1)) + wait(),
    'server_confirm_never': b'\0' + hello + wait(S5),
    'server_confirm_link_never_answered': b'\0' + confirmed + wait(S5),
    'server_no_memory': b'\0' + open_ + bytes([FAIL, 3]) + clc(PROPOSAL) + wait() + clc(CONFIRM) + answer,
    'server_second_connection': b'\0' + first + open_ + clc(PROPOSAL, conn=1) + wait()
    + clc(CONFIRM, conn=1) + wait() + write(conn=1),
    'server_two_first_contacts': b'\0' + open_ + open_ + clc(PROPOSAL) + clc(PROPOSAL, conn=1) + wait()
    + clc(CONFIRM) + wait() + answer + answer + clc(CONFIRM, conn=1) + wait(),
    'server_flood': b'\0' + b''.join(open_ + clc(PROPOSAL, conn=i) for i in range(6)) + wait(S5),
    'client_first_contact': bytes([SERVER]) + accepted + llc(CONFIRM_LINK) + wait() + llc(ADD_LINK) + wait(),
    'client_first_contact_two_links': bytes([SERVER | TWO, CONTACT, 1]) + write() + app(RECV),
    'client_silence': bytes([SERVER]) + asked + wait(S5),
    'client_no_confirm_link': bytes([SERVER]) + accepted + wait(S5),
    'client_no_add_link': bytes([SERVER]) + accepted + llc(CONFIRM_LINK) + wait(S5),
    'client_subsequent_unknown': bytes([SERVER]) + asked + clc(ACCEPT) + wait(),
    'client_accept_eye': bytes([SERVER]) + asked + clc(ACCEPT | FLAG, (3, 0)) + wait(),
    'client_accept_length': bytes([SERVER]) + asked + clc(ACCEPT | FLAG, (6, 67)) + wait(),
    'client_accept_mtu_0': bytes([SERVER]) + asked + clc(ACCEPT | FLAG, (50, 0)) + wait(),
    'client_accept_rkey_0': bytes([SERVER]) + asked + clc(ACCEPT | FLAG, *be32(41, 0)) + wait(),
    'client_accept_gid': bytes([SERVER]) + asked + clc(ACCEPT | FLAG, (31, 77)) + wait(),
    'client_accept_half': bytes([SERVER]) + asked + clc(ACCEPT | FLAG | HALF) + wait(S5),
    'client_confirm_instead': bytes([SERVER]) + asked + clc(CONFIRM) + wait(),
    'client_declined': bytes([SERVER]) + asked + clc(DECLINE) + tcp(b'plain') + wait(),
    'client_declined_in_llc': bytes([SERVER]) + accepted + clc(DECLINE) + wait(),
    'client_wrong_confirm_link': bytes([SERVER]) + accepted + llc(CONFIRM_LINK, (28, 1)) + wait(),
    'client_no_memory': bytes([SERVER]) + asked + bytes([FAIL, 2]) + clc(ACCEPT | FLAG) + wait(),
    'client_leaves': bytes([SERVER]) + asked + app(CLOSE) + clc(ACCEPT | FLAG) + wait(),
    'client_in_single_bytes': bytes([SERVER | CHUNKS]) + accepted + llc(CONFIRM_LINK) + wait(),
    'raw_bytes': b'\0' + open_ + tcp(b'GET / HTTP/1.1\r\n\r\n') + wait(),
}

both = [('server', 0), ('client', SERVER)]
LLC_SCENARIOS = {}
for who, role in both:
    LLC_SCENARIOS.update({
        who + '_test_link': bytes([role]) + llc(TEST_LINK, (4, 9)) + wait(),
        who + '_test_link_answer_unasked': bytes([role]) + llc(TEST_LINK | R) + wait(),
        who + '_test_link_answered_wrongly': bytes([role]) + wait(35) + llc(TEST_LINK | R, (4, 9)) + wait(),
        who + '_type_5': bytes([role]) + llc(TEST_LINK, (0, 5)) + wait(),
        who + '_type_optional': bytes([role]) + llc(TEST_LINK, (0, 0x8a)) + wait(),
        who + '_type_unknown': bytes([role | TWO]) + llc(TEST_LINK, (0, 0x0a)) + wait(),
        who + '_type_cdc_class': bytes([role | TWO]) + llc(TEST_LINK, (0, 0xc1)) + wait(),
        who + '_length_43': bytes([role | TWO]) + raw(bytes([7, 44]) + bytes(41)) + wait(),
        who + '_length_45': bytes([role | TWO]) + raw(bytes([7, 44]) + bytes(43)) + wait(),
        who + '_length_0': bytes([role | TWO]) + raw(b'') + wait(),
        who + '_length_field': bytes([role | TWO]) + llc(TEST_LINK, (1, 43)) + wait(),
        who + '_confirm_link_again': bytes([role | TWO]) + llc(CONFIRM_LINK) + wait() + llc(CONFIRM_LINK | R),
        who + '_add_link': bytes([role | TWO]) + llc(ADD_LINK) + wait() + llc(CONT) + wait() + llc(CONFIRM_LINK),
        who + '_add_link_new': bytes([role]) + llc(ADD_LINK | 0x10, (15, 9), (25, 9)) + wait() + llc(CONT) + wait(S5),
        who + '_add_link_mtu_0': bytes([role]) + llc(ADD_LINK | 0x10, (30, 0)) + wait(),
        who + '_add_link_answer_unasked': bytes([role]) + llc(ADD_LINK | R) + wait(),
        who + '_cont_unasked': bytes([role]) + llc(CONT) + llc(CONT | R) + wait(),
        who + '_delete_link': bytes([role | TWO]) + write() + llc(DELETE_LINK) + wait() + answer + wait(S5),
        who + '_delete_link_last': bytes([role]) + llc(DELETE_LINK) + answer + wait(S5),
        who + '_delete_link_all': bytes([role | TWO]) + llc(DELETE_LINK, (3, 0x40), (4, 0)) + wait(S5),
        who + '_delete_link_unknown': bytes([role | TWO]) + llc(DELETE_LINK, (4, 99)) + wait(),
        who + '_delete_link_answer_unasked': bytes([role | TWO]) + llc(DELETE_LINK | R) + wait(),
        who + '_confirm_rkey': bytes([role | TWO]) + llc(CONFIRM_RKEY) + wait(),
        who + '_confirm_rkey_lacks_a_link': bytes([role | TWO]) + llc(CONFIRM_RKEY, (4, 0)) + wait(),
        who + '_confirm_rkey_continued': bytes([role | TWO]) + llc(CONFIRM_RKEY, (4, 5))
        + llc(RKEY_CONT, (4, 3)) + wait(),
        who + '_confirm_rkey_200_links': bytes([role | TWO]) + llc(CONFIRM_RKEY, (4, 200)) + llc(RKEY_CONT, (4, 198)),
        who + '_confirm_rkey_flood': bytes([role]) + b''.join(llc(CONFIRM_RKEY, (5, i)) for i in range(50)) + wait(),
        who + '_rkey_cont_unasked': bytes([role]) + llc(RKEY_CONT) + llc(RKEY_CONT | R) + wait(),
        who + '_delete_rkey': bytes([role | TWO]) + llc(CONFIRM_RKEY) + wait() + llc(DELETE_RKEY, *be32(8, 0x77770004)),
        who + '_delete_rkey_in_use': bytes([role]) + app(SEND) + llc(DELETE_RKEY) + wait() + app(SEND) + wait(),
        who + '_delete_rkey_unknown': bytes([role]) + llc(DELETE_RKEY, (8, 0xee), (4, 8)) + wait(),
        who + '_delete_rkey_count_255': bytes([role]) + llc(DELETE_RKEY, (4, 255)) + wait(),
        who + '_link_dies': bytes([role | TWO]) + app(SEND, 9000) + bytes([BREAK, 0]) + app(SEND) + wait(S5),
        who + '_last_link_dies': bytes([role]) + app(SEND, 9000) + bytes([BREAK, 0]) + app(SEND) + wait(S5),
        who + '_port_dies_and_returns': bytes([role | TWO, PORT, 16]) + app(SEND, 9000) + wait(31) + bytes([PORT, 8])
        + wait(35) + bytes([ANSWER, 1]) * 2 + wait(35),
        who + '_retires': bytes([role | TWO, RETIRE, 0]) + app(CLOSE) + wait(S5),
        who + '_new_rmb': bytes([role | TWO | SECOND]) + open_ + wait() + clc(ACCEPT, conn=2) + wait() + answer,
        who + '_shifted': bytes([role | SHIFTED]) + llc(ADD_LINK | 0x10) + wait(),
    })

CDC_SCENARIOS = {}
for who, role in both:
    CDC_SCENARIOS.update({
        who + '_data': bytes([role]) + (write() + wait() + app(RECV)) * 4,
        who + '_data_on_two_links': bytes([role | TWO]) + (write(0) + write(1) + wait() + app(RECV)) * 4,
        who + '_full_window': bytes([role]) + write(0, 4096) * 4 + wait() + app(RECV, 16380) + wait(),
        who + '_beyond_the_window': bytes([role]) + write(0, 4096) * 5 + wait(),
        who + '_cursor_0': bytes([role]) + cdc(*be32(12, 0)) + wait(),
        who + '_cursor_3': bytes([role]) + cdc(*be32(12, 3)) + wait(),
        who + '_cursor_at_size': bytes([role]) + cdc(*be32(12, 16384)) + wait(),
        who + '_cursor_huge': bytes([role]) + cdc(*be32(12, 0xffffffff)) + wait(),
        who + '_producer_wrap': bytes([role]) + cdc((11, 2)) + wait(),
        who + '_producer_wrap_back': bytes([role]) + cdc(*be16(10, 0xffff)) + wait(),
        who + '_consumer_ahead': bytes([role]) + app(SEND, 100) + cdc(*be32(20, 4000)) + wait(),
        who + '_consumer_wrap': bytes([role]) + cdc((19, 1)) + wait(),
        who + '_consumer_0': bytes([role]) + cdc(*be32(20, 0)) + wait(),
        who + '_token_unknown': bytes([role]) + cdc((4, 0xff)) + wait(),
        who + '_token_0': bytes([role]) + cdc(*be32(4, 0)) + wait(),
        who + '_seq_old': bytes([role]) + cdc() + cdc((3, 1)) + cdc((3, 0)) + cdc(*be16(2, 0xffff)) + wait(),
        who + '_seq_far_ahead': bytes([role]) + cdc(*be16(2, 0x7000)) + cdc() + wait(),
        who + '_validation_ok': bytes([role]) + write() + cdc((24, 8), (3, 1)) + wait(),
        who + '_validation_of_lost': bytes([role]) + cdc((24, 8), (3, 9)) + wait(),
        who + '_blocked': bytes([role]) + write() + cdc((24, 0x80)) + wait() + app(RECV, 1) + wait() + app(RECV, 10),
        who + '_update_requested': bytes([role]) + write() + cdc((24, 0x10)) + wait() + app(RECV, 1) + wait(28),
        who + '_urgent_announced': bytes([role]) + cdc((24, 0x40)) + wait() + app(RECV | 2 << 3, 1),
        who + '_urgent': bytes([role]) + write() + cdc((24, 0x60)) + wait() + app(RECV | 2 << 3, 1)
        + app(MARK) + app(RECV),
        who + '_urgent_inline': bytes([role]) + app(INLINE | 8) + write() + cdc((24, 0x60)) + wait() + app(RECV) * 3,
        who + '_urgent_of_nothing': bytes([role]) + cdc((24, 0x60)) + wait() + app(RECV) + app(RECV | 2 << 3),
        who + '_urgent_sent': bytes([role]) + app(SEND | URGENT, 10) + wait() + app(SEND, 100) + wait()
        + cdc(*be32(20, 14)) + wait(),
        who + '_done': bytes([role]) + write() + cdc((25, 0x80)) + wait() + app(RECV, 9000) + app(SHUT)
        + wait() + app(CLOSE),
        who + '_closed': bytes([role]) + cdc((25, 0x40)) + wait() + app(RECV) + app(CLOSE) + wait(),
        who + '_closed_while_we_write': bytes([role]) + app(SEND, 60000) + cdc((25, 0x40)) + wait(),
        who + '_closed_twice': bytes([role]) + cdc((25, 0x40)) + cdc((25, 0x40)) + wait() + app(CLOSE) + wait(),
        who + '_aborted': bytes([role]) + write() + cdc((25, 0x20)) + wait() + app(RECV),
        who + '_abort_of_ours': bytes([role]) + app(ABORT) + wait() + cdc((25, 0x20)) + wait(),
        who + '_every_flag': bytes([role]) + cdc((24, 0xff), (25, 0xff)) + wait(),
        who + '_after_close': bytes([role]) + app(CLOSE) + wait() + cdc() + write() + wait() + cdc((25, 0x40)) + wait(),
        who + '_close_unread': bytes([role]) + write() + wait() + app(CLOSE) + wait(S5),
        who + '_close_never_answered': bytes([role]) + app(CLOSE) + wait(36),
        who + '_eye_catcher_overwritten': bytes([role]) + bytes([WRITE, 0, 0x80, 0, 8]) + write() + wait() + app(RECV),
        who + '_rst': bytes([role]) + write() + rst + wait(),
        who + '_fin_without_close': bytes([role]) + write() + fin + wait(S5),
        who + '_bytes_on_tcp': bytes([role]) + tcp(b'x') + wait(),
        who + '_keepalive': bytes([role]) + app(KEEPALIVE, 500) + wait(32),
        who + '_long': bytes([role]) + raw(bytes([0xfe, 45]) + bytes(43)) + wait(),
        who + '_short': bytes([role]) + raw(bytes([0xfe, 44])) + wait(),
        who + '_other_connection': bytes([role | SECOND]) + write() + write(0, 500, 1) + wait()
        + app(RECV, conn=1) + wait(),
        who + '_failover_under_load': bytes([role | TWO]) + app(SEND, 60000) + bytes([BREAK, 0]) + write(1) + wait(S5)
        + app(RECV) + cdc(link=1) + wait(),
    })


def main():
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../corpus')
    for kind, scenarios in (('clc', CLC_SCENARIOS), ('llc', LLC_SCENARIOS), ('cdc', CDC_SCENARIOS)):
        os.makedirs(os.path.join(here, kind), exist_ok=True)
        for name, data in scenarios.items():
            with open(os.path.join(here, kind, name), 'wb') as f:
                f.write(data)


main()
