# SPDX-License-Identifier: BSD-2-Clause
"""Which runs there are."""
import judge, judge_iwarp, judge_smc, judge_verbs, programs, rxe, siw
from lab import CASE_SECONDS, HOST, SEGMENT_MTU, USUAL_MTU

SIZES = (1, 2, 3, 4096, 65536, 1000003)


class Case:
    """One run of a stock program in the guest against its nornic peer.

    way: guest-serves or nornic-serves; port: xdp, packet or udp; pairs: queue pairs or connections; weather: options of
    nornic's for a bad line; offloads: of OFFLOADS in lab.py."""
    guest, knobs, is_lossy, is_patient, has_second = 'rxe', {}, False, False, False
    is_unique = False        # a unique case is never thinned (pairwise.py)
    seconds = CASE_SECONDS   # at most; a longer case runs only if it is named
    judge, filter = judge, 'udp port 4791'

    def __init__(self, program, way, port, family='4', pmtu=1024, size=4096, iterations=10, pairs=1, check=False,
                 weather=(), note='', offloads=None):
        self.program, self.way, self.port, self.family, self.pmtu = program, way, port, family, pmtu
        self.size, self.iterations, self.pairs, self.check, self.weather = size, iterations, pairs, check, weather
        self.options, self.offloads = weather, offloads or ('whole' if port == 'udp' else 'off')
        self.name = '-'.join([program, way, port, 'ipv' + family, 'pmtu%d' % pmtu, 'size%d' % size] +
                             ['pairs%d' % pairs] * (pairs > 1) + ['chk'] * check + ['bad-line'] * bool(weather) +
                             [offloads] * bool(offloads)) + note

    def mtus(self):
        """The interfaces' MTU here and in the guest. rdma_cm's path MTU follows from them, ibv_*_pingpong is told."""
        small = USUAL_MTU if self.pmtu < 4096 else SEGMENT_MTU
        if self.peer().listens_on:
            return small, small
        return (small if self.port == 'xdp' else SEGMENT_MTU), SEGMENT_MTU

    def values(self):
        """The case's value in each dimension, for pairwise.py."""
        return {'program': self.program, 'role': self.way, 'port': self.port, 'family': self.family, 'PMTU': self.pmtu,
                'size': self.size, 'weather': ' '.join(self.weather), 'connections': self.pairs, 'checks': self.check,
                'offloads': self.offloads}

    def peer(self):
        return programs.ALL[self.program]

    def port_name(self):
        return self.port + ':nic0'


def rc_pingpong(xdp_takes_4096):
    """Each size at each PMTU both ways over one port and IPv4; IPv6, the other port and -c at some sizes.

    As client nornic sends bytes that differ in each message and checks that they come back. With -c (chk) both send
    and expect what the stock program's -c says; a stock client knows nothing else, so there it is always on."""
    for way, check in (('guest-serves', False), ('nornic-serves', True)):
        for pmtu in (256, 1024, 4096):
            xdp = pmtu < 4096 or xdp_takes_4096
            port, note = ('xdp', '') if xdp else ('packet', '-no-xdp-at-this-mtu')

            def case(port, size, family='4', check=check, note=note, pmtu=pmtu, way=way):
                return Case('ibv_rc_pingpong', way, port, family, pmtu, size, 3 if size > 100000 else 10, check=check,
                            note=note)
            for size in SIZES:
                yield case(port, size)
            for size in (3, 65536):
                yield case(port, size, '6')
            if xdp:
                for size in (1, 65536):
                    yield case('packet', size)
            if not check:
                yield case(port, 65536, check=True)
        for family in ('4', '6'):
            yield Case('ibv_rc_pingpong', way, 'xdp', family, size=4097, iterations=30, check=check, weather=BAD)
            yield Case('ibv_rc_pingpong', way, 'xdp', family, size=65536, iterations=3, check=check, weather=BAD)


