# SPDX-License-Identifier: BSD-2-Clause
"""What a capture of a case with siw must hold, as the tests' reader of iWARP and tshark see it. Each function says what
is wrong with it, or ''."""
import collections, os, re, struct, subprocess, sys, zlib

from judge import ends, nornic_verifies, report_says
from lab import GUEST, HOST, NORNIC, ROOT
from payload import nornic_data, ping_text

E2E = os.path.join(ROOT, 'test', 'e2e')
sys.path.insert(0, E2E)
import iwarp_reader

WRITE, READ_REQUEST, READ_RESPONSE, TERMINATE = 0, 1, 2, 7
SENDS = (3, 4, 5, 6)
TAGGED_BYTES, UNTAGGED_BYTES = 14, 18


def messages(side):
    """[(opcode, data, first ULPDU)] of one side's FPDUs, each with the data of all its segments. Empty Writes and
    Reads, which begin a stream (RTR), are left out."""
    found, building = [], {}
    for fpdu, ulpdu in zip(side.fpdus, side.ulpdus):
        head, data = building.setdefault(fpdu.opcode, (ulpdu, bytearray()))
        data += ulpdu[TAGGED_BYTES if fpdu.tagged else UNTAGGED_BYTES:]
        if fpdu.last:
            is_empty_read = fpdu.opcode == READ_REQUEST and struct.unpack_from('>I', data, 12)[0] == 0
            if not is_empty_read and (data or fpdu.opcode in SENDS):
                found.append((fpdu.opcode, bytes(data), head))
            del building[fpdu.opcode]
    return found


def data_of(side, *opcodes):
    return [data for opcode, data, _ in messages(side) if opcode in opcodes]


def agreed(case, sides):
    """What MPA has agreed on."""
    for who, side in zip(('initiator', 'responder'), sides):
        if side.frame is None:
            return 'the %s has sent no MPA frame' % who
    flags, revs = [side.frame[16] for side in sides], [side.frame[17] for side in sides]
    if revs != [case.rev, case.rev]:
        return 'MPA revisions %s, not %d' % (revs, case.rev)
    if flags[1] & 0x20:
        return 'the Reply refuses'
    if bool((flags[0] | flags[1]) & iwarp_reader.C) != case.has_crc:
        return 'flags of MPA %s: CRC is not as it was asked for' % flags
    return ''


def fpdus_are_good(case, sides):
    # a kernel may take away the memory of who is killed before its stream, and refuse what still comes for it
    dying = case.peer().kills == 'guest' and ('responder' if case.way == 'guest-serves' else 'initiator')
    for who, side in zip(('initiator', 'responder'), sides):
        found = collections.Counter(f.crc for f in side.fpdus)
        if set(found) - {'good' if case.has_crc else 'off'}:
            return 'CRCs of the %s: %s' % (who, dict(found))
        if not case.has_crc and any(side.crcs):
            return 'the %s fills in a CRC that was agreed away' % who   # siw and RFC 5044 4.1: 0
        if who != dying and any(f.opcode == TERMINATE for f in side.fpdus):
            return 'the %s sends a Terminate' % who
        amid = None
        for fpdu in side.fpdus:
            if amid is not None and fpdu.opcode != amid:
                return 'the %s begins a message while another is half out' % who     # RFC 5041 5.3
            amid = None if fpdu.last else fpdu.opcode
    return ''


def pings(case, connections, log):
    """The server READs the client's text and WRITEs it back."""
    if len(connections) != 1:
        return '%d connections' % len(connections)
    client, server = connections[0]
    text = [ping_text(n, case.size) for n in range(case.iterations)]
    asked = [struct.unpack_from('>I', data, 12)[0] for data in data_of(server, READ_REQUEST)]
    if asked != [case.size] * case.iterations:
        return 'the READs are of %s bytes' % asked
    for what, got in ('read', data_of(client, READ_RESPONSE)), ('written', data_of(server, WRITE)):
        if got != text:
            wrong = [a == b for a, b in zip(got, text)] + [False]
            return 'the text of round %d is not %s; there are %d rounds' % (wrong.index(False), what, len(got))
    if case.program != 'rping':
        return ''   # siw.py makes no report
    return report_says(log, case.iterations, sum(map(zlib.crc32, text)), verified=case.iterations)


