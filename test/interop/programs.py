# SPDX-License-Identifier: BSD-2-Clause
"""The stock programs: how each and its nornic peer are called, how one sees that a server listens."""
import os, re, subprocess, sys
import rxe, siw
from lab import GUEST, HERE, HOST, HOST_GID_INDEX, NORNIC, in_nic, listening

TCP_PORT = 18515
GUEST_EID = 'NORNIC.LAB'
IPERF3 = '-n 4M -P 2'   # two streams, and the connection that it talks by
# Not while the last connections are still being closed; and modprobe fails if what the module leans on is in use.
UNLOAD_SMC = (' && for i in $(seq 50); do modprobe -qr smc; grep -q "^smc " /proc/modules || exit 0; sleep 0.1; done; '
              'exit 1')
CROSSING = os.path.dirname(NORNIC) + '/test/interop/crossing'
SMCTALK = os.path.dirname(NORNIC) + '/test/interop/smctalk'


def over_verbs(case):
    """How a stock program is run here: with nornic's verbs libraries, for 25 s at most."""
    lib = os.path.join(os.path.dirname(os.path.abspath(NORNIC)), 'lib')
    return ['env', 'LD_LIBRARY_PATH=' + lib, 'NORNIC_PORT=' + case.port_name(), 'timeout', '25']


class Program:
    listens_on = None   # a port of the connection manager
    ends = True         # the stock program does, with 0
    kills = None        # 'guest' or 'nornic': the side that is killed

    def command(self, case, number):
        """What runs beside the guest's program."""
        return [NORNIC, *self.nornic(case, number), '--port', case.port_name(), *case.options]

    def is_stock_fault(self, log):
        """Whether the case failed by what stock programs do to each other too, and is to be tried again."""
        return False

    def has_done_all(self, text):
        """Whether the stock program failed, as it says, when all was done: see docs/interop.md."""
        return False

    def said(self, case, text):
        """What is wrong with what the stock program printed, or ''."""
        return ''

    def was_left(self, case, log):
        """Whether nornic failed because the stock program, which had all it wanted, was gone: see docs/interop.md."""
        return False


class Pingpong(Program):
    """ibv_rc_pingpong, ibv_uc_pingpong, ibv_ud_pingpong, ibv_srq_pingpong against `nornic pingpong`."""

    def __init__(self, transport):
        self.transport = transport
        self.name = self.stock_name = 'ibv_%s_pingpong' % transport

    def stock(self, case, gid_index, number):
        words = [self.stock_name, '-d rxe0', '-p %d' % self.port(number), '-g %d' % gid_index, '-s %d' % case.size,
                 '-n %d' % case.iterations]
        if self.transport != 'ud':
            words.append('-m %d' % case.pmtu)
        if self.transport == 'srq':
            words.append('-q %d' % case.pairs)
        if case.check:
            words.append('-c')
        if case.way == 'nornic-serves':
            words.append(HOST['4'])   # the exchange by TCP; the stock server takes IPv4 only
        return ' '.join(words)

    def nornic(self, case, number):
        words = ['pingpong', '-p', str(self.port(number)), '-g', str(HOST_GID_INDEX[case.family]),
                 '-s', str(case.size), '-n', str(case.iterations)]
        if self.transport != 'ud':
            words += ['-m', str(case.pmtu)]
        if self.transport != 'rc':
            words += ['--transport', self.transport]
        if self.transport == 'srq':
            words += ['-q', str(case.pairs)]
        if case.check:
            words.append('-c')
        if case.way == 'guest-serves':
            words.append(GUEST['4'])
        return words

    def port(self, number):
        return TCP_PORT + number

    def guest_listens(self, number):
        return 'tcp %d' % self.port(number)

    def nornic_listens(self, number, log):
        return listening(self.port(number))

    def was_left(self, case, log):
        with open(log) as f:
            last = '(RETRY_EXC_ERR) after %d of %d exchanges' % (case.iterations, case.iterations) in f.read()
        return last and bool(case.weather)

    def said(self, case, text):
        return 'the guest says: invalid data' if 'invalid data' in text else ''


class VerbsPingpong(Pingpong):
    """The same program on both sides, here over nornic's libibverbs; each checks what it gets."""

    def __init__(self, transport):
        super().__init__(transport)
        self.name = 'roce-' + self.stock_name

    def command(self, case, number):
        words = [self.stock_name, *self.nornic(case, number)[1:]]
        at = words.index('--transport') if '--transport' in words else None
        if at is not None:
            del words[at:at + 2]
        return [*over_verbs(case), *words]


