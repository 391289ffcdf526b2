#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""In the place of ssh: programs of one host are started on another, which is a namespace of the same machine.

    remote.py serve SOCKET             on that host: runs what comes, until it is ended
    remote.py SOCKET [-OPTION...] HOST COMMAND...   as ssh is called; ends with the status of COMMAND

What is run gets the caller's stdin, stdout and stderr as they are, and the environment of the host that serves. It
ends, by SIGTERM, when its caller does.
"""
import array
import os
import select
import signal
import socket
import subprocess
import sys

LONGEST_COMMAND_BYTES = 1 << 17


def run_one(caller):
    """Runs what `caller` sends, on the descriptors that come along, and tells it the status."""
    command, ancillary, _, _ = caller.recvmsg(LONGEST_COMMAND_BYTES, socket.CMSG_SPACE(3 * 4))
    standard = array.array('i')
    standard.frombytes(ancillary[0][2])
    program = subprocess.Popen(['/bin/sh', '-c', command.decode()], stdin=standard[0], stdout=standard[1],
                               stderr=standard[2], start_new_session=True)
    for descriptor in standard:
        os.close(descriptor)
    ended = os.pidfd_open(program.pid)
    ready = select.select([caller, ended], [], [])[0]
    if ended not in ready:
        os.killpg(program.pid, signal.SIGTERM)
    caller.send(b'%d' % program.wait())


def serve(path):
    """A process for each caller: that none waits for another."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(path)
    listener.listen(8)
    while True:
        caller = listener.accept()[0]
        if os.fork() == 0:
            listener.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            try:
                run_one(caller)
            except BrokenPipeError:
                pass
            os._exit(0)
        caller.close()


def call(path, words):
    """As ssh: options, the host's name, and words that its shell is given with blanks between. -> exit status"""
    while words[0].startswith('-'):
        words = words[1:]
    server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * LONGEST_COMMAND_BYTES)
    server.connect(path)
    socket.send_fds(server, [' '.join(words[1:]).encode()], [0, 1, 2])
    status = server.recv(16)
    return int(status) & 0xff if status else 255


if __name__ == '__main__':
    if sys.argv[1] == 'serve':
        serve(sys.argv[2])
    sys.exit(call(sys.argv[1], sys.argv[2:]))