# Both directions of nornic's port lose and reorder frames.
BAD = ('--loss', '5%', '--reorder', '5%', '--seed', '5')
# soft-RoCE's queue pair dies of an ACK that comes late, between the answers to its READ (docs/interop.md): where the
# guest reads, nothing is late.
LOSS = ('--loss', '5%', '--seed', '5')
# What the unreliable programs cannot do by design is go on when a message is lost, or when UC delivers one twice.
LATE = ('--reorder', '5%', '--seed', '7')


def uc_pingpong(xdp_takes_4096):
    for way in ('guest-serves', 'nornic-serves'):
        for size in (1, 3, 1024, 4097, 65536):
            yield Case('ibv_uc_pingpong', way, 'xdp', size=size)
        yield Case('ibv_uc_pingpong', way, 'xdp', '6', size=4097)
        yield Case('ibv_uc_pingpong', way, 'packet', size=4097, pmtu=256)
        yield Case('ibv_uc_pingpong', way, 'packet', '6', size=65536, pmtu=4096)
        yield Case('ibv_uc_pingpong', way, 'xdp', size=4097, check=True)
        yield Case('ibv_uc_pingpong', way, 'xdp', size=1000, iterations=100, weather=LATE)
    if xdp_takes_4096:
        yield Case('ibv_uc_pingpong', 'guest-serves', 'xdp', size=65536, pmtu=4096)


def ud_pingpong():
    for way in ('guest-serves', 'nornic-serves'):
        for size in (1, 3, 1024):
            yield Case('ibv_ud_pingpong', way, 'xdp', size=size)
        yield Case('ibv_ud_pingpong', way, 'xdp', '6', size=1000)
        yield Case('ibv_ud_pingpong', way, 'packet', size=4096, pmtu=4096)
        yield Case('ibv_ud_pingpong', way, 'packet', '6', size=4096, pmtu=4096)
        yield Case('ibv_ud_pingpong', way, 'xdp', size=1000, check=True)
        yield Case('ibv_ud_pingpong', way, 'xdp', size=1000, iterations=100, weather=LATE)


def srq_pingpong(xdp_takes_4096):
    for way in ('guest-serves', 'nornic-serves'):
        for pairs, size in ((1, 3), (4, 4097), (16, 4096), (64, 100)):
            yield Case('ibv_srq_pingpong', way, 'xdp', size=size, iterations=4 * pairs, pairs=pairs)
        yield Case('ibv_srq_pingpong', way, 'xdp', '6', size=4097, iterations=40, pairs=4)
        yield Case('ibv_srq_pingpong', way, 'packet', size=65536, iterations=10, pairs=4, pmtu=4096)
        yield Case('ibv_srq_pingpong', way, 'packet', '6', size=2049, iterations=40, pairs=16, pmtu=256)
        yield Case('ibv_srq_pingpong', way, 'xdp', size=3000, iterations=40, pairs=4, check=True)
        yield Case('ibv_srq_pingpong', way, 'xdp', size=3000, iterations=40, pairs=4, weather=BAD)
    if xdp_takes_4096:
        yield Case('ibv_srq_pingpong', 'guest-serves', 'xdp', size=65536, iterations=10, pairs=4, pmtu=4096)


def over_cm(xdp_takes_4096):
    """Path MTUs are those that the interfaces allow: 1024 and 4096."""
    ports = [('xdp', '4', 1024), ('xdp', '6', 1024), ('packet', '6', 1024), ('packet', '4', 4096)]
    if xdp_takes_4096:
        ports.append(('xdp', '6', 4096))
    for way in ('guest-serves', 'nornic-serves'):
        for port, family, pmtu in ports:
            for size in (64, 5001):
                yield Case('rping', way, port, family, pmtu, size)
            yield Case('udaddy', way, port, family, pmtu, pmtu - 1, pairs=3)
            yield Case('ucmatose', way, port, family, pmtu, 3001, pairs=4)
            yield Case('rdma_client', way, port, family, pmtu, 16, 1)
        yield Case('rping', way, 'xdp', size=65535, iterations=3)   # the largest of the stock program
        yield Case('ucmatose', way, 'xdp', size=64, iterations=20, pairs=20)
        yield Case('udaddy', way, 'xdp', size=1024, iterations=1)
        for family in ('4', '6'):
            yield Case('rping', way, 'xdp', family, size=5001, weather=LOSS if way == 'guest-serves' else BAD)
            yield Case('ucmatose', way, 'xdp', family, size=3001, pairs=3, weather=BAD)
            yield Case('rdma_client', way, 'xdp', family, size=16, iterations=1, weather=BAD)
            yield Case('udaddy', way, 'xdp', family, size=100, iterations=0, pairs=4, weather=BAD)