class Peer(Program):
    """What the programs over rdma_cm share. Each case of one that takes a port has its own."""
    name, ours = None, None

    def port(self, number):
        return self.listens_on

    def guest_listens(self, number):
        return 'cm %d' % self.port(number)

    def nornic_listens(self, number, log):
        with open(log) as f:
            return '"listening"' in f.read()

    def stock(self, case, gid_index, number):
        server = case.way == 'guest-serves'
        there = (GUEST if server else HOST)[case.family]
        return '%s %s' % (self.stock_name(server), self.stock_words(case, server, there, self.port(number)))

    def nornic(self, case, number):
        server = case.way == 'nornic-serves'
        words = [self.nornic_name(server), '--json', '-t', '%ds' % (10 if not case.weather else 25),
                 *self.nornic_words(case, server, GUEST[case.family])]
        if self.port(number) != self.listens_on:
            words += ['-p', str(self.port(number))]
        return words

    def stock_name(self, server):
        return self.name

    def nornic_name(self, server):
        return self.ours


class Rping(Peer):
    name, ours, listens_on = 'rping', 'rping', 7174

    def port(self, number):
        return self.listens_on + number

    def stock_words(self, case, server, there, port):
        return '%s -a %s -p %d -C %d -S %d -V' % ('-s' if server else '-c', there, port, case.iterations, case.size)

    def nornic_words(self, case, server, there):
        return ['-s'] if server else ['-c', '-a', there, '-C', str(case.iterations), '-S', str(case.size)]

    def said(self, case, text):
        return 'the guest says: data mismatch' if 'mismatch' in text else ''


class Killed(Rping):
    """rping until one side is killed in the middle of it: the other has to notice."""
    ours = 'rping'

    def __init__(self, who):
        self.name, self.kills = 'rping-%s-killed' % who, who

    def stock_name(self, server):
        return 'rping'


class OnBothSides(Peer):
    """A program over rdma_cm with siw in the guest, and here with nornic's libibverbs and librdmacm."""
    listens_on = 8174

    def __init__(self, stock):
        self.stock_program, self.name = stock, 'verbs-' + stock.name

    def port(self, number):
        return self.listens_on + number

    def stock(self, case, gid_index, number):
        server = case.way == 'guest-serves'
        return self.words(case, server, (GUEST if server else HOST)[case.family], number)

    def words(self, case, server, there, number):
        name = self.stock_program.stock_name(server)
        return '%s %s' % (name, self.stock_program.stock_words(case, server, there, self.port(number)))

    def command(self, case, number):
        server = case.way == 'nornic-serves'
        words = self.words(case, server, (HOST if server else GUEST)[case.family], number)
        return over_verbs(case) + words.split()

    def nornic_listens(self, number, log):
        return listening(self.port(number))

    def is_stock_fault(self, log):
        return self.stock_program.is_stock_fault(log)

    def has_done_all(self, text):
        return self.stock_program.has_done_all(text)

    def said(self, case, text):
        return self.stock_program.said(case, text)


class OverRoce(OnBothSides):
    """The same with soft-RoCE in the guest. Nothing listens on TCP, so nornic's registry is asked."""

    def __init__(self, stock):
        super().__init__(stock)
        self.name = 'roce-' + stock.name

    def port(self, number):
        return self.stock_program.port(number)

    def nornic_listens(self, number, log):
        out = subprocess.run(in_nic(NORNIC, 'stat'), check=False, capture_output=True, text=True).stdout
        return re.search('listens to [1-9]', out) is not None


class Streams(Peer):
    """rstream and riostream, which check their data themselves."""
    listens_on = 7471

    def __init__(self, name):
        self.name = name

    def port(self, number):
        return self.listens_on + number

    def stock_words(self, case, server, there, port):
        return '%s %s -p %d -S %d -C %d -T verify' % ('-b' if server else '-s', there, port, case.size,
                                                      case.iterations)

    def is_stock_fault(self, log):
        """The guest's program had its result and ended, and siw threw away what TCP had not sent yet."""
        with open(log, errors='replace') as f:
            ours, _, guest = f.read().partition('--- guest: ')
        return 'rrecv: Connection reset by peer' in ours and 'custom' in guest

    def said(self, case, text):
        return 'the guest says: data verification failed' if 'verification failed' in text else ''


class Perftest(Peer):
    """ib_write_bw and ib_read_bw, both connections by rdma_cm."""
    listens_on = 8174

    def port(self, number):
        return self.listens_on + number

    def __init__(self, name):
        self.name = name

    def stock_words(self, case, server, there, port):
        words = '-R -F -p %d -n %d -s %d -t 4 -Q 1' % (port, case.iterations, case.size)
        return words + ('' if server else ' ' + there)

    def is_stock_fault(self, log):
        """The client came before the server listened."""
        with open(log, errors='replace') as f:
            text = f.read()
        # of TCP, below iWARP; and of RoCE's connection manager: reason 8, invalid service id (IBTA 12.6.7.2)
        return 'Connection refused' in text or 'RDMA_CM_EVENT_REJECTED; error: 8' in text

    def has_done_all(self, text):
        return 'Failed to close connection between server and client' in text


