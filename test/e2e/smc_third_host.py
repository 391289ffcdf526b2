# SPDX-License-Identifier: BSD-2-Clause
"""Programs of smc_third_host.sh. The third host listens at port 7000, where the client connects, and hears its
Proposal. It says that Proposal to the server of the client.

echo PORT                      sends back what comes
client SERVER PORT THIRD       echoes at SERVER; connects to THIRD between; "lives" if all echoes came
twice SERVER PORT A B           echoes by connections from addresses A and B at a time; "lives" if all came
decline SERVER PORT            third host: answers the server's Accept by a Decline "out of sync" of the client's id
accept SERVER PORT             third host: says the server's Accept to the client, as a first contact
"""
import socket
import struct
import sys
import threading

EYE = 0xE2D4C3D9
ECHOES, CONNECTS_AT = 400, 100


def serve(conn):
    with conn:
        try:
            while data := conn.recv(65536):
                conn.sendall(data)
        except OSError:
            pass


def echo(port):
    with socket.create_server(("", port)) as listener:
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()


def take(conn, length):
    data = b""
    while len(data) < length:
        more = conn.recv(length - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def client(server, port, third):
    conn = socket.create_connection((server, port), 10)
    for i in range(ECHOES):
        conn.sendall(b"x" * 100)
        take(conn, 100)
        if i == CONNECTS_AT:
            try:
                with socket.create_connection((third, 7000), 10) as other:
                    other.recv(1)  # until the third host has done all that it wants
            except OSError:
                pass
    print("lives")


def twice(server, port, *sources):
    conns = [socket.create_connection((server, port), 10, (source, 0)) for source in sources]
    for _ in range(ECHOES):
        for conn in conns:
            conn.sendall(b"x" * 100)
            take(conn, 100)
    print("lives")


def clc_message(conn):
    head = take(conn, 8)
    return head + take(conn, struct.unpack(">H", head[5:7])[0] - 8)


def hears(server, port):
    listener = socket.create_server(("", 7000))
    listener.settimeout(20)
    victim = listener.accept()[0]
    victim.settimeout(10)
    proposal = clc_message(victim)
    conn = socket.create_connection((server, port), 10)
    conn.sendall(proposal)
    return victim, proposal, conn, clc_message(conn)


def until_end(conn):
    try:
        while conn.recv(4096):
            pass
    except OSError:
        pass


def decline(server, port):
    _, proposal, conn, accept = hears(server, port)
    print("a first contact of its own" if accept[4] == 2 and accept[7] & 8 else f"answer {accept.hex()}")
    conn.sendall(struct.pack(">IBHB", EYE, 4, 28, 0x18) + proposal[8:16] + struct.pack(">III", 0x04000000, 0, EYE))
    conn.shutdown(socket.SHUT_WR)
    until_end(conn)


def accept_(server, port):
    victim, _, _, accept = hears(server, port)
    victim.sendall(accept[:7] + bytes([accept[7] | 8]) + accept[8:])
    print("said")
    victim.settimeout(20)
    until_end(victim)


if __name__ == "__main__":
    words = sys.argv[2:]
    if sys.argv[1] == "echo":
        echo(int(words[0]))
    elif sys.argv[1] == "client":
        client(words[0], int(words[1]), words[2])
    elif sys.argv[1] == "twice":
        twice(words[0], int(words[1]), *words[2:])
    elif sys.argv[1] == "decline":
        decline(words[0], int(words[1]))
    else:
        accept_(words[0], int(words[1]))