def over_udp():
    """The udp port: every program both ways, long messages as trains that are cut in three places (OFFLOADS)."""
    def both(program, family='4', **more):
        for way in ('guest-serves', 'nornic-serves'):
            checked = program == 'ibv_rc_pingpong' and way == 'nornic-serves'
            yield Case(program, way, 'udp', family, check=checked, **more)
    for size in (1, 4097, 1000003):
        yield from both('ibv_rc_pingpong', size=size, iterations=3)
    yield from both('ibv_rc_pingpong', size=65536, pmtu=4096)
    yield from both('ibv_rc_pingpong', size=65536, pmtu=256, offloads='cut')
    yield from both('ibv_rc_pingpong', size=65536, offloads='bare')
    yield from both('ibv_rc_pingpong', '6', size=65536)
    yield from both('ibv_rc_pingpong', '6', size=65536, offloads='cut')
    for family in ('4', '6'):
        yield from both('ibv_rc_pingpong', family, size=65536, iterations=3, weather=BAD)
    yield from both('ibv_uc_pingpong', size=65536)
    yield from both('ibv_ud_pingpong', '6', size=1024)
    yield from both('ibv_srq_pingpong', size=4097, iterations=64, pairs=16)
    for family in ('4', '6'):
        yield from both('ibv_uc_pingpong', family, size=1000, iterations=100, weather=LATE)
        yield from both('ibv_ud_pingpong', family, size=1000, iterations=100, weather=LATE)
        yield from both('ibv_srq_pingpong', family, size=3000, iterations=40, pairs=4, weather=BAD)
    for family in ('4', '6'):
        yield from both('rping', family, size=65535, iterations=3)
        yield from both('udaddy', family, size=1023, pairs=3)
        yield from both('ucmatose', family, size=3001, pairs=4)
        yield from both('rdma_client', family, size=16, iterations=1)
    for family in ('4', '6'):
        for way in ('guest-serves', 'nornic-serves'):
            yield Case('rping', way, 'udp', family, size=5001, weather=LOSS if way == 'guest-serves' else BAD)
        yield from both('ucmatose', family, size=3001, pairs=3, weather=BAD)
        yield from both('rdma_client', family, size=16, iterations=1, weather=BAD)
        yield from both('udaddy', family, size=100, iterations=0, pairs=4, weather=BAD)


class VerbsCase(Case):
    """One run of a stock program in the guest against the same one here, over nornic's verbs libraries."""
    judge = judge_verbs


def with_roce_verbs():
    """perftest's client connects a second time before a slow server listens again, so the guest is the client."""
    def both(program, **more):
        for way in ('guest-serves', 'nornic-serves'):
            yield VerbsCase(program, way, 'udp', **more)
    for transport in ('rc', 'uc', 'ud', 'srq'):
        size, pairs = (1000, 1) if transport == 'ud' else (5000, 2 if transport == 'srq' else 1)
        yield from both('roce-ibv_%s_pingpong' % transport, size=size, iterations=50, pairs=pairs, check=True)
    yield from both('roce-rping', size=20000)
    yield from both('roce-rdma_client', size=16, iterations=1)
    yield from both('roce-udaddy', size=1000, pairs=3)
    yield from both('roce-ucmatose', size=3001, pairs=4)
    for size in (64, 100000):
        yield from both('roce-rstream', size=size, iterations=50)
    yield from both('roce-riostream', size=5000, iterations=50)
    for op in ('write', 'read', 'send'):
        yield VerbsCase('roce-ib_%s_bw' % op, 'nornic-serves', 'udp', size=65536, iterations=20)