class Messages(Peer):
    """udaddy and ucmatose."""

    def __init__(self, name, ours, port):
        self.name, self.ours, self.listens_on = name, ours, port

    def stock_words(self, case, server, there, port):
        return '%s %s -c %d -C %d -S %d' % ('-b' if server else '-s', there, case.pairs, case.iterations, case.size)

    def nornic_words(self, case, server, there):
        words = ['-c', str(case.pairs), '-C', str(case.iterations), '-S', str(case.size)]
        return words if server else words + ['-s', there]

    def was_left(self, case, log):
        with open(log) as f:
            last = 'the peer disconnected before all messages had been acknowledged' in f.read()
        return last and bool(case.weather)

    def said(self, case, text):
        return '' if 'return status 0' in text else 'the guest does not say "return status 0"'


class RdmaClient(Peer):
    """rdma_client and rdma_server."""
    name, listens_on = 'rdma_client', 7471

    def port(self, number):
        return self.listens_on + number

    def stock_name(self, server):
        return 'rdma_server' if server else 'rdma_client'

    def nornic_name(self, server):
        return 'rdma-server' if server else 'rdma-client'

    def stock_words(self, case, server, there, port):
        return '-s %s -p %d' % (there, port)

    def nornic_words(self, case, server, there):
        return [] if server else ['-s', there]

    def said(self, case, text):
        return '' if 'end 0' in text else 'the guest does not say "end 0"'


class Crossing(Peer):
    """crossing.c: both ends write and read at once. It says itself whether all is right."""
    name, listens_on = 'crossing', 8174

    def stock_words(self, case, server, there, port):
        return '%s %s %d %d %d' % ('serve' if server else 'connect', there, port, case.size, case.iterations)

    def said(self, case, text):
        return '' if 'all is right' in text else 'the guest does not say that all is right'


class CrossingOverVerbs(OnBothSides):
    """The same, built here."""

    def command(self, case, number):
        words = super().command(case, number)
        return [CROSSING if word == 'crossing' else word for word in words]


class Quirk(Program):
    """ibv_rc_pingpong against the hand-made packets of rxe.py."""
    ends = False

    def __init__(self, quirk):
        self.name, self.quirk = 'rxe-' + quirk, quirk

    def stock(self, case, gid_index, number):
        return 'ibv_rc_pingpong -d rxe0 -p %d -g %d -s 64 -n 1000 %s' % (
            TCP_PORT + number, gid_index, HOST['4'] if case.way == 'nornic-serves' else '')

    def command(self, case, number):
        return [sys.executable, HERE + '/rxe.py', self.quirk, str(TCP_PORT + number)]

    def guest_listens(self, number):
        return 'tcp %d' % (TCP_PORT + number)

    def nornic_listens(self, number, log):
        return listening(TCP_PORT + number)


class PlainPeer(Rping):
    """rping of a guest with siw against siw.py: its peer over a plain socket, or what shows how siw differs."""
    def __init__(self, function):
        self.name, self.function = 'siw-' + function, function
        self.ends = function.startswith('rping')

    def stock_name(self, server):
        return 'rping'

    def command(self, case, number):
        words = [sys.executable, HERE + '/siw.py', self.function, str(self.port(number))]
        return words + [str(case.size), str(case.iterations)] * self.ends


class Afsmc(Program):
    """The kernel's own SMC-R sockets, by afsmc.c, against `nornic smc` by smc.py."""
    name = 'afsmc'

    def port(self, number):
        return TCP_PORT + number

    def stock(self, case, gid_index, number):
        words = 'connect %s %d %d %d' % (HOST['4'], self.port(number), case.pairs, case.size)
        if case.way == 'guest-serves':
            words = 'listen %d %d %s' % (self.port(number), case.pairs, case.mode)
        return "sh -c 'modprobe smc && afsmc eid %s && afsmc %s'" % (GUEST_EID, words)

    def command(self, case, number):
        return [sys.executable, HERE + '/smc.py', 'connect' if case.way == 'guest-serves' else 'listen',
                case.port_name(), str(self.port(number)), str(case.pairs), str(case.size), case.eid, case.travels,
                str(case.seconds - 10)]

    def guest_listens(self, number):
        return 'tcp %d' % self.port(number)

    def nornic_listens(self, number, log):
        return listening(self.port(number))

    def said(self, case, text):
        groups = [line for line in text.splitlines() if line.startswith('group')]
        wanted = 'release=1 eid=%s' % GUEST_EID
        if case.travels == 'smcr' and not any(wanted in g for g in groups):
            return 'the guest has no link group with %s: %s' % (wanted, groups)
        return ''


