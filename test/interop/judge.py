# SPDX-License-Identifier: BSD-2-Clause
"""What a capture of a case must hold. Each function says what is wrong with it, or ''."""
import functools, json, re, subprocess, zlib
import payload
from lab import GUEST, HOST, NORNIC
from payload import nornic_data, ping_text

@functools.lru_cache(maxsize=None)
def guesses():
    """What tshark takes payloads for, by their first bytes, and then calls malformed: RoCE up to its payload is what
    counts."""
    def report(name):
        out = subprocess.run(['tshark', '-G', name], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                             timeout=60, check=True).stdout
        return [line.split('\t') for line in out.splitlines()]
    by_type = {row[2] for row in report('decodes') if row[0] == 'ethertype'}
    by_look = {row[1] for row in report('heuristic-decodes') if row[0].startswith('infiniband.')}
    return sorted((by_type | by_look) - {'eth', 'ethertype', 'ip', 'ipv6', 'infiniband'})


def nornic_verifies(capture, log):
    with open(log, 'a') as out:
        verify = subprocess.run([NORNIC, 'verify', capture], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                timeout=60)
    return '`nornic verify` ended with %d' % verify.returncode if verify.returncode else ''


def tshark_reads(capture):
    tshark = ['tshark', '-r', capture, '-Y', '_ws.malformed', '-T', 'fields', '-e', 'frame.number']
    for guess in guesses():
        tshark += ['--disable-protocol', guess]
    bad = subprocess.run(tshark, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    if bad.returncode or bad.stdout.strip():
        return 'tshark ended with %d, malformed frames: %s' % (bad.returncode, bad.stdout.split())
    return ''


def echoes(case, capture, _log):
    """A ping-pong over one queue pair: the server sends back what the client sent."""
    sent = payload.messages(capture, HOST.values())
    guest, host = sent.get(GUEST[case.family], []), sent.get(HOST[case.family], [])
    if len(guest) != case.iterations or len(host) != case.iterations:
        return 'the capture has %d messages of the guest and %d of nornic, not %d of each' % (
            len(guest), len(host), case.iterations)
    if any(len(m) != case.size for m in guest + host):
        return 'a message in the capture is not %d bytes long' % case.size
    # the buffer of the stock client receives what it sends next
    echo, original = (guest, host) if case.way == 'guest-serves' else (guest[1:], host[:-1])
    if echo != original:
        first = [a == b for a, b in zip(echo, original)].index(False)
        return 'message %d comes back from the guest changed' % first
    return ''


def srq_echoes(case, capture, _log):
    """A ping-pong over several queue pairs: nornic's messages are those that it makes, or echoes of the guest's, which
    are zero. The guest has one buffer for all queue pairs: each word of its answers is that of some message of ours."""
    sent = payload.sends(capture, HOST.values())
    guest = [v for (source, _), v in sorted(sent.items()) if source == GUEST[case.family]]
    host = [v for (source, _), v in sorted(sent.items()) if source == HOST[case.family]]
    count = [sum(map(len, side)) for side in (guest, host)]
    if len(host) != min(case.pairs, case.iterations) or count[0] < case.iterations or count[1] != case.iterations:
        return '%d messages of the guest on %d queue pairs, %d of nornic on %d' % (
            count[0], len(guest), count[1], len(host))
    if any(len(m) != case.size for side in guest + host for m in side):
        return 'a message in the capture is not %d bytes long' % case.size
    if case.way == 'nornic-serves' or case.check:
        return 'a message holds more than zeros' if any(any(m) for side in guest + host for m in side) else ''
    for pair, messages in enumerate(host):   # QPNs rise with the number of the pair
        for n, m in enumerate(messages):
            if m != nornic_data(pair << 32 | n, case.size):
                return 'message %d of queue pair %d is not what nornic makes' % (n, pair)
    ours = [m for messages in host for m in messages]
    for at in range(0, case.size, 8):
        words = {m[at:at + 8] for m in ours}
        if any(m[at:at + 8] not in words for messages in guest for m in messages):
            return 'an answer holds at byte %d what nornic never sent' % at
    return ''


REQ, REP, RTU, DREQ, DREP, SIDR_REQ, SIDR_REP = 0x10, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18


def ends(case):
    """The addresses of client and server."""
    guest, host = GUEST[case.family], HOST[case.family]
    return (host, guest) if case.way == 'guest-serves' else (guest, host)


def handshake(case, capture):
    """The connection manager's messages, each as often as there are connections; repeats do not count."""
    said = payload.cm_messages(capture)
    client, server = (said[end] for end in ends(case))
    if case.program == 'udaddy':
        wanted = [(client, SIDR_REQ), (server, SIDR_REP)]
    else:
        wanted = [(client, REQ), (server, REP), (client, RTU), (client + server, DREQ), (client + server, DREP)]
        if case.weather:
            wanted.pop()   # it may be lost before the capture sees it, and nornic does not stay to say it again
    for end, attribute in wanted:
        if end[attribute] < case.pairs:
            return 'the capture has %d CM messages 0x%x for %d connections' % (end[attribute], attribute, case.pairs)
    return ''


def pings(case, capture, log):
    """The server READs the client's text and WRITEs it back."""
    client, server = ends(case)
    read = payload.read_data(capture)[client]
    written = payload.writes(capture)[server]
    text = [ping_text(n, case.size) for n in range(case.iterations)]
    for what, got in ('read', read), ('written', written):
        if got != text:
            wrong = [a == b for a, b in zip(got, text)] + [False]
            return 'the text of round %d is not %s; there are %d rounds' % (wrong.index(False), what, len(got))
    return report_says(log, case.iterations, sum(map(zlib.crc32, text)), verified=case.iterations)


def report_says(log, messages, crc_sum, verified=None):
    with open(log, errors='replace') as f:
        reports = [json.loads(line) for line in f if line.startswith('{"role"')]
    if not reports:
        return ''   # it was left: run_programs() lets no other failure pass
    report = reports[-1]
    if report['received_messages'] != messages or report['received_crc32_sum'] != crc_sum & 0xffffffff:
        return 'nornic received other messages than the capture has: %s' % report
    if verified is not None and report['verified_messages'] != verified:
        return 'nornic verified %d messages' % report['verified_messages']
    return ''


def exchange(case, capture, log):
    """Messages both ways over each connection: nornic's are those that it makes; it received what the guest sent."""
    sent = payload.sends(capture, HOST.values())
    guest, host = ([v for (source, _), v in sent.items() if source == end[case.family]] for end in (GUEST, HOST))
    if case.iterations and [len(side) for side in (guest, host)] != [case.pairs, case.pairs]:
        return 'messages went to %d queue pairs of nornic and %d of the guest' % (len(guest), len(host))
    if any(len(v) != case.iterations for v in guest + host):
        return 'not %d messages over each connection' % case.iterations
    if any(len(m) != case.size for v in guest + host for m in v):
        return 'a message in the capture is not %d bytes long' % case.size
    direction = (case.way == 'nornic-serves') << 63
    made = sorted([nornic_data(direction | c << 32 | n, case.size) for n in range(case.iterations)]
                  for c in range(case.pairs)) if case.iterations else []
    if sorted(host) != made:
        return 'nornic sent other messages than it makes'
    received = [m for v in guest for m in v]
    return report_says(log, len(received), sum(map(zlib.crc32, received)))


def over_cm(judge):
    return lambda case, capture, log: handshake(case, capture) or judge(case, capture, log)


DATA = {'ibv_rc_pingpong': echoes, 'ibv_uc_pingpong': echoes, 'ibv_ud_pingpong': echoes,
        'ibv_srq_pingpong': srq_echoes, 'rping': over_cm(pings), 'udaddy': over_cm(exchange),
        'ucmatose': over_cm(exchange), 'rdma_client': over_cm(exchange)}


# Of the guest's kernel: a header, a checksum or a destination that was wrong, and everything that ICMP says of errors.
UNUSUAL = (['Ip.' + n for n in ('InHdrErrors', 'InAddrErrors', 'InUnknownProtos', 'InDiscards', 'ReasmReqds')] +
           ['Icmp.' + n for n in ('InMsgs', 'InErrors', 'InCsumErrors', 'OutDestUnreachs', 'OutTimeExcds')] +
           ['Udp.' + n for n in ('NoPorts', 'InErrors', 'RcvbufErrors', 'InCsumErrors')] +
           ['Ip6' + n for n in ('InHdrErrors', 'InTooBigErrors', 'InAddrErrors', 'InUnknownProtos', 'ReasmReqds')] +
           ['Icmp6' + n for n in ('InErrors', 'InCsumErrors', 'InDestUnreachs', 'OutDestUnreachs', 'InPktTooBigs')] +
           ['Udp6' + n for n in ('NoPorts', 'InErrors', 'RcvbufErrors', 'InCsumErrors')])


# A port that is no UDP socket asks the guest's MAC by a datagram to the discard port.
DISCARD = {'Icmp.OutDestUnreachs', 'Udp.NoPorts', 'Icmp6OutDestUnreachs', 'Udp6NoPorts'}


# What a kernel says of a machine that is too slow for it is none of RoCE's.
SPOKEN = re.compile('rxe|rdma|infiniband|ib_|udp|icmp|checksum', re.I)
# That its port came up, it says at `rdma link add` and once more when the NIC's carrier is told, seconds later.
GOOD_NEWS = re.compile(r'^.*\brxe0: set active$\n?', re.M)


# How a kernel says, and a guest counts, that a packet came to a port of a program that has ended.
UNREACHABLE = {'Icmp.InMsgs', 'Icmp.InErrors', 'Icmp6InDestUnreachs'}


def late_packets(case):
    """How many packets of the guest may come when nornic has ended. ibv_srq_pingpong counts what it has sent when it is
    acknowledged: each queue pair may send one message more than nornic waits for, and its ACK (docs/interop.md)."""
    return case.pairs * (-(-case.size // case.pmtu) + 1) if case.program == 'ibv_srq_pingpong' else 0


def guest_saw(case, counted, said):
    """`counted`, `said`: of the guest's kernel, during the case."""
    allowed = {} if case.port == 'udp' else dict.fromkeys(DISCARD, float('inf'))
    if counted.get('Icmp.InDestUnreachs', 0) == counted.get('Icmp.InMsgs', 0):   # nothing else came by ICMP
        allowed.update(dict.fromkeys(UNREACHABLE, late_packets(case)))
    seen = {name: counted[name] for name in UNUSUAL if counted[name] > allowed.get(name, 0)}
    said = GOOD_NEWS.sub('', said)
    if seen or SPOKEN.search(said):
        return 'the guest\'s kernel counts %s and says: %s' % (seen, said.strip())
    return ''


def identifications(case, log):
    """Over IPv4 a UDP socket does not see soft-RoCE's, which are not nornic's: that is counted, and said."""
    with open(log, errors='replace') as f:
        text = f.read()
    found = re.search(r'^(\d+) packets bore|"rx_ip_id_foreign": ?(\d+)', text, re.M)
    count = int(found[1] or found[2]) if found else 0
    is_counted = case.port == 'udp' and case.family == '4'
    return '' if (count > 0) == is_counted else '%d packets of the guest had an unknown identification' % count


def check(case, capture, log):
    if not case.peer().ends:
        return ''   # a reserved opcode is none to them, and what the packets hold is what is asked
    return (nornic_verifies(capture, log) or tshark_reads(capture) or DATA[case.program](case, capture, log) or
            identifications(case, log))
