# SPDX-License-Identifier: BSD-2-Clause
"""The stock programs: how each and its nornic peer are called, how one sees that a server listens."""
import os, re, subprocess, sys
import rxe, siw
from lab import GUEST, HERE, HOST, HOST_GID_INDEX, NORNIC, in_nic, listening

TCP_PORT = 18515
GUEST_EID = 'NORNIC.LAB'


class Program:
    listens_on = None   # a port of the connection manager
    ends = True         # the stock program does, with 0
    kills = None        # 'guest' or 'nornic': the side that is killed

    def command(self, case, number):
        """What runs beside the guest's program."""
        return [NORNIC, *self.nornic(case, number), '--port', case.port_name(), *case.options]

    def was_refused(self, log):
        """Whether the stock client came before the stock server listened, which is to be tried again."""
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
        self.name = 'ibv_%s_pingpong' % transport

    def stock(self, case, gid_index, number):
        words = [self.name, '-d rxe0', '-p %d' % self.port(number), '-g %d' % gid_index, '-s %d' % case.size,
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
        lib = os.path.join(os.path.dirname(os.path.abspath(NORNIC)), 'lib')
        return ['env', 'LD_LIBRARY_PATH=' + lib, 'NORNIC_PORT=' + case.port_name(), 'timeout', '25'] + words.split()

    def nornic_listens(self, number, log):
        return listening(self.port(number))

    def was_refused(self, log):
        return self.stock_program.was_refused(log)

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

    def was_refused(self, log):
        with open(log, errors='replace') as f:
            return 'Connection refused' in f.read()

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
                case.port_name(), str(self.port(number)), str(case.pairs), str(case.size), case.eid, case.travels]

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


ALL = {p.name: p for p in [Pingpong(t) for t in ('rc', 'uc', 'ud', 'srq')] +
       [Rping(), Killed('guest'), Killed('nornic'), Messages('udaddy', 'udaddy', 7174),
        Messages('ucmatose', 'cmatose', 7471), RdmaClient()] +
       [Afsmc()] +
       [Quirk(q) for q in rxe.QUIRKS] + [PlainPeer(p) for p in siw.PEERS] +
       [OnBothSides(p) for p in (Rping(), RdmaClient(), Perftest('ib_write_bw'), Perftest('ib_read_bw'))] +
       [OverRoce(p) for p in (Rping(), RdmaClient(), Messages('udaddy', 'udaddy', 7174),
                              Messages('ucmatose', 'cmatose', 7471), Streams('rstream'), Streams('riostream'),
                              Perftest('ib_write_bw'), Perftest('ib_read_bw'), Perftest('ib_send_bw'))]}