def quirks():
    for name, (_, guest_is_client) in rxe.QUIRKS.items():
        case = Case('rxe-' + name, 'nornic-serves' if guest_is_client else 'guest-serves', 'packet', size=64)
        case.name, case.is_unique = case.program, True
        yield case


class SmcCase(Case):
    """AF_SMC sockets of the guest's kernel against `nornic smc`: each end sends the same `size` bytes over each of
    `pairs` connections.

    mode: of the guest as server, echo or late; eid: nornic's enterprise id; travels: smcr or tcp, how the bytes go."""
    judge, filter, loss_ppm, guest_ends_group, diagnosis = judge_smc, 'udp port 4791 or tcp', 0, False, ''
    is_unique = True

    def __init__(self, way, port, mode='echo', eid=programs.GUEST_EID, travels='smcr', **more):
        super().__init__('afsmc', way, port, **more)
        self.mode, self.eid, self.travels = mode, eid, travels
        self.name = '-'.join(['afsmc', way, port, mode, 'size%d' % self.size] + ['conns%d' % self.pairs] *
                             (self.pairs > 1) + ['declined'] * (travels == 'tcp'))

    def mtus(self):
        return USUAL_MTU, None


class LongSmcCase(SmcCase):
    seconds = 600


def afsmc():
    """First contact, one group for several connections, data of all sizes, half close, and a Decline of each side."""
    for way in ('guest-serves', 'nornic-serves'):
        for size in (1, 4097, 1 << 20):
            yield SmcCase(way, 'udp', size=size)
        yield SmcCase(way, 'packet', size=100000)
        yield SmcCase(way, 'udp', size=1000, eid='ANOTHER', travels='tcp')
        yield LongSmcCase(way, 'udp', size=100000000)
    yield SmcCase('guest-serves', 'udp', 'late', size=300000)
    yield SmcCase('guest-serves', 'udp', size=30000, pairs=3)
    yield SmcCase('nornic-serves', 'udp', size=30000, pairs=8)


class TalkCase(SmcCase):
    """smctalk at both ends: `pairs` connections at a time.

    sockets: which the guest uses; devices: of nornic; test_link_s: of the guest's links; idle_ms: of the middle in mode
    idle, at whose beginning both say what links they have; has_second: nornic has a second interface;
    at_quarter, at_idle: what nornic's smctalk runs then (at_idle: instead of saying that); guest_ends_group: by
    unloading its module while nornic waits for that; before, after: what is run around nornic's smctalk;
    guest_before, guest_after: around the guest's; diagnosis: what the Decline says."""
    def __init__(self, way, mode, note='', guest_eid=programs.GUEST_EID, sockets='smc', devices='udp:nic0',
                 loss_ppm=0, test_link_s=30, idle_ms=1000, has_second=False, at_quarter='', at_idle='',
                 guest_ends_group=False, before='', after='', guest_before='', guest_after='', diagnosis='', **more):
        super().__init__(way, 'udp', mode, **more)
        self.program, self.guest_eid, self.sockets, self.devices = 'smctalk', guest_eid, sockets, devices
        self.loss_ppm, self.test_link_s, self.idle_ms = loss_ppm, test_link_s, idle_ms
        self.has_second, self.at_quarter, self.at_idle = has_second, at_quarter, at_idle
        self.guest_ends_group = guest_ends_group
        self.before, self.after, self.diagnosis = before, after, diagnosis
        self.guest_before, self.guest_after = guest_before, guest_after
        self.name = '-'.join(['afsmc', way, mode] + [note] * bool(note))


