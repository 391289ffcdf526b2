#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""explain_edited.py NORNIC: captures of real peers, edited in ways whose meaning is known by the edit, and what `nornic
explain` says of them. What stands in the edited packets tshark reads, which shares no code.

Prints "ok NAME", "not ok NAME: ..." or "skip NAME: why" for each way."""
import ipaddress, itertools, json, os, re, shutil, struct, subprocess, sys, tempfile
from decimal import Decimal

from captures import moved, records, write

NORNIC = sys.argv[1]
# each guess of tshark about what RoCE carries, but for SMC-R's
ONLY_SMC = ('--disable-protocol', 'rpcordma', '--disable-heuristic', 'mellanox_eoib',
            '--disable-heuristic', 'eth_over_ib')
IP, TCP = 14, 6
LLC = 54  # where a message begins in a SEND only over IPv4
OPTION = b'\xfe\x06\xe2\xd4\xc3\xd9'
GIDS = ('10.0.0.9', '2001:db8::7', '10.77.0.250')
# IBA table 38; what is sent again keeps its operation
NAMES = {0x00: 'SEND first', 0x01: 'SEND middle', 0x02: 'SEND last', 0x03: 'SEND with immediate last',
         0x04: 'SEND only', 0x05: 'SEND with immediate only', 0x06: 'RDMA WRITE first', 0x07: 'RDMA WRITE middle',
         0x08: 'RDMA WRITE last', 0x09: 'RDMA WRITE with immediate last', 0x0a: 'RDMA WRITE only',
         0x0b: 'RDMA WRITE with immediate only', 0x0c: 'RDMA READ request', 0x13: 'RC CMP_SWAP', 0x14: 'RC FETCH_ADD',
         0x16: 'SEND with invalidate last', 0x17: 'SEND with invalidate only'}
# RFC 7609, DELETE LINK
REASONS = {0x00010000: 'lost path', 0x00020000: 'operator', 0x00030000: 'link inactivity',
           0x00040000: 'LLC protocol violation', 0x00050000: 'asymmetric link no longer needed',
           0x00100000: 'unknown link'}


class Fault(Exception):
    pass


def need(condition, what):
    if not condition:
        raise Fault(what)


def explain(*args):
    run = subprocess.run([NORNIC, 'explain', *args], capture_output=True, text=True, timeout=60)
    need(run.returncode == 0 and not run.stderr, f'explain {args[:-1]}: exit status {run.returncode}, {run.stderr}')
    return run.stdout


def packets_of(path):
    """By number, what --json says."""
    objects = [json.loads(line) for line in explain('--all', '--json', path).splitlines()]
    return {o['n']: o for o in objects if 'layers' in o}, objects


def tshark(path, *fields):
    """Of each packet a tuple with the texts of these fields."""
    command = ['tshark', '-n', '-r', path, *ONLY_SMC, '-T', 'fields', '-E', 'occurrence=a']
    for field in fields:
        command += ['-e', field]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return [tuple(line.split('\t')) for line in run.stdout.split('\n')[:-1]]


def pcap(name):
    return records(f'pcaps/{name}.pcap')


def is_tcp(frame):
    return frame[12:14] == b'\x08\x00' and frame[IP + 9] == TCP


# --- the ways ---

def records_change_places(scratch):
    """Times are those since the first record, also of what was captured before it."""
    count = 0
    for name in ('rc_mix', 'smc_first', 'cm_rping', 'lossy_all'):
        path, packets = os.path.join(scratch, 'swapped.pcap'), pcap(name)
        for at in range(0, len(packets) - 3, 3):  # the first three begin with the last of them
            packets[at], packets[at + 2] = packets[at + 2], packets[at]
        write(path, packets)
        wanted = [Decimal(t) for t, in tshark(path, 'frame.time_relative')]
        need(wanted[2] < 0, f'{name}: no time is before the first')
        for option in ('--all', '--ladder'):
            lines = re.findall(r'^ *(\d+) +(-?\d+\.\d{6}) ', explain(option, path), re.M)
            told = {int(n): Decimal(t) for n, t in lines}
            need(len(told) > len(packets) / 2, f'{name} {option}: {len(told)} lines')
            for n, t in told.items():
                need(t == wanted[n - 1], f'{name} {option} #{n}: {t} s, tshark has {wanted[n - 1]}')
            count += len(told)
    return count


def what_is_sent_again(scratch):
    """All requests of one end, without any answer, and 67 ms later all again: each copy has the name, the message and
    the piece of the first."""
    count, seen = 0, set()
    path = os.path.join(scratch, 'again.pcap')
    for name in ('rc_mix', 'rc_sendinv', 'rc_atomic', 'rc_send_1024', 'rc_write_1024', 'rc_read_1024'):
        packets = pcap(name)
        for sender in sorted({frame[26:30] for _, _, frame in packets}):
            once = [p for p in packets if p[2][26:30] == sender and not 0x0d <= p[2][42] <= 0x12]
            if not once:
                continue
            ident = max(int.from_bytes(frame[18:20], 'big') for _, _, frame in once) + 1
            end_ns = once[-1][0] + 67_000_000
            again = [(end_ns + 1000 * k, wire, moved(frame, 0, 0, ident + k))
                     for k, (_, wire, frame) in enumerate(once)]
            write(path, once + again)
            codes, (told, _) = [int(c, 0) for c, in tshark(path, 'infiniband.bth.opcode')], packets_of(path)
            for n in range(1, len(once) + 1):
                first, copy = told[n], told[n + len(once)]
                where = f'{name} #{n + len(once)}: "{copy["words"]}"'
                operation, mine, its = NAMES[codes[n - 1]], copy['message'], first['message']
                need(re.match(operation + r'\b', copy['words']), f'{where}, a {operation}')
                need(f'(before: #{n};' in copy['words'], f'{where}: sent again behind #{n}')
                for key in ('number', 'piece', 'bytes_done'):
                    need(mine[key] == its[key], f'{where}: {key} of #{n} is {its[key]}')
                seen.add(codes[n - 1])
            count += len(once)
    need(seen == set(NAMES), f'no packets with the opcodes {sorted(set(NAMES) - seen)}')
    return count


def groups_from_the_middle(scratch):
    """Without the handshakes no group is known; what stands in a message is told all the same: of DELETE LINK,
    CONFIRM LINK and CDC here, as tshark 4.0 knows ADD LINK only as Linux lays it out, and no LLC of version 2."""
    count, path = 0, os.path.join(scratch, 'middle.pcap')
    for name in ('smcr_failover', 'smcr_echo', 'smc_first', 'smc2_down', 'smc_abort'):
        packets = [p for p in pcap(name) if not is_tcp(p[2])]
        write(path, packets)
        fields = tshark(path, 'smc.llc_msg', 'smc.delete.link.number', 'smc.delete.link.all',
                        'smc.delete.link.reason.code', 'smc.delete.link.response', 'smc.confirm.link.number',
                        'smc.confirm.link.sender.qp.number', 'smc.rmbe.ctrl.alert.token', 'smc.rmbe.ctrl.seqno',
                        'smc.rmbe.ctrl.failover.validation')
        told, _ = packets_of(path)
        for n, (kind, link, is_all, reason, response, confirmed, qp, token, seq, moves) in enumerate(fields, 1):
            if not kind:
                continue
            words, wanted = told[n]['words'], []
            if link:
                wanted += ['DELETE LINK', 'all links' if is_all == '1' else rf'link {int(link, 0)}\b']
                wanted += [] if response == '1' else [REASONS[int(reason, 0)]]
            elif confirmed:
                wanted += ['CONFIRM LINK', rf'link {int(confirmed, 0)}\b', f'QP 0x{int(qp, 0):06x}']
            elif token:
                wanted += [f'token 0x{int(token, 0):08x}',
                           'failover validation' if moves == '1' else rf'CDC {int(seq, 0)}\b']
            for pattern in wanted:
                need(re.search(pattern, words), f'{name} #{n}: "{words}" lacks {pattern}')
            count += bool(wanted)
    return count


def messages_that_no_capture_has(scratch):
    """A DELETE LINK with each reason, of one link and of all, and a request for links with several GIDs (laid out as
    Linux does, struct smc_llc_msg_req_add_link_v2; tshark 4.0 reads none), in the place of messages of a group that is
    not known."""
    path = os.path.join(scratch, 'message.pcap')
    v1 = next(p for p in pcap('smcr_failover') if p[2][42] == 4 and p[2][LLC] == 0x04)
    v2 = next(p for p in pcap('smc2_down') if p[2][42] == 4 and p[2][LLC] == 0x22)
    edited = []
    for k, (reason, is_all, is_orderly) in enumerate(itertools.product(REASONS, (0, 1), (0, 1))):
        frame = bytearray(v1[2])
        frame[LLC + 3] = is_all << 6 | is_orderly << 5
        frame[LLC + 5:LLC + 9] = struct.pack('>I', reason)
        edited.append((v1[0] + 1000 * k, v1[1], moved(bytes(frame), k, 0)))
    write(path, edited)
    told, _ = packets_of(path)
    fields = tshark(path, 'smc.delete.link.number', 'smc.delete.link.all', 'smc.delete.link.orderly',
                    'smc.delete.link.reason.code')
    for n, (link, is_all, is_orderly, reason) in enumerate(fields, 1):
        for pattern in ('all links' if is_all == '1' else rf'link {int(link, 0)}\b',
                        'orderly' if is_orderly == '1' else 'at once', REASONS[int(reason, 0)]):
            need(re.search(pattern, told[n]['words']), f'#{n}: "{told[n]["words"]}" lacks {pattern}')
    gids = b''.join(g.packed if g.version == 6 else bytes(10) + b'\xff\xff' + g.packed
                    for g in map(ipaddress.ip_address, GIDS))
    message = struct.pack('>BHx20xB3x', 0x25, 28 + len(gids), len(GIDS)) + gids
    frame = bytearray(v2[2][:LLC] + message + bytes(4))
    for at, begin in ((IP + 2, IP), (IP + 24, IP + 20)):  # the lengths of IP and UDP
        frame[at:at + 2] = struct.pack('>H', len(frame) - begin)
    write(path, [(v2[0], len(frame), moved(bytes(frame), 0, 0, 1))])
    told = packets_of(path)[0][1]['words']
    for gid in GIDS:
        need(gid in told, f'"{told}" lacks {gid}')
    return len(fields) + len(GIDS)


def what_readers_free(_):
    """A CDC message of a reader is about the bytes that it has read, and what is left of the other's: here from the
    cursors alone, and the size that Accept and Confirm give (RFC 7609: 16 KiB times 2^n, of which four are the eye
    catcher, so that cursors begin at 4)."""
    count = 0
    for name in ('smcr_echo', 'smcr_failover'):
        path = f'pcaps/{name}.pcap'
        kinds = ('smc.accept.server.rmb.element.alert.token', 'smc.client.rmb.element.alert.token',
                 'smc.accept.rmb.buffer.size', 'smc.confirm.rmb.buffer.size')
        room = {int(accept_token or confirm_token, 0): (16384 << int(accept_size or confirm_size)) - 4
                for accept_token, confirm_token, accept_size, confirm_size in tshark(path, *kinds)
                if accept_token or confirm_token}  # of the buffer of whoever made the token
        told, _ = packets_of(path)
        at = {}  # by token: bytes produced and consumed by the one that names it
        for n, (_, _, frame) in enumerate(pcap(name), 1):
            if is_tcp(frame) or frame[42] != 4 or frame[LLC] != 0xfe or frame[LLC + 28] & 0x08:  # or a validation
                continue
            token, wraps, cursor, reads, read_at = struct.unpack_from('>I2xHI2xHI', frame, LLC + 4)
            own, = (r for t, r in room.items() if t != token)  # the token is the other end's
            newest = [wraps * room[token] + cursor - 4, reads * own + read_at - 4]
            before, at[token] = at.get(token, [0, 0]), newest
            freed, written = newest[1] - before[1], newest[0] - before[0]
            writer = next((a for t, a in at.items() if t != token), [0, 0])
            if freed > 0 and not written:
                wanted = f'{writer[0] - newest[1]} of {own} bytes unread, {freed} freed'
                need(wanted in told[n]['words'], f'{name} #{n}: "{told[n]["words"]}", not {wanted}')
                count += 1
    need(count > 10, f'only {count} messages of readers')
    return count


def servers_that_do_not_answer(scratch):
    """Without the option in its SYN-ACK a server has not answered the offer: plain TCP follows, whatever comes."""
    count, path = 0, os.path.join(scratch, 'tcp.pcap')
    for name, is_taken_out in itertools.product(('smc_first', 'smcfb_eid', 'smc2_down'), (True, False)):
        packets = []
        for ns, wire, frame in pcap(name):
            if not is_tcp(frame) or not frame[IP + 20 + 13] & 2:
                continue
            if is_taken_out and frame[IP + 20 + 13] & 0x10:
                frame = frame.replace(OPTION, b'\x01' * len(OPTION))
            packets.append((ns, wire, frame))
        write(path, packets)
        told, objects = packets_of(path)
        answers = 0
        for n, (ack, option) in enumerate(tshark(path, 'tcp.flags.ack', 'tcp.options.experimental.exid'), 1):
            if ack not in ('1', 'True'):
                need('offers SMC-R' in told[n]['words'], f'{name} #{n}: "{told[n]["words"]}" for an offer')
                continue
            answers += 1
            wanted = 'the server speaks SMC-R too' if option else 'the server does not speak SMC-R: plain TCP'
            need(wanted in told[n]['words'], f'{name} #{n}: "{told[n]["words"]}", not "{wanted}"')
            rules = [r['rule'] for r in told[n]['remarks']]
            need(rules == ([] if option else ['SMCR-REN-05']), f'{name} #{n}: rules {rules}')
        story = ' '.join(next(o['story'] for o in objects if 'story' in o))
        need(answers and ('plain TCP' in story) == is_taken_out, f'{name}: {answers} answers; the story is "{story}"')
        count += answers
    return count


def nothing_in_it(scratch):
    """A capture without a packet, and one whose packets are all left out, in every form: no error."""
    empty, none = os.path.join(scratch, 'empty.pcap'), os.path.join(scratch, 'none.pcap')
    write(empty, [])
    write(none, [p for p in pcap('smcfb_eid') if is_tcp(p[2]) and p[2][IP + 20 + 13] == 0x10])
    forms = {(): '0 flows', ('-v',): '0 flows', ('--ladder',): '0 flows', ('--json',): '"story":[',
             ('--csv', 'flows'): 'flow,', ('--csv', 'operations'): 'flow,', ('--html', '-'): '</html>'}
    for path, (form, wanted) in itertools.product((empty, none), forms.items()):
        out = explain(*form, path)
        need(wanted in out, f'{os.path.basename(path)} {form}: no "{wanted}" in: {out[-300:]}')
    return 2 * len(forms)


WAYS = [records_change_places, what_is_sent_again, groups_from_the_middle, messages_that_no_capture_has,
        what_readers_free, servers_that_do_not_answer, nothing_in_it]


def main():
    status = 0
    for way in WAYS:
        if way is not nothing_in_it and not shutil.which('tshark'):
            print(f'skip {way.__name__}: tshark is not installed')
            continue
        with tempfile.TemporaryDirectory() as scratch:
            try:
                print(f'# {way.__name__}: {way(scratch)} compared\nok {way.__name__}')
            except Fault as fault:
                status = 1
                print(f'not ok {way.__name__}: {" ".join(str(fault).split())}')
    return status


sys.exit(main())