def exchange(case, connections, log):
    """Messages both ways over each connection: nornic's are those that it makes; it received what the guest sent."""
    if len(connections) != case.pairs:
        return '%d connections' % len(connections)
    host_is = case.way == 'nornic-serves'
    host, guest = ([data_of(sides[side], *SENDS) for sides in connections] for side in (host_is, not host_is))
    if any([len(m) for m in sent] != [case.size] * case.iterations for sent in host + guest):
        return 'not %d messages of %d bytes either way over each connection' % (case.iterations, case.size)
    made = sorted([nornic_data(host_is << 63 | c << 32 | n, case.size) for n in range(case.iterations)]
                  for c in range(case.pairs))
    if sorted(host) != made:
        return 'nornic sent other messages than it makes'
    received = [m for sent in guest for m in sent]
    return report_says(log, len(received), sum(map(zlib.crc32, received)))


def sizes(case, connections, _log):
    """Messages of stock programs, with what happens to stand in their memory."""
    sent = [[len(data) for data in data_of(side, *SENDS)] for sides in connections for side in sides]
    return '' if sent == [[case.size] * case.iterations] * 2 * case.pairs else 'messages of %s bytes' % sent


def perftest(opcode, by_server=False):
    """The client writes or reads; over a second connection both tell each other what they have."""
    def check(case, connections, _log):
        found = [len(data) for sides in connections for data in data_of(sides[by_server], opcode)]
        count = sum(n == case.size for n in found)
        return '' if count == case.iterations else '%d of %d messages have %d bytes' % (count, len(found), case.size)
    return check


RSOCKET_DATA, RSOCKET_SGL, RSOCKET_IOMAP, RSOCKET_CTRL = 0, 4, 6, 7   # the upper 3 bits of a message of rsockets
RSOCKET_ENTRY = {RSOCKET_SGL: (None, 16), RSOCKET_IOMAP: (24,), RSOCKET_CTRL: (None,)}


def words(side):
    """[(operation, value, octets of the RDMA Write right before it, or None)] of one side's messages of rsockets."""
    found, written = [], None
    for opcode, data, _ in messages(side):
        if opcode in SENDS:
            if len(data) != 4:
                raise ValueError('a SEND of %d octets is no message of rsockets' % len(data))
            word = int.from_bytes(data, 'little')
            found.append((word >> 29, word & 0x1fffffff, written))
        written = len(data) if opcode == WRITE else None
    return found


def streams(case, connections, _log):
    """Each side tells by a SEND behind it what it has written; rstream's data are told in whole. riostream writes
    without a word, and tells of its memory by one."""
    if len(connections) != 1:
        return '%d connections' % len(connections)
    for side in connections[0]:
        told = words(side)
        for op, value, written in told:
            if case.program == 'verbs-riostream' and op in (RSOCKET_SGL, RSOCKET_CTRL):
                continue   # behind what was written without a word
            if written not in ((value,) if op == RSOCKET_DATA else RSOCKET_ENTRY[op]):
                return 'a message %d of %d behind %s octets' % (op, value, written)
        data = sum(value for op, value, _ in told if op == RSOCKET_DATA)
        if case.program == 'verbs-rstream' and data < case.size * case.iterations:
            return '%d octets of data are told' % data
        if case.program == 'verbs-riostream' and (
                RSOCKET_IOMAP not in [op for op, _, _ in told] or
                sum(map(len, data_of(side, WRITE))) < case.size * case.iterations):
            return 'not all was written to memory that was mapped'
    return ''


