#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A neighbour that means harm, for neighbours.sh: holds what its arguments say until it is killed.

    neighbours.py ATTACK ARGUMENT...

Prints a line when it holds all of it. An ATTACK is the name of a function below.
"""
import fcntl, os, signal, socket, struct, sys

held = []
OFD_SETLK = 37
SLOTS = 255


def bind(kind, name):
    s = socket.socket(socket.AF_UNIX, kind)
    s.bind(name)
    held.append(s)
    return s


def names(ifindexes, *uids):
    """The names of all claims of some interfaces, of each user and of none."""
    for ifindex in ifindexes.split(','):
        names_of(ifindex, uids)


def names_of(ifindex, uids):
    for what, count in (('xdp', 1), ('packet', 64), ('udp', 64), ('qp1', 1)):
        for number in range(count):
            for end in ['', *('/' + uid for uid in uids)]:
                bind(socket.SOCK_DGRAM, f'\0nornic/{what}/{ifindex}/{number:x}{end}')
    for service in (0x0106_1c06, 0x0106_1c07):  # of TCP's port space: 7174, 7175
        for end in ['', *('/' + uid for uid in uids)]:
            bind(socket.SOCK_DGRAM, f'\0nornic/service/{ifindex}/{service:x}{end}')


def squat(kind, *paths):
    """A file of some kind under each path."""
    for path in paths:
        if kind == 'dir':
            os.mkdir(path, 0o777)
        elif kind == 'fifo':
            os.mkfifo(path, 0o666)
            os.chmod(path, 0o666)
        elif kind == 'link':
            os.symlink('/etc/passwd', path)
        elif kind == 'socket':  # which never answers
            bind(socket.SOCK_SEQPACKET, path).listen(1)
            os.chmod(path, 0o777)
        elif kind == 'lock':
            fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            os.fchmod(fd, 0o666)
            os.write(fd, b'garbage\n' * 1000)
            fcntl.flock(fd, fcntl.LOCK_EX)
            lock(fd, 0, SLOTS + 1)
            held.append(fd)
        else:
            sys.exit(f'no such kind: {kind}')


def lock(fd, start, length):
    fcntl.fcntl(fd, OFD_SETLK, struct.pack('hhqqi4x', fcntl.F_WRLCK, os.SEEK_SET, start, length, 0))


def leases(path):
    """All slots of a table, but not its lock."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    os.fchmod(fd, 0o666)
    lock(fd, 0, SLOTS)
    held.append(fd)


def tablelock(path):
    """The lock of a table that is there, and its holder is stopped."""
    fd = os.open(path, os.O_RDWR)
    lock(fd, SLOTS, 1)
    held.append(fd)


def silent(count):
    """Processes with devices open that `nornic stat` finds, and that do not answer."""
    for i in range(int(count)):
        bind(socket.SOCK_STREAM, f'\0nornic-verbs-{900000 + i}').listen(1)


globals()[sys.argv[1]](*sys.argv[2:])
print('held', flush=True)
signal.pause()
