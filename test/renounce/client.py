# SPDX-License-Identifier: BSD-2-Clause
# The client of test/renounce/renounce.c: three connections, one after the other, and a server of its own.
#   client.py HOST PORT OWN_PORT    prints "right" where all bytes of A and C came back
import socket, sys, threading, time

host, port, own_port = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
BULK = 200000

def connect():
    s = socket.create_connection((host, port))
    s.settimeout(40)
    return s

def serve(listener):
    s = listener.accept()[0]
    s.settimeout(40)
    while data := s.recv(100):
        s.sendall(data)

def bulk(s, letter):  # all of it, and back
    sent = bytes(letter + i % 251 for i in range(4)) * (BULK // 4)
    sender = threading.Thread(target=lambda: (s.sendall(sent), s.shutdown(socket.SHUT_WR)))
    sender.start()
    got = b""
    while data := s.recv(65536):
        got += data
    sender.join()
    return got == sent

def short(s, two):
    s.sendall(two)
    return s.recv(2, socket.MSG_WAITALL) == two

listener = socket.create_server(("0.0.0.0", own_port))
threading.Thread(target=serve, args=(listener,), daemon=True).start()
a = connect()
assert short(a, b"A1")
b = connect()
assert short(b, b"B1")
c = connect()
assert bulk(c, 60), "C"
assert bulk(a, 30), "A"
print("right")