def talks():
    """What one connection after the other does not show."""
    for way in ('guest-serves', 'nornic-serves'):
        yield TalkCase(way, 'echo', '64-at-once', size=20000, pairs=64)
        yield TalkCase(way, 'both', 'bulk', size=3000000, pairs=2)
        yield TalkCase(way, 'echo', 'big', size=8 << 20)
        yield TalkCase(way, 'abort', size=200000, pairs=3)
        yield TalkCase(way, 'sabort', size=200000, pairs=3)
        yield TalkCase(way, 'urgent', size=9000)
        yield TalkCase(way, 'idle', 'two-test-links', size=2000, pairs=3, test_link_s=2, idle_ms=6000)
        two = {'devices': 'packet:nic0 packet:nic1', 'has_second': True, 'size': 400000, 'pairs': 4}
        yield TalkCase(way, 'idle', 'two-links', **two)
        yield TalkCase(way, 'idle', 'link-cut-and-restored', at_quarter='ip link set nic1 down',
                       at_idle='ip link set nic1 up', idle_ms=4000, **two)
        yield TalkCase(way, 'echo', 'ipproto-smc', size=2000, sockets='ipproto')
        yield TalkCase(way, 'echo', 'guest-ends-group', size=2000, pairs=2, guest_ends_group=True)
        yield TalkCase(way, 'echo', 'loss', size=300000, loss_ppm=20000)
        yield TalkCase(way, 'echo', 'guest-is-tcp', size=2000, pairs=2, sockets='tcp', travels='plain')
        yield TalkCase(way, 'echo', 'nornic-is-tcp', size=2000, pairs=2, devices='', travels='plain')
        yield TalkCase(way, 'echo', 'guest-has-no-eid', size=2000, guest_eid='', travels='tcp')
        yield TalkCase(way, 'echo', 'nornic-has-no-eid', size=2000, eid='', travels='tcp')


# An interface that leads nowhere, whose network is not that of the connections.
AWAY = 'ip link add away type veth peer name nowhere && ip addr add 192.0.2.1/24 dev away && ip link set away up'
# No RoCE passes, in any direction: what is missed first is CONFIRM LINK.
NO_ROCE = ('nft "add table ip noroce; add chain ip noroce in { type filter hook input priority 0; }; '
           'add rule ip noroce in udp dport 4791 drop; add chain ip noroce out { type filter hook output '
           'priority 0; }; add rule ip noroce out udp dport 4791 drop"')
# The guest's only RDMA device goes, and is there again, with its GIDs, for the cases that follow.
NO_RXE = 'rdma link del rxe0'
RXE_AGAIN = ('rdma link add rxe0 type rxe netdev eth0; for i in $(seq 100); do n=$(cat '
             '/sys/class/infiniband/rxe0/ports/1/gids/[0-7] 2>/dev/null | grep -vc "^[0:]*$"); '
             '[ "$n" -ge 3 ] && break; usleep 50000; done')


def declines():
    """Further reasons for a Decline (EIDs: afsmc(), talks()); behind all others, since the guest's device changes."""
    def case(way, note, diagnosis, **more):
        return TalkCase(way, 'echo', note, size=2000, travels='tcp', diagnosis=diagnosis, **more)
    device = {'guest_before': NO_RXE, 'guest_after': RXE_AGAIN}
    yield case('guest-serves', 'guest-has-no-device', '0x03030002: no SMC-R device', **device)
    yield case('nornic-serves', 'guest-has-no-device', '0x03030000: no usable RNIC, or no EID in common', **device)
    away = {'before': AWAY, 'after': 'ip link del away', 'devices': 'udp:away'}
    for way in ('guest-serves', 'nornic-serves'):
        yield case(way, 'nornic-has-no-device-there', '0x03030000', **away)
    yield case('nornic-serves', 'no-roce-passes', '0x02010000: no CONFIRM LINK in time', before=NO_ROCE,
               after='nft delete table ip noroce')


