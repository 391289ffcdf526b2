#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What test/e2e/smc.sh has at the other end, and beside.

    smc_peer.py listen PORT SEND TAKE    a plain TCP server: takes all into TAKE, sends SEND meanwhile, both to the end
    smc_peer.py connect HOST PORT SEND TAKE    the client of the same
    smc_peer.py feed FILE BYTES_PER_SECOND    FILE to standard output, slowly
"""
import socket, sys, threading, time

SECONDS = 50  # nothing lasts longer


def converse(s, send, take):
    def sending():
        with open(send, 'rb') as f:
            while data := f.read(65536):
                s.sendall(data)
        s.shutdown(socket.SHUT_WR)

    s.settimeout(SECONDS)
    thread = threading.Thread(target=sending, daemon=True)
    thread.start()
    with open(take, 'wb') as f:
        while data := s.recv(65536):
            f.write(data)
    thread.join(SECONDS)
    s.close()


def listen(port, send, take):
    with socket.create_server(('', int(port)), family=socket.AF_INET6, dualstack_ipv6=True) as server:
        server.settimeout(SECONDS)
        converse(server.accept()[0], send, take)


def connect(host, port, send, take):
    converse(socket.create_connection((host, int(port)), SECONDS), send, take)


def feed(path, rate):
    start, sent = time.monotonic(), 0
    with open(path, 'rb') as f:
        while data := f.read(65536):
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
            sent += len(data)
            ahead = sent / float(rate) - (time.monotonic() - start)
            if ahead > 0:
                time.sleep(ahead)


{'listen': listen, 'connect': connect, 'feed': feed}[sys.argv[1]](*sys.argv[2:])
