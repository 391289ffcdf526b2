# SPDX-License-Identifier: BSD-2-Clause
"""The network and the guest of the interop run.

The guest's tap and one end of a veth pair are on a bridge in namespace nn-io-sw; the other end, nic0, is in namespace
nn-io-nic, where nornic runs. The guest takes commands from a shared folder: see guest-init.
"""
import os, re, signal, subprocess, time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
NORNIC = os.environ.get('NORNIC', ROOT + '/build/nornic')
CACHE = os.environ.get('NORNIC_LAB_CACHE', os.path.expanduser('~/.cache/nornic-lab'))
SW, NIC = 'nn-io-sw', 'nn-io-nic'
GUEST = {'4': '10.78.0.1', '6': 'fd78::1'}
HOST = {'4': '10.78.0.2', '6': 'fd78::2'}
SECOND = '10.78.0.3'   # of the interface that a case may have besides
GID = {'4': '0000:0000:0000:0000:0000:ffff:0a4e:0001', '6': 'fd78:0000:0000:0000:0000:0000:0000:0001'}
HOST_GID_INDEX = {'4': 1, '6': 2}      # link-local first, then in the order of the addresses given below
# A PMTU of 4096 needs an interface MTU of 4200; smaller ones use AF_XDP with its usual MTU, one buffer a frame. iWARP
# takes what TCP makes of any MTU.
SEGMENT_MTU, USUAL_MTU, IWARP_MTU = 4200, 1500, 9000
PROBE_PORT = 18514
BOOT_SECONDS, CASE_SECONDS = 180, 60
# What nic0 and port0 do for the udp port; the other ports do it themselves. "whole": trains cross the veth pair in one
# piece, and the tap, whose guest takes none, cuts them; "cut": nic0's kernel does; "bare": it refuses trains, as it has
# no checksums to give them.
OFFLOADS = {'off': 'tx off gso off tso off gro off', 'bare': 'tx off gso off tso off gro on',
            'whole': 'tx on gso on gro on tx-udp-segmentation on',
            'cut': 'tx on gso on gro off tx-udp-segmentation off'}
# What siw has: of these constants siw_knobs has parameters.
KNOBS = {'mpa_crc_required': 0, 'mpa_crc_strict': 0, 'mpa_version': 2, 'peer_to_peer': 0, 'rtr_type': 192}
DROP_2_PERCENT = ('add table netdev lossy; add chain netdev lossy out '
                  '{ type filter hook egress device nic0 priority 0; }; '
                  'add rule netdev lossy out meta l4proto tcp numgen random mod 100 < 2 drop')
NO_OFFLOADS = 'csum=off,guest_csum=off,' + ','.join(
    k + '=off' for k in 'gso host_tso4 host_tso6 host_ufo host_ecn guest_tso4 guest_tso6 guest_ufo guest_ecn'.split())


# A kernel's answer to a SYN for a port that nobody listens to.
DROP_REFUSALS = ('add table ip patient; add chain ip patient in { type filter hook input priority 0; }; '
                 'add rule ip patient in tcp flags & (rst | syn) == rst tcp sequence 0 drop')


def sh(*command, check=True):
    return subprocess.run(command, check=check, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=None if check else subprocess.DEVNULL)


def wait_for(what, seconds, test):
    end = time.monotonic() + seconds
    while not test():
        if time.monotonic() > end:
            raise TimeoutError('%s: not within %d s' % (what, seconds))
        time.sleep(0.02)


def in_nic(*command):
    return ['ip', 'netns', 'exec', NIC, *command]


