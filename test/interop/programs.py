# SPDX-License-Identifier: BSD-2-Clause
"""The stock programs: how each and its nornic peer are called, how one sees that a server listens."""
from lab import GUEST, HOST, HOST_GID_INDEX, listening

TCP_PORT = 18515


class Pingpong:
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

    def said(self, case, text):
        """What is wrong with what the stock program printed, or ''."""
        return 'the guest says: invalid data' if 'invalid data' in text else ''


ALL = {p.name: p for p in [Pingpong(t) for t in ('rc', 'uc', 'ud', 'srq')]}