def preloaded():
    """Programs of plain TCP under `nornic run --smc`."""
    def case(way, mode, note='', **more):
        c = TalkCase(way, mode, note, **more)
        c.program, c.name = 'preloaded', c.name.replace('afsmc-', 'afsmc-preloaded-', 1)
        return c
    for way in ('guest-serves', 'nornic-serves'):
        for size in (1, 100000, 8 << 20):
            yield case(way, 'echo', 'size%d' % size, size=size)
        yield case(way, 'echo', '64-at-once', size=20000, pairs=64)
        yield case(way, 'both', 'bulk', size=3000000, pairs=2)
        yield case(way, 'fork', size=30000, pairs=10)
        yield case(way, 'iperf3', size=4 << 20, pairs=3)
        yield case(way, 'echo', 'guest-has-no-eid', size=2000, guest_eid='', travels='tcp')
        yield case(way, 'echo', 'guest-is-tcp', size=2000, pairs=2, sockets='tcp', travels='plain')


class IwarpCase:
    """One run of a stock program in a guest with siw against its nornic peer, or siw.py.

    guest: cases of the same name share one, 'siw' or 'siw_knobs' and a note; knobs: of siw_knobs (KNOBS in lab.py);
    options: of nornic's command; is_lossy: 2 % of the frames of either side are lost; is_patient: nornic's kernel
    does not hear that it is refused; rev, has_crc: what MPA is to agree on."""
    judge, filter, port, weather, check, offloads, has_second = judge_iwarp, 'tcp', 'iwarp', (), False, 'off', False
    seconds = CASE_SECONDS

    def __init__(self, program, way, family='4', mtu=1500, size=4096, iterations=10, pairs=1, guest='siw', knobs=None,
                 options=(), is_lossy=False, is_patient=False, rev=2, has_crc=True,
                 note='', is_unique=False):
        self.program, self.way, self.family, self.mtu, self.size = program, way, family, mtu, size
        self.iterations, self.pairs, self.guest, self.knobs = iterations, pairs, guest, knobs or {}
        self.options, self.is_lossy, self.is_patient = options, is_lossy, is_patient
        self.rev, self.has_crc, self.note, self.is_unique = rev, has_crc, note, is_unique
        self.name = '-'.join([program, way, 'iwarp', 'ipv' + family, 'mtu%d' % mtu, 'size%d' % size] +
                             ['pairs%d' % pairs] * (pairs > 1) + ['loss'] * is_lossy + [note] * bool(note))

    def mtus(self):
        return self.mtu, self.mtu

    def values(self):
        """As Case.values()."""
        return {'guest': self.guest, 'program': self.program, 'role': self.way, 'family': self.family, 'MTU': self.mtu,
                'size': self.size, 'weather': 'loss' * self.is_lossy, 'connections': self.pairs, 'MPA': self.note}

    def peer(self):
        return programs.ALL[self.program]

    def port_name(self):
        return 'iwarp:' + HOST[self.family]


def siw_itself():
    for name, (_, guest_is_client) in siw.PEERS.items():
        case = IwarpCase('siw-' + name, 'nornic-serves' if guest_is_client else 'guest-serves', size=3000, iterations=2,
                         has_crc=not guest_is_client, is_unique=True)
        case.name = case.program
        yield case


def both_ways(program, *args, **more):
    for way in ('guest-serves', 'nornic-serves'):
        yield IwarpCase(program, way, *args, **more)