class Lab:
    """The network and the guest; everything it makes is removed by close().

    driver: rxe, siw, siw_knobs, the latter with what is constant in siw as parameters (see fetch), or bench, which
    has no network (bench/guest)."""

    def __init__(self, share, driver):
        self.share, self.driver, self.procs, self.namespaces, self.next_command = share, driver, [], [], 0
        self.segment_mtu = SEGMENT_MTU if driver == 'rxe' else IWARP_MTU
        self.mtu, self.guest_mtu, self.offloads = None, self.segment_mtu, None
        self.indexes, self.knobs, self.is_lossy, self.has_second = {}, {}, False, False
        self.is_patient = False

    def spawn(self, command, log):
        with open(log, 'wb') as out:
            p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                 start_new_session=True)
        self.procs.append(p)
        return p

    def stop(self, p, sig=signal.SIGTERM):
        """Ends a program that this lab started and says its exit status."""
        for s, patience in ((sig, 5), (signal.SIGKILL, 5)):
            if p.poll() is None:
                os.killpg(p.pid, s)
                try:
                    p.wait(patience)
                except subprocess.TimeoutExpired:
                    pass
        if p in self.procs:
            self.procs.remove(p)
        return p.returncode

    def add_namespace(self, name):
        sh('ip', 'netns', 'del', name, check=False)   # a killed run's: the lock says that none is alive
        sh('ip', 'netns', 'add', name)
        self.namespaces.append(name)
        sh('ip', '-n', name, 'link', 'set', 'lo', 'up')

    def build_network(self):
        mtu = str(self.segment_mtu)
        self.add_namespace(SW)
        self.add_namespace(NIC)
        in_sw, here = ['ip', 'netns', 'exec', SW], in_nic()
        sh(*in_sw, 'sysctl', '-qw', 'net.ipv6.conf.default.disable_ipv6=1', 'net.ipv6.conf.all.disable_ipv6=1')
        sh(*here, 'sysctl', '-qw', 'net.ipv6.conf.default.accept_dad=0', 'net.ipv6.conf.default.accept_ra=0',
           'net.ipv6.conf.default.router_solicitations=0')
        sh('ip', '-n', SW, 'link', 'add', 'br0', 'type', 'bridge', 'stp_state', '0', 'mcast_snooping', '0',
           'forward_delay', '0')
        sh('ip', '-n', SW, 'link', 'set', 'br0', 'mtu', mtu, 'up')
        sh('ip', '-n', SW, 'tuntap', 'add', 'tap0', 'mode', 'tap')
        sh('ip', '-n', SW, 'link', 'add', 'port0', 'mtu', mtu, 'type', 'veth', 'peer', 'name', 'nic0', 'mtu',
           mtu, 'netns', NIC)
        for dev in ('tap0', 'port0'):
            sh('ip', '-n', SW, 'link', 'set', dev, 'mtu', mtu, 'master', 'br0', 'up')
        sh('ip', '-n', NIC, 'link', 'set', 'nic0', 'address', '52:54:00:4e:00:02', 'up')
        sh('ip', '-n', NIC, 'addr', 'add', HOST['4'] + '/24', 'dev', 'nic0')
        sh('ip', '-n', NIC, 'addr', 'add', HOST['6'] + '/64', 'dev', 'nic0', 'nodad')

    def set_offloads(self, offloads):
        """Whole checksums and no frame beyond the MTU, or what OFFLOADS says."""
        if offloads == self.offloads:
            return
        for where, dev in ((SW, 'port0'), (NIC, 'nic0')):
            sh('ip', 'netns', 'exec', where, 'ethtool', '-K', dev, *OFFLOADS[offloads].split(), check=False)
        self.offloads = offloads

    def set_mtu(self, host, guest=None):
        """XDP looks at the MTU of both ends of a veth pair, rdma_cm at that of the guest's interface."""
        if host != self.mtu:
            sh('ip', '-n', NIC, 'link', 'set', 'nic0', 'mtu', str(host))
            sh('ip', '-n', SW, 'link', 'set', 'port0', 'mtu', str(host))
            self.mtu = host
        if guest not in (None, self.guest_mtu):
            self.guest_does('ip link set eth0 mtu %d' % guest)
            self.guest_mtu = guest

    def set_knobs(self, knobs):
        """Parameters of siw_knobs; those that are not named get back what siw has."""
        wanted = {**KNOBS, **knobs} if self.driver == 'siw_knobs' else {}
        for knob, value in wanted.items():
            if self.knobs.get(knob) != value:
                self.guest_does('sh -c "echo %d >/sys/module/siw_knobs/parameters/%s"' % (value, knob))
        self.knobs = wanted

    def set_loss(self, is_lossy):
        """2 % of the frames of either side never reach the segment."""
        if is_lossy == self.is_lossy:
            return
        if is_lossy:
            self.guest_does('/usr/bin/tc qdisc add dev eth0 root netem loss 2%')   # not busybox's
            sh(*in_nic('nft', DROP_2_PERCENT))
        else:
            self.guest_does('/usr/bin/tc qdisc del dev eth0 root')
            sh(*in_nic('nft', 'delete table netdev lossy'))
        self.is_lossy = is_lossy

    def set_patient(self, is_patient):
        """Who is refused on our side does not hear of it, so its SYN comes again a second later."""
        if is_patient != self.is_patient:
            sh(*in_nic('nft', DROP_REFUSALS if is_patient else 'delete table ip patient'))
            self.is_patient = is_patient

    def set_second(self, has_second):
        """nic1 beside nic0, on the same segment, with an address of its own."""
        if has_second == self.has_second:
            return
        if has_second:
            for knob in ('arp_ignore=1', 'arp_announce=2'):   # each interface answers for its own address
                sh(*in_nic('sysctl', '-qw', 'net.ipv4.conf.all.' + knob))
            sh('ip', '-n', SW, 'link', 'add', 'port1', 'type', 'veth', 'peer', 'name', 'nic1', 'netns', NIC)
            sh('ip', '-n', SW, 'link', 'set', 'port1', 'mtu', str(self.mtu), 'master', 'br0', 'up')
            for where, dev in ((SW, 'port1'), (NIC, 'nic1')):
                sh('ip', 'netns', 'exec', where, 'ethtool', '-K', dev, *OFFLOADS['off'].split(), check=False)
            sh('ip', '-n', NIC, 'link', 'set', 'nic1', 'mtu', str(self.mtu), 'up')
            sh('ip', '-n', NIC, 'addr', 'add', SECOND + '/32', 'dev', 'nic1')
        else:
            sh('ip', '-n', SW, 'link', 'del', 'port1')
        self.has_second = has_second

    def xdp_takes(self, mtu):
        """Whether this kernel's AF_XDP does this MTU on a veth pair (it needs frames in several buffers)."""
        self.set_offloads('off')
        self.set_mtu(mtu)
        probe = self.spawn(in_nic(NORNIC, 'pingpong', '--port', 'xdp:nic0', '-p', str(PROBE_PORT)), os.devnull)
        wait_for('nornic to open AF_XDP', 20, lambda: listening(PROBE_PORT) or probe.poll() is not None)
        takes = probe.poll() is None
        self.stop(probe)
        return takes

    def boot(self):
        initrd = '%s/%s.gz' % (CACHE, self.driver.partition('_')[0])
        version = self.boot_from(initrd, 'nn_mtu=%d nn_ip4=%s nn_ip6=%s' % (self.segment_mtu, GUEST['4'], GUEST['6']), [
            '-netdev', 'tap,id=n0,ifname=tap0,script=no,downscript=no',
            '-device', 'virtio-net-pci,netdev=n0,romfile=,mac=52:54:00:4e:00:01,host_mtu=%d,%s' % (
                self.segment_mtu, NO_OFFLOADS)], within=['ip', 'netns', 'exec', SW])
        self.indexes = {line.split()[1]: int(line.split()[0]) for line in self.read('gids').splitlines()}
        return version

    def boot_from(self, initrd, words, options, within=()):
        """Starts the guest and waits until it takes commands. words: for its init; options: QEMU's besides the usual.
        The version of its kernel."""
        with open(CACHE + '/kernel.version') as f:
            version = f.read().strip()
        append = 'console=ttyS0 quiet panic=1 mitigations=off tsc=reliable nn_driver=%s %s' % (self.driver, words)
        guest = self.spawn(
            [*within, 'qemu-system-x86_64', '-machine', 'q35,accel=tcg', '-cpu', 'max',
             '-m', '512', '-display', 'none', '-monitor', 'none', '-serial', 'stdio', '-no-reboot', '-nodefaults',
             '-kernel', '%s/kernel/boot/vmlinuz-%s' % (CACHE, version), '-initrd', initrd,
             '-append', append.rstrip(), '-fsdev', 'local,id=f0,path=%s,security_model=none' % self.share,
             '-device', 'virtio-9p-pci,fsdev=f0,mount_tag=host',
             '-object', 'rng-random,id=rng0,filename=/dev/urandom', '-device', 'virtio-rng-pci,rng=rng0', *options],
            self.share + '/console')
        wait_for('boot of the guest', BOOT_SECONDS,
                 lambda: os.path.exists(self.share + '/booted') or guest.poll() is not None)
        if guest.poll() is not None:
            raise OSError('the guest ended while booting:\n' + self.read('console'))
        return version

    def read(self, name):
        try:
            with open('%s/%s' % (self.share, name), errors='replace') as f:
                return f.read()
        except FileNotFoundError:
            return ''

    def in_guest(self, command, listens=None, seconds=CASE_SECONDS):
        """Starts a command in the guest, for so long at most; its number. With `listens`, returns once it listens
        there."""
        n, self.next_command = self.next_command, self.next_command + 1
        with open('%s/new' % self.share, 'w') as f:
            f.write('# listens %s\n' % listens if listens else '')
            f.write('exec timeout %d %s\n' % (seconds, command))
        os.rename(self.share + '/new', '%s/cmd.%d' % (self.share, n))
        if listens:
            wait_for('the guest to listen', 20, lambda: os.path.exists('%s/ready.%d' % (self.share, n)))
        return n

    def guest_status(self, n, seconds):
        status = '%s/rc.%d' % (self.share, n)
        wait_for('the end of the guest\'s program', seconds, lambda: os.path.exists(status))
        return int(self.read('rc.%d' % n))

    def guest_does(self, command):
        n = self.in_guest(command)
        if (status := self.guest_status(n, 20)) != 0:
            raise OSError('the guest: `%s` ended with %d: %s' % (command, status, self.read('out.%d' % n).strip()))

    def guest_counted(self, n):
        """What the guest's kernel has counted while program `n` ran: {'Udp.InCsumErrors': 0, 'Ip6InDiscards': 0...}."""
        was, now = (counters(self.read('%s.%d' % (when, n))) for when in ('was', 'is'))
        return {name: now[name] - was.get(name, 0) for name in now}   # some appear when they count

    def guest_failed(self, n):
        return os.path.exists('%s/rc.%d' % (self.share, n)) and self.read('rc.%d' % n).strip() != '0'

    def stop_guest(self, n):
        """Ends a program of the guest that still runs: what it would go on to send is not for the next case."""
        if not os.path.exists('%s/rc.%d' % (self.share, n)):
            open('%s/stop.%d' % (self.share, n), 'w').close()
            self.guest_status(n, 10)

    def close(self):
        for p in list(self.procs):
            self.stop(p)
        for name in self.namespaces:
            sh('ip', 'netns', 'del', name, check=False)


def counters(text):
    """/proc/net/snmp, whose lines come in pairs of names and values, and snmp6, a name and its value a line."""
    found, words = {}, [line.split() for line in text.splitlines()]
    for names, values in zip(words, words[1:]):
        if names[0].endswith(':') and names[0] == values[0] and values[1].lstrip('-').isdigit():
            found.update(zip((names[0][:-1] + '.' + name for name in names[1:]), map(int, values[1:])))
    found.update((w[0], int(w[1])) for w in words if len(w) == 2 and not w[0].endswith(':'))
    return found


def listening(port):
    """Whether something in the host's namespace listens on the TCP port."""
    out = subprocess.run(in_nic('cat', '/proc/net/tcp', '/proc/net/tcp6'), check=False, capture_output=True,
                         text=True).stdout
    return re.search(r':%04X [0-9A-F]+:0000 0A ' % port, out) is not None
