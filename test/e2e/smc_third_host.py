# SPDX-License-Identifier: BSD-2-Clause
"""Programs of smc_third_host.sh. The third host listens at port 7000, where the client connects, and hears its
Proposal. It says that Proposal to the server of the client.

echo PORT                      sends back what comes
client SERVER PORT THIRD       echoes at SERVER; connects to THIRD between; "lives" if all echoes came
between PORT SOURCE,SERVER...   echoes by a connection of each pair at a time, SOURCE "" for any; "lives" if all came
decline SERVER PORT            third host: answers the server's Accept by a Decline "out of sync" of the client's id
accept SERVER PORT             third host: says the server's Accept to the client, as a first contact
join                           third host: says the Accept of the client's own connection to the client again, as one of
                               a group that is there; it has seen that Accept on its bridge
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
    with socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True) as listener:
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


def between(port, *pairs):
    ends = [pair.split(",") for pair in pairs]
    conns = [socket.create_connection((server, port), 10, (source, 0) if source else None) for source, server in ends]
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


def seen_accept(sniffer):
    while True:
        frame = sniffer.recv(65536)
        at = frame.find(struct.pack(">IB", EYE, 2))
        if at > 0 and frame[12:14] == b"\x08\x00":
            return frame[at:at + struct.unpack(">H", frame[at + 5:at + 7])[0]]


def join():
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as sniffer:
        sniffer.bind(("to_a", 0))
        sniffer.settimeout(20)
        listener = socket.create_server(("", 7000))
        listener.settimeout(20)
        accept = seen_accept(sniffer)
    victim = listener.accept()[0]
    victim.settimeout(10)
    clc_message(victim)
    victim.sendall(accept[:7] + bytes([accept[7] & ~8]) + accept[8:])
    answer = clc_message(victim)
    print({3: "joined", 4: "declined"}.get(answer[4], answer.hex()), "out of sync" if answer[7] & 8 else "in sync")
    victim.settimeout(20)
    until_end(victim)


if __name__ == "__main__":
    words = sys.argv[2:]
    if sys.argv[1] == "echo":
        echo(int(words[0]))
    elif sys.argv[1] == "client":
        client(words[0], int(words[1]), words[2])
    elif sys.argv[1] == "between":
        between(int(words[0]), *words[1:])
    elif sys.argv[1] == "join":
        join()
    elif sys.argv[1] == "decline":
        decline(words[0], int(words[1]))
    else:
        accept_(words[0], int(words[1]))