# covers: IWARP-CM-42
def with_siw():
    """siw as it is. It does not ask for an RTR, so a server that speaks first must not be nornic's (IWARP-MPA-03); and
    with revision 1, which does not tell depths, rping's server asks for none, and cannot read."""
    for family, mtu in (('4', 1500), ('6', 1500), ('4', 9000), ('6', 1280)):
        yield from both_ways('rping', family, mtu, 64)
        yield from both_ways('rping', family, mtu, 65535, 3)
        yield from both_ways('rdma_client', family, mtu, 16, 1)
        yield IwarpCase('ucmatose', 'guest-serves', family, mtu, 3001, pairs=4)
    yield IwarpCase('ucmatose', 'guest-serves', '4', 1500, 64, 20, pairs=20)
    yield from both_ways('rping', '4', 1500, 20000, options=('--no-crc',), has_crc=False, note='no-crc')
    yield from both_ways('rping', '6', 9000, 20000, options=('--no-crc',), has_crc=False, note='no-crc')
    for family in ('4', '6'):
        yield from both_ways('rping', family, 1500, 65535, is_lossy=True)
        yield IwarpCase('ucmatose', 'guest-serves', family, 1500, 3001, pairs=3, is_lossy=True)
    for program in ('rdma_client', 'ucmatose'):
        yield IwarpCase(program, 'guest-serves', size=16, iterations=1, options=('--mpa-rev', '1'), rev=1, note='rev1')
    yield from both_ways('rping-guest-killed', size=20000, iterations=0, is_unique=True)
    yield from both_ways('rping-nornic-killed', size=20000, iterations=0, is_unique=True)


def with_knobs():
    """siw with other constants."""
    old = {'guest': 'siw_knobs', 'knobs': {'mpa_version': 1}, 'rev': 1, 'note': 'rev1', 'is_unique': True}
    yield IwarpCase('rping', 'nornic-serves', size=20000, **old)
    yield IwarpCase('rdma_client', 'nornic-serves', '6', size=16, iterations=1, **old)
    yield IwarpCase('rping', 'nornic-serves', size=20000, guest='siw_knobs', knobs={'mpa_crc_required': 1},
                    options=('--no-crc',), note='guest-wants-crc', is_unique=True)


def with_verbs():
    """The stock programs on both sides, here over nornic's verbs libraries. perftest's client connects a second time
    before a slow server listens again (and where it does so all the same, it is tried again), so the guest is the
    client."""
    for family, mtu in (('4', 1500), ('6', 9000)):
        yield IwarpCase('verbs-rping', 'guest-serves', family, mtu, 20000)
        yield IwarpCase('verbs-rdma_client', 'guest-serves', family, mtu, 16, 1)
    for size in (64, 100000):
        yield from both_ways('verbs-rstream', size=size, iterations=50)
    yield from both_ways('verbs-riostream', size=5000, iterations=50)
    for family, mtu in (('4', 1500), ('6', 9000)):
        yield from both_ways('verbs-crossing', family, mtu, 65536, 20)
    for op in ('write', 'read'):
        for size in (1, 65536):
            yield IwarpCase('verbs-ib_%s_bw' % op, 'nornic-serves', '4', 1500, size, 20)
            yield IwarpCase('verbs-ib_%s_bw' % op, 'guest-serves', '4', 1500, size, 20, is_patient=True)


def with_rtr():
    """Each kind of RTR that the guest offers, in a guest of its own: its kernel may not survive one that is lost."""
    for kind, rtr_type in (('write', 128), ('read', 64), ('both', 192)):
        more = {'guest': 'siw_knobs rtr-' + kind, 'knobs': {'peer_to_peer': 1, 'rtr_type': rtr_type},
                'note': 'rtr-' + kind, 'options': ('--rtr', kind), 'is_unique': True}
        yield IwarpCase('ucmatose', 'nornic-serves', size=3001, pairs=4, **more)
        yield IwarpCase('ucmatose', 'guest-serves', '6', size=3001, pairs=4, **more)
        yield from both_ways('rping', size=20000, **more)


def all_cases(xdp_takes_4096=True):
    yield from rc_pingpong(xdp_takes_4096)
    yield from uc_pingpong(xdp_takes_4096)
    yield from ud_pingpong()
    yield from srq_pingpong(xdp_takes_4096)
    yield from over_cm(xdp_takes_4096)
    yield from over_udp()
    yield from afsmc()
    yield from preloaded()
    yield from talks()
    yield from with_roce_verbs()
    yield from quirks()
    yield from declines()
    yield from siw_itself()
    yield from with_siw()
    yield from with_verbs()
    yield from with_knobs()
    yield from with_rtr()