def crosses(case, connections, _log):
    """Both ends write and read as much; each shows its own data."""
    if len(connections) != 1:
        return '%d connections' % len(connections)
    for side, is_server in zip(connections[0], (0, 1)):
        wanted = bytes((at * 7 + at // 251 + (101 if is_server else 3)) & 0xff for at in range(case.size))
        for what, opcode in ('written', WRITE), ('read', READ_RESPONSE):
            if data_of(side, opcode) != [wanted] * case.iterations:
                return 'not %d times what is %s' % (case.iterations, what)
    return ''


def any_end(_case, _connections, _log):
    return ''   # one of them was killed


DATA = {'rping-guest-killed': any_end, 'rping-nornic-killed': any_end,
        'verbs-rping': pings, 'verbs-rdma_client': sizes,
        'verbs-ib_write_bw': perftest(WRITE), 'verbs-ib_read_bw': perftest(READ_RESPONSE, by_server=True),
        'verbs-crossing': crosses, 'verbs-rstream': streams, 'verbs-riostream': streams,
        'rping': pings, 'siw-rping-client': pings, 'siw-rping-server': pings, 'ucmatose': exchange,
        'rdma_client': exchange}


def nornic_agrees(capture, log):
    """`nornic explain` and the reader have the same FPDUs."""
    done = subprocess.run([sys.executable, E2E + '/explain_iwarp.py', NORNIC, capture, '--no-tshark'],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    with open(log, 'a') as f:
        f.write(done.stdout + done.stderr)
    return '' if done.returncode == 0 else 'explain does not agree: ' + ' '.join(done.stdout.splitlines()[-1:])


FIELDS = ['iwarp_' + name for name in (
    'mpa.ulpdulength', 'ddp.tagged_flag', 'ddp.last_flag', 'ddp.dv', 'rdma.version', 'rdma.opcode', 'ddp.stag',
    'ddp.tagged_offset', 'ddp.qn', 'ddp.msn', 'ddp.mo', 'rdma.sinkstag', 'rdma.sinkto', 'rdma.rdmardsz', 'rdma.srcstag',
    'rdma.srcto')]


def fields_of(side):
    """[values of each of FIELDS, in the order of the stream]."""
    columns = [[] for _ in FIELDS]

    def put(first, *values):
        for i, value in enumerate(values, first):
            columns[i].append(value)
    for fpdu, ulpdu in zip(side.fpdus, side.ulpdus):
        put(0, fpdu.ulpdu_len, fpdu.tagged, fpdu.last, ulpdu[0] & 3, ulpdu[1] >> 6, fpdu.opcode)
        if fpdu.tagged:
            put(6, *struct.unpack_from('>IQ', ulpdu, 2))
        else:
            put(8, *struct.unpack_from('>III', ulpdu, 6))
        if fpdu.opcode == READ_REQUEST:
            put(11, *struct.unpack_from('>IQIIQ', ulpdu, UNTAGGED_BYTES))
    return columns


def tshark_agrees(capture, connections):
    """tshark has the same value of each field of each FPDU, and nothing malformed. It shows no second one of several
    that are empty in one segment, which no case has."""
    command = ['tshark', '-n', '-r', capture, '-o', 'tcp.try_heuristic_first:TRUE', '-o',
               'tcp.reassemble_out_of_order:TRUE', '--disable-protocol', 'rpcordma', '-T', 'fields', '-E',
               'separator=|', '-E', 'occurrence=a', '-E', 'aggregator=,']
    for field in ['tcp.srcport', 'tcp.dstport', '_ws.malformed'] + FIELDS:
        command += ['-e', field]
    rows = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                          check=True).stdout.splitlines()
    seen = {}
    for source, destination, malformed, *values in (row.split('|') for row in rows):
        if malformed:
            return 'tshark finds a malformed frame'
        columns = seen.setdefault((source, destination), [[] for _ in FIELDS])
        for column, text in zip(columns, values):
            column += [{'True': 1, 'False': 0}.get(v, None) if v in ('True', 'False') else int(v, 0)
                       for v in text.split(',') if v]
    for (way, _), sides in connections:
        for side, ends_of in zip(sides, (way, way[::-1])):
            theirs = seen.get(tuple(str(port) for _, port in ends_of), [[] for _ in FIELDS])
            for field, mine, found in zip(FIELDS, fields_of(side), theirs):
                if mine != found:
                    return 'tshark has %d of %s from port %d, the reader %d, or others' % (
                        len(found), field, ends_of[0][1], len(mine))
    return ''


def replays(case, capture, log):
    """nornic's engine says in the place of either end what that end said; siw.py is no engine."""
    for end in (GUEST, HOST)[:1 + (not case.program.startswith('siw-'))]:
        with open(log, 'a') as out:
            done = subprocess.run([NORNIC, 'replay', capture, '--as', end[case.family]], stdin=subprocess.DEVNULL,
                                  stdout=out, stderr=out, timeout=60)
        if done.returncode != 0:
            return '`nornic replay --as %s` ended with %d' % (end[case.family], done.returncode)
    return ''


# What a kernel says of a machine that is too slow for it is none of iWARP's.
SPOKEN = re.compile(r'\bsiw\d*: |infiniband siw|kernel BUG|BUG: (?!soft lockup|workqueue)|Oops')


def guest_saw(case, _counted, said):
    return 'the guest\'s kernel says: ' + said.strip() if SPOKEN.search(said) else ''


def check(case, capture, log):
    if case.program not in DATA:
        return nornic_agrees(capture, log)   # siw.py has seen what it is about
    client, _ = ends(case)
    found = [(key, sides) for key, sides in iwarp_reader.read(capture).items() if key[0][0][0] == client]
    connections = [sides for _, sides in found]
    for sides in connections:
        if why := agreed(case, sides) or fpdus_are_good(case, sides):
            return why
    return (nornic_verifies(capture, log) or nornic_agrees(capture, log) or tshark_agrees(capture, found) or
            DATA[case.program](case, connections, log) or (not case.peer().kills and replays(case, capture, log)) or '')