class Smctalk(Afsmc):
    """smctalk.c at both ends: many connections at a time, and what goes wrong with them."""
    name = 'smctalk'

    def words(self, case, addr, number, serves):
        return '%s %s %d %d %s %d' % ('serve' if serves else 'connect', addr, self.port(number), case.pairs, case.mode,
                                      case.size)

    def stock(self, case, gid_index, number):
        serves = case.way == 'guest-serves'
        words = self.words(case, '0.0.0.0' if serves else HOST['4'], number, serves)
        return ("sh -c 'modprobe smc && %ssysctl -qw net.smc.smcr_testlink_time=%d && afsmc eid \"%s\" && FAMILY=%s "
                "IDLE_MS=%d AT_IDLE=\"afsmc groups\" smctalk %s%s%s'" %
                (case.guest_before and case.guest_before + ' && ', case.test_link_s, case.guest_eid, case.sockets,
                 case.idle_ms, words, UNLOAD_SMC * case.guest_ends_group,
                 case.guest_after and '; rc=$?; %s; exit $rc' % case.guest_after))

    def command(self, case, number):
        serves = case.way == 'nornic-serves'
        env = ['env', 'DEVICES=' + case.devices, 'EID=' + case.eid, 'LOSS_PPM=%d' % case.loss_ppm,
               'IDLE_MS=%d' % case.idle_ms, 'AT_IDLE=' + (case.at_idle or '%s smc stat --json' % NORNIC),
               'AT_QUARTER=' + case.at_quarter,
               'AT_END=%s -B %s/closed.py%s' % (sys.executable, HERE, ' links' * case.guest_ends_group)]
        words = env + [SMCTALK] + self.words(case, HOST['4'] if serves else GUEST['4'], number, serves).split()
        if not case.before:
            return words
        return ['sh', '-c', '%s && "$@"; rc=$?; %s; exit $rc' % (case.before, case.after), 'sh', *words]

    def said(self, case, text):
        return ''   # judge_smc.check() looks at both sides' words


class Preloaded(Smctalk):
    """Programs of plain TCP: here under `nornic run --smc` by preloaded.py, in the guest over smcsock.c or, where they
    are this directory's, over AF_SMC. smctalk, but for the modes fork (a process a connection serves) and iperf3."""
    name = 'preloaded'

    def stock(self, case, gid_index, number):
        serves = case.way == 'guest-serves'
        if case.mode == 'fork':
            return super(Smctalk, self).stock(case, gid_index, number)
        if case.mode == 'iperf3':
            words = '-s -1' if serves else '-c %s %s' % (HOST['4'], IPERF3)
            return ("sh -c 'modprobe smc && afsmc eid %s && LD_PRELOAD=/usr/lib/smcsock.so iperf3 -p %d %s'" %
                    (GUEST_EID, self.port(number), words))
        return super().stock(case, gid_index, number)

    def command(self, case, number):
        serves, port = case.way == 'nornic-serves', self.port(number)
        words = ['env', 'FAMILY=tcp', SMCTALK + '-tcp'] + self.words(case, HOST['4'] if serves else GUEST['4'], number,
                                                                     serves).split()
        if case.mode == 'fork' and serves:
            words = [sys.executable, HERE + '/preloaded.py', '--forks', HOST['4'], str(port), str(case.pairs)]
        elif case.mode == 'iperf3':
            words = ['iperf3', '-p', str(port)] + (['-s', '-1'] if serves else ['-c', GUEST['4'], *IPERF3.split()])
        return [sys.executable, HERE + '/preloaded.py', case.devices, case.eid, str(case.pairs)] + words

    def words(self, case, addr, number, serves):
        return super().words(case, addr, number, serves).replace(' fork ', ' echo ')


ALL = {p.name: p for p in [Pingpong(t) for t in ('rc', 'uc', 'ud', 'srq')] +
       [Rping(), Killed('guest'), Killed('nornic'), Messages('udaddy', 'udaddy', 7174),
        Messages('ucmatose', 'cmatose', 7471), RdmaClient()] +
       [Afsmc(), Smctalk(), Preloaded()] +
       [Quirk(q) for q in rxe.QUIRKS] + [PlainPeer(p) for p in siw.PEERS] +
       [OnBothSides(p) for p in (Rping(), RdmaClient(), Streams('rstream'), Streams('riostream'),
                                 Perftest('ib_write_bw'), Perftest('ib_read_bw'))] +
       [CrossingOverVerbs(Crossing())] +
       [VerbsPingpong(t) for t in ('rc', 'uc', 'ud', 'srq')] +
       [OverRoce(p) for p in (Rping(), RdmaClient(), Messages('udaddy', 'udaddy', 7174),
                              Messages('ucmatose', 'cmatose', 7471), Streams('rstream'), Streams('riostream'),
                              Perftest('ib_write_bw'), Perftest('ib_read_bw'), Perftest('ib_send_bw'))]}

