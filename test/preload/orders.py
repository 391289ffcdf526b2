# SPDX-License-Identifier: BSD-2-Clause
# How a connection ends, by what a program does before it closes, in many orders.
# test/e2e/orders.sh compares the lines of a run over the kernel's TCP with those of a run by SMC-R.
#   orders.py server HOST PORT SOCKET    acts; a line for each order on standard output
#   orders.py client HOST PORT SOCKET    sends 100 bytes and its end; reads after the server's close
#   orders.py list                       prints the number of orders
# SOCKET is the path of a UNIX socket, by which the two tell each other their progress.
import errno, fcntl, itertools, os, select, socket, struct, sys, termios, time

BYTES = 40000  # as many as TCP delivers to a client that does not read
TCP, SOL = socket.IPPROTO_TCP, socket.SOL_SOCKET
NINE_S = struct.pack("ll", 9, 0)
LINGER = {"linger": (1, 5), "linger_off": (0, 0), "abort": (1, 0)}
OPTIONS = {
    "nodelay": [(TCP, socket.TCP_NODELAY, 1)],
    "nodelay_twice": [(TCP, socket.TCP_NODELAY, number) for number in (1, 0, 1)],
    "cork": [(TCP, socket.TCP_CORK, 1)],
    "uncork": [(TCP, socket.TCP_CORK, 1), (TCP, socket.TCP_CORK, 0)],
    "oobinline": [(SOL, socket.SO_OOBINLINE, 1)],
    "keepalive": [(SOL, socket.SO_KEEPALIVE, 1), (TCP, socket.TCP_KEEPIDLE, 9)],
    "lowat": [(SOL, socket.SO_RCVLOWAT, 50)],
    "timeouts": [(SOL, socket.SO_RCVTIMEO, NINE_S), (SOL, socket.SO_SNDTIMEO, NINE_S)],
    **{name: [(SOL, socket.SO_LINGER, struct.pack("ii", *at))] for name, at in LINGER.items()},
}

def orders():
    # send, end writing, set, read all: the end comes after the send
    for option in OPTIONS:
        for order in itertools.permutations(("send", "end", option, "read")):
            if order.index("send") < order.index("end"):
                yield order
        for order in itertools.permutations(("delivered", option, "read")):
            yield ("send", "end", *order)
            yield ("send", "end", "read_some", *order)
    for how in ("send", "more", "urgent"):
        for late in ("send_late", "more_late", "urgent_late", "end_reading", "end_both", "nodelay"):
            for order in itertools.permutations((how, "end", late, "read")):
                is_late = late == "nodelay" or order.index(late) > order.index("end")
                if order.index(how) < order.index("end") and is_late:
                    yield order
    for order in ("send read end uncork nodelay", "cork send end uncork read",
                  "cork more end nodelay read", "send end read_some nodelay read",
                  "send end nodelay read_some cork read", "end nodelay read",
                  "end_both nodelay read", "end_reading send end nodelay read"):
        yield tuple(order.split())

def delivered(s):
    for _ in range(3000):
        if struct.unpack("i", fcntl.ioctl(s, termios.TIOCOUTQ, b"0000"))[0] == 0:
            return None
        time.sleep(0.01)
    return "never"

def read_all(s):
    got = 0
    while data := s.recv(1000):
        got += len(data)
    return got

STEPS = {
    "send": lambda s: s.sendall(b"a" * BYTES),
    "more": lambda s: s.sendall(b"a" * BYTES, socket.MSG_MORE),
    "urgent": lambda s: s.sendall(b"a" * BYTES, socket.MSG_OOB),
    "send_late": lambda s: s.send(b"late", socket.MSG_NOSIGNAL),
    "more_late": lambda s: s.send(b"late", socket.MSG_NOSIGNAL | socket.MSG_MORE),
    "urgent_late": lambda s: s.send(b"late", socket.MSG_NOSIGNAL | socket.MSG_OOB),
    "end": lambda s: s.shutdown(socket.SHUT_WR),
    "end_reading": lambda s: s.shutdown(socket.SHUT_RD),
    "end_both": lambda s: s.shutdown(socket.SHUT_RDWR),
    "read_some": lambda s: len(s.recv(10, socket.MSG_WAITALL)),
    "read": read_all,
    "delivered": delivered,
}

def do(s, step):
    try:
        if step in OPTIONS:
            for level, name, value in OPTIONS[step]:
                s.setsockopt(level, name, value)
            return "set"
        return str(STEPS[step](s))
    except OSError as e:
        if e.errno == errno.ENOTCONN and step in ("end_reading", "end_both"):
            return "None"  # docs/smc.md, shutdown_after_both_closed
        return errno.errorcode[e.errno]

def server(listener, control):
    for order in list(orders()) + [()]:
        s = listener.accept()[0]
        s.settimeout(None)
        s.send(b"g")
        control.recv(1)
        ended = select.poll()
        ended.register(s, select.POLLRDHUP)
        assert ended.poll(20000)  # all of the client's is there
        said = [step + "=" + do(s, step) for step in order]
        if "linger" in order:  # the kernel's close() waits for the client
            control.send(b"c")
        s.close()
        if "linger" not in order:
            control.send(b"c")
        if order:
            print(*said)

def connect(host, port, control):
    s = socket.create_connection((host, port))
    s.settimeout(None)
    s.setsockopt(SOL, socket.SO_OOBINLINE, 1)
    s.sendall(b"q" * 100)
    s.shutdown(socket.SHUT_WR)
    assert s.recv(1) == b"g"
    control.send(b"s")
    control.recv(1)
    return s

def what_comes(s):
    try:
        got, right = 0, True
        while data := s.recv(65536):
            got, right = got + len(data), right and data == b"a" * len(data)
        return f"{got} the end" if right else "other bytes"
    except OSError:
        return "a reset"  # what of it was read before is a matter of time

def client(host, port, control):
    before = []  # read when the next has brought a byte: the effect of its close is here by then
    for order in list(orders()) + [()]:
        now = order, connect(host, port, control)
        told = [before] if before else []
        if "linger" in order:
            told.append(now)
        before = [] if "linger" in order else now
        for its_order, s in told:
            said = what_comes(s)
            # how much an abort leaves is a matter of time
            print(*its_order, "over" if "abort" in its_order else said)
            s.close()

def main(role, host, port, path):
    if role == "server":
        listener = socket.create_server((host, int(port)))
        with socket.socket(socket.AF_UNIX) as meeting:
            meeting.settimeout(30)
            meeting.bind(path + ".new")
            meeting.listen(1)
            os.rename(path + ".new", path)  # it listens when it is seen
            server(listener, meeting.accept()[0])
    else:
        with socket.socket(socket.AF_UNIX) as control:
            control.settimeout(30)
            control.connect(path)
            client(host, int(port), control)

if sys.argv[1] == "list":
    print(len(list(orders())))
else:
    main(*sys.argv[1:])
